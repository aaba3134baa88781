/* core_world.c - see core_world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/model/fleet/ledger.h"
#include "tests/core_move.h"

#define SEEN(is, why) .presence = HV_PRESENT, .state = (is), .reason = (why), .job_type = -1
const struct hv_observation CORE_RUNS = {SEEN(HV_STATE_RUNNING, HV_RUNNING_BOOTED)};
const struct hv_observation CORE_ARRIVED = {SEEN(HV_STATE_RUNNING, HV_RUNNING_MIGRATED)};
const struct hv_observation CORE_INCOMING = {SEEN(HV_STATE_PAUSED, HV_PAUSED_MIGRATION)};
const struct hv_observation CORE_SUSPENDED = {SEEN(HV_STATE_PAUSED, HV_PAUSED_USER)};
const struct hv_observation CORE_BROKEN = {SEEN(HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED)};
const struct hv_observation CORE_ABSENT = {.presence = HV_ABSENT};
const struct hv_observation CORE_BLIND = {.presence = HV_UNREACHABLE};

/* What the core takes over it frees, so it gets copies. */
void core_feed(struct core_world *w, const struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err err = {0};
    struct input own = *input;
    if (!reconcile(w->fleet, &own, w->now, &w->fx, &ref, &err))
        fail_msg("refused: %s", err.text);
    if (input->kind == INPUT_CREATE)
        TEXT_SET(w->job, ref.uid);
}

struct job *core_job(struct core_world *w)
{
    struct job *job = fleet_job(w->fleet, w->job);
    assert_non_null(job);
    return job;
}

struct core_host *core_host(struct core_world *w, const char *name)
{
    for (unsigned i = 0; i < w->n_hosts; i++)
        if (strcmp(w->hosts[i].name, name) == 0)
            return &w->hosts[i];
    fail_msg("no host %s", name);
    return NULL;
}

static struct core_guest *find_guest(struct core_world *w, const char *uuid)
{
    for (unsigned i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].is.uuid, uuid) == 0)
            return &w->guests[i];
    return NULL;
}

struct core_guest *core_guest(struct core_world *w, const char *name)
{
    for (unsigned i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].is.name, name) == 0)
            return &w->guests[i];
    fail_msg("no guest %s", name);
    return NULL;
}

struct node *core_node(struct core_world *w, const char *name)
{
    struct node *node = fleet_node(w->fleet, name);
    assert_non_null(node);
    return node;
}

/* ---- answers ---- */

static struct hv_observation observation_of(struct core_world *w, const char *host,
                                            const char *uuid)
{
    const struct core_guest *guest = find_guest(w, uuid);
    bool first = guest == NULL || /* one the test made by hand */
                 (strcmp(uuid, CORE_GUEST) == 0 && strcmp(guest->host, "h1") == 0);
    if (first && strcmp(host, "h1") == 0)
        return w->source;
    if (first && strcmp(host, "h2") == 0)
        return w->target;
    if (!core_node(w, host)->connected)
        return CORE_BLIND;
    if (first || strcmp(guest->host, host) != 0)
        return CORE_ABSENT;
    return (struct hv_observation){.presence = HV_PRESENT,
                                   .state = guest->is.state,
                                   .reason = guest->is.reason,
                                   .job_type = -1};
}

static void answer_observe(struct core_world *w, const struct effect *effect)
{
    w->observations++;
    if (w->loses.observations)
        return;
    struct input input = {.kind = INPUT_OBSERVED, .id = effect->of.act.id};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    input.of.observation = observation_of(w, effect->of.act.node, effect->of.act.guest);
    core_feed(w, &input);
}

static void answer_ask_job(struct core_world *w, const struct effect *effect)
{
    w->asks.jobs++;
    if (w->loses.jobs)
        return;
    struct input input = {.kind = INPUT_ASK_JOB, .id = effect->of.act.id};
    const struct core_guest *guest = find_guest(w, effect->of.act.guest);
    bool first = guest == NULL || strcmp(effect->of.act.guest, CORE_GUEST) == 0;
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    if (observation_of(w, effect->of.act.node, effect->of.act.guest).presence != HV_PRESENT)
        err_set(&input.err, ERR_UNREACHABLE, "no");
    input.of.stats.type = first ? w->job_type : guest->job_type;
    input.of.stats.operation = first ? w->job_operation : guest->job_operation;
    core_feed(w, &input);
}

static void answer_cpu(struct core_world *w, const struct effect *effect)
{
    struct core_host *host = core_host(w, effect->of.act.node);
    host->compares++;
    w->compares++;
    if (w->loses.cpus)
        return;
    struct input input = {.kind = INPUT_CPU, .id = effect->of.act.id};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    if (host->unasked != ERR_NONE)
        err_set(&input.err, host->unasked, "cannot compare");
    input.of.comparison = host->comparison;
    core_feed(w, &input);
}

static void answer_volumes(struct core_world *w, const struct effect *effect)
{
    w->asks.volumes++;
    if (w->loses.volumes)
        return;
    struct input input = {
        .kind = INPUT_VOLUMES, .id = effect->of.act.id, .of.volumes = &w->volumes};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    if (w->volumes_unasked != ERR_NONE)
        err_set(&input.err, w->volumes_unasked, "is unreachable");
    core_feed(w, &input);
}

static void answer_path(struct core_world *w, const struct effect *effect)
{
    w->asks.paths++;
    if (w->loses.paths)
        return;
    struct input input = {.kind = INPUT_PATH, .id = effect->of.act.id, .of.path = w->path};
    TEXT_SET(input.host, effect->of.act.node);
    TEXT_SET(input.guest, effect->of.act.guest);
    if (w->path == HV_PATH_UNKNOWN)
        err_set(&input.err, ERR_UNREACHABLE, "nobody there");
    core_feed(w, &input);
}

static void note_migrate(struct core_world *w, const struct effect *effect)
{
    struct core_guest *guest = find_guest(w, effect->of.act.guest);
    w->migrate_id = effect->of.act.id;
    w->migrates++;
    w->last = effect->of.act.migrate;
    if (guest != NULL)
        guest->migrate_id = effect->of.act.id;
}

static void play(struct core_world *w, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_DO_OBSERVE: answer_observe(w, effect); break;
    case EFFECT_DO_ASK_JOB: answer_ask_job(w, effect); break;
    case EFFECT_DO_COMPARE_CPU: answer_cpu(w, effect); break;
    case EFFECT_DO_ASK_VOLUMES: answer_volumes(w, effect); break;
    case EFFECT_DO_ASK_STREAM: core_answer_stream(w, effect); break;
    case EFFECT_DO_ASK_PATH: answer_path(w, effect); break;
    case EFFECT_DO_MIGRATE: note_migrate(w, effect); break;
    case EFFECT_DO_ABORT:
        w->abort_id = effect->of.act.id;
        w->aborts++;
        break;
    case EFFECT_DO_SHUTDOWN: w->shutdowns++; break;
    case EFFECT_DO_STOP_BACKUP: core_answer_stop(w, effect); break;
    case EFFECT_DO_REMOVE: w->removes++; break;
    case EFFECT_DO_WATCH: w->watches++; break;
    case EFFECT_DO_UNWATCH: w->unwatches++; break;
    case EFFECT_EVENT:
        w->warnings += effect->of.event.warning;
        if (effect->of.event.warning)
            TEXT_SET(w->event, effect->of.event.reason);
        break;
    default: break;
    }
}

void core_settle(struct core_world *w)
{
    if (reconcile_next_ms(w->fleet, w->now.mono_ms) <= w->now.mono_ms) /* as the engine does it */
        core_feed(w, &(struct input){.kind = INPUT_TICK});
    while (w->played < w->fx.n) {
        struct effect effect = w->fx.list[w->played++];
        play(w, &effect);
    }
}

void core_advance(struct core_world *w, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 100) {
        w->now.mono_ms += 100;
        w->now.wall_ms += 100;
        core_settle(w);
    }
}

void core_connect(struct core_world *w, const char *host, bool connected)
{
    struct input input = {.kind = INPUT_HOST, .of.connected = connected};
    TEXT_SET(input.host, host);
    core_feed(w, &input);
    core_node(w, host)->facts_fresh = connected && !w->hides_version;
}

struct fleet_config core_config(void)
{
    struct fleet_config config = {.pending_timeout_ms = 900000,
                                  .unschedulable_timeout_ms = 300000,
                                  .prepare_timeout_ms = 60000,
                                  .abort_guard_ms = 30000,
                                  .idle_call_timeout_ms = 300000,
                                  .jobs_kept_per_guest = 5,
                                  .jobs_kept = 100};
    migration_config_default(&config.migration);
    return config;
}

struct core_world *core_new(void)
{
    struct core_world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    struct fleet_config config = core_config();
    struct err err = {0};
    w->now = (struct moment){1000, 1700000000000};
    w->fleet = fleet_new(&config, 7, &err);
    assert_non_null(w->fleet);
    w->source = CORE_RUNS;
    w->target = CORE_ABSENT;
    w->rest_bytes = 4 << 20;
    core_add_host(w, "h1");
    core_add_host(w, "h2");
    (void)core_add_guest(w, "g1", "h1", 64);
    return w;
}

void core_free(struct core_world *w)
{
    assert_null(w->fleet->broken); /* an internal error */
    fleet_free(w->fleet);
    effects_fini(&w->fx);
    free(w);
}

void core_create(struct core_world *w)
{
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.guest_name, "g1");
    TEXT_SET(input.of.create.request.requester, "tester");
    core_feed(w, &input);
    core_settle(w);
}

void core_cancel(struct core_world *w)
{
    struct input input = {.kind = INPUT_CANCEL};
    TEXT_SET(input.of.cancel.ns, "default");
    TEXT_SET(input.of.cancel.name, core_job(w)->name);
    TEXT_SET(input.of.cancel.requester, "tester");
    core_feed(w, &input);
    core_settle(w);
}

void core_sample(struct core_world *w)
{
    struct input input = {.kind = INPUT_SAMPLE};
    TEXT_SET(input.of.sample.job_uid, w->job);
    input.of.sample.stats.type = HV_JOB_UNBOUNDED;
    core_feed(w, &input);
    core_settle(w);
}

void core_returns(struct core_world *w, enum hv_call call, enum err_code code)
{
    struct input input = {.kind = INPUT_CALL, .of.call = call};
    input.id = call == HV_CALL_MIGRATE ? w->migrate_id : w->abort_id;
    TEXT_SET(input.guest, CORE_GUEST);
    if (code != ERR_NONE) {
        err_set(&input.err, code, "operation failed");
        input.err.hv_code = code == ERR_HYPERVISOR ? 9 : 38;
        input.err.hv_domain = code == ERR_HYPERVISOR ? 10 : 7;
    }
    core_feed(w, &input);
    core_settle(w);
}

void core_expect(struct core_world *w, enum phase phase, enum outcome outcome, enum guest_at at)
{
    struct job *job = core_job(w);
    assert_string_equal(phase_name(job->phase), phase_name(phase));
    assert_string_equal(outcome_name(job->result.outcome), outcome_name(outcome));
    if (phase_is_final(phase))
        assert_string_equal(guest_at_name(job->resolution.guest_at), guest_at_name(at));
}

/* Up to a migration whose memory moves. */
struct core_world *core_moving(void)
{
    struct core_world *w = core_new();
    core_create(w);
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_TARGET_READY, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    core_sample(w);
    core_expect(w, PHASE_RUNNING, OUTCOME_NONE, GUEST_AT_UNKNOWN);
    w->target = CORE_INCOMING;
    return w;
}

/* ---- more hosts and guests ---- */

void core_list(struct core_world *w, const char *host)
{
    struct hv_guest here[CORE_GUESTS];
    struct hv_guest_list list = {.guests = here};
    for (unsigned i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].host, host) == 0)
            here[list.n++] = w->guests[i].is;
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, host);
    core_feed(w, &input);
}

void core_add_host(struct core_world *w, const char *name)
{
    struct hv_host host = {.name = {0}};
    struct err err = {0};
    assert_true(w->n_hosts < CORE_HOSTS);
    struct core_host *one = &w->hosts[w->n_hosts++];
    TEXT_SET(one->name, name);
    one->comparison = 1;
    TEXT_SET(host.name, name);
    assert_true(fleet_add_node(w->fleet, &host, w->now.wall_ms, &err));
    fleet_node(w->fleet, name)->has_facts = true; /* without a size: there is always room */
    core_connect(w, name, true);
    core_list(w, name);
}

struct core_guest *core_add_guest(struct core_world *w, const char *name, const char *host,
                                  uint64_t mib)
{
    assert_true(w->n_guests < CORE_GUESTS);
    struct core_guest *guest = &w->guests[w->n_guests++];
    unsigned digit = w->n_guests % 10, rest = w->n_guests / 10;
    (void)snprintf(guest->is.uuid, sizeof guest->is.uuid, "%08u-%04u-4%03u-8%03u-%012llu",
                   digit * 11111111, digit * 1111, digit * 111, digit * 111,
                   (digit * 111111111111ULL + rest) % 1000000000000ULL);
    TEXT_SET(guest->is.name, name);
    TEXT_SET(guest->is.ns, "default");
    TEXT_SET(guest->host, host);
    guest->is.state = HV_STATE_RUNNING;
    guest->is.reason = HV_RUNNING_BOOTED;
    guest->is.memory_kib = mib * 1024;
    guest->is.vcpus = 1;
    core_list(w, host);
    return guest;
}

void core_add_guests(struct core_world *w, const char *host, unsigned from, unsigned to)
{
    for (unsigned i = from; i <= to; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "g%u", i);
        (void)core_add_guest(w, name, host, 64);
    }
}

void core_size(struct core_world *w, const char *host, uint64_t mib, unsigned cpus)
{
    struct input input = {.kind = INPUT_FACTS};
    TEXT_SET(input.host, host);
    TEXT_SET(input.of.facts.arch, "x86_64");
    input.of.facts.memory_kib = mib * 1024;
    input.of.facts.cpus = cpus;
    core_feed(w, &input);
}

void core_define(struct core_world *w, const char *guest)
{
    struct core_guest *is = core_guest(w, guest);
    struct input input = {.kind = INPUT_DEFINITION, .of.definition = &is->facts};
    TEXT_SET(input.host, is->host);
    TEXT_SET(input.guest, is->is.uuid);
    core_feed(w, &input);
}

void core_able(struct core_world *w, const char *host, struct hv_capabilities *take_capabilities)
{
    struct input input = {.kind = INPUT_CAPABILITIES, .of.capabilities = take_capabilities};
    TEXT_SET(input.host, host);
    core_feed(w, &input);
}

/* ---- requests ---- */

static bool asks(struct core_world *w, struct input *input, struct migration_ref *out_ref)
{
    w->err = (struct err){0};
    bool done = reconcile(w->fleet, input, w->now, &w->fx, out_ref, &w->err);
    assert_int_equal(done, w->err.code == ERR_NONE);
    return done;
}

struct job *core_ask(struct core_world *w, const char *guest, const struct core_request *with)
{
    static const struct core_request nothing;
    struct input input = {.kind = INPUT_CREATE};
    struct migration_request *request = &input.of.create.request;
    struct migration_ref ref = {{0}, {0}, {0}};
    if (with == NULL)
        with = &nothing;
    TEXT_SET(request->ns, with->ns != NULL ? with->ns : "default");
    TEXT_SET(request->guest_name, guest);
    TEXT_SET(request->requester, "tester");
    TEXT_SET(request->priority, with->priority != NULL ? with->priority : "");
    TEXT_SET(request->target, with->target != NULL ? with->target : "");
    TEXT_SET(request->name, with->name != NULL ? with->name : "");
    request->metadata_json = with->metadata;
    request->selector_json = with->selector;
    request->volumes_json = with->volumes;
    request->bandwidth_mibs = with->bandwidth_mibs;
    request->dry_run = with->dry_run;
    if (!asks(w, &input, &ref))
        return NULL;
    core_settle(w);
    return fleet_job(w->fleet, ref.uid);
}

static bool has_space(enum object_kind kind)
{
    return kind == OBJECT_QUOTA || kind == OBJECT_GUEST;
}

bool core_put(struct core_world *w, enum object_kind kind, const char *name, const char *spec)
{
    struct input input = {.kind = INPUT_PUT, .of.put.kind = kind, .of.put.spec_json = spec};
    struct migration_ref ref = {{0}, {0}, {0}};
    TEXT_SET(input.of.put.ns, has_space(kind) ? "default" : "");
    TEXT_SET(input.of.put.name, name);
    TEXT_SET(input.of.put.requester, "tester");
    if (!asks(w, &input, &ref))
        return false;
    core_settle(w);
    return true;
}

bool core_remove(struct core_world *w, enum object_kind kind, const char *name)
{
    struct input input = {.kind = INPUT_REMOVE, .of.remove.kind = kind};
    struct migration_ref ref = {{0}, {0}, {0}};
    TEXT_SET(input.of.remove.ns, has_space(kind) ? "default" : "");
    TEXT_SET(input.of.remove.name, name);
    TEXT_SET(input.of.remove.requester, "tester");
    if (!asks(w, &input, &ref))
        return false;
    core_settle(w);
    return true;
}

bool core_evict(struct core_world *w, const struct eviction_request *request)
{
    struct input input = {.kind = INPUT_EVICT, .of.evict = *request};
    struct migration_ref ref = {{0}, {0}, {0}};
    bool allowed = asks(w, &input, &ref);
    core_settle(w);
    return allowed;
}

/* ---- what became of it ---- */

struct job *core_job_of(struct core_world *w, const char *guest)
{
    const char *uuid = core_guest(w, guest)->is.uuid;
    struct job *job = fleet_active_job(w->fleet, uuid);
    if (job == NULL)
        job = fleet_newest_finished(w->fleet, uuid);
    if (job == NULL)
        fail_msg("%s has no job", guest);
    return job;
}

void core_phase(struct core_world *w, const char *guest, enum phase phase)
{
    const struct job *job = core_job_of(w, guest);
    if (job->phase != phase)
        fail_msg("%s is %s, not %s: waits for %s '%s', failed '%s'", guest, phase_name(job->phase),
                 phase_name(phase), pending_name(job->wait.pending), job->wait.reason,
                 job->result.failure_reason);
}

void core_waits(struct core_world *w, const char *guest, enum pending pending)
{
    const struct job *job = core_job_of(w, guest);
    if (job->wait.pending != pending)
        fail_msg("%s (%s) waits for '%s' (%s), not for '%s'", guest, phase_name(job->phase),
                 pending_name(job->wait.pending), job->wait.reason, pending_name(pending));
    assert_true(job->wait.since_ms > 0 && job->wait.since_ms <= w->now.wall_ms);
    assert_true(job->wait.until_ms > w->now.wall_ms);
    assert_true(job->wait.reason[0] != '\0');
}

void core_abort_asked(struct core_world *w, const char *guest)
{
    TEXT_SET(w->job, core_job_of(w, guest)->uid);
    core_cancel(w);
}

static void returns(struct core_world *w, const char *name, enum err_code code)
{
    struct core_guest *guest = core_guest(w, name);
    struct input input = {.kind = INPUT_CALL, .of.call = HV_CALL_MIGRATE, .id = guest->migrate_id};
    assert_true(guest->migrate_id != 0);
    guest->migrate_id = 0;
    TEXT_SET(input.guest, guest->is.uuid);
    if (code != ERR_NONE)
        err_set(&input.err, code, "operation failed");
    core_feed(w, &input);
    core_advance(w, 100);
}

void core_fails(struct core_world *w, const char *guest)
{
    returns(w, guest, ERR_HYPERVISOR);
    core_phase(w, guest, PHASE_FAILED);
}

void core_arrives(struct core_world *w, const char *guest)
{
    struct core_guest *is = core_guest(w, guest);
    TEXT_SET(is->host, core_job_of(w, guest)->target);
    is->is.reason = HV_RUNNING_MIGRATED;
    returns(w, guest, ERR_NONE);
    core_phase(w, guest, PHASE_SUCCEEDED);
}

unsigned core_count_events(const struct core_world *w, const char *reason, const char *text)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++) {
        const struct effect *effect = &w->fx.list[i];
        if (effect->kind == EFFECT_EVENT && strcmp(effect->of.event.reason, reason) == 0 &&
            (text == NULL || strstr(effect->of.event.message, text) != NULL))
            n++;
    }
    return n;
}

void core_ledger(struct core_world *w)
{
    char text[512];
    if (!ledger_check(w->fleet, text, sizeof text))
        fail_msg("%s", text);
}

void core_clean(struct core_world *w)
{
    core_ledger(w);
    assert_int_equal(w->fleet->busy_jobs, 0);
    for (const struct node *node = w->fleet->nodes; node != NULL; node = node->hh.next) {
        assert_int_equal(node->reserved.memory_kib + node->reserved.vcpus, 0);
        assert_int_equal(node->reserved.launchers + node->reserved_huge_kib, 0);
        assert_int_equal(node->in_bandwidth + node->out_bandwidth, 0);
        assert_int_equal(node->inbound + node->outbound, 0);
    }
    for (const struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        assert_false(job->placement.reserved);
}
