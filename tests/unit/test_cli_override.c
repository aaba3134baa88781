/* test_cli_override.c - `ferry recover` and `ferry resolve`, run as a shell would against an
 * exporter whose engine writes down what it is told; on a terminal they ask first. */
#include "base/log.h"
#include "cli/common/override.h"
#include "tests/unit/test_api_http.h"
#include "tests/unit/test_cli_rig.h"

enum { WORDS_MAX = 12, TEXT_MAX = 8192 };

/* Runs a verb with this stdin; what it prints to stdout and stderr goes to out, in one. */
static int run_with(verb_fn *verb, int stdin_from, const char *const *words, char *out, size_t n)
{
    char copies[WORDS_MAX][128];
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0, ends[2];
    for (; argc < WORDS_MAX && words[argc] != NULL; argc++) {
        TEXT_SET(copies[argc], words[argc]);
        argv[argc] = copies[argc];
    }
    assert_int_equal(pipe(ends), 0);
    int before = dup(STDIN_FILENO);
    assert_true(dup2(stdin_from, STDIN_FILENO) >= 0);
    pid_t pid = start_child(verb, argc, argv, ends[1], ends[1]);
    (void)dup2(before, STDIN_FILENO);
    (void)close(before);
    (void)close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], out + length, n - length - 1)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    (void)close(ends[0]);
    return exit_status(pid);
}

static int run_quiet(verb_fn *verb, const char *const *words, char *out)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int status = run_with(verb, nothing, words, out, TEXT_MAX);
    (void)close(nothing);
    return status;
}

/* The same on a terminal at which somebody typed. */
static int run_typed(verb_fn *verb, const char *typed, const char *const *words, char *out)
{
    int us = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(us >= 0 && grantpt(us) == 0 && unlockpt(us) == 0);
    char name[64];
    assert_int_equal(ptsname_r(us, name, sizeof name), 0);
    int them = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(them >= 0);
    assert_int_equal(write(us, typed, strlen(typed)), (ssize_t)strlen(typed));
    int status = run_with(verb, them, words, out, TEXT_MAX);
    (void)close(them);
    (void)close(us);
    return status;
}

static int rig_named(void **state)
{
    char url[64];
    int failed = rig_up(state);
    struct rig *rig = *state;
    (void)snprintf(url, sizeof url, "unix:%s", rig->socket);
    (void)setenv("FERRY_SERVER", url, 1);
    return failed;
}

static void a_recovery_is_asked_for(void **state)
{
    struct rig *rig = *state;
    char out[TEXT_MAX];
    const char *words[] = {"recover", "moving", NULL};
    assert_int_equal(run_quiet(verb_recover, words, out), EXIT_DONE);
    assert_string_equal(
        out,
        "moving: recovery requested; `ferry describe vmim moving -n default` shows its state\n");
    assert_int_equal(rig->engine.last_override.kind, RESOLVE_RECOVER);
    assert_string_equal(rig->engine.last_override.name, "moving");
    rig->engine.fail_with = ERR_REFUSED;
    assert_int_equal(run_quiet(verb_recover, words, out), EXIT_FAILED);
    assert_non_null(
        strstr(out, "ferry: nothing is in doubt\n  `ferry describe vmim moving -n default`"));
}

static void a_word_is_given_for_each_place(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *place;
        enum override_kind word;
        const char *prints;
    } rows[] = {
        {"source", RESOLVE_ON_SOURCE,
         "moving resolved by operator override: its guest runs on the source; the migration "
         "failed\n"},
        {"target", RESOLVE_ON_TARGET,
         "moving resolved by operator override: its guest runs on the target; the migration "
         "succeeded\n"},
        {"nowhere", RESOLVE_GONE,
         "moving resolved by operator override: its guest runs nowhere; it is lost\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[TEXT_MAX];
        const char *words[] = {"resolve",   "moving",      "--guest-on", rows[i].place,
                               "--because", "I saw it up", NULL};
        assert_int_equal(run_quiet(verb_resolve, words, out), EXIT_DONE);
        assert_string_equal(out, rows[i].prints);
        assert_int_equal(rig->engine.last_override.kind, rows[i].word);
        assert_string_equal(rig->engine.last_override.why, "I saw it up");
    }
    assert_int_equal(rig->engine.resolved, COUNT(rows));
}

static void a_word_without_a_place_or_a_reason_is_none(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *words[WORDS_MAX];
        const char *says;
    } rows[] = {
        {{"resolve", "moving", "--guest-on", "source", "--yes"}, "--because TEXT is missing"},
        {{"resolve", "moving", "--guest-on", "source", "--because", "  "},
         "--because TEXT is missing"},
        {{"resolve", "moving", "--because", "x"}, "--guest-on is missing"},
        {{"resolve", "moving", "--guest-on", "h1", "--because", "x"},
         "--guest-on 'h1' is none of source, target, nowhere"},
        {{"resolve", "--guest-on", "source", "--because", "x"}, "MIGRATION is missing"},
        {{"resolve", "a", "b", "--guest-on", "source", "--because", "x"},
         "one MIGRATION at a time"},
        {{"resolve", "a", "-A", "--guest-on", "source", "--because", "x"}, "in one namespace"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[TEXT_MAX];
        assert_int_equal(run_quiet(verb_resolve, rows[i].words, out), EXIT_USAGE);
        if (strstr(out, rows[i].says) == NULL)
            fail_msg("row %zu: %s", i, out);
    }
    assert_int_equal(rig->engine.resolved, 0);
}

static void a_terminal_shows_observations_and_asks_for_confirmation(void **state)
{
    struct rig *rig = *state;
    const char *words[] = {"resolve", "moving", "--guest-on", "source", "--because", "x", NULL};
    char out[TEXT_MAX];
    assert_int_equal(run_typed(verb_resolve, "n\n", words, out), EXIT_FAILED);
    assert_int_equal(rig->engine.resolved, 0);
    static const char *const shown[] = {
        "Migration:    moving\n",
        "Observations:\n  source  a                present running(booted), 2025-",
        "  target  b                unreachable",
        "Override: 'vm2' runs on the source; the migration failed.\n",
        "Continue? [y/N] ",
        "nothing was changed\n",
    };
    for (size_t i = 0; i < COUNT(shown); i++)
        if (strstr(out, shown[i]) == NULL)
            fail_msg("no '%s' in: %s", shown[i], out);
    assert_int_equal(run_typed(verb_resolve, "\n", words, out), EXIT_FAILED);
    assert_int_equal(run_typed(verb_resolve, "\004", words, out), EXIT_FAILED); /* end of file */
    assert_int_equal(rig->engine.resolved, 0);
    assert_int_equal(run_typed(verb_resolve, "yes\n", words, out), EXIT_DONE);
    assert_int_equal(rig->engine.resolved, 1);
    const char *sure[] = {"resolve",   "moving", "--guest-on", "target",
                          "--because", "x",      "--yes",      NULL};
    assert_int_equal(run_typed(verb_resolve, "n\n", sure, out), EXIT_DONE);
    assert_null(strstr(out, "Continue?"));
    assert_int_equal(rig->engine.resolved, 2);
    const char *nobody[] = {"resolve", "nobody", "--guest-on", "source", "--because", "x", NULL};
    assert_int_equal(run_typed(verb_resolve, "y\n", nobody, out), EXIT_FAILED);
    assert_null(strstr(out, "Continue?"));
    assert_int_equal(rig->engine.resolved, 2);
}

static void only_yes_means_yes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool yes;
    } rows[] = {{"y\n", true},     {"Y\n", true},   {"yes\n", true},
                {"YES\r\n", true}, {"y", true},     {"", false},
                {"\n", false},     {"n\n", false},  {"yesterday\n", false},
                {"ye\n", false},   {" y\n", false}, {"no\n", false}};
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(override_is_yes(rows[i].line), rows[i].yes);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_named, rig_down)

TEST_FILE(test_cli_override)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(a_recovery_is_asked_for),
        WIRE_TEST(a_word_is_given_for_each_place),
        WIRE_TEST(a_word_without_a_place_or_a_reason_is_none),
        WIRE_TEST(a_terminal_shows_observations_and_asks_for_confirmation),
        cmocka_unit_test(only_yes_means_yes),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("cli word", tests, NULL, NULL);
}
