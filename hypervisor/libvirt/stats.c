/* stats.c - libvirt's typed parameters of a job as numbers.
 *
 * libvirt reports most fields as unsigned 64 bit and a few as int, and has changed types before; so
 * any whole number is accepted. What is not listed, not a number or negative is left at 0, which
 * the contract defines as "not given".
 */
#include <string.h>

#include "hypervisor/libvirt/internal.h"

static const struct {
    const char *name;
    enum { WIDE, NARROW } width; /* uint64_t or int */
    size_t offset;
} fields[] = {
#define FIELD(name, width, member)                         \
    {                                                      \
        name, width, offsetof(struct hv_job_stats, member) \
    }
    FIELD(VIR_DOMAIN_JOB_OPERATION, NARROW, operation),
    FIELD(VIR_DOMAIN_JOB_TIME_ELAPSED, WIDE, time_elapsed_ms),
    FIELD(VIR_DOMAIN_JOB_DOWNTIME, WIDE, downtime_ms),
    FIELD(VIR_DOMAIN_JOB_SETUP_TIME, WIDE, setup_ms),
    FIELD(VIR_DOMAIN_JOB_DATA_TOTAL, WIDE, data_total),
    FIELD(VIR_DOMAIN_JOB_DATA_PROCESSED, WIDE, data_processed),
    FIELD(VIR_DOMAIN_JOB_DATA_REMAINING, WIDE, data_remaining),
    FIELD(VIR_DOMAIN_JOB_MEMORY_TOTAL, WIDE, memory_total),
    FIELD(VIR_DOMAIN_JOB_MEMORY_PROCESSED, WIDE, memory_processed),
    FIELD(VIR_DOMAIN_JOB_MEMORY_REMAINING, WIDE, memory_remaining),
    FIELD(VIR_DOMAIN_JOB_MEMORY_BPS, WIDE, memory_bps),
    FIELD(VIR_DOMAIN_JOB_MEMORY_CONSTANT, WIDE, memory_constant),
    FIELD(VIR_DOMAIN_JOB_MEMORY_NORMAL, WIDE, memory_normal),
    FIELD(VIR_DOMAIN_JOB_MEMORY_NORMAL_BYTES, WIDE, memory_normal_bytes),
    FIELD(VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE, WIDE, memory_dirty_rate),
    FIELD(VIR_DOMAIN_JOB_MEMORY_PAGE_SIZE, WIDE, memory_page_size),
    FIELD(VIR_DOMAIN_JOB_MEMORY_ITERATION, WIDE, memory_iteration),
    FIELD(VIR_DOMAIN_JOB_MEMORY_POSTCOPY_REQS, WIDE, memory_postcopy_requests),
    FIELD(VIR_DOMAIN_JOB_DISK_TOTAL, WIDE, disk_total),
    FIELD(VIR_DOMAIN_JOB_DISK_PROCESSED, WIDE, disk_processed),
    FIELD(VIR_DOMAIN_JOB_DISK_REMAINING, WIDE, disk_remaining),
    FIELD(VIR_DOMAIN_JOB_DISK_BPS, WIDE, disk_bps),
    FIELD(VIR_DOMAIN_JOB_AUTO_CONVERGE_THROTTLE, WIDE, auto_converge_throttle),
#undef FIELD
};

static uint64_t not_negative(long long value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static bool whole_number(const virTypedParameter *param, uint64_t *out_value)
{
    switch (param->type) {
    case VIR_TYPED_PARAM_INT: *out_value = not_negative(param->value.i); return true;
    case VIR_TYPED_PARAM_UINT: *out_value = param->value.ui; return true;
    case VIR_TYPED_PARAM_LLONG: *out_value = not_negative(param->value.l); return true;
    case VIR_TYPED_PARAM_ULLONG: *out_value = param->value.ul; return true;
    default: return false;
    }
}

static void store(struct hv_job_stats *stats, size_t field, uint64_t value)
{
    unsigned char *at = (unsigned char *)stats + fields[field].offset;
    if (fields[field].width == WIDE) {
        memcpy(at, &value, sizeof value);
    } else if (value <= INT32_MAX) {
        int narrow = (int)value;
        memcpy(at, &narrow, sizeof narrow);
    }
}

/* Sets everything but the job's type, which libvirt does not give as a parameter. */
void libvirt_stats_decode(const virTypedParameter *params, int n, struct hv_job_stats *out_stats)
{
    *out_stats = (struct hv_job_stats){0};
    for (int i = 0; i < n; i++) {
        uint64_t value;
        if (!whole_number(&params[i], &value))
            continue;
        for (size_t field = 0; field < COUNT(fields); field++) {
            if (strcmp(params[i].field, fields[field].name) == 0) {
                store(out_stats, field, value);
                break;
            }
        }
    }
}
