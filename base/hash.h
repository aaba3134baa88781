/* hash.h - FNV-1a with 64 bits: short, and the same on every machine for bytes and text.
 *
 * Values are stored, shown and compared with those of older versions (names of pods, versions of
 * rule sets), so results never change; tests/unit/test_hash.c checks them. Not resistant to chosen
 * keys. Pure.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C(0xCBF29CE484222325)

/* One byte, or one number whose low bits matter. */
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

/* Without the terminator: "ab" then "c" equals "abc". */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text));
}

/* With the terminator: "ab" then "c" differs from "abc". */
static inline uint64_t hash_word(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* Eight bytes in the machine's byte order: not for values that leave the machine. */
static inline uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return hash_bytes(hash, &number, sizeof number);
}

#endif
