/* life.c - see life.h. */
#include "bench/life.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "bench/life_inside.h"

enum { TURN_MS = 1 }; /* time moves on by this with every input */

uint64_t life_dice(struct life *life, uint64_t sides)
{
    uint64_t z = (life->random += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) % sides;
}

void *life_memory(void *memory)
{
    if (memory == NULL) {
        (void)fputs("bench: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* The cost of reading the clock, a system call, which is part of each measurement. */
static uint64_t asking_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t began_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t spent_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
        least = spent_ns < least ? spent_ns : least;
    }
    return least;
}

/* ---- hosts answer ---- */

static struct input *new_answer(struct life *life, enum input_kind kind)
{
    struct life_answers *a = &life->answers;
    if (a->n == a->capacity) {
        size_t capacity = a->capacity == 0 ? 256 : a->capacity * 2;
        struct input *list = life_memory(calloc(capacity, sizeof *list));
        for (size_t i = 0; i < a->n; i++)
            list[i] = a->list[(a->head + i) % a->capacity];
        free(a->list);
        *a = (struct life_answers){.list = list, .n = a->n, .capacity = capacity};
    }
    struct input *input = &a->list[(a->head + a->n++) % a->capacity];
    memset(input, 0, offsetof(struct input, of) + sizeof input->of.sample);
    input->kind = kind;
    return input;
}

static unsigned guest_of(const char *uuid)
{
    return (unsigned)strtoul(uuid, NULL, 16);
}

static unsigned host_of(const char *name)
{
    return (unsigned)strtoul(name + strlen("host-"), NULL, 10);
}

static bool is_lost(const struct life *life, unsigned host)
{
    for (size_t i = 0; i < life->n_lost; i++)
        if (life->lost[i] == host)
            return true;
    return false;
}

static void answer_observe(struct life *life, const struct effect *effect)
{
    struct input *input = new_answer(life, INPUT_OBSERVED);
    unsigned host = host_of(effect->of.act.node);
    input->id = effect->of.act.id;
    TEXT_SET(input->host, effect->of.act.node);
    TEXT_SET(input->guest, effect->of.act.guest);
    input->of.observation = (struct hv_observation){.presence = HV_ABSENT, .job_type = -1};
    if (is_lost(life, host))
        input->of.observation.presence = HV_UNREACHABLE;
    else if (life->home[guest_of(effect->of.act.guest)] == host)
        input->of.observation = (struct hv_observation){.presence = HV_PRESENT,
                                                        .state = HV_STATE_RUNNING,
                                                        .reason = HV_RUNNING_BOOTED,
                                                        .job_type = -1};
}

static void answer(struct life *life, enum input_kind kind, const struct effect *effect)
{
    struct input *input = new_answer(life, kind);
    input->id = effect->of.act.id;
    TEXT_SET(input->host, effect->of.act.node);
    TEXT_SET(input->guest, effect->of.act.guest);
    if (is_lost(life, host_of(effect->of.act.node)))
        err_set(&input->err, ERR_UNREACHABLE, "no route to host");
    if (kind == INPUT_CPU)
        input->of.comparison = 1;
    if (kind == INPUT_CALL)
        input->of.call = HV_CALL_ABORT;
}

static void begin_move(struct life *life, const struct effect *effect)
{
    if (life->n_moves == life->moves_capacity) {
        life->moves_capacity = life->moves_capacity == 0 ? 64 : life->moves_capacity * 2;
        life->moves =
            life_memory(reallocarray(life->moves, life->moves_capacity, sizeof *life->moves));
    }
    struct life_move *move = &life->moves[life->n_moves++];
    *move = (struct life_move){.guest = guest_of(effect->of.act.guest),
                               .target = host_of(effect->of.act.migrate.target),
                               .call_id = effect->of.act.id};
    TEXT_SET(move->uid, effect->job_uid);
}

static void end_move(struct life *life, size_t i, bool arrives)
{
    struct life_move *move = &life->moves[i];
    struct input *input = new_answer(life, INPUT_CALL);
    input->id = move->call_id;
    input->of.call = HV_CALL_MIGRATE;
    life_host_name(life->home[move->guest], input->host);
    life_guest_uuid(move->guest, input->guest);
    if (arrives) {
        life->home[move->guest] = move->target;
    } else {
        err_set(&input->err, ERR_HYPERVISOR, "operation aborted: migration out: canceled");
        input->err.hv_code = 78;
        input->err.hv_domain = 10;
    }
    *move = life->moves[--life->n_moves];
}

static void abort_move(struct life *life, const struct effect *effect)
{
    answer(life, INPUT_CALL, effect);
    for (size_t i = 0; i < life->n_moves; i++)
        if (strcmp(life->moves[i].uid, effect->job_uid) == 0) {
            end_move(life, i, false);
            return;
        }
}

static void play(struct life *life, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_DO_OBSERVE: answer_observe(life, effect); break;
    case EFFECT_DO_ASK_JOB: answer(life, INPUT_ASK_JOB, effect); break;
    case EFFECT_DO_COMPARE_CPU: answer(life, INPUT_CPU, effect); break;
    case EFFECT_DO_MIGRATE: begin_move(life, effect); break;
    case EFFECT_DO_ABORT: abort_move(life, effect); break;
    default: break;
    }
}

/* ---- one input ---- */

/* What the shell does with the core's memory after a commit: changed jobs are stored, finished jobs
 * leave the snapshot. The job's number of decisions is read on the way. */
static uint64_t settle(struct life *life)
{
    struct fleet *f = life->fleet;
    uint64_t parks = 0;
    for (struct job *job = f->changed, *next; job != NULL; job = next) {
        next = job->links.next_changed;
        parks += job->wait.pending != PENDING_NONE && job->wait.mono_ms == life->now.mono_ms;
        job->links.next_changed = NULL;
        job->changed = job->links.listed = job->placement.rejections_changed = false;
    }
    f->changed = NULL;
    if (f->changed_objects != NULL)
        fleet_objects_stored(f);
    for (size_t i = 0; i < life->fx.n; i++) {
        const struct effect *effect = &life->fx.list[i];
        bool ends = effect->kind == EFFECT_STEP && phase_is_final(effect->of.step.to);
        if (!ends && effect->kind != EFFECT_DO_REMOVE)
            continue;
        struct job *job = fleet_job(f, effect->job_uid);
        char guest[HV_UUID_MAX];
        if (job == NULL || !phase_is_final(job->phase))
            continue;
        TEXT_SET(guest, job->guest_uuid);
        if (ends)
            fleet_prune_jobs(f, guest);
        else
            fleet_remove_job(f, job);
    }
    return parks;
}

static uint32_t cut(uint64_t ns)
{
    return (uint32_t)(ns < UINT32_MAX ? ns : UINT32_MAX);
}

static void count(struct life *life, uint64_t core_ns, uint64_t wall_ns, uint64_t decisions)
{
    struct life_figures *figures = life->figures;
    for (size_t i = 0; i < life->fx.n; i++) {
        const struct effect *effect = &life->fx.list[i];
        if (effect->kind != EFFECT_STEP)
            continue;
        figures->steps++;
        figures->ended += phase_is_final(effect->of.step.to);
        decisions++;
    }
    figures->inputs++;
    figures->core_ns += core_ns;
    figures->wall_ns += wall_ns;
    figures->effect_bytes += life->fx.n * sizeof life->fx.list[0];
    if (decisions == 0 || figures->n_times == figures->times_max)
        return;
    figures->times_decisions[figures->n_times] =
        (uint16_t)(decisions < UINT16_MAX ? decisions : UINT16_MAX);
    figures->times_wall_ns[figures->n_times] = cut(wall_ns);
    figures->times_ns[figures->n_times++] = cut(core_ns);
}

bool life_feed(struct life *life, struct input *input)
{
    struct migration_ref ref = {.uid = {0}};
    struct err err = {0};
    life->now.mono_ms += TURN_MS;
    life->now.wall_ms += TURN_MS;
    uint64_t wall_ns = now_ns(CLOCK_MONOTONIC), core_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    bool accepted = reconcile(life->fleet, input, life->now, &life->fx, &ref, &err);
    uint64_t parks = settle(life);
    core_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - core_ns;
    core_ns = core_ns > life->asking_ns ? core_ns - life->asking_ns : 0;
    wall_ns = now_ns(CLOCK_MONOTONIC) - wall_ns;
    if (life->figures != NULL) {
        life->figures->parks += parks;
        life->figures->refusals += !accepted;
        count(life, core_ns, wall_ns, parks + !accepted);
    }
    for (size_t i = 0; i < life->fx.n; i++)
        play(life, &life->fx.list[i]);
    effects_clear(&life->fx);
    return accepted;
}

static void tick(struct life *life)
{
    struct input input = {.kind = INPUT_TICK};
    if (reconcile_next_ms(life->fleet, life->now.mono_ms) <= life->now.mono_ms)
        (void)life_feed(life, &input);
}

/* ---- what happens by itself ---- */

static void sample(struct life *life)
{
    if (life->n_moves == 0)
        return;
    struct life_move *move = &life->moves[life_dice(life, life->n_moves)];
    struct input input = {.kind = INPUT_SAMPLE};
    TEXT_SET(input.of.sample.job_uid, move->uid);
    input.of.sample.seq = move->samples++;
    input.of.sample.stats = (struct hv_job_stats){.type = HV_JOB_UNBOUNDED,
                                                  .operation = HV_OPERATION_MIGRATION_OUT,
                                                  .memory_total = 1ULL << 33,
                                                  .memory_remaining = 1ULL << 32};
    (void)life_feed(life, &input);
}

/* Every 50th fails by itself. */
static void finish(struct life *life)
{
    if (life->n_moves > 0)
        end_move(life, life_dice(life, life->n_moves), life_dice(life, 50) != 0);
}

static void request(struct life *life, unsigned guest)
{
    static const char *const classes[] = {"system-critical", "", "", "system-maintenance"};
    struct input input = {.kind = INPUT_CREATE};
    struct migration_request *r = &input.of.create.request;
    life_namespace_name(life, guest, r->ns);
    life_guest_name(guest, r->guest_name);
    TEXT_SET(r->requester, "operator");
    TEXT_SET(r->priority, classes[life_dice(life, COUNT(classes))]);
    if (life_dice(life, 10) == 0) /* one in ten names its target */
        life_host_name((unsigned)life_dice(life, life->size.hosts), r->target);
    (void)life_feed(life, &input);
}

/* Asks for a guest that has none; one in a hundred asks anyway and is refused. */
static void request_any(struct life *life)
{
    char uuid[HV_UUID_MAX];
    unsigned guest = 0;
    for (unsigned tries = 0; tries < 100; tries++) {
        guest = (unsigned)life_dice(life, life->size.guests);
        life_guest_uuid(guest, uuid);
        if (fleet_active_job(life->fleet, uuid) == NULL || life_dice(life, 100) == 0)
            break;
    }
    request(life, guest);
}

static void cancel(struct life *life)
{
    const struct job *job = NULL;
    for (unsigned tries = 0; tries < 100 && job == NULL; tries++) {
        char uuid[HV_UUID_MAX];
        life_guest_uuid((unsigned)life_dice(life, life->size.guests), uuid);
        job = fleet_active_job(life->fleet, uuid);
    }
    if (job == NULL)
        return;
    struct input input = {.kind = INPUT_CANCEL};
    TEXT_SET(input.of.cancel.ns, job->ns);
    TEXT_SET(input.of.cancel.name, job->name);
    TEXT_SET(input.of.cancel.requester, "operator");
    input.of.cancel.remove = life_dice(life, 2) == 0;
    (void)life_feed(life, &input);
}

static void facts(struct life *life)
{
    unsigned host = (unsigned)life_dice(life, life->size.hosts);
    struct input input = {.kind = INPUT_FACTS};
    life_host_name(host, input.host);
    life_describe_host(host, &input.of.facts);
    if (!is_lost(life, host))
        (void)life_feed(life, &input);
}

/* Guests that the core has on this host and guests that are arriving; arrivals come by
 * observations. */
static void list(struct life *life, unsigned host)
{
    enum { LIST_MAX = 256 };
    struct hv_guest guests[LIST_MAX];
    char name[HV_HOST_MAX];
    size_t n = 0;
    life_host_name(host, name);
    const struct node *node = fleet_node(life->fleet, name);
    for (const struct domain *p = node->domains; p != NULL && n < LIST_MAX; p = p->next_here) {
        unsigned guest = guest_of(p->guest->uuid);
        if (life->home[guest] == host)
            life_describe_guest(life, guest, &guests[n++]);
    }
    struct hv_guest_list all = {n, guests};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &all};
    TEXT_SET(input.host, name);
    if (!is_lost(life, host))
        (void)life_feed(life, &input);
}

static void connect(struct life *life, unsigned host, bool connected)
{
    struct input input = {.kind = INPUT_HOST, .of.connected = connected};
    life_host_name(host, input.host);
    if (!connected)
        err_set(&input.err, ERR_UNREACHABLE, "no route to host");
    (void)life_feed(life, &input);
}

/* A host is lost, or the one lost longest ago comes back. */
static void lose_or_find(struct life *life)
{
    unsigned host = (unsigned)life_dice(life, life->size.hosts);
    if (life->n_lost == LIFE_LOST_MAX || (life->n_lost > 0 && life_dice(life, 2) == 0)) {
        host = life->lost[0];
        memmove(life->lost, life->lost + 1, --life->n_lost * sizeof life->lost[0]);
        connect(life, host, true);
        list(life, host);
    } else if (!is_lost(life, host)) {
        life->lost[life->n_lost++] = host;
        connect(life, host, false);
    }
}

/* For each migration that ends: some samples, facts and lists; sometimes more. */
static void happen(struct life *life)
{
    uint64_t dice = life_dice(life, 1000);
    if (life->fleet->waiting_jobs < life->waiting)
        request_any(life);
    else if (dice < 400)
        sample(life);
    else if (dice < 700)
        finish(life);
    else if (dice < 850)
        facts(life);
    else if (dice < 950)
        list(life, (unsigned)life_dice(life, life->size.hosts));
    else if (dice < 990)
        cancel(life);
    else if (dice < 992)
        lose_or_find(life);
    else
        request_any(life);
}

static void step(struct life *life)
{
    struct life_answers *a = &life->answers;
    if (a->n > 0) {
        struct input input = a->list[a->head];
        a->head = (a->head + 1) % a->capacity;
        a->n--;
        (void)life_feed(life, &input);
    } else {
        happen(life);
    }
    tick(life);
}

/* ---- for the bench ---- */

struct life *life_new(const struct life_size *size, uint64_t seed)
{
    struct life *life = life_memory(calloc(1, sizeof *life));
    struct err err = {0};
    struct fleet_config config = {.parallel_per_fleet = size->running,
                                  .parallel_outbound_per_node = 2,
                                  .parallel_inbound_per_node = 2,
                                  .abort_guard_ms = 30000,
                                  .idle_call_timeout_ms = 300000,
                                  .jobs_kept_per_guest = 5,
                                  .jobs_kept = 1000};
    migration_config_default(&config.migration);
    life->size = *size;
    life->random = seed;
    life->asking_ns = asking_ns();
    life->now = (struct moment){1000, 1700000000000};
    life->fleet = life_memory(fleet_new(&config, seed, &err));
    life->home = life_memory(calloc(size->guests, sizeof *life->home));
    life_build(life);
    return life;
}

void life_free(struct life *life)
{
    if (life == NULL)
        return;
    fleet_free(life->fleet);
    effects_fini(&life->fx);
    free(life->answers.list);
    free(life->moves);
    free(life->home);
    free(life);
}

void life_fill(struct life *life, unsigned waiting)
{
    life->waiting = waiting;
    while (life->fleet->waiting_jobs < waiting || life->answers.n > 0)
        step(life);
}

void life_figures_fini(struct life_figures *figures)
{
    free(figures->times_ns);
    free(figures->times_wall_ns);
    free(figures->times_decisions);
    *figures = (struct life_figures){0};
}

uint64_t life_decisions(const struct life_figures *figures)
{
    return figures->steps + figures->parks + figures->refusals;
}

void life_run(struct life *life, uint64_t decisions, struct life_figures *out)
{
    *out = (struct life_figures){.times_max = decisions};
    out->times_ns = life_memory(calloc(decisions, sizeof *out->times_ns));
    out->times_wall_ns = life_memory(calloc(decisions, sizeof *out->times_wall_ns));
    out->times_decisions = life_memory(calloc(decisions, sizeof *out->times_decisions));
    life->figures = out;
    while (life_decisions(out) < decisions)
        step(life);
    life->figures = NULL;
}

struct fleet *life_fleet(struct life *life)
{
    return life->fleet;
}

double life_find_ns(struct life *life, unsigned finds)
{
    enum { BATCH = 1024 };
    char uuids[BATCH][HV_UUID_MAX];
    uint64_t spent_ns = 0, found = 0;
    for (unsigned done = 0; done < finds; done += BATCH) {
        for (unsigned i = 0; i < BATCH; i++)
            life_guest_uuid((unsigned)life_dice(life, life->size.guests), uuids[i]);
        uint64_t began_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
        for (unsigned i = 0; i < BATCH; i++) {
            const struct guest *guest = fleet_guest(life->fleet, uuids[i]);
            found += guest != NULL;
        }
        spent_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
    }
    return found > 0 ? (double)spent_ns / (double)found : 0;
}

double life_bytes_per_host(const struct life *life)
{
    return (double)life->host_bytes / life->size.hosts;
}

double life_bytes_per_guest(const struct life *life)
{
    return (double)life->guest_bytes / life->size.guests;
}

size_t life_heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
