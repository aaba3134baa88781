/* relay.c - see relay.h. */
#include "appliance/relay.h"

#include <assert.h>

/* --- collector -> engine --- */

static void on_sample(void *ctx, const struct sample *sample)
{
    struct relay *relay = ctx;
    relay->engine.on_sample(relay->engine.ctx, sample);
}

static void on_host(void *ctx, const char *host, bool connected, const struct err *err)
{
    struct relay *relay = ctx;
    relay->engine.on_host(relay->engine.ctx, host, connected, err);
    if (relay->desk != NULL)
        desk_on_host(relay->desk, host, connected, err);
}

static void on_facts(void *ctx, const char *host, const struct hv_facts *facts)
{
    struct relay *relay = ctx;
    relay->engine.on_facts(relay->engine.ctx, host, facts);
}

static void on_guests(void *ctx, const char *host, const struct hv_guest_list *guests)
{
    struct relay *relay = ctx;
    relay->engine.on_guests(relay->engine.ctx, host, guests);
}

static void on_event(void *ctx, const struct hv_event *event)
{
    struct relay *relay = ctx;
    relay->engine.on_event(relay->engine.ctx, event);
}

static void on_look(void *ctx, uint64_t id, const char *host, const char *guest,
                    const struct hv_sight *sight, const struct err *err)
{
    struct relay *relay = ctx;
    relay->engine.on_look(relay->engine.ctx, id, host, guest, sight, err);
}

static bool on_definition(void *ctx, const char *host, const char *guest, const char *xml,
                          const char *stored_xml, int snapshots)
{
    const struct relay *relay = ctx;
    return relay->engine.on_definition(relay->engine.ctx, host, guest, xml, stored_xml, snapshots);
}

static bool on_abilities(void *ctx, const char *host, struct hv_abilities *take_abilities)
{
    const struct relay *relay = ctx;
    return relay->engine.on_abilities(relay->engine.ctx, host, take_abilities);
}

struct collector_sink relay_collector_sink(struct relay *relay)
{
    return (struct collector_sink){
        .ctx = relay,
        .on_sample = on_sample,
        .on_host = on_host,
        .on_facts = on_facts,
        .on_guests = on_guests,
        .on_event = on_event,
        .on_look = on_look,
        .on_definition = on_definition,
        .on_abilities = on_abilities,
    };
}

/* --- engine -> exporter --- */

static void on_snapshot(void *ctx, const struct snapshot *snapshot)
{
    struct relay *relay = ctx;
    if (relay->exporter != NULL) {
        exporter_on_snapshot(relay->exporter, snapshot);
    } else {
        snapshot_unref(relay->early);
        relay->early = snapshot_ref(snapshot);
    }
    bool settled = true;
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        settled = settled && snapshot->nodes[i].settled;
    if (settled)
        atomic_store(&relay->settled, true);
    atomic_store(&relay->published, true);
}

static void on_step(void *ctx, const struct snapshot_job *job, enum phase from, enum trigger why,
                    int64_t spent_ms)
{
    struct relay *relay = ctx;
    if (relay->exporter != NULL)
        exporter_on_step(relay->exporter, job, from, why, spent_ms);
}

static void on_decision(void *ctx, const char *monitor, bool shadow, const char *decision)
{
    struct relay *relay = ctx;
    if (relay->exporter != NULL)
        exporter_on_decision(relay->exporter, monitor, shadow, decision);
}

static void on_finished(void *ctx, const struct snapshot_job *job)
{
    struct relay *relay = ctx;
    if (relay->exporter != NULL)
        exporter_on_finished(relay->exporter, job);
    if (relay->desk != NULL)
        desk_on_finished(relay->desk, job);
}

static void on_fell(void *ctx, const char *job_uid)
{
    struct relay *relay = ctx;
    if (relay->desk != NULL)
        desk_on_fell(relay->desk, job_uid);
}

static void on_judged(void *ctx, const struct judgement *judgement)
{
    struct relay *relay = ctx;
    if (relay->exporter != NULL)
        exporter_on_judged(relay->exporter, judgement);
    if (relay->desk != NULL)
        desk_on_judged(relay->desk, judgement);
}

struct engine_sink relay_engine_sink(struct relay *relay)
{
    return (struct engine_sink){
        .ctx = relay,
        .on_snapshot = on_snapshot,
        .on_step = on_step,
        .on_decision = on_decision,
        .on_finished = on_finished,
        .on_fell = on_fell,
        .on_judged = on_judged,
    };
}

/* --- exporter -> engine --- */

/* Counted before the look at `closed`: a request either sees it, or is seen by relay_waiting. */
static bool enter(struct relay *relay, struct err *err)
{
    (void)atomic_fetch_add(&relay->waiting, 1);
    if (!atomic_load(&relay->closed))
        return true;
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return err_set(err, ERR_UNREACHABLE, "the appliance is stopping");
}

static bool create(void *ctx, const struct migration_request *request,
                   struct migration_ref *out_ref, struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.create(relay->requests.ctx, request, out_ref, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

static bool cancel(void *ctx, const char *ns, const char *name, const char *requester, bool remove,
                   struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.cancel(relay->requests.ctx, ns, name, requester, remove, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

static bool put(void *ctx, const struct object_request *request, struct migration_ref *out_ref,
                struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.put(relay->requests.ctx, request, out_ref, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

static bool remove_object(void *ctx, const struct object_ref *ref, struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.remove(relay->requests.ctx, ref, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

static bool evict(void *ctx, const struct eviction_request *request, struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.evict(relay->requests.ctx, request, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

static bool resolve(void *ctx, const struct resolve_request *request, struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.resolve(relay->requests.ctx, request, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

static bool ask(void *ctx, const struct question *question, char **out_json, struct err *err)
{
    struct relay *relay = ctx;
    if (!enter(relay, err))
        return false;
    bool done = relay->requests.ask(relay->requests.ctx, question, out_json, err);
    (void)atomic_fetch_sub(&relay->waiting, 1);
    return done;
}

struct engine_requests relay_requests(struct relay *relay)
{
    return (struct engine_requests){.ctx = relay,
                                    .create = create,
                                    .cancel = cancel,
                                    .put = put,
                                    .remove = remove_object,
                                    .evict = evict,
                                    .ask = ask,
                                    .resolve = resolve};
}

/* --- life --- */

void relay_plug_engine(struct relay *relay, struct engine *engine)
{
    relay->engine = engine_collector_sink(engine);
    relay->requests = engine_requests(engine);
}

void relay_plug_desk(struct relay *relay, struct desk *desk)
{
    relay->desk = desk;
}

void relay_plug_exporter(struct relay *relay, struct exporter *exporter)
{
    assert(relay->exporter == NULL);
    relay->exporter = exporter;
    if (relay->early != NULL)
        exporter_on_snapshot(exporter, relay->early);
    snapshot_unref(relay->early);
    relay->early = NULL;
}

void relay_close(struct relay *relay)
{
    atomic_store(&relay->closed, true);
}

unsigned relay_waiting(const struct relay *relay)
{
    return atomic_load(&relay->waiting);
}

bool relay_has_settled(const struct relay *relay)
{
    return atomic_load(&relay->settled);
}

bool relay_has_published(const struct relay *relay)
{
    return atomic_load(&relay->published);
}

void relay_fini(struct relay *relay)
{
    snapshot_unref(relay->early);
    relay->early = NULL;
}
