/* sample.c - see sample.h. */
#include "collector/sample.h"

#include <assert.h>

#include "base/own.h"

const char *sample_source_name(enum sample_source source)
{
    static const char *const names[] = {
        [SAMPLE_POLL] = "poll",
        [SAMPLE_ITERATION] = "iteration",
        [SAMPLE_COMPLETED] = "completed",
    };
    assert((size_t)source < COUNT(names));
    return names[source];
}

bool sample_is_measurement(const struct hv_job_stats *stats)
{
    bool is_ours =
        stats->operation == HV_OPERATION_MIGRATION_OUT || stats->operation == HV_OPERATION_UNKNOWN;
    bool has_begun = stats->data_total > 0 || stats->memory_total > 0 || stats->disk_total > 0;
    return stats->type == HV_JOB_UNBOUNDED && is_ours && has_begun;
}

bool status_is_known_state(int state)
{
    return state >= HV_STATE_NONE && state <= HV_STATE_PMSUSPENDED;
}

bool status_is_known_type(int type)
{
    return type >= -1 && type <= HV_JOB_CANCELLED;
}

bool status_is_known_operation(int operation)
{
    return operation >= HV_OPERATION_UNKNOWN && operation <= HV_OPERATION_SNAPSHOT_DELETE;
}
