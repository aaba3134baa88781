/* monitor_rules.h - what monitor.c and its two algorithms share. Nobody else includes it. */
#ifndef ENGINE_DATA_MONITOR_RULES_H
#define ENGINE_DATA_MONITOR_RULES_H

#include "engine/data/monitor.h"

struct monitor_digest { /* one input, digested */
    const struct monitor_input *in;
    bool moved;          /* memory, since the sample before */
    bool flows;          /* within MONITOR_FLOW_MS */
    bool boundary;       /* an iteration has begun since the sample before */
    int64_t estimate_ms; /* -1: not known */
};

/* Fills the decision, with the numbers of the state after its text. */
void monitor_decide(const struct monitor *m, const struct monitor_digest *digest,
                    struct monitor_decision *out, enum decision why, int64_t downtime_ms,
                    const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Seconds as milliseconds, bounded, so that no sum of times overflows. */
int64_t monitor_ms(double seconds);
/* Number of units of so many bytes, rounded up. */
double monitor_units(uint64_t bytes, uint64_t unit);

void legacy_begin(struct monitor *m);
void legacy_step(struct monitor *m, const struct monitor_digest *digest,
                 struct monitor_decision *out);
void stall_begin(struct monitor *m);
void stall_step(struct monitor *m, const struct monitor_digest *digest,
                struct monitor_decision *out);

#endif
