/* fleet_sim.c - see fleet_sim.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "tests/sim/fleet_sim.h"

static const int64_t EPOCH_MS = 1700000000000;

static void on_finished(void *ctx, const struct snapshot_job *job)
{
    struct fleet_sim *fs = ctx;
    fs->finished[job->result.outcome]++;
    if (fs->on_finished != NULL)
        fs->on_finished(fs, job);
}

static void on_crashed(void *ctx, const char *job_uid)
{
    struct fleet_sim *fs = ctx;
    if (fs->on_crashed != NULL)
        fs->on_crashed(fs, job_uid);
}

static void on_judged(void *ctx, const struct verdict_rows *verdict_rows)
{
    struct fleet_sim *fs = ctx;
    if (fs->on_judged != NULL)
        fs->on_judged(fs, verdict_rows);
}

static void on_step(void *ctx, const struct snapshot_job *job, enum phase from, enum trigger why,
                    int64_t spent_ms)
{
    struct fleet_sim *fs = ctx;
    (void)from, (void)why, (void)spent_ms;
    TEXT_SET(fs->last_name, job->name);
}

static void on_snapshot(void *ctx, const struct snapshot *snapshot)
{
    struct fleet_sim *fs = ctx;
    snapshot_unref(fs->snapshot);
    fs->snapshot = snapshot_ref(snapshot);
    if (fs->on_snapshot != NULL)
        fs->on_snapshot(fs, snapshot);
}

static bool spy_submit(void *impl, const struct hv_request *request, struct err *err)
{
    struct fleet_sim_life *life = impl;
    struct fleet_sim *fs = life->fs;
    fs->speaking = (unsigned)(life - fs->lives);
    if (fs->on_submit != NULL && !fs->on_submit(fs, request))
        return true;
    struct hv *hv = sim_hv(fs->sim);
    return hv->ops->submit(hv->impl, request, err);
}
static bool spy_lane_status(void *impl, const char *host, enum hv_lane lane,
                            struct hv_lane_status *out_status)
{
    return hv_lane_status(sim_hv(((struct fleet_sim_life *)impl)->fs->sim), host, lane, out_status);
}
static void spy_free(void *impl)
{
    (void)impl;
}
static const struct hv_ops spy_ops = {spy_submit, spy_lane_status, spy_free};

uint64_t fleet_sim_dice(struct fleet_sim *fs, uint64_t sides)
{
    fs->random ^= fs->random << 13;
    fs->random ^= fs->random >> 7;
    fs->random ^= fs->random << 17;
    return fs->random % sides;
}

void fleet_sim_uuid(size_t guest, char out_uuid[static HV_UUID_MAX])
{
    (void)snprintf(out_uuid, HV_UUID_MAX, "00000000-0000-4000-8000-%012zu", guest % 1000000000000);
}

static void forward_event(void *ctx, const struct hv_event *event)
{
    struct fleet_sim *fs = ctx;
    for (size_t i = 0; i < fs->n_hosts; i++)
        if (event->kind <= HV_EVENT_DISCONNECTED && strcmp(fs->hosts[i].name, event->host) == 0)
            fs->connected[i] = event->kind == HV_EVENT_CONNECTED;
    for (unsigned i = 0; i < fs->n_lives; i++) {
        if (fs->lives[i].is_gone)
            continue;
        struct hv_event_sink sink = collector_event_sink(fs->lives[i].collector);
        sink.on_event(sink.ctx, event);
    }
}

/* The collector comes first but needs the engine's sink: it gets this relay. */
static struct collector_sink relay_sink(struct fleet_sim_life *life);

static int64_t shifted_mono_ms(void *ctx)
{
    return clock_mono_ms(sim_clock(((struct fleet_sim *)ctx)->sim));
}
static int64_t shifted_wall_ms(void *ctx)
{
    const struct fleet_sim *fs = ctx;
    return clock_wall_ms(sim_clock(fs->sim)) + fs->wall_shift_ms;
}

static void start_life(struct fleet_sim *fs)
{
    struct err err = {0};
    assert_true(fs->n_lives < FLEET_SIM_LIVES_MAX);
    struct fleet_sim_life *life = &fs->lives[fs->n_lives];
    *life = (struct fleet_sim_life){.fs = fs, .store = fs->store, .spy = {&spy_ops, life}};
    life->observe.hv = life->probe.hv = life->act.hv = &life->spy;
    if (fs->equip != NULL)
        fs->equip(fs, life);
    fs->engine_config.cells = fs->cells;
    fs->clock = (struct clock){shifted_mono_ms, shifted_wall_ms, fs};
    const struct clock *clock = &fs->clock;
    struct collector_sink sink = relay_sink(life);
    life->recorder = recorder_new(life->store, &err);
    assert_non_null(life->recorder);
    life->collector = collector_new(&fs->collector_config, clock, life->recorder, &sink, &err);
    assert_non_null(life->collector);
    collector_attach(life->collector, &life->observe);
    for (size_t i = 0; i < fs->n_hosts; i++)
        assert_true(collector_add_host(life->collector, fs->hosts[i].name, &err));
    struct engine_parts parts = {.clock = clock,
                                 .store = life->store,
                                 .collector = life->collector,
                                 .observe = &life->observe,
                                 .probe = &life->probe,
                                 .act = &life->act,
                                 .permit = life->permit,
                                 .sink = {.ctx = fs,
                                          .on_snapshot = fs->wants_snapshots ? on_snapshot : NULL,
                                          .on_step = on_step,
                                          .on_finished = on_finished,
                                          .on_crashed = on_crashed,
                                          .on_judged = on_judged},
                                 .seed = fs->seed + fs->n_lives + 1,
                                 .commit_patience_ms = fs->commit_patience_ms};
    life->engine = engine_new(&fs->engine_config, &parts, &err);
    if (life->engine == NULL)
        fail_msg("engine: %s", err.text);
    fs->n_lives++;
}

/* A new process connects anew; hosts that can be reached say so. */
static void tell_connected(struct fleet_sim *fs)
{
    struct hv_event_sink sink = collector_event_sink(fs->lives[fs->n_lives - 1].collector);
    for (size_t i = 0; i < fs->n_hosts; i++) {
        struct hv_event event = {.kind = HV_EVENT_CONNECTED, .at_ms = fleet_sim_now(fs)};
        TEXT_SET(event.host, fs->hosts[i].name);
        if (fs->connected[i])
            sink.on_event(sink.ctx, &event);
    }
}

void fleet_sim_open(struct fleet_sim *fs, uint64_t seed, size_t n_hosts)
{
    struct err err = {0};
    log_setup(getenv("SIM_LOG") != NULL ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, LOG_FORMAT_TEXT,
              2); /* the stories are in the laws, not the log */
    fs->seed = seed;
    fs->random = seed * 2654435769u + 1;
    fs->sim = sim_new(seed, EPOCH_MS, &(struct hv_event_sink){forward_event, fs}, &err);
    assert_non_null(fs->sim);
    fs->store = store_sqlite_open(NULL, &err);
    assert_non_null(fs->store);
    fs->hosts = calloc(n_hosts, sizeof *fs->hosts);
    fs->connected = calloc(n_hosts, sizeof *fs->connected);
    assert_true(fs->hosts != NULL && fs->connected != NULL);
    fs->n_hosts = n_hosts;
    migration_config_default(&fs->engine_config.migration);
}

void fleet_sim_host(struct fleet_sim *fs, size_t i, struct sim_host *host)
{
    struct err err = {0};
    (void)snprintf(host->name, sizeof host->name, "h%zu", i);
    TEXT_SET(fs->hosts[i].name, host->name);
    fs->hosts[i].observe = fs->observes;
    TEXT_SET(fs->hosts[i].migration_host, "192.0.2.1"); /* an address: ports can be chosen */
    if (host->libvirt_version == 0 && i % 3 == 1)
        host->libvirt_version = 11003000; /* ends when it is asked to resume a post-copy */
    TEXT_SET(fs->hosts[i].helper, host->helper ? "simulated" : "");
    assert_true(sim_add_host(fs->sim, host, &err));
}

void fleet_sim_start(struct fleet_sim *fs)
{
    fs->engine_config.hosts = fs->hosts;
    fs->engine_config.n_hosts = fs->n_hosts;
    start_life(fs);
}

void fleet_sim_init(struct fleet_sim *fs, uint64_t seed, size_t n_hosts, size_t n_guests,
                    uint64_t guest_bytes)
{
    struct err err = {0};
    fleet_sim_open(fs, seed, n_hosts);
    for (size_t i = 0; i < n_hosts; i++)
        fleet_sim_host(
            fs, i,
            &(struct sim_host){.memory_kib = 512ULL << 20, .cpus = 64, .link_bps = 1250000000});
    for (size_t i = 0; i < n_guests; i++) {
        struct sim_guest guest = {.memory_bytes = guest_bytes,
                                  .working_set_bytes = guest_bytes / 16,
                                  .dirty_bps = (1 + fleet_sim_dice(fs, 64)) << 20,
                                  .vcpus = 2,
                                  .persistent = fleet_sim_dice(fs, 2) == 0};
        (void)snprintf(guest.name, sizeof guest.name, "g%zu", i);
        fleet_sim_uuid(i, guest.uuid);
        TEXT_SET(guest.ns, "default");
        assert_true(sim_add_guest(fs->sim, fs->hosts[i % n_hosts].name, &guest, &err));
    }
    fleet_sim_start(fs);
}

void fleet_sim_fini(struct fleet_sim *fs)
{
    uint64_t internal_errors = 0;
    for (unsigned i = fs->n_lives; i-- > 0;) {
        struct engine_stats stats;
        engine_stats(fs->lives[i].engine, &stats);
        internal_errors += stats.internal_errors;
        engine_free(fs->lives[i].engine);
        collector_free(fs->lives[i].collector);
        recorder_free(fs->lives[i].recorder);
        if (fs->lives[i].store != fs->store)
            store_free(fs->lives[i].store);
    }
    snapshot_unref(fs->snapshot);
    assert_int_equal(sim_daemons_ended(fs->sim), 0);
    sim_free(fs->sim);
    store_free(fs->store);
    free(fs->hosts);
    free(fs->connected);
    assert_int_equal(internal_errors, fs->internal_errors);
}

struct engine *fleet_sim_engine(struct fleet_sim *fs)
{
    return fs->lives[fs->n_lives - 1].engine;
}

int64_t fleet_sim_now(struct fleet_sim *fs)
{
    return clock_mono_ms(sim_clock(fs->sim));
}

void fleet_sim_crash(struct fleet_sim *fs)
{
    fs->lives[fs->n_lives - 1].is_gone = true;
    fleet_sim_join(fs);
}

void fleet_sim_join(struct fleet_sim *fs)
{
    start_life(fs);
    tell_connected(fs);
}

/* Everybody who lives and is not stopped; the shortest wait. */
static int64_t step_all(struct fleet_sim *fs)
{
    int64_t wait_ms = 1000;
    unsigned lives = fs->n_lives;
    for (unsigned i = 0; i < lives; i++) {
        struct fleet_sim_life *life = &fs->lives[i];
        if (life->is_gone || fleet_sim_now(fs) < life->stopped_until_ms)
            continue;
        fs->speaking = i;
        int64_t a = collector_step(life->collector), b = engine_step(life->engine);
        wait_ms = a < wait_ms ? a : wait_ms;
        wait_ms = b < wait_ms ? b : wait_ms;
    }
    return wait_ms;
}

void fleet_sim_run(struct fleet_sim *fs, int64_t until_ms)
{
    for (;;) {
        int64_t now_ms = fleet_sim_now(fs);
        int64_t wait_ms = 0;
        for (int i = 0; i < 1000 && wait_ms == 0; i++) { /* until both have nothing to do now */
            wait_ms = step_all(fs);
            unsigned lives = fs->n_lives;
            if (fs->between != NULL)
                fs->between(fs);
            if (fs->n_lives != lives)
                wait_ms = 0; /* a new one has much to do */
        }
        int64_t next_ms = now_ms + (wait_ms > 0 ? wait_ms : 1);
        if (sim_next_ms(fs->sim) < next_ms)
            next_ms = sim_next_ms(fs->sim);
        if (now_ms >= until_ms)
            return;
        sim_advance(fs->sim, next_ms < until_ms ? next_ms : until_ms);
    }
}

void fleet_sim_migrate(struct fleet_sim *fs, size_t guest, size_t target)
{
    struct migration_request request = {.ns = "default", .requester = "sim"};
    (void)snprintf(request.guest_name, sizeof request.guest_name, "g%zu", guest);
    (void)snprintf(request.target, sizeof request.target, "h%zu", target);
    struct err err = {0};
    assert_true(engine_post_create(fleet_sim_engine(fs), &request, &err));
}

static void relay_sample(void *ctx, const struct sample *sample)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    to.on_sample(to.ctx, sample);
}
static void relay_host(void *ctx, const char *host, bool connected, const struct err *err)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    to.on_host(to.ctx, host, connected, err);
}
static void relay_facts(void *ctx, const char *host, const struct hv_facts *facts)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    to.on_facts(to.ctx, host, facts);
}
static void relay_guests(void *ctx, const char *host, const struct hv_guest_list *guests)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    to.on_guests(to.ctx, host, guests);
}
static void relay_event(void *ctx, const struct hv_event *event)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    to.on_event(to.ctx, event);
}
static void forward_query(void *ctx, uint64_t id, const char *host, const char *guest,
                          const struct hv_observation *observation, const struct err *err)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    to.on_observed(to.ctx, id, host, guest, observation, err);
}
static bool relay_definition(void *ctx, const char *host, const char *guest, const char *xml,
                             const char *stored_xml, int snapshots)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    return to.on_definition(to.ctx, host, guest, xml, stored_xml, snapshots);
}
static bool relay_capabilities(void *ctx, const char *host,
                               struct hv_capabilities *take_capabilities)
{
    struct collector_sink to = engine_collector_sink(((struct fleet_sim_life *)ctx)->engine);
    return to.on_capabilities(to.ctx, host, take_capabilities);
}
static struct collector_sink relay_sink(struct fleet_sim_life *life)
{
    return (struct collector_sink){life,          relay_sample,     relay_host,
                                   relay_facts,   relay_guests,     relay_event,
                                   forward_query, relay_definition, relay_capabilities};
}
