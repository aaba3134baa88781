/* metrics_self.h - Ferry's own statistics, as the appliance passes them. */
#ifndef EXPORTER_METRICS_METRICS_SELF_H
#define EXPORTER_METRICS_METRICS_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ferry's own statistics, sampled once a second by the appliance. */
struct exporter_self {
    uint64_t samples, samples_dropped, stats_failures;
    int64_t collector_lag_ms, sample_gap_max_ms;
    size_t collector_queue, engine_queue, analyser_queue;
    uint64_t collector_drops, engine_drops, verdict_failures;
    uint64_t commits, commit_failures, commit_ms_total;
    int64_t commit_ms_max;
    uint64_t unknown_statuses[3]; /* unknown states, types and operations of jobs */
    uint64_t turns, internal_errors;
    int64_t turn_age_ms;
    bool store_ok;
    size_t n_lanes;
    const struct exporter_lane { /* borrowed during the call */
        const char *node, *lane;
        unsigned in_flight;
        int64_t oldest_ms;
        uint64_t calls, failures, total_ms;
        unsigned openings_hanging;
        uint64_t openings_abandoned;
    } * lanes;
    /* Where several appliances share the store; else 0 and "". */
    const char *appliance; /* borrowed during the call, as the cells */
    int64_t store_answer_ms, takeover_ms;
    size_t n_cells;
    const struct exporter_cell {
        const char *cell, *holder; /* holder "": nobody's lease is valid */
        int64_t epoch, left_ms;    /* left_ms -1: another appliance's */
    } * cells;
};

#endif
