/* test_dispatch.c - what a committed action becomes: a request to a host, or the answer that it was
 * withdrawn because it is stale or nobody takes it; and what of a host's messages gets in. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/impl.h"
#include "tests/core_world.h"

static int64_t wall_ms;
static int64_t read_clock(void *ctx)
{
    (void)ctx;
    return wall_ms;
}
static const struct clock still_clock = {read_clock, read_clock, NULL};

struct rig {
    struct core_world *world; /* g1 moves from h1 to h2 */
    struct engine *e;
    struct hv hv;
    struct hv_observe observe;
    struct hv_probe probe;
    struct hv_act act;
    bool refuses; /* the hypervisor takes nothing */
    unsigned n;   /* requests so far */
    struct hv_request last;
    char disk[HV_DISK_NAME_MAX]; /* of its first volume */
};

static bool take_request(void *impl, const struct hv_request *request, struct err *err)
{
    struct rig *rig = impl;
    if (rig->refuses)
        return err_set(err, ERR_LIMIT, "full");
    rig->n++;
    rig->last = *request;
    if (request->call == HV_CALL_MIGRATE && request->with.migrate.n_volumes > 0)
        TEXT_SET(rig->disk, request->with.migrate.volumes[0].disk);
    return true;
}

static int set_up(void **state)
{
    static const struct hv_ops ops = {take_request, NULL, NULL};
    struct rig *rig = calloc(1, sizeof *rig);
    struct err err = {0};
    rig->world = core_moving();
    rig->hv = (struct hv){&ops, rig};
    rig->observe.hv = rig->probe.hv = rig->act.hv = &rig->hv;
    rig->e = calloc(1, sizeof *rig->e);
    rig->e->inbox = queue_new(sizeof(struct input *), ENGINE_QUEUE_MAX, &err);
    rig->e->fleet = rig->world->fleet;
    rig->e->parts = (struct engine_parts){
        .clock = &still_clock, .observe = &rig->observe, .probe = &rig->probe, .act = &rig->act};
    wall_ms = 50000;
    *state = rig;
    return 0;
}

static struct input *next_input(struct rig *rig)
{
    struct input *input = NULL;
    return queue_pop(rig->e->inbox, &input, 0) == QUEUE_ITEM ? input : NULL;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    for (struct input *input = next_input(rig); input != NULL; input = next_input(rig))
        input_free(input);
    queue_free(rig->e->inbox);
    effects_fini(&rig->e->fx);
    core_free(rig->world);
    free(rig->e);
    free(rig);
    return 0;
}

static struct effect effect_of(struct rig *rig, enum effect_kind kind, int64_t waited_ms)
{
    struct effect effect = {.kind = kind, .wall_ms = wall_ms - waited_ms};
    TEXT_SET(effect.job_uid, core_job(rig->world)->uid);
    effect.of.act.id = 77;
    TEXT_SET(effect.of.act.node, "h1");
    TEXT_SET(effect.of.act.guest, CORE_GUEST);
    TEXT_SET(effect.of.act.from, "h2");
    return effect;
}

/* It became a request. */
static void expect_given(struct rig *rig, const struct effect *effect, enum hv_call call)
{
    unsigned before = rig->n;
    dispatch(rig->e, effect);
    assert_int_equal(rig->n, before + 1);
    assert_int_equal(rig->last.id, 77);
    assert_int_equal(rig->last.call, call);
    assert_string_equal(rig->last.host, "h1");
    assert_string_equal(rig->last.guest, CORE_GUEST);
    assert_null(next_input(rig));
}

/* Nothing was asked of the host, and the core hears so. */
static void expect_refused(struct rig *rig, const struct effect *effect, enum input_kind kind,
                           enum err_code code)
{
    unsigned before = rig->n;
    dispatch(rig->e, effect);
    assert_int_equal(rig->n, before);
    struct input *input = next_input(rig);
    assert_non_null(input);
    assert_int_equal(input->kind, kind);
    assert_int_equal(input->id, 77);
    assert_int_equal(input->err.code, code);
    assert_string_equal(input->host, "h1");
    assert_string_equal(input->guest, CORE_GUEST);
    if (kind == INPUT_CALL)
        assert_int_equal(input->of.call, effect_call(effect));
    input_free(input);
    assert_null(next_input(rig));
}

/* ---- staleness ---- */

/* Both hosts were observed before the order: three seconds later that proves nothing. */
static void a_stale_order_is_withdrawn(void **state)
{
    struct rig *rig = *state;
    static const struct {
        enum effect_kind kind;
        enum hv_call call;
        int64_t fresh_ms;
    } rows[] = {
        {EFFECT_DO_MIGRATE, HV_CALL_MIGRATE, 3000},
        {EFFECT_DO_TUNE, HV_CALL_SET_DOWNTIME, 3000},
        {EFFECT_DO_TUNE, HV_CALL_SUSPEND, 3000},
        {EFFECT_DO_TUNE, HV_CALL_YANK, 3000},
        {EFFECT_DO_TUNE, HV_CALL_START_POSTCOPY, 1000}, /* the target answered just before */
        {EFFECT_DO_STOP_BACKUP, HV_CALL_ABORT, 3000},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (int sign = -1; sign <= 1; sign += 2) { /* a clock that was set back too */
            struct effect effect = effect_of(rig, rows[i].kind, sign * rows[i].fresh_ms);
            effect.of.act.call = rows[i].call;
            expect_given(rig, &effect, rows[i].call);
            effect.wall_ms -= sign;
            expect_refused(rig, &effect, INPUT_CALL, ERR_REFUSED);
        }
        struct effect effect = effect_of(rig, rows[i].kind, 0);
        effect.of.act.call = rows[i].call;
        TEXT_SET(effect.job_uid, "nobody");
        expect_refused(rig, &effect, INPUT_CALL, ERR_REFUSED);
    }
}

static void a_migration_that_is_to_be_aborted_does_not_begin(void **state)
{
    struct rig *rig = *state;
    struct job *job = core_job(rig->world);
    job->abort.asked = true;
    struct effect effect = effect_of(rig, EFFECT_DO_MIGRATE, 0);
    expect_refused(rig, &effect, INPUT_CALL, ERR_REFUSED);
    effect.of.act.migrate.flags =
        HV_MIGRATE_RESUME; /* a broken post-copy is resumed all the same */
    expect_given(rig, &effect, HV_CALL_MIGRATE);
    enum phase before = job->phase;
    job->phase = PHASE_FAILED;
    expect_refused(rig, &effect, INPUT_CALL, ERR_REFUSED);
    struct effect tune = effect_of(rig, EFFECT_DO_TUNE, 0);
    tune.of.act.call = HV_CALL_SET_DOWNTIME;
    expect_refused(rig, &tune, INPUT_CALL, ERR_REFUSED);
    job->phase = before;
    expect_given(rig, &tune, HV_CALL_SET_DOWNTIME);
}

/* An abort is never too old; but one whose migration waits in the same list would hit somebody
 * else's job. */
static void an_abort_is_given_unless_its_migration_was_not(void **state)
{
    struct rig *rig = *state;
    struct effect abort = effect_of(rig, EFFECT_DO_ABORT, 3600 * 1000);
    expect_given(rig, &abort, HV_CALL_ABORT);
    struct effect *held = effects_add(&rig->e->fx, EFFECT_DO_TUNE, core_job(rig->world), wall_ms);
    assert_false(dispatch_holds_call(rig->e, abort.job_uid));
    held->kind = EFFECT_DO_MIGRATE;
    assert_true(dispatch_holds_call(rig->e, abort.job_uid));
    expect_refused(rig, &abort, INPUT_CALL, ERR_REFUSED);
    TEXT_SET(held->job_uid, "another");
    assert_false(dispatch_holds_call(rig->e, abort.job_uid));
    expect_given(rig, &abort, HV_CALL_ABORT);
}

/* ---- what is asked ---- */

/* Its user was told that nothing is known of it, and may have gone on: it is not paused, or
 * resumed, when the store takes records again after minutes. */
static void a_pause_that_waited_for_the_store_is_dropped(void **state)
{
    struct rig *rig = *state;
    static const struct {
        enum effect_kind kind;
        enum hv_call call;
    } rows[] = {{EFFECT_DO_PAUSE, HV_CALL_SUSPEND}, {EFFECT_DO_UNPAUSE, HV_CALL_RESUME}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct effect effect = effect_of(rig, rows[i].kind, 3000);
        unsigned before = rig->n;
        dispatch(rig->e, &effect);
        assert_int_equal(rig->n, before + 1);
        assert_int_equal(rig->last.call, rows[i].call);
        effect.wall_ms--;
        dispatch(rig->e, &effect);
        effect.wall_ms = wall_ms + 3001; /* the clock was set back */
        dispatch(rig->e, &effect);
        assert_int_equal(rig->n, before + 1);
        assert_null(next_input(rig));
    }
}

/* The call goes to the source, which sends the guest to the target: neither may be one that is only
 * read. A process that ended may have decided it in another mode. */
static void nothing_is_ordered_from_or_to_a_host_in_observe_mode(void **state)
{
    struct rig *rig = *state;
    struct effect effect = effect_of(rig, EFFECT_DO_MIGRATE, 0);
    effect.of.act.from[0] = '\0'; /* as a migrate call is given */
    TEXT_SET(effect.of.act.migrate.target, "h2");
    core_node(rig->world, "h1")->host.observe = true;
    expect_refused(rig, &effect, INPUT_CALL, ERR_REFUSED);
    core_node(rig->world, "h1")->host.observe = false;
    core_node(rig->world, "h2")->host.observe = true;
    expect_refused(rig, &effect, INPUT_CALL, ERR_REFUSED);
    core_node(rig->world, "h2")->host.observe = false;
    expect_given(rig, &effect, HV_CALL_MIGRATE);
}

static void an_order_carries_its_values(void **state)
{
    struct rig *rig = *state;
    struct effect effect = effect_of(rig, EFFECT_DO_TUNE, 0);
    effect.of.act.call = HV_CALL_SET_SPEED;
    effect.of.act.value = 12;
    effect.of.act.postcopy = true;
    expect_given(rig, &effect, HV_CALL_SET_SPEED);
    assert_int_equal(rig->last.with.tune.value, 12);
    assert_true(rig->last.with.tune.postcopy);

    effect = effect_of(rig, EFFECT_DO_TUNE, 0);
    effect.of.act.call = HV_CALL_RESUME_STREAM;
    effect.of.act.migrate.port = 49200;
    TEXT_SET(effect.of.act.migrate.target, "h2");
    expect_given(rig, &effect, HV_CALL_RESUME_STREAM);
    assert_int_equal(rig->last.with.migrate.port, 49200);
    assert_string_equal(rig->last.with.migrate.target, "h2");

    effect = effect_of(rig, EFFECT_DO_MIGRATE, 0);
    effect.of.act.migrate.flags = HV_MIGRATE_TLS;
    expect_given(rig, &effect, HV_CALL_MIGRATE);
    assert_int_equal(rig->last.with.migrate.flags, HV_MIGRATE_TLS);
    assert_int_equal(rig->last.with.migrate.n_volumes, 0);
    struct job *job = core_job(rig->world);
    free(job->request.volumes_json);
    job->request.volumes_json = strdup("not JSON");
    expect_refused(rig, &effect, INPUT_CALL, ERR_INVALID); /* never without its disks */
}

static void a_question_is_put_to_its_node(void **state)
{
    struct rig *rig = *state;
    struct effect effect = effect_of(rig, EFFECT_DO_ASK_JOB, 3600 * 1000);
    expect_given(rig, &effect, HV_CALL_JOB_STATS);
    effect = effect_of(rig, EFFECT_DO_ASK_FINAL, 0);
    expect_given(rig, &effect, HV_CALL_COMPLETED_STATS);
    effect = effect_of(rig, EFFECT_DO_ASK_PATH, 0);
    expect_given(rig, &effect, HV_CALL_PROBE_PATH);
    assert_string_equal(rig->last.with.peer, "h2");
    effect = effect_of(rig, EFFECT_DO_SHUTDOWN, 0);
    effect.of.act.id = 0;
    dispatch(rig->e, &effect);
    assert_int_equal(rig->last.call, HV_CALL_SHUTDOWN);
    assert_string_equal(rig->last.host, "h1");
    assert_string_equal(rig->last.guest, CORE_GUEST);
}

/* Whoever waits for an answer gets one. */
static void what_nobody_takes_is_answered_at_once(void **state)
{
    struct rig *rig = *state;
    static const struct {
        enum effect_kind kind;
        enum input_kind answer;
    } rows[] = {{EFFECT_DO_MIGRATE, INPUT_CALL},    {EFFECT_DO_ABORT, INPUT_CALL},
                {EFFECT_DO_TUNE, INPUT_CALL},       {EFFECT_DO_STOP_BACKUP, INPUT_CALL},
                {EFFECT_DO_ASK_JOB, INPUT_ASK_JOB}, {EFFECT_DO_ASK_PATH, INPUT_PATH}};
    rig->refuses = true;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct effect effect = effect_of(rig, rows[i].kind, 0);
        effect.of.act.call = HV_CALL_SUSPEND;
        expect_refused(rig, &effect, rows[i].answer, ERR_LIMIT);
    }
    static const enum effect_kind silent[] = {EFFECT_DO_ASK_FINAL, EFFECT_DO_SHUTDOWN,
                                              EFFECT_EVENT};
    for (size_t i = 0; i < COUNT(silent); i++) {
        struct effect effect = effect_of(rig, silent[i], 0);
        dispatch(rig->e, &effect);
        assert_null(next_input(rig));
    }
}

/* ---- answers ---- */

static void an_answer_becomes_the_input_of_its_call(void **state)
{
    struct rig *rig = *state;
    static const struct {
        enum hv_call call;
        enum input_kind kind;
    } rows[] = {{HV_CALL_COMPLETED_STATS, INPUT_FINAL},
                {HV_CALL_JOB_STATS, INPUT_ASK_JOB},
                {HV_CALL_PROBE_PATH, INPUT_PATH},
                {HV_CALL_MIGRATE, INPUT_CALL},
                {HV_CALL_ABORT, INPUT_CALL},
                {HV_CALL_YANK, INPUT_CALL}};
    struct hv_reply_sink sink = intake_reply_sink(rig->e);
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int failed = 0; failed < 2; failed++) {
            struct hv_reply reply = {.id = 9, .call = rows[i].call, .host = "h1", .guest = "g"};
            if (rows[i].call == HV_CALL_PROBE_PATH)
                reply.with.path = HV_PATH_DEAD;
            else if (rows[i].kind != INPUT_CALL)
                reply.with.stats.data_total = 5;
            if (failed)
                err_set(&reply.err, ERR_UNREACHABLE, "lost");
            sink.on_reply(sink.ctx, &reply);
            struct input *input = next_input(rig);
            assert_non_null(input);
            assert_int_equal(input->kind, rows[i].kind);
            assert_int_equal(input->id, 9);
            assert_string_equal(input->host, "h1");
            assert_string_equal(input->guest, "g");
            assert_int_equal(input->err.code, failed ? ERR_UNREACHABLE : ERR_NONE);
            if (rows[i].kind == INPUT_CALL)
                assert_int_equal(input->of.call, rows[i].call);
            else if (rows[i].kind == INPUT_PATH)
                assert_int_equal(input->of.path, failed ? HV_PATH_UNKNOWN : HV_PATH_DEAD);
            else
                assert_int_equal(input->of.stats.data_total, 5);
            input_free(input);
        }
    struct hv_reply shutdown = {.call = HV_CALL_SHUTDOWN};
    sink.on_reply(sink.ctx, &shutdown);
    assert_null(next_input(rig)); /* the guest's state will show it */
}

/* ---- messages of hosts ---- */

static void fill(struct rig *rig, size_t n)
{
    while (queue_depth(rig->e->inbox) < n)
        assert_true(intake_post(rig->e, intake_new(INPUT_TICK, "", "")));
}

/* Half of the queue is kept for what a job waits for. What is dropped and does not come again is
 * counted apart: then silence of a host proves nothing. */
static void a_message_that_is_dropped_is_counted(void **state)
{
    struct rig *rig = *state;
    struct collector_sink sink = engine_collector_sink(rig->e);
    struct hv_event event = {.kind = HV_EVENT_LIFECYCLE, .host = "h1"};
    struct sample sample = {.host = "h1"};
    struct hv_facts facts = {0};
    struct err err = {0};
    fill(rig, ENGINE_QUEUE_MAX / 2 - 1);
    sink.on_event(sink.ctx, &event);
    assert_int_equal(queue_depth(rig->e->inbox), ENGINE_QUEUE_MAX / 2);
    assert_int_equal(atomic_load(&rig->e->posts_dropped), 0);
    sink.on_event(sink.ctx, &event);
    assert_int_equal(atomic_load(&rig->e->posts_dropped), 1);
    assert_int_equal(atomic_load(&rig->e->messages_dropped), 1);
    sink.on_sample(sink.ctx, &sample); /* the next one says more */
    sink.on_facts(sink.ctx, "h1", &facts);
    assert_int_equal(atomic_load(&rig->e->posts_dropped), 3);
    assert_int_equal(atomic_load(&rig->e->messages_dropped), 1);
    assert_int_equal(queue_depth(rig->e->inbox), ENGINE_QUEUE_MAX / 2);
    const struct hv_observation seen = {.presence = HV_PRESENT};
    sink.on_observed(sink.ctx, 1, "h1", CORE_GUEST, &seen, &err); /* a job waits for this one */
    sink.on_host(sink.ctx, "h1", false, &err);
    assert_int_equal(queue_depth(rig->e->inbox), ENGINE_QUEUE_MAX / 2 + 2);
    fill(rig, ENGINE_QUEUE_MAX);
    sink.on_host(sink.ctx, "h1", false, &err);
    assert_int_equal(atomic_load(&rig->e->posts_dropped), 4);
    assert_int_equal(atomic_load(&rig->e->messages_dropped), 2);
}

static void a_message_gets_in_as_it_came(void **state)
{
    struct rig *rig = *state;
    struct collector_sink sink = engine_collector_sink(rig->e);
    struct err lost = {.code = ERR_UNREACHABLE, .hv_code = HV_LOST_SILENT};
    struct hv_event event = {.kind = HV_EVENT_ITERATION, .host = "h1", .guest = "g", .a = 4};
    sink.on_event(sink.ctx, &event);
    struct input *input = next_input(rig);
    assert_int_equal(input->kind, INPUT_EVENT);
    assert_string_equal(input->host, "h1");
    assert_string_equal(input->guest, "g");
    assert_int_equal(input->of.event.a, 4);
    input_free(input);
    for (int connected = 0; connected < 2; connected++) {
        sink.on_host(sink.ctx, "h2", connected == 1, &lost);
        input = next_input(rig);
        assert_int_equal(input->kind, INPUT_HOST);
        assert_string_equal(input->host, "h2");
        assert_int_equal(input->of.connected, connected == 1);
        assert_int_equal(input->err.hv_code, connected == 1 ? 0 : HV_LOST_SILENT);
        input_free(input);
    }
    const struct hv_observation seen = {.presence = HV_UNKNOWN, .state = 3};
    sink.on_observed(sink.ctx, 8, "h1", "g", &seen, &lost);
    input = next_input(rig);
    assert_int_equal(input->kind, INPUT_OBSERVED);
    assert_int_equal(input->id, 8);
    assert_int_equal(input->of.observation.presence, HV_UNKNOWN);
    assert_int_equal(input->of.observation.state, 3);
    assert_int_equal(input->err.code, ERR_UNREACHABLE);
    input_free(input);
    struct hv_guest guests[] = {{.uuid = "u1", .labels = (char[]){"{}"}}, {.uuid = "u2"}};
    struct hv_guest_list list = {2, guests};
    sink.on_guests(sink.ctx, "h1", &list);
    input = next_input(rig);
    assert_int_equal(input->kind, INPUT_GUESTS);
    assert_int_equal(input->of.guests->n, 2);
    assert_string_equal(input->of.guests->guests[0].labels, "{}");
    assert_ptr_not_equal(input->of.guests->guests[0].labels, guests[0].labels);
    assert_string_equal(input->of.guests->guests[1].uuid, "u2");
    assert_null(input->of.guests->guests[1].labels);
    input_free(input);
}

/* A guest's definition, evaluated where it arrives. */
static void a_definition_gets_in_as_facts(void **state)
{
    struct rig *rig = *state;
    struct collector_sink sink = engine_collector_sink(rig->e);
    static const char xml[] =
        "<domain type='kvm'><name>a</name><memory unit='KiB'>1024</memory><vcpu>1</vcpu>"
        "<devices><disk type='file' device='disk'><source file='/a'/><target dev='vda'/>"
        "<mirror type='file' job='copy'><source file='/b'/></mirror></disk></devices></domain>";
    for (int snapshots = -1; snapshots <= 1; snapshots++) {
        assert_true(sink.on_definition(sink.ctx, "h1", "g", xml, NULL, snapshots));
        struct input *input = next_input(rig);
        assert_int_equal(input->kind, INPUT_DEFINITION);
        assert_string_equal(input->host, "h1");
        assert_int_equal(input->of.definition->block_jobs, 1);
        assert_int_equal(input->of.definition->utility_disks, 0);
        input_free(input);
    }
    fill(rig, ENGINE_QUEUE_MAX / 2);
    assert_false(sink.on_definition(sink.ctx, "h1", "g", xml, NULL, 0)); /* comes again */
}

TEST_FILE(test_dispatch)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_stale_order_is_withdrawn),
        TEST(a_migration_that_is_to_be_aborted_does_not_begin),
        TEST(an_abort_is_given_unless_its_migration_was_not),
        TEST(a_pause_that_waited_for_the_store_is_dropped),
        TEST(nothing_is_ordered_from_or_to_a_host_in_observe_mode),
        TEST(an_order_carries_its_values),
        TEST(a_question_is_put_to_its_node),
        TEST(what_nobody_takes_is_answered_at_once),
        TEST(an_answer_becomes_the_input_of_its_call),
        TEST(a_message_that_is_dropped_is_counted),
        TEST(a_message_gets_in_as_it_came),
        TEST(a_definition_gets_in_as_facts),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
