/* test_incident.c - open incidents: what opens one, what closes it, the bound, and that a restart
 * changes nothing. Verdicts about ends are the analyser's own, made from rows as the engine leaves
 * them. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/record/recorded.h"
#include "base/own.h"
#include "base/text.h"
#include "engine/incidents.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/publish.h"
#include "store/sqlite/sqlite.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

static const int64_t start_ms = INT64_C(1763269659000);

static struct fleet *new_fleet(void)
{
    struct err err = {0};
    const struct fleet_config config = {0};
    struct fleet *f = fleet_new(&config, 7, &err);
    assert_non_null(f);
    return f;
}

/* ---- what the analyser's verdict makes of an end ---- */

struct observation {
    const char *presence, *state, *reason;
};
#define RUNS                           \
    {                                  \
        "present", "running", "booted" \
    }
#define GONE             \
    {                    \
        "absent", "", "" \
    }
#define DARK                  \
    {                         \
        "unreachable", "", "" \
    }
#define OFF(why)                  \
    {                             \
        "present", "shutoff", why \
    }
#define HALF                                   \
    {                                          \
        "present", "paused", "postcopy-failed" \
    }
#define UNSEEN           \
    {                    \
        NULL, NULL, NULL \
    }

static const char socket_closed[] = "operation failed: job 'migration out' failed: Unable to write "
                                    "to socket: Connection reset by peer";

/* kind "": no incident. */
static const struct end {
    const char *what, *outcome, *guest_at, *ended_by;
    struct observation source, target;
    const char *abort_cause, *pending, *source_log, *error;
    bool not_handed_off;
    const char *kind, *node;
} ends[] = {
    {"it arrived", "succeeded", "running-on-target", "on-target", GONE, RUNS, .kind = ""},
    {"an operator stopped it", "aborted", "running-on-source", "on-source", RUNS, GONE,
     .abort_cause = "operator", .kind = ""},
    {"Ferry gave up", "aborted", "running-on-source", "on-source", RUNS, GONE,
     .abort_cause = "progress-timeout", .kind = "ordinary", .node = "a"},
    {"the stream was reset", "failed", "running-on-source", "on-source", RUNS, GONE,
     .error = socket_closed, .kind = "ordinary", .node = "a"},
    {"no node ever matches, the source is dark", "failed", "unknown", "impossible", UNSEEN, UNSEEN,
     .not_handed_off = true, .kind = "ordinary", .node = "a"},
    {"nobody can say where it is", "failed", "unknown", "impossible", DARK, DARK, .kind = "unknown",
     .node = "a"},
    {"its turn never came", "failed", "running-on-source", "waited-too-long", UNSEEN, UNSEEN,
     .not_handed_off = true, .pending = "slot-fleet", .kind = "ordinary", .node = "a"},
    {"somebody did not wait for its turn", "aborted", "running-on-source", "cancelled", UNSEEN,
     UNSEEN, .not_handed_off = true, .pending = "slot-fleet", .abort_cause = "operator",
     .kind = ""},
    {"the guest powered itself off", "failed", "stopped-on-source", "lost", OFF("shutdown"), GONE,
     .error = "operation failed: domain is not running", .kind = ""},
    {"its QEMU crashed, the definition is left", "failed", "stopped-on-source", "lost",
     OFF("crashed"), GONE, .error = "operation failed: domain is not running", .kind = "down",
     .node = "a"},
    {"its owner destroyed a transient guest", "lost", "lost", "lost", GONE, GONE,
     .source_log = "2026-01-31 10:00:05.500+0000: shutting down, reason=destroyed",
     .error = "operation failed: domain is not running", .kind = ""},
    {"the QEMU of a transient guest crashed", "lost", "lost", "lost", GONE, GONE,
     .source_log = "2026-01-31 10:00:05.500+0000: shutting down, reason=crashed",
     .error = "operation failed: domain is not running", .kind = "lost", .node = "a"},
    {"an operator said that it is gone", "lost", "lost", "override-otherwise", HALF, DARK,
     .error = "internal error: client socket is closed", .kind = ""},
    {"an operator said that the source has it", "failed", "running-on-source", "override-otherwise",
     RUNS, DARK, .error = "internal error: client socket is closed", .kind = ""},
    {"the receiving half died", "irrecoverable", "paused-irrecoverable", "irrecoverable", HALF,
     GONE, .error = "operation failed: domain is not running", .kind = "irrecoverable",
     .node = "b"},
    {"... although somebody had asked to stop it", "irrecoverable", "paused-irrecoverable",
     "irrecoverable", HALF, GONE, .abort_cause = "operator",
     .error = "operation failed: domain is not running", .kind = "irrecoverable", .node = "b"},
};

static void put_observation(struct store *s, const struct observation *observation,
                            const char *role)
{
    if (observation->presence != NULL)
        s->ops->put_observation(s, &(struct store_observation){.job_uid = "uid-m",
                                                               .role = role,
                                                               .presence = observation->presence,
                                                               .state = observation->state,
                                                               .reason = observation->reason,
                                                               .moment = "outcome",
                                                               .at_ms = start_ms});
}

static void put_end(struct store *s, const struct end *end)
{
    bool arrived = strcmp(end->outcome, "succeeded") == 0;
    bool handed_off = !end->not_handed_off;
    const char *last = handed_off ? "Running" : "Pending";
    struct err err = {0};
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = "uid-m",
                                           .ns = "prod",
                                           .name = "m",
                                           .guest_name = "db",
                                           .source = "a",
                                           .target = handed_off ? "b" : "",
                                           .result.outcome = end->outcome,
                                           .resolution.guest_at = end->guest_at,
                                           .mode = "PreCopy",
                                           .abort.cause = end->abort_cause,
                                           .abort.requester = end->abort_cause != NULL ? "x" : "",
                                           .wait.pending = end->pending,
                                           .result.error_hv_code = end->error != NULL ? 9 : 0,
                                           .result.error_hv_domain = end->error != NULL ? 10 : 0,
                                           .result.error_text = end->error,
                                           .times.created_ms = start_ms - 9000,
                                           .times.handed_off_ms = handed_off ? start_ms - 8000 : 0,
                                           .times.started_ms = handed_off ? start_ms - 7000 : 0,
                                           .times.ended_ms = start_ms});
    s->ops->put_transition(s, &(struct store_transition){.job_uid = "uid-m",
                                                         .from = last,
                                                         .to = arrived ? "Succeeded" : "Failed",
                                                         .why = end->ended_by,
                                                         .seq = 5,
                                                         .at_ms = start_ms});
    put_observation(s, &end->source, "source");
    put_observation(s, &end->target, "target");
    if (handed_off)
        s->ops->put_intent(s,
                           &(struct store_intent){.job_uid = "uid-m",
                                                  .epoch = 1,
                                                  .seq = 1,
                                                  .action = "migrate",
                                                  .node = "a",
                                                  .status = "done",
                                                  .err = end->error != NULL ? "hypervisor" : "none",
                                                  .text = end->error,
                                                  .asked_ms = start_ms - 8000,
                                                  .done_ms = start_ms - 100});
    assert_true(s->ops->commit(s, &err));
}

static void check_end(struct fleet *f, const struct end *end,
                      const struct verdict_rows *verdict_rows)
{
    const struct incident *incident = incidents_find(&f->incidents, "prod", "m");
    const char *kind = incident != NULL ? incident_kind_name(incident->kind) : "";
    if (strcmp(kind, end->kind) != 0)
        fail_msg("%s (%s, %s plane): '%s', should be '%s'", end->what, verdict_rows->verdict.cause,
                 verdict_rows->verdict.plane, kind, end->kind);
    if (incident == NULL)
        return;
    assert_string_equal(incident->uid, "uid-m");
    assert_string_equal(incident->node, end->node);
    assert_string_equal(incident->guest, "db");
    assert_string_equal(incident->source, "a");
    assert_string_equal(incident->target, end->not_handed_off ? "" : "b");
    assert_string_equal(incident->guest_at, end->guest_at);
    assert_string_equal(incident->cause, verdict_rows->verdict.cause);
    assert_int_equal(f->incidents.totals.opened[incident->kind], 1);
}

/* The fleet knows no such job: it may have been deleted by then. */
static void each_end_opens_what_it_should(void **state)
{
    (void)state;
    struct err err = {0};
    struct ruleset *rules = ruleset_new(NULL, NULL, NULL, &err);
    struct judge *judge = rules != NULL ? judge_new(rules, &err) : NULL;
    assert_non_null(judge);
    for (size_t i = 0; i < COUNT(ends); i++) {
        OWNED(store) store = store_sqlite_open(NULL, &err);
        OWNED(fleet) f = new_fleet();
        struct gathered job;
        static struct verdict verdict; /* too big for a stack */
        struct recorded_rows rows;
        struct notes notes = {0};
        struct verdict_rows verdict_rows;
        assert_non_null(store);
        put_end(store, &ends[i]);
        if (ends[i].source_log != NULL)
            notes_message(&notes, SIDE_SOURCE, "QEMU log", start_ms, ends[i].source_log,
                          strlen(ends[i].source_log));
        assert_true(gather_job(store, "uid-m", &job, &err));
        assert_true(recorded_judge(store, &job, &notes, judge, &verdict, &err));
        recorded_fill(&verdict, &job, &notes, start_ms + 500, &rows, &verdict_rows);
        incidents_judged(f, &verdict_rows, start_ms + 1000);
        check_end(f, &ends[i], &verdict_rows);
        notes_fini(&notes);
    }
    judge_free(judge);
    ruleset_free(rules);
}

/* ---- what becomes of them ---- */

static struct verdict_rows verdict_on(const char *uid, const char *name, enum outcome outcome)
{
    enum guest_at at = outcome == OUTCOME_SUCCEEDED       ? GUEST_AT_TARGET
                       : outcome == OUTCOME_IRRECOVERABLE ? GUEST_AT_BROKEN
                                                          : GUEST_AT_SOURCE;
    bool arrived = outcome == OUTCOME_SUCCEEDED;
    return (struct verdict_rows){
        .verdict = {.job_uid = uid,
                    .outcome = outcome_name(outcome),
                    .guest_at = guest_at_name(at),
                    .plane = arrived ? "none" : "data",
                    .cause = arrived ? "none" : "data-connect-failed",
                    .at_ms = start_ms},
        .about = {.ns = "prod",
                  .migration = name,
                  .guest = "db",
                  .source = "a",
                  .target = "b",
                  .ended_by = arrived ? "on-target" : "on-source",
                  .handed_off = true},
    };
}

static void judge_one(struct fleet *f, const char *uid, const char *name, enum outcome outcome,
                      int64_t ended_ms, int64_t now_ms)
{
    struct verdict_rows verdict_rows = verdict_on(uid, name, outcome);
    verdict_rows.verdict.at_ms = ended_ms;
    incidents_judged(f, &verdict_rows, now_ms);
}

static void only_ordinary_incidents_expire(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    judge_one(f, "u1", "plain", OUTCOME_FAILED, start_ms, start_ms);
    judge_one(f, "u2", "half", OUTCOME_IRRECOVERABLE, start_ms, start_ms);
    incidents_tick(f, start_ms + INCIDENT_AGE_MS - 1);
    assert_int_equal(f->incidents.n_open, 2);
    uint64_t version = f->version;
    incidents_tick(f, start_ms + INCIDENT_AGE_MS);
    assert_int_equal(f->incidents.n_open, 1);
    assert_true(f->version > version); /* it is published */
    assert_int_equal(f->incidents.totals.closed[INCIDENT_END_AGED], 1);
    incidents_tick(f, start_ms + INT64_C(1000) * 86400 * 365);
    assert_non_null(incidents_find(&f->incidents, "prod", "half"));
}

static void old_failures_open_no_incident(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    judge_one(f, "u1", "plain", OUTCOME_FAILED, start_ms, start_ms + INCIDENT_AGE_MS);
    judge_one(f, "u2", "half", OUTCOME_IRRECOVERABLE, start_ms, start_ms + INCIDENT_NEWS_MS);
    assert_int_equal(f->incidents.n, 0);
    judge_one(f, "u2", "half", OUTCOME_IRRECOVERABLE, start_ms, start_ms + INCIDENT_NEWS_MS - 1);
    assert_int_equal(f->incidents.n_open, 1);
}

/* Only what fades, only of that guest, only of migrations that ended before. */
static void a_move_closes_what_it_made_good(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct verdict_rows other = verdict_on("u3", "m3", OUTCOME_FAILED);
    other.about.guest = "web";
    judge_one(f, "u1", "m1", OUTCOME_FAILED, start_ms, start_ms + 100);
    judge_one(f, "u2", "m2", OUTCOME_FAILED, start_ms + 50, start_ms + 100);
    incidents_judged(f, &other, start_ms + 100);
    judge_one(f, "u4", "half", OUTCOME_IRRECOVERABLE, start_ms, start_ms + 100);
    judge_one(f, "u5", "good", OUTCOME_SUCCEEDED, start_ms + 20, start_ms + 200);
    assert_null(incidents_find(&f->incidents, "prod", "m1"));
    assert_non_null(incidents_find(&f->incidents, "prod", "m2"));
    assert_non_null(incidents_find(&f->incidents, "prod", "m3"));
    assert_non_null(incidents_find(&f->incidents, "prod", "half"));
    assert_int_equal(f->incidents.totals.closed[INCIDENT_END_MOVED], 1);
}

static bool acknowledge(struct fleet *f, const char *ns, const char *name, int64_t now_ms,
                        struct err *err)
{
    struct resolve_request request = {.requester = "bob", .kind = RESOLVE_ACKNOWLEDGE};
    TEXT_SET(request.ns, ns);
    TEXT_SET(request.name, name);
    return incidents_override(f, &request, now_ms, err);
}

static void an_acknowledgement_closes_one_incident(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct err err = {0};
    judge_one(f, "u1", "m1", OUTCOME_IRRECOVERABLE, start_ms, start_ms);
    judge_one(f, "u2", "m2", OUTCOME_FAILED, start_ms, start_ms);
    assert_true(acknowledge(f, "prod", "m1", start_ms, &err));
    assert_false(acknowledge(f, "prod", "m1", start_ms, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(f->incidents.n_open, 1);
}

/* A series stands once on a page: of two that read the same the newer stays. */
static void of_two_incidents_with_equal_labels_the_newer_is_open(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    judge_one(f, "first", "m", OUTCOME_FAILED, start_ms, start_ms);
    judge_one(f, "second", "m", OUTCOME_FAILED, start_ms + 10, start_ms + 10);
    assert_int_equal(f->incidents.n_open, 1);
    assert_string_equal(incidents_find(&f->incidents, "prod", "m")->uid, "second");
    assert_int_equal(f->incidents.totals.closed[INCIDENT_END_REPLACED], 1);
    judge_one(f, "third", "m", OUTCOME_IRRECOVERABLE, start_ms, start_ms); /* that is another */
    assert_int_equal(f->incidents.n_open, 2);
    struct verdict_rows again =
        verdict_on("third", "m", OUTCOME_FAILED); /* judged anew: now it is not */
    incidents_judged(f, &again, start_ms + 20);
    assert_int_equal(f->incidents.n_open, 1);
    assert_string_equal(incidents_find(&f->incidents, "prod", "m")->uid, "third");
}

/* Closed ones are shown for a while: the newest, each once, and not beside an open one. */
static void closed_ones_stay_in_view_for_a_while(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct err err = {0};
    char name[16];
    for (int i = 0; i <= INCIDENTS_CLOSED_MAX; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        judge_one(f, name, name, OUTCOME_FAILED, start_ms, start_ms);
        assert_true(acknowledge(f, "prod", name, start_ms + i, &err));
        incidents_stored(&f->incidents);
    }
    assert_int_equal(f->incidents.n, 0);
    assert_int_equal(f->incidents.n_closed, INCIDENTS_CLOSED_MAX);
    assert_string_equal(f->incidents.closed[0].migration, "m1"); /* the oldest made room */
    assert_string_equal(f->incidents.closed[INCIDENTS_CLOSED_MAX - 1].by, "bob");
    judge_one(f, "m1", "m1", OUTCOME_FAILED, start_ms, start_ms);
    assert_int_equal(f->incidents.n_open, 1);
    assert_int_equal(f->incidents.n_closed, INCIDENTS_CLOSED_MAX - 1);
}

/* Readers get the open ones first, then the closed, stored or not. */
static void readers_see_open_ones_before_closed_ones(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    static const char *const names[] = {"stored", "fresh", "open"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct err err = {0};
        judge_one(f, names[i], names[i], OUTCOME_FAILED, start_ms, start_ms);
        if (i < 2)
            assert_true(acknowledge(f, "prod", names[i], start_ms, &err));
        if (i == 0)
            incidents_stored(&f->incidents);
    }
    struct snapshot seen = {0};
    struct incident_block *kept = NULL, *block = publish_incidents(&kept, &f->incidents, &seen);
    assert_non_null(block);
    assert_int_equal(seen.n_incidents, 1);
    assert_int_equal(seen.n_incidents_closed, 2);
    assert_string_equal(seen.incidents[0].migration, "open");
    assert_string_equal(seen.incidents[1].migration, "stored");
    assert_string_equal(seen.incidents[2].migration, "fresh");
    assert_int_equal(seen.incident_totals.opened[INCIDENT_ORDINARY], 3);
    publish_drop_incidents(block);
    publish_drop_incidents(kept);
}

static void a_second_verdict_changes_the_one_that_is_open(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    struct verdict_rows better = verdict_on("u", "m", OUTCOME_FAILED);
    better.verdict.plane = "control";
    better.verdict.cause = "libvirt-connect-failed";
    judge_one(f, "u", "m", OUTCOME_FAILED, start_ms, start_ms);
    incidents_judged(f, &better, start_ms + 10);
    assert_int_equal(f->incidents.list[0].opened_ms, start_ms);
    assert_int_equal(f->incidents.n, 1);
    assert_string_equal(f->incidents.list[0].cause, "libvirt-connect-failed");
    assert_int_equal(f->incidents.totals.opened[INCIDENT_ORDINARY], 1);
}

/* Ordinary ones give way to newer ones, lasting ones to nobody. */
static void the_bound_holds(void **state)
{
    (void)state;
    OWNED(fleet) f = new_fleet();
    char name[16];
    for (int i = 0; i < INCIDENTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        judge_one(f, name, name, i == 0 ? OUTCOME_IRRECOVERABLE : OUTCOME_FAILED, start_ms,
                  start_ms);
    }
    assert_int_equal(f->incidents.totals.overflow, 0);
    judge_one(f, "more", "more", OUTCOME_FAILED, start_ms, start_ms);
    assert_int_equal(f->incidents.n_open, INCIDENTS_MAX);
    assert_int_equal(f->incidents.totals.overflow, 1);
    assert_non_null(incidents_find(&f->incidents, "prod", "m0"));
    assert_null(incidents_find(&f->incidents, "prod", "m1"));
    assert_non_null(incidents_find(&f->incidents, "prod", "more"));
    incidents_stored(&f->incidents);
    assert_int_equal(f->incidents.n, INCIDENTS_MAX);
    for (size_t i = 0; i < f->incidents.n; i++)
        f->incidents.list[i].kind = INCIDENT_LOST;
    judge_one(f, "last", "last", OUTCOME_FAILED, start_ms, start_ms);
    assert_null(incidents_find(&f->incidents, "prod", "last"));
    assert_int_equal(f->incidents.totals.overflow, 2);
}

static void a_restart_changes_nothing_but_what_was_closed(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    OWNED(fleet) before = new_fleet();
    judge_one(before, "u1", "kept", OUTCOME_IRRECOVERABLE, start_ms, start_ms + 5);
    judge_one(before, "u2", "gone", OUTCOME_FAILED, start_ms, start_ms + 6);
    for (int round = 0; round < 2; round++) { /* open, then closed: each stored as it is */
        store->ops->begin(store);
        incidents_put(store, &before->incidents);
        assert_true(store->ops->commit(store, &err));
        incidents_stored(&before->incidents);
        assert_false(before->incidents.changed);
        if (round == 0)
            assert_true(acknowledge(before, "prod", "gone", start_ms + 7, &err));
    }
    assert_int_equal(before->incidents.n, 1);
    OWNED(fleet) after = new_fleet();
    assert_true(incidents_load(store, after, &err));
    assert_int_equal(after->incidents.n_open, 1);
    const struct incident *incident = &after->incidents.list[0];
    assert_string_equal(incident->uid, "u1");
    assert_string_equal(incident->migration, "kept"); /* although its job is not in view here */
    assert_string_equal(incident->guest, "db");
    assert_string_equal(incident->node, "b");
    assert_string_equal(incident->source, "a");
    assert_string_equal(incident->target, "b");
    assert_string_equal(incident->guest_at, "paused-irrecoverable");
    assert_int_equal(incident->ended_ms, start_ms);
    assert_int_equal(incident->kind, INCIDENT_IRRECOVERABLE);
    assert_int_equal(incident->opened_ms, start_ms + 5);
    assert_false(after->incidents.changed); /* what is on disk need not be written again */
    assert_true(acknowledge(after, "prod", "kept", start_ms + 8, &err));
}

/* A store that an earlier version left may hold two that read the same. */
static void twins_in_the_store_become_one(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) store = store_sqlite_open(NULL, &err);
    OWNED(fleet) f = new_fleet();
    assert_non_null(store);
    store->ops->begin(store);
    for (int i = 0; i < 2; i++)
        store->ops->put_incident(store, &(struct store_incident){.job_uid = i == 0 ? "u1" : "u2",
                                                                 .kind = "lost",
                                                                 .opened_ms = start_ms + i});
    assert_true(store->ops->commit(store, &err));
    assert_true(incidents_load(store, f, &err));
    assert_int_equal(f->incidents.n_open, 1);
    assert_true(f->incidents.changed);
}

/* ---- a guest that runs on both hosts ---- */

static struct core_world *split_world(void)
{
    struct core_world *w = core_moving();
    w->target = CORE_ARRIVED;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 5000);
    assert_int_equal(core_job(w)->resolution.guest_at, GUEST_AT_SPLIT);
    return w;
}

static const struct incident *open_in(struct core_world *w)
{
    return incidents_find(&w->fleet->incidents, "default", core_job(w)->name);
}

static void a_guest_on_both_hosts_pages_at_once_and_until_it_is_not(void **state)
{
    (void)state;
    struct core_world *w = split_world();
    const struct incident *incident = open_in(w);
    assert_non_null(incident);
    assert_string_equal(incident_kind_name(incident->kind), "split");
    assert_string_equal(incident->source, "h1");
    assert_string_equal(incident->target, "h2");
    w->source = CORE_BLIND;
    core_advance(w, 10000);
    assert_non_null(open_in(w)); /* not seen is not better */
    w->source = CORE_RUNS;
    w->target = CORE_BLIND;
    core_advance(w, 60000);
    assert_non_null(open_in(w)); /* on neither side */
    assert_int_equal(core_job(w)->resolution.guest_at, GUEST_AT_SPLIT);
    assert_false(phase_is_final(core_job(w)->phase));
    w->target = CORE_ABSENT;
    core_advance(w, 20000);
    assert_null(open_in(w));
    assert_int_equal(w->fleet->incidents.totals.closed[INCIDENT_END_SETTLED], 1);
    assert_int_equal(w->fleet->incidents.totals.opened[INCIDENT_SPLIT], 1);
    core_free(w);
}

/* The verdict of a job whose guest was found on both hosts later comes late. */
static void a_verdict_makes_no_split_ordinary(void **state)
{
    (void)state;
    struct core_world *w = split_world();
    const struct job *job = core_job(w);
    struct verdict_rows late = verdict_on(job->uid, job->name, OUTCOME_FAILED);
    incidents_judged(w->fleet, &late, start_ms + 20);
    assert_int_equal(w->fleet->incidents.n_open, 1);
    assert_int_equal(w->fleet->incidents.totals.opened[INCIDENT_ORDINARY], 0);
    assert_non_null(incidents_find(&w->fleet->incidents, "prod", job->name));
    assert_int_equal(incidents_find(&w->fleet->incidents, "prod", job->name)->kind, INCIDENT_SPLIT);
    core_free(w);
}

static void an_override_about_a_split_guest_outlives_a_restart(void **state)
{
    (void)state;
    struct core_world *w = split_world();
    struct err err = {0};
    core_restart(w, 1000);
    assert_non_null(open_in(w));
    assert_true(acknowledge(w->fleet, "default", core_job(w)->name, w->now.wall_ms, &err));
    core_advance(w, 60000);
    assert_null(open_in(w));
    w->source = CORE_BLIND; /* the connections are only being opened */
    core_restart(w, 1000);
    core_advance(w, 10000);
    w->source = CORE_RUNS;
    core_advance(w, 60000);
    assert_int_equal(core_job(w)->resolution.guest_at, GUEST_AT_SPLIT);
    assert_null(open_in(w)); /* somebody has it in hand */
    core_free(w);
    w = split_world();
    assert_true(core_override(w, RESOLVE_ON_SOURCE));
    assert_null(open_in(w));
    assert_int_equal(w->fleet->incidents.totals.closed[INCIDENT_END_RESOLVED], 1);
    core_free(w);
}

TEST_FILE(test_incident)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_opens_what_it_should),
        cmocka_unit_test(only_ordinary_incidents_expire),
        cmocka_unit_test(old_failures_open_no_incident),
        cmocka_unit_test(a_move_closes_what_it_made_good),
        cmocka_unit_test(an_acknowledgement_closes_one_incident),
        cmocka_unit_test(of_two_incidents_with_equal_labels_the_newer_is_open),
        cmocka_unit_test(closed_ones_stay_in_view_for_a_while),
        cmocka_unit_test(readers_see_open_ones_before_closed_ones),
        cmocka_unit_test(a_second_verdict_changes_the_one_that_is_open),
        cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(a_restart_changes_nothing_but_what_was_closed),
        cmocka_unit_test(twins_in_the_store_become_one),
        cmocka_unit_test(a_guest_on_both_hosts_pages_at_once_and_until_it_is_not),
        cmocka_unit_test(a_verdict_makes_no_split_ordinary),
        cmocka_unit_test(an_override_about_a_split_guest_outlives_a_restart),
    };
    return cmocka_run_group_tests_name("incident", tests, NULL, NULL);
}
