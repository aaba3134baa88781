/* fuzz_store.c - rows of any content: they come out of the store as they went in, and an engine
 * that loads them either takes them or says what it cannot read.
 *
 * Input: decisions in bytes; a text is a word of a vocabulary or raw bytes up to a zero. What came
 * with a later version of the store has byte values of its own (NEWER_WORD, NEWER_ROW), so that
 * inputs kept from before still say what they said.
 */
#include <string.h>

#include "base/text.h"
#include "engine/core/reconcile.h"
#include "engine/persist.h"
#include "engine/publish.h"
#include "store/sqlite/sqlite.h"
#include "tests/fuzz/fuzz.h"

enum { ROWS_MAX = 12, TEXTS_MAX = 256, NEWER_WORD = 0xfd, NEWER_ROW = 0xf0 };

struct scribe {
    struct fuzz_bytes in;
    struct store *store;
    char *texts[TEXTS_MAX]; /* owned */
    size_t n_texts;
    struct store_job job; /* the newest one put */
    size_t n_jobs;
    int64_t n_transitions;
    struct store_object object;       /* the newest one put, if has_object */
    struct store_rejection rejection; /* the newest one put, if n_rejections */
    bool has_object;
    size_t n_rejections;
    int64_t n_events;
};

static const char *const words[] = {"",
                                    "Pending",
                                    "Scheduling",
                                    "Scheduled",
                                    "PreparingTarget",
                                    "TargetReady",
                                    "Running",
                                    "Succeeded",
                                    "Failed",
                                    "PreCopy",
                                    "PostCopy",
                                    "Aborting",
                                    "succeeded",
                                    "failed",
                                    "aborted",
                                    "lost",
                                    "none",
                                    "migrate",
                                    "abort",
                                    "open",
                                    "done",
                                    "source",
                                    "target",
                                    "outcome",
                                    "present",
                                    "absent",
                                    "unreachable",
                                    "running",
                                    "paused",
                                    "shutoff",
                                    "booted",
                                    "migrated",
                                    "unreachable",
                                    "hypervisor",
                                    "u1",
                                    "u2",
                                    "h1",
                                    "h2",
                                    "default",
                                    "unknown",
                                    "lost",
                                    "split",
                                    "running-on-source",
                                    "running-on-target"};

static const char *const newer_words[] = {
#define PENDING(id, name, deadline_s, help) name,
#include "engine/model/job/pending.def"
#undef PENDING
#define LAUNCHER(id, name, pod, help) name,
#include "engine/model/job/launcher.def"
#undef LAUNCHER
#define OBJECT(id, kind, spaced, max, help) kind,
#include "engine/model/objects/object.def"
#undef OBJECT
#define REJECT(id, name, lasts, help) name,
#include "engine/model/fleet/rejection.def"
#undef REJECT
#define ORIGIN(id, name, automatic, help) name,
#include "engine/model/job/origin.def"
#undef ORIGIN
    "{}",
    "[]",
    "{\"matchLabels\":{\"a\":\"b\"}}",
    "{\"nodeName\":\"h1\"}",
};

/* NULL, a word, or anything. */
static const char *text(struct scribe *s)
{
    uint8_t byte = fuzz_byte(&s->in);
    if (byte == 0xff)
        return NULL;
    if (byte == NEWER_WORD)
        return newer_words[fuzz_byte(&s->in) % COUNT(newer_words)];
    if (byte != 0xfe || s->n_texts == TEXTS_MAX)
        return words[byte % COUNT(words)];
    size_t left = (size_t)(s->in.end - s->in.at), n = 0;
    while (n < left && s->in.at[n] != '\0')
        n++;
    char *copy = fuzz_text(s->in.at, n);
    s->in.at += n < left ? n + 1 : n;
    s->texts[s->n_texts++] = copy;
    return copy;
}

static int64_t number(struct scribe *s)
{
    uint8_t byte = fuzz_byte(&s->in);
    uint64_t wide = byte < 0xf0 ? byte : fuzz_u64(&s->in);
    int64_t value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static void put_job(struct scribe *s)
{
    struct store_job *row = &s->job;
    *row = (struct store_job){.uid = text(s), .phase = text(s), .result.outcome = text(s)};
    const char **fields[] = {&row->resolution.guest_at,
                             &row->mode,
                             &row->abort.status,
                             &row->source,
                             &row->target,
                             &row->ns,
                             &row->name,
                             &row->guest_name,
                             &row->request.wanted,
                             &row->request.requester,
                             &row->abort.requester,
                             &row->abort.why,
                             &row->result.failure_reason,
                             &row->request.metadata_json,
                             &row->result.error_text,
                             &row->request.priority,
                             &row->request.origin,
                             &row->call.config_json};
    for (size_t i = 0; i < COUNT(fields); i++)
        *fields[i] = text(s);
    static const char *const guests[] = {"a", "b", "c", "d", "e", "f", "g",
                                         "h", "i", "j", "k", "l", "m", "n"};
    row->guest_uuid = guests[s->n_jobs % COUNT(guests)]; /* one unfinished job each */
    int64_t *numbers[] = {&row->epoch,
                          &row->times.created_ms,
                          &row->times.ended_ms,
                          &row->call.flags,
                          &row->times.started_ms,
                          &row->times.handed_off_ms,
                          &row->result.error_hv_code,
                          &row->result.error_hv_domain,
                          &row->request.bandwidth_mibs};
    for (size_t i = 0; i < COUNT(numbers); i++)
        *numbers[i] = number(s);
    uint8_t flags = fuzz_byte(&s->in);
    row->resolving = (flags & 1) != 0;
    row->adopted = (flags & 2) != 0;
    row->request.remove_when_final = (flags & 4) != 0;
    s->store->ops->put_job(s->store, row);
    s->n_jobs++;
}

static void put_other(struct scribe *s, uint8_t kind)
{
    struct store *store = s->store;
    const char *uid = s->job.uid;
    struct store_transition transition = {.job_uid = uid};
    struct store_intent intent = {.job_uid = uid};
    struct store_observation observation = {.job_uid = uid};
    switch (kind) {
    case 0:
        transition.from = text(s);
        transition.to = text(s);
        transition.why = text(s);
        transition.seq = ++s->n_transitions; /* history is never written twice */
        store->ops->put_transition(store, &transition);
        break;
    case 1:
        intent.epoch = number(s);
        intent.seq = number(s);
        intent.action = text(s);
        intent.status = text(s);
        intent.err = text(s);
        intent.text = text(s);
        store->ops->put_intent(store, &intent);
        break;
    default:
        observation.role = text(s);
        observation.presence = text(s);
        observation.state = text(s);
        observation.reason = text(s);
        observation.moment = text(s);
        store->ops->put_observation(store, &observation);
        break;
    }
}

static void put_waiting(struct scribe *s)
{
    struct store_job *row = &s->job;
    const char **fields[] = {&row->request.policy,       &row->request.selector_json,
                             &row->request.volumes_json, &row->request.evacuates,
                             &row->wait.pending,         &row->wait.reason,
                             &row->placement.launcher};
    for (size_t i = 0; i < COUNT(fields); i++)
        *fields[i] = text(s);
    row->wait.since_ms = number(s);
    row->placement.launcher_since_ms = number(s);
    s->store->ops->put_job(s->store, row);
}

static void put_object(struct scribe *s)
{
    s->object = (struct store_object){.kind = text(s),
                                      .ns = text(s),
                                      .name = text(s),
                                      .uid = text(s),
                                      .requester = text(s),
                                      .spec_json = text(s),
                                      .metadata_json = text(s),
                                      .status_json = text(s),
                                      .created_ms = number(s),
                                      .resource_version = number(s),
                                      .removed = (fuzz_byte(&s->in) & 1) != 0};
    s->has_object = true;
    s->store->ops->put_object(s->store, &s->object);
}

static void put_rejection(struct scribe *s)
{
    s->rejection = (struct store_rejection){.job_uid = "u1",
                                            .node = text(s),
                                            .reason = text(s),
                                            .detail = text(s),
                                            .for_ever = (fuzz_byte(&s->in) & 1) != 0};
    if ((fuzz_byte(&s->in) & 1) != 0) {
        s->store->ops->clear_rejections(s->store, "u1");
        s->n_rejections = 0;
    }
    s->n_rejections++;
    s->store->ops->put_rejection(s->store, &s->rejection);
}

static void put_event(struct scribe *s)
{
    struct store_event row = {.uid = text(s),
                              .type = text(s),
                              .reason = text(s),
                              .message = text(s),
                              .at_ms = number(s),
                              .count = 1};
    s->n_events++;
    s->store->ops->put_event(s->store, &row);
}

static void put_newer(struct scribe *s, uint8_t kind)
{
    switch (kind % 4) {
    case 0: put_waiting(s); break;
    case 1: put_object(s); break;
    case 2: put_rejection(s); break;
    default: put_event(s); break;
    }
}

/* ---- laws ---- */

static void law_of_the_text(const char *put, const char *got, const char *field)
{
    FUZZ_LAW(strcmp(put != NULL ? put : "", got) == 0, "%s went in as '%s', came out as '%s'",
             field, put, got);
}

static bool check_job(void *ctx, const struct store_job *row)
{
    struct scribe *s = ctx;
    const struct store_job *put = &s->job;
    if (strcmp(row->uid, put->uid != NULL ? put->uid : "") != 0)
        return true;
    s->n_jobs = 0; /* seen */
    law_of_the_text(put->phase, row->phase, "phase");
    law_of_the_text(put->name, row->name, "name");
    law_of_the_text(put->result.failure_reason, row->result.failure_reason, "failure_reason");
    law_of_the_text(put->request.metadata_json, row->request.metadata_json, "metadata_json");
    law_of_the_text(put->result.error_text, row->result.error_text, "error_text");
    law_of_the_text(put->request.selector_json, row->request.selector_json, "selector_json");
    law_of_the_text(put->wait.pending, row->wait.pending, "pending");
    law_of_the_text(put->placement.launcher, row->placement.launcher, "launcher");
    FUZZ_LAW(row->epoch == put->epoch && row->times.created_ms == put->times.created_ms &&
                 row->call.flags == put->call.flags &&
                 row->request.bandwidth_mibs == put->request.bandwidth_mibs,
             "another number came out");
    FUZZ_LAW(row->resolving == put->resolving &&
                 row->request.remove_when_final == put->request.remove_when_final,
             "another flag");
    return true;
}

static void law_of_the_rows(struct scribe *s)
{
    struct err err = {0};
    if (s->n_jobs == 0)
        return;
    FUZZ_LAW(s->store->ops->each_job(s->store, false, check_job, s, &err), "%s", err.text);
    FUZZ_LAW(s->n_jobs == 0, "the newest row is not there");
}

static bool same_text(const char *put, const char *got)
{
    return strcmp(put != NULL ? put : "", got) == 0;
}

static bool check_object(void *ctx, const struct store_object *row)
{
    struct scribe *s = ctx;
    const struct store_object *put = &s->object;
    FUZZ_LAW(!row->removed, "a removed document was handed out");
    if (!same_text(put->kind, row->kind) || !same_text(put->ns, row->ns) ||
        !same_text(put->name, row->name))
        return true;
    FUZZ_LAW(!put->removed, "the document was removed");
    s->has_object = false; /* seen */
    law_of_the_text(put->uid, row->uid, "uid");
    law_of_the_text(put->spec_json, row->spec_json, "spec_json");
    law_of_the_text(put->status_json, row->status_json, "status_json");
    FUZZ_LAW(row->created_ms == put->created_ms, "another time came out");
    return true;
}

static bool check_rejection(void *ctx, const struct store_rejection *row)
{
    struct scribe *s = ctx;
    FUZZ_LAW(s->n_rejections > 0, "more rejections than were put");
    if (--s->n_rejections > 0)
        return true;
    law_of_the_text(s->rejection.node, row->node, "node");
    law_of_the_text(s->rejection.reason, row->reason, "reason");
    FUZZ_LAW(row->for_ever == s->rejection.for_ever, "another for_ever");
    return true;
}

static bool check_event(void *ctx, const struct store_event *row)
{
    ((struct scribe *)ctx)->n_events -= row->count;
    return true;
}

static void law_of_the_newer_rows(struct scribe *s)
{
    struct err err = {0};
    const struct store_ops *ops = s->store->ops;
    FUZZ_LAW(ops->each_object(s->store, check_object, s, &err), "%s", err.text);
    FUZZ_LAW(!s->has_object || s->object.removed, "the newest document is not there");
    FUZZ_LAW(ops->each_rejection(s->store, "u1", check_rejection, s, &err), "%s", err.text);
    FUZZ_LAW(s->n_rejections == 0, "%zu rejections are not there", s->n_rejections);
    FUZZ_LAW(ops->each_event(s->store, NULL, 1000, check_event, s, &err), "%s", err.text);
    FUZZ_LAW(s->n_events == 0, "%lld events are not counted", (long long)s->n_events);
}

/* What was loaded can be shown, and taken over. */
static void use(struct fleet *f)
{
    struct err err = {0};
    struct effects fx = {0};
    struct moment now = {1000, 1700000000000};
    struct publisher *publisher = publisher_new(&err);
    FUZZ_LAW(publisher != NULL, "%s", err.text);
    struct job *job, *next;
    HASH_ITER(links.hh_guest, f->active, job, next)
    {
        reconcile_restore(f, job, now, &fx);
    }
    snapshot_unref(publish(publisher, f, now.wall_ms));
    publisher_free(publisher);
    effects_fini(&fx);
}

static void law_of_loading(struct store *store)
{
    struct err err = {0};
    const struct fleet_config config = {.jobs_kept_per_guest = 2, .jobs_kept = 3};
    OWNED(fleet) f = fleet_new(&config, 1, &err);
    FUZZ_LAW(f != NULL, "%s", err.text);
    if (persist_load(store, f, &err))
        use(f);
    else
        FUZZ_LAW(err.code == ERR_CORRUPT && err.text[0] != '\0', "refused as %s: '%s'",
                 err_name(err.code), err.text);
}

/* One store for all runs: each is a transaction that is never committed, and in memory a store
 * shows the writer what it wrote. */
static struct store *shared_store(void)
{
    static struct store *store;
    struct err err = {0};
    if (store == NULL)
        store = store_sqlite_open(NULL, &err);
    FUZZ_LAW(store != NULL, "%s", err.text);
    return store;
}

FUZZ_TARGET(store)
{
    struct scribe *s = calloc(1, sizeof *s);
    FUZZ_LAW(s != NULL, "no memory");
    s->in = (struct fuzz_bytes){data, data + n};
    s->store = shared_store();
    s->store->ops->begin(s->store);
    put_job(s);
    for (int i = 0; i < ROWS_MAX && s->in.at < s->in.end; i++) {
        uint8_t kind = fuzz_byte(&s->in);
        if (kind >= NEWER_ROW)
            put_newer(s, kind);
        else if (kind % 4 == 3)
            put_job(s);
        else
            put_other(s, kind % 4);
    }
    law_of_loading(s->store);
    law_of_the_rows(s);
    law_of_the_newer_rows(s);
    s->store->ops->rollback(s->store);
    for (size_t i = 0; i < s->n_texts; i++)
        free(s->texts[i]);
    free(s);
    return 0;
}
