/* lawbook_laws.c - the laws of one publication, given the one before. See lawbook.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/sim/lawbook_notes.h"

enum { LATE_MS = 5000, STUCK_MS = 25000 };

/* ---- limits ---- */

/* One whose outcome nobody can prove gives its slots up before long, of the fleet and of both
 * nodes. If it goes on later it takes them again, above the limits if need be: from then on it does
 * not count here. */
static bool holds_slots(struct lawbook *book, const struct snapshot_job *job,
                        const struct snapshot *now)
{
    if (!phase_is_busy(job->phase))
        return false;
    struct note_job *note = note_of(book, job->uid);
    bool given_up =
        job->wait.pending == PENDING_RECOVERY &&
        (job->recovery.state == RECOVERY_BLIND || job->recovery.state == RECOVERY_EXHAUSTED);
    bool stalled = job->wait.pending == PENDING_STALLED && job->resolving;
    bool stuck = (job->wait.pending == PENDING_UNPROVEN || given_up || stalled) &&
                 now->wall_ms - job->wait.since_ms >= STUCK_MS;
    if (note != NULL && stuck)
        note->gave_up = true;
    return !stuck && (note == NULL || !note->gave_up);
}

struct traffic {
    unsigned out, in;
    uint64_t out_bps, in_bps;
};

/* After a crash a job may be as far as that without an order: that of an earlier one is none. */
static uint64_t ordered_bps(struct note_guest *guest, const struct snapshot_job *job)
{
    if (guest == NULL || (job->phase != PHASE_TARGET_READY && job->phase != PHASE_RUNNING))
        return 0;
    if (guest->ordered[0] == '\0')
        TEXT_SET(guest->ordered, job->uid);
    return strcmp(guest->ordered, job->uid) == 0 ? guest->ordered_bps : 0;
}

static struct traffic traffic_of(struct lawbook *book, const struct snapshot *now, const char *node)
{
    struct traffic sum = {0};
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (!holds_slots(book, job, now))
            continue;
        uint64_t bps = ordered_bps(guest_of(book, job->guest_uuid), job);
        if (strcmp(job->source, node) == 0) {
            sum.out++;
            sum.out_bps += bps;
        }
        if (strcmp(job->target, node) == 0) {
            sum.in++;
            sum.in_bps += bps;
        }
    }
    return sum;
}

static void limit(struct lawbook *book, const char *what, const char *node, uint64_t is,
                  uint64_t most)
{
    if (most == 0)
        return;
    book->checks[LAW_LIMITS]++;
    if (is > most)
        lawbook_broken(book, LAW_LIMITS, "%s %s: %llu, the limit is %llu", what, node,
                       (unsigned long long)is, (unsigned long long)most);
}

void law_limits(struct lawbook *book, const struct snapshot *now)
{
    unsigned busy = 0;
    for (size_t i = 0; i < now->n_jobs; i++)
        busy += holds_slots(book, now->jobs[i], now);
    limit(book, "fleet", "", busy, book->rules.fleet);
    for (size_t i = 0; i < now->n_nodes; i++) {
        const char *node = now->nodes[i].name;
        struct traffic sum = traffic_of(book, now, node);
        limit(book, "outbound", node, sum.out, book->rules.outbound);
        limit(book, "inbound", node, sum.in, book->rules.inbound);
        limit(book, "outbound bandwidth", node, sum.out_bps, book->rules.bandwidth);
        limit(book, "inbound bandwidth", node, sum.in_bps, book->rules.bandwidth);
    }
}

/* ---- one job ---- */

void law_one_job(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *a = now->jobs[i];
        if (phase_is_final(a->phase))
            continue;
        book->checks[LAW_ONE_JOB]++;
        for (size_t j = i + 1; j < now->n_jobs; j++) {
            const struct snapshot_job *b = now->jobs[j];
            if (!phase_is_final(b->phase) && strcmp(a->guest_uuid, b->guest_uuid) == 0)
                lawbook_broken(book, LAW_ONE_JOB, "%s has two unfinished jobs: %s and %s",
                               a->guest_name, a->name, b->name);
        }
    }
}

/* ---- one promise ---- */

struct amount {
    uint64_t launchers, memory_kib, vcpus;
};

static void add(struct amount *sum, const struct note_guest *guest)
{
    sum->launchers++;
    sum->memory_kib += guest->memory_kib;
    sum->vcpus += guest->vcpus;
}

static const struct snapshot_job *promise_to(const struct snapshot *now, const char *uuid)
{
    for (size_t i = 0; i < now->n_jobs; i++)
        if (holds_slot_at_target(now->jobs[i]) && strcmp(now->jobs[i]->guest_uuid, uuid) == 0)
            return now->jobs[i];
    return NULL;
}

/* Guests that are really up there, and those that were promised to be. */
static struct amount used_on(struct lawbook *book, const struct snapshot *now, const char *node)
{
    struct amount sum = {0};
    for (struct note_guest *guest = book->guests; guest != NULL; guest = guest->hh.next) {
        const char *host = book->world.host_of(book->world.ctx, guest->uuid);
        const struct snapshot_job *job = promise_to(now, guest->uuid);
        if ((host != NULL && strcmp(host, node) == 0) ||
            (job != NULL && strcmp(job->target, node) == 0))
            add(&sum, guest);
    }
    return sum;
}

static void node_has_room(struct lawbook *book, const struct snapshot *now,
                          const struct snapshot_job *job)
{
    const struct snapshot_node *node = node_in(now, job->target);
    const struct snapshot_node *was = node_in(book->before, job->target);
    if (node == NULL || !node->has_facts)
        return;
    uint64_t kib = node->facts.memory_kib, cpus = node->facts.cpus;
    if (was != NULL && was->has_facts && was->facts.memory_kib > kib)
        kib = was->facts.memory_kib; /* it shrank after the promise */
    if (was != NULL && was->has_facts && was->facts.cpus > cpus)
        cpus = was->facts.cpus;
    uint64_t percent = book->rules.overcommit != 0 ? book->rules.overcommit : 100;
    uint64_t each = book->rules.vcpus_per_cpu != 0 ? book->rules.vcpus_per_cpu : 10;
    struct amount used = used_on(book, now, job->target);
    book->checks[LAW_ONE_PROMISE]++;
    if (kib != 0 && used.memory_kib > kib * percent / 100)
        lawbook_broken(book, LAW_ONE_PROMISE,
                       "job %s was promised memory on %s: %llu KiB of %llu KiB are used", job->name,
                       job->target, (unsigned long long)used.memory_kib,
                       (unsigned long long)(kib * percent / 100));
    if (cpus != 0 && used.vcpus > cpus * each)
        lawbook_broken(book, LAW_ONE_PROMISE,
                       "job %s was promised CPUs on %s: %llu of %llu are used", job->name,
                       job->target, (unsigned long long)used.vcpus,
                       (unsigned long long)(cpus * each));
}

static bool is_up_at(const struct snapshot *at, const char *uuid)
{
    const struct snapshot_guest *guest = at != NULL ? guest_in(at, uuid) : NULL;
    return guest != NULL && guest->up;
}

/* A namespace pays for each guest that is known to be up where it is, and for each promise. A guest
 * that was not known before may have become known after the promise: a node was connected. */
static struct amount used_in(struct lawbook *book, const struct snapshot *now, const char *ns)
{
    struct amount sum = {0};
    for (struct note_guest *guest = book->guests; guest != NULL; guest = guest->hh.next) {
        if (strcmp(guest->ns, ns) != 0)
            continue;
        const char *host = book->world.host_of(book->world.ctx, guest->uuid);
        const struct snapshot_guest *known = guest_in(now, guest->uuid);
        const struct snapshot_job *job = promise_to(now, guest->uuid);
        bool up = host != NULL && is_up_at(now, guest->uuid) && strcmp(known->node, host) == 0 &&
                  is_up_at(book->before, guest->uuid);
        if (job != NULL)
            add(&sum, guest);
        if (up && (job == NULL || strcmp(job->target, host) != 0))
            add(&sum, guest);
    }
    return sum;
}

static uint64_t quantity(struct json_object *hard, const char *key)
{
    struct json_object *value = NULL;
    if (hard == NULL || !json_object_object_get_ex(hard, key, &value))
        return UINT64_MAX;
    char *end = NULL;
    uint64_t number = strtoull(json_object_get_string(value), &end, 10);
    return strcmp(end, "Mi") == 0 ? number << 10 : number; /* memory: in KiB */
}

static bool is_as_before(const struct snapshot *before, const struct snapshot_object *quota)
{
    for (size_t i = 0; before != NULL && i < before->n_objects; i++) {
        const struct snapshot_object *old = before->objects[i];
        if (strcmp(old->uid, quota->uid) == 0)
            return strcmp(old->spec_json, quota->spec_json) == 0;
    }
    return false;
}

static void quota_has_room(struct lawbook *book, const struct snapshot *now,
                           const struct snapshot_job *job)
{
    struct amount used = used_in(book, now, job->ns);
    for (size_t i = 0; i < now->n_objects; i++) {
        const struct snapshot_object *quota = now->objects[i];
        struct err err = {0};
        if (quota->kind != OBJECT_QUOTA || strcmp(quota->ns, job->ns) != 0 ||
            !is_as_before(book->before, quota))
            continue; /* none, or written after the promise */
        OWNED(json_object) spec =
            json_parse(quota->spec_json, strlen(quota->spec_json), "quota", &err);
        struct json_object *hard = json_at(spec, "hard");
        book->checks[LAW_ONE_PROMISE]++;
        if (used.launchers > quantity(hard, "launchers") ||
            used.memory_kib > quantity(hard, "memory") || used.vcpus > quantity(hard, "cpu"))
            lawbook_broken(book, LAW_ONE_PROMISE,
                           "job %s got a launcher in %s: %llu launchers, %llu KiB, %llu CPUs, the "
                           "quota is %s",
                           job->name, job->ns, (unsigned long long)used.launchers,
                           (unsigned long long)used.memory_kib, (unsigned long long)used.vcpus,
                           quota->spec_json);
    }
}

static bool is_new_promise(struct lawbook *book, const struct snapshot_job *job)
{
    const struct note_job *note = holds_slot_at_target(job) ? note_of(book, job->uid) : NULL;
    return holds_slot_at_target(job) && (note == NULL || strcmp(note->target, job->target) != 0);
}

void law_one_promise(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_jobs; i++) {
        if (!is_new_promise(book, now->jobs[i]))
            continue;
        node_has_room(book, now, now->jobs[i]);
        quota_has_room(book, now, now->jobs[i]);
    }
}

/* ---- waits ---- */

static void wait_has_reason(struct lawbook *book, const struct snapshot *now,
                            const struct snapshot_job *job)
{
    const struct note_job *note = note_of(book, job->uid);
    const char *what = pending_name(job->wait.pending);
    book->checks[LAW_SAYS_WHY]++;
    if (job->wait.reason[0] == '\0' || job->wait.since_ms == 0)
        lawbook_broken(book, LAW_SAYS_WHY, "job %s waits for %s without a reason or a since",
                       job->name, what);
    if (job->wait.since_ms > now->wall_ms)
        lawbook_broken(book, LAW_SAYS_WHY, "job %s waits for %s since a time to come", job->name,
                       what);
    /* The hosts end these: what nobody can prove, a recovery that gave up or is blind, a stream
     * that is stalled (which the monitor's own limits end). */
    bool endless = job->wait.pending == PENDING_UNPROVEN || job->wait.pending == PENDING_STALLED ||
                   job->recovery.state == RECOVERY_EXHAUSTED ||
                   job->recovery.state == RECOVERY_BLIND;
    if (job->wait.until_ms == 0 && !endless)
        lawbook_broken(book, LAW_SAYS_WHY, "job %s (%s) waits for %s without a deadline", job->name,
                       phase_name(job->phase), what);
    if (job->wait.until_ms != 0 && now->wall_ms > job->wait.until_ms + LATE_MS)
        lawbook_broken(book, LAW_SAYS_WHY, "job %s waits for %s %lld ms beyond its deadline",
                       job->name, what, (long long)(now->wall_ms - job->wait.until_ms));
    /* A recovery's window counts from the last byte that moved. */
    if (note != NULL && note->pending == job->wait.pending &&
        note->since_ms == job->wait.since_ms && job->wait.pending != PENDING_RECOVERY &&
        note->until_ms != 0 && job->wait.until_ms > note->until_ms)
        lawbook_broken(book, LAW_SAYS_WHY,
                       "job %s waits for %s since %lld; its deadline moved from %lld to %lld",
                       job->name, what, (long long)job->wait.since_ms, (long long)note->until_ms,
                       (long long)job->wait.until_ms);
}

void law_gives_reason(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (phase_is_final(job->phase))
            continue;
        if (job->wait.pending != PENDING_NONE)
            wait_has_reason(book, now, job);
        else if (job->phase != PHASE_TARGET_READY && job->phase != PHASE_RUNNING)
            lawbook_broken(book, LAW_SAYS_WHY, "job %s is %s and says nothing", job->name,
                           phase_name(job->phase));
    }
}

/* ---- order ---- */

static bool goes_first(const struct snapshot_job *a, const struct snapshot_job *b)
{
    if (a->request.priority != b->request.priority)
        return a->request.priority < b->request.priority; /* best first, as in the table */
    return a->times.created_ms < b->times.created_ms;
}

/* It waited for just this and for nothing else, before and after. */
static bool waited_on(const struct snapshot_job *was, const struct snapshot_job *is)
{
    return is != NULL && was->phase == PHASE_PENDING && is->phase == PHASE_PENDING &&
           was->wait.pending == is->wait.pending && was->wait.since_ms == is->wait.since_ms;
}

static bool took_its_slot(const struct snapshot *before, const struct snapshot_job *waits,
                          const struct snapshot_job *started)
{
    const struct snapshot_guest *guest = guest_in(before, waits->guest_uuid);
    switch (waits->wait.pending) {
    case PENDING_SLOT_FLEET: return true;
    case PENDING_SLOT_SOURCE: return guest != NULL && strcmp(guest->node, started->source) == 0;
    case PENDING_SLOT_TARGET:
        return waits->request.wanted[0] != '\0' &&
               strcmp(waits->request.wanted, started->target) == 0;
    default: return false;
    }
}

static void was_nobody_overtaken(struct lawbook *book, const struct snapshot *now,
                                 const struct snapshot_job *started)
{
    for (size_t i = 0; i < book->before->n_jobs; i++) {
        const struct snapshot_job *waits = book->before->jobs[i];
        if (waits->phase != PHASE_PENDING || !goes_first(waits, started))
            continue;
        book->checks[LAW_ORDER]++;
        if (waited_on(waits, job_in(now, waits->uid)) &&
            took_its_slot(book->before, waits, started))
            lawbook_broken(book, LAW_ORDER,
                           "job %s (%s) took the %s that %s (%s) waits for since %lld",
                           started->name, priority_name(started->request.priority),
                           pending_name(waits->wait.pending), waits->name,
                           priority_name(waits->request.priority), (long long)waits->wait.since_ms);
    }
}

void law_order(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; book->before != NULL && i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (!phase_is_busy(job->phase))
            continue;
        const struct note_job *note = note_of(book, job->uid);
        if (note == NULL || note->phase == PHASE_PENDING)
            was_nobody_overtaken(book, now, job);
    }
}

/* ---- open to the guest ---- */

/* Does the JSON object `have` hold every pair of `wanted`, but for keys that are in `but`? */
static bool covers(const char *have_json, struct json_object *wanted, struct json_object *but)
{
    struct err err = {0};
    if (wanted == NULL)
        return true;
    OWNED(json_object) have =
        have_json != NULL ? json_parse(have_json, strlen(have_json), "labels", &err) : NULL;
    json_object_object_foreach(wanted, key, value)
    {
        struct json_object *found = NULL;
        if (but != NULL && json_object_object_get_ex(but, key, NULL))
            continue;
        if (have == NULL || !json_object_object_get_ex(have, key, &found) ||
            strcmp(json_object_get_string(found), json_object_get_string(value)) != 0)
            return false;
    }
    return true;
}

static const char *member(struct json_object *object, const char *name)
{
    struct err err = {0};
    const char *text = "";
    (void)json_get_text(object, name, "", &text, &err);
    return text;
}

static bool tolerates(struct json_object *settings, struct json_object *taint)
{
    struct json_object *list = settings != NULL ? json_at(settings, "tolerations") : NULL;
    for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        bool any_key = member(one, "key")[0] == '\0';
        bool any_value = strcmp(member(one, "operator"), "Exists") == 0;
        bool any_effect = member(one, "effect")[0] == '\0';
        if ((any_key || strcmp(member(one, "key"), member(taint, "key")) == 0) &&
            (any_value || strcmp(member(one, "value"), member(taint, "value")) == 0) &&
            (any_effect || strcmp(member(one, "effect"), member(taint, "effect")) == 0))
            return true;
    }
    return false;
}

static bool repels(const struct snapshot_node *node, struct json_object *settings)
{
    struct err err = {0};
    OWNED(json_object) taints = node->taints != NULL
                                    ? json_parse(node->taints, strlen(node->taints), "taints", &err)
                                    : NULL;
    for (size_t i = 0; taints != NULL && i < json_object_array_length(taints); i++) {
        struct json_object *taint = json_object_array_get_idx(taints, i);
        if (strcmp(member(taint, "effect"), "PreferNoSchedule") != 0 && !tolerates(settings, taint))
            return true;
    }
    return false;
}

/* Why the node was not open to the job's guest in that publication; NULL: it was. */
static const char *closed(const struct snapshot *s, const struct snapshot_job *job)
{
    const struct snapshot_node *node = node_in(s, job->target);
    const struct snapshot_guest *guest = guest_in(s, job->guest_uuid);
    struct err err = {0};
    if (node == NULL || guest == NULL)
        return NULL;
    OWNED(json_object) settings =
        guest->settings != NULL ? json_parse(guest->settings, strlen(guest->settings), "s", &err)
                                : NULL;
    OWNED(json_object) selector =
        job->request.selector_json != NULL
            ? json_parse(job->request.selector_json, strlen(job->request.selector_json), "s", &err)
            : NULL;
    if (node->cordoned)
        return "node is cordoned";
    if (repels(node, settings))
        return "it has a taint";
    struct json_object *own = settings != NULL ? json_at(settings, "nodeSelector") : NULL;
    if (!covers(node->labels, selector, own)) /* the guest's own word comes first */
        return "the request's selector";
    if (!covers(node->labels, own, NULL))
        return "the guest's selector";
    return NULL;
}

/* A drain of the node ended by removal and another began, in one turn: in between it was open. */
static bool drain_was_replaced(const struct snapshot *before, const struct snapshot *now,
                               const char *node)
{
    for (size_t i = 0; i < before->n_objects; i++) {
        const struct snapshot_object *drain = before->objects[i];
        struct err err = {0};
        if (drain->kind != OBJECT_DRAIN)
            continue;
        OWNED(json_object) spec = json_parse(drain->spec_json, strlen(drain->spec_json), "s", &err);
        bool gone = spec != NULL && strcmp(member(spec, "nodeName"), node) == 0;
        for (size_t j = 0; gone && j < now->n_objects; j++)
            gone = strcmp(now->objects[j]->uid, drain->uid) != 0;
        if (gone)
            return true;
    }
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

/* If its labels or taints changed, they may have changed twice in the turn: in between it was open.
 */
static bool was_rewritten(const struct snapshot *before, const struct snapshot *now,
                          const char *name)
{
    const struct snapshot_node *was = node_in(before, name), *is = node_in(now, name);
    return was == NULL || is == NULL || !same_text(was->labels, is->labels) ||
           !same_text(was->taints, is->taints);
}

void law_may_come(struct lawbook *book, const struct snapshot *now)
{
    for (size_t i = 0; i < now->n_jobs; i++) {
        const struct snapshot_job *job = now->jobs[i];
        if (!is_new_promise(book, job))
            continue;
        book->checks[LAW_MAY_COME]++;
        if (strcmp(job->target, job->source) == 0)
            lawbook_broken(book, LAW_MAY_COME, "job %s goes where it comes from: %s", job->name,
                           job->target);
        if (job->request.wanted[0] != '\0' && strcmp(job->target, job->request.wanted) != 0)
            lawbook_broken(book, LAW_MAY_COME, "job %s goes to %s, asked for was %s", job->name,
                           job->target, job->request.wanted);
        /* Another reason than before: in between, in the same turn, it was open. */
        const char *was = closed(book->before, job), *is = closed(now, job);
        if (was != NULL && is != NULL && strcmp(was, is) == 0 &&
            !was_rewritten(book->before, now, job->target) &&
            !drain_was_replaced(book->before, now, job->target))
            lawbook_broken(book, LAW_MAY_COME, "job %s goes to %s in spite of this: %s", job->name,
                           job->target, is);
    }
}
