/* publish_since.c - see publish.h: when the conditions of guests last changed. */
#include <string.h>

#include "engine/publish.h"

static bool is_alike(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void since(const struct snapshot_guest *old, struct snapshot_guest *guest, int64_t wall_ms)
{
    for (enum guest_condition c = 0; c < CONDITION_COUNT; c++) {
        bool unchanged =
            old != NULL && is_alike(snapshot_condition(old, c), snapshot_condition(guest, c));
        guest->since_ms[c] = unchanged ? old->since_ms[c] : wall_ms;
    }
}

void publish_since(const struct snapshot_guest *old, size_t n_old, struct snapshot_guest *fresh,
                   size_t n, int64_t wall_ms)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        while (at < n_old && publish_guest_order(&old[at], &fresh[i]) < 0)
            at++;
        bool was_there = at < n_old && publish_guest_order(&old[at], &fresh[i]) == 0;
        since(was_there ? &old[at] : NULL, &fresh[i], wall_ms);
    }
}
