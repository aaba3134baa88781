/* test_replay_sim.c - recorded migrations of the whole appliance on the simulator, replayed: what
 * the monitors decided comes out again to the byte, also across crashes; a changed sample changes
 * it; another policy says what it would have done, and nothing beyond that. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/postmortem.h"
#include "analyzer/report/replay.h"
#include "base/json.h"
#include "base/text.h"
#include "tests/sim/fleet_sim.h"

#define MIB (UINT64_C(1) << 20)
enum { HOSTS = 3, GUESTS = 12, UIDS_MAX = 64 };

struct ended {
    char uids[UIDS_MAX][40];
    size_t n;
};

static void note_end(struct fleet_sim *fs, const struct snapshot_job *job)
{
    struct ended *ended = fs->ctx;
    if (ended->n < UIDS_MAX)
        TEXT_SET(ended->uids[ended->n++], job->uid);
}

/* Half of the guests write faster than the link carries. */
static struct fleet_sim *world(struct ended *ended, const struct migration_config *config)
{
    struct fleet_sim *fs = calloc(1, sizeof *fs);
    struct err err = {0};
    assert_non_null(fs);
    fs->ctx = ended;
    fs->on_finished = note_end;
    fleet_sim_open(fs, 7, HOSTS);
    fs->engine_config.migration = *config;
    for (size_t i = 0; i < HOSTS; i++) {
        struct sim_host host = {.memory_kib = 512ULL << 20, .cpus = 64, .link_bps = 100 * MIB};
        fleet_sim_host(fs, i, &host);
    }
    for (size_t i = 0; i < GUESTS; i++) {
        struct sim_guest guest = {.memory_bytes = 1024 * MIB,
                                  .working_set_bytes = 512 * MIB,
                                  .dirty_bps = (i % 2 == 0 ? 20 : 400) * MIB,
                                  .vcpus = 2};
        (void)snprintf(guest.name, sizeof guest.name, "g%zu", i);
        fleet_sim_uuid(i, guest.uuid);
        TEXT_SET(guest.ns, "default");
        assert_true(sim_add_guest(fs->sim, fs->hosts[i % HOSTS].name, &guest, &err));
    }
    fleet_sim_start(fs);
    fleet_sim_run(fs, 10000);
    return fs;
}

static void end(struct fleet_sim *fs)
{
    fleet_sim_fini(fs);
    free(fs);
}

static void move_some(struct fleet_sim *fs, bool crashes)
{
    for (size_t i = 0; i < GUESTS; i++)
        fleet_sim_migrate(fs, i, (i + 1) % HOSTS);
    for (int i = 0; i < 8 && crashes; i++) {
        fleet_sim_run(fs, fleet_sim_now(fs) + 13000 + (int64_t)fleet_sim_dice(fs, 9000));
        fleet_sim_crash(fs);
    }
    fleet_sim_run(fs, fleet_sim_now(fs) + 3600 * 1000);
}

/* How many decisions there were. */
static size_t expect_same(struct fleet_sim *fs, const char *uid)
{
    struct err err = {0};
    OWNED(archive) archive = archive_load(fs->store, "", uid, &err);
    if (archive == NULL)
        fail_msg("%s: %s", uid, err.text);
    struct replay replay;
    if (!replay_run(archive, &(struct replay_question){0}, &replay, &err))
        fail_msg("%s: %s", uid, err.text);
    if (!replay.is_same)
        fail_msg("%s: %s", uid, replay.difference);
    assert_int_equal(replay.n_lines, replay.n_stored);
    size_t n = replay.n_lines;
    replay_fini(&replay);
    return n;
}

static void check_all(const struct migration_config *config, bool crashes, size_t at_least)
{
    struct ended ended = {0};
    struct fleet_sim *fs = world(&ended, config);
    move_some(fs, crashes);
    size_t decisions = 0;
    assert_true(ended.n >= GUESTS);
    for (size_t i = 0; i < ended.n; i++)
        decisions += expect_same(fs, ended.uids[i]);
    print_message("%zu migrations, %zu decisions\n", ended.n, decisions);
    assert_true(decisions >= at_least);
    end(fs);
}

static struct migration_config with(bool post_copy, bool disruption, enum monitor_kind monitor,
                                    enum shadow_kind shadow)
{
    struct migration_config config;
    migration_config_default(&config);
    config.post_copy = post_copy;
    config.disruption = disruption;
    config.disruption_set = true;
    config.monitor = (int)monitor;
    config.shadow = (int)shadow;
    return config;
}

static void decisions_come_out_again_to_the_byte(void **state)
{
    (void)state;
    const struct migration_config configs[] = {
        with(true, true, MONITOR_STALL, SHADOW_LEGACY),
        with(false, true, MONITOR_STALL, SHADOW_NONE),
        with(false, false, MONITOR_STALL, SHADOW_STALL),
        with(false, true, MONITOR_LEGACY, SHADOW_STALL),
    };
    for (size_t i = 0; i < COUNT(configs); i += test_size(3, 1, 1)) /* both monitors */
        check_all(&configs[i], false, 3 * GUESTS);
}

static void also_of_those_that_a_crash_interrupted(void **state)
{
    (void)state;
    struct migration_config config = with(true, true, MONITOR_STALL, SHADOW_LEGACY);
    check_all(&config, true, 3 * GUESTS);
    if (test_size(1, 0, 0) != 0)
        return;
    config = with(false, false, MONITOR_LEGACY, SHADOW_NONE);
    check_all(&config, true, 2 * GUESTS);
}

/* ---- one that stalls ---- */

static struct archive *a_stalled_one(struct fleet_sim **out_fs, const char *decision)
{
    static struct ended ended;
    struct migration_config config = with(false, false, MONITOR_STALL, SHADOW_NONE);
    ended = (struct ended){0};
    struct err err = {0};
    *out_fs = world(&ended, &config);
    move_some(*out_fs, false);
    for (size_t i = 0; i < ended.n; i++) {
        struct archive *a = archive_load((*out_fs)->store, "", ended.uids[i], &err);
        assert_non_null(a);
        if (strcmp(a->decisions.rows[a->decisions.n - 1].decision, decision) == 0)
            return a;
        archive_free(a);
    }
    fail_msg("none ended with %s", decision);
    return NULL;
}

static void a_changed_sample_changes_the_decision(void **state)
{
    (void)state;
    struct fleet_sim *fs;
    struct err err = {0};
    OWNED(archive) a = a_stalled_one(&fs, "stalled");
    struct replay replay;
    assert_true(replay_run(a, &(struct replay_question){0}, &replay, &err));
    assert_true(replay.is_same);
    replay_fini(&replay);
    /* The last pass began with next to nothing: that is no stall. */
    size_t at = a->samples.n - 1;
    while (a->samples.rows[at - 1].memory_iteration == a->samples.rows[at].memory_iteration)
        at--;
    struct store_sample before = a->samples.rows[at];
    a->samples.rows[at].memory_remaining = a->samples.rows[at].data_remaining = 4096;
    assert_true(replay_run(a, &(struct replay_question){0}, &replay, &err));
    assert_false(replay.is_same);
    assert_non_null(strstr(replay.difference, "stored at"));
    for (size_t i = 0; i < replay.n_lines; i++)
        if (replay.lines[i].is.elapsed_ms == a->decisions.rows[a->decisions.n - 1].elapsed_ms)
            assert_int_not_equal(replay.lines[i].is.why, DECISION_STALLED_ABORT);
    replay_fini(&replay);
    /* The last byte of a number counts too. */
    a->samples.rows[at] = before;
    a->decisions.rows[a->decisions.n - 1].bandwidth_bps++;
    assert_true(replay_run(a, &(struct replay_question){0}, &replay, &err));
    assert_false(replay.is_same);
    replay_fini(&replay);
    end(fs);
}

static void a_sample_that_is_gone_is_said_not_guessed(void **state)
{
    (void)state;
    struct fleet_sim *fs;
    struct err err = {0};
    struct replay replay;
    OWNED(archive) a = a_stalled_one(&fs, "stalled");
    a->samples.n /= 2;
    assert_false(replay_run(a, &(struct replay_question){0}, &replay, &err));
    assert_int_equal(err.code, ERR_REFUSED);
    err = (struct err){0};
    a->monitor_inputs.n = 0;
    assert_false(replay_run(a, &(struct replay_question){0}, &replay, &err));
    assert_non_null(strstr(err.text, "it has no trace"));
    end(fs);
}

static const struct replay_line *last(const struct replay *replay)
{
    assert_true(replay->n_lines > 0);
    return &replay->lines[replay->n_lines - 1];
}

static void ask(const struct archive *a, const char *policy, struct replay *out)
{
    struct err err = {0};
    struct replay_question question = {0};
    OWNED(json_object) spec = json_parse(policy, strlen(policy), "policy", &err);
    if (!replay_policy(a, spec, &question, &err) || !replay_run(a, &question, out, &err))
        fail_msg("%s: %s", policy, err.text);
}

static void another_policy_says_what_it_would_have_done(void **state)
{
    (void)state;
    struct fleet_sim *fs;
    OWNED(archive) a = a_stalled_one(&fs, "stalled");
    int64_t gave_up_ms = a->decisions.rows[a->decisions.n - 1].elapsed_ms;
    struct replay replay;
    ask(a, "{\"allowPostCopy\":true,\"selectors\":{}}", &replay);
    assert_true(replay.is_other);
    assert_int_equal(replay.end, REPLAY_ACTED);
    assert_int_equal(last(&replay)->is.action, MONITOR_POSTCOPY);
    assert_true(last(&replay)->is.elapsed_ms <= gave_up_ms);
    replay_fini(&replay);

    ask(a, "{\"experimental\":{\"stallDetector\":{\"stallProgressTimeout\":100000}}}", &replay);
    assert_int_not_equal(replay.end, REPLAY_ACTED); /* it was given up: what follows is unknown */
    assert_true(replay.seen_ms <= gave_up_ms);
    replay_fini(&replay);

    struct err err = {0};
    struct replay_question legacy = {.has_kind = true, .kind = MONITOR_LEGACY};
    assert_true(replay_run(a, &legacy, &replay, &err));
    assert_int_not_equal(replay.end, REPLAY_ACTED); /* 150 s had not passed */
    replay_fini(&replay);
    end(fs);
}

static void a_page_says_what_would_have_helped(void **state)
{
    (void)state;
    struct fleet_sim *fs;
    struct err err = {0};
    OWNED(archive) a = a_stalled_one(&fs, "stalled");
    OWNED(postmortem) pm = postmortem_new(a, &err);
    assert_non_null(pm);
    assert_true(pm->n_helps >= 3);
    assert_non_null(
        strstr(pm->helps[0], "allowPostCopy: true: the guest would have been switched"));
    assert_non_null(strstr(pm->helps[1], "allowWorkloadDisruption: true"));
    assert_non_null(strstr(pm->helps[2], "maxDowntimeMs: "));
    a->monitor_inputs.n = 0; /* without the trace nothing is guessed */
    OWNED(postmortem) blind = postmortem_new(a, &err);
    for (size_t i = 0; i < blind->n_helps; i++)
        assert_null(strstr(blind->helps[i], "the guest would have"));
    end(fs);
}

TEST_FILE(test_replay_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_come_out_again_to_the_byte),
        cmocka_unit_test(also_of_those_that_a_crash_interrupted),
        cmocka_unit_test(a_changed_sample_changes_the_decision),
        cmocka_unit_test(a_sample_that_is_gone_is_said_not_guessed),
        cmocka_unit_test(another_policy_says_what_it_would_have_done),
        cmocka_unit_test(a_page_says_what_would_have_helped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
