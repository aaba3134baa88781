/* fake_domain.c - the fake's guests: lookups, states, definitions, jobs, orders, lists. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libvirt/fake_impl.h"

static struct fake_guest *of(virDomainPtr domain)
{
    return &fake.guests[domain->at];
}

size_t fake_find(const char *uuid)
{
    for (size_t i = 0; i < fake.n_guests; i++)
        if (strcmp(fake.guests[i].uuid, uuid) == 0)
            return i;
    return SIZE_MAX;
}

virDomainPtr fake_domain(virConnectPtr conn, size_t at)
{
    virDomainPtr domain = calloc(1, sizeof *domain);
    *domain = (struct _virDomain){conn, at};
    fake_object(1);
    return domain;
}

FAKE(virDomainPtr, virDomainLookupByUUIDString, virConnectPtr conn, const char *uuid)
{
    if (!fake_enter_quietly(conn, "virDomainLookupByUUIDString"))
        return NULL;
    if (fake_find(uuid) != SIZE_MAX)
        return fake_domain(conn, fake_find(uuid));
    fake_set_error(VIR_ERR_NO_DOMAIN, VIR_FROM_QEMU, "Domain not found");
    return NULL;
}

FAKE(int, virDomainFree, virDomainPtr domain)
{
    fake_object(-1);
    free(domain);
    return 0;
}

FAKE(virConnectPtr, virDomainGetConnect, virDomainPtr domain)
{
    return domain->conn;
}

FAKE(const char *, virDomainGetName, virDomainPtr domain)
{
    return of(domain)->name;
}

FAKE(int, virDomainGetUUIDString, virDomainPtr domain, char *out)
{
    if (!fake_enter_quietly(domain->conn, "virDomainGetUUIDString"))
        return -1;
    (void)snprintf(out, VIR_UUID_STRING_BUFLEN, "%s", of(domain)->uuid);
    return 0;
}

FAKE(int, virDomainGetState, virDomainPtr domain, int *state, int *reason, unsigned flags)
{
    if (!fake_enter(domain->conn, "virDomainGetState", "%s %u", of(domain)->name, flags))
        return -1;
    *state = of(domain)->state;
    *reason = of(domain)->reason;
    return 0;
}

FAKE(int, virDomainIsPersistent, virDomainPtr domain)
{
    return fake_enter_quietly(domain->conn, "virDomainIsPersistent") ? of(domain)->persistent : -1;
}

FAKE(int, virDomainGetAutostart, virDomainPtr domain, int *out)
{
    if (!fake_enter_quietly(domain->conn, "virDomainGetAutostart"))
        return -1;
    *out = of(domain)->autostart;
    return 0;
}

FAKE(int, virDomainGetInfo, virDomainPtr domain, virDomainInfoPtr info)
{
    if (!fake_enter_quietly(domain->conn, "virDomainGetInfo"))
        return -1;
    *info = (virDomainInfo){.maxMem = of(domain)->memory_kib,
                            .memory = of(domain)->balloon_kib,
                            .nrVirtCpu = of(domain)->vcpus};
    return 0;
}

FAKE(char *, virDomainGetMetadata, virDomainPtr domain, int type, const char *uri, unsigned flags)
{
    if (!fake_enter(domain->conn, "virDomainGetMetadata", "%s %d %s %u", of(domain)->name, type,
                    uri, flags))
        return NULL;
    if (of(domain)->metadata == NULL)
        fake_set_error(VIR_ERR_NO_DOMAIN_METADATA, VIR_FROM_QEMU, "metadata not found");
    return fake_text(of(domain)->metadata);
}

FAKE(char *, virDomainGetXMLDesc, virDomainPtr domain, unsigned flags)
{
    const struct fake_guest *guest = of(domain);
    if (!fake_enter(domain->conn, "virDomainGetXMLDesc", "%s %#x", guest->name, flags))
        return NULL;
    if ((flags & VIR_DOMAIN_XML_INACTIVE) != 0)
        return fake_text(guest->stored);
    bool migratable = (flags & VIR_DOMAIN_XML_MIGRATABLE) != 0 && guest->migratable != NULL;
    return fake_text(migratable ? guest->migratable : guest->xml);
}

FAKE(int, virDomainSnapshotNum, virDomainPtr domain, unsigned flags)
{
    return fake_enter(domain->conn, "virDomainSnapshotNum", "%s %u", of(domain)->name, flags)
               ? of(domain)->snapshots
               : -1;
}

FAKE(int, virDomainGetBlockInfo, virDomainPtr domain, const char *disk, virDomainBlockInfoPtr info,
     unsigned flags)
{
    if (!fake_enter(domain->conn, "virDomainGetBlockInfo", "%s %s %u", of(domain)->name, disk,
                    flags))
        return -1;
    *info = (virDomainBlockInfo){
        .capacity = of(domain)->capacity, .allocation = of(domain)->allocation, .physical = 1};
    return 0;
}

/* ---- jobs ---- */

FAKE(int, virDomainGetJobStats, virDomainPtr domain, int *type, virTypedParameterPtr *params,
     int *n, unsigned flags)
{
    if (!fake_enter(domain->conn, "virDomainGetJobStats", "%s %#x", of(domain)->name, flags))
        return -1;
    bool completed = (flags & VIR_DOMAIN_JOB_STATS_COMPLETED) != 0;
    *type = completed ? VIR_DOMAIN_JOB_COMPLETED : of(domain)->job_type;
    *params = fake_params(completed ? of(domain)->completed : of(domain)->job, n);
    return 0;
}

FAKE(int, virDomainMigrateToURI3, virDomainPtr domain, const char *uri, virTypedParameterPtr params,
     unsigned n, unsigned flags)
{
    char text[1800];
    fake_params_text(params, (int)n, text, sizeof text);
    return fake_enter(domain->conn, "virDomainMigrateToURI3", "%s %s %#x%s", of(domain)->name, uri,
                      flags, text)
               ? 0
               : -1;
}

/* An order without further parameters. */
#define ORDER(function)                                                              \
    FAKE(int, function, virDomainPtr domain)                                         \
    {                                                                                \
        return fake_enter(domain->conn, #function, "%s", of(domain)->name) ? 0 : -1; \
    }
/* Each use is a line that tests/targets.mk reads. */
#define ORDER_FLAGS(function)                                                                  \
    FAKE(int, function, virDomainPtr domain, unsigned flags)                                   \
    {                                                                                          \
        return fake_enter(domain->conn, #function, "%s %u", of(domain)->name, flags) ? 0 : -1; \
    }
ORDER(virDomainAbortJob)
ORDER(virDomainSuspend)
ORDER(virDomainShutdown)
ORDER(virDomainResume)
ORDER_FLAGS(virDomainAbortJobFlags)
ORDER_FLAGS(virDomainMigrateStartPostCopy)
ORDER_FLAGS(virDomainDestroyFlags)

FAKE(int, virDomainMigrateSetMaxSpeed, virDomainPtr domain, unsigned long mibs, unsigned flags)
{
    return fake_enter(domain->conn, "virDomainMigrateSetMaxSpeed", "%s %lu %u", of(domain)->name,
                      mibs, flags)
               ? 0
               : -1;
}

FAKE(int, virDomainMigrateSetMaxDowntime, virDomainPtr domain, unsigned long long ms,
     unsigned flags)
{
    return fake_enter(domain->conn, "virDomainMigrateSetMaxDowntime", "%s %llu %u",
                      of(domain)->name, ms, flags)
               ? 0
               : -1;
}

FAKE(int, virDomainSetAutostart, virDomainPtr domain, int on)
{
    return fake_enter(domain->conn, "virDomainSetAutostart", "%s %d", of(domain)->name, on) ? 0
                                                                                            : -1;
}

FAKE(int, virDomainStartDirtyRateCalc, virDomainPtr domain, int seconds, unsigned flags)
{
    return fake_enter(domain->conn, "virDomainStartDirtyRateCalc", "%s %d %u", of(domain)->name,
                      seconds, flags)
               ? 0
               : -1;
}

FAKE(int, virDomainQemuMonitorCommand, virDomainPtr domain, const char *command, char **out,
     unsigned flags)
{
    int before = fake_count("virDomainQemuMonitorCommand");
    if (!fake_enter(domain->conn, "virDomainQemuMonitorCommand", "%s %s %u", of(domain)->name,
                    command, flags))
        return -1;
    *out = fake_text(of(domain)->answers[before < 3 ? before : 2]);
    return *out != NULL ? 0 : -1;
}

/* ---- lists ---- */

static virDomainStatsRecordPtr record_of(virConnectPtr conn, size_t at,
                                         const struct fake_param *from)
{
    virDomainStatsRecordPtr record = calloc(1, sizeof *record);
    record->dom = fake_domain(conn, at);
    record->params = fake_params(from, &record->nparams);
    return record;
}

FAKE(int, virConnectGetAllDomainStats, virConnectPtr conn, unsigned stats,
     virDomainStatsRecordPtr **out, unsigned flags)
{
    if (!fake_enter(conn, "virConnectGetAllDomainStats", "%u %u", stats, flags))
        return -1;
    size_t n = fake.claims_guests > fake.n_guests ? fake.claims_guests : fake.n_guests;
    *out = calloc(n + 1, sizeof **out);
    for (size_t i = 0; i < n; i++) {
        size_t at = i < fake.n_guests ? i : 0;
        const struct fake_guest *guest = &fake.guests[at];
        struct fake_param params[FAKE_PARAMS_MAX] = {{"state.state", guest->state, true},
                                                     {"state.reason", guest->reason, true}};
        if (guest->hides_state)
            params[1].name = NULL;
        (*out)[i] = record_of(conn, at, params);
    }
    return (int)n;
}

FAKE(int, virDomainListGetStats, virDomainPtr *domains, unsigned stats,
     virDomainStatsRecordPtr **out, unsigned flags)
{
    virConnectPtr conn = domains[0]->conn;
    if (!fake_enter(conn, "virDomainListGetStats", "%s %u %u", of(domains[0])->name, stats, flags))
        return -1;
    *out = calloc(2, sizeof **out);
    (*out)[0] = record_of(conn, domains[0]->at, of(domains[0])->dirty);
    return 1;
}

FAKE(void, virDomainStatsRecordListFree, virDomainStatsRecordPtr *records)
{
    for (size_t i = 0; records != NULL && records[i] != NULL; i++) {
        virTypedParamsFree(records[i]->params, records[i]->nparams);
        (void)__wrap_virDomainFree(records[i]->dom);
        free(records[i]);
    }
    free(records);
}
