/* history.c - see history.h. Identities come in order and times at random: rows of one time range
 * are apart in the file, as in a store of several years. */
#include "bench/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { FAILS_OF_1000 = 50, SAMPLES = 40, UID = 64, NAME = 64 };

static const char *const causes[] = {"non-convergence-timeout",  "network-connection-lost",
                                     "target-qemu-crashed",      "cancelled-by-user",
                                     "target-not-enough-memory", "cpu-incompatible",
                                     "libvirt-unreachable",      "storage-not-shared",
                                     "port-unreachable",         "unknown-generic-error",
                                     "post-copy-broken",         "quota-exceeded"};
static const char *const policies[] = {"", "", "", "databases", "web", "batch", "desktops", "gold"};
static const char config_json[] =
    "{\"bandwidthPerMigration\":0,\"completionTimeoutPerGiB\":150,\"progressTimeout\":150,"
    "\"maxDowntimeMs\":900,\"allowAutoConverge\":true,\"allowPostCopy\":false,"
    "\"allowWorkloadDisruption\":false,\"disableTLS\":false,\"parallelConnections\":0,"
    "\"monitor\":\"stall\",\"shadowMonitor\":\"none\",\"experimental\":{\"downtimeTuning\":{"
    "\"initialMs\":150,\"steps\":7,\"startAfterIteration\":3,\"cooldownSeconds\":10},"
    "\"stallDetector\":{\"stallMargin\":4,\"stallProgressTimeout\":40,\"switchoverTimeout\":60,"
    "\"ewmaAlpha\":0.4,\"precopyPossibleFactor\":1.5,\"patienceWindowDecayFactor\":0.5,"
    "\"searchLocalMinima\":true,\"completionTimeoutFactor\":2}}}";

struct making {
    struct store *store;
    const struct history *of;
    uint64_t random;
    size_t number;
    /* the migration at hand */
    char uid[UID], name[NAME], uuid[UID], guest[NAME], source[NAME], target[NAME];
    int64_t created_ms, handed_off_ms, ended_ms, moving_ms, bytes;
    bool fails;
    const char *cause, *outcome;
};

static uint64_t dice(struct making *m, uint64_t sides)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random % sides;
}

static void invent(struct making *m, size_t number)
{
    const struct history *of = m->of;
    size_t guest = (size_t)dice(m, of->guests);
    bool is_sick = guest % 200 == 7; /* fails often */
    m->number = number;
    (void)snprintf(m->uid, sizeof m->uid, "%08zx-0000-4000-8000-%012" PRIx64, number,
                   dice(m, UINT64_C(1) << 40));
    (void)snprintf(m->name, sizeof m->name, "migration-%07zu", number);
    (void)snprintf(m->uuid, sizeof m->uuid, "00000000-0000-4000-9000-%012zu", guest);
    (void)snprintf(m->guest, sizeof m->guest, "guest-%05zu", guest);
    (void)snprintf(m->source, sizeof m->source, "host-%04" PRIu64, dice(m, of->hosts));
    (void)snprintf(m->target, sizeof m->target, "host-%04" PRIu64, dice(m, of->hosts));
    m->moving_ms = 4000 + (int64_t)dice(m, 120000);
    m->ended_ms = of->now_ms - (int64_t)dice(m, (uint64_t)of->span_ms);
    if (number + of->traced >= of->migrations) /* these have samples: they must be recent */
        m->ended_ms = of->now_ms - (int64_t)dice(m, (uint64_t)of->span_ms / 50 + 1);
    m->handed_off_ms = m->ended_ms - m->moving_ms;
    m->created_ms = m->handed_off_ms - (int64_t)dice(m, 60000);
    m->bytes = (int64_t)(1 + dice(m, 64)) << 28;
    m->fails = is_sick ? dice(m, 10) < 9 : dice(m, 1000) < FAILS_OF_1000;
    m->cause = m->fails ? causes[dice(m, COUNT(causes))] : "none";
    m->outcome = !m->fails ? "succeeded" : strstr(m->cause, "user") != NULL ? "aborted" : "failed";
}

static void put_job(struct making *m)
{
    struct store *s = m->store;
    bool post_copy = dice(m, 20) == 0;
    int64_t expected_ms = m->moving_ms * (int64_t)(50 + dice(m, 100)) / 100;
    s->ops->put_job(s,
                    &(struct store_job){
                        .uid = m->uid,
                        .ns = m->number % 3 == 0 ? "shop" : "default",
                        .name = m->name,
                        .guest_uuid = m->uuid,
                        .guest_name = m->guest,
                        .source = m->source,
                        .target = m->target,
                        .phase = m->fails ? "Failed" : "Succeeded",
                        .mode = post_copy ? "PostCopy" : "PreCopy",
                        .request.requester = "operator",
                        .request.priority = "user-triggered",
                        .request.origin = "user",
                        .result.failure_reason = m->fails ? "failed: see the verdict" : "",
                        .result.outcome = m->outcome,
                        .resolution.guest_at = m->fails ? "running-on-source" : "running-on-target",
                        .call.config_json = config_json,
                        .request.policy = policies[dice(m, COUNT(policies))],
                        .epoch = 1,
                        .request.arrival = (int64_t)m->number,
                        .version = (int64_t)m->number,
                        .times.created_ms = m->created_ms,
                        .times.handed_off_ms = m->handed_off_ms,
                        .times.started_ms = m->handed_off_ms + 400,
                        .times.ended_ms = m->ended_ms,
                        .final.from = m->fails ? "" : "event",
                        .final.total_ms = m->fails ? 0 : m->moving_ms,
                        .final.downtime_ms = m->fails ? 0 : 20 + (int64_t)dice(m, 900),
                        .final.bytes = m->fails ? 0 : m->bytes,
                        .final.iterations = 3,
                        .forecast.total_ms = expected_ms,
                        .forecast.low_ms = expected_ms * 7 / 10,
                        .forecast.high_ms = expected_ms * 14 / 10,
                        .forecast.downtime_ms = 300,
                        .forecast.percent = 90,
                    });
}

static void put_steps(struct making *m)
{
    static const char *const phases[] = {
        "", "Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running"};
    static const char *const whys[] = {"accepted",   "admitted",       "placed",
                                       "handed-off", "target-checked", "moving"};
    int64_t at_ms = m->created_ms;
    for (int i = 0; i < 7; i++) {
        int64_t spent_ms = i == 0 ? 0 : i == 6 ? m->ended_ms - at_ms : (int64_t)dice(m, 300);
        at_ms += spent_ms;
        m->store->ops->put_transition(m->store,
                                      &(struct store_transition){.job_uid = m->uid,
                                                                 .from = phases[i],
                                                                 .to = i < 6      ? phases[i + 1]
                                                                       : m->fails ? "Failed"
                                                                                  : "Succeeded",
                                                                 .why = i < 6      ? whys[i]
                                                                        : m->fails ? "on-source"
                                                                                   : "on-target",
                                                                 .seq = i + 1,
                                                                 .at_ms = at_ms,
                                                                 .spent_ms = spent_ms});
    }
}

static void put_story(struct making *m)
{
    struct store *s = m->store;
    s->ops->put_intent(s, &(struct store_intent){.job_uid = m->uid,
                                                 .epoch = 1,
                                                 .seq = 1,
                                                 .action = "migrate",
                                                 .node = m->source,
                                                 .status = "done",
                                                 .asked_ms = m->handed_off_ms,
                                                 .done_ms = m->ended_ms,
                                                 .err = m->fails ? "hypervisor" : "none",
                                                 .hv_code = m->fails ? 9 : 0,
                                                 .text = m->fails ? "operation failed" : ""});
    for (int i = 0; i < 2; i++)
        s->ops->put_observation(
            s, &(struct store_observation){.job_uid = m->uid,
                                           .node = i == 0 ? m->source : m->target,
                                           .role = i == 0 ? "source" : "target",
                                           .presence = (i == 0) == m->fails ? "present" : "absent",
                                           .state = (i == 0) == m->fails ? "running" : "",
                                           .reason = (i == 0) == m->fails ? "migrated" : "",
                                           .moment = "outcome",
                                           .at_ms = m->ended_ms});
    s->ops->put_mode(s, &(struct store_mode){.job_uid = m->uid,
                                             .mode = "PreCopy",
                                             .cause = "moving",
                                             .at_ms = m->handed_off_ms + 400});
    for (int i = 0; i < 3; i++)
        s->ops->put_decision(
            s, &(struct store_decision){.job_uid = m->uid,
                                        .seq = i + 1,
                                        .at_ms = m->handed_off_ms + 500 * i,
                                        .monitor = "stall",
                                        .decision = i == 1 ? "downtime-first" : "goes-on",
                                        .action = i == 1 ? "set-downtime" : "nothing",
                                        .text = "goes on: 1002 MiB left, 28 MiB/s moved",
                                        .remaining = m->bytes / 2});
    if (m->fails)
        s->ops->put_error(s,
                          &(struct store_error){.job_uid = m->uid,
                                                .node = m->source,
                                                .call = "migrate",
                                                .hv_code = 9,
                                                .at_ms = m->ended_ms,
                                                .text = "operation failed: job 'migration out'"});
}

static void put_verdict(struct making *m)
{
    struct store *s = m->store;
    s->ops->put_verdict(s, &(struct store_verdict){
                               .job_uid = m->uid,
                               .at_ms = m->ended_ms,
                               .outcome = m->outcome,
                               .plane = m->fails ? m->number % 4 == 0 ? "control" : "data" : "none",
                               .cause = m->cause,
                               .failed_at = m->fails ? "after-handoff" : "",
                               .recoverable = m->fails ? "yes" : "",
                               .guest_at = m->fails ? "running-on-source" : "running-on-target",
                               .confidence_percent = 90,
                               .rule = m->fails ? "some-rule" : "",
                               .rules_version = "0123456789abcdef",
                               .action = m->fails ? "Check the path between the two hosts." : "",
                               .judged_ms = m->ended_ms + 300,
                           });
}

static bool put_samples(struct making *m, struct err *err)
{
    struct store_sample rows[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        int64_t done = m->bytes * (i + 1) / SAMPLES;
        rows[i] = (struct store_sample){.source = "poll",
                                        .seq = i,
                                        .at_ms = m->handed_off_ms + m->moving_ms * i / SAMPLES,
                                        .data_total = m->bytes,
                                        .data_processed = done,
                                        .data_remaining = m->bytes - done,
                                        .memory_total = m->bytes,
                                        .memory_remaining = m->bytes - done,
                                        .memory_iteration = 1 + i / 15,
                                        .memory_page_size = 4096,
                                        .memory_dirty_rate = 9000,
                                        .bandwidth_bps = m->bytes * 1000 / m->moving_ms};
        TEXT_SET(rows[i].job_uid, m->uid);
    }
    while (!m->store->ops->append_samples(m->store, rows, SAMPLES)) /* its queue is full: again */
        if (!m->store->ops->flush_samples(m->store, 60000, err))
            return false;
    return true;
}

bool history_fill(struct store *store, const struct history *history, struct err *err)
{
    struct making m = {.store = store, .of = history, .random = history->seed * 2654435769U + 1};
    for (size_t i = 0; i < history->migrations;) {
        store->ops->begin(store);
        for (size_t n = 0; n < history->at_once && i < history->migrations; n++, i++) {
            invent(&m, i);
            put_job(&m);
            put_steps(&m);
            put_story(&m);
            put_verdict(&m);
            if (i + history->traced >= history->migrations && !put_samples(&m, err))
                return false;
        }
        if (!store->ops->commit(store, err))
            return false;
        if (history->progress != NULL)
            history->progress(history->ctx, i, history->migrations);
    }
    return store->ops->flush_samples(store, 60000, err);
}

/* ---- the document ---- */

size_t history_questions(const char *file, struct history_question *out_questions, struct err *err)
{
    FILE *in = fopen(file, "re");
    char line[512];
    size_t n = 0;
    bool inside = false;
    if (in == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "%s: cannot be read", file);
        return 0;
    }
    while (fgets(line, sizeof line, in) != NULL && n <= HISTORY_QUESTIONS_MAX) {
        line[strcspn(line, "\n")] = '\0';
        struct history_question *q = n > 0 ? &out_questions[n - 1] : NULL;
        if (text_has_prefix(line, "## ") && n < HISTORY_QUESTIONS_MAX) {
            out_questions[n] = (struct history_question){0};
            TEXT_SET(out_questions[n++].title, line + 3);
        } else if (text_has_prefix(line, "```")) {
            inside = q != NULL && strcmp(line, "```sql") == 0;
        } else if (inside) {
            size_t used = strlen(q->sql);
            (void)snprintf(q->sql + used, sizeof q->sql - used, "%s\n", line);
        }
    }
    (void)fclose(in);
    return n;
}
