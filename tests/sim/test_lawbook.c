/* test_lawbook.c - the laws can be broken: a publication, store or order that breaks exactly one of
 * them is shown to the lawbook, and it says which. A checker that cannot fail proves nothing. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "store/sqlite/sqlite.h"
#include "tests/sim/lawbook.h"

enum { NODES = 3, JOBS = 3, OBJECTS = 2, START_MS = 1000000 };
#define GUEST_A "00000000-0000-4000-8000-00000000000a"
#define GUEST_B "00000000-0000-4000-8000-00000000000b"

/* Two publications, both lawful: job one moves guest a from n0 to n1, job two (of guest b) waits
 * for one of the fleet's places. A row changes what it likes in one of them, or around them. */
struct stage {
    struct snapshot_node nodes[2][NODES];
    struct snapshot_guest guests[2][2];
    struct snapshot_job jobs[2][JOBS];
    const struct snapshot_job *list[2][JOBS];
    struct snapshot_object objects[2][OBJECTS];
    const struct snapshot_object *object_list[2][OBJECTS];
    struct snapshot shows[2];
    struct lawbook_rules rules;
    struct store *store;
    struct lawbook *book;
    uint64_t violations;
    const char *host_of_a;
    bool closes, stores, shuts_down, may_shut_down, moves, unlimited, crashes, undefined;
};

static const char *host_of(void *ctx, const char *uuid)
{
    struct stage *s = ctx;
    return strcmp(uuid, GUEST_A) == 0 ? s->host_of_a : "n0";
}
static uint64_t violations(void *ctx)
{
    return ((struct stage *)ctx)->violations;
}
static bool is_defined(void *ctx, const char *uuid)
{
    (void)uuid;
    return !((struct stage *)ctx)->undefined;
}
/* The stage's publications are its own. */
static const struct snapshot *keep(const struct snapshot *snapshot)
{
    return snapshot;
}
static void drop(const struct snapshot *snapshot)
{
    (void)snapshot;
}

static void fill_job(struct snapshot_job *job, const char *name, const char *guest)
{
    TEXT_SET(job->uid, name);
    TEXT_SET(job->ns, "default");
    TEXT_SET(job->name, name);
    TEXT_SET(job->guest_uuid, guest);
    TEXT_SET(job->guest_name, guest + 35);
    TEXT_SET(job->source, "n0");
    job->times.created_ms = START_MS;
    job->request.priority = PRIORITY_USER_TRIGGERED;
}

static void fill_waiting(struct snapshot_job *job)
{
    job->phase = PHASE_PENDING;
    job->wait.pending = PENDING_SLOT_FLEET;
    TEXT_SET(job->wait.reason, "all 1 migration slots of the fleet are in use");
    job->wait.since_ms = START_MS;
    job->wait.until_ms = START_MS + 86400000;
}

static void fill(struct stage *s, int i)
{
    struct snapshot *now = &s->shows[i];
    for (int n = 0; n < NODES; n++) {
        struct snapshot_node *node = &s->nodes[i][n];
        TEXT_SET(node->name, n == 0 ? "n0" : n == 1 ? "n1" : "n2");
        node->connected = node->settled = node->has_facts = true;
        node->facts.memory_kib = 4096;
        node->facts.cpus = 4;
        node->labels = "{\"zone\":\"a\"}";
    }
    for (int g = 0; g < 2; g++) {
        struct snapshot_guest *guest = &s->guests[i][g];
        TEXT_SET(guest->uuid, g == 0 ? GUEST_A : GUEST_B);
        TEXT_SET(guest->name, g == 0 ? "a" : "b");
        TEXT_SET(guest->ns, "default");
        TEXT_SET(guest->node, "n0");
        guest->up = true;
        guest->strategy = STRATEGY_NONE;
    }
    fill_job(&s->jobs[i][0], "one", GUEST_A);
    fill_job(&s->jobs[i][1], "two", GUEST_B);
    fill_waiting(&s->jobs[i][1]);
    s->jobs[i][0].phase = PHASE_SCHEDULING;
    s->jobs[i][0].wait.pending = PENDING_PREPARING;
    TEXT_SET(s->jobs[i][0].wait.reason, "n1 is asked");
    s->jobs[i][0].wait.since_ms = START_MS;
    s->jobs[i][0].wait.until_ms = START_MS + 120000;
    s->jobs[i][0].placement.launcher = LAUNCHER_SCHEDULED;
    TEXT_SET(s->jobs[i][0].target, "n1");
    for (int j = 0; j < JOBS; j++)
        s->list[i][j] = &s->jobs[i][j];
    for (int o = 0; o < OBJECTS; o++)
        s->object_list[i][o] = &s->objects[i][o];
    *now = (struct snapshot){.generation = 1 + (uint64_t)i,
                             .wall_ms = START_MS + 1000 * i,
                             .n_nodes = NODES,
                             .n_guests = 2,
                             .n_jobs = 2,
                             .nodes = s->nodes[i],
                             .guests = s->guests[i],
                             .jobs = s->list[i],
                             .objects = s->object_list[i]};
}

/* A first publication in which job one waits as well: what the second shows of it is new. */
static void one_waits_before(struct stage *s)
{
    struct snapshot_job *job = &s->jobs[0][0];
    fill_waiting(job);
    job->placement.launcher = LAUNCHER_NONE;
    job->target[0] = '\0';
}

/* ---- one row per way to break a law ---- */

static void lawful(struct stage *s)
{
    one_waits_before(s);
}
static void too_many(struct stage *s)
{
    s->jobs[1][1] = s->jobs[1][0];
    fill_job(&s->jobs[1][1], "two", GUEST_B);
    TEXT_SET(s->jobs[1][1].target, "n2");
}
static void too_many_out(struct stage *s)
{
    s->rules.fleet = 0;
    s->rules.outbound = 1;
    too_many(s);
}
static void too_many_in(struct stage *s)
{
    s->rules.fleet = 0;
    s->rules.inbound = 1;
    too_many(s);
    TEXT_SET(s->jobs[1][1].target, "n1");
}
static void no_bandwidth_left(struct stage *s)
{
    s->rules.bandwidth = 10 << 20;
    s->moves = true;
    s->jobs[1][0].phase = PHASE_RUNNING;
}
static void without_limit(struct stage *s)
{
    s->rules.bandwidth = 10 << 20;
    s->moves = true;
    s->unlimited = true;
}
static void two_jobs(struct stage *s)
{
    TEXT_SET(s->jobs[1][1].guest_uuid, GUEST_A);
}
static void memory_twice(struct stage *s)
{
    one_waits_before(s);
    s->nodes[0][1].facts.memory_kib = s->nodes[1][1].facts.memory_kib = 1023;
}
static void vcpus_twice(struct stage *s)
{
    one_waits_before(s);
    s->rules.vcpus_per_cpu = 1;
    s->nodes[0][1].facts.cpus = s->nodes[1][1].facts.cpus = 1;
}
static void beyond_quota(struct stage *s)
{
    one_waits_before(s);
    for (int i = 0; i < 2; i++) {
        struct snapshot_object *quota = &s->objects[i][0];
        quota->kind = OBJECT_QUOTA;
        TEXT_SET(quota->uid, "q");
        TEXT_SET(quota->ns, "default");
        TEXT_SET(quota->name, "q");
        quota->spec_json = "{\"hard\":{\"launchers\":2}}";
        s->shows[i].n_objects = 1;
    }
}
static void no_reason(struct stage *s)
{
    s->jobs[1][1].wait.reason[0] = '\0';
}
static void no_since(struct stage *s)
{
    s->jobs[1][1].wait.since_ms = 0;
}
static void no_deadline(struct stage *s)
{
    s->jobs[1][1].wait.until_ms = 0;
}
static void says_nothing(struct stage *s)
{
    s->jobs[1][1].wait.pending = PENDING_NONE;
}
static void deadline_moves(struct stage *s)
{
    s->jobs[1][1].wait.until_ms++;
}
static void beyond_deadline(struct stage *s)
{
    s->shows[1].wall_ms = START_MS + 86400000 + 60000;
}
static void never_ends(struct stage *s)
{
    s->closes = true;
}
static void drain_stands(struct stage *s)
{
    s->closes = true;
    s->shows[0].n_jobs = s->shows[1].n_jobs = 0;
    s->shows[1].n_objects = 1;
    s->objects[1][0].kind = OBJECT_DRAIN;
    s->objects[1][0].spec_json = "{\"nodeName\":\"n0\"}";
    s->objects[1][0].status_json = "{\"state\":\"Draining\",\"guests\":[]}";
}
static void blocked_by_nothing(struct stage *s)
{
    drain_stands(s);
    s->objects[1][0].status_json = "{\"state\":\"Blocked\",\"guests\":[{\"name\":\"a\",\"uuid\":"
                                   "\"x\",\"state\":\"Blocked\"}]}";
}
static void overtaken_by_class(struct stage *s)
{
    one_waits_before(s);
    s->jobs[0][1].request.priority = s->jobs[1][1].request.priority = PRIORITY_SYSTEM_CRITICAL;
}
static void overtaken_by_age(struct stage *s)
{
    one_waits_before(s);
    s->jobs[0][1].times.created_ms = s->jobs[1][1].times.created_ms = START_MS - 1;
}
static void overtaken_at_source(struct stage *s)
{
    overtaken_by_age(s);
    s->jobs[0][1].wait.pending = s->jobs[1][1].wait.pending = PENDING_SLOT_SOURCE;
}
static void overtaken_at_target(struct stage *s)
{
    overtaken_by_age(s);
    s->jobs[0][1].wait.pending = s->jobs[1][1].wait.pending = PENDING_SLOT_TARGET;
    TEXT_SET(s->jobs[0][1].request.wanted, "n1");
    TEXT_SET(s->jobs[1][1].request.wanted, "n1");
}
static void not_stored(struct stage *s)
{
    s->stores = false;
}
static void lost_by_a_crash(struct stage *s)
{
    s->crashes = true;
    s->shows[1].n_jobs = 1;
}
static void an_end_that_changes(struct stage *s)
{
    s->jobs[0][0].phase = PHASE_FAILED;
    s->jobs[0][0].result.outcome = OUTCOME_FAILED;
    s->jobs[0][0].wait.pending = PENDING_NONE;
    s->jobs[1][0] = s->jobs[0][0];
    s->jobs[1][0].result.outcome = OUTCOME_ABORTED;
    s->shows[1].n_jobs = 3;
    fill_job(&s->jobs[1][2], "three", "00000000-0000-4000-8000-00000000000c");
    fill_waiting(&s->jobs[1][2]);
}
static void runs_twice(struct stage *s)
{
    s->violations = 1;
}
static void gone_by_itself(struct stage *s)
{
    s->host_of_a = NULL;
}
static void called_irrecoverable(struct stage *s)
{
    s->jobs[1][0].phase = PHASE_FAILED;
    s->jobs[1][0].result.outcome = OUTCOME_IRRECOVERABLE;
    s->jobs[1][0].wait.pending = PENDING_NONE;
}
static void loses_its_definition(struct stage *s)
{
    s->undefined = true;
    s->jobs[1][0].phase = PHASE_SUCCEEDED;
    s->jobs[1][0].result.outcome = OUTCOME_SUCCEEDED;
    s->jobs[1][0].wait.pending = PENDING_NONE;
}
static void shut_down_unasked(struct stage *s)
{
    s->shuts_down = true;
}
static void shut_down_against_its_will(struct stage *s)
{
    s->shuts_down = true;
    s->guests[1][0].strategy = STRATEGY_LIVE_MIGRATE;
    s->may_shut_down = true;
}
static void to_a_cordoned(struct stage *s)
{
    one_waits_before(s);
    s->nodes[0][1].cordoned = s->nodes[1][1].cordoned = true;
}
static void to_a_tainted(struct stage *s)
{
    one_waits_before(s);
    s->nodes[0][1].taints = s->nodes[1][1].taints =
        "[{\"key\":\"x\",\"value\":\"y\",\"effect\":\"NoSchedule\"}]";
}
static void against_its_selector(struct stage *s)
{
    one_waits_before(s);
    s->jobs[1][0].request.selector_json = "{\"zone\":\"b\"}";
}
static void against_the_guest(struct stage *s)
{
    one_waits_before(s);
    s->guests[0][0].settings = s->guests[1][0].settings = "{\"nodeSelector\":{\"zone\":\"b\"}}";
}
static void not_as_asked(struct stage *s)
{
    one_waits_before(s);
    TEXT_SET(s->jobs[1][0].request.wanted, "n2");
}

static const struct {
    const char *name;
    void (*change)(struct stage *);
    enum law law;
} rows[] = {
    {"lawful", lawful, LAW_NONE},
    {"too many in the fleet", too_many, LAW_LIMITS},
    {"too many leave", too_many_out, LAW_LIMITS},
    {"too many arrive", too_many_in, LAW_LIMITS},
    {"more bandwidth than there is", no_bandwidth_left, LAW_LIMITS},
    {"no limit in spite of a budget", without_limit, LAW_LIMITS},
    {"two jobs", two_jobs, LAW_ONE_JOB},
    {"memory promised twice", memory_twice, LAW_ONE_PROMISE},
    {"CPUs promised twice", vcpus_twice, LAW_ONE_PROMISE},
    {"beyond the quota", beyond_quota, LAW_ONE_PROMISE},
    {"no reason", no_reason, LAW_SAYS_WHY},
    {"no since", no_since, LAW_SAYS_WHY},
    {"no deadline", no_deadline, LAW_SAYS_WHY},
    {"no word", says_nothing, LAW_SAYS_WHY},
    {"a deadline that moves", deadline_moves, LAW_SAYS_WHY},
    {"beyond the deadline", beyond_deadline, LAW_SAYS_WHY},
    {"a job without end", never_ends, LAW_ENDS},
    {"a drain without progress", drain_stands, LAW_ENDS},
    {"blocked, and nobody says why", blocked_by_nothing, LAW_ENDS},
    {"overtaken by a lower class", overtaken_by_class, LAW_ORDER},
    {"overtaken by a younger one", overtaken_by_age, LAW_ORDER},
    {"overtaken at the source", overtaken_at_source, LAW_ORDER},
    {"overtaken at the target", overtaken_at_target, LAW_ORDER},
    {"not stored", not_stored, LAW_NOTHING_LOST},
    {"lost by a crash", lost_by_a_crash, LAW_NOTHING_LOST},
    {"an end that changes", an_end_that_changes, LAW_NOTHING_LOST},
    {"runs twice", runs_twice, LAW_GUESTS_LIVE},
    {"gone, nobody killed it", gone_by_itself, LAW_GUESTS_LIVE},
    {"transient by a move", loses_its_definition, LAW_DEFINED},
    {"irrecoverable, nobody killed it", called_irrecoverable, LAW_HALVES},
    {"shut down, nobody asked", shut_down_unasked, LAW_GUESTS_LIVE},
    {"shut down against its strategy", shut_down_against_its_will, LAW_GUESTS_LIVE},
    {"to a cordoned node", to_a_cordoned, LAW_MAY_COME},
    {"to a tainted node", to_a_tainted, LAW_MAY_COME},
    {"against the request's selector", against_its_selector, LAW_MAY_COME},
    {"against the guest's selector", against_the_guest, LAW_MAY_COME},
    {"not the node asked for", not_as_asked, LAW_MAY_COME},
};

/* ---- playing a row ---- */

/* Stores what is shown, as the engine does before it shows it. */
static void store_it(struct stage *s, const struct snapshot *now)
{
    struct err err = {0};
    const struct store_ops *ops = s->store->ops;
    if (!s->stores)
        return;
    ops->begin(s->store);
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        ops->put_job(s->store, &(struct store_job){
                                   .uid = job->uid,
                                   .name = job->name,
                                   .guest_uuid = job->guest_uuid,
                                   .guest_name = job->guest_name,
                                   .phase = phase_name(job->phase),
                                   .target = job->target,
                                   .result.outcome = outcome_name(job->result.outcome),
                                   .resolution.guest_at = guest_at_name(job->resolution.guest_at),
                                   .wait.pending = pending_name(job->wait.pending),
                                   .times.created_ms = job->times.created_ms,
                                   .times.ended_ms = job->times.ended_ms});
    }
    for (size_t i = 0; i < now->n_objects; i++) {
        const struct snapshot_object *o = now->objects[i];
        ops->put_object(s->store, &(struct store_object){.kind = object_kind_name(o->kind),
                                                         .ns = o->ns,
                                                         .name = o->name,
                                                         .uid = o->uid,
                                                         .spec_json = o->spec_json,
                                                         .status_json = o->status_json});
    }
    assert_true(ops->commit(s->store, &err));
}

static void give_order(struct stage *s)
{
    struct hv_request request = {.call = s->moves ? HV_CALL_MIGRATE : HV_CALL_SHUTDOWN};
    TEXT_SET(request.host, "n0");
    TEXT_SET(request.guest, GUEST_A);
    request.with.migrate.bandwidth_mibs = s->unlimited ? 0 : 11;
    if (s->moves || s->shuts_down)
        lawbook_order(s->book, &request);
}

static enum law play(struct stage *s, const char **out_text)
{
    store_it(s, &s->shows[0]);
    lawbook_see(s->book, &s->shows[0]);
    if (s->crashes)
        lawbook_crashed(s->book);
    store_it(s, &s->shows[1]);
    if (s->moves)
        give_order(s);
    lawbook_see(s->book, &s->shows[1]);
    if (s->shuts_down) {
        give_order(s);
        lawbook_see(s->book, &s->shows[1]);
    }
    if (s->closes)
        lawbook_close(s->book, START_MS + 1);
    return lawbook_verdict(s->book, out_text);
}

static void every_law_can_be_broken(void **state)
{
    (void)state;
    bool proven[LAW_COUNT] = {[LAW_NONE] = true, [LAW_SAME_AGAIN] = true};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stage *s = calloc(1, sizeof *s);
        const char *text;
        struct err err = {0};
        assert_non_null(s);
        s->store = store_sqlite_open(NULL, &err);
        assert_non_null(s->store);
        s->rules = (struct lawbook_rules){.fleet = 1};
        s->host_of_a = "n0";
        s->stores = true;
        fill(s, 0);
        fill(s, 1);
        rows[i].change(s);
        s->book =
            lawbook_new(&s->rules,
                        &(struct lawbook_world){s, host_of, violations, is_defined, keep, drop},
                        s->store);
        lawbook_guest(s->book, GUEST_A, "default", "a", 1024, 2);
        lawbook_guest(s->book, GUEST_B, "default", "b", 1024, 2);
        lawbook_is_defined(s->book, GUEST_A);
        if (s->may_shut_down)
            lawbook_may_shut_down(s->book, GUEST_A);
        enum law law = play(s, &text);
        if (law != rows[i].law)
            fail_msg("%s: law %d, not %d: %s", rows[i].name, (int)law, (int)rows[i].law, text);
        proven[law] = true;
        lawbook_free(s->book);
        store_free(s->store);
        free(s);
    }
    for (enum law law = 0; law < LAW_LEASES; law++) /* that one: test_shared_laws.c */
        assert_true(proven[law]);
}

static void another_history_has_another_digest(void **state)
{
    (void)state;
    uint64_t digests[3];
    for (int i = 0; i < 3; i++) {
        struct stage *s = calloc(1, sizeof *s);
        struct err err = {0};
        assert_non_null(s);
        s->store = store_sqlite_open(NULL, &err);
        s->host_of_a = "n0";
        s->stores = true;
        fill(s, 0);
        fill(s, 1);
        s->book =
            lawbook_new(&s->rules,
                        &(struct lawbook_world){s, host_of, violations, is_defined, keep, drop},
                        s->store);
        if (i == 2)
            s->jobs[1][1].wait.pending = PENDING_SLOT_SOURCE;
        const char *text;
        assert_int_equal(play(s, &text), LAW_NONE);
        digests[i] = lawbook_digest(s->book);
        lawbook_free(s->book);
        store_free(s->store);
        free(s);
    }
    assert_true(digests[0] == digests[1] && digests[0] != digests[2]);
}

TEST_FILE(test_lawbook)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_law_can_be_broken),
                                       cmocka_unit_test(another_history_has_another_digest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
