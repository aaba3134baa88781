/* read_kube.c - see read_kube.h.
 *
 * Each kind has a function: failure reasons, conditions, events and terminated containers become
 * messages; phases, nodes and times become facts.
 */
#include "analyzer/read/read_kube.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/read/read_time.h"
#include "base/text.h"

enum { KUBE_ITEMS_MAX = 100000, KUBE_TEXT_MAX = EVIDENCE_TEXT_MAX };

/* One object while it is read. */
struct object {
    struct pieces *pieces;
    struct json_object *json;
    const char *kind, *ns, *name;
    struct tags tags;
    enum side side;
    char origin[EVIDENCE_ORIGIN_MAX];
};

/* The text at a path, "" when there is none. */
static const char *text_at(struct json_object *object, const char *path)
{
    struct json_object *member = json_at(object, path);
    return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : "";
}

static int64_t time_at(struct json_object *object, const char *path)
{
    return read_time_of(text_at(object, path));
}

/* A member whose key may hold dots. */
static const char *text_of_key(struct json_object *object, const char *path, const char *key)
{
    struct json_object *map = json_at(object, path), *member = NULL;
    if (!json_object_is_type(map, json_type_object) ||
        !json_object_object_get_ex(map, key, &member))
        return "";
    return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : "";
}

static size_t length_of(struct json_object *list)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    return n < KUBE_ITEMS_MAX ? n : KUBE_ITEMS_MAX;
}

static void add_fact(struct object *o, const char *key, const char *value, int64_t at_ms)
{
    struct evidence_fact fact = {.key = key, .value = value, .origin = o->origin, .at_ms = at_ms};
    pieces_fact(o->pieces, &o->tags, &fact);
}

/* "what: text", or the one of them that is there. */
static void add_message(struct object *o, const char *of, const char *what, const char *text,
                        int64_t at_ms)
{
    if (what[0] == '\0' && text[0] == '\0')
        return;
    struct buf whole;
    buf_init(&whole, KUBE_TEXT_MAX);
    bool has_both = what[0] != '\0' && text[0] != '\0';
    buf_addf(&whole, "%.256s%s", what, has_both ? ": " : "");
    size_t room = KUBE_TEXT_MAX - whole.length - 1, n = strlen(text);
    buf_add_bytes(&whole, text, n < room ? n : room);
    char origin[EVIDENCE_ORIGIN_MAX];
    (void)snprintf(origin, sizeof origin, "%.58s%s%.94s", of, of[0] != '\0' ? " of " : "",
                   o->origin);
    if (!whole.failed) {
        struct evidence_message message = {.text = whole.data,
                                           .length = whole.length,
                                           .origin = origin,
                                           .side = o->side,
                                           .at_ms = at_ms};
        pieces_message(o->pieces, &o->tags, &message);
    }
    buf_fini(&whole);
}

/* Conditions that have a message, and those with an unexpected status. */
static void add_conditions(struct object *o)
{
    struct json_object *list = json_at(o->json, "status.conditions");
    for (size_t i = 0; i < length_of(list); i++) {
        struct json_object *condition = json_object_array_get_idx(list, i);
        const char *type = text_at(condition, "type"), *status = text_at(condition, "status");
        const char *message = text_at(condition, "message"), *reason = text_at(condition, "reason");
        if (message[0] == '\0' && (reason[0] == '\0' || strcmp(status, "False") != 0))
            continue;
        char of[EVIDENCE_KEY_MAX + 16];
        (void)snprintf(of, sizeof of, "condition %.40s=%.8s", type, status);
        add_message(o, of, reason, message, time_at(condition, "lastTransitionTime"));
    }
}

static void set_id(char out_id[READ_ID_MAX], const char *ns, const char *name)
{
    out_id[0] = '\0';
    if (name[0] != '\0')
        (void)snprintf(out_id, READ_ID_MAX, "%.63s%s%.253s", ns, ns[0] != '\0' ? "/" : "", name);
}

static void add_member(struct object *o, struct json_object *state, const char *path,
                       const char *key)
{
    struct json_object *member = json_at(state, path);
    if (member == NULL || json_object_is_type(member, json_type_object) ||
        json_object_is_type(member, json_type_array))
        return;
    add_fact(o, key, json_object_get_string(member), 0);
}

/* Start, end and duration. */
static void add_times(struct object *o, int64_t start_ms, int64_t end_ms)
{
    char number[32];
    if (start_ms == 0)
        return;
    add_fact(o, "handed_off", "true", start_ms);
    if (end_ms < start_ms)
        return;
    (void)snprintf(number, sizeof number, "%lld", (long long)(end_ms - start_ms));
    add_fact(o, "elapsed_ms", number, end_ms);
}

/* A migrationState, of the guest or of the migration. */
static void add_state(struct object *o, struct json_object *state, struct migration_seen *seen)
{
    static const struct {
        const char *path, *key;
    } rows[] = {
#define STATE_FACT(path, key) {path, key},
#include "analyzer/read/read_kube.def"
#undef STATE_FACT
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        add_member(o, state, rows[i].path, rows[i].key);
    const char *source = text_at(state, "sourceNode"), *target = text_at(state, "targetNode");
    int64_t end_ms = time_at(state, "endTimestamp");
    add_times(o, time_at(state, "startTimestamp"), end_ms);
    if (source[0] != '\0' && target[0] != '\0')
        add_fact(o, "sourceNode_equals_targetNode", strcmp(source, target) == 0 ? "true" : "false",
                 0);
    add_message(o, "failureReason", "", text_at(state, "failureReason"), end_ms);
    TEXT_SET(seen->source_node, source);
    TEXT_SET(seen->target_node, target);
    TEXT_SET(seen->source_pod, text_at(state, "sourcePod"));
    TEXT_SET(seen->target_pod, text_at(state, "targetPod"));
    if (end_ms != 0)
        seen->end_ms = end_ms;
}

static bool is_final(const char *phase)
{
    return strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0;
}

/* The phase in which it ended is the last before the final one. */
static void add_phases(struct object *o, struct migration_seen *seen)
{
    struct json_object *steps = json_at(o->json, "status.phaseTransitionTimestamps");
    const char *phase = text_at(o->json, "status.phase"), *before = "";
    int64_t latest_ms = 0;
    for (size_t i = 0; i < length_of(steps); i++) {
        struct json_object *step = json_object_array_get_idx(steps, i);
        const char *name = text_at(step, "phase");
        int64_t at_ms = time_at(step, "phaseTransitionTimestamp");
        if (is_final(name)) {
            seen->end_ms = at_ms;
        } else if (at_ms >= latest_ms) {
            before = name;
            latest_ms = at_ms;
        }
    }
    bool is_handed_off = strcmp(before, "PreparingTarget") == 0 ||
                         strcmp(before, "TargetReady") == 0 || strcmp(before, "Running") == 0;
    add_fact(o, "phase", is_final(phase) ? before : phase, latest_ms);
    if (before[0] != '\0')
        add_fact(o, "handed_off", is_handed_off ? "true" : "false", latest_ms);
    if (!is_final(phase))
        return;
    bool is_aborted =
        strcmp(text_at(o->json, "status.migrationState.abortStatus"), "Succeeded") == 0;
    add_fact(o, "outcome",
             strcmp(phase, "Succeeded") == 0 ? "succeeded"
             : is_aborted                    ? "aborted"
                                             : "failed",
             seen->end_ms);
}

/* Deleting a migration that has not ended aborts it. */
static void add_deletion(struct object *o, const struct migration_seen *seen)
{
    int64_t deleted_ms = time_at(o->json, "metadata.deletionTimestamp");
    bool is_ended = is_final(text_at(o->json, "status.phase")) &&
                    (seen->end_ms == 0 || seen->end_ms < deleted_ms);
    if (deleted_ms != 0 && !is_ended)
        add_fact(o, "abort_requested", "true", deleted_ms);
}

static void read_migration(struct object *o)
{
    struct migration_seen seen = {.created_ms = time_at(o->json, "metadata.creationTimestamp")};
    TEXT_SET(seen.uid, text_at(o->json, "metadata.uid"));
    set_id(seen.id, o->ns, o->name);
    set_id(seen.guest, o->ns, text_at(o->json, "spec.vmiName"));
    TEXT_SET(o->tags.uid, seen.uid);
    TEXT_SET(o->tags.guest, seen.guest);
    struct json_object *state = json_at(o->json, "status.migrationState");
    if (state != NULL)
        add_state(o, state, &seen);
    add_phases(o, &seen);
    add_deletion(o, &seen);
    add_conditions(o);
    pieces_migration(o->pieces, &seen);
}

/* Where the guest runs, from its state and its node. */
static void add_guest(struct object *o, const struct migration_seen *seen)
{
    const char *node = text_at(o->json, "status.nodeName"),
               *phase = text_at(o->json, "status.phase");
    add_fact(o, "vmi_phase", phase, 0);
    if (strcmp(phase, "Running") != 0 || strcmp(seen->source_node, seen->target_node) == 0)
        return;
    if (strcmp(node, seen->source_node) == 0)
        add_fact(o, "guest", "running-on-source", 0);
    else if (strcmp(node, seen->target_node) == 0)
        add_fact(o, "guest", "running-on-target", 0);
}

static void read_guest(struct object *o)
{
    struct json_object *state = json_at(o->json, "status.migrationState");
    struct migration_seen seen = {0};
    set_id(o->tags.guest, o->ns, o->name);
    TEXT_SET(seen.guest, o->tags.guest);
    TEXT_SET(seen.uid, text_at(state, "migrationUid"));
    add_conditions(o);
    TEXT_SET(o->tags.uid, seen.uid);
    if (state != NULL) {
        add_state(o, state, &seen);
        pieces_migration(o->pieces, &seen);
    }
    add_guest(o, &seen);
}

/* "virt-launcher-NAME-x7k2p": NAME. */
static bool guest_of_launcher(const char *pod, const char *ns, char out_guest[READ_ID_MAX])
{
    static const char prefix[] = "virt-launcher-";
    const char *dash = strrchr(pod, '-'), *name = pod + sizeof prefix - 1;
    if (!text_has_prefix(pod, prefix) || dash == NULL || dash <= name)
        return false;
    (void)snprintf(out_guest, READ_ID_MAX, "%.63s%s%.*s", ns, ns[0] != '\0' ? "/" : "",
                   (int)(dash - name), name);
    return true;
}

/* A container that waits because of an error, or that ended with one. */
static void add_container(struct object *o, struct json_object *status, const char *state)
{
    struct json_object *ended = NULL, *waiting = NULL;
    char path[64], what[EVIDENCE_KEY_MAX * 2], number[32];
    (void)snprintf(path, sizeof path, "%s.terminated", state);
    ended = json_at(status, path);
    (void)snprintf(path, sizeof path, "%s.waiting", state);
    waiting = json_at(status, path);
    if (waiting != NULL && text_at(waiting, "message")[0] != '\0') {
        (void)snprintf(what, sizeof what, "container %.40s waits: %.40s", text_at(status, "name"),
                       text_at(waiting, "reason"));
        add_message(o, "container", what, text_at(waiting, "message"), 0);
    }
    struct json_object *code = json_at(ended, "exitCode");
    if (code == NULL || !json_object_is_type(code, json_type_int) ||
        json_object_get_int64(code) == 0)
        return;
    (void)snprintf(number, sizeof number, "%lld", (long long)json_object_get_int64(code));
    (void)snprintf(what, sizeof what, "container %.40s terminated: %.24s (exit code %s)",
                   text_at(status, "name"), text_at(ended, "reason"), number);
    add_message(o, "container", what, text_at(ended, "message"), time_at(ended, "finishedAt"));
    add_fact(o, "exit_code", number, time_at(ended, "finishedAt"));
}

static void add_containers(struct object *o, const char *path)
{
    struct json_object *list = json_at(o->json, path);
    for (size_t i = 0; i < length_of(list); i++) {
        struct json_object *status = json_object_array_get_idx(list, i);
        add_container(o, status, "state");
        add_container(o, status, "lastState");
    }
}

/* Only launchers and KubeVirt's own pods: other pods are not about a guest. */
static void read_pod(struct object *o)
{
    const char *role = text_of_key(o->json, "metadata.labels", "kubevirt.io");
    bool is_launcher = guest_of_launcher(o->name, o->ns, o->tags.guest);
    if (!is_launcher && strcmp(role, "virt-launcher") != 0) {
        if (text_has_prefix(role, "virt-"))
            add_containers(o, "status.containerStatuses");
        return;
    }
    const char *guest = text_of_key(o->json, "metadata.labels", "vm.kubevirt.io/name");
    if (guest[0] != '\0')
        set_id(o->tags.guest, o->ns, guest);
    TEXT_SET(o->tags.pod, o->name);
    TEXT_SET(o->tags.uid, text_of_key(o->json, "metadata.labels", "kubevirt.io/migrationJobUID"));
    bool is_target = o->tags.uid[0] != '\0';
    o->side = is_target ? SIDE_TARGET : SIDE_UNKNOWN;
    if (is_target)
        add_fact(o, "target_pod_phase", text_at(o->json, "status.phase"), 0);
    add_message(o, "status", text_at(o->json, "status.reason"), text_at(o->json, "status.message"),
                0);
    add_conditions(o);
    add_containers(o, "status.initContainerStatuses");
    add_containers(o, "status.containerStatuses");
}

static void read_node(struct object *o)
{
    TEXT_SET(o->tags.node, o->name);
    struct json_object *list = json_at(o->json, "status.conditions");
    for (size_t i = 0; i < length_of(list); i++) {
        struct json_object *condition = json_object_array_get_idx(list, i);
        const char *status = text_at(condition, "status");
        bool is_ready = strcmp(text_at(condition, "type"), "Ready") == 0;
        if (is_ready && strcmp(status, "True") != 0)
            add_message(o, "condition Ready", text_at(condition, "reason"),
                        text_at(condition, "message"), time_at(condition, "lastTransitionTime"));
    }
}

/* Sets the event's tags; false when it is not about a migration. */
static bool tag_event(struct object *o, struct json_object *about)
{
    const char *kind = text_at(about, "kind"), *ns = text_at(about, "namespace");
    const char *name = text_at(about, "name");
    if (ns[0] == '\0')
        ns = o->ns;
    if (strcmp(kind, "VirtualMachineInstanceMigration") == 0) {
        TEXT_SET(o->tags.uid, text_at(about, "uid"));
        return true;
    }
    if (strcmp(kind, "VirtualMachineInstance") == 0 || strcmp(kind, "VirtualMachine") == 0) {
        set_id(o->tags.guest, ns, name);
        return true;
    }
    if (strcmp(kind, "Node") == 0)
        TEXT_SET(o->tags.node, name);
    else if (strcmp(kind, "Pod") == 0 && guest_of_launcher(name, ns, o->tags.guest))
        TEXT_SET(o->tags.pod, name);
    return o->tags.node[0] != '\0' || o->tags.pod[0] != '\0';
}

static void read_event(struct object *o)
{
    struct json_object *about = json_at(o->json, "involvedObject");
    if (about == NULL)
        about = json_at(o->json, "regarding");
    const char *text = text_at(o->json, "message");
    int64_t at_ms = time_at(o->json, "lastTimestamp");
    if (at_ms == 0)
        at_ms = time_at(o->json, "eventTime");
    if (at_ms == 0)
        at_ms = time_at(o->json, "metadata.creationTimestamp");
    if (!tag_event(o, about))
        return;
    (void)snprintf(o->origin, sizeof o->origin, "%.40s %.110s", text_at(about, "kind"),
                   text_at(about, "name"));
    add_message(o, "event", text_at(o->json, "reason"),
                text[0] != '\0' ? text : text_at(o->json, "note"), at_ms);
}

static const struct {
    const char *kind;
    void (*read)(struct object *o);
} readers[] = {
    {"VirtualMachineInstanceMigration", read_migration},
    {"VirtualMachineInstance", read_guest},
    {"Pod", read_pod},
    {"Event", read_event},
    {"Node", read_node},
};

/* Items of a typed list may omit their kind. */
static bool kind_is(const char *kind, const char *list_kind, const char *wanted)
{
    size_t n = strlen(wanted);
    if (kind[0] != '\0')
        return strcmp(kind, wanted) == 0;
    return strncmp(list_kind, wanted, n) == 0 && strcmp(list_kind + n, "List") == 0;
}

bool kube_is_object(struct json_object *object, const char *list_kind)
{
    if (!json_object_is_type(object, json_type_object))
        return false;
    bool has_kind = text_at(object, "kind")[0] != '\0' || list_kind[0] != '\0';
    bool has_rest = json_at(object, "apiVersion") != NULL || json_at(object, "metadata") != NULL;
    return has_kind && has_rest;
}

void kube_read(struct pieces *pieces, struct json_object *object, const char *list_kind,
               const char *name)
{
    const char *kind = text_at(object, "kind");
    struct json_object *items = json_at(object, "items");
    for (size_t i = 0; i < length_of(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        if (kube_is_object(item, kind) && json_at(item, "items") == NULL)
            kube_read(pieces, item, kind, name);
    }
    struct object o = {.pieces = pieces,
                       .json = object,
                       .kind = kind,
                       .ns = text_at(object, "metadata.namespace"),
                       .name = text_at(object, "metadata.name"),
                       .side = SIDE_MANAGER};
    for (size_t i = 0; i < COUNT(readers); i++) {
        if (!kind_is(kind, list_kind, readers[i].kind))
            continue;
        (void)snprintf(o.origin, sizeof o.origin, "%.40s %.60s (%.40s)", readers[i].kind, o.name,
                       name);
        readers[i].read(&o);
        return;
    }
}

bool kube_tags_of_path(const char *path, struct tags *out_tags)
{
    const char *pod = strstr(path, "virt-launcher-"), *namespaces = strstr(path, "namespaces/");
    char ns[64] = "", name[PIECES_NAME_MAX];
    if (pod == NULL)
        return false;
    if (namespaces != NULL && namespaces < pod) {
        namespaces += strlen("namespaces/");
        (void)snprintf(ns, sizeof ns, "%.*s", (int)strcspn(namespaces, "/"), namespaces);
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(pod, "/._"), pod);
    struct tags tags = {0};
    if (!guest_of_launcher(name, ns, tags.guest))
        return false;
    TEXT_SET(tags.pod, name);
    *out_tags = tags;
    return true;
}
