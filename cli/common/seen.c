/* seen.c - see seen.h. A name is kept as 64 bits of it: two of a million objects share them once in
 * some ten million lists, and then a change of one is not shown. */
#include "cli/common/seen.h"

#include <stdlib.h>

#include "base/hash.h"
#include "cli/common/view.h"

enum { FIRST_CAPACITY = 64 };

struct seen_slot {
    uint64_t key, version; /* hashes; key 0: free */
    bool is_told;
};

static uint64_t key_of(struct json_object *object)
{
    uint64_t key = hash_word(HASH_START, view_text(object, "metadata.namespace"));
    key = hash_word(key, view_text(object, "metadata.name"));
    return key != 0 ? key : 1;
}

/* Events of a list have the list's version: what makes one new is that it happened again. */
static uint64_t version_of(struct json_object *object)
{
    const char *last = view_text(object, "lastTimestamp");
    if (*last == '\0')
        return hash_word(HASH_START, view_text(object, "metadata.resourceVersion"));
    return hash_word(hash_word(HASH_START, last), view_text(object, "count"));
}

void seen_fini(struct seen *seen)
{
    free(seen->slots);
    *seen = (struct seen){0};
}

/* Where it is, or a free slot. */
static struct seen_slot *find(const struct seen *seen, uint64_t key)
{
    size_t at = key & (seen->capacity - 1);
    while (seen->slots[at].key != 0 && seen->slots[at].key != key)
        at = (at + 1) & (seen->capacity - 1);
    return &seen->slots[at];
}

/* Copies what passes into slots of that number. */
static bool rebuild(struct seen *seen, size_t capacity, bool only_told, uint64_t but)
{
    struct seen fresh = {.capacity = capacity};
    fresh.slots = calloc(capacity, sizeof *fresh.slots);
    if (fresh.slots == NULL)
        return false;
    for (size_t i = 0; i < seen->capacity; i++) {
        const struct seen_slot *slot = &seen->slots[i];
        if (slot->key == 0 || slot->key == but || (only_told && !slot->is_told))
            continue;
        *find(&fresh, slot->key) = *slot;
        fresh.n++;
    }
    free(seen->slots);
    *seen = fresh;
    return true;
}

bool seen_add(struct seen *seen, struct json_object *object, bool *out_is_new)
{
    uint64_t version = version_of(object);
    bool is_full = seen->n * 2 >= seen->capacity;
    if (seen->n >= SEEN_MAX ||
        (is_full &&
         !rebuild(seen, seen->capacity > 0 ? seen->capacity * 2 : FIRST_CAPACITY, false, 0)))
        return false;
    struct seen_slot *slot = find(seen, key_of(object));
    seen->n += slot->key == 0;
    *out_is_new = slot->key == 0 || slot->version != version;
    *slot = (struct seen_slot){key_of(object), version, true};
    return true;
}

/* Slots behind it are found over it: all are put in anew, unless it is not there. Rare enough. */
void seen_remove(struct seen *seen, struct json_object *object)
{
    uint64_t key = key_of(object);
    if (seen->capacity > 0 && find(seen, key)->key != 0)
        (void)rebuild(seen, seen->capacity, false, key);
}

void seen_begin(struct seen *seen)
{
    for (size_t i = 0; i < seen->capacity; i++)
        seen->slots[i].is_told = false;
}

size_t seen_end(struct seen *seen)
{
    size_t before = seen->n;
    if (seen->capacity == 0 || !rebuild(seen, seen->capacity, true, 0))
        return 0;
    return before - seen->n;
}
