/* eta.h - the expected end of a running migration, as an interval that never moves later without
 * a reason. Pure: fed by samples.
 *
 * It is a moment, not a remaining time: while nothing changes, the remaining time shrinks with
 * the clock. A later end within a margin of the present estimate changes nothing; beyond the
 * margin the estimate moves, with the cause. An end that is no longer known is a move as well. */
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
    uint64_t dirty_bps;                    /* 0 in the first iteration */
    uint64_t iteration;                    /* 0: disks, or not begun */
    int64_t forecast_ms, forecast_high_ms; /* moments expected before it began; 0: none */
    bool postcopy, stopped;                /* the guest does not run on the source */
};

struct eta {
    bool known;                          /* an end is known now */
    int64_t now_ms;                      /* of the newest sample */
    int64_t end_ms, low_ms, high_ms;     /* moments, on the same clock */
    uint64_t iteration, iteration_bytes; /* the present iteration; what remained when it began */
    int64_t iteration_ms;                /* when it was first seen */
    struct eta_input basis;              /* what the present estimate was made from */
    uint64_t dirty_bps;                  /* recent, from the second iteration on; 0: not seen */
    uint64_t first_bytes;    /* sent in the first iteration: non-zero pages; 0: not seen */
    unsigned moves;          /* number of moves to a later end */
    enum eta_move why;       /* of the newest move */
    int64_t moved_ms;        /* when; 0: never */
    char note[ETA_NOTE_MAX]; /* the same as text */
};

void eta_step(struct eta *eta, const struct eta_input *input);
/* Remaining time at the newest sample; -1: not known. */
int64_t eta_left_ms(const struct eta *eta);
int64_t eta_left_low_ms(const struct eta *eta);
int64_t eta_left_high_ms(const struct eta *eta);

#endif
