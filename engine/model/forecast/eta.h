/* eta.h - when a running migration will be over, as an interval that never moves later without
 * saying why. Pure: fed by samples.
 *
 * What is shown is a moment, not a time left: while nothing changes, the time left shrinks with the
 * clock. A later end within a margin of what was said is not said; beyond the margin it is, with
 * the cause. An end that can no longer be told is a move as well.
 */
#ifndef ENGINE_MODEL_FORECAST_ETA_H
#define ENGINE_MODEL_FORECAST_ETA_H

#include <stdbool.h>
#include <stdint.h>

enum eta_move {
#define ETA_MOVE(id, name, help) ETA_MOVE_##id,
#include "engine/model/forecast/eta.def"
#undef ETA_MOVE
    ETA_MOVE_COUNT
};
const char *eta_move_name(enum eta_move move);

enum { ETA_NOTE_MAX = 160 };

struct eta_input { /* one sample, digested */
    int64_t now_ms;
    uint64_t remaining, bandwidth_bps;
    uint64_t sent;                         /* memory, so far */
    uint64_t dirty_bps;                    /* 0 in the first pass */
    uint64_t iteration;                    /* 0: disks, or not begun */
    int64_t forecast_ms, forecast_high_ms; /* moments expected before it began; 0: none */
    bool postcopy, stopped;                /* the guest does not write at the source */
};

struct eta {
    bool known;                          /* something can be said now */
    int64_t now_ms;                      /* of the newest look */
    int64_t end_ms, low_ms, high_ms;     /* moments, on the same clock */
    uint64_t iteration, iteration_bytes; /* the present one; what was left when it began */
    int64_t iteration_ms;                /* when it was first seen */
    struct eta_input said;               /* what the present statement was made from */
    uint64_t dirty_bps;                  /* of late, from the second pass on; 0: not seen */
    uint64_t first_bytes;                /* sent in the first pass: what is not zero; 0: not seen */
    unsigned moves;                      /* times that it moved later */
    enum eta_move why;                   /* of the newest move */
    int64_t moved_ms;                    /* when; 0: never */
    char note[ETA_NOTE_MAX];             /* the same for people */
};

void eta_step(struct eta *eta, const struct eta_input *input);
/* Time left at the newest look, -1: cannot be said. */
int64_t eta_left_ms(const struct eta *eta);
int64_t eta_left_low_ms(const struct eta *eta);
int64_t eta_left_high_ms(const struct eta *eta);

#endif
