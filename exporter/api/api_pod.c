/* api_pod.c - launchers as Kubernetes' Pods: the slot of a guest on its node, and its reservation
 * on the target node.
 *
 * Tools that drain nodes (kubectl, machine controllers) evict pods: KubeVirt's labels and a
 * controlling owner make that work. Pods cannot be deleted: that would kill the guest.
 */
#include <string.h>

#include "exporter/api/api.h"

/* One launcher, of either kind. */
struct pod {
    const struct snapshot_guest *guest; /* NULL: of the target, guest unknown */
    const struct snapshot_job *job;     /* of the target; NULL: the guest's own */
    const char *ns, *name, *uid, *node, *phase, *state;
    const char *guest_name, *guest_uuid;
    bool is_ready;
};

static struct pod source_pod(const struct snapshot_guest *guest)
{
    const char *phase = guest->node_reachable ? "Running" : "Unknown";
    return (struct pod){.guest = guest,
                        .ns = guest->ns,
                        .name = guest->pod,
                        .uid = guest->pod_uid,
                        .node = guest->node,
                        .phase = phase,
                        .state = phase,
                        .guest_name = guest->name,
                        .guest_uuid = guest->uuid,
                        .is_ready = guest->node_reachable && guest->state == HV_STATE_RUNNING};
}

static struct pod target_pod(const struct snapshot *s, const struct snapshot_job *job)
{
    return (struct pod){.guest = snapshot_find_guest(s, job->ns, job->guest_name),
                        .job = job,
                        .ns = job->ns,
                        .name = job->placement.target_pod,
                        .uid = job->placement.target_pod_uid,
                        .node = job->target,
                        .phase = launcher_pod_phase(job->placement.launcher),
                        .state = launcher_name(job->placement.launcher),
                        .guest_name = job->guest_name,
                        .guest_uuid = job->guest_uuid,
                        .is_ready = job->placement.launcher == LAUNCHER_READY};
}

/* Numbers: guests first, then jobs. */
static struct pod pod_of(const struct snapshot *s, size_t i)
{
    return i < s->n_guests ? source_pod(&s->guests[i]) : target_pod(s, s->jobs[i - s->n_guests]);
}

bool api_target_launcher_is_up(const struct snapshot_job *job)
{
    return job->placement.launcher >= LAUNCHER_PENDING &&
           job->placement.launcher <= LAUNCHER_READY && job->placement.target_pod[0] != '\0' &&
           !phase_is_final(job->phase);
}

static struct json_object *labels_of(const struct pod *pod)
{
    struct json_object *labels =
        api_object_from(pod->guest == NULL ? NULL : pod->guest->labels, NULL);
    json_add_text(labels, "kubevirt.io", "virt-launcher");
    json_add_text(labels, "kubevirt.io/created-by", pod->guest_uuid);
    if (strlen(pod->guest_name) < LABEL_VALUE_MAX)
        json_add_text(labels, "vm.kubevirt.io/name", pod->guest_name);
    if (pod->job != NULL)
        json_add_text(labels, "kubevirt.io/migrationJobUID", pod->job->uid);
    return labels;
}

/* When it was requested, or the guest arrived or was first seen there. */
static int64_t since_of(const struct pod *pod)
{
    return pod->job != NULL ? pod->job->times.created_ms : pod->guest->here_since_ms;
}

static void add_metadata(struct json_object *object, const struct pod *pod)
{
    const struct api_meta meta = {pod->ns, pod->name, pod->uid, since_of(pod)};
    struct json_object *metadata = api_add_meta(object, KIND_POD, &meta);
    json_add(metadata, "labels", labels_of(pod));
    struct json_object *annotations = json_add_object(metadata, "annotations");
    json_add_text(annotations, "kubevirt.io/domain", pod->guest_name);
    if (pod->job != NULL)
        json_add_text(annotations, "kubevirt.io/migrationJobName", pod->job->name);
    else if (pod->guest->evacuation_node[0] != '\0')
        json_add_text(annotations, "descheduler.alpha.kubernetes.io/eviction-in-progress",
                      "kubevirt");
    const struct api_kind_row *row = api_kind_row(KIND_INSTANCE);
    struct json_object *owner = json_add_object(json_add_array(metadata, "ownerReferences"), "");
    json_add_text(owner, "apiVersion", row->api_version);
    json_add_text(owner, "kind", row->kind);
    json_add_text(owner, "name", pod->guest_name);
    json_add_text(owner, "uid", pod->guest_uuid);
    json_add_bool(owner, "controller", true);
    json_add_bool(owner, "blockOwnerDeletion", true);
}

static void add_spec(struct json_object *object, const struct pod *pod)
{
    struct json_object *spec = json_add_object(object, "spec");
    api_add_unless_empty(spec, "nodeName", pod->node);
    json_add_text(spec, "restartPolicy", "Never");
    struct json_object *container = json_add_object(json_add_array(spec, "containers"), "");
    json_add_text(container, "name", "compute");
    json_add_text(container, "image", "qemu");
    struct json_object *resources = json_add_object(container, "resources");
    if (pod->guest == NULL)
        return;
    char memory[API_SHORT_TEXT_MAX], cpus[API_SHORT_TEXT_MAX];
    (void)snprintf(memory, sizeof memory, "%lluKi", (unsigned long long)pod->guest->memory_kib);
    (void)snprintf(cpus, sizeof cpus, "%u", pod->guest->vcpus);
    struct json_object *requests = json_add_object(resources, "requests");
    json_add_text(requests, "cpu", cpus);
    json_add_text(requests, "memory", memory);
}

static void add_status(struct json_object *object, const struct pod *pod)
{
    int64_t since_ms = pod->job == NULL ? 0 : pod->job->placement.launcher_since_ms;
    bool has_node = pod->node[0] != '\0';
    struct json_object *status = json_add_object(object, "status");
    json_add_text(status, "phase", pod->phase);
    struct json_object *conditions = json_add_array(status, "conditions");
    api_add_condition(conditions, "PodScheduled", has_node ? "True" : "False", 0,
                      has_node ? NULL : "Unschedulable",
                      pod->job == NULL || has_node ? NULL : pod->job->wait.reason);
    api_add_condition(conditions, "Ready", pod->is_ready ? "True" : "False", since_ms, NULL, NULL);
    struct json_object *container =
        json_add_object(json_add_array(status, "containerStatuses"), "");
    json_add_text(container, "name", "compute");
    json_add_text(container, "image", "qemu");
    json_add_bool(container, "ready", pod->is_ready);
    json_add_i64(container, "restartCount", 0);
    json_add_text(json_add_object(status, "ferry"), "launcher", pod->state);
}

void serve_pod_delete(const struct api_call *call, struct http_reply *out_reply)
{
    size_t i;
    if (call->snapshot != NULL &&
        !api_find(&api_pods, call->snapshot, call->request->ns, call->request->name, &i)) {
        reply_not_found(out_reply, KIND_POD, call->request->name);
        return;
    }
    reply_refusal(out_reply, 405,
                  "a launcher cannot be deleted: that would kill its guest; use the pods/eviction "
                  "subresource, as kubectl drain does, or a migration");
    TEXT_SET(out_reply->allow, "GET, HEAD");
}

/* ---- as a kind ---- */

static size_t count(const struct snapshot *s)
{
    return s->n_guests + s->n_jobs;
}
static bool is_there(const struct snapshot *s, size_t i)
{
    if (i < s->n_guests)
        return s->guests[i].up && s->guests[i].pod[0] != '\0';
    return api_target_launcher_is_up(s->jobs[i - s->n_guests]);
}
static const char *ns(const struct snapshot *s, size_t i)
{
    return i < s->n_guests ? s->guests[i].ns : s->jobs[i - s->n_guests]->ns;
}
static const char *name(const struct snapshot *s, size_t i)
{
    return i < s->n_guests ? s->guests[i].pod : s->jobs[i - s->n_guests]->placement.target_pod;
}

static const char *uid(const struct snapshot *s, size_t i)
{
    return i < s->n_guests ? s->guests[i].pod_uid
                           : s->jobs[i - s->n_guests]->placement.target_pod_uid;
}

static struct json_object *labels(const struct snapshot *s, size_t i)
{
    struct pod pod = pod_of(s, i);
    return labels_of(&pod);
}

static bool are_same_guests(const struct snapshot_guest *a, const struct snapshot_guest *b)
{
    return a == b || (a != NULL && b != NULL && text_equal(a->labels, b->labels) &&
                      a->memory_kib == b->memory_kib && a->vcpus == b->vcpus &&
                      a->here_since_ms == b->here_since_ms &&
                      strcmp(a->evacuation_node, b->evacuation_node) == 0);
}

static bool are_same_jobs(const struct snapshot_job *a, const struct snapshot_job *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a->uid, b->uid) == 0 &&
                      a->placement.launcher_since_ms == b->placement.launcher_since_ms &&
                      strcmp(a->wait.reason, b->wait.reason) == 0);
}

static bool is_same(const struct snapshot *a, size_t i, const struct snapshot *b, size_t j)
{
    const struct pod x = pod_of(a, i), y = pod_of(b, j);
    return strcmp(x.node, y.node) == 0 && strcmp(x.phase, y.phase) == 0 &&
           strcmp(x.state, y.state) == 0 && strcmp(x.guest_name, y.guest_name) == 0 &&
           strcmp(x.guest_uuid, y.guest_uuid) == 0 && x.is_ready == y.is_ready &&
           are_same_guests(x.guest, y.guest) && are_same_jobs(x.job, y.job);
}

static struct json_object *object(const struct snapshot *s, size_t i)
{
    struct pod pod = pod_of(s, i);
    struct json_object *out = json_object_new_object();
    add_metadata(out, &pod);
    add_spec(out, &pod);
    add_status(out, &pod);
    return out;
}

static void add_cells(const struct snapshot *s, size_t i, int64_t now_ms, struct json_object *cells)
{
    struct pod pod = pod_of(s, i);
    char age[API_SHORT_TEXT_MAX];
    api_age_text(since_of(&pod), now_ms, age);
    const char *const texts[] = {
        pod.is_ready ? "1/1" : "0/1",        pod.phase, pod.state, pod.guest_name, pod.node, age,
        pod.job == NULL ? "" : pod.job->name};
    for (size_t c = 0; c < COUNT(texts); c++)
        json_add_text(cells, "", texts[c]);
}

static const char *field(const struct snapshot *s, size_t i, const char *key)
{
    struct pod pod = pod_of(s, i);
    return strcmp(key, "spec.nodeName") == 0  ? pod.node
           : strcmp(key, "metadata.uid") == 0 ? pod.uid
                                              : pod.phase;
}

const struct api_view api_pods = {.count = count,
                                  .ns = ns,
                                  .name = name,
                                  .uid = uid,
                                  .is_same = is_same,
                                  .labels = labels,
                                  .object = object,
                                  .add_cells = add_cells,
                                  .is_there = is_there,
                                  .fields = "metadata.uid spec.nodeName status.phase",
                                  .field = field};
