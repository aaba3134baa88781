/* test_sim.c - the simulated world: determinism, the course of a migration, shared links,
 * orders, size. What faults do is in test_sim_fault.c. */
#include "tests/unit/test_sim_world.h"

#include <time.h>

static const struct hv_migrate plain;

/* Events of guests as one line: "h2:started(1) h1:iteration(1) ...". */
static void events(const struct world *w, char *out_text, size_t bytes)
{
    size_t used = 0;
    out_text[0] = '\0';
    for (size_t i = 0; i < w->n_events && used < bytes; i++) {
        const struct hv_event *event = &w->events[i];
        const char *what = NULL;
        int number = event->a;
        if (event->kind == HV_EVENT_LIFECYCLE) {
            what = hv_lifecycle_name(event->a);
            number = event->b;
        } else if (event->kind == HV_EVENT_ITERATION) {
            what = "iteration";
        } else if (event->kind == HV_EVENT_JOB_COMPLETED) {
            what = "completed";
        }
        if (what != NULL)
            used += (size_t)snprintf(out_text + used, bytes - used, "%s%s:%s(%d)",
                                     used == 0 ? "" : " ", event->host, what, number);
    }
}

static void assert_events(const struct world *w, const char *expected)
{
    char text[4096];
    events(w, text, sizeof text);
    assert_string_equal(text, expected);
}

static void a_migration_sends_its_events_in_order(void **state)
{
    (void)state;
    struct world *w = world_new(1);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 512 * MIB;
    guest.working_set_bytes = 400 * MIB;
    world_add(w, "h1", &guest);
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", plain);
    const struct hv_reply *reply = world_wait(w, id, 60000);
    assert_int_equal(reply->err.code, ERR_NONE);
    /* 1024 MiB, then 400 (the set), then 200 MiB, which fit into 300 ms. */
    assert_events(w,
                  "h2:started(1) h1:iteration(1) h1:iteration(2) h1:suspended(1) h1:iteration(3) "
                  "h2:resumed(1) h1:stopped(3) h1:completed(0)");
    world_assert_state(w, "h1", UUID_1, "absent");
    world_assert_state(w, "h2", UUID_1, "running(migrated)");
    assert_string_equal(sim_guest_host(w->sim, UUID_1), "h2");

    const struct hv_event *resumed = NULL, *completed = NULL;
    for (size_t i = 0; i < w->n_events; i++) {
        if (w->events[i].kind == HV_EVENT_LIFECYCLE && w->events[i].a == HV_LIFECYCLE_RESUMED)
            resumed = &w->events[i];
        if (w->events[i].kind == HV_EVENT_JOB_COMPLETED)
            completed = &w->events[i];
    }
    assert_in_range(reply->ended_ms - resumed->at_ms, 100, 300);
    assert_int_equal(completed->stats.type, HV_JOB_COMPLETED);
    assert_int_equal(completed->stats.memory_remaining, 0);
    assert_in_range(completed->stats.downtime_ms, 150, 400);
    assert_int_equal(completed->stats.data_processed / MIB, 1024 + 400 + 200);
    world_free(w);
}

static void statistics_follow_the_iterations(void **state)
{
    (void)state;
    struct world *w = world_new(2);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 2048 * MIB; /* never converges */
    world_add(w, "h1", &guest);
    (void)world_migrate(w, "h1", UUID_1, "h2", (struct hv_migrate){.bandwidth_mibs = 256});

    world_run(w, 100);
    struct hv_reply *reply = world_wait(w, world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1), 100);
    assert_int_equal(reply->with.stats.type, HV_JOB_UNBOUNDED);
    assert_int_equal(reply->with.stats.memory_total, 0);

    uint64_t iteration = 0, processed = 0;
    for (int i = 0; i < 60; i++) {
        world_run(w, 200);
        reply = world_wait(w, world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1), 100);
        assert_int_equal(reply->err.code, ERR_NONE);
        const struct hv_job_stats *stats = &reply->with.stats;
        assert_true(stats->memory_iteration >= iteration);
        assert_true(stats->data_processed >= processed);
        iteration = stats->memory_iteration;
        processed = stats->data_processed;
        if (iteration == 1)
            assert_int_equal(stats->memory_dirty_rate, 0);
        if (iteration > 1) {
            assert_int_equal(stats->memory_bps, 256 * MIB);
            assert_true(stats->memory_dirty_rate > 0);
        }
    }
    assert_true(iteration > 5);
    assert_true(processed > 1024 * MIB);
    reply = world_wait(w, world_ask(w, HV_CALL_JOB_STATS, "h2", UUID_1), 100);
    assert_int_equal(reply->err.hv_code, 84);
    world_free(w);
}

static void auto_converge_slows_the_guest_until_it_converges(void **state)
{
    (void)state;
    struct world *w = world_new(3);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 900 * MIB;
    guest.working_set_bytes = 900 * MIB;
    world_add(w, "h1", &guest);
    struct hv_migrate how = {.bandwidth_mibs = 512, .flags = HV_MIGRATE_AUTO_CONVERGE};
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", how);
    uint64_t throttle = 0;
    while (world_reply(w, id) == NULL) {
        world_run(w, 300);
        const struct hv_reply *stats =
            world_wait(w, world_ask(w, HV_CALL_JOB_STATS, "h1", UUID_1), 60000);
        if (stats->err.code == ERR_NONE && stats->with.stats.type == HV_JOB_UNBOUNDED) {
            assert_true(stats->with.stats.auto_converge_throttle >= throttle);
            throttle = stats->with.stats.auto_converge_throttle;
        }
    }
    assert_int_equal(world_reply(w, id)->err.code, ERR_NONE);
    assert_in_range(throttle, 40, 99);
    world_free(w);
}

static void post_copy_switches_over_first_and_copies_later(void **state)
{
    (void)state;
    struct world *w = world_new(4);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 4096 * MIB;
    guest.working_set_bytes = 1024 * MIB;
    world_add(w, "h1", &guest);
    struct hv_migrate how = {.bandwidth_mibs = 256, .flags = HV_MIGRATE_POSTCOPY};
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", how);
    world_run(w, 50);
    uint64_t early = world_ask(w, HV_CALL_START_POSTCOPY, "h1", UUID_1);
    assert_int_equal(world_wait(w, early, 100)->err.hv_code, 1);

    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 2, 0);
    uint64_t switched = world_ask(w, HV_CALL_START_POSTCOPY, "h1", UUID_1);
    assert_int_equal(world_wait(w, switched, 100)->err.code, ERR_NONE);
    world_assert_state(w, "h1", UUID_1, "paused(postcopy)");
    world_assert_state(w, "h2", UUID_1, "running(postcopy)");
    uint64_t abort = world_ask(w, HV_CALL_ABORT, "h1", UUID_1);
    assert_int_equal(world_wait(w, abort, 100)->err.hv_code, 55);

    assert_int_equal(world_wait(w, id, 60000)->err.code, ERR_NONE);
    assert_events(w, "h2:started(1) h1:iteration(1) h1:iteration(2) h1:suspended(7) h2:resumed(3) "
                     "h2:resumed(1) h1:stopped(3) h1:completed(0)");
    world_assert_state(w, "h1", UUID_1, "absent");
    world_assert_state(w, "h2", UUID_1, "running(migrated)");
    world_free(w);
}

/* What becomes of a guest that is persistent, paused, or paused on the way. */
static const struct arrival {
    const char *name;
    bool persistent, paused, suspend_on_the_way;
    unsigned flags;
    const char *source, *target;
} arrivals[] = {
    {"transient", false, false, false, 0, "absent", "running(migrated)"},
    {"persistent stays behind as a definition", true, false, false, 0, "shutoff(migrated)",
     "running(migrated)"},
    {"persistent moves its definition", true, false, false, HV_MIGRATE_PERSIST, "absent",
     "running(migrated)"},
    {"paused before arrives paused", false, true, false, 0, "absent", "paused(user)"},
    {"paused by flag", false, false, false, HV_MIGRATE_PAUSED, "absent", "paused(user)"},
    {"paused on the way is resumed by libvirt", false, false, true, 0, "absent",
     "running(migrated)"},
};

static void guests_arrive_as_they_do_on_real_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(arrivals); i++) {
        const struct arrival *row = &arrivals[i];
        struct world *w = world_new(5);
        struct sim_guest guest = a_guest("web", UUID_1);
        guest.persistent = row->persistent;
        guest.paused = row->paused;
        world_add(w, "h1", &guest);
        uint64_t id =
            world_migrate(w, "h1", UUID_1, "h2", (struct hv_migrate){.flags = row->flags});
        if (row->suspend_on_the_way) {
            world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
            (void)world_ask(w, HV_CALL_SUSPEND, "h1", UUID_1);
        }
        assert_int_equal(world_wait(w, id, 60000)->err.code, ERR_NONE);
        char source[HV_TEXT_MAX], target[HV_TEXT_MAX];
        world_observe(w, "h1", UUID_1, source);
        world_observe(w, "h2", UUID_1, target);
        if (strcmp(source, row->source) != 0 || strcmp(target, row->target) != 0)
            fail_msg("%s: %s, %s", row->name, source, target);
        world_free(w);
    }
}

/* The refusals libvirt gives at once: code, domain. */
static void a_refusal_carries_libvirts_number_and_domain(void **state)
{
    (void)state;
    struct world *w = world_new(6);
    struct sim_guest guest = a_guest("web", UUID_1), twin = a_guest("web", UUID_2);
    world_add(w, "h1", &guest);
    world_add(w, "h2", &twin);
    const struct {
        const char *host, *guest, *target;
        int code, domain;
    } rows[] = {
        {"h1", "99999999-9999-4999-8999-999999999999", "h2", 42, 10},
        {"h1", UUID_1, "h2", 9, 20}, /* name taken */
        {"h1", UUID_1, "h1", 1, 10}, /* same host */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t id = world_migrate(w, rows[i].host, rows[i].guest, rows[i].target, plain);
        const struct hv_reply *reply = world_wait(w, id, 1000);
        assert_int_equal(reply->err.hv_code, rows[i].code);
        assert_int_equal(reply->err.hv_domain, rows[i].domain);
    }
    world_assert_state(w, "h1", UUID_1, "running(booted)");
    world_free(w);
}

static void a_definition_on_the_target_is_a_uuid_collision_or_is_reused(void **state)
{
    (void)state;
    const char *const names[] = {"other-web", "web"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct world *w = world_new(7);
        struct sim_guest guest = a_guest("web", UUID_1), twin = a_guest(names[i], UUID_1);
        twin.persistent = true;
        world_add(w, "h1", &guest);
        world_add(w, "h2", &twin);
        world_assert_state(w, "h2", UUID_1, "shutoff(unknown)");
        uint64_t id = world_migrate(w, "h1", UUID_1, "h2", plain);
        assert_int_equal(world_wait(w, id, 60000)->err.hv_code, i == 0 ? 9 : 0);
        world_assert_state(w, "h2", UUID_1, i == 0 ? "shutoff(unknown)" : "running(migrated)");
        world_free(w);
    }
}

static void a_second_migration_is_refused_and_disturbs_nothing(void **state)
{
    (void)state;
    struct world *w = world_new(8);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    uint64_t first = world_migrate(w, "h1", UUID_1, "h2", plain);
    world_run(w, 300);
    uint64_t second = world_migrate(w, "h1", UUID_1, "h2", plain);
    const struct hv_reply *reply = world_wait(w, second, 1000);
    assert_int_equal(reply->err.hv_code, 55);
    assert_int_equal(reply->err.hv_domain, 10);
    assert_int_equal(world_wait(w, first, 60000)->err.code, ERR_NONE);
    world_free(w);
}

static void abort_in_pre_copy_leaves_the_guest_on_the_source(void **state)
{
    (void)state;
    struct world *w = world_new(9);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", plain);
    world_run_until_told(w, "h1", HV_EVENT_ITERATION, 1, 0);
    uint64_t abort = world_ask(w, HV_CALL_ABORT, "h1", UUID_1);
    assert_int_equal(world_wait(w, abort, 100)->err.code, ERR_NONE);
    assert_int_equal(world_wait(w, id, 500)->err.hv_code, 78);
    world_assert_state(w, "h1", UUID_1, "running(booted)");
    world_assert_state(w, "h2", UUID_1, "absent");
    assert_events(w, "h2:started(1) h1:iteration(1) h2:stopped(5)");
    abort = world_ask(w, HV_CALL_ABORT, "h1", UUID_1);
    assert_int_equal(world_wait(w, abort, 100)->err.hv_code, 55);
    world_free(w);
}

static void too_little_memory_on_the_target_is_noticed(void **state)
{
    (void)state;
    struct world *w = world_new(10);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.memory_bytes = UINT64_C(65) << 30;
    world_add(w, "h1", &guest);
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", plain);
    const struct hv_reply *reply = world_wait(w, id, 2000);
    assert_int_equal(reply->err.hv_code, 1);
    assert_int_equal(reply->err.hv_domain, 10);
    world_assert_state(w, "h2", UUID_1, "absent");
    world_free(w);
}

/* --- links --- */

static uint64_t rate_of(struct world *w, const char *host, const char *guest)
{
    uint64_t id = world_ask(w, HV_CALL_JOB_STATS, host, guest);
    return world_wait(w, id, 1000)->with.stats.memory_bps;
}

static void streams_share_their_links_and_keep_their_limits(void **state)
{
    (void)state;
    struct world *w = world_new(11);
    char uuid[4][HV_UUID_MAX];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(uuid[i], sizeof uuid[i], "44444444-4444-4444-8444-%012d", i);
        struct sim_guest guest = a_guest("web", uuid[i]);
        (void)snprintf(guest.name, sizeof guest.name, "web%d", i);
        guest.memory_bytes = 8192 * MIB;
        guest.dirty_bps = 8192 * MIB;
        guest.working_set_bytes = 8192 * MIB;
        world_add(w, "h1", &guest);
    }
    for (int i = 0; i < 4; i++) {
        struct hv_migrate how = {.bandwidth_mibs = i == 3 ? 100 : 0};
        (void)world_migrate(w, "h1", uuid[i], "h2", how);
    }
    world_run(w, 2000);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rate_of(w, "h1", uuid[i]), 256 * MIB);
    assert_int_equal(rate_of(w, "h1", uuid[3]), 100 * MIB);

    uint64_t abort = world_ask(w, HV_CALL_ABORT, "h1", uuid[0]);
    assert_int_equal(world_wait(w, abort, 1000)->err.code, ERR_NONE);
    for (int i = 1; i < 3; i++)
        assert_int_equal(rate_of(w, "h1", uuid[i]), 1024 * MIB / 3);

    struct hv_request tune = {.call = HV_CALL_SET_SPEED, .with.tune.value = 10};
    TEXT_SET(tune.host, "h1");
    TEXT_SET(tune.guest, uuid[1]);
    (void)world_wait(w, world_submit(w, tune), 1000);
    assert_int_equal(rate_of(w, "h1", uuid[1]), 10 * MIB);
    world_free(w);
}

static void a_higher_max_downtime_lets_a_busy_guest_migrate(void **state)
{
    (void)state;
    struct world *w = world_new(12);
    struct sim_guest guest = a_guest("web", UUID_1);
    guest.dirty_bps = 2048 * MIB;
    guest.working_set_bytes = 700 * MIB;
    world_add(w, "h1", &guest);
    uint64_t id = world_migrate(w, "h1", UUID_1, "h2", plain);
    world_run(w, 60000);
    assert_null(world_reply(w, id));
    struct hv_request tune = {.call = HV_CALL_SET_DOWNTIME, .with.tune.value = 2000001};
    TEXT_SET(tune.host, "h1");
    TEXT_SET(tune.guest, UUID_1);
    assert_int_equal(world_wait(w, world_submit(w, tune), 1000)->err.hv_code, 1);
    tune.with.tune.value = 800;
    assert_int_equal(world_wait(w, world_submit(w, tune), 1000)->err.code, ERR_NONE);
    assert_int_equal(world_wait(w, id, 5000)->err.code, ERR_NONE);
    world_free(w);
}

/* --- determinism and size --- */

struct big {
    struct sim *sim;
    uint64_t replies, failures;
};

static void big_on_reply(void *ctx, struct hv_reply *take_reply)
{
    struct big *big = ctx;
    big->replies++;
    big->failures += take_reply->err.code != ERR_NONE;
    hv_reply_fini(take_reply);
}

static void big_fill(struct big *big, int hosts, int guests_per_host)
{
    struct err err = {0};
    for (int h = 0; h < hosts; h++) {
        struct sim_host host = {.memory_kib = 512 << 20, .cpus = 64, .link_bps = 1250000000};
        (void)snprintf(host.name, sizeof host.name, "host-%03d", h);
        assert_true(sim_add_host(big->sim, &host, &err));
        for (int g = 0; g < guests_per_host; g++) {
            struct sim_guest guest = a_guest("x", UUID_1);
            int n = h * guests_per_host + g;
            (void)snprintf(guest.name, sizeof guest.name, "guest-%d", n);
            (void)snprintf(guest.uuid, sizeof guest.uuid, "55555555-5555-4555-8555-%012d", n);
            guest.dirty_bps = (uint64_t)(n % 40) * MIB;
            assert_true(sim_add_guest(big->sim, host.name, &guest, &err));
        }
    }
}

static void big_move_all(struct big *big, int hosts, int guests_per_host)
{
    struct err err = {0};
    for (int h = 0; h < hosts; h++) {
        for (int g = 0; g < guests_per_host; g++) {
            int n = h * guests_per_host + g;
            struct hv_request request = {
                .id = (uint64_t)n, .call = HV_CALL_MIGRATE, .reply_to = {big_on_reply, big}};
            (void)snprintf(request.host, sizeof request.host, "host-%03d", h);
            (void)snprintf(request.guest, sizeof request.guest, "55555555-5555-4555-8555-%012d", n);
            (void)snprintf(request.with.migrate.target, sizeof request.with.migrate.target,
                           "host-%03d", (h + 1 + g % (hosts - 1)) % hosts);
            assert_true(hv_act_submit(&(struct hv_act){sim_hv(big->sim)}, &request, &err));
        }
        sim_advance(big->sim, clock_mono_ms(sim_clock(big->sim)) + 100);
    }
}

static uint64_t big_day(uint64_t seed, int hosts, int guests_per_host)
{
    struct err err = {0};
    struct big big = {.sim = sim_new(seed, 0, NULL, &err)};
    assert_non_null(big.sim);
    big_fill(&big, hosts, guests_per_host);
    sim_advance(big.sim, 100);
    big_move_all(&big, hosts, guests_per_host);
    while (sim_next_ms(big.sim) != INT64_MAX)
        sim_advance(big.sim, sim_next_ms(big.sim) + 10000);
    assert_int_equal(big.replies, hosts * guests_per_host);
    assert_int_equal(big.failures, 0);
    assert_int_equal(sim_guest_count(big.sim), hosts * guests_per_host);
    assert_int_equal(sim_violations(big.sim), 0);
    uint64_t hash = sim_hash(big.sim);
    sim_free(big.sim);
    return hash;
}

static void equal_seeds_give_equal_runs(void **state)
{
    (void)state;
    uint64_t hash = big_day(42, 10, 20);
    assert_int_equal(hash, big_day(42, 10, 20));
    assert_int_not_equal(hash, big_day(43, 10, 20));
}

/* Not only the end counts: a question more is another story. */
static void the_hash_covers_events_and_replies(void **state)
{
    (void)state;
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
        struct world *w = world_new(14);
        for (int asked = 0; asked <= i; asked++)
            (void)world_ask(w, HV_CALL_HOST_FACTS, "h1", "");
        world_run(w, 1000);
        hashes[i] = sim_hash(w->sim);
        world_free(w);
    }
    assert_int_not_equal(hashes[0], hashes[1]);
}

static void five_thousand_guests_move_in_two_seconds(void **state)
{
    (void)state;
    clock_t began = clock(); /* processor time: the machine may be busy with something else */
    (void)big_day(1, 200, 25);
    assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 2.0);
}

static void nothing_happens_by_itself(void **state)
{
    (void)state;
    struct world *w = world_new(13);
    struct sim_guest guest = a_guest("web", UUID_1);
    world_add(w, "h1", &guest);
    assert_true(sim_next_ms(w->sim) == INT64_MAX);
    uint64_t hash = sim_hash(w->sim);
    assert_int_equal(hash, sim_hash(w->sim));
    world_run(w, 1000);
    assert_int_equal(w->n_events, 2); /* both hosts connected */
    assert_int_equal(clock_wall_ms(sim_clock(w->sim)), 1010);
    world_free(w);
}

TEST_FILE(test_sim)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_migration_sends_its_events_in_order),
        cmocka_unit_test(statistics_follow_the_iterations),
        cmocka_unit_test(auto_converge_slows_the_guest_until_it_converges),
        cmocka_unit_test(post_copy_switches_over_first_and_copies_later),
        cmocka_unit_test(guests_arrive_as_they_do_on_real_hosts),
        cmocka_unit_test(a_refusal_carries_libvirts_number_and_domain),
        cmocka_unit_test(a_definition_on_the_target_is_a_uuid_collision_or_is_reused),
        cmocka_unit_test(a_second_migration_is_refused_and_disturbs_nothing),
        cmocka_unit_test(abort_in_pre_copy_leaves_the_guest_on_the_source),
        cmocka_unit_test(too_little_memory_on_the_target_is_noticed),
        cmocka_unit_test(streams_share_their_links_and_keep_their_limits),
        cmocka_unit_test(a_higher_max_downtime_lets_a_busy_guest_migrate),
        cmocka_unit_test(equal_seeds_give_equal_runs),
        cmocka_unit_test(the_hash_covers_events_and_replies),
        cmocka_unit_test(five_thousand_guests_move_in_two_seconds),
        cmocka_unit_test(nothing_happens_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
