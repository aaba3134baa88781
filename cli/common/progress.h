/* progress.h - one moment of a migration as one line. Pure: what is known goes in, text comes
 * out; who draws it, where and how often is the caller's affair.
 *
 * Two forms. The live line is redrawn in place: never wider than the terminal, fields dropped
 * from the least to the most important when it is narrow (pass, dirty rate, mode, bar, rate).
 * The plain line is for logs and pipes: nothing dropped, words instead of a bar.
 */
#ifndef CLI_COMMON_PROGRESS_H
#define CLI_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_LINE_MAX = 512, PROGRESS_WORD_MAX = 64, PROGRESS_REASON_MAX = 256 };

struct progress {
    char phase[PROGRESS_WORD_MAX], mode[PROGRESS_WORD_MAX];
    char reason[PROGRESS_REASON_MAX]; /* why it waits, empty when it does not */
    char abort_status[PROGRESS_WORD_MAX];
    bool resolving, recovering;
    int64_t elapsed_ms; /* since the request */
    bool has_sample;
    uint64_t remaining, processed, total;
    uint64_t rate_bps, dirty_bps;
    int64_t eta_ms; /* < 0: cannot say */
    int64_t iteration;
    int64_t throttle_percent;
    bool lost_contact; /* the appliance did not answer the last question */
};

/* Both fill PROGRESS_LINE_MAX and return the length. width counts columns on the screen; colour
 * codes are not counted. */
size_t progress_live(const struct progress *p, size_t width, bool coloured, char *out_line);
size_t progress_plain(const struct progress *p, char *out_line);

/* Share of memory that needs no more sending, 0..100; -1 when nothing is known. */
int progress_percent(const struct progress *p);

#endif
