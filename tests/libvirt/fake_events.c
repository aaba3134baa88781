/* fake_events.c - callbacks that the adapter registers, and events that a test sends through them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/libvirt/fake_impl.h"

enum { SLOTS_MAX = 64 };

struct slot {
    virConnectPtr conn; /* NULL: free */
    int event;
    virConnectDomainEventGenericCallback function;
    void *ctx;
    virFreeCallback free_ctx;
};
static struct slot slots[SLOTS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *name_of(int event)
{
    switch (event) {
    case VIR_DOMAIN_EVENT_ID_LIFECYCLE: return "register-lifecycle";
    case VIR_DOMAIN_EVENT_ID_MIGRATION_ITERATION: return "register-iteration";
    default: return "register-other";
    }
}

FAKE(int, virConnectDomainEventRegisterAny, virConnectPtr conn, virDomainPtr domain, int event,
     virConnectDomainEventGenericCallback function, void *ctx, virFreeCallback free_ctx)
{
    if (!fake_enter_quietly(conn, name_of(event)) || domain != NULL)
        return -1;
    int number = -1;
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS_MAX && number < 0; i++)
        if (slots[i].conn == NULL) {
            slots[i] = (struct slot){conn, event, function, ctx, free_ctx};
            conn->callbacks++;
            number = i;
        }
    (void)pthread_mutex_unlock(&lock);
    return number;
}

FAKE(int, virConnectDomainEventDeregisterAny, virConnectPtr conn, int number)
{
    (void)pthread_mutex_lock(&lock);
    struct slot slot = slots[number];
    bool mine = slot.conn == conn;
    if (mine) {
        slots[number] = (struct slot){0};
        conn->callbacks--;
    }
    (void)pthread_mutex_unlock(&lock);
    if (mine && slot.free_ctx != NULL)
        slot.free_ctx(slot.ctx);
    return mine ? 0 : -1;
}

/* Each callback for the event, with the guest; the caller calls it with its own type. */
static struct slot find_slot(int event)
{
    struct slot found = {0};
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS_MAX; i++)
        if (slots[i].conn != NULL && slots[i].event == event)
            found = slots[i];
    (void)pthread_mutex_unlock(&lock);
    return found;
}

/* The callback's own type, through "any function". */
#define CALL(type, slot, ...) ((type)(void (*)(void))(slot).function)(__VA_ARGS__, (slot).ctx)
#define SEND(type, event, uuid, ...)                                   \
    do {                                                               \
        struct slot slot = find_slot(event);                           \
        if (slot.conn == NULL)                                         \
            break;                                                     \
        virDomainPtr domain = fake_domain(slot.conn, fake_find(uuid)); \
        (void)CALL(type, slot, slot.conn, domain, __VA_ARGS__);        \
        fake_object(-1);                                               \
        free(domain);                                                  \
    } while (0)

void fake_lifecycle(const char *uuid, int what, int detail)
{
    SEND(virConnectDomainEventCallback, VIR_DOMAIN_EVENT_ID_LIFECYCLE, uuid, what, detail);
}

void fake_iteration(const char *uuid, int iteration)
{
    SEND(virConnectDomainEventMigrationIterationCallback, VIR_DOMAIN_EVENT_ID_MIGRATION_ITERATION,
         uuid, iteration);
}

void fake_job_completed(const char *uuid, int operation, unsigned long long downtime)
{
    const struct fake_param job[FAKE_PARAMS_MAX] = {{VIR_DOMAIN_JOB_OPERATION, operation, true},
                                                    {VIR_DOMAIN_JOB_DOWNTIME, (long long)downtime,
                                                     false}};
    int n = 0;
    virTypedParameterPtr params = fake_params(job, &n);
    SEND(virConnectDomainEventJobCompletedCallback, VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, uuid, params,
         n);
    virTypedParamsFree(params, n);
}

void fake_device(const char *uuid, int id)
{
    SEND(virConnectDomainEventDeviceAddedCallback, id, uuid, "net0");
}

void fake_metadata_changed(const char *uuid)
{
    SEND(virConnectDomainEventMetadataChangeCallback, VIR_DOMAIN_EVENT_ID_METADATA_CHANGE, uuid, 0,
         "urn:x");
}

void fake_block_job(const char *uuid)
{
    SEND(virConnectDomainEventBlockJobCallback, VIR_DOMAIN_EVENT_ID_BLOCK_JOB_2, uuid, "vda", 0, 0);
}
