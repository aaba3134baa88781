/* hv.c - see hv.h, types.h, observe.h, probe.h and act.h. What both implementations share: names,
 * the access and lane of each call, and the check that a call is submitted through its own
 * interface.
 *
 * An implementation embeds its struct hv, so hv_free() only calls the implementation's free; one
 * that has another owner (the simulator) has no free operation, or an empty one.
 */
#include "hypervisor/hv.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "hypervisor/act.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"

static const struct {
    const char *name;
    enum hv_access access;
    enum hv_lane lane;
} calls[HV_CALL_COUNT] = {
#define CALL(id, name, access, lane, help) \
    [HV_CALL_##id] = {name, HV_ACCESS_##access, HV_LANE_##lane},
#include "hypervisor/call.def"
#undef CALL
};

static const char *const lane_names[HV_LANE_COUNT] = {
    [HV_LANE_OBSERVE] = "look",    [HV_LANE_STATS] = "stats", [HV_LANE_CONTROL] = "control",
    [HV_LANE_MIGRATE] = "migrate", [HV_LANE_PROBE] = "probe",
};

static const char *const presence_names[] = {
    [HV_UNKNOWN] = "unknown",
    [HV_PRESENT] = "present",
    [HV_ABSENT] = "absent",
    [HV_UNREACHABLE] = "unreachable",
};

static const char *const path_names[] = {
    [HV_PATH_UNKNOWN] = "unknown",
    [HV_PATH_OPEN] = "open",
    [HV_PATH_REFUSED] = "refused",
    [HV_PATH_DEAD] = "dead",
};

static const char *const lifecycle_names[] = {
    [HV_LIFECYCLE_DEFINED] = "defined",   [HV_LIFECYCLE_UNDEFINED] = "undefined",
    [HV_LIFECYCLE_STARTED] = "started",   [HV_LIFECYCLE_SUSPENDED] = "suspended",
    [HV_LIFECYCLE_RESUMED] = "resumed",   [HV_LIFECYCLE_STOPPED] = "stopped",
    [HV_LIFECYCLE_SHUTDOWN] = "shutdown", [HV_LIFECYCLE_PMSUSPENDED] = "pmsuspended",
    [HV_LIFECYCLE_CRASHED] = "crashed",
};

const char *hv_call_name(enum hv_call call)
{
    assert(call < HV_CALL_COUNT);
    return calls[call].name;
}

enum hv_access hv_call_access(enum hv_call call)
{
    assert(call < HV_CALL_COUNT);
    return calls[call].access;
}

enum hv_lane hv_call_lane(enum hv_call call)
{
    assert(call < HV_CALL_COUNT);
    return calls[call].lane;
}

const char *hv_lane_name(enum hv_lane lane)
{
    assert(lane < HV_LANE_COUNT);
    return lane_names[lane];
}

const char *hv_presence_name(enum hv_presence presence)
{
    assert(presence < COUNT(presence_names));
    return presence_names[presence];
}

enum hv_presence hv_presence_from_name(const char *name)
{
    for (enum hv_presence presence = 0; presence < COUNT(presence_names); presence++)
        if (strcmp(presence_names[presence], name) == 0)
            return presence;
    return HV_UNKNOWN;
}

const char *hv_path_name(enum hv_path path)
{
    assert(path < COUNT(path_names));
    return path_names[path];
}

static const struct {
    const char *name;
    enum hv_stream stream;
} migration_statuses[] = {
#define MIGRATION_STATUS(id, name, stream) {name, HV_STREAM_##stream},
#include "hypervisor/migration_status.def"
#undef MIGRATION_STATUS
};

const char *hv_migration_status_name(enum hv_migration_status status)
{
    assert(status < HV_MIGRATION_STATUS_COUNT);
    return migration_statuses[status].name;
}

enum hv_migration_status hv_migration_status_from_name(const char *name)
{
    for (enum hv_migration_status status = 0; status < HV_MIGRATION_STATUS_COUNT; status++)
        if (strcmp(migration_statuses[status].name, name) == 0)
            return status;
    return HV_MIGRATION_UNKNOWN;
}

enum hv_stream hv_migration_status_stream(enum hv_migration_status status)
{
    assert(status < HV_MIGRATION_STATUS_COUNT);
    return migration_statuses[status].stream;
}

/* The number is libvirt's: a newer libvirt may send numbers that are not listed. */
const char *hv_lifecycle_name(int lifecycle)
{
    if (lifecycle < 0 || (size_t)lifecycle >= COUNT(lifecycle_names))
        return "unknown";
    return lifecycle_names[lifecycle];
}

/* NULL when the number is not listed. */
static const char *listed_state(int state)
{
    switch (state) {
#define STATE(id, number, name) \
    case (number):              \
        return name;
#include "hypervisor/state.def"
#undef STATE
    default: return NULL;
    }
}

static const char *listed_reason(int state, int reason)
{
    static const struct {
        int state, reason;
        const char *name;
    } reasons[] = {
#define REASON(state, id, number, name) {HV_STATE_##state, number, name},
#include "hypervisor/state.def"
#undef REASON
    };
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].state == state && reasons[i].reason == reason)
            return reasons[i].name;
    return reason == 0 ? "unknown" : NULL; /* 0 is "unknown" for every state in libvirt */
}

const char *hv_state_name(int state)
{
    const char *name = listed_state(state);
    return name != NULL ? name : "unknown";
}

const char *hv_reason_name(int state, int reason)
{
    const char *name = listed_reason(state, reason);
    return name != NULL ? name : "unknown";
}

void hv_state_from_names(const char *state, const char *reason, int *out_state, int *out_reason)
{
    *out_state = HV_STATE_NONE;
    *out_reason = 0;
    for (int number = HV_STATE_NONE; listed_state(number) != NULL; number++)
        if (strcmp(listed_state(number), state) == 0)
            *out_state = number;
    for (int number = 0; listed_reason(*out_state, number) != NULL; number++)
        if (strcmp(listed_reason(*out_state, number), reason) == 0)
            *out_reason = number;
}

static void name_or_number(const char *name, int number, char *out, size_t out_bytes)
{
    if (name != NULL)
        (void)snprintf(out, out_bytes, "%s", name);
    else
        (void)snprintf(out, out_bytes, "unknown-%d", number);
}

void hv_state_text(int state, int reason, char *out_text)
{
    char first[32], second[32];
    name_or_number(listed_state(state), state, first, sizeof first);
    name_or_number(listed_reason(state, reason), reason, second, sizeof second);
    (void)snprintf(out_text, HV_TEXT_MAX, "%s(%s)", first, second);
}

void hv_guest_list_free(struct hv_guest_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++) {
        free(list->guests[i].labels);
        free(list->guests[i].settings);
    }
    free(list->guests);
    free(list);
}

static bool call_answers_text(enum hv_call call)
{
    return call == HV_CALL_GUEST_XML || call == HV_CALL_GUEST_XML_STORED ||
           call == HV_CALL_CAPABILITIES || call == HV_CALL_DOMAIN_CAPABILITIES ||
           call == HV_CALL_MIGRATABLE_XML;
}

/* The call decides which member of the union is set. */
void hv_reply_fini(struct hv_reply *reply)
{
    if (reply == NULL)
        return;
    if (reply->call == HV_CALL_LIST_GUESTS)
        hv_guest_list_free(TAKE(reply->with.guests));
    else if (reply->call == HV_CALL_HOST_CAPABILITIES)
        hv_capabilities_free(TAKE(reply->with.capabilities));
    else if (call_answers_text(reply->call))
        free(TAKE(reply->with.text));
}

void hv_free(struct hv *hv)
{
    if (hv != NULL && hv->ops->free != NULL)
        hv->ops->free(hv->impl);
}

bool hv_lane_status(const struct hv *hv, const char *host, enum hv_lane lane,
                    struct hv_lane_status *out_status)
{
    assert(lane < HV_LANE_COUNT);
    return hv->ops->lane_status(hv->impl, host, lane, out_status);
}

static bool submit_through(enum hv_access access, const struct hv *hv,
                           const struct hv_request *request, struct err *err)
{
    assert(hv_call_access(request->call) == access);
    assert(request->reply_to.on_reply != NULL);
    return hv->ops->submit(hv->impl, request, err);
}

bool hv_observe_submit(const struct hv_observe *observe, const struct hv_request *request,
                       struct err *err)
{
    return submit_through(HV_ACCESS_OBSERVE, observe->hv, request, err);
}

bool hv_probe_submit(const struct hv_probe *probe, const struct hv_request *request,
                     struct err *err)
{
    return submit_through(HV_ACCESS_PROBE, probe->hv, request, err);
}

bool hv_act_submit(const struct hv_act *act, const struct hv_request *request, struct err *err)
{
    return submit_through(HV_ACCESS_ACT, act->hv, request, err);
}

bool hv_literal_address(const char *host, char *out_address, size_t bytes)
{
    unsigned char binary[sizeof(struct in6_addr)];
    size_t n = strlen(host);
    bool bracketed = n > 2 && host[0] == '[' && host[n - 1] == ']';
    (void)snprintf(out_address, bytes, "%.*s", (int)(bracketed ? n - 2 : n),
                   bracketed ? host + 1 : host);
    return inet_pton(AF_INET, out_address, binary) == 1 ||
           inet_pton(AF_INET6, out_address, binary) == 1;
}

bool hv_host_listens_on_address(const struct hv_host *host)
{
    char address[HV_TEXT_MAX];
    return hv_literal_address(host->migration_host, address, sizeof address) &&
           (host->listen[0] == '\0' || strcmp(host->listen, address) == 0);
}
