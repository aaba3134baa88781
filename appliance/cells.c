/* cells.c - see cells.h. */
#include "appliance/cells.h"

#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "store/any/any.h"

#define HANDED_OVER "FERRY_CELLS"
enum { HANDED_MAX = 16384, WAKE_MS = 200, ARGS_MAX = 64 * 1024 };

struct cells {
    struct config_appliance config;
    struct fleet_cells all, held; /* of the configuration; of this image */
    pthread_mutex_t lock;         /* what follows */
    struct lease mine[STORE_CELLS_MAX];
    size_t n_mine;
    struct cells_status status;
    char giving[STORE_CELL_MAX]; /* a cell to be given away; empty: none */
    /* The thread's. */
    struct store *store;
    int64_t polled_ms;
    pthread_t thread;
    bool is_running;
    atomic_bool stop, is_busy;
    _Atomic(const char *) restart;
};

static const char *outside(const char *cell)
{
    return cell[0] != '\0' ? cell : CONFIG_CELL_DEFAULT;
}

static const char *inside(const char *cell)
{
    return text_equal(cell, CONFIG_CELL_DEFAULT) ? "" : cell;
}

static void must_restart(struct cells *c, const char *why)
{
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&c->restart, &none, why);
}

/* ---- what the image before handed over: cell:epoch:taken:asked:ready;... ---- */

static void read_handed_over(struct cells *c)
{
    const char *text = getenv(HANDED_OVER);
    int used = 0;
    while (text != NULL && *text != '\0' && c->n_mine < STORE_CELLS_MAX) {
        struct lease lease = {0};
        long long epoch, taken, asked, ready;
        if (sscanf(text, "%63[a-z0-9-]:%lld:%lld:%lld:%lld;%n", lease.cell, &epoch, &taken, &asked,
                   &ready, &used) != 5)
            break;
        lease.epoch = epoch;
        lease.taken_ms = taken;
        lease.asked_ms = asked;
        lease.ready_ms = ready;
        c->mine[c->n_mine++] = lease;
        text += used;
    }
    (void)unsetenv(HANDED_OVER);
}

static void hand_over(const struct cells *c)
{
    char text[HANDED_MAX];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < c->n_mine; i++) {
        const struct lease *l = &c->mine[i];
        int n = snprintf(text + used, sizeof text - used, "%s:%lld:%lld:%lld:%lld;", l->cell,
                         (long long)l->epoch, (long long)l->taken_ms, (long long)l->asked_ms,
                         (long long)l->ready_ms);
        if (n < 0 || used + (size_t)n >= sizeof text)
            break; /* it runs out */
        used += (size_t)n;
    }
    (void)setenv(HANDED_OVER, text, 1);
}

/* ---- leases ---- */

/* Lock held. */
static void drop(struct cells *c, size_t at)
{
    memmove(&c->mine[at], &c->mine[at + 1], (c->n_mine - at - 1) * sizeof c->mine[0]);
    c->n_mine--;
}

static void lose(struct cells *c, const char *cell, const char *why)
{
    bool was_active = false;
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_mine; i++)
        if (text_equal(c->mine[i].cell, cell)) {
            was_active = c->mine[i].is_active;
            LOG(ERROR, "lease_lost", FIELD_TEXT(CELL, cell), FIELD_I64(EPOCH, c->mine[i].epoch),
                FIELD_TEXT(WHY, why));
            drop(c, i);
            break;
        }
    (void)pthread_mutex_unlock(&c->lock);
    if (was_active)
        must_restart(c, "a lease was lost");
}

static void renew_one(struct cells *c, const struct lease *lease)
{
    struct err err = {0};
    int64_t asked_ms = clock_boot_ms();
    if (c->store->leases->renew(c->store, lease->cell, lease->epoch, c->config.times.ttl_ms,
                                &err)) {
        (void)pthread_mutex_lock(&c->lock);
        for (size_t i = 0; i < c->n_mine; i++)
            if (text_equal(c->mine[i].cell, lease->cell))
                c->mine[i].asked_ms = asked_ms;
        (void)pthread_mutex_unlock(&c->lock);
    } else if (err.code == ERR_FENCED) {
        lose(c, lease->cell, err.text);
    } else {
        LOG(WARN, "lease_renew_failed", FIELD_TEXT(CELL, lease->cell), FIELD_TEXT(ERROR, err.text));
    }
}

static void renew_due(struct cells *c)
{
    struct lease copy[STORE_CELLS_MAX];
    (void)pthread_mutex_lock(&c->lock);
    size_t n = c->n_mine;
    memcpy(copy, c->mine, sizeof copy);
    (void)pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < n; i++)
        if (clock_boot_ms() - copy[i].asked_ms >= lease_renew_ms(&c->config.times))
            renew_one(c, &copy[i]);
}

static bool take_one(struct cells *c, struct store_lease *row)
{
    struct err err = {0};
    struct store_lease taken = {0};
    int64_t asked_ms = clock_boot_ms();
    if (!c->store->leases->take(c->store, row->cell, c->config.name, c->config.times.ttl_ms, &taken,
                                &err))
        return false; /* refused: somebody was faster. Not known: it runs out, then is taken again
                       */
    struct lease lease;
    int64_t now_ms = clock_boot_ms();
    lease_begin(&lease, &taken, &c->config.times, asked_ms, now_ms);
    LOG(INFO, "lease_taken", FIELD_TEXT(CELL, lease.cell), FIELD_I64(EPOCH, lease.epoch),
        FIELD_TEXT(FROM, row->owner[0] != '\0' ? row->owner
                         : row->epoch > 0      ? "released"
                                               : "new"),
        FIELD_I64(WAIT_MS, lease.ready_ms - now_ms));
    (void)pthread_mutex_lock(&c->lock);
    c->mine[c->n_mine++] = lease;
    (void)pthread_mutex_unlock(&c->lock);
    *row = taken;
    return true;
}

static bool add_row(void *ctx, const struct store_lease *row)
{
    struct cells_status *status = ctx;
    if (status->n_leases < STORE_CELLS_MAX)
        status->leases[status->n_leases++] = *row;
    return true;
}

static bool add_appliance(void *ctx, const struct store_appliance *row)
{
    struct cells_status *status = ctx;
    if (status->n_appliances < STORE_CELLS_MAX)
        status->appliances[status->n_appliances++] = *row;
    return true;
}

/* Whoever has not been seen for a whole lease holds nothing. */
static size_t count_alive(const struct cells *c, const struct cells_status *status)
{
    size_t n = 0;
    for (size_t i = 0; i < status->n_appliances; i++)
        n += status->appliances[i].age_ms < c->config.times.ttl_ms ||
             text_equal(status->appliances[i].name, c->config.name);
    return n;
}

static bool read_all(struct cells *c, struct cells_status *out_status, struct err *err)
{
    const struct store_lease_ops *leases = c->store->leases;
    struct store_appliance self = {.age_ms = 0};
    TEXT_SET(self.name, c->config.name);
    TEXT_SET(self.address, c->config.address);
    TEXT_SET(self.version, FERRY_VERSION);
    int64_t asked_ms = clock_boot_ms();
    if (!leases->note(c->store, &self, err))
        return false;
    out_status->answer_ms = clock_boot_ms() - asked_ms;
    return leases->each(c->store, add_row, out_status, err) &&
           leases->each_appliance(c->store, add_appliance, out_status, err);
}

static bool is_configured(const struct cells *c, const char *cell)
{
    for (size_t i = 0; i < c->all.n; i++)
        if (text_equal(outside(c->all.list[i]), cell))
            return true;
    return false;
}

/* Rows of cells that have no host here are others' business: they count as held. */
static void hide_foreign(const struct cells *c, struct store_lease *rows, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        if (is_configured(c, rows[i].cell))
            rows[kept++] = rows[i];
    *n = kept;
}

static void take_and_give(struct cells *c, const struct cells_status *seen)
{
    struct store_lease rows[STORE_CELLS_MAX];
    struct lease_view view = {.self = c->config.name,
                              .rows = rows,
                              .n_rows = seen->n_leases,
                              .mine = c->mine,
                              .n_mine = c->n_mine,
                              .appliances = count_alive(c, seen),
                              .is_busy = atomic_load(&c->is_busy)};
    memcpy(rows, seen->leases, sizeof rows);
    hide_foreign(c, rows, &view.n_rows);
    size_t at;
    while ((at = lease_to_take(&view, &c->config.times)) < view.n_rows &&
           c->n_mine < STORE_CELLS_MAX) {
        if (!take_one(c, &rows[at])) {
            rows[at].left_ms = 1; /* not again in this round */
            TEXT_SET(rows[at].owner, "?");
        }
        view.n_mine = c->n_mine;
    }
    at = lease_to_give(&view);
    if (at < view.n_mine && c->giving[0] == '\0') {
        TEXT_SET(c->giving, c->mine[at].cell);
        must_restart(c, "a cell is handed over: another appliance has fewer");
    }
}

static void poll_store(struct cells *c)
{
    struct err err = {0};
    struct cells_status seen = {0};
    seen.is_known = read_all(c, &seen, &err);
    if (seen.is_known)
        take_and_give(c, &seen);
    else
        LOG(WARN, "leases_not_read", FIELD_TEXT(ERROR, err.text));
    (void)pthread_mutex_lock(&c->lock);
    int64_t takeover_ms = c->status.takeover_ms;
    if (seen.is_known)
        c->status = seen;
    c->status.takeover_ms = takeover_ms;
    c->status.is_known = seen.is_known;
    (void)pthread_mutex_unlock(&c->lock);
}

static void restart_if_ready(struct cells *c)
{
    int64_t now_ms = clock_boot_ms();
    for (size_t i = 0; i < c->n_mine; i++)
        if (!c->mine[i].is_active && now_ms >= c->mine[i].ready_ms)
            must_restart(c, "a cell was taken over");
}

static void turn(struct cells *c)
{
    renew_due(c);
    if (clock_boot_ms() - c->polled_ms >= lease_poll_ms(&c->config.times)) {
        c->polled_ms = clock_boot_ms();
        poll_store(c);
    }
    restart_if_ready(c);
}

static void *cells_main(void *arg)
{
    struct cells *c = arg;
    while (!atomic_load(&c->stop)) {
        turn(c);
        clock_sleep_ms(WAKE_MS);
    }
    return NULL;
}

/* ---- the life of an image ---- */

/* What may be used now is this image's for good; the rest is renewed until it may. */
static void settle(struct cells *c)
{
    int64_t now_ms = clock_boot_ms(), taken_ms = 0;
    char text[256] = "";
    c->held = (struct fleet_cells){.is_shared = true};
    for (size_t i = 0; i < c->n_mine; i++) {
        struct lease *lease = &c->mine[i];
        lease->is_active = now_ms >= lease->ready_ms;
        if (!lease->is_active)
            continue;
        TEXT_SET(c->held.list[c->held.n], inside(lease->cell));
        c->held.n++;
        taken_ms = lease->taken_ms > taken_ms ? lease->taken_ms : taken_ms; /* the newest */
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "", lease->cell);
    }
    c->status.takeover_ms = c->held.n > 0 ? now_ms - taken_ms : 0;
    LOG(INFO, "cells_held", FIELD_I64(COUNT, c->held.n), FIELD_TEXT(TEXT, text),
        FIELD_I64(SPENT_MS, c->status.takeover_ms));
}

struct cells *cells_new(const struct config *config, struct err *err)
{
    struct cells *c = calloc(1, sizeof *c);
    if (c == NULL) {
        (void)err_set(err, ERR_NOMEM, "cells");
        return NULL;
    }
    c->config = config->appliance;
    c->all = config->cells;
    (void)pthread_mutex_init(&c->lock, NULL);
    read_handed_over(c);
    return c;
}

bool cells_begin(struct cells *c, const char *place, struct err *err)
{
    const struct store_sharing sharing = {c->config.name, {0}};
    OWNED(store) store = store_share(place, &sharing, err);
    if (store == NULL)
        return false;
    c->store = store;
    for (size_t i = 0; i < c->all.n; i++)
        if (!store->leases->declare(store, outside(c->all.list[i]), err))
            return false;
    for (size_t i = c->n_mine; i-- > 0;) { /* renewed, or no longer ours */
        struct lease lease = c->mine[i];
        renew_one(c, &lease);
    }
    poll_store(c);
    c->store = NULL;
    atomic_store(&c->restart, NULL);
    c->giving[0] = '\0';
    settle(c);
    return true;
}

void cells_free(struct cells *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

const char *cells_name(const struct cells *c)
{
    return c->config.name;
}

const struct fleet_cells *cells_held(const struct cells *c)
{
    return &c->held;
}

void cells_sharing(const struct cells *c, struct store_sharing *out_sharing)
{
    *out_sharing = (struct store_sharing){.appliance = c->config.name};
    struct store_fence *fence = &out_sharing->fence;
    for (size_t i = 0; i < c->n_mine; i++)
        if (c->mine[i].is_active) {
            TEXT_SET(fence->list[fence->n].cell, c->mine[i].cell);
            fence->list[fence->n++].epoch = c->mine[i].epoch;
        }
}

static bool may_order(void *ctx, struct err *err)
{
    struct cells *c = ctx;
    int64_t now_ms = clock_boot_ms();
    size_t active = 0;
    const char *short_of = NULL;
    (void)pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_mine; i++) {
        if (!c->mine[i].is_active)
            continue;
        active++;
        if (!lease_may_order(&c->mine[i], &c->config.times, now_ms))
            short_of = c->mine[i].cell;
    }
    bool good = short_of == NULL && active == c->held.n && active > 0;
    if (!good)
        (void)err_set(err, ERR_REFUSED, "cell %s: too little of its lease is left for an order",
                      short_of != NULL ? short_of : "?");
    (void)pthread_mutex_unlock(&c->lock);
    return good;
}

struct hv_permit cells_permit(struct cells *c)
{
    return (struct hv_permit){c, may_order};
}

bool cells_may_change(void *cells, struct err *err)
{
    struct cells *c = cells;
    if (c == NULL || c->held.n > 0)
        return true;
    (void)pthread_mutex_lock(&c->lock);
    const struct lease_view view = {
        .self = c->config.name, .rows = c->status.leases, .n_rows = c->status.n_leases};
    (void)lease_refuse_standby(&view, c->status.appliances, c->status.n_appliances, err);
    (void)pthread_mutex_unlock(&c->lock);
    return false;
}

bool cells_start(struct cells *c, struct store *store, struct err *err)
{
    c->store = store;
    int failure = pthread_create(&c->thread, NULL, cells_main, c);
    if (failure != 0)
        return err_set(err, ERR_LIMIT, "cannot start a thread: %s", strerror(failure));
    c->is_running = true;
    return true;
}

void cells_note_busy(struct cells *c, bool is_busy)
{
    atomic_store(&c->is_busy, is_busy);
}

const char *cells_restart(const struct cells *c)
{
    return atomic_load(&c->restart);
}

void cells_stop(struct cells *c)
{
    atomic_store(&c->stop, true);
    if (c->is_running)
        (void)pthread_join(c->thread, NULL);
    c->is_running = false;
}

static void release_one(struct cells *c, struct store *store, const struct lease *lease)
{
    struct err err = {0};
    if (store->leases->release(store, lease->cell, lease->epoch, &err))
        LOG(INFO, "lease_released", FIELD_TEXT(CELL, lease->cell), FIELD_I64(EPOCH, lease->epoch));
    else
        LOG(WARN, "lease_not_released", FIELD_TEXT(CELL, lease->cell), FIELD_TEXT(ERROR, err.text));
    (void)c;
}

void cells_release(struct cells *c, struct store *store)
{
    struct err ignored = {0};
    for (size_t i = 0; i < c->n_mine; i++)
        release_one(c, store, &c->mine[i]);
    c->n_mine = 0;
    (void)store->leases->leave(store, c->config.name, &ignored);
}

/* As this process was called. */
static char **read_arguments(void)
{
    static char text[ARGS_MAX];
    static char *arguments[256];
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0, count = 0;
    if (file != NULL)
        (void)fclose(file);
    for (size_t at = 0; at < n && count + 1 < COUNT(arguments); at += strlen(text + at) + 1)
        arguments[count++] = text + at;
    arguments[count] = NULL;
    return count > 0 ? arguments : NULL;
}

void cells_exec(struct cells *c, struct store *store)
{
    for (size_t i = c->n_mine; i-- > 0;)
        if (text_equal(c->mine[i].cell, c->giving)) {
            if (store != NULL)
                release_one(c, store, &c->mine[i]);
            drop(c, i);
        }
    hand_over(c);
    char **arguments = read_arguments();
    (void)alarm(0);
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (arguments != NULL)
        (void)execv("/proc/self/exe", arguments);
    LOG(ERROR, "restart_failed", FIELD_TEXT(TEXT, "it ends; start it again"));
}

void cells_status(struct cells *c, struct cells_status *out_status)
{
    int64_t now_ms = clock_boot_ms();
    (void)pthread_mutex_lock(&c->lock);
    *out_status = c->status;
    for (size_t i = 0; i < out_status->n_leases; i++) {
        out_status->left_ms[i] = -1;
        for (size_t m = 0; m < c->n_mine; m++)
            if (text_equal(c->mine[m].cell, out_status->leases[i].cell)) {
                int64_t left_ms = lease_sure_until_ms(&c->mine[m], &c->config.times) - now_ms;
                out_status->left_ms[i] = left_ms > 0 ? left_ms : 0;
            }
    }
    (void)pthread_mutex_unlock(&c->lock);
}
