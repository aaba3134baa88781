/* progress.h - progress of a migration as one line of text. Pure: the caller draws it.
 *
 * Two forms. The live line is redrawn in place and never wider than the terminal; when it is
 * narrow, fields are dropped (iteration, dirty rate, mode, bar, rate). The plain line is for logs
 * and pipes and has all fields.
 */
#ifndef CLI_COMMON_PROGRESS_H
#define CLI_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_LINE_MAX = 512, PROGRESS_WORD_MAX = 64, PROGRESS_REASON_MAX = 256 };

struct progress {
    char phase[PROGRESS_WORD_MAX], mode[PROGRESS_WORD_MAX];
    char reason[PROGRESS_REASON_MAX]; /* pending reason, or empty */
    char abort_status[PROGRESS_WORD_MAX];
    bool resolving, recovering;
    int64_t elapsed_ms; /* since the request */
    bool has_sample;
    uint64_t remaining, processed, total;
    uint64_t rate_bps, dirty_bps;
    int64_t eta_ms; /* < 0: unknown */
    int64_t iteration;
    int64_t throttle_percent;
    bool is_unreachable; /* the last request was not answered */
};

/* Both fill PROGRESS_LINE_MAX and return the length. width counts columns on the screen; colour
 * codes are not counted. */
size_t progress_live(const struct progress *p, size_t width, bool coloured, char *out_line);
size_t progress_plain(const struct progress *p, char *out_line);

/* Share of memory already transferred, 0..100; -1: unknown. */
int progress_percent(const struct progress *p);

#endif
