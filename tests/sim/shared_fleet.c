/* shared_fleet.c - see shared_fleet.h. */
#include "tests/sim/shared_fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/lease.h"
#include "engine/model/fleet/fleet.h"
#include "store/sqlite/impl.h"

enum {
    POLL_MS = 2000,
    STOPS_MAX_MS = 40 * 1000,
    CUT_MAX_MS = 40 * 1000,
    SKEW_MS = 60 * 1000,
    LIVES_SPARE = 4, /* of FLEET_SIM_LIVES_MAX: then nobody is stopped any more */
    ORDERED_MAX = 64,
};
static const struct lease_times times = {.ttl_ms = 10000, .call_limit_ms = 10000};

struct holder { /* of the life of the same number */
    struct lease lease;
    int64_t cut_until_ms; /* from the database */
    int64_t skew_ms;      /* of its wall clock */
};

struct ordered { /* the newest epoch that ordered something for a guest at a host */
    char guest[HV_UUID_MAX], host[HV_HOST_MAX];
    int64_t epoch;
};

struct shared_fleet {
    struct wild_fleet *w;
    enum shared_plant plant;
    struct shared_counts counts;
    char name[64];
    struct holder holders[FLEET_SIM_LIVES_MAX];
    struct lease next; /* taken by a standby that may not order yet; epoch 0: none */
    struct fleet_cells cells;
    int64_t next_act_ms, polled_ms;
    uint64_t pace_ms;      /* between two acts, at most */
    int64_t true_until_ms; /* of the present lease, by the primary's clock, as the law counts it */
    int64_t primary_skew_ms;
    int64_t newest_commit; /* epoch */
    struct ordered ordered[ORDERED_MAX * 8];
    size_t n_ordered;
    int64_t asking_skew_ms; /* of who asks now */
    struct clock clock;
    sqlite3 *standby; /* what an asynchronous standby has */
    unsigned behind;  /* commits that it lacks */
};

static struct fleet_sim *sim_of(struct shared_fleet *s)
{
    return &s->w->fs;
}
static int64_t now_ms(struct shared_fleet *s)
{
    return fleet_sim_now(sim_of(s));
}
static uint64_t dice(struct shared_fleet *s, uint64_t sides)
{
    return wild_dice(s->w, sides);
}
static struct fleet_sim_life *life_at(struct shared_fleet *s, unsigned i)
{
    return &sim_of(s)->lives[i];
}
static struct store *database(struct shared_fleet *s)
{
    return sim_of(s)->store;
}
static sqlite3 *primary(struct shared_fleet *s)
{
    return store_sqlite_of(database(s))->lanes[LANE_OBJECTS].db;
}

/* The clock of the machine that is the database's primary. */
static int64_t primary_ms(const struct shared_fleet *s)
{
    return clock_wall_ms(sim_clock(s->w->fs.sim)) + s->primary_skew_ms;
}

/* Planted: that of whoever asks. */
static int64_t database_ms(void *ctx)
{
    struct shared_fleet *s = ctx;
    return primary_ms(s) + (s->plant == PLANT_HOST_CLOCK ? s->asking_skew_ms : 0);
}

/* ---- lives ---- */

static bool permit(void *ctx, struct err *err)
{
    struct fleet_sim_life *life = ctx;
    struct shared_fleet *s = ((struct wild_fleet *)life->fs->ctx)->ways.ctx;
    const struct holder *holder = &s->holders[life - life->fs->lives];
    if (s->plant == PLANT_NO_PERMIT || lease_may_order(&holder->lease, &times, now_ms(s)))
        return true;
    s->counts.withheld++;
    return err_set(err, ERR_REFUSED, "too little of the lease is left");
}

/* Whoever begins has the lease that was taken for it. */
static void equip(struct fleet_sim *fs, struct fleet_sim_life *life)
{
    struct shared_fleet *s = ((struct wild_fleet *)fs->ctx)->ways.ctx;
    struct err err = {0};
    struct store_fence fence = {.n = 1};
    struct holder *holder = &s->holders[life - fs->lives];
    *holder = (struct holder){.lease = s->next, .skew_ms = (int64_t)dice(s, SKEW_MS)};
    TEXT_SET(fence.list[0].cell, "default");
    fence.list[0].epoch = s->next.epoch;
    life->store = store_sqlite_share(s->name, &fence, &err);
    if (life->store == NULL)
        fail_msg("%s", err.text);
    if (s->plant == PLANT_NO_FENCE) { /* its statements name nothing */
        store_free(life->store);
        life->store = store_sqlite_share(s->name, NULL, &err);
        assert_non_null(life->store);
    }
    life->store->ops = &s->w->ops;
    life->permit = (struct hv_permit){life, permit};
    s->next.epoch = 0;
}

/* ---- leases ---- */

static void take(struct shared_fleet *s, bool is_first)
{
    struct err err = {0};
    struct store_lease row;
    s->asking_skew_ms = (int64_t)dice(s, SKEW_MS);
    if (!database(s)->leases->take(database(s), "default", "x", times.ttl_ms, &row, &err))
        return;
    if (!is_first && primary_ms(s) < s->true_until_ms)
        lawbook_broken(s->w->book, LAW_LEASES, "epoch %lld was taken %lld ms before it ran out",
                       (long long)row.epoch, (long long)(s->true_until_ms - primary_ms(s)));
    s->true_until_ms = primary_ms(s) + times.ttl_ms;
    lease_begin(&s->next, &row, &times, now_ms(s), now_ms(s));
    if (s->plant == PLANT_NO_QUIET)
        s->next.ready_ms = now_ms(s);
    s->counts.takeovers += !is_first;
}

static void renew(struct shared_fleet *s, struct lease *lease, int64_t skew_ms, bool *out_fenced)
{
    struct err err = {0};
    if (now_ms(s) - lease->asked_ms < lease_renew_ms(&times))
        return;
    s->asking_skew_ms = skew_ms;
    if (database(s)->leases->renew(database(s), "default", lease->epoch, times.ttl_ms, &err)) {
        lease->asked_ms = now_ms(s);
        s->true_until_ms = primary_ms(s) + times.ttl_ms;
    } else if (err.code == ERR_FENCED)
        *out_fenced = true;
}

/* It restarts as a standby: nothing of it is left. */
static void ends(struct shared_fleet *s, struct fleet_sim_life *life)
{
    life->is_gone = true;
    s->counts.fenced++;
}

static void keep_leases(struct shared_fleet *s)
{
    struct fleet_sim *fs = sim_of(s);
    for (unsigned i = 0; i < fs->n_lives; i++) {
        struct fleet_sim_life *life = life_at(s, i);
        struct holder *holder = &s->holders[i];
        bool is_fenced = false;
        struct engine_stats stats;
        if (life->is_gone || now_ms(s) < life->stopped_until_ms)
            continue;
        engine_stats(life->engine, &stats);
        if (now_ms(s) >= holder->cut_until_ms)
            renew(s, &holder->lease, holder->skew_ms, &is_fenced);
        if ((is_fenced || stats.is_fenced) && s->plant != PLANT_NO_FENCE)
            ends(s, life);
    }
}

static void take_over(struct shared_fleet *s)
{
    struct fleet_sim *fs = sim_of(s);
    bool is_fenced = false;
    if (s->next.epoch == 0 && now_ms(s) - s->polled_ms >= POLL_MS) {
        s->polled_ms = now_ms(s);
        take(s, false);
    }
    if (s->next.epoch == 0)
        return;
    renew(s, &s->next, 0, &is_fenced);
    if (is_fenced)
        s->next.epoch = 0;
    else if (now_ms(s) >= s->next.ready_ms && fs->n_lives < FLEET_SIM_LIVES_MAX) {
        lawbook_crashed(s->w->book);
        fleet_sim_join(fs);
    }
}

/* ---- the database ---- */

static void copy(sqlite3 *to, sqlite3 *from)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    assert_non_null(backup);
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    (void)sqlite3_backup_finish(backup);
}

/* Planted: what was acknowledged since its last copy is lost. Else a quorum has all of it, and only
 * the connections end: for a while no commit succeeds. */
static void promote(struct shared_fleet *s)
{
    s->counts.promotions++;
    s->primary_skew_ms = (int64_t)dice(s, SKEW_MS); /* another machine's clock */
    if (s->plant == PLANT_ASYNCHRONOUS && s->standby != NULL)
        copy(primary(s), s->standby);
    for (unsigned i = 0; i < sim_of(s)->n_lives; i++)
        s->holders[i].cut_until_ms = now_ms(s) + 1000 + (int64_t)dice(s, 8000);
}

static bool commit(void *ctx, struct store *store, struct err *err)
{
    struct shared_fleet *s = ctx;
    struct fleet_sim *fs = sim_of(s);
    struct holder *holder = &s->holders[fs->speaking];
    if (now_ms(s) < holder->cut_until_ms) {
        s->w->real->rollback(store);
        return err_set(err, ERR_UNREACHABLE, "the database is away, says the test");
    }
    if (!s->w->real->commit(store, err))
        return false;
    s->counts.commits++;
    if (holder->lease.epoch < s->newest_commit)
        lawbook_broken(s->w->book, LAW_LEASES, "epoch %lld committed after epoch %lld",
                       (long long)holder->lease.epoch, (long long)s->newest_commit);
    s->newest_commit = holder->lease.epoch;
    if (s->plant == PLANT_ASYNCHRONOUS && s->behind++ % 8 == 0) {
        struct err ignored = {0};
        if (s->standby == NULL)
            s->standby = db_open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &ignored);
        copy(s->standby, primary(s));
    }
    /* The answer was lost: the lane asks and hears that it was stored. */
    if (dice(s, 50) == 0) {
        s->counts.lost_answers++;
        if (s->plant == PLANT_UNKNOWN_FAILS)
            return err_set(err, ERR_UNREACHABLE, "the answer was lost, says the test");
    }
    return true;
}

/* ---- orders ---- */

static bool has_open_intent(struct shared_fleet *s, const struct hv_request *request)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(primary(s),
                           "SELECT count(*) FROM intents AS i JOIN jobs AS j ON j.uid = i.job_uid"
                           " WHERE j.guest_uuid = $1 AND i.node = $2 AND i.status = 'open'"
                           " AND i.action IN ($3, $4)",
                           -1, &stmt, NULL),
        SQLITE_OK);
    (void)sqlite3_bind_text(stmt, 1, request->guest, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 2, request->host, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 3, hv_call_name(request->call), -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 4, request->call == HV_CALL_MIGRATE ? "recover" : "", -1,
                            SQLITE_STATIC);
    bool found = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int64(stmt, 0) > 0;
    (void)sqlite3_finalize(stmt);
    return found;
}

static struct ordered *ordered_of(struct shared_fleet *s, const struct hv_request *request)
{
    for (size_t i = 0; i < s->n_ordered; i++)
        if (text_equal(s->ordered[i].guest, request->guest) &&
            text_equal(s->ordered[i].host, request->host))
            return &s->ordered[i];
    if (s->n_ordered == COUNT(s->ordered))
        return NULL;
    struct ordered *ordered = &s->ordered[s->n_ordered++];
    *ordered = (struct ordered){.epoch = 0};
    TEXT_SET(ordered->guest, request->guest);
    TEXT_SET(ordered->host, request->host);
    return ordered;
}

/* The holder before may have ordered something until then, which may have been on its way for the
 * call limit. */
static void comes_late_enough(struct shared_fleet *s, const struct hv_request *request)
{
    unsigned self = sim_of(s)->speaking;
    if (self == 0)
        return;
    const struct holder *before = &s->holders[self - 1];
    int64_t until_ms =
        lease_sure_until_ms(&before->lease, &times) - lease_margin_ms(&times) + times.call_limit_ms;
    if (now_ms(s) < until_ms)
        lawbook_broken(s->w->book, LAW_LEASES,
                       "%s for %s at %s by epoch %lld, %lld ms before orders of epoch %lld have "
                       "arrived",
                       hv_call_name(request->call), request->guest, request->host,
                       (long long)s->holders[self].lease.epoch, (long long)(until_ms - now_ms(s)),
                       (long long)before->lease.epoch);
}

static bool order(void *ctx, const struct hv_request *request)
{
    struct shared_fleet *s = ctx;
    const struct holder *holder = &s->holders[sim_of(s)->speaking];
    if (hv_call_access(request->call) != HV_ACCESS_ACT)
        return true;
    s->counts.orders++;
    comes_late_enough(s, request);
    struct ordered *before = ordered_of(s, request);
    if (before != NULL && holder->lease.epoch < before->epoch)
        lawbook_broken(s->w->book, LAW_LEASES,
                       "%s for %s at %s by epoch %lld, after one by epoch %lld",
                       hv_call_name(request->call), request->guest, request->host,
                       (long long)holder->lease.epoch, (long long)before->epoch);
    if (before != NULL)
        before->epoch = holder->lease.epoch;
    if (now_ms(s) >= lease_sure_until_ms(&holder->lease, &times))
        lawbook_broken(s->w->book, LAW_LEASES, "%s for %s at %s by epoch %lld, whose lease ran out",
                       hv_call_name(request->call), request->guest, request->host,
                       (long long)holder->lease.epoch);
    bool begins = request->call == HV_CALL_MIGRATE || request->call == HV_CALL_START_POSTCOPY;
    if (begins && !has_open_intent(s, request)) /* what stops one may go without */
        lawbook_broken(s->w->book, LAW_LEASES, "%s of %s at %s without a stored intent",
                       hv_call_name(request->call), request->guest, request->host);
    return true;
}

/* ---- what happens ---- */

static void act(struct shared_fleet *s)
{
    struct fleet_sim *fs = sim_of(s);
    struct fleet_sim_life *life = life_at(s, fs->n_lives - 1);
    bool may_stop = fs->n_lives + LIVES_SPARE < FLEET_SIM_LIVES_MAX;
    switch (dice(s, 8)) {
    case 0:
    case 1:
    case 2: /* SIGSTOP, later SIGCONT */
        if (!may_stop || life->is_gone)
            break;
        life->stopped_until_ms = now_ms(s) + (int64_t)dice(s, STOPS_MAX_MS);
        s->counts.stopped++;
        break;
    case 3: /* stopped, and cut off when it goes on */
    case 4:
        if (may_stop && !life->is_gone)
            life->stopped_until_ms = now_ms(s) + (int64_t)dice(s, STOPS_MAX_MS);
        s->holders[fs->n_lives - 1].cut_until_ms =
            life->stopped_until_ms + (int64_t)dice(s, CUT_MAX_MS);
        break;
    case 5: /* cut off from the database */
        s->holders[fs->n_lives - 1].cut_until_ms = now_ms(s) + (int64_t)dice(s, CUT_MAX_MS);
        break;
    case 6: promote(s); break;
    default: break;
    }
}

static void turn(void *ctx)
{
    struct shared_fleet *s = ctx;
    if (now_ms(s) >= s->next_act_ms) {
        bool is_over = s->w->resting;
        s->next_act_ms = now_ms(s) + 1000 + (int64_t)dice(s, s->pace_ms);
        if (!is_over)
            act(s);
    }
    keep_leases(s);
    take_over(s);
}

static void died(void *ctx)
{
    struct shared_fleet *s = ctx;
    life_at(s, sim_of(s)->n_lives - 1)->is_gone = true;
}

static void begin(void *ctx, struct wild_fleet *w)
{
    struct shared_fleet *s = ctx;
    struct err err = {0};
    s->w = w;
    w->fs.store->ops = w->real; /* the lawbook and the laws read; nobody writes there */
    store_free(w->fs.store);
    w->fs.store = store_sqlite_share(s->name, NULL, &err);
    assert_non_null(w->fs.store);
    lawbook_reads(w->book, w->fs.store);
    w->fs.equip = equip;
    w->fs.cells = &s->cells;
    s->clock = (struct clock){database_ms, database_ms, s};
    store_sqlite_clock(&s->clock);
    assert_true(database(s)->leases->declare(database(s), "default", &err));
    take(s, true);
    assert_true(s->next.epoch == 1);
}

static void end(void *ctx)
{
    struct shared_fleet *s = ctx;
    store_sqlite_clock(NULL);
    if (s->standby != NULL)
        db_close(s->standby);
}

struct shared_fleet *shared_fleet_run(uint64_t seed, enum shared_plant plant)
{
    struct shared_fleet *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->plant = plant;
    s->pace_ms = UINT64_C(4000) << seed % 5;
    s->cells = (struct fleet_cells){.is_shared = true, .n = 1};
    (void)snprintf(s->name, sizeof s->name, "fleet-%d-%llu", (int)getpid(),
                   (unsigned long long)seed);
    const struct wild_ways ways = {s, begin, turn, died, order, commit, end};
    s->w = wild_fleet_run_so(seed, &ways);
    return s;
}

void shared_fleet_free(struct shared_fleet *s)
{
    wild_fleet_free(s->w);
    free(s);
}

struct lawbook *shared_fleet_book(struct shared_fleet *s)
{
    return s->w->book;
}

const struct shared_counts *shared_fleet_counts(const struct shared_fleet *s)
{
    return &s->counts;
}
