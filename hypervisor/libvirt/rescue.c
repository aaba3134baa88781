/* rescue.c - orders for a migration whose stream is stuck or broken: break it from the source
 * (yank), destroy the incoming copy, or reconnect a broken post-copy. The first two leave the guest
 * on the source; all refuse when the domain is not in the expected state.
 *
 * A yank goes through libvirt's own monitor, so it works only while that answers: before the
 * switch-over. With disks it must come before any abort: cancelling a mirror whose connection is
 * dead freezes the guest.
 */
#include <string.h>

#include <libvirt/libvirt-qemu.h>

#include "base/json.h"
#include "hypervisor/libvirt/internal.h"

/* Fails as if libvirt had refused: operation invalid. */
static bool refuse(struct err *err, const char *text)
{
    err->hv_code = VIR_ERR_OPERATION_INVALID;
    err->hv_domain = VIR_FROM_NONE;
    return err_set(err, ERR_HYPERVISOR, "%s", text);
}

/* The "return" of QEMU's answer, borrowed; NULL with err when it is an error or no answer. */
static struct json_object *returned(struct json_object *answer, struct err *err)
{
    const char *text;
    if (json_at(answer, "return") != NULL)
        return json_at(answer, "return");
    struct err broken = {0};
    if (!json_get_text(answer, "error.desc", "QEMU gave no answer", &text, &broken))
        text = "QEMU gave an answer that cannot be read";
    (void)refuse(err, text);
    return NULL;
}

/* Block nodes that libvirt makes for disks being copied. */
#define MIGRATION_NODE "migration-"

static const char *text_at(struct json_object *object, const char *path)
{
    const char *text;
    struct err ignored = {0};
    return json_get_text(object, path, "", &text, &ignored) ? text : "";
}

static bool is_ours(struct json_object *instance, bool disks)
{
    if (json_object_get_type(instance) != json_type_object)
        return false;
    const char *type = text_at(instance, "type");
    if (!disks)
        return strcmp(type, "migration") == 0;
    return strcmp(type, "block-node") == 0 &&
           strncmp(text_at(instance, "node-name"), MIGRATION_NODE, strlen(MIGRATION_NODE)) == 0;
}

static void choose(struct json_object *known, bool disks, struct json_object *chosen)
{
    size_t n = json_object_get_type(known) == json_type_array ? json_object_array_length(known) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *instance = json_object_array_get_idx(known, i);
        if (is_ours(instance, disks))
            json_add(chosen, NULL, json_object_get(instance));
    }
}

/* The nodes of disks being copied, then memory; nothing else, in particular no chardev of a
 * monitor. */
char *libvirt_yank_order(const char *instances, struct err *err)
{
    OWNED(json_object) answer = json_parse(instances, strlen(instances), "query-yank", err);
    struct json_object *known = answer != NULL ? returned(answer, err) : NULL;
    if (known == NULL)
        return NULL;
    OWNED(json_object) order = json_object_new_object();
    json_add_text(order, "execute", "yank");
    struct json_object *chosen = json_add_array(json_add_object(order, "arguments"), "instances");
    choose(known, true, chosen);
    choose(known, false, chosen);
    if (chosen != NULL && json_object_array_length(chosen) == 0) {
        (void)refuse(err, "no stream to break");
        return NULL;
    }
    const char *text = chosen != NULL ? json_object_to_json_string(order) : NULL;
    char *copy = text != NULL ? strdup(text) : NULL;
    if (copy == NULL)
        (void)err_set(err, ERR_NOMEM, "no memory for an order to QEMU");
    return copy;
}

bool libvirt_monitor_accepted(const char *text, struct err *err)
{
    OWNED(json_object) answer = json_parse(text, strlen(text), "QEMU's answer", err);
    return answer != NULL && returned(answer, err) != NULL;
}

bool libvirt_rescue_yank(virDomainPtr domain, struct err *err)
{
    virConnectPtr conn = virDomainGetConnect(domain);
    OWNED_TEXT instances = NULL;
    OWNED_TEXT answer = NULL;
    if (virDomainQemuMonitorCommand(domain, "{\"execute\":\"query-yank\"}", &instances, 0) < 0)
        return libvirt_connection_fail(conn, err);
    OWNED_TEXT order = libvirt_yank_order(instances, err);
    if (order == NULL)
        return false;
    if (virDomainQemuMonitorCommand(domain, order, &answer, 0) < 0)
        return libvirt_connection_fail(conn, err);
    return libvirt_monitor_accepted(answer, err);
}

/* QEMU's answer to query-migrate: without a migration it is empty. */
bool libvirt_migration_decode(const char *text, struct hv_migration *out, struct err *err)
{
    OWNED(json_object) answer = json_parse(text, strlen(text), "query-migrate", err);
    struct json_object *is = answer != NULL ? returned(answer, err) : NULL;
    if (is == NULL)
        return false;
    const char *status = text_at(is, "status");
    int64_t transferred = 0;
    struct err ignored = {0};
    if (!json_get_i64(is, "ram.transferred", 0, &transferred, &ignored))
        transferred = 0;
    *out = (struct hv_migration){
        .status = status[0] == '\0' ? HV_MIGRATION_NONE : hv_migration_status_from_name(status),
        .transferred = transferred > 0 ? (uint64_t)transferred : 0,
    };
    return true;
}

bool libvirt_rescue_query(virDomainPtr domain, struct hv_migration *out, struct err *err)
{
    OWNED_TEXT answer = NULL;
    if (virDomainQemuMonitorCommand(domain, "{\"execute\":\"query-migrate\"}", &answer, 0) < 0)
        return libvirt_connection_fail(virDomainGetConnect(domain), err);
    return libvirt_migration_decode(answer, out, err);
}

/* The source in its switch-over is paused(migration) as well. The statistics tell the direction:
 * libvirt refuses them at once for an incoming migration and returns them for an outgoing one (or
 * hangs, and then nothing is destroyed). */
static bool is_incoming(virDomainPtr domain)
{
    virTypedParameterPtr params = NULL;
    int type = 0, n = 0, operation = 0;
    if (virDomainGetJobStats(domain, &type, &params, &n, 0) < 0) {
        const virError *last = virGetLastError();
        return last != NULL && last->code == VIR_ERR_OPERATION_UNSUPPORTED;
    }
    (void)virTypedParamsGetInt(params, n, VIR_DOMAIN_JOB_OPERATION, &operation);
    virTypedParamsFree(params, n);
    return operation == VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN;
}

bool libvirt_rescue_drop_copy(virDomainPtr domain, struct err *err)
{
    virConnectPtr conn = virDomainGetConnect(domain);
    int state = 0, reason = 0;
    bool incoming = is_incoming(domain);
    if (virDomainGetState(domain, &state, &reason, 0) <
        0) /* checked last, right before destroying */
        return libvirt_connection_fail(conn, err);
    if (!incoming || state != VIR_DOMAIN_PAUSED || reason != VIR_DOMAIN_PAUSED_MIGRATION)
        return refuse(err, "not an incoming copy that waits for its migration");
    return virDomainDestroyFlags(domain, 0) == 0 || libvirt_connection_fail(conn, err);
}

/* QEMU needs brackets around an IPv6 address. */
char *libvirt_resume_order(const char *host, unsigned port)
{
    char address[HV_TEXT_MAX], uri[HV_TEXT_MAX + 32];
    bool literal = hv_literal_address(host, address, sizeof address);
    bool ipv6 = literal && strchr(address, ':') != NULL;
    (void)snprintf(uri, sizeof uri, ipv6 ? "tcp:[%s]:%u" : "tcp:%s:%u", address, port);
    OWNED(json_object) order = json_object_new_object();
    struct json_object *arguments = json_add_object(order, "arguments");
    json_add_text(order, "execute", "migrate");
    json_add_text(arguments, "uri", uri);
    json_add_bool(arguments, "resume", true);
    const char *text = json_object_to_json_string_ext(order, JSON_C_TO_STRING_PLAIN);
    return text != NULL ? strdup(text) : NULL;
}

/* After a post-copy broke the target's QEMU still listens on its first port, and libvirt on both
 * hosts follows by itself; no call goes to the target's daemon. */
bool libvirt_rescue_resume_stream(virDomainPtr domain, const struct job *job, struct err *err)
{
    virConnectPtr conn = virDomainGetConnect(domain);
    const struct hv_host *target = job->target;
    unsigned port = job->request.with.migrate.port;
    int state = 0, reason = 0;
    OWNED_TEXT answer = NULL;
    if (port == 0 || target->migration_host[0] == '\0')
        return refuse(err, "the target's address or port is not known");
    OWNED_TEXT order = libvirt_resume_order(target->migration_host, port);
    if (order == NULL)
        return err_set(err, ERR_NOMEM, "an order to QEMU");
    if (virDomainGetState(domain, &state, &reason, 0) < 0)
        return libvirt_connection_fail(conn, err);
    if (state != VIR_DOMAIN_PAUSED || reason != VIR_DOMAIN_PAUSED_POSTCOPY_FAILED)
        return refuse(err, "not the source of a broken post-copy");
    if (virDomainQemuMonitorCommand(domain, order, &answer, 0) < 0)
        return libvirt_connection_fail(conn, err);
    return libvirt_monitor_accepted(answer, err);
}
