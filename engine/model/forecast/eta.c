/* eta.c - see eta.h. */
#include "engine/model/forecast/eta.h"

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
#include "engine/model/forecast/eta.def"
};
#undef ETA_MOVE

const char *eta_move_name(enum eta_move move)
{
    return move < ETA_MOVE_COUNT ? names[move] : "unknown";
}

/* Each iteration takes as long as the one before let the guest dirty memory: a geometric sum. */
static double left_ms(double remaining, double bandwidth, double dirty)
{
    double ms = remaining * 1000 / (bandwidth - dirty);
    return ms < FAR_MS ? ms : FAR_MS;
}

/* QEMU counts memory dirtied during an iteration as remaining only at its end. */
static double all_left(const struct eta *eta, const struct eta_input *input)
{
    double left = (double)input->remaining, most = (double)eta->iteration_bytes;
    double more = (double)input->dirty_bps * (double)(input->now_ms - eta->iteration_ms) / 1000;
    if (input->stopped || input->postcopy || left > most)
        return left;
    return left + more < most ? left + more : most;
}

static void note_iteration(struct eta *eta, const struct eta_input *input)
{
    double dirty = (double)input->dirty_bps, late = (double)eta->dirty_bps;
    if (input->iteration > 1 && !input->postcopy && !input->stopped)
        eta->dirty_bps = (uint64_t)(late > 0 ? late + (dirty - late) / 8 : dirty);
    if (eta->iteration == input->iteration && eta->iteration_ms != 0)
        return;
    if (eta->iteration == 1 && input->iteration == 2)
        eta->first_bytes = input->sent;
    eta->iteration = input->iteration;
    eta->iteration_bytes = input->remaining;
    eta->iteration_ms = input->now_ms;
}

static double within(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* In the first iteration the dirty rate is not known: the forecast decides, within what the path
 * shows. */
static void guess(const struct eta_input *input, struct estimate *is)
{
    double end = (double)(input->forecast_ms - input->now_ms);
    double high = (double)(input->forecast_high_ms - input->now_ms);
    is->likely_ms = within(end, is->low_ms * 1.1, is->low_ms * 3);
    is->high_ms = within(high, is->likely_ms * 2, is->likely_ms * 4);
}

static struct estimate estimate(const struct eta *eta, const struct eta_input *input)
{
    struct estimate out = {0};
    double left = all_left(eta, input), rate = (double)input->bandwidth_bps;
    double dirty = input->stopped || input->postcopy ? 0 : (double)input->dirty_bps;
    if (input->remaining == 0)
        return (struct estimate){.known = true};
    if (rate < 1 || dirty >= rate)
        return out;
    out.known = true;
    out.low_ms = left_ms((double)input->remaining, rate, 0);
    out.likely_ms = left_ms(left, rate, dirty);
    /* assumes half as much again is dirtied, but not so much that it never converges */
    double worse = dirty * 1.5 < (rate + dirty) / 2 ? dirty * 1.5 : (rate + dirty) / 2;
    out.high_ms = left_ms(left, rate, worse) * 1.2;
    if (input->iteration <= 1 && !input->stopped && !input->postcopy)
        guess(input, &out);
    return out;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

__attribute__((format(printf, 4, 5))) static void note(struct eta *eta, enum eta_move why,
                                                       const struct eta_input *input,
                                                       const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(eta->note, sizeof eta->note, fmt, args);
    va_end(args);
    eta->why = why;
    eta->moves++;
    eta->moved_ms = input->now_ms;
}

static void lose(struct eta *eta, const struct eta_input *input)
{
    if (!eta->known)
        return;
    eta->known = false;
    if (input->bandwidth_bps == 0)
        note(eta, ETA_MOVE_STALLED, input, "unknown: no bytes move");
    else
        note(eta, ETA_MOVE_DIVERGES, input, "unknown: dirty rate %.0f MiB/s, bandwidth %.0f MiB/s",
             mib(input->dirty_bps), mib(input->bandwidth_bps));
}

/* What changed most since the present estimate was made. */
static void move_later(struct eta *eta, const struct eta_input *input, int64_t later_ms)
{
    const struct eta_input *was = &eta->basis;
    double s = (double)later_ms / 1000, now_rate = (double)input->bandwidth_bps;
    double dropped = now_rate > 0 ? (double)was->bandwidth_bps / now_rate : 1;
    double rose = (double)(input->dirty_bps + 1) / (double)(was->dirty_bps + 1);
    if (input->postcopy && !was->postcopy)
        note(eta, ETA_MOVE_POSTCOPY, input, "%.0f s later: post-copy began at %.0f MiB/s", s,
             mib(input->bandwidth_bps));
    else if (was->iteration == 0 && input->iteration > 0)
        note(eta, ETA_MOVE_MEMORY, input, "%.0f s later: memory follows the disks", s);
    else if (was->iteration <= 1 && input->iteration > 1 && input->dirty_bps > 0)
        note(eta, ETA_MOVE_FIRST_ITERATION, input,
             "%.0f s later: first iteration done, dirty rate %.0f MiB/s", s, mib(input->dirty_bps));
    else if (rose > 1.05 && rose >= dropped)
        note(eta, ETA_MOVE_DIRTY, input, "%.0f s later: dirty rate %.0f MiB/s instead of %.0f", s,
             mib(input->dirty_bps), mib(was->dirty_bps));
    else if (dropped > 1.05)
        note(eta, ETA_MOVE_BANDWIDTH, input, "%.0f s later: bandwidth %.0f MiB/s instead of %.0f",
             s, mib(input->bandwidth_bps), mib(was->bandwidth_bps));
    else
        note(eta, ETA_MOVE_SLOWER, input,
             "%.0f s later: remaining %.0f MiB shrink more slowly than expected", s,
             mib(input->remaining));
}

static void state(struct eta *eta, const struct eta_input *input, const struct estimate *is)
{
    eta->end_ms = input->now_ms + (int64_t)is->likely_ms;
    eta->low_ms = input->now_ms + (int64_t)is->low_ms;
    eta->high_ms = input->now_ms + (int64_t)is->high_ms;
    eta->basis = *input;
    eta->known = true;
}

static int64_t margin_ms(const struct eta *eta, const struct eta_input *input)
{
    int64_t part = (eta->end_ms - input->now_ms) / 100 * MARGIN_PERCENT;
    return part > MARGIN_MIN_MS ? part : MARGIN_MIN_MS;
}

/* An earlier end is shown at once; the interval follows, but no part of it moves later. */
static void hold(struct eta *eta, const struct eta_input *input, const struct estimate *is)
{
    int64_t end = input->now_ms + (int64_t)is->likely_ms;
    int64_t low = input->now_ms + (int64_t)is->low_ms;
    int64_t high = input->now_ms + (int64_t)is->high_ms;
    if (end < eta->end_ms) {
        eta->end_ms = end;
        eta->basis = *input;
    }
    if (high < eta->high_ms)
        eta->high_ms = high;
    if (eta->high_ms < eta->end_ms)
        eta->high_ms = eta->end_ms;
    eta->low_ms = low < eta->end_ms ? low : eta->end_ms;
}

void eta_step(struct eta *eta, const struct eta_input *input)
{
    note_iteration(eta, input);
    struct estimate is = estimate(eta, input);
    bool first = eta->now_ms == 0 && !eta->known && eta->moves == 0;
    eta->now_ms = input->now_ms;
    if (!is.known) {
        lose(eta, input);
        return;
    }
    if (!eta->known) {
        if (!first && eta->moves > 0)
            note(eta, ETA_MOVE_RETURNED, input, "known again: bandwidth %.0f MiB/s",
                 mib(input->bandwidth_bps));
        state(eta, input, &is);
        return;
    }
    int64_t later_ms = input->now_ms + (int64_t)is.likely_ms - eta->end_ms;
    if (later_ms <= margin_ms(eta, input)) {
        hold(eta, input, &is);
        return;
    }
    move_later(eta, input, later_ms);
    state(eta, input, &is);
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
