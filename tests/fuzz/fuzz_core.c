/* fuzz_core.c - the engine's pure core, fed with anything in any order: requests, answers to its
 * questions (late, twice, lost, of any content), samples, events, lists, lost hosts, ticks, and
 * ends of the process. The laws are in laws.h; at the end the world turns kind, and then every
 * job must end.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/persist.h"
#include "engine/publish.h"
#include "store/sqlite/sqlite.h"
#include "tests/core_world.h"
#include "tests/fuzz/core_play.h"

enum { STEPS_MAX = 300, KIND_TURNS_MAX = 3000 };

/* ---- the store ---- */

/* One for all plays, because making one is slow: a play is a transaction that is never committed,
 * and in memory a store shows the writer what it wrote. */
static struct store *shared_store(void)
{
    static struct store *store;
    struct err err = {0};
    if (store == NULL)
        store = store_sqlite_open(NULL, &err);
    FUZZ_LAW(store != NULL, "%s", err.text);
    return store;
}

static void save(struct play *p)
{
    if (p->store == NULL) {
        p->store = shared_store();
        p->store->ops->begin(p->store);
    }
    for (const struct job *job = p->fleet->jobs; job != NULL; job = job->hh.next)
        persist_job(p->store, job);
    for (const struct job *job = p->fleet->jobs; job != NULL; job = job->hh.next)
        persist_rejections(p->store, job);
    for (const struct object *o = p->fleet->changed_objects; o != NULL; o = o->next_changed)
        persist_object(p->store, p->fleet, o, p->now.wall_ms);
    fleet_objects_stored(p->fleet);
    for (; p->saved < p->fx.n; p->saved++)
        persist_effect(p->store, p->fleet, &p->fx.list[p->saved]);
}

/* What the shell does with jobs that leave the view. */
static void forget(struct play *p, const struct effect *effect)
{
    struct job *job = fleet_job(p->fleet, effect->job_uid);
    bool removes = effect->kind == EFFECT_DO_REMOVE;
    bool ends = effect->kind == EFFECT_STEP && phase_is_final(effect->of.step.to);
    if (job == NULL || !phase_is_final(job->phase) || !(removes || ends))
        return;
    if (removes || p->fleet->finished_jobs > p->config.jobs_kept_per_guest)
        save(p);
    char guest[HV_UUID_MAX];
    TEXT_SET(guest, job->guest_uuid);
    if (removes)
        fleet_remove_job(p->fleet, job);
    else
        fleet_prune_jobs(p->fleet, guest);
}

/* ---- one turn ---- */

static unsigned host_number(const char *name)
{
    for (unsigned i = 0; i < LAWS_HOSTS; i++)
        if (strcmp(laws_host(i), name) == 0)
            return i;
    fuzz_fail("asks a host called '%s'", name);
}

static void ask(struct play *p, const struct effect *effect)
{
    bool is_question = effect->kind == EFFECT_DO_OBSERVE || effect->kind == EFFECT_DO_ASK_JOB ||
                       effect->kind == EFFECT_DO_COMPARE_CPU || effect->kind == EFFECT_DO_MIGRATE ||
                       effect->kind == EFFECT_DO_ABORT || effect->kind == EFFECT_DO_STOP_BACKUP;
    if (!is_question)
        return;
    if (p->n_questions == QUESTIONS_MAX) /* the oldest answer is lost */
        memmove(p->questions, p->questions + 1, --p->n_questions * sizeof p->questions[0]);
    p->questions[p->n_questions++] =
        (struct asked){effect->kind, effect->of.act.id, host_number(effect->of.act.node),
                       strcmp(effect->of.act.guest, laws_guest(0)) == 0 ? 0 : 1};
}

static void settle(struct play *p)
{
    size_t from = p->checked, n = p->fx.n;
    laws_check(&p->laws, p->fleet, n > from ? &p->fx.list[from] : NULL, n - from);
    p->checked = n;
    for (size_t i = from; i < n; i++) {
        ask(p, &p->fx.list[i]);
        forget(p, &p->fx.list[i]);
    }
}

void play_feed(struct play *p, const struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err err = {0};
    struct input own = *input; /* what it keeps of it is gone from there */
    bool fine = reconcile(p->fleet, &own, p->now, &p->fx, &ref, &err);
    if (own.kind == INPUT_CAPABILITIES)
        hv_capabilities_free(own.of.capabilities);
    FUZZ_LAW(fine == (err.code == ERR_NONE), "an error, and all is well, or the other way");
    if (fine && input->kind == INPUT_CREATE && !input->of.create.request.dry_run) {
        TEXT_SET(p->newest, ref.uid);
        TEXT_SET(p->newest_name, ref.name);
    }
    settle(p);
}

static void advance(struct play *p, int64_t ms)
{
    p->now.mono_ms += ms;
    p->now.wall_ms += ms;
}

static void tick(struct play *p, int64_t ms)
{
    advance(p, ms);
    play_feed(p, &(struct input){.kind = INPUT_TICK});
}

/* ---- what can happen ---- */

static struct hv_observation read_observation(struct play *p)
{
    static const struct {
        enum hv_presence presence;
        int state, reason;
    } observations[] = {
        {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_BOOTED},
        {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_MIGRATED},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_MIGRATION},
        {HV_ABSENT, 0, 0},
        {HV_UNREACHABLE, 0, 0},
        {HV_UNKNOWN, 0, 0},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_USER},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_IOERROR},
        {HV_PRESENT, HV_STATE_PAUSED, HV_PAUSED_STARTING_UP},
        {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY},
        {HV_PRESENT, HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED},
        {HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_MIGRATED},
        {HV_PRESENT, HV_STATE_SHUTOFF, HV_SHUTOFF_SHUTDOWN},
        {HV_PRESENT, HV_STATE_CRASHED, 0},
        {HV_PRESENT, HV_STATE_PMSUSPENDED, 0},
        {HV_PRESENT, HV_STATE_SHUTDOWN, 0},
        {HV_PRESENT, 9, 9},
    };
    uint8_t byte = fuzz_byte(&p->in);
    size_t i = (byte & 0x7f) % COUNT(observations);
    return (struct hv_observation){.presence = observations[i].presence,
                                   .state = observations[i].state,
                                   .reason = observations[i].reason,
                                   .job_type = -1,
                                   .at_ms =
                                       (byte & 0x80) != 0 ? p->now.mono_ms - 5000 : p->now.mono_ms};
}

static struct err read_err(struct play *p)
{
    static const enum err_code codes[] = {ERR_NONE,    ERR_HYPERVISOR, ERR_UNREACHABLE,
                                          ERR_REFUSED, ERR_LIMIT,      ERR_NOT_FOUND};
    struct err err = {0};
    enum err_code code = codes[fuzz_byte(&p->in) % COUNT(codes)];
    if (code != ERR_NONE)
        err_set(&err, code, "operation failed");
    err.hv_code = code == ERR_HYPERVISOR ? 9 : 0;
    return err;
}

static void reply(struct play *p, const struct asked *q, const struct hv_observation *observation,
                  const struct hv_job_stats *stats, const struct err *err)
{
    static const int comparisons[] = {1, 2, 0, -1}; /* same, more, not */
    struct input input = {.id = q->id, .err = *err};
    TEXT_SET(input.host, laws_host(q->host));
    TEXT_SET(input.guest, laws_guest(q->guest));
    if (q->kind == EFFECT_DO_OBSERVE) {
        input.kind = INPUT_OBSERVED;
        input.of.observation = *observation;
        laws_on_observed(&p->laws, q->id, q->host, q->guest, observation);
    } else if (q->kind == EFFECT_DO_ASK_JOB) {
        input.kind = INPUT_ASK_JOB;
        input.of.stats = *stats;
    } else if (q->kind == EFFECT_DO_COMPARE_CPU) {
        input.kind = INPUT_CPU;
        input.of.comparison = comparisons[(unsigned)stats->type % COUNT(comparisons)];
    } else {
        input.kind = INPUT_CALL;
        input.of.call = q->kind == EFFECT_DO_MIGRATE ? HV_CALL_MIGRATE : HV_CALL_ABORT;
        laws_got_call(&p->laws, q->id);
    }
    play_feed(p, &input);
}

/* Answers one question: which, whether it may be answered again, and how. */
static void happen_answer(struct play *p, bool newest)
{
    if (p->n_questions == 0)
        return;
    uint8_t which = newest ? 0 : fuzz_byte(&p->in);
    unsigned i = newest ? p->n_questions - 1 : (which & 0x7f) % p->n_questions;
    struct asked q = p->questions[i];
    struct hv_observation observation = {0};
    struct hv_job_stats stats = {0};
    struct err err = {0};
    if ((which & 0x80) == 0) {
        p->n_questions--;
        memmove(&p->questions[i], &p->questions[i + 1],
                (p->n_questions - i) * sizeof p->questions[0]);
    }
    if (q.kind == EFFECT_DO_OBSERVE) {
        observation = read_observation(p);
    } else if (q.kind == EFFECT_DO_ASK_JOB || q.kind == EFFECT_DO_COMPARE_CPU) {
        uint8_t byte = fuzz_byte(&p->in);
        stats.type = byte & 7;
        stats.operation = byte >> 3 & 7;
        if ((byte & 0x80) != 0)
            err_set(&err, ERR_UNREACHABLE, "no");
    } else {
        err = read_err(p);
    }
    reply(p, &q, &observation, &stats, &err);
}

static void happen_sample(struct play *p)
{
    struct input input = {.kind = INPUT_SAMPLE};
    uint8_t byte = fuzz_byte(&p->in);
    unsigned n = p->laws.n_jobs;
    TEXT_SET(input.of.sample.job_uid,
             (byte & 1) != 0 && n > 0 ? p->laws.jobs[byte % n].uid : p->newest);
    input.of.sample.seq = byte >> 4;
    input.of.sample.stats.type = HV_JOB_UNBOUNDED;
    play_feed(p, &input);
}

static void happen_event(struct play *p)
{
    struct input input = {.kind = INPUT_EVENT};
    struct hv_event *event = &input.of.event;
    uint8_t who = fuzz_byte(&p->in), what = fuzz_byte(&p->in);
    event->kind = (what & 1) != 0 ? HV_EVENT_ITERATION : HV_EVENT_LIFECYCLE;
    event->a = what >> 1 & 7;
    event->b = what >> 4;
    TEXT_SET(event->host, laws_host(who));
    TEXT_SET(event->guest, laws_guest(who >> 4));
    TEXT_SET(input.host, event->host);
    TEXT_SET(input.guest, event->guest);
    play_feed(p, &input);
}

static void happen_create(struct play *p)
{
    static const char *const targets[] = {"", "h2", "h1", "h3", "nowhere"};
    struct input input = {.kind = INPUT_CREATE};
    struct migration_request *request = &input.of.create.request;
    uint8_t byte = fuzz_byte(&p->in);
    if (p->laws.n_jobs >= LAWS_REQUESTS_MAX)
        return;
    TEXT_SET(request->ns, "default");
    TEXT_SET(request->guest_name, (byte & 1) != 0 ? "g2" : "g1");
    TEXT_SET(request->name, (byte & 2) != 0 ? "again" : "");
    TEXT_SET(request->requester, "fuzz");
    TEXT_SET(request->target, targets[(byte >> 2 & 7) % COUNT(targets)]);
    request->dry_run = (byte & 0x80) != 0;
    play_feed(p, &input);
}

static void happen_cancel(struct play *p)
{
    struct input input = {.kind = INPUT_CANCEL};
    uint8_t byte = fuzz_byte(&p->in);
    const struct job *job = NULL;
    if ((byte & 2) != 0 && p->laws.n_jobs > 0)
        job = fleet_job(p->fleet, p->laws.jobs[(byte >> 2) % p->laws.n_jobs].uid);
    TEXT_SET(input.of.cancel.ns, "default");
    TEXT_SET(input.of.cancel.name, job != NULL ? job->name : p->newest_name);
    TEXT_SET(input.of.cancel.requester, "fuzz");
    input.of.cancel.remove = (byte & 1) != 0;
    play_feed(p, &input);
}

static void connect(struct play *p, unsigned host, bool connected)
{
    struct input input = {.kind = INPUT_HOST, .of.connected = connected};
    TEXT_SET(input.host, laws_host(host));
    if (!connected)
        err_set(&input.err, ERR_UNREACHABLE, "connection refused");
    if (host < p->n_hosts)
        p->laws.connected[host] = connected;
    play_feed(p, &input);
}

/* A host's list: each guest with a state, or not in it. */
static void list(struct play *p, unsigned host,
                 const struct hv_observation observations[LAWS_GUESTS])
{
    struct hv_guest guests[LAWS_GUESTS];
    struct hv_guest_list all = {0, guests};
    for (unsigned g = 0; g < LAWS_GUESTS; g++) {
        if (observations[g].presence != HV_PRESENT)
            continue;
        struct hv_guest *guest = &guests[all.n++];
        *guest = (struct hv_guest){.state = observations[g].state,
                                   .reason = observations[g].reason,
                                   .memory_kib = 65536,
                                   .vcpus = 1};
        TEXT_SET(guest->uuid, laws_guest(g));
        (void)snprintf(guest->name, sizeof guest->name, "g%u", g + 1);
        TEXT_SET(guest->ns, "default");
    }
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &all};
    TEXT_SET(input.host, laws_host(host));
    if (host < p->n_hosts)
        laws_got_list(&p->laws, host, &all);
    play_feed(p, &input);
}

static void happen_list(struct play *p)
{
    unsigned host = fuzz_byte(&p->in) % LAWS_HOSTS;
    struct hv_observation observations[LAWS_GUESTS];
    for (unsigned g = 0; g < LAWS_GUESTS; g++)
        observations[g] = read_observation(p);
    list(p, host, observations);
}

static void happen_tick(struct play *p)
{
    static const int64_t waits[] = {0, 100, 250, 1100, 10100, 30100, 60100, 300100, 900100};
    tick(p, waits[fuzz_byte(&p->in) % COUNT(waits)]);
}

/* ---- life ---- */

static void begin(struct play *p)
{
    struct err err = {0};
    p->fleet = fleet_new(&p->config, 7 + p->restarts, &err);
    FUZZ_LAW(p->fleet != NULL, "%s", err.text);
    for (unsigned i = 0; i < p->n_hosts; i++) {
        struct hv_host host = {.name = {0}};
        TEXT_SET(host.name, laws_host(i));
        FUZZ_LAW(fleet_add_node(p->fleet, &host, p->now.wall_ms, &err), "%s", err.text);
    }
}

/* The process ends after a commit; the next one has another clock and looks at everything anew. */
static void happen_restart(struct play *p)
{
    struct err err = {0};
    uint8_t byte = fuzz_byte(&p->in);
    if (p->restarts >= 8)
        return;
    save(p);
    fleet_free(p->fleet);
    effects_clear(&p->fx);
    p->checked = p->saved = p->n_questions = 0;
    p->restarts++;
    p->now.mono_ms = 1000 + byte;
    p->now.wall_ms += (byte & 1) != 0 ? 60000 : -60000;
    laws_restart(&p->laws);
    begin(p);
    FUZZ_LAW(persist_load(p->store, p->fleet, &err), "what was stored cannot be read: %s",
             err.text);
    struct job *job, *next;
    HASH_ITER(links.hh_guest, p->fleet->active, job, next)
    reconcile_restore(p->fleet, job, p->now, &p->fx);
    settle(p);
}

static void happen(struct play *p)
{
    uint8_t byte = fuzz_byte(&p->in);
    if (byte >= 0x80 && byte % 12 == 11) { /* one of the many bytes that were a plain second */
        play_control(p);
        return;
    }
    switch (byte % 12) {
    case 0: happen_tick(p); break;
    case 1: happen_answer(p, false); break;
    case 2: happen_answer(p, true); break;
    case 3: happen_sample(p); break;
    case 4: happen_event(p); break;
    case 5: happen_create(p); break;
    case 6: happen_cancel(p); break;
    case 7: connect(p, (byte / 12) % LAWS_HOSTS, (byte & 0x80) != 0); break;
    case 8: happen_list(p); break;
    case 9: happen_restart(p); break;
    case 10:
        if (byte / 12 % 2 == 0)
            p->fleet->store_ok = !p->fleet->store_ok;
        else
            advance(p, 250); /* and the next input comes before the tick */
        break;
    default: tick(p, 1000); break;
    }
}

/* ---- the end ---- */

/* Guests stay where their job found them, calls fail, every host answers at once. */
static bool is_home(struct play *p, unsigned host, unsigned guest)
{
    const struct job *job = fleet_active_job(p->fleet, laws_guest(guest));
    bool has_source = job != NULL && job->source[0] != '\0';
    return strcmp(has_source ? job->source : "h1", laws_host(host)) == 0;
}

static void answer_kindly(struct play *p)
{
    while (p->n_questions > 0) {
        struct asked q = p->questions[--p->n_questions];
        struct hv_observation observation = is_home(p, q.host, q.guest) ? CORE_RUNS : CORE_ABSENT;
        struct hv_job_stats stats = {.type = HV_JOB_NONE};
        struct err err = {0};
        if (q.kind == EFFECT_DO_MIGRATE)
            err_set(&err, ERR_HYPERVISOR, "operation failed");
        reply(p, &q, &observation, &stats, &err);
    }
}

/* Nothing about a guest keeps it where it is. */
static void define_kindly(struct play *p, unsigned host)
{
    struct guest_facts facts;
    memset(&facts, 0, sizeof facts);
    for (unsigned g = 0; g < LAWS_GUESTS; g++) {
        struct input input = {.kind = INPUT_DEFINITION, .of.definition = &facts};
        TEXT_SET(input.host, laws_host(host));
        TEXT_SET(input.guest, laws_guest(g));
        play_feed(p, &input);
    }
}

static void law_of_the_end(struct play *p)
{
    p->fleet->store_ok = true;
    for (unsigned h = 0; h < p->n_hosts; h++) {
        struct hv_observation observations[LAWS_GUESTS];
        for (unsigned g = 0; g < LAWS_GUESTS; g++)
            observations[g] = is_home(p, h, g) ? CORE_RUNS : CORE_ABSENT;
        connect(p, h, true);
        list(p, h, observations);
        define_kindly(p, h);
    }
    for (unsigned i = 0; i < KIND_TURNS_MAX && p->fleet->active != NULL; i++) {
        answer_kindly(p);
        int64_t wake_ms = p->now.mono_ms + 1000000;
        for (const struct job *job = p->fleet->active; job != NULL; job = job->links.hh_guest.next)
            if (job->queue.wake_ms < wake_ms)
                wake_ms = job->queue.wake_ms;
        int64_t ms = wake_ms - p->now.mono_ms;
        tick(p, ms < 1 ? 100 : ms);
    }
    const struct job *job = p->fleet->active;
    if (job != NULL)
        fuzz_fail("%s never ends: %s, waits for '%s'", job->name, phase_name(job->phase),
                  job->wait.reason);
}

static void publish_all(struct play *p)
{
    struct err err = {0};
    struct publisher *publisher = publisher_new(&err);
    FUZZ_LAW(publisher != NULL, "%s", err.text);
    snapshot_unref(publish(publisher, p->fleet, p->now.wall_ms));
    publisher_free(publisher);
}

static void play(struct play *p)
{
    uint8_t setting = fuzz_byte(&p->in);
    p->now = (struct moment){1000, 1700000000000};
    p->n_hosts = (setting & 1) != 0 ? 3 : 2;
    p->config = (struct fleet_config){.parallel_per_fleet = setting >> 1 & 1,
                                      .parallel_outbound_per_node = setting >> 2 & 1,
                                      .parallel_inbound_per_node = setting >> 3 & 1,
                                      .bandwidth_per_node = (setting & 16) != 0 ? 64 << 20 : 0,
                                      .pending_timeout_ms = 900000,
                                      .unschedulable_timeout_ms = 300000,
                                      .prepare_timeout_ms = 60000,
                                      .abort_guard_ms = 30000,
                                      .idle_call_timeout_ms = 300000,
                                      .jobs_kept_per_guest = 2,
                                      .jobs_kept = 3};
    migration_config_default(&p->config.migration);
    begin(p);
    const struct hv_observation observations[LAWS_GUESTS] = {CORE_RUNS, CORE_RUNS};
    for (unsigned h = 0; h < p->n_hosts; h++)
        connect(p, h, true);
    list(p, 0, observations);
    for (unsigned i = 0; i < STEPS_MAX && p->in.at < p->in.end; i++)
        happen(p);
    publish_all(p);
    law_of_the_end(p);
}

FUZZ_TARGET(core)
{
    struct play *p = calloc(1, sizeof *p);
    FUZZ_LAW(p != NULL, "no memory");
    p->in = (struct fuzz_bytes){data, data + n};
    play(p);
    fleet_free(p->fleet);
    effects_fini(&p->fx);
    if (p->store != NULL)
        p->store->ops->rollback(p->store);
    free(p);
    return 0;
}
