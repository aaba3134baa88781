/* lease.c - see lease.h. */
#include "engine/lease.h"

#include <string.h>

#include "base/text.h"

void lease_begin(struct lease *lease, const struct store_lease *row, const struct lease_times *t,
                 int64_t asked_ms, int64_t now_ms)
{
    *lease = (struct lease){.epoch = row->epoch, .taken_ms = asked_ms, .asked_ms = asked_ms};
    TEXT_SET(lease->cell, row->cell);
    /* Whoever had it before renewed it last before this answer came. */
    lease->ready_ms = row->quiet_ms > 0 ? now_ms + row->quiet_ms + t->call_limit_ms : now_ms;
}

int64_t lease_sure_until_ms(const struct lease *lease, const struct lease_times *t)
{
    return lease->asked_ms + t->ttl_ms;
}

bool lease_may_order(const struct lease *lease, const struct lease_times *t, int64_t now_ms)
{
    return now_ms >= lease->ready_ms && now_ms + lease_margin_ms(t) < lease_sure_until_ms(lease, t);
}

static bool is_free(const struct store_lease *row)
{
    return row->owner[0] == '\0' || row->left_ms < 0;
}

static bool is_mine(const struct lease_view *view, const char *cell)
{
    for (size_t i = 0; i < view->n_mine; i++)
        if (strcmp(view->mine[i].cell, cell) == 0)
            return true;
    return false;
}

static size_t share(const struct lease_view *view)
{
    size_t appliances = view->appliances > 0 ? view->appliances : 1;
    return (view->n_rows + appliances - 1) / appliances;
}

size_t lease_to_take(const struct lease_view *view, const struct lease_times *t)
{
    for (size_t i = 0; i < view->n_rows; i++) {
        const struct store_lease *row = &view->rows[i];
        if (!is_free(row) || is_mine(view, row->cell))
            continue;
        if (view->n_mine < share(view) || row->left_ms < -t->ttl_ms)
            return i;
    }
    return view->n_rows;
}

size_t lease_to_give(const struct lease_view *view)
{
    if (view->is_busy || view->n_mine <= share(view))
        return view->n_mine;
    for (size_t i = 0; i < view->n_rows; i++)
        if (is_free(&view->rows[i]))
            return view->n_mine; /* the others have something to take already */
    return view->n_mine - 1;
}
