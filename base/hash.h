/* hash.h - FNV-1a with 64 bits: short, and the same on every machine for bytes and text.
 *
 * Values are stored, shown and compared with those of older versions (names of pods, versions of
 * rule sets), so what these functions give never changes; tests/unit/test_hash.c holds them to it.
 * Whoever is attacked by chosen names needs another hash. Pure.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C(0xCBF29CE484222325)

/* One byte; or a number as a whole, where a few bits of it count. */
static inline uint64_t hash_step(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001B3);
}

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = hash_step(hash, at[i]);
    return hash;
}

/* Without its end: "ab" then "c" is "abc". */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

/* With its end, so that two words never read as one. */
static inline uint64_t hash_word(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* Its eight bytes in the machine's order: not for what travels between machines. */
static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return hash_bytes(hash, &number, sizeof number);
}

#endif
