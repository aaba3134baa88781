/* test_cli_past.c - the past through the command line: query, postmortem and replay against an
 * appliance that runs, and straight from its state directory, beside it and after it. */
#include "tests/unit/test_cli_rig.h"

enum { OUT = 1 << 20 };

struct past {
    struct appliance a;
    char dir[64], name[64];
    char *out;
};

static const char fleet[] =
    "hosts:\n- {name: a, memory: 8Gi, link: 1Gi}\n- {name: b, memory: 8Gi, link: 1Gi}\n"
    "guests:\n- {name: web, host: a, memory: 256Mi, workingSet: 16Mi, dirtyRate: 4Mi}\n";

static void start_with_state(struct past *p)
{
    int ends[2];
    char text[4096];
    write_file(p->a.file, fleet);
    assert_int_equal(pipe(ends), 0);
    char name[] = "ferry serve", simulate[] = "--simulate", listen[] = "--listen",
         address[] = "127.0.0.1:0", state[] = "--state", socket[] = "--socket";
    (void)snprintf(p->a.socket, sizeof p->a.socket, "%s.s", p->a.file);
    char *argv[] = {name,  simulate, p->a.file, listen,      address,
                    state, p->dir,   socket,    p->a.socket, NULL};
    p->a.pid = start_child(verb_serve, 9, argv, ends[1], ends[1]);
    (void)close(ends[1]);
    p->a.log = ends[0];
    assert_true(read_until(p->a.log, "serving", text, sizeof text));
    (void)snprintf(p->a.url, sizeof p->a.url, "unix:%s", p->a.socket);
    (void)setenv("FERRY_SERVER", p->a.url, 1);
}

static int must_run(struct past *p, verb_fn *verb, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int must_run(struct past *p, verb_fn *verb, const char *fmt, ...)
{
    char words[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    return run(verb, words, p->out, OUT);
}

static int setup(void **state)
{
    struct past *p = calloc(1, sizeof *p);
    p->out = malloc(OUT);
    (void)snprintf(p->dir, sizeof p->dir, "/tmp/ferry-past-XXXXXX");
    if (p->out == NULL || mkdtemp(p->dir) == NULL)
        return -1;
    start_with_state(p);
    for (int i = 0; i < 50; i++) { /* until the guest is known */
        if (must_run(p, verb_migrate, "migrate web --to b --wait") == EXIT_DONE)
            break;
        clock_sleep_ms(100);
    }
    assert_int_equal(must_run(p, verb_query, "query SELECT/**/name/**/FROM/**/migrations -ocsv"),
                     EXIT_DONE);
    assert_int_equal(sscanf(p->out, "name\r\n%63[a-z0-9-]", p->name), 1);
    /* A second after the end both hosts are looked at once more, which adds to the page. */
    for (int i = 0; i < 100 && strcmp(p->out, "n\r\n2\r\n") != 0; i++) {
        clock_sleep_ms(100);
        (void)must_run(p, verb_query,
                       "query SELECT/**/count(*)/**/AS/**/n/**/FROM/**/observations/**/"
                       "WHERE/**/moment='later' -ocsv");
    }
    assert_string_equal(p->out, "n\r\n2\r\n");
    char before[64] = "";
    for (int i = 0; i < 100; i++) { /* samples are written in batches: until no more come */
        clock_sleep_ms(400);
        (void)must_run(p, verb_query, "query SELECT/**/count(*)/**/FROM/**/samples -ocsv");
        if (strcmp(before, p->out) == 0 && strstr(p->out, "\n0") == NULL)
            break;
        TEXT_SET(before, p->out);
    }
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct past *p = *state;
    char command[128];
    stop(&p->a);
    (void)snprintf(command, sizeof command, "rm -rf %s", p->dir);
    int status = system(command);
    free(p->out);
    free(p);
    return status;
}

static void a_query_runs_on_the_appliance_and_on_the_files(void **state)
{
    struct past *p = *state;
    const char *sql = "SELECT/**/guest,source,target/**/FROM/**/migrations";
    assert_int_equal(must_run(p, verb_query, "query %s -ojson", sql), EXIT_DONE);
    assert_non_null(strstr(p->out, "\"web\""));
    assert_int_equal(must_run(p, verb_query, "query %s --state %s", sql, p->dir), EXIT_DONE);
    assert_non_null(strstr(p->out, "guest"));
    assert_non_null(strstr(p->out, "web"));
    assert_int_equal(must_run(p, verb_query, "query DELETE/**/FROM/**/jobs"), EXIT_FAILED);
    assert_int_equal(must_run(p, verb_query, "query SELEKT"), EXIT_USAGE);
}

static void a_report_is_the_same_from_both(void **state)
{
    struct past *p = *state;
    static const char *const formats[] = {"md", "json", "html", "text"};
    for (size_t i = 0; i < COUNT(formats); i++) {
        char words[256];
        (void)snprintf(words, sizeof words, "postmortem %s -o %s", p->name, formats[i]);
        assert_int_equal(run(verb_postmortem, words, p->out, OUT), EXIT_DONE);
        char *first = strdup(p->out);
        (void)snprintf(words, sizeof words, "postmortem %s -o %s --state %s", p->name, formats[i],
                       p->dir);
        assert_int_equal(run(verb_postmortem, words, p->out, OUT), EXIT_DONE);
        assert_non_null(strstr(first, "web"));
        assert_string_equal(first, p->out);
        free(first);
    }
    assert_int_equal(must_run(p, verb_postmortem, "postmortem nobody"), EXIT_FAILED);
}

static void replayed_decisions_are_identical(void **state)
{
    struct past *p = *state;
    assert_int_equal(must_run(p, verb_replay, "replay %s --state %s", p->name, p->dir), EXIT_DONE);
    assert_non_null(strstr(p->out, "identical: all "));
    assert_int_equal(must_run(p, verb_replay, "replay %s --monitor legacy -o json --state %s",
                              p->name, p->dir),
                     EXIT_DONE);
    assert_non_null(strstr(p->out, "\"otherPolicy\":true"));
    char file[32];
    write_file(file, "kind: MigrationPolicy\nspec: {allowPostCopy: true, selectors: {}}\n");
    char words[256];
    (void)snprintf(words, sizeof words, "replay %s --policy %s --state %s", p->name, file, p->dir);
    assert_int_equal(run(verb_replay, words, p->out, OUT), EXIT_DONE);
    (void)unlink(file);
    assert_int_equal(must_run(p, verb_replay, "replay nobody --state %s", p->dir), EXIT_FAILED);
    assert_int_equal(must_run(p, verb_replay, "replay x --state %s/none", p->dir), EXIT_FAILED);
}

TEST_FILE(test_cli_past)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_runs_on_the_appliance_and_on_the_files),
        cmocka_unit_test(a_report_is_the_same_from_both),
        cmocka_unit_test(replayed_decisions_are_identical),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
