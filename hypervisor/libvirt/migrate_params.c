/* migrate_params.c - a migration's flags and typed parameters for libvirt: one row per flag, one
 * per parameter.
 *
 * Parameters that make no sense together are not sent (a tunnelled stream has no address); all
 * other combinations are sent, and a host that cannot do them refuses before it touches the guest.
 */
#include <string.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"

static const struct {
    unsigned params;
    unsigned flags;
} flag_rows[] = {
    {HV_MIGRATE_POSTCOPY, VIR_MIGRATE_POSTCOPY},
    {HV_MIGRATE_AUTO_CONVERGE, VIR_MIGRATE_AUTO_CONVERGE},
    {HV_MIGRATE_UNSAFE, VIR_MIGRATE_UNSAFE},
    {HV_MIGRATE_PAUSED, VIR_MIGRATE_PAUSED},
    {HV_MIGRATE_TLS, VIR_MIGRATE_TLS},
    {HV_MIGRATE_NON_SHARED_DISK, VIR_MIGRATE_NON_SHARED_DISK},
    {HV_MIGRATE_NON_SHARED_INC, VIR_MIGRATE_NON_SHARED_INC},
    {HV_MIGRATE_PERSIST, VIR_MIGRATE_PERSIST_DEST | VIR_MIGRATE_UNDEFINE_SOURCE},
    {HV_MIGRATE_TUNNELLED, VIR_MIGRATE_TUNNELLED},
    {HV_MIGRATE_RESUME, VIR_MIGRATE_POSTCOPY | VIR_MIGRATE_POSTCOPY_RESUME},
    {HV_MIGRATE_XBZRLE, VIR_MIGRATE_COMPRESSED},
    {HV_MIGRATE_MT, VIR_MIGRATE_COMPRESSED},
    {HV_MIGRATE_ZSTD, VIR_MIGRATE_COMPRESSED},
};

/* Not sent on a resume: disks, pre-copy, capabilities that were set at the start. */
enum {
    NOT_ON_RESUME = VIR_MIGRATE_AUTO_CONVERGE | VIR_MIGRATE_COMPRESSED | VIR_MIGRATE_PARALLEL |
                    VIR_MIGRATE_NON_SHARED_DISK | VIR_MIGRATE_NON_SHARED_INC
};

/* Values of a parameter that may be repeated. libvirt knows zstd since 9.1; an older host refuses
 * it. */
static const struct {
    unsigned params;
    const char *method;
} compression_rows[] = {
    {HV_MIGRATE_XBZRLE, "xbzrle"},
    {HV_MIGRATE_MT, "mt"},
    {HV_MIGRATE_ZSTD, "zstd"},
};

/* Numbers, sent when they are not 0. A resumed stream keeps its numbers except the post-copy
 * bandwidth, which must be sent again. */
#define AT(member) offsetof(struct hv_migrate, member)
static const struct {
    const char *name;
    size_t offset; /* of a uint64_t */
    bool on_resume;
} limit_rows[] = {
    {VIR_MIGRATE_PARAM_BANDWIDTH, AT(bandwidth_mibs), false},
    {VIR_MIGRATE_PARAM_BANDWIDTH_POSTCOPY, AT(postcopy_bandwidth_mibs), true},
};
static const struct {
    const char *name;
    size_t offset; /* of an int */
} count_rows[] = {
    {VIR_MIGRATE_PARAM_AUTO_CONVERGE_INITIAL, AT(auto_converge_initial)},
    {VIR_MIGRATE_PARAM_AUTO_CONVERGE_INCREMENT, AT(auto_converge_increment)},
    {VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS, AT(parallel_connections)},
};
#undef AT

/* Always peer to peer: the source's libvirtd runs the migration, which outlives Ferry. */
static unsigned flags_of(const struct hv_migrate *how)
{
    unsigned flags = VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER;
    for (size_t i = 0; i < COUNT(flag_rows); i++)
        if ((how->flags & flag_rows[i].params) != 0)
            flags |= flag_rows[i].flags;
    if (how->parallel_connections > 0)
        flags |= VIR_MIGRATE_PARALLEL;
    bool resumes = (how->flags & HV_MIGRATE_RESUME) != 0;
    return resumes ? flags & ~(unsigned)NOT_ON_RESUME : flags;
}

/* Never the live one alone of a defined guest: libvirt 10.0 to 10.9 would store that on the target
 * (hypervisor/versions.def). The target of a broken post-copy has them. */
unsigned libvirt_sent_definitions(const struct hv_migrate *how)
{
    bool changes = how->n_volumes > 0 || (how->flags & HV_MIGRATE_AS_DEFINED) != 0;
    if (!changes || (how->flags & HV_MIGRATE_RESUME) != 0)
        return 0;
    bool persists = (how->flags & HV_MIGRATE_PERSIST) != 0;
    return LIBVIRT_SENDS_LIVE | (persists ? LIBVIRT_SENDS_STORED : 0U);
}

void libvirt_migrate_params_text(struct migrate_params *params, const char *name, const char *text)
{
    if (virTypedParamsAddString(&params->items, &params->n, &params->capacity, name, text) < 0)
        params->failed = true;
}

static void add_limit(struct migrate_params *params, const char *name, uint64_t value)
{
    if (value > 0 &&
        virTypedParamsAddULLong(&params->items, &params->n, &params->capacity, name, value) < 0)
        params->failed = true;
}

static void add_count(struct migrate_params *params, const char *name, int value)
{
    if (value > 0 &&
        virTypedParamsAddInt(&params->items, &params->n, &params->capacity, name, value) < 0)
        params->failed = true;
}

static void add_numbers(struct migrate_params *params, const struct hv_migrate *how)
{
    const char *base = (const char *)how;
    bool resumes = (how->flags & HV_MIGRATE_RESUME) != 0;
    for (size_t i = 0; i < COUNT(limit_rows); i++) {
        uint64_t value;
        memcpy(&value, base + limit_rows[i].offset, sizeof value);
        if (!resumes || limit_rows[i].on_resume)
            add_limit(params, limit_rows[i].name, value);
    }
    for (size_t i = 0; !resumes && i < COUNT(count_rows); i++) {
        int value;
        memcpy(&value, base + count_rows[i].offset, sizeof value);
        add_count(params, count_rows[i].name, value);
    }
    for (size_t i = 0; !resumes && i < COUNT(compression_rows); i++)
        if ((how->flags & compression_rows[i].params) != 0)
            libvirt_migrate_params_text(params, VIR_MIGRATE_PARAM_COMPRESSION,
                                        compression_rows[i].method);
}

/* Without a port: libvirt takes a free one of its range on the target. */
static void add_uri(struct migrate_params *params, const char *host, unsigned port)
{
    bool is_bare_ipv6 = strchr(host, ':') != NULL && *host != '[';
    char uri[HV_TEXT_MAX + 16], tail[16] = "";
    if (port != 0)
        (void)snprintf(tail, sizeof tail, ":%u", port);
    (void)snprintf(uri, sizeof uri, is_bare_ipv6 ? "tcp://[%s]%s" : "tcp://%s%s", host, tail);
    libvirt_migrate_params_text(params, VIR_MIGRATE_PARAM_URI, uri);
}

/* Addresses of the stream. A tunnelled one uses libvirt's own connection. */
static void add_addresses(struct migrate_params *params, const struct hv_migrate *how,
                          const struct hv_host *target)
{
    char listen[HV_TEXT_MAX];
    bool tunnelled = (how->flags & HV_MIGRATE_TUNNELLED) != 0;
    if (!tunnelled && target->migration_host[0] != '\0')
        add_uri(params, target->migration_host, how->port);
    if (!tunnelled && target->listen[0] != '\0')
        libvirt_migrate_params_text(params, VIR_MIGRATE_PARAM_LISTEN_ADDRESS, target->listen);
    else if (!tunnelled && hv_literal_address(target->migration_host, listen, sizeof listen))
        libvirt_migrate_params_text(params, VIR_MIGRATE_PARAM_LISTEN_ADDRESS, listen);
    if ((how->flags & HV_MIGRATE_TLS) != 0 && target->tls_name[0] != '\0')
        libvirt_migrate_params_text(params, VIR_MIGRATE_PARAM_TLS_DESTINATION, target->tls_name);
}

struct migrate_params libvirt_migrate_params(const struct hv_migrate *how,
                                             const struct hv_host *target)
{
    struct migrate_params params = {.flags = flags_of(how)};
    add_numbers(&params, how);
    add_addresses(&params, how, target);
    return params;
}

void libvirt_migrate_params_fini(struct migrate_params *params)
{
    virTypedParamsFree(params->items, params->n);
    *params = (struct migrate_params){0};
}
