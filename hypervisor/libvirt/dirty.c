/* dirty.c - the dirty rate of a guest, measured by QEMU.
 *
 * Only by page sampling. The dirty bitmap, which would be exact, crashes an emulated guest. The
 * result counts distinct pages, so it saturates at the working set; libvirt reports whole MiB/s.
 */
#include <limits.h>

#include "base/clock.h"
#include "hypervisor/libvirt/internal.h"

enum { POLL_MS = 100, GRACE_MS = 10000 };

bool libvirt_dirty_decode(const virTypedParameter *params, int n, uint64_t *out_bps)
{
    virTypedParameter *items =
        (virTypedParameter *)(uintptr_t)params; /* libvirt's lookup is not const */
    int status = -1;
    long long mibs = 0;
    if (virTypedParamsGetInt(items, n, "dirtyrate.calc_status", &status) != 1 ||
        status != VIR_DOMAIN_DIRTYRATE_MEASURED ||
        virTypedParamsGetLLong(items, n, "dirtyrate.megabytes_per_second", &mibs) != 1 || mibs < 0)
        return false;
    *out_bps = (uint64_t)mibs << 20;
    return true;
}

static bool read_rate(virDomainPtr domain, bool *out_done, uint64_t *out_bps)
{
    virDomainPtr domains[] = {domain, NULL};
    virDomainStatsRecordPtr *records = NULL;
    int n = virDomainListGetStats(domains, VIR_DOMAIN_STATS_DIRTYRATE, &records, 0);
    if (n < 0)
        return false;
    *out_done = n == 1 && libvirt_dirty_decode(records[0]->params, records[0]->nparams, out_bps);
    virDomainStatsRecordListFree(records);
    return true;
}

bool libvirt_dirty_measure(virDomainPtr domain, const struct job *job, uint64_t *out_bps,
                           struct err *err)
{
    virConnectPtr conn = virDomainGetConnect(domain);
    const struct libvirt *libvirt = job->host->libvirt;
    uint64_t seconds = job->request.with.tune.value;
    int window_s = seconds < INT_MAX ? (int)seconds : INT_MAX; /* libvirt takes 1 to 60 */
    if (virDomainStartDirtyRateCalc(domain, window_s, VIR_DOMAIN_DIRTYRATE_MODE_PAGE_SAMPLING) < 0)
        return libvirt_connection_fail(conn, err);

    int64_t window_ms = (int64_t)window_s * 1000;
    bool done = false;
    for (int64_t waited = 0; waited < window_ms + GRACE_MS; waited += POLL_MS) {
        if (atomic_load(&libvirt->closing))
            break;
        clock_sleep_ms(POLL_MS);
        if (waited + POLL_MS < window_ms)
            continue;
        if (!read_rate(domain, &done, out_bps))
            return libvirt_connection_fail(conn, err);
        if (done)
            return true;
    }
    return err_set(err, ERR_HYPERVISOR, "the measurement did not end");
}
