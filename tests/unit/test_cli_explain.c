/* test_cli_explain.c - `ferry explain` of recorded migrations, run as a shell would: one through
 * the appliance's API or from the state directory, all of them judged again. */
#include "analyzer/record/recorded.h"
#include "store/sqlite/sqlite.h"
#include "tests/unit/test_api_http.h"
#include "tests/unit/test_cli_rig.h"
#include "tests/unit/test_store.h"

enum { WORDS_MAX = 12, TEXT_MAX = 16384 };

static int explain(const char *const *words, char *out)
{
    char copies[WORDS_MAX][300];
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0, ends[2];
    for (; argc < WORDS_MAX && words[argc] != NULL; argc++) {
        TEXT_SET(copies[argc], words[argc]);
        argv[argc] = copies[argc];
    }
    assert_int_equal(pipe(ends), 0);
    pid_t pid = start_child(verb_explain, argc, argv, ends[1], ends[1]);
    (void)close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], out + length, TEXT_MAX - length - 1)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    (void)close(ends[0]);
    return exit_status(pid);
}

static void expect(const char *out, const char *words)
{
    if (strstr(out, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, out);
}

/* ---- through the appliance ---- */

static void a_migration_is_explained_with_its_evidence(void **state)
{
    struct rig *rig = *state;
    char url[64], out[TEXT_MAX];
    struct world *world = world_new(9);
    world->jobs[1].phase = PHASE_FAILED;
    world->jobs[1].result.verdict = &world_bad;
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u", rig->port);
    const char *words[] = {"explain", "moving", "--server", url, NULL};
    assert_int_equal(explain(words, out), EXIT_DONE);
    static const char *const lines[] = {
        "Migration:",
        "vm2",
        "failed; the guest: running-on-source\n",
        "control-connection-lost (control-connection, control plane), confidence 0.87\n",
        "Look at the guest on both nodes first.\n",
        "Evidence:\n  client socket is closed\n    migrate call on a, rule closed: They lost each "
        "other.\n",
        "Counter-evidence and fallout:\n  operation failed\n    libvirtd.log:3, source, rule "
        "failed "
        "(fallout)\n",
        "Numbers:\n  stalled_ms               7200 ms\n",
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        expect(out, lines[i]);
    words[1] = "waiting";
    assert_int_equal(explain(words, out), EXIT_FAILED);
    expect(out, "has no verdict yet");
    const char *json[] = {"explain", "moving", "-o", "json", "--server", url, NULL};
    assert_int_equal(explain(json, out), EXIT_DONE);
    expect(out, "\"cause\":\"control-connection-lost\"");
}

static void only_one_source_of_evidence_is_accepted(void **state)
{
    (void)state;
    static const char *const rows[][5] = {
        {"explain"},
        {"explain", "a", "--all"},
        {"explain", "a", "--file", "x"},
        {"explain", "a", "--since", "1h"},
        {"explain", "--all", "--since", "soon"},
        {"explain", "--file", "x", "--state=/x"},
    };
    char out[TEXT_MAX];
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *words[6] = {rows[i][0], rows[i][1], rows[i][2], rows[i][3], rows[i][4], NULL};
        assert_int_equal(explain(words, out), EXIT_USAGE);
    }
}

/* ---- from the state directory ---- */

static void put_ended(struct store *s, const char *uid, const char *cause, int64_t ended_ms)
{
    s->ops->put_job(s, &(struct store_job){.uid = uid,
                                           .ns = "default",
                                           .name = uid,
                                           .guest_name = "g",
                                           .source = "h1",
                                           .result.outcome = "aborted",
                                           .resolution.guest_at = "running-on-source",
                                           .abort.cause = "operator",
                                           .abort.requester = "bob",
                                           .times.ended_ms = ended_ms});
    s->ops->put_transition(
        s, &(struct store_transition){
               .job_uid = uid, .from = "Pending", .to = "Failed", .why = "cancelled", .seq = 1});
    if (cause != NULL)
        s->ops->put_verdict(s, &(struct store_verdict){.job_uid = uid,
                                                       .plane = "none",
                                                       .cause = cause,
                                                       .outcome = "aborted",
                                                       .at_ms = ended_ms});
}

static int store_setup(void **state)
{
    struct err err = {0};
    if (fixture_setup(state) != 0)
        return -1;
    struct fixture *f = *state;
    f->store = store_sqlite_open(f->dir, &err);
    assert_non_null(f->store);
    int64_t now_ms = clock_wall_ms(clock_system());
    f->store->ops->begin(f->store);
    put_ended(f->store, "right", "user-cancelled", now_ms - 1000);
    put_ended(f->store, "wrong", "guest-stopped-during-migration", now_ms - 2000);
    put_ended(f->store, "bare", NULL, now_ms - 3000);
    put_ended(f->store, "old", "guest-stopped-during-migration", now_ms - 7200 * 1000);
    assert_true(f->store->ops->commit(f->store, &err));
    return 0;
}

/* The store stays open for writing: an appliance runs beside it. */
static void all_migrations_are_analyzed_again_beside_a_running_appliance(void **state)
{
    struct fixture *f = *state;
    char out[TEXT_MAX];
    const char *words[] = {"explain", "--all", "--since", "1h", "--state", f->dir, NULL};
    assert_int_equal(explain(words, out), EXIT_DONE);
    expect(
        out,
        "3 analyzed again, 2 with a different verdict (1 had no verdict); no verdict was stored\n");
    expect(out, "wrong");
    expect(out, "guest-stopped");
    assert_null(strstr(out, "right"));
    assert_null(strstr(out, "old"));
    const char *ever[] = {"explain", "--all", "--state", f->dir, "-o", "json", NULL};
    assert_int_equal(explain(ever, out), EXIT_DONE);
    expect(out, "\"judged\":4");
    expect(out, "\"changed\":3");
    expect(out, "\"before\":\"guest-stopped-during-migration\"");
    expect(out, "\"rule\":\"ferry-asked-to-stop\"");
}

static void one_is_read_from_the_state_directory(void **state)
{
    struct fixture *f = *state;
    char out[TEXT_MAX];
    const char *words[] = {"explain", "right", "--state", f->dir, NULL};
    assert_int_equal(explain(words, out), EXIT_DONE);
    expect(out, "user-cancelled (none plane)");
    words[1] = "bare";
    assert_int_equal(explain(words, out), EXIT_FAILED);
    expect(out, "no verdict yet");
    words[1] = "nobody";
    assert_int_equal(explain(words, out), EXIT_FAILED);
    expect(out, "no migration 'nobody'");
}

TEST_FILE(test_cli_explain)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_migration_is_explained_with_its_evidence, rig_up,
                                        rig_down),
        cmocka_unit_test(only_one_source_of_evidence_is_accepted),
        cmocka_unit_test_setup_teardown(
            all_migrations_are_analyzed_again_beside_a_running_appliance, store_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(one_is_read_from_the_state_directory, store_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests_name("cli_explain", tests, NULL, NULL);
}
