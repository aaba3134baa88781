/* wild_fleet.c - see wild_fleet.h: the fleet, its crashes and its whole life. */
#include "tests/sim/wild_fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

enum {
    ACTS_MIN = 40,
    ACTS_MORE = 80,
    SMALL_SEEDS = 40, /* the first ones, for a quick look: a small fleet, a short life */
    SMALL_HOSTS = 5,
    SMALL_GUESTS = 16,
    PAUSE_MAX_MS = 4000,
    REST_MS = 9000 * 1000, /* after the last act: every wait but those for places has ended */
    NAP_MS = 600 * 1000,   /* at least; then until nothing is left to wait for */
};

uint64_t wild_dice(struct wild_fleet *w, uint64_t sides)
{
    return fleet_sim_dice(&w->fs, sides);
}

bool wild_chance(struct wild_fleet *w, unsigned percent)
{
    return wild_dice(w, 100) < percent;
}

static struct wild_fleet *wild_of(struct fleet_sim *fs)
{
    return fs->ctx;
}

/* ---- crashes ---- */

static struct wild_fleet *wild_of_store(struct store *store)
{
    return (struct wild_fleet *)((char *)(uintptr_t)store->ops - offsetof(struct wild_fleet, ops));
}

static bool commit(struct store *store, struct err *err)
{
    struct wild_fleet *w = wild_of_store(store);
    if (fleet_sim_now(&w->fs) < w->fails_until_ms || w->crash == CRASH_BEFORE_COMMIT || w->dying) {
        w->dying = w->dying || w->crash == CRASH_BEFORE_COMMIT;
        w->real->rollback(store);
        return err_set(err, ERR_FULL, "the disk is full, says the test");
    }
    bool done = w->ways.commit != NULL ? w->ways.commit(w->ways.ctx, store, err)
                                       : w->real->commit(store, err);
    if (w->crash == CRASH_AFTER_COMMIT)
        w->dying = true;
    return done;
}

static void die(struct wild_fleet *w)
{
    w->crash = CRASH_NONE;
    w->dying = false;
    w->crash_in = 0;
    if (w->fs.n_lives >= FLEET_SIM_LIVES_MAX)
        return;
    lawbook_crashed(w->book);
    if (w->reader.crashed != NULL)
        w->reader.crashed(w->reader.ctx);
    if (w->ways.died != NULL)
        w->ways.died(w->ways.ctx);
    else
        fleet_sim_crash(&w->fs);
}

static bool on_submit(struct fleet_sim *fs, const struct hv_request *request)
{
    struct wild_fleet *w = wild_of(fs);
    bool is_order = request->call == HV_CALL_MIGRATE || request->call == HV_CALL_ABORT ||
                    request->call == HV_CALL_SHUTDOWN || request->call == HV_CALL_YANK ||
                    request->call == HV_CALL_DROP_COPY || request->call == HV_CALL_KILL_STREAM;
    if (w->crash == CRASH_AFTER_ORDERS && is_order && w->orders_left-- == 0)
        w->dying = true;
    if (w->dying || (w->ways.order != NULL && !w->ways.order(w->ways.ctx, request)))
        return false;
    lawbook_order(w->book, request);
    return true;
}

static void between(struct fleet_sim *fs)
{
    struct wild_fleet *w = wild_of(fs);
    if (w->dying || (w->crash_in > 0 && --w->crash_in == 0))
        die(w);
    if (w->ways.turn != NULL)
        w->ways.turn(w->ways.ctx);
}

static void on_snapshot(struct fleet_sim *fs, const struct snapshot *snapshot)
{
    struct wild_fleet *w = wild_of(fs);
    if (w->dying || fs->speaking + 1 != fs->n_lives) /* or of a former holder */
        return;
    lawbook_see(w->book, snapshot);
    if (w->reader.see != NULL)
        w->reader.see(w->reader.ctx, snapshot);
}

/* ---- the fleet ---- */

static void make_host(struct wild_fleet *w, size_t i, unsigned tight)
{
    static char in_a[] = "{\"zone\":\"a\"}", b_ssd[] = "{\"zone\":\"b\",\"disk\":\"ssd\"}",
                a_ssd[] = "{\"zone\":\"a\",\"disk\":\"ssd\"}",
                taints[] = "[{\"key\":\"gpu\",\"value\":\"yes\",\"effect\":\"NoSchedule\"}]";
    static char *const labels[] = {in_a, b_ssd, a_ssd, NULL};
    struct sim_host *host = &w->hosts[i];
    host->memory_kib = (tight + wild_dice(w, 16)) << 20; /* GiB */
    host->cpus = (unsigned)(8 + wild_dice(w, 24));
    host->link_bps = UINT64_C(100000000) << wild_dice(w, 4);
    host->hugepages = wild_chance(w, 50) ? 4096 : 0;
    host->other_cpu = wild_chance(w, 8);
    host->helper = wild_chance(w, 40);
    host->keepalive_ms = wild_chance(w, 50) ? 6000 : 0;
    if (wild_chance(w, 10))
        TEXT_SET(host->lacks_network, "prod");
    if (wild_chance(w, 10))
        TEXT_SET(host->lacks_bridge, "br1");
    if (wild_chance(w, 10))
        TEXT_SET(host->lacks_pool, "shared");
    if (wild_chance(w, 10))
        TEXT_SET(host->lacks_machine, "pc-q35-7.2");
    w->host_settings[i].labels = labels[wild_dice(w, COUNT(labels))];
    if (wild_chance(w, 10))
        w->host_settings[i].taints = taints;
    w->host_settings[i].cordoned = wild_chance(w, 5);
    fleet_sim_host(&w->fs, i, host);
}

static void make_settings(struct wild_fleet *w, struct sim_guest *guest)
{
    static const char *const strategies[] = {"None", "LiveMigrate", "LiveMigrateIfPossible",
                                             "External"};
    char strategy[80] = "", selector[64] = "", tolerations[96] = "", affinity[224] = "";
    if (wild_chance(w, 75))
        (void)snprintf(strategy, sizeof strategy, "\"evictionStrategy\":\"%s\",",
                       strategies[wild_dice(w, COUNT(strategies))]);
    if (wild_chance(w, 12))
        (void)snprintf(selector, sizeof selector, "\"nodeSelector\":{\"zone\":\"%c\"},",
                       wild_chance(w, 50) ? 'a' : 'b');
    if (wild_chance(w, 20))
        (void)snprintf(tolerations, sizeof tolerations,
                       "\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}],");
    if (wild_chance(w, 8))
        (void)snprintf(affinity, sizeof affinity,
                       "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringScheduling"
                       "IgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":{\"app\":"
                       "\"%c\"}},\"topologyKey\":\"kubernetes.io/hostname\"}]}},",
                       (char)('w' + (int)wild_dice(w, 4)));
    int n = snprintf(guest->settings, sizeof guest->settings, "{%s%s%s%s", strategy, selector,
                     tolerations, affinity);
    if (n > 1)
        guest->settings[n - 1] = '}';
    else
        guest->settings[0] = '\0';
    (void)snprintf(guest->labels, sizeof guest->labels, "{\"app\":\"%c\",\"tier\":\"t%llu\"}",
                   (char)('w' + (int)wild_dice(w, 4)), (unsigned long long)wild_dice(w, 3));
}

static void make_guest(struct wild_fleet *w, size_t i)
{
    static const char *const namespaces[] = {"default", "prod", "dev"};
    struct sim_guest *guest = &w->guests[i];
    guest->memory_bytes = (1 + wild_dice(w, 6)) << 30;
    guest->working_set_bytes = guest->memory_bytes / (8 + wild_dice(w, 56));
    guest->dirty_bps = (1 + wild_dice(w, 64)) << 16; /* slow enough for the slowest move */
    if (wild_chance(w, 40)) { /* or too fast for any: post-copy, a hard switch, an abort */
        guest->memory_bytes = UINT64_C(1) << 30;
        guest->working_set_bytes = guest->memory_bytes / (2 + wild_dice(w, 3));
        guest->dirty_bps = (200 + wild_dice(w, 1000)) << 20;
    }
    guest->vcpus = (unsigned)(1 + wild_dice(w, 4));
    guest->persistent = wild_chance(w, 50);
    guest->paused = wild_chance(w, 4);
    guest->local_disk = wild_chance(w, 12);
    guest->disk_bytes = guest->local_disk ? (1 + wild_dice(w, 8)) << 28 : 0;
    guest->host_device = wild_chance(w, 4);
    guest->shared_disk = wild_chance(w, 30);
    guest->utility_disk = wild_chance(w, 2);
    guest->block_job = guest->shared_disk && wild_chance(w, 10);
    guest->hugepage_kib = wild_chance(w, 6) ? 2048 : 0;
    if (wild_chance(w, 15))
        TEXT_SET(guest->network, wild_chance(w, 50) ? "default" : "prod");
    if (wild_chance(w, 15))
        TEXT_SET(guest->bridge, wild_chance(w, 50) ? "br0" : "br1");
    if (wild_chance(w, 10))
        TEXT_SET(guest->machine, "pc-q35-7.2");
    (void)snprintf(guest->name, sizeof guest->name, "g%zu", i);
    fleet_sim_uuid(i, guest->uuid);
    TEXT_SET(guest->ns, namespaces[wild_dice(w, COUNT(namespaces))]);
    make_settings(w, guest);
}

static void place_guest(struct wild_fleet *w, size_t i)
{
    struct sim_guest *guest = &w->guests[i];
    struct err err = {0};
    make_guest(w, i);
    for (size_t tries = 0; tries < w->fs.n_hosts; tries++) /* a host that is full refuses */
        if (sim_add_guest(w->fs.sim, w->fs.hosts[wild_dice(w, w->fs.n_hosts)].name, guest, &err)) {
            lawbook_guest(w->book, guest->uuid, guest->ns, guest->name, guest->memory_bytes >> 10,
                          guest->vcpus);
            if (guest->persistent)
                lawbook_is_defined(w->book, guest->uuid);
            return;
        }
}

static void make_rules(struct wild_fleet *w)
{
    struct engine_config *config = &w->fs.engine_config;
    config->parallel_per_fleet = (unsigned)wild_dice(w, 7);
    config->parallel_outbound_per_node = (unsigned)wild_dice(w, 4);
    config->parallel_inbound_per_node = (unsigned)wild_dice(w, 4);
    config->bandwidth_per_node = wild_chance(w, 30) ? (50 + wild_dice(w, 200)) << 20 : 0;
    config->vcpus_per_cpu = (unsigned)wild_dice(w, 3);
    config->memory_overcommit_percent = wild_chance(w, 20) ? 120 : 0;
    config->eviction_strategy = (enum strategy)wild_dice(w, STRATEGY_COUNT);
    if (wild_chance(w, 30))
        config->migration.bandwidth = (int64_t)(16 + wild_dice(w, 100)) << 20;
    config->migration.post_copy = wild_chance(w, 50);
    config->migration.disruption = wild_chance(w, 30);
    if (wild_chance(w, 50))
        config->migration.completion_timeout = (int64_t)(4 + wild_dice(w, 20));
    if (wild_chance(w, 50)) /* long enough for something to happen in it */
        config->migration.post_copy_bandwidth = (int64_t)(8 + wild_dice(w, 40)) << 20;
    config->host_settings = w->host_settings;
    w->fs.collector_config.sample_ms = 1000; /* fewer pictures of the same move */
    w->fs.collector_config.inventory_ms = 20000;
}

static const char *host_of(void *ctx, const char *uuid)
{
    return sim_guest_host(ctx, uuid);
}
static uint64_t violations(void *ctx)
{
    return sim_violations(ctx);
}
static bool is_defined(void *ctx, const char *uuid)
{
    return sim_guest_persistent(ctx, uuid);
}

static void make_fleet(struct wild_fleet *w)
{
    struct engine_config *config = &w->fs.engine_config;
    make_rules(w);
    struct lawbook_rules rules = {
        .fleet = config->parallel_per_fleet,
        .outbound = config->parallel_outbound_per_node,
        .inbound = config->parallel_inbound_per_node,
        .bandwidth = config->bandwidth_per_node,
        .overcommit = config->memory_overcommit_percent,
        .vcpus_per_cpu = config->vcpus_per_cpu,
    };
    w->book = lawbook_new(&rules,
                          &(struct lawbook_world){w->fs.sim, host_of, violations, is_defined,
                                                  snapshot_ref, snapshot_unref},
                          w->fs.store);
    unsigned tight = wild_chance(w, 50) ? 12 : 32;
    for (size_t i = 0; i < w->fs.n_hosts; i++)
        make_host(w, i, tight);
    w->n_guests = 10 + wild_dice(w, (w->small ? SMALL_GUESTS : WILD_GUESTS_MAX) - 9);
    for (size_t i = 0; i < w->n_guests; i++)
        place_guest(w, i);
}

/* ---- a life ---- */

static bool all_is_quiet(const struct snapshot *now)
{
    for (size_t i = 0; now != NULL && i < now->n_jobs; i++)
        if (!phase_is_final(now->jobs[i]->phase))
            return false;
    for (size_t i = 0; now != NULL && i < now->n_nodes; i++)
        if (now->nodes[i].drain[0] != '\0')
            return false;
    return now != NULL;
}

static void rest(struct wild_fleet *w, int64_t from_ms)
{
    const char *text;
    int64_t until_ms = from_ms;
    do {
        until_ms += NAP_MS;
        fleet_sim_run(&w->fs, until_ms);
    } while (until_ms < from_ms + REST_MS && !all_is_quiet(w->fs.snapshot) &&
             lawbook_verdict(w->book, &text) == LAW_NONE);
}

static void live(struct wild_fleet *w)
{
    const char *text;
    unsigned acts = ACTS_MIN + (w->small ? 0 : (unsigned)wild_dice(w, ACTS_MORE));
    int64_t now_ms = 2000;
    for (unsigned i = 0; i < acts && lawbook_verdict(w->book, &text) == LAW_NONE; i++) {
        fleet_sim_run(&w->fs, now_ms);
        wild_fleet_act(w);
        if (!wild_chance(w, 30)) /* else at once: bursts */
            now_ms += (int64_t)wild_dice(w, PAUSE_MAX_MS);
    }
    w->crash = CRASH_NONE;
    w->crash_in = 0;
    w->resting = true;
    if (lawbook_verdict(w->book, &text) == LAW_NONE)
        rest(w, now_ms);
    int64_t rested_ms = fleet_sim_now(&w->fs) - now_ms;
    lawbook_close(w->book, clock_wall_ms(sim_clock(w->fs.sim)) - rested_ms + 1500 * 1000);
}

struct wild_fleet *wild_fleet_run(uint64_t seed)
{
    return wild_fleet_run_seen(seed, &(const struct wild_reader){0});
}

static struct wild_fleet *run(uint64_t seed, const struct wild_reader *reader,
                              const struct wild_ways *ways)
{
    struct wild_fleet *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->reader = *reader;
    w->ways = *ways;
    w->fs.ctx = w;
    w->fs.wants_snapshots = true;
    w->fs.on_snapshot = on_snapshot;
    w->fs.on_submit = on_submit;
    w->fs.between = between;
    w->traces = getenv("LAWS_TRACE") != NULL;
    w->fs.random = seed * 2654435769u + 1;
    w->small = seed <= SMALL_SEEDS;
    fleet_sim_open(&w->fs, seed, 3 + wild_dice(w, (w->small ? SMALL_HOSTS : WILD_HOSTS_MAX) - 2));
    if (getenv("SIM_LOG") == NULL)
        log_setup(LOG_LEVEL_COUNT, LOG_FORMAT_TEXT, 2); /* failing commits are meant */
    make_fleet(w);
    w->real = w->fs.store->ops;
    w->ops = *w->real;
    w->ops.commit = commit;
    w->fs.store->ops = &w->ops;
    if (w->ways.begin != NULL)
        w->ways.begin(w->ways.ctx, w);
    fleet_sim_start(&w->fs);
    live(w);
    return w;
}

struct wild_fleet *wild_fleet_run_seen(uint64_t seed, const struct wild_reader *reader)
{
    return run(seed, reader, &(const struct wild_ways){0});
}

struct wild_fleet *wild_fleet_run_so(uint64_t seed, const struct wild_ways *ways)
{
    return run(seed, &(const struct wild_reader){0}, ways);
}

uint64_t wild_fleet_hash(struct wild_fleet *w)
{
    uint64_t hash = lawbook_digest(w->book) * 31 + sim_hash(w->fs.sim);
    return hash * 31 + engine_hash(fleet_sim_engine(&w->fs));
}

void wild_fleet_free(struct wild_fleet *w)
{
    if (w->ways.end != NULL)
        w->ways.end(w->ways.ctx);
    w->fs.store->ops = w->real;
    lawbook_free(w->book);
    fleet_sim_fini(&w->fs);
    free(w);
}
