/* fuzz.h - what the fuzz targets share.
 *
 * A target is a function of some bytes that checks laws and ends the process when one is broken.
 * Built with FUZZ_ENGINE it is libFuzzer's entry point, one program per target; without, it has a
 * name of its own and test_replay.c feeds it the saved inputs in every run of the fast tests.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef FUZZ_ENGINE
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
#define FUZZ_TARGET(name) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
#else
#define TARGET(name, help) int fuzz_##name(const uint8_t *data, size_t n);
#include "tests/fuzz/targets.def"
#undef TARGET
#define FUZZ_TARGET(name) int fuzz_##name(const uint8_t *data, size_t n)
#endif

/* Says which law is broken and aborts. */
_Noreturn void fuzz_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define FUZZ_LAW(holds, ...)        \
    do {                            \
        if (!(holds))               \
            fuzz_fail(__VA_ARGS__); \
    } while (0)

/* The bytes as text: a terminated copy; the caller frees it. */
char *fuzz_text(const uint8_t *data, size_t n);

/* Decisions, byte by byte; zeros when there are no more. */
struct fuzz_bytes {
    const uint8_t *at, *end;
};
uint8_t fuzz_byte(struct fuzz_bytes *in);
uint64_t fuzz_u64(struct fuzz_bytes *in);

#endif
