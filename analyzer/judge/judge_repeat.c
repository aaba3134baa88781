/* judge_repeat.c - see judge_repeat.h. */
#include "analyzer/judge/judge_repeat.h"

#include <stdlib.h>
#include <string.h>

void repeats_init(struct repeats *repeats)
{
    *repeats = (struct repeats){.entries = calloc(REPEAT_ENTRIES, sizeof *repeats->entries),
                                .tags = calloc(REPEAT_ENTRIES, sizeof *repeats->tags)};
}

void repeats_fini(struct repeats *repeats)
{
    free(repeats->entries);
    free(repeats->tags);
    *repeats = (struct repeats){0};
}

/* Eight bytes at a time; who makes texts collide on purpose only makes them be searched. */
static uint64_t hash_of(const char *text, size_t n)
{
    uint64_t hash = n * UINT64_C(0x9E3779B97F4A7C15), piece;
    for (; n >= sizeof piece; text += sizeof piece, n -= sizeof piece) {
        memcpy(&piece, text, sizeof piece);
        hash = (hash ^ piece) * UINT64_C(0x9FB21C651E98DF25);
        hash ^= hash >> 32;
    }
    piece = 0;
    memcpy(&piece, text, n);
    hash = (hash ^ piece) * UINT64_C(0x9FB21C651E98DF25);
    return hash ^ hash >> 29;
}

struct repeat_entry *repeats_find(struct repeats *repeats, const char *text, size_t n)
{
    repeats->filling = NULL;
    if (repeats->entries == NULL || repeats->tags == NULL || n == 0 || n > REPEAT_TEXT_MAX)
        return NULL;
    uint64_t hash = hash_of(text, n);
    size_t slot = (size_t)(hash >> 40) & (REPEAT_ENTRIES - 1);
    uint32_t tag = (uint32_t)hash;
    if (repeats->tags[slot] != tag) {
        repeats->tags[slot] = tag;
        return NULL;
    }
    struct repeat_entry *entry = &repeats->entries[slot];
    if (entry->length == n && memcmp(entry->text, text, n) == 0)
        return entry;
    entry->length = 0;
    entry->n_matches = 0;
    repeats->filling = entry;
    return NULL;
}

void repeats_note(struct repeats *repeats, unsigned pattern, size_t end)
{
    struct repeat_entry *entry = repeats->filling;
    if (entry == NULL)
        return;
    for (uint32_t i = 0; i < entry->n_matches; i++)
        if (entry->matches[i].pattern == pattern)
            return; /* the first end counts */
    if (entry->n_matches == REPEAT_MATCHES_MAX) {
        repeats->filling = NULL;
        return;
    }
    entry->matches[entry->n_matches++] = (struct repeat_match){pattern, (unsigned)end};
}

void repeats_end(struct repeats *repeats, const char *text, size_t n, unsigned of_case)
{
    struct repeat_entry *entry = repeats->filling;
    if (entry == NULL)
        return;
    entry->length = (uint32_t)n;
    entry->of_case = of_case;
    memcpy(entry->text, text, n);
    repeats->filling = NULL;
}
