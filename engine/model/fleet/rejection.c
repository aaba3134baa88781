/* rejection.c - texts of why nodes were rejected; see rejection.h. */
#include "engine/model/fleet/rejection.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "engine/model/fleet/node.h"

enum { NOW, EVER };
static const struct {
    const char *name, *help;
    int when;
} rows[REJECT_COUNT] = {
#define REJECT(id, name, when, help) [REJECT_##id] = {name, help, when},
#include "engine/model/fleet/rejection.def"
#undef REJECT
};

const char *reject_name(enum reject why)
{
    return (unsigned)why < REJECT_COUNT ? rows[why].name : "";
}

const char *reject_help(enum reject why)
{
    return (unsigned)why < REJECT_COUNT ? rows[why].help : "";
}

enum reject reject_from_name(const char *name)
{
    for (unsigned i = 0; i < REJECT_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return (enum reject)i;
    return REJECT_COUNT;
}

bool reject_is_for_ever(enum reject why)
{
    return (unsigned)why < REJECT_COUNT && rows[why].when == EVER;
}

bool rejections_all_for_ever(const struct rejections *r)
{
    for (unsigned i = 0; i < REJECT_COUNT; i++)
        if (r->counts[i] > 0 && !reject_is_for_ever((enum reject)i))
            return false;
    return r->n_nodes > 0; /* without nodes there is no permanent rejection */
}

uint16_t rejections_tag(const struct node *node)
{
    return (uint16_t)((node->hh.hashv >> 8) | 1U); /* never 0 */
}

const struct rejection *rejections_find(const struct rejections *r, const struct node *node)
{
    uint16_t tag = rejections_tag(node);
    for (size_t i = 0; i < r->n; i++)
        if ((r->tags[i] == tag || r->tags[i] == 0) && strcmp(r->list[i].node, node->name) == 0)
            return &r->list[i];
    return NULL;
}

/* The next reason by name after `last` (NULL: the first); REJECT_COUNT: no more. */
static enum reject next_by_name(const struct rejections *r, const char *last)
{
    unsigned next = REJECT_COUNT;
    for (unsigned i = REJECT_NONE + 1; i < REJECT_COUNT; i++) {
        bool later = last == NULL || strcmp(rows[i].name, last) > 0;
        if (r->counts[i] > 0 && later &&
            (next == REJECT_COUNT || strcmp(rows[i].name, rows[next].name) < 0))
            next = i;
    }
    return (enum reject)next;
}

void rejections_text(const struct rejections *r, char *out_text, size_t bytes)
{
    int n =
        snprintf(out_text, bytes, "%u/%zu nodes are available", r->counts[REJECT_NONE], r->n_nodes);
    size_t at = n > 0 ? (size_t)n : 0;
    const char *before = ": ";
    for (enum reject why = next_by_name(r, NULL); why != REJECT_COUNT;
         why = next_by_name(r, rows[why].name)) {
        if (at < bytes) {
            n = snprintf(out_text + at, bytes - at, "%s%u %s", before, r->counts[why],
                         rows[why].name);
            at += n > 0 ? (size_t)n : 0;
        }
        before = ", ";
    }
    if (at + 1 < bytes)
        (void)snprintf(out_text + at, bytes - at, ".");
}
