/* api_instance.c - a guest as KubeVirt's VirtualMachineInstance. */
#include <string.h>

#include "base/text.h"
#include "engine/model/definition/volumes.h"
#include "exporter/api/api.h"

enum { REASONS_TEXT_MAX = 8192 };

/* KubeVirt's phase from libvirt's state. A guest without a reachable host is Unknown. */
static const char *phase_of(const struct snapshot_guest *guest)
{
    if (guest->node[0] == '\0' || !guest->node_reachable)
        return "Unknown";
    switch (guest->state) {
    case HV_STATE_RUNNING:
    case HV_STATE_BLOCKED:
    case HV_STATE_PAUSED:
    case HV_STATE_SHUTDOWN:
    case HV_STATE_PMSUSPENDED: return "Running";
    case HV_STATE_CRASHED: return "Failed";
    case HV_STATE_SHUTOFF: {
        bool broke = guest->reason == HV_SHUTOFF_CRASHED || guest->reason == HV_SHUTOFF_FAILED;
        return broke ? "Failed" : "Succeeded";
    }
    default: return "Unknown";
    }
}

bool api_guest_runs(const struct snapshot_guest *guest)
{
    return strcmp(phase_of(guest), "Running") == 0;
}

static struct json_object *labels_of(const struct snapshot_guest *guest)
{
    struct json_object *labels = api_object_from(guest->labels, NULL);
    if (guest->node[0] != '\0')
        json_add_text(labels, "kubevirt.io/nodeName", guest->node);
    return labels;
}

static const struct snapshot_job *newest_job(const struct snapshot *s,
                                             const struct snapshot_guest *guest)
{
    return s->newest[guest - s->guests];
}

static void add_spec(struct json_object *object, const struct snapshot_guest *guest)
{
    char memory[API_SHORT_TEXT_MAX];
    (void)snprintf(memory, sizeof memory, "%lluKi", (unsigned long long)guest->memory_kib);
    struct json_object *spec = json_add_object(object, "spec");
    struct json_object *domain = json_add_object(spec, "domain");
    json_add_i64(json_add_object(domain, "cpu"), "cores", guest->vcpus);
    json_add_text(json_add_object(domain, "memory"), "guest", memory);
    (void)json_add_object(domain, "devices");
    /* Scheduling constraints, under KubeVirt's names. */
    OWNED(json_object) settings = api_object_from(guest->settings, NULL);
    static const char *const keys[] = {"evictionStrategy", "nodeSelector", "tolerations",
                                       "affinity"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct json_object *value = json_object_object_get(settings, keys[i]);
        if (value != NULL)
            json_add(spec, keys[i], json_object_get(value));
    }
}

/* All reasons of a false condition, joined as in KubeVirt. */
static void join_rows(const struct migratable *m, bool (*counts)(enum unmovable row),
                      struct buf *out)
{
    for (enum unmovable row = 0; row < UNMOVABLE_COUNT; row++) {
        char text[MIGRATABLE_TEXT_MAX];
        if (!migratable_has(m, row) || !counts(row))
            continue;
        unmovable_text(row, m, text);
        buf_addf(out, "%s%s: %s", out->length > 0 ? ", " : "", unmovable_name(row), text);
    }
}

/* No condition until the definition was read, as in KubeVirt. */
static void add_migratable(struct json_object *conditions, const struct snapshot_guest *guest)
{
    const struct migratable *m = &guest->migratable;
    int64_t since_ms = guest->since_ms[CONDITION_LIVE_MIGRATABLE];
    int64_t storage_ms = guest->since_ms[CONDITION_STORAGE_MIGRATABLE];
    enum unmovable live = migratable_first_live(m), storage = migratable_first_storage(m);
    char text[MIGRATABLE_TEXT_MAX];
    if (!m->known)
        return;
    if (live == UNMOVABLE_COUNT) {
        api_add_condition(conditions, "LiveMigratable", "True", since_ms, NULL, NULL);
    } else {
        unmovable_text(live, m, text);
        api_add_condition(conditions, "LiveMigratable", "False", since_ms, unmovable_name(live),
                          text);
    }
    if (storage == UNMOVABLE_COUNT) {
        api_add_condition(conditions, "StorageLiveMigratable", "True", storage_ms, NULL, NULL);
        return;
    }
    struct buf joined;
    buf_init(&joined, REASONS_TEXT_MAX);
    join_rows(m, unmovable_blocks_storage, &joined);
    api_add_condition(conditions, "StorageLiveMigratable", "False", storage_ms, "NotMigratable",
                      joined.data);
    buf_fini(&joined);
}

/* KubeVirt's reasons for an automatic or delayed migration, and Ferry's when a migration would not
 * help. */
static void add_pending_change(struct json_object *conditions, const struct snapshot_guest *guest)
{
    const struct pending_change *pending_change = &guest->pending_change;
    char text[sizeof pending_change->detail + 200];
    const char *reason = !pending_change->cures ? "NotCuredByMigration"
                         : guest->change_is_due ? "AutoMigrationDueToLiveUpdate"
                                                : "AutoMigrationPending";
    (void)snprintf(text, sizeof text, "%s%s%s", pending_change->detail,
                   pending_change->todo != NULL ? "; " : "",
                   pending_change->todo != NULL ? pending_change->todo : "");
    api_add_condition(conditions, "MigrationRequired", guest->change_is_due ? "True" : "False",
                      guest->change_since_ms, reason, text);
}

/* A migration that this appliance does not know works on the guest, or was lost. */
static void add_orphan(struct json_object *conditions, const struct hv_mark *mark)
{
    char text[512];
    (void)snprintf(
        text, sizeof text,
        "marked by appliance %s, epoch %lld, for migration %s from %s to %s; not touched",
        mark->appliance, (long long)mark->appliance_epoch, mark->job, mark->source, mark->target);
    api_add_condition(conditions, "ferry.internal/Orphaned", "True", 0, "UnknownMigration", text);
}

static void add_orphan_mark(struct json_object *ferry, const struct hv_mark *mark)
{
    struct json_object *orphan = json_add_object(ferry, "orphan");
    json_add_text(orphan, "appliance", mark->appliance);
    json_add_i64(orphan, "applianceEpoch", mark->appliance_epoch);
    json_add_text(orphan, "migrationUid", mark->job);
    json_add_i64(orphan, "epoch", mark->epoch);
    json_add_text(orphan, "source", mark->source);
    json_add_text(orphan, "target", mark->target);
    json_add_i64(orphan, "port", mark->port);
}

/* Conditions for an eviction, a pending change and a missing node label. */
static void add_requests(struct json_object *conditions, const struct snapshot_guest *guest)
{
    if (guest->evacuation_node[0] != '\0')
        api_add_condition(conditions, "EvictionRequested", "True",
                          guest->since_ms[CONDITION_EVICTION], "EvictionRequested",
                          "VMI is marked for eviction");
    if (guest->orphan.job[0] != '\0')
        add_orphan(conditions, &guest->orphan);
    if (guest->pending_change.is != PENDING_CHANGE_NO)
        add_pending_change(conditions, guest);
    if (guest->unmet_selector[0] != '\0') {
        char text[sizeof guest->unmet_selector + HV_HOST_MAX + 64];
        (void)snprintf(text, sizeof text, "node %s does not have the required label %s",
                       guest->node, guest->unmet_selector);
        api_add_condition(conditions, "ferry.internal/NodeSelectorMet", "False",
                          guest->since_ms[CONDITION_SELECTOR], "NodeLabelMissing", text);
    }
}

/* ---- volume migration ---- */

/* KubeVirt keeps migratedVolumes until success or cancellation: after a failure they are still
 * pending. */
static bool have_pending_volumes(const struct snapshot_job *job)
{
    return job->request.volumes_json != NULL && job->result.outcome != OUTCOME_SUCCEEDED &&
           job->result.outcome != OUTCOME_ABORTED;
}

/* A claim is a location: an absolute path, or POOL/VOLUME. */
static void add_claim(struct json_object *volume, const char *key,
                      const struct hv_location *location, const char *amount, uint64_t bytes)
{
    char name[sizeof *location + 2], text[API_SHORT_TEXT_MAX];
    struct json_object *claim = json_add_object(volume, key);
    (void)snprintf(name, sizeof name, "%s%s%s", location->pool,
                   location->pool[0] != '\0' ? "/" : "", location->name);
    json_add_text(claim, "claimName", name);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
    if (bytes != 0)
        json_add_text(json_add_object(claim, amount), "storage", text);
}

static void add_migrated_volumes(struct json_object *status, const struct snapshot_job *job)
{
    struct volumes volumes;
    struct err err = {0};
    if (!have_pending_volumes(job) ||
        !volumes_parse(job->request.volumes_json, true, &volumes, &err))
        return;
    struct json_object *list = json_add_array(status, "migratedVolumes");
    for (size_t i = 0; i < volumes.n; i++) {
        struct json_object *volume = json_add_object(list, "");
        json_add_text(volume, "volumeName", volumes.list[i].is.disk);
        if (volumes.list[i].from.name[0] != '\0')
            add_claim(volume, "sourcePVCInfo", &volumes.list[i].from, "capacity",
                      volumes.list[i].capacity);
        add_claim(volume, "destinationPVCInfo", &volumes.list[i].is.to, "requests",
                  volumes.list[i].capacity);
    }
}

static void add_volumes_change(struct json_object *conditions, const struct snapshot_job *job)
{
    static const char type[] = "VolumesChange";
    char text[SNAPSHOT_REASON_MAX + 64];
    if (job->request.volumes_json == NULL || job->result.outcome == OUTCOME_SUCCEEDED)
        return;
    if (job->result.outcome == OUTCOME_ABORTED) {
        api_add_condition(conditions, type, "False", job->times.ended_ms,
                          "VolumesChangeCancellation", NULL);
    } else if (phase_is_final(job->phase)) {
        (void)snprintf(text, sizeof text, "migrate volumes; the last attempt failed: %s",
                       job->result.failure_reason);
        api_add_condition(conditions, type, "True", job->times.created_ms, NULL, text);
    } else if (job->wait.pending == PENDING_STORAGE) {
        api_add_condition(conditions, type, "False", job->wait.since_ms, NULL, job->wait.reason);
    } else {
        api_add_condition(conditions, type, "True", job->times.created_ms, NULL, "migrate volumes");
    }
}

/* KubeVirt's reason of a pause. */
static const char *pause_reason(const struct snapshot_guest *guest, const struct snapshot_job *job)
{
    if (guest->reason == HV_PAUSED_USER)
        return "PausedByUser";
    if (guest->reason == HV_PAUSED_IOERROR)
        return "PausedIOError";
    bool is_ours = job != NULL && !phase_is_final(job->phase) && job->mode == MODE_PAUSED &&
                   guest->reason == HV_PAUSED_MIGRATION;
    return is_ours ? "PausedByMigrationMonitor" : "Paused";
}

static void add_conditions(struct json_object *status, const struct snapshot_guest *guest,
                           const struct snapshot_job *job)
{
    struct json_object *conditions = json_add_array(status, "conditions");
    api_add_condition(conditions, "Ready", snapshot_condition(guest, CONDITION_READY),
                      guest->since_ms[CONDITION_READY], NULL, NULL);
    add_migratable(conditions, guest);
    if (guest->state == HV_STATE_PAUSED)
        api_add_condition(conditions, "Paused", "True", guest->since_ms[CONDITION_PAUSED],
                          pause_reason(guest, job), NULL);
    if (api_guest_is_broken(guest, job))
        api_add_condition(conditions, "ferry.internal/Irrecoverable", "True", job->times.ended_ms,
                          "HalfOfGuestGone", job->result.failure_reason);
    add_requests(conditions, guest);
    if (job != NULL)
        add_volumes_change(conditions, job);
}

/* Pods by uid, with their nodes: two while the target launcher exists. */
static void add_pods(struct json_object *status, const struct snapshot_guest *guest,
                     const struct snapshot_job *job)
{
    OWNED(json_object) pods = json_object_new_object();
    if (guest->up && guest->pod_uid[0] != '\0')
        json_add_text(pods, guest->pod_uid, guest->node);
    if (job != NULL && api_target_launcher_is_up(job) && job->placement.target_pod_uid[0] != '\0' &&
        job->target[0] != '\0')
        json_add_text(pods, job->placement.target_pod_uid, job->target);
    if (json_object_object_length(pods) > 0)
        json_add(status, "activePods", TAKE(pods));
}

/* All reasons and notes, with what to do. */
static void add_reasons(struct json_object *ferry, const struct migratable *m)
{
    struct json_object *reasons = json_add_array(ferry, "reasons");
    for (enum unmovable row = 0; row < UNMOVABLE_COUNT; row++) {
        char text[MIGRATABLE_TEXT_MAX];
        if (!migratable_has(m, row))
            continue;
        unmovable_text(row, m, text);
        struct json_object *reason = json_add_object(reasons, "");
        json_add_text(reason, "reason", unmovable_name(row));
        json_add_text(reason, "message", text);
        json_add_text(reason, "whatToDo", unmovable_help(row));
        json_add_bool(reason, "live", unmovable_blocks_live(row));
        json_add_bool(reason, "storage", unmovable_blocks_storage(row));
    }
}

static void add_status(struct json_object *object, const struct snapshot *s,
                       const struct snapshot_guest *guest)
{
    struct json_object *status = json_add_object(object, "status");
    json_add_text(status, "phase", phase_of(guest));
    if (guest->node[0] != '\0')
        json_add_text(status, "nodeName", guest->node);
    api_add_unless_empty(status, "evacuationNodeName", guest->evacuation_node);
    const struct snapshot_job *job = newest_job(s, guest);
    add_conditions(status, guest, job);
    add_pods(status, guest, job);
    if (job != NULL)
        add_migrated_volumes(status, job);
    struct json_object *state = job == NULL ? NULL : api_migration_state(job);
    if (state != NULL)
        json_add(status, "migrationState", state);
    struct json_object *ferry = json_add_object(status, "ferry");
    json_add_text(ferry, "state", hv_state_name(guest->state));
    json_add_text(ferry, "reason", hv_reason_name(guest->state, guest->reason));
    api_add_unless_empty(ferry, "evictionStrategy", strategy_name(guest->strategy));
    if (guest->up)
        api_add_unless_empty(ferry, "pod", guest->pod);
    json_add_bool(ferry, "persistent", guest->persistent);
    json_add_bool(ferry, "nodeReachable", guest->node_reachable);
    if (!guest->node_reachable)
        json_add_time(ferry, "seenAt", guest->seen_ms);
    if (guest->orphan.job[0] != '\0')
        add_orphan_mark(ferry, &guest->orphan);
    if (guest->migratable.known)
        add_reasons(ferry, &guest->migratable);
    if (job != NULL) {
        json_add_text(ferry, "migration", job->name);
        api_add_move(ferry, job);
    }
}

/* The names alone, for tools that select by annotation. */
static void add_annotations(struct json_object *metadata, const struct migratable *m)
{
    struct buf names;
    if (m->rows == 0)
        return;
    buf_init(&names, REASONS_TEXT_MAX);
    for (enum unmovable row = 0; row < UNMOVABLE_COUNT; row++)
        if (migratable_has(m, row))
            buf_addf(&names, "%s%s", names.length > 0 ? "," : "", unmovable_name(row));
    json_add_text(json_add_object(metadata, "annotations"), "ferry.internal/reasons", names.data);
    buf_fini(&names);
}

/* ---- as a kind ---- */

static size_t count(const struct snapshot *s)
{
    return s->n_guests;
}
static const char *ns(const struct snapshot *s, size_t i)
{
    return s->guests[i].ns;
}
static const char *name(const struct snapshot *s, size_t i)
{
    return s->guests[i].name;
}
static const char *uid(const struct snapshot *s, size_t i)
{
    return s->guests[i].uuid;
}
static struct json_object *labels(const struct snapshot *s, size_t i)
{
    return labels_of(&s->guests[i]);
}

/* Without what is not shown: when it was last seen while its node is reachable. */
static struct snapshot_guest shown(const struct snapshot_guest *guest)
{
    struct snapshot_guest out = *guest;
    out.labels = out.settings = NULL;
    if (out.node_reachable)
        out.seen_ms = 0;
    return out;
}

static bool are_same_guests(const struct snapshot_guest *a, const struct snapshot_guest *b)
{
    if (a == b)
        return true;
    const struct snapshot_guest x = shown(a), y = shown(b);
    return memcmp(&x, &y, sizeof x) == 0 && text_equal(a->labels, b->labels) &&
           text_equal(a->settings, b->settings);
}

static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    const struct snapshot_guest *x = &a->guests[i], *y = &b->guests[j];
    return a->newest[i] == b->newest[j] && are_same_guests(x, y) &&
           api_documents_are_same(api_document(a, OBJECT_GUEST, x->ns, x->name),
                                  api_document(b, OBJECT_GUEST, y->ns, y->name));
}

static struct json_object *object(const struct snapshot *s, size_t i)
{
    const struct snapshot_guest *guest = &s->guests[i];
    const struct api_meta meta = {guest->ns, guest->name, guest->uuid, guest->first_seen_ms};
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = api_add_meta(out, KIND_INSTANCE, &meta);
    json_add(metadata, "labels", labels_of(guest));
    add_annotations(metadata, &guest->migratable);
    const struct snapshot_object *overlay = api_document(s, OBJECT_GUEST, guest->ns, guest->name);
    if (overlay != NULL)
        api_add_annotations(metadata, overlay->metadata_json);
    add_spec(out, guest);
    add_status(out, s, guest);
    return out;
}

static void add_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    const struct snapshot_guest *guest = &s->guests[i];
    const struct snapshot_job *job = newest_job(s, guest);
    char age[API_SHORT_TEXT_MAX], state[HV_TEXT_MAX];
    api_age_text(guest->first_seen_ms, now_ms, age);
    hv_state_text(guest->state, guest->reason, state);
    const char *const texts[] = {age, phase_of(guest), guest->node, state,
                                 job == NULL ? "" : job->name};
    for (size_t c = 0; c < COUNT(texts); c++)
        json_add_text(cells, "", texts[c]);
}

static const char *field(const struct snapshot *s, size_t i, const char *key)
{
    return strcmp(key, "status.nodeName") == 0 ? s->guests[i].node : phase_of(&s->guests[i]);
}

const struct api_view api_instances = {.count = count,
                                       .ns = ns,
                                       .name = name,
                                       .uid = uid,
                                       .is_same = is_same,
                                       .labels = labels,
                                       .object = object,
                                       .add_cells = add_cells,
                                       .fields = "status.nodeName status.phase",
                                       .field = field};
