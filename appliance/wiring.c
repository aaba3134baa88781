/* wiring.c - see wiring.h. */
#include "appliance/wiring.h"

#include <assert.h>

/* --- collector -> engine --- */

static void on_sample(void *ctx, const struct sample *sample)
{
    struct wiring *wiring = ctx;
    wiring->engine.on_sample(wiring->engine.ctx, sample);
}

static void on_host(void *ctx, const char *host, bool connected, const struct err *err)
{
    struct wiring *wiring = ctx;
    wiring->engine.on_host(wiring->engine.ctx, host, connected, err);
    if (wiring->analysis != NULL)
        analysis_on_host(wiring->analysis, host, connected, err);
}

static void on_facts(void *ctx, const char *host, const struct hv_facts *facts)
{
    struct wiring *wiring = ctx;
    wiring->engine.on_facts(wiring->engine.ctx, host, facts);
}

static void on_guests(void *ctx, const char *host, const struct hv_guest_list *guests)
{
    struct wiring *wiring = ctx;
    wiring->engine.on_guests(wiring->engine.ctx, host, guests);
}

static void on_event(void *ctx, const struct hv_event *event)
{
    struct wiring *wiring = ctx;
    wiring->engine.on_event(wiring->engine.ctx, event);
}

static void on_observed(void *ctx, uint64_t id, const char *host, const char *guest,
                        const struct hv_observation *observation, const struct err *err)
{
    struct wiring *wiring = ctx;
    wiring->engine.on_observed(wiring->engine.ctx, id, host, guest, observation, err);
}

static bool on_definition(void *ctx, const char *host, const char *guest, const char *xml,
                          const char *stored_xml, int snapshots)
{
    const struct wiring *wiring = ctx;
    return wiring->engine.on_definition(wiring->engine.ctx, host, guest, xml, stored_xml,
                                        snapshots);
}

static bool on_capabilities(void *ctx, const char *host, struct hv_capabilities *take_capabilities)
{
    const struct wiring *wiring = ctx;
    return wiring->engine.on_capabilities(wiring->engine.ctx, host, take_capabilities);
}

struct collector_sink wiring_collector_sink(struct wiring *wiring)
{
    return (struct collector_sink){
        .ctx = wiring,
        .on_sample = on_sample,
        .on_host = on_host,
        .on_facts = on_facts,
        .on_guests = on_guests,
        .on_event = on_event,
        .on_observed = on_observed,
        .on_definition = on_definition,
        .on_capabilities = on_capabilities,
    };
}

/* --- engine -> exporter --- */

static void on_snapshot(void *ctx, const struct snapshot *snapshot)
{
    struct wiring *wiring = ctx;
    if (wiring->exporter != NULL) {
        exporter_on_snapshot(wiring->exporter, snapshot);
    } else {
        snapshot_unref(wiring->early);
        wiring->early = snapshot_ref(snapshot);
    }
    bool settled = true;
    for (size_t i = 0; i < snapshot->n_nodes; i++)
        settled = settled && snapshot->nodes[i].settled;
    if (settled)
        atomic_store(&wiring->settled, true);
    atomic_store(&wiring->published, true);
}

static void on_step(void *ctx, const struct snapshot_job *job, enum phase from, enum trigger why,
                    int64_t spent_ms)
{
    struct wiring *wiring = ctx;
    if (wiring->exporter != NULL)
        exporter_on_step(wiring->exporter, job, from, why, spent_ms);
}

static void on_decision(void *ctx, const char *monitor, bool shadow, const char *decision)
{
    struct wiring *wiring = ctx;
    if (wiring->exporter != NULL)
        exporter_on_decision(wiring->exporter, monitor, shadow, decision);
}

static void on_finished(void *ctx, const struct snapshot_job *job)
{
    struct wiring *wiring = ctx;
    if (wiring->exporter != NULL)
        exporter_on_finished(wiring->exporter, job);
    if (wiring->analysis != NULL)
        analysis_on_finished(wiring->analysis, job);
}

static void on_stored_event(void *ctx, const struct store_event *event)
{
    struct wiring *wiring = ctx;
    if (wiring->exporter != NULL)
        exporter_on_event(wiring->exporter, event);
}

static void on_crashed(void *ctx, const char *job_uid)
{
    struct wiring *wiring = ctx;
    if (wiring->analysis != NULL)
        analysis_on_crashed(wiring->analysis, job_uid);
}

static void on_judged(void *ctx, const struct verdict_rows *verdict_rows)
{
    struct wiring *wiring = ctx;
    if (wiring->exporter != NULL)
        exporter_on_judged(wiring->exporter, verdict_rows);
    if (wiring->analysis != NULL)
        analysis_on_judged(wiring->analysis, verdict_rows);
}

struct engine_sink wiring_engine_sink(struct wiring *wiring)
{
    return (struct engine_sink){
        .ctx = wiring,
        .on_snapshot = on_snapshot,
        .on_step = on_step,
        .on_decision = on_decision,
        .on_finished = on_finished,
        .on_event = on_stored_event,
        .on_crashed = on_crashed,
        .on_judged = on_judged,
    };
}

/* --- exporter -> engine --- */

/* Counted before `closed` is checked: a request either sees it, or is counted by
 * wiring_waiting(). */
static bool enter(struct wiring *wiring, struct err *err)
{
    (void)atomic_fetch_add(&wiring->waiting, 1);
    if (!atomic_load(&wiring->closed))
        return true;
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return err_set(err, ERR_UNREACHABLE, "the appliance is stopping");
}

static bool create(void *ctx, const struct migration_request *request,
                   struct migration_ref *out_ref, struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.create(wiring->requests.ctx, request, out_ref, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

static bool cancel(void *ctx, const char *ns, const char *name, const char *requester, bool remove,
                   struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.cancel(wiring->requests.ctx, ns, name, requester, remove, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

static bool put(void *ctx, const struct object_request *request, struct migration_ref *out_ref,
                struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.put(wiring->requests.ctx, request, out_ref, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

static bool remove_object(void *ctx, const struct object_ref *ref, struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.remove(wiring->requests.ctx, ref, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

static bool evict(void *ctx, const struct eviction_request *request, struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.evict(wiring->requests.ctx, request, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

static bool resolve(void *ctx, const struct resolve_request *request, struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.resolve(wiring->requests.ctx, request, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

static bool ask(void *ctx, const struct question *question, char **out_json, struct err *err)
{
    struct wiring *wiring = ctx;
    if (!enter(wiring, err))
        return false;
    bool done = wiring->requests.ask(wiring->requests.ctx, question, out_json, err);
    (void)atomic_fetch_sub(&wiring->waiting, 1);
    return done;
}

struct engine_requests wiring_requests(struct wiring *wiring)
{
    return (struct engine_requests){.ctx = wiring,
                                    .create = create,
                                    .cancel = cancel,
                                    .put = put,
                                    .remove = remove_object,
                                    .evict = evict,
                                    .ask = ask,
                                    .resolve = resolve};
}

/* --- lifecycle --- */

void wiring_plug_engine(struct wiring *wiring, struct engine *engine)
{
    wiring->engine = engine_collector_sink(engine);
    wiring->requests = engine_requests(engine);
}

void wiring_plug_analysis(struct wiring *wiring, struct analysis *analysis)
{
    wiring->analysis = analysis;
}

void wiring_plug_exporter(struct wiring *wiring, struct exporter *exporter)
{
    assert(wiring->exporter == NULL);
    wiring->exporter = exporter;
    if (wiring->early != NULL)
        exporter_on_snapshot(exporter, wiring->early);
    snapshot_unref(wiring->early);
    wiring->early = NULL;
}

void wiring_close(struct wiring *wiring)
{
    atomic_store(&wiring->closed, true);
}

unsigned wiring_waiting(const struct wiring *wiring)
{
    return atomic_load(&wiring->waiting);
}

bool wiring_has_settled(const struct wiring *wiring)
{
    return atomic_load(&wiring->settled);
}

bool wiring_has_published(const struct wiring *wiring)
{
    return atomic_load(&wiring->published);
}

void wiring_fini(struct wiring *wiring)
{
    snapshot_unref(wiring->early);
    wiring->early = NULL;
}
