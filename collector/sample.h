/* sample.h - one measurement of one running migration. Immutable once made. */
#ifndef COLLECTOR_SAMPLE_H
#define COLLECTOR_SAMPLE_H

#include "hypervisor/types.h"

enum { SAMPLE_JOB_MAX = 40 };

enum sample_source { SAMPLE_POLL, SAMPLE_ITERATION, SAMPLE_COMPLETED };
const char *sample_source_name(enum sample_source source); /* poll iteration completed */

struct sample {
    char job_uid[SAMPLE_JOB_MAX];
    char host[HV_HOST_MAX];
    char guest[HV_UUID_MAX];
    enum sample_source source;
    int64_t seq; /* 0, 1, 2... per job; continues after an adoption */
    int64_t mono_ms, wall_ms;
    int64_t gap_ms;         /* since the sample before, 0 for the first */
    uint64_t bandwidth_bps; /* bytes/s from data_processed over about 1 s (rate.h), never
                               memory_bps; 0 until two samples */
    struct hv_job_stats stats;
};

/* Do these statistics describe an outgoing migration in progress? Before QEMU starts all totals are
 * zero, after the end there is no job, and a backup is a job of another kind. */
bool sample_is_measurement(const struct hv_job_stats *stats);

/* Does this version know the number? -1: it could not be read. */
bool status_is_known_state(int state);
bool status_is_known_type(int type);
bool status_is_known_operation(int operation);

#endif
