/* test_feed.c - the change feed: numbers, order, bounds, and who is woken. Random fleets read it in
 * test_feed_sim.c. */
#include "tests/test.h"

#include <malloc.h>

#include "exporter/api/feed.h"
#include "tests/unit/test_api_world.h"

struct rig {
    struct clock_fake clock;
    struct feed *feed;
    unsigned woken;
};

static void start(struct rig *rig, bool is_threaded)
{
    struct err err = {0};
    *rig = (struct rig){.woken = 0};
    clock_fake_init(&rig->clock, world_wall_ms);
    rig->feed = feed_new(is_threaded ? clock_system() : &rig->clock.clock, is_threaded, &err);
    assert_non_null(rig->feed);
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++)
        (void)feed_warm(rig->feed, kind);
}

static void take(struct rig *rig, struct world *world)
{
    feed_take(rig->feed, &world->snapshot);
    snapshot_unref(&world->snapshot);
}

static uint64_t newest(struct rig *rig)
{
    const struct versions *v = feed_newest(rig->feed);
    uint64_t newest = v->newest;
    versions_unref(v);
    return newest;
}

/* The change after that version, which must be there. */
static const struct feed_change *next(struct rig *rig, enum api_kind kind, uint64_t after)
{
    const struct feed_change *change;
    uint64_t at;
    assert_int_equal(feed_next(rig->feed, kind, after, &change, &at), FEED_FOUND);
    assert_true(change->version > after);
    return change;
}

static enum feed_found query(struct rig *rig, enum api_kind kind, uint64_t after)
{
    const struct feed_change *change;
    uint64_t at;
    enum feed_found found = feed_next(rig->feed, kind, after, &change, &at);
    feed_change_unref(change);
    return found;
}

static void only_the_object_that_changed_gets_a_new_version(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    const struct versions *before = feed_newest(rig.feed);
    struct world *world = world_new(2);
    world->guests[1].state = HV_STATE_PAUSED;
    take(&rig, world);
    const struct versions *after = feed_newest(rig.feed);
    for (size_t i = 0; i < WORLD_GUESTS; i++) {
        uint64_t was = versions_of(before, KIND_INSTANCE, i);
        uint64_t is = versions_of(after, KIND_INSTANCE, i);
        /* vm2 has a job, and jobs of worlds are never shared. */
        assert_true(i == 1 ? is > was : is == was);
    }
    const struct feed_change *change = next(&rig, KIND_INSTANCE, before->newest);
    assert_int_equal(change->type, CHANGE_MODIFIED);
    assert_string_equal(change->name, "vm2");
    assert_int_equal(change->version, versions_of(after, KIND_INSTANCE, 1));
    assert_non_null(strstr(change->object, "\"state\":\"paused\""));
    assert_int_equal(query(&rig, KIND_INSTANCE, change->version), FEED_NONE);
    assert_int_equal(query(&rig, KIND_NODE, before->newest), FEED_NONE);
    feed_change_unref(change);
    versions_unref(before);
    versions_unref(after);
    feed_free(rig.feed);
}

static void one_that_was_made_anew_is_deleted_and_added(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig);
    struct world *world = world_new(2);
    TEXT_SET(world->guests[2].uuid, "00000000-0000-4000-8000-00000000abcd");
    take(&rig, world);
    const struct feed_change *gone = next(&rig, KIND_INSTANCE, at);
    while (strcmp(gone->name, "vm3") != 0) { /* vm2's job */
        at = gone->version;
        feed_change_unref(gone);
        gone = next(&rig, KIND_INSTANCE, at);
    }
    assert_int_equal(gone->type, CHANGE_DELETED);
    const struct feed_change *fresh = next(&rig, KIND_INSTANCE, gone->version);
    assert_int_equal(fresh->type, CHANGE_ADDED);
    assert_string_equal(fresh->name, "vm3");
    feed_change_unref(gone);
    feed_change_unref(fresh);
    feed_free(rig.feed);
}

/* A job takes several steps in one turn. Each is told, and begins where the one before it ended:
 * who selects by phase sees it come and go. */
static void every_phase_between_two_snapshots_is_told(void **state)
{
    (void)state;
    static const enum phase steps[] = {PHASE_SCHEDULING, PHASE_SCHEDULED, PHASE_PREPARING_TARGET};
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    struct world *world = world_new(2);
    struct snapshot_job *job = &world->jobs[3];
    TEXT_SET(job->target, "b");
    TEXT_SET(job->source, "a");
    TEXT_SET(job->wait.reason, "");
    for (size_t i = 0; i < COUNT(steps); i++)
        job->history.steps[job->history.n_steps++] = (struct job_step){steps[i], world_wall_ms};
    job->phase = PHASE_PREPARING_TARGET;
    uint64_t at = newest(&rig);
    take(&rig, world);
    enum phase was = PHASE_PENDING;
    for (size_t i = 0; i < COUNT(steps);) {
        const struct feed_change *change = next(&rig, KIND_MIGRATION, at);
        at = change->version;
        if (strcmp(change->name, "waiting") == 0) {
            assert_int_equal(change->type, CHANGE_MODIFIED);
            assert_string_equal(change->was.fields[1], phase_name(was));
            assert_string_equal(change->is.fields[1], phase_name(steps[i]));
            assert_int_equal(strstr(change->object, "\"targetNode\":\"b\"") != NULL,
                             i + 1 == COUNT(steps)); /* only the last is as it is */
            assert_null(strstr(change->object, "waiting for a slot"));
            was = steps[i++];
        }
        feed_change_unref(change);
    }
    const struct versions *after = feed_newest(rig.feed);
    assert_int_equal(versions_of(after, KIND_MIGRATION, 3), at);
    versions_unref(after);
    feed_free(rig.feed);
}

/* One that is new has its first phase first, without what came of it. */
static void a_new_job_is_told_from_its_first_phase(void **state)
{
    (void)state;
    static const struct {
        enum change_type type;
        const char *phase;
    } want[] = {
        {CHANGE_ADDED, "Pending"}, {CHANGE_MODIFIED, "Running"}, {CHANGE_MODIFIED, "Succeeded"}};
    struct rig rig;
    start(&rig, false);
    struct world *none = world_new(1);
    none->snapshot.n_jobs = 0;
    take(&rig, none);
    uint64_t at = newest(&rig);
    take(&rig, world_new(2));
    for (size_t i = 0; i < COUNT(want); i++) {
        const struct feed_change *change = next(&rig, KIND_MIGRATION, at);
        assert_string_equal(change->name, "done");
        assert_int_equal(change->type, want[i].type);
        assert_string_equal(change->is.fields[1], want[i].phase);
        assert_int_equal(strstr(change->object, "\"completed\":true") != NULL, i == 2);
        assert_int_equal(strstr(change->object, "\"verdict\"") != NULL, i == 2);
        at = change->version;
        feed_change_unref(change);
    }
    feed_free(rig.feed);
}

static void a_deleted_object_has_the_version_of_its_end(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig);
    struct world *world = world_new(2);
    world->snapshot.n_nodes--;
    take(&rig, world);
    const struct feed_change *change = next(&rig, KIND_NODE, at);
    assert_int_equal(change->type, CHANGE_DELETED);
    assert_string_equal(change->name, "c");
    struct err err = {0};
    const char *version = "";
    OWNED(json_object) object = json_parse(change->object, strlen(change->object), "o", &err);
    assert_true(json_get_text(object, "metadata.resourceVersion", "", &version, &err));
    assert_int_equal(strtoull(version, NULL, 10), change->version);
    feed_change_unref(change);
    feed_free(rig.feed);
}

static void versions_of_another_run_are_gone(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig);
    assert_int_equal(query(&rig, KIND_NODE, at), FEED_NONE);
    assert_int_equal(query(&rig, KIND_NODE, 1), FEED_GONE);
    assert_int_equal(query(&rig, KIND_NODE, at + 1), FEED_GONE);
    feed_free(rig.feed);
    int64_t later = rig.clock.now_ms + 1;
    start(&rig, false);
    rig.clock.now_ms = later;
    take(&rig, world_new(1));
    assert_int_equal(query(&rig, KIND_NODE, at), FEED_GONE);
    feed_free(rig.feed);
}

static void a_reader_that_is_too_slow_finds_its_place_gone(void **state)
{
    (void)state;
    struct rig rig;
    struct feed_stats stats;
    start(&rig, false);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig), turns = 0;
    do {
        struct world *world = world_new(2);
        world->nodes[0].facts.free_memory_kib = ++turns;
        take(&rig, world);
        feed_stats(rig.feed, &stats);
        assert_true(stats.bytes <= FEED_BYTES);
    } while (query(&rig, KIND_NODE, at) == FEED_FOUND && turns < 100000);
    assert_true(turns > 100 && turns < 100000);
    assert_int_equal(query(&rig, KIND_NODE, at), FEED_GONE);
    assert_int_equal(query(&rig, KIND_NODE, newest(&rig)), FEED_NONE);
    feed_free(rig.feed);
}

/* What glibc's heap holds for this process. A sanitizer's allocator knows nothing of glibc's chunks
 * and keeps freed ones: with it, the chunks that glibc would have made are summed up. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *memory);

static _Thread_local size_t heap; /* wraps around below 0 */
static size_t chunk_of(size_t bytes)
{
    size_t chunk = (bytes + sizeof(size_t) + 15) & ~(size_t)15;
    return chunk < 32 ? 32 : chunk;
}
static void on_malloc(const volatile void *memory, size_t bytes)
{
    (void)memory;
    heap += chunk_of(bytes);
}
static void on_free(const volatile void *memory)
{
    if (memory != NULL)
        heap -= chunk_of(__sanitizer_get_allocated_size(memory));
}
static size_t heap_bytes(void)
{
    static bool is_installed;
    if (!is_installed)
        is_installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
    assert_true(is_installed);
    return heap;
}
#else
static size_t heap_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#endif

static struct world *world_with_labels(uint64_t turn)
{
    struct world *world = world_new(turn);
    for (size_t i = 0; i < WORLD_GUESTS; i++) {
        world->guests[i].labels = "{\"app\":\"web\",\"tier\":\"precopy\",\"zone\":\"north\","
                                  "\"app.kubernetes.io/part-of\":\"shop\",\"owner\":\"team-a\"}";
        world->guests[i].memory_kib = 1024 * (turn % 1000 + 1);
    }
    return world;
}

static void a_full_feed_costs_what_it_counts(void **state)
{
    (void)state;
    struct rig rig;
    struct feed_stats stats = {0};
    start(&rig, false);
    take(&rig, world_with_labels(0));
    size_t before = heap_bytes();
    for (uint64_t turn = 1; stats.written == stats.changes && turn < 100000; turn++) {
        take(&rig, world_with_labels(turn));
        feed_stats(rig.feed, &stats);
    }
    size_t cost = heap_bytes() - before;
    print_message("%zu changes are kept, count %zu bytes and cost %zu\n", stats.changes,
                  stats.bytes, cost);
    assert_in_range(stats.bytes, FEED_BYTES - FEED_BYTES / 100, FEED_BYTES);
    assert_in_range(cost, stats.bytes / 10 * 9, stats.bytes / 10 * 12);
    feed_free(rig.feed);
}

static void nothing_is_written_for_kinds_that_nobody_reads(void **state)
{
    (void)state;
    struct rig rig;
    struct feed_stats stats;
    start(&rig, false);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig);
    rig.clock.now_ms += FEED_WARM_MS;
    struct world *world = world_new(2);
    world->nodes[0].cordoned = true;
    take(&rig, world);
    feed_stats(rig.feed, &stats);
    assert_int_equal(stats.written, 0);
    assert_int_equal(query(&rig, KIND_NODE, at), FEED_GONE);
    (void)feed_warm(rig.feed, KIND_NODE);
    at = newest(&rig);
    take(&rig, world_new(3));
    assert_int_equal(query(&rig, KIND_NODE, at), FEED_FOUND);
    feed_free(rig.feed);
}

static void on_wake(void *ctx)
{
    struct rig *rig = ctx;
    rig->woken++;
}

static void who_waits_is_woken_once_by_a_change_and_at_the_end(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    struct feed_waiter waiter = {
        .until_ms = INT64_MAX, .after = newest(&rig), .ctx = &rig, .wake = on_wake};
    feed_wait(rig.feed, &waiter);
    assert_int_equal(rig.woken, 0);
    struct world *world = world_new(2);
    world->nodes[0].cordoned = true;
    take(&rig, world);
    assert_int_equal(rig.woken, 1);
    feed_wait(rig.feed, &waiter); /* it has not seen that one yet */
    assert_int_equal(rig.woken, 2);
    waiter.after = newest(&rig);
    feed_wait(rig.feed, &waiter);
    assert_int_equal(rig.woken, 2);
    feed_free(rig.feed);
    assert_int_equal(rig.woken, 3);
}

static void what_was_handed_over_is_shown_after_settling(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, true);
    for (uint64_t generation = 1; generation <= 200; generation++) {
        take(&rig, world_new(generation));
        if (generation % 10 != 0)
            continue;
        feed_settle(rig.feed);
        const struct versions *v = feed_newest(rig.feed);
        assert_int_equal(v->snapshot->generation, generation);
        versions_unref(v);
    }
    feed_free(rig.feed);
}

/* ---- events ---- */

static struct store_event event(const char *uid, const char *message, int64_t at_ms)
{
    return (struct store_event){.kind = "VirtualMachineInstance",
                                .ns = "default",
                                .name = "vm1",
                                .uid = uid,
                                .type = "Normal",
                                .reason = "Paused",
                                .message = message,
                                .at_ms = at_ms};
}

static void an_event_is_added_and_one_that_repeats_is_counted(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    struct store_event known = event("u1", "known", 1000);
    known.count = 3;
    feed_know_event(rig.feed, &known);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig);
    const struct store_event first = event("u1", "x", 5000), again = event("u1", "x", 7000),
                             old = event("u1", "known", 8000);
    feed_take_event(rig.feed, &first);
    feed_take_event(rig.feed, &again);
    feed_take_event(rig.feed, &old);
    assert_int_equal(query(&rig, KIND_EVENT, at), FEED_NONE); /* with the next snapshot */
    take(&rig, world_new(2));
    static const struct {
        enum change_type type;
        const char *says;
    } want[] = {{CHANGE_ADDED, "\"count\":1"},
                {CHANGE_MODIFIED, "\"count\":2"},
                {CHANGE_MODIFIED, "\"count\":4"}};
    char names[COUNT(want)][300];
    for (size_t i = 0; i < COUNT(want); i++) {
        const struct feed_change *change = next(&rig, KIND_EVENT, at);
        assert_int_equal(change->type, want[i].type);
        assert_non_null(strstr(change->object, want[i].says));
        assert_true(change->version > at);
        assert_string_equal(change->is.fields[2], "vm1");
        (void)snprintf(names[i], sizeof names[i], "%s", change->name);
        at = change->version;
        feed_change_unref(change);
    }
    assert_string_equal(names[0], names[1]); /* the same Event */
    assert_string_not_equal(names[0], names[2]);
    assert_int_equal(query(&rig, KIND_EVENT, at), FEED_NONE);
    feed_free(rig.feed);
}

static void a_flood_of_events_is_bounded_and_told_as_a_gap(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, false);
    take(&rig, world_new(1));
    uint64_t at = newest(&rig);
    for (int i = 0; i < 5000; i++) { /* more than wait */
        char text[32];
        (void)snprintf(text, sizeof text, "%d", i);
        const struct store_event one = event("u1", text, 1000 + i);
        feed_take_event(rig.feed, &one);
    }
    take(&rig, world_new(2));
    assert_int_equal(query(&rig, KIND_EVENT, at), FEED_GONE);
    feed_free(rig.feed);
}

static void events_alone_are_shown_soon(void **state)
{
    (void)state;
    struct rig rig;
    start(&rig, true);
    take(&rig, world_new(1));
    feed_settle(rig.feed);
    uint64_t at = newest(&rig);
    const struct store_event one = event("u1", "x", 5000);
    feed_take_event(rig.feed, &one);
    const struct feed_change *change = NULL;
    uint64_t up_to;
    for (int i = 0; change == NULL && i < 500; i++) { /* its thread wakes four times a second */
        clock_sleep_ms(10);
        (void)feed_next(rig.feed, KIND_EVENT, at, &change, &up_to);
    }
    assert_non_null(change);
    feed_change_unref(change);
    feed_free(rig.feed);
}

TEST_FILE(test_feed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_object_that_changed_gets_a_new_version),
        cmocka_unit_test(one_that_was_made_anew_is_deleted_and_added),
        cmocka_unit_test(every_phase_between_two_snapshots_is_told),
        cmocka_unit_test(a_new_job_is_told_from_its_first_phase),
        cmocka_unit_test(a_deleted_object_has_the_version_of_its_end),
        cmocka_unit_test(versions_of_another_run_are_gone),
        cmocka_unit_test(a_reader_that_is_too_slow_finds_its_place_gone),
        cmocka_unit_test(a_full_feed_costs_what_it_counts),
        cmocka_unit_test(nothing_is_written_for_kinds_that_nobody_reads),
        cmocka_unit_test(who_waits_is_woken_once_by_a_change_and_at_the_end),
        cmocka_unit_test(what_was_handed_over_is_shown_after_settling),
        cmocka_unit_test(an_event_is_added_and_one_that_repeats_is_counted),
        cmocka_unit_test(a_flood_of_events_is_bounded_and_told_as_a_gap),
        cmocka_unit_test(events_alone_are_shown_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
