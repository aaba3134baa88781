/* test_monitor_laws.c - what holds for every history of looks, however mad. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/own.h"
#include "tests/unit/test_monitor_world.h"

enum { HISTORIES = 1500, STEPS = 400 };

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}
static uint64_t below(uint64_t *seed, uint64_t n)
{
    return next(seed) % n;
}
static bool often(uint64_t *seed, unsigned percent)
{
    return below(seed, 100) < percent;
}

/* --- a random migration ---------------------------------------------------------------------- */

struct history {
    uint64_t seed;
    struct rig rig;
    uint64_t link_mib; /* now */
    bool mad;          /* numbers without sense */
};

static void random_config(struct history *h)
{
    struct migration_config *c = &h->rig.config;
    uint64_t *s = &h->seed;
    c->post_copy = often(s, 50);
    c->disruption = often(s, 50);
    c->disruption_set = often(s, 50);
    c->auto_converge = often(s, 30);
    c->local_minima = often(s, 70);
    c->completion_timeout = often(s, 10) ? 0 : (int64_t)below(s, 300);
    c->progress_timeout = often(s, 20) ? 0 : (int64_t)below(s, 200);
    c->max_downtime_ms = often(s, 20) ? 1 + (int64_t)below(s, 2000000) : 1 + (int64_t)below(s, 900);
    c->stall_timeout = (int64_t)below(s, 60);
    c->stall_margin = (int64_t)below(s, 101);
    c->switchover_timeout = (int64_t)below(s, 90);
    c->ewma_alpha = (double)(1 + below(s, 1000)) / 1000;
    c->precopy_factor = (double)(1000 + below(s, 2000)) / 1000;
    c->patience_decay = (double)below(s, 1001) / 1000;
    c->completion_factor = (double)(1000 + below(s, 3000)) / 1000;
    c->downtime_initial_ms = 1 + (int64_t)below(s, 2000);
    c->downtime_steps = 1 + (int64_t)below(s, 20);
    c->downtime_after = 1 + (int64_t)below(s, 6);
    c->downtime_cooldown = 1 + (int64_t)below(s, 20);
}

static void random_begin(struct history *h, uint64_t seed)
{
    memset(h, 0, sizeof *h);
    h->seed = seed * 2654435761u + 1;
    rig_default(&h->rig);
    random_config(h);
    h->mad = often(&h->seed, 20);
    h->link_mib = below(&h->seed, 500);
    h->rig.facts = (struct monitor_facts){.memory_bytes = below(&h->seed, 64) * GIB / 8,
                                          .disk_bytes = often(&h->seed, 20) ? GIB : 0,
                                          .vfio = often(&h->seed, 20),
                                          .tuning = often(&h->seed, 50)};
    rig_begin(&h->rig, often(&h->seed, 60) ? MONITOR_STALL : MONITOR_LEGACY);
}

static uint64_t mad_number(uint64_t *seed)
{
    return often(seed, 30) ? UINT64_MAX - below(seed, 3) : next(seed) * next(seed);
}

static void mad_stats(struct history *h)
{
    struct hv_job_stats *stats = &h->rig.in.stats;
    uint64_t *s = &h->seed;
    stats->data_processed = mad_number(s);
    stats->data_remaining = mad_number(s);
    stats->memory_remaining = mad_number(s);
    stats->memory_total = mad_number(s);
    stats->memory_dirty_rate = mad_number(s);
    stats->memory_page_size = mad_number(s);
    stats->memory_iteration = mad_number(s);
    stats->auto_converge_throttle = mad_number(s);
}

static void random_input(struct history *h)
{
    struct monitor_input *in = &h->rig.in;
    uint64_t *s = &h->seed;
    int64_t step_ms = often(s, 5) ? (int64_t)below(s, 60000) : (int64_t)below(s, 2000);
    in->elapsed_ms += step_ms;
    in->has_stats = !often(s, 10);
    in->abort_under_way = often(s, 2);
    in->stopped_by_migration = in->stopped_by_migration ? often(s, 90) : often(s, 1);
    if (often(s, 3))
        h->link_mib = often(s, 40) ? 0 : below(s, 500);
    in->stats.data_processed += h->link_mib * MIB * (uint64_t)step_ms / 1000;
    in->at_iteration = often(s, 20);
    in->stats.memory_iteration += in->at_iteration;
    in->stats.memory_total = h->rig.facts.memory_bytes;
    in->stats.memory_remaining = in->stats.data_remaining = below(s, 1000) * MIB;
    in->stats.memory_dirty_rate = below(s, 100000);
    if (in->stats.auto_converge_throttle < 99 && often(s, 2))
        in->stats.auto_converge_throttle += 10;
    if (h->mad && often(s, 30)) {
        mad_stats(h);
        in->elapsed_ms = often(s, 5) ? (int64_t)mad_number(s) : in->elapsed_ms;
        in->elapsed_ms = in->elapsed_ms > INT64_MAX / 2 ? 0 : in->elapsed_ms;
    }
}

/* What an executor does with a request; the mode follows. */
static bool random_obey(struct history *h)
{
    bool accepted = often(&h->seed, 70);
    struct monitor_decision *d = &h->rig.d;
    monitor_done(&h->rig.m, d, accepted, h->rig.in.elapsed_ms);
    if (accepted && d->action == MONITOR_POSTCOPY)
        h->rig.in.mode = MODE_POSTCOPY;
    if (accepted && (d->action == MONITOR_PAUSE || d->why == DECISION_LATE_VFIO))
        h->rig.in.mode = MODE_PAUSED;
    return accepted;
}

/* --- equality, from the table ---------------------------------------------------------------- */

static void assert_same(const struct monitor *a, const struct monitor *b)
{
#define STATE(type, id) assert_true(a->id == b->id);
#define FLOW(type, id) assert_true(a->flow.id == b->flow.id);
#define PAST(type, id) assert_true(a->past.id == b->past.id);
#include "engine/data/monitor.def"
#undef PAST
#undef FLOW
#undef STATE
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->config.disruption_set, b->config.disruption_set);
#define SETTING(id, type, json, fallback, low, high, policy, help) \
    assert_true(a->config.id == b->config.id);
#include "engine/model/settings/migration_config.def"
#undef SETTING
    assert_int_equal(a->facts.memory_bytes, b->facts.memory_bytes);
    assert_int_equal(a->facts.disk_bytes, b->facts.disk_bytes);
    assert_int_equal(a->facts.vfio, b->facts.vfio);
    assert_int_equal(a->facts.tuning, b->facts.tuning);
    assert_int_equal(a->n_minima, b->n_minima);
    assert_int_equal(a->n_later, b->n_later);
    for (size_t i = 0; i < a->n_minima; i++) {
        assert_int_equal(a->minima[i].remaining, b->minima[i].remaining);
        assert_int_equal(a->minima[i].at_ms, b->minima[i].at_ms);
    }
    assert_memory_equal(a->later, b->later, a->n_later * sizeof *a->later);
}

/* --- the laws -------------------------------------------------------------------------------- */

static void law_of_orders(const struct history *h)
{
    const struct monitor_decision *d = &h->rig.d;
    const struct migration_config *c = &h->rig.config;
    assert_int_equal(d->action, decision_action(d->why));
    assert_true(strlen(d->text) > 20 && strlen(d->text) < MONITOR_TEXT_MAX - 1);
    assert_non_null(strstr(d->text, "; remaining "));
    assert_non_null(strstr(d->text, "completion timeout "));
    if (d->action == MONITOR_SET_DOWNTIME)
        assert_in_range(d->downtime_ms, 1, MONITOR_DOWNTIME_MAX_MS);
    else
        assert_int_equal(d->downtime_ms, 0);
    if (d->action == MONITOR_POSTCOPY)
        assert_true(c->post_copy && c->disruption && !h->rig.facts.vfio);
    bool disrupts = d->action == MONITOR_PAUSE || d->why == DECISION_LATE_VFIO ||
                    (d->action == MONITOR_SET_DOWNTIME && d->downtime_ms > c->max_downtime_ms);
    if (disrupts)
        assert_true(c->disruption);
    if (h->rig.in.mode == MODE_POSTCOPY || h->rig.in.abort_under_way)
        assert_int_equal(d->action, MONITOR_NOTHING);
    assert_true(d->estimate_ms >= -1);
}

static void law_of_sick_paths(const struct history *h)
{
    const struct monitor_decision *d = &h->rig.d;
    const struct monitor *m = &h->rig.m;
    bool over = d->action == MONITOR_POSTCOPY || d->why == DECISION_STALLED_HARD ||
                d->why == DECISION_STALLED_SOFT || d->why == DECISION_LATE_HARD;
    if (m->kind != MONITOR_STALL || !over)
        return;
    assert_true(m->now_ms - m->flow.processed_ms <= MONITOR_FLOW_MS);
    assert_true(d->estimate_ms >= 0);
    double end_ms = (double)m->begin_ms + (double)m->budget_ms * h->rig.config.completion_factor;
    if (m->budget_ms > 0)
        assert_true((double)(m->now_ms + d->estimate_ms) <= end_ms + 1);
}

/* Raised only while bytes move: between a hold and a raise there is a sample that grew. */
static void law_of_downtime(const struct history *h, uint64_t processed_before)
{
    const struct monitor_decision *d = &h->rig.d;
    bool raises = d->why == DECISION_FIRST_DOWNTIME || d->why == DECISION_MORE_DOWNTIME;
    if (h->rig.m.kind == MONITOR_STALL && raises) {
        assert_true(h->rig.m.flow.processed > processed_before);
        assert_in_range(d->downtime_ms, 1, h->rig.config.max_downtime_ms);
    }
}

static void law_of_budget(const struct history *h, const struct monitor *before, bool accepted)
{
    const struct monitor *m = &h->rig.m;
    enum decision why = h->rig.d.why;
    bool stops = why == DECISION_LATE_PAUSE || why == DECISION_LATE_VFIO ||
                 why == DECISION_LATE_HARD || why == DECISION_STALLED_HARD;
    if (m->budget_ms != before->budget_ms)
        assert_true(accepted && stops && !before->paused && !before->extended);
}

static void every_order_is_lawful(void **state)
{
    (void)state;
    static struct history h;
    size_t seen[DECISION_COUNT] = {0};
    for (uint64_t i = 0; i < test_size(HISTORIES / 3, HISTORIES, HISTORIES); i++) {
        random_begin(&h, i);
        bool abort_stands = false;
        for (int step_no = 0; step_no < STEPS; step_no++) {
            uint64_t processed = h.rig.m.flow.processed;
            random_input(&h);
            (void)step(&h.rig, h.rig.in.elapsed_ms);
            seen[h.rig.d.why]++;
            law_of_orders(&h);
            law_of_sick_paths(&h);
            law_of_downtime(&h, processed);
            /* An abort is wished again only after it was seen to fail. */
            if (h.rig.in.abort_under_way)
                abort_stands = false;
            if (abort_stands && h.rig.m.now_ms - h.rig.m.abort_ms <= MONITOR_ABORT_GUARD_MS)
                assert_int_equal(h.rig.d.action, MONITOR_NOTHING);
            struct monitor before = h.rig.m;
            bool accepted = random_obey(&h);
            law_of_budget(&h, &before, accepted);
            if (accepted && h.rig.d.action == MONITOR_ABORT)
                abort_stands = true;
        }
    }
    for (enum decision why = 0; why < DECISION_COUNT; why++)
        if (seen[why] == 0 && !decision_is_remedy(why))
            fail_msg("no history led to %s", decision_name(why));
}

/* Saved and loaded at any moment it is the same, and goes on the same. */
static void what_is_saved_comes_back(void **state)
{
    (void)state;
    static struct history h, twin;
    for (uint64_t i = 0; i < test_size(HISTORIES / 15, HISTORIES / 5, HISTORIES / 5); i++) {
        random_begin(&h, i + 77777);
        for (int step_no = 0; step_no < STEPS; step_no++) {
            if (step_no % 16 == 0) {
                char *text = monitor_save(&h.rig.m);
                assert_non_null(text);
                twin = h;
                memset(&twin.rig.m, 0x5a, sizeof twin.rig.m);
                assert_true(monitor_load(text, &twin.rig.m));
                assert_same(&h.rig.m, &twin.rig.m);
                free(text);
            }
            random_input(&h);
            random_input(&twin);
            (void)step(&h.rig, h.rig.in.elapsed_ms);
            (void)step(&twin.rig, twin.rig.in.elapsed_ms);
            assert_int_equal(h.rig.d.why, twin.rig.d.why);
            assert_int_equal(h.rig.d.downtime_ms, twin.rig.d.downtime_ms);
            assert_string_equal(h.rig.d.text, twin.rig.d.text);
            (void)random_obey(&h);
            (void)random_obey(&twin);
        }
        assert_same(&h.rig.m, &twin.rig.m);
    }
}

static void what_is_not_understood_changes_nothing(void **state)
{
    (void)state;
    static struct history h;
    static struct monitor m, before;
    random_begin(&h, 5);
    for (int i = 0; i < 200; i++) {
        random_input(&h);
        (void)step(&h.rig, h.rig.in.elapsed_ms);
        (void)random_obey(&h);
    }
    char *text = monitor_save(&h.rig.m);
    size_t length = strlen(text);
    memset(&m, 0x5a, sizeof m);
    before = m;
    assert_false(monitor_load(NULL, &m));
    assert_false(monitor_load("", &m));
    assert_false(monitor_load("{}", &m));
    assert_false(monitor_load("[1]", &m));
    for (size_t cut = 0; cut < length; cut += 7) {
        char kept = text[cut];
        text[cut] = '\0';
        assert_false(monitor_load(text, &m));
        text[cut] = kept;
    }
    static const char *const spoilt[][2] = {
        {"\"budget_ms\":", "\"budget_mx\":"},    {"\"stalled\":", "\"stallex\":"},
        {"\"standing\":\"", "\"standing\":\"x"}, {"\"now_ms\":", "\"now_ms\":-"},
        {"\"minima\":[", "\"minima\":[3,"},      {"\"monitor\":\"", "\"monitor\":\"x"}};
    for (size_t i = 0; i < COUNT(spoilt); i++) {
        char bad[65536];
        const char *at = strstr(text, spoilt[i][0]);
        assert_non_null(at);
        (void)snprintf(bad, sizeof bad, "%.*s%s%s", (int)(at - text), text, spoilt[i][1],
                       at + strlen(spoilt[i][0]));
        assert_false(monitor_load(bad, &m));
    }
    assert_memory_equal(&m, &before, sizeof m);
    assert_true(monitor_load(text, &m));
    free(text);
}

/* Whatever converges well within its time is left alone, whatever is allowed. */
static void what_converges_is_never_disturbed_by_stall(void **state)
{
    (void)state;
    static struct world w;
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t s = i + 1;
        (void)next(&s);
        struct migration_config config;
        migration_config_default(&config);
        config.disruption = often(&s, 50);
        config.post_copy = often(&s, 50);
        uint64_t link = 20 + below(&s, 1000);
        struct plan plan = {.memory = (1 + below(&s, 16)) * GIB / 2, .link = link * MIB};
        plan.dirty = plan.link * (5 + below(&s, 65)) / 100;
        plan.working_set = plan.memory;
        plan.wave_ms = often(&s, 30) ? 1000 + (int64_t)below(&s, 30000) : 0;
        if (plan.memory / plan.link * 4 > 140 * (plan.memory / GIB + 1))
            continue;        /* too slow for its budget: another story */
        if (often(&s, 30)) { /* a blip is no reason */
            plan.cut_ms = 1000 + (int64_t)below(&s, 10000);
            plan.mended_ms = plan.cut_ms + 1000 + (int64_t)below(&s, 8000);
        }
        world_begin(&w, &plan, MONITOR_STALL, &config);
        world_run(&w, 3600 * 1000);
        const struct monitor_decision *d = world_verdict(&w);
        if (d != NULL || w.ending != MOVED)
            fail_msg("plan %d: ending %d, %s", (int)i, (int)w.ending, d == NULL ? "" : d->text);
    }
}

/* The same looks give the same decisions, and a look without order changes no wish. */
static void the_same_inputs_give_the_same_decisions(void **state)
{
    (void)state;
    static struct history a, b;
    for (uint64_t i = 0; i < 100; i++) {
        random_begin(&a, i + 5000);
        random_begin(&b, i + 5000);
        for (int step_no = 0; step_no < STEPS; step_no++) {
            random_input(&a);
            random_input(&b);
            memset(&b.rig.d, 0xff, sizeof b.rig.d); /* what was there does not matter */
            (void)step(&a.rig, a.rig.in.elapsed_ms);
            (void)step(&b.rig, b.rig.in.elapsed_ms);
            assert_string_equal(a.rig.d.text, b.rig.d.text);
            assert_same(&a.rig.m, &b.rig.m);
            (void)random_obey(&a);
            (void)random_obey(&b);
        }
    }
}

TEST_FILE(test_monitor_laws)
{
    const struct CMUnitTest laws[] = {
        cmocka_unit_test(every_order_is_lawful),
        cmocka_unit_test(what_is_saved_comes_back),
        cmocka_unit_test(what_is_not_understood_changes_nothing),
        cmocka_unit_test(what_converges_is_never_disturbed_by_stall),
        cmocka_unit_test(the_same_inputs_give_the_same_decisions),
    };
    return cmocka_run_group_tests_name("laws", laws, NULL, NULL);
}
