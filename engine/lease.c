/* lease.c - see lease.h. */
#include "engine/lease.h"

#include <stdio.h>
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

static const char *address_of(const struct store_appliance *appliances, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(appliances[i].name, name) == 0)
            return appliances[i].address;
    return "";
}

bool lease_refuse_standby(const struct lease_view *view, const struct store_appliance *appliances,
                          size_t n_appliances, struct err *err)
{
    char text[ERR_TEXT_MAX];
    size_t used = (size_t)snprintf(text, sizeof text, "this appliance is a standby");
    for (size_t i = 0; i < view->n_rows && used < sizeof text; i++) {
        const struct store_lease *row = &view->rows[i];
        const char *at = address_of(appliances, n_appliances, row->owner);
        size_t left = sizeof text - used;
        int n;
        if (is_free(row))
            n = snprintf(text + used, left, "; cell '%s' is held by nobody", row->cell);
        else if (strcmp(row->owner, view->self) == 0)
            n = snprintf(text + used, left, "; cell '%s' is being taken over: try again",
                         row->cell);
        else
            n = snprintf(text + used, left, "; cell '%s' is held by '%s'%s%s%s", row->cell,
                         row->owner, at[0] != '\0' ? " (" : "", at, at[0] != '\0' ? ")" : "");
        used += n > 0 ? (size_t)n : 0;
    }
    return err_set(err, ERR_UNREACHABLE, "%s", text);
}
