/* eta.c - see eta.h. */
#include "engine/model/eta.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/own.h"

enum { MARGIN_MIN_MS = 1000, MARGIN_PERCENT = 10 };
#define FAR_MS 1e12

struct estimate {
    bool known;
    double likely_ms, low_ms, high_ms; /* time left */
};

#define ETA_MOVE(id, name, help) name,
static const char *const names[] = {
#include "engine/model/eta.def"
};
#undef ETA_MOVE

const char *eta_move_name(enum eta_move move)
{
    return move < ETA_MOVE_COUNT ? names[move] : "unknown";
}

/* Passes that each take as long as the one before let be written: a geometric sum. */
static double left_ms(double remaining, double bandwidth, double dirty)
{
    double ms = remaining * 1000 / (bandwidth - dirty);
    return ms < FAR_MS ? ms : FAR_MS;
}

/* What was written since the pass began is not counted as left before the pass is over. */
static double all_left(const struct eta *eta, const struct eta_look *look)
{
    double left = (double)look->remaining, most = (double)eta->pass_bytes;
    double more = (double)look->dirty_bps * (double)(look->now_ms - eta->pass_ms) / 1000;
    if (look->stopped || look->postcopy || left > most)
        return left;
    return left + more < most ? left + more : most;
}

static void note_pass(struct eta *eta, const struct eta_look *look)
{
    double dirty = (double)look->dirty_bps, late = (double)eta->dirty_bps;
    if (look->pass > 1 && !look->postcopy && !look->stopped)
        eta->dirty_bps = (uint64_t)(late > 0 ? late + (dirty - late) / 8 : dirty);
    if (eta->pass == look->pass && eta->pass_ms != 0)
        return;
    if (eta->pass == 1 && look->pass == 2)
        eta->first_bytes = look->sent;
    eta->pass = look->pass;
    eta->pass_bytes = look->remaining;
    eta->pass_ms = look->now_ms;
}

static double within(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* In the first pass nobody knows what the guest writes: the forecast has the word, within what the
 * path shows. */
static void guess(const struct eta_look *look, struct estimate *is)
{
    double end = (double)(look->forecast_ms - look->now_ms);
    double high = (double)(look->forecast_high_ms - look->now_ms);
    is->likely_ms = within(end, is->low_ms * 1.1, is->low_ms * 3);
    is->high_ms = within(high, is->likely_ms * 2, is->likely_ms * 4);
}

static struct estimate estimate(const struct eta *eta, const struct eta_look *look)
{
    struct estimate out = {0};
    double left = all_left(eta, look), rate = (double)look->bandwidth_bps;
    double dirty = look->stopped || look->postcopy ? 0 : (double)look->dirty_bps;
    if (look->remaining == 0)
        return (struct estimate){.known = true};
    if (rate < 1 || dirty >= rate)
        return out;
    out.known = true;
    out.low_ms = left_ms((double)look->remaining, rate, 0);
    out.likely_ms = left_ms(left, rate, dirty);
    /* half as much again is written, but not so much that it would never end */
    double worse = dirty * 1.5 < (rate + dirty) / 2 ? dirty * 1.5 : (rate + dirty) / 2;
    out.high_ms = left_ms(left, rate, worse) * 1.2;
    if (look->pass <= 1 && !look->stopped && !look->postcopy)
        guess(look, &out);
    return out;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

__attribute__((format(printf, 4, 5))) static void note(struct eta *eta, enum eta_move why,
                                                       const struct eta_look *look, const char *fmt,
                                                       ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(eta->note, sizeof eta->note, fmt, args);
    va_end(args);
    eta->why = why;
    eta->moves++;
    eta->moved_ms = look->now_ms;
}

static void lose(struct eta *eta, const struct eta_look *look)
{
    if (!eta->known)
        return;
    eta->known = false;
    if (look->bandwidth_bps == 0)
        note(eta, ETA_MOVE_STALLED, look, "cannot be said: no bytes move");
    else
        note(eta, ETA_MOVE_DIVERGES, look,
             "cannot be said: the guest writes %.0f MiB/s and %.0f MiB/s move",
             mib(look->dirty_bps), mib(look->bandwidth_bps));
}

/* What has changed most since the present statement was made. */
static void say_later(struct eta *eta, const struct eta_look *look, int64_t later_ms)
{
    const struct eta_look *was = &eta->said;
    double s = (double)later_ms / 1000, now_rate = (double)look->bandwidth_bps;
    double fell = now_rate > 0 ? (double)was->bandwidth_bps / now_rate : 1;
    double rose = (double)(look->dirty_bps + 1) / (double)(was->dirty_bps + 1);
    if (look->postcopy && !was->postcopy)
        note(eta, ETA_MOVE_POSTCOPY, look, "%.0f s later: post-copy began at %.0f MiB/s", s,
             mib(look->bandwidth_bps));
    else if (was->pass == 0 && look->pass > 0)
        note(eta, ETA_MOVE_MEMORY, look, "%.0f s later: memory follows the disks", s);
    else if (was->pass <= 1 && look->pass > 1 && look->dirty_bps > 0)
        note(eta, ETA_MOVE_FIRST_PASS, look,
             "%.0f s later: the first pass is over, the guest writes %.0f MiB/s", s,
             mib(look->dirty_bps));
    else if (rose > 1.05 && rose >= fell)
        note(eta, ETA_MOVE_DIRTY, look, "%.0f s later: the guest writes %.0f MiB/s instead of %.0f",
             s, mib(look->dirty_bps), mib(was->dirty_bps));
    else if (fell > 1.05)
        note(eta, ETA_MOVE_BANDWIDTH, look, "%.0f s later: %.0f MiB/s move instead of %.0f", s,
             mib(look->bandwidth_bps), mib(was->bandwidth_bps));
    else
        note(eta, ETA_MOVE_SLOWER, look, "%.0f s later: %.0f MiB left shrink slower than expected",
             s, mib(look->remaining));
}

static void state(struct eta *eta, const struct eta_look *look, const struct estimate *is)
{
    eta->end_ms = look->now_ms + (int64_t)is->likely_ms;
    eta->low_ms = look->now_ms + (int64_t)is->low_ms;
    eta->high_ms = look->now_ms + (int64_t)is->high_ms;
    eta->said = *look;
    eta->known = true;
}

static int64_t margin_ms(const struct eta *eta, const struct eta_look *look)
{
    int64_t part = (eta->end_ms - look->now_ms) / 100 * MARGIN_PERCENT;
    return part > MARGIN_MIN_MS ? part : MARGIN_MIN_MS;
}

/* Nearer is said at once; the rest of the interval follows, but no part of it moves later. */
static void hold(struct eta *eta, const struct eta_look *look, const struct estimate *is)
{
    int64_t end = look->now_ms + (int64_t)is->likely_ms;
    int64_t low = look->now_ms + (int64_t)is->low_ms;
    int64_t high = look->now_ms + (int64_t)is->high_ms;
    if (end < eta->end_ms) {
        eta->end_ms = end;
        eta->said = *look;
    }
    if (high < eta->high_ms)
        eta->high_ms = high;
    if (eta->high_ms < eta->end_ms)
        eta->high_ms = eta->end_ms;
    eta->low_ms = low < eta->end_ms ? low : eta->end_ms;
}

void eta_step(struct eta *eta, const struct eta_look *look)
{
    note_pass(eta, look);
    struct estimate is = estimate(eta, look);
    bool first = eta->now_ms == 0 && !eta->known && eta->moves == 0;
    eta->now_ms = look->now_ms;
    if (!is.known) {
        lose(eta, look);
        return;
    }
    if (!eta->known) {
        if (!first && eta->moves > 0)
            note(eta, ETA_MOVE_RETURNED, look, "it can be said again: %.0f MiB/s move",
                 mib(look->bandwidth_bps));
        state(eta, look, &is);
        return;
    }
    int64_t later_ms = look->now_ms + (int64_t)is.likely_ms - eta->end_ms;
    if (later_ms <= margin_ms(eta, look)) {
        hold(eta, look, &is);
        return;
    }
    say_later(eta, look, later_ms);
    state(eta, look, &is);
}

static int64_t left(const struct eta *eta, int64_t moment_ms)
{
    if (!eta->known)
        return -1;
    return moment_ms > eta->now_ms ? moment_ms - eta->now_ms : 0;
}

int64_t eta_left_ms(const struct eta *eta)
{
    return left(eta, eta->end_ms);
}

int64_t eta_left_low_ms(const struct eta *eta)
{
    return left(eta, eta->low_ms);
}

int64_t eta_left_high_ms(const struct eta *eta)
{
    return left(eta, eta->high_ms);
}
