/* admission.c - see admission.h. */
#include "engine/control/admission.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/control/orphans.h"
#include "engine/control/scheduling/scheduling.h"
#include "engine/data/ownership.h"
#include "engine/model/definition/volumes.h"
#include "engine/model/job/backoff.h"

enum { ADMISSION_JOBS_MAX = 100000, NAME_LETTERS = 5, TIMEOUT_MAX_S = 7 * 86400 };

/* Lower case letters, digits, '-' and '.', beginning and ending with a letter or digit. */
static bool is_object_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n >= JOB_NAME_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool inner = name[i] == '-' || name[i] == '.';
        if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) && !inner)
            return false;
        if (inner && (i == 0 || i + 1 == n))
            return false;
    }
    return true;
}

static void make_name(struct fleet *f, const char *stem, struct job *job)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char tail[NAME_LETTERS + 1] = {0};
    uint64_t dice = fleet_random(f);
    for (unsigned i = 0; i < NAME_LETTERS; i++, dice /= sizeof letters - 1)
        tail[i] = letters[dice % (sizeof letters - 1)];
    (void)snprintf(job->name, sizeof job->name, "%.200s%s", stem, tail);
}

static bool choose_name(struct fleet *f, const struct migration_request *request, struct job *job,
                        struct err *err)
{
    if (request->name[0] != '\0')
        TEXT_SET(job->name, request->name);
    else
        make_name(f, request->generate_name[0] != '\0' ? request->generate_name : "migration-",
                  job);
    if (!is_object_name(job->name))
        return err_set(
            err, ERR_UNPROCESSABLE,
            "metadata.name: '%s' is not a name: lower case letters, digits, '-' and '.', "
            "up to 253",
            job->name);
    if (fleet_job_named(f, request->ns, job->name) != NULL)
        return err_set(err, ERR_EXISTS,
                       "virtualmachineinstancemigrations.kubevirt.io \"%s\" already exists",
                       job->name);
    return true;
}

/* Checks that need the request only, not the guest. */
static bool check_request(const struct migration_request *request, struct job *job, struct err *err)
{
    if (request->guest_name[0] == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "vmiName is missing");
    if (request->priority[0] == '\0')
        return true; /* the default of a user's request, as in the job */
    job->request.priority = priority_from_name(request->priority);
    if (job->request.priority < PRIORITY_COUNT)
        return true;
    return err_set(err, ERR_UNPROCESSABLE,
                   "spec.priority: '%s' is not a priority class; valid: system-critical, "
                   "user-triggered, system-maintenance, none",
                   request->priority);
}

/* A definition that was not read yet is no reason to refuse: libvirt checks it too. */
static bool check_migratable(const struct migratable *migratable, enum hv_manager asks,
                             struct err *err)
{
    enum unmovable row = migratable_first_for(migratable, asks);
    if (row == UNMOVABLE_COUNT)
        return true;
    char text[MIGRATABLE_TEXT_MAX];
    unmovable_text(row, migratable, text);
    return err_set(err, ERR_REFUSED, "Cannot migrate VMI, Reason: %s, Message: %s",
                   unmovable_name(row), text);
}

/* A guest split by a broken post-copy can be inspected, saved and destroyed, not migrated. Once
 * it was started anew it is a guest like any other. */
static bool check_intact(struct fleet *f, const struct guest *guest, struct err *err)
{
    const struct job *newest = fleet_newest_finished(f, guest->uuid);
    const struct hv_observation observation = {
        .presence = HV_PRESENT, .state = guest->owner->state, .reason = guest->owner->reason};
    enum ownership_side side = ownership_side(&observation);
    if (newest == NULL || newest->result.outcome != OUTCOME_IRRECOVERABLE ||
        (side != SIDE_POSTCOPY && side != SIDE_POSTCOPY_FAILED))
        return true;
    char state[HV_TEXT_MAX];
    hv_state_text(observation.state, observation.reason, state);
    return err_set(err, ERR_REFUSED,
                   "Cannot migrate VMI %s: migration %s broke in post-copy and left the guest "
                   "incomplete, %s on %s; destroy that domain and start the guest anew first",
                   guest->name, newest->name, state, guest->owner->node->name);
}

/* In the order of KubeVirt's webhook: the guest's state first, then its active job. */
static bool check_free(struct fleet *f, const struct guest *guest, const struct volumes *volumes,
                       enum hv_manager asks, struct err *err)
{
    int state = guest->owner != NULL ? guest->owner->state : HV_STATE_SHUTOFF;
    if (state == HV_STATE_SHUTOFF || state == HV_STATE_CRASHED || state == HV_STATE_NONE)
        return err_set(err, ERR_REFUSED, "Cannot migrate VMI in finalized state.");
    const struct domain *owner = guest->owner;
    if (!fleet_may_act(owner->node, err))
        return false;
    if (volumes != NULL ? !volumes_check(volumes, owner->requirements, &owner->migratable, err)
                        : !check_migratable(&owner->migratable, asks, err))
        return false;
    const struct job *active = fleet_active_job(f, guest->uuid);
    if (active != NULL)
        return err_set(err, ERR_REFUSED,
                       "in-flight migration detected. Active migration job (%s) is currently "
                       "already in progress for VMI %s.",
                       active->name, guest->name);
    return orphans_check(f, guest, err) && check_intact(f, guest, err);
}

static bool check_guest(struct fleet *f, const struct migration_request *request,
                        const struct volumes *volumes, enum hv_manager asks,
                        struct guest **out_guest, struct err *err)
{
    unsigned count = 0;
    struct guest *guest = fleet_guest_named(f, request->ns, request->guest_name, &count);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "the VMI \"%s/%s\" does not exist", request->ns,
                       request->guest_name);
    if (count > 1)
        return err_set(err, ERR_REFUSED,
                       "%u guests with different UUIDs have the name \"%s/%s\"; rename one of them",
                       count, request->ns, request->guest_name);
    *out_guest = guest;
    return check_free(f, guest, volumes, asks, err);
}

/* Names of the possible target nodes, as many as fit, for the message of an unknown node. */
static void list_other_nodes(const struct fleet *f, const char *source, char *out, size_t out_bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        if (strcmp(node->name, source) == 0)
            continue;
        int more = snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? ", " : "", node->name);
        if (more > 0 && (size_t)more < out_bytes - used)
            used += (size_t)more;
        else
            break;
    }
}

static bool check_target(struct fleet *f, const char *target, const struct guest *guest,
                         struct err *err)
{
    const char *source = guest->owner->node->name;
    if (HASH_COUNT(f->nodes) < 2)
        return err_set(err, ERR_REFUSED,
                       "node %s is the only node; there is no target to migrate to", source);
    if (target[0] == '\0')
        return true;
    const struct node *node = fleet_node(f, target);
    if (node != NULL && !fleet_may_act(node, err))
        return false;
    if (node == NULL) {
        char others[256];
        list_other_nodes(f, source, others, sizeof others);
        return err_set(err, ERR_UNPROCESSABLE, "target node \"%s\" is not configured; valid: %s",
                       target, others);
    }
    if (strcmp(target, source) == 0)
        return err_set(err, ERR_REFUSED, "the guest is already on node %s", source);
    return true;
}

static bool copy_texts(const struct migration_request *request, const struct volumes *volumes,
                       struct job *job, struct err *err)
{
    if (request->metadata_json != NULL) {
        job->request.metadata_json = strdup(request->metadata_json);
        if (job->request.metadata_json == NULL)
            return err_set(err, ERR_NOMEM, "out of memory: labels and annotations");
        admission_read_annotations(job);
    }
    if (volumes != NULL) {
        job->request.volumes_json = volumes_text(volumes);
        if (job->request.volumes_json == NULL)
            return err_set(err, ERR_NOMEM, "out of memory: volumes");
    }
    return request->selector_json == NULL ||
           labels_parse(request->selector_json, "spec.addedNodeSelector",
                        &job->request.added_selector, err);
}

/* Overrides of the pending deadlines, where a value that is not a number is ignored, as in
 * KubeVirt; and on whose behalf the requester says that it asks. */
void admission_read_annotations(struct job *job)
{
    static const char *const names[COUNT(((struct job *)NULL)->request.timeouts_s)] = {
        "kubevirt.io/migrationUnschedulablePodTimeoutSeconds",
        "kubevirt.io/migrationPendingPodTimeoutSeconds",
        "kubevirt.io/migrationUtilityVolumesTimeoutSeconds",
    };
    struct err err = {0};
    if (job->request.metadata_json == NULL)
        return;
    OWNED(json_object) metadata = json_parse(job->request.metadata_json,
                                             strlen(job->request.metadata_json), "metadata", &err);
    struct json_object *annotations = json_at(metadata, "annotations"), *value = NULL;
    if (annotations == NULL || !json_object_is_type(annotations, json_type_object))
        return;
    if (json_object_object_get_ex(annotations, "ferry.internal/on-behalf-of", &value) &&
        json_object_is_type(value, json_type_string))
        job->request.on_behalf_of = hv_manager_from_name(json_object_get_string(value));
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!json_object_object_get_ex(annotations, names[i], &value))
            continue;
        int64_t seconds = 0;
        const char *text = json_object_get_string(value);
        if (text != NULL && text_to_i64(text, 1, TIMEOUT_MAX_S, &seconds))
            job->request.timeouts_s[i] = seconds;
    }
}

static bool has_room(const struct fleet *f, struct err *err)
{
    if (!f->store_ok)
        return err_set(err, ERR_IO, "the store is not writable; no new objects are accepted");
    if (HASH_CNT(links.hh_guest, f->active) >= ADMISSION_JOBS_MAX)
        return err_set(err, ERR_LIMIT, "limit reached: %d unfinished migrations",
                       ADMISSION_JOBS_MAX);
    return true;
}

void admission_begin(struct job *job, const struct guest *guest, struct moment now)
{
    TEXT_SET(job->ns, guest->ns);
    TEXT_SET(job->guest_uuid, guest->uuid);
    TEXT_SET(job->guest_name, guest->name);
    job->times.created_ms = now.wall_ms;
    job->entered_ms = job->queue.wake_ms = job->wait.born_ms = now.mono_ms;
    job->history.steps[0].phase = PHASE_PENDING;
    job->history.steps[0].wall_ms = now.wall_ms;
    job->history.n_steps = 1;
    job->changed = true;
}

bool admission_allows(struct fleet *f, const struct guest *guest, const char *target,
                      bool automatic, struct err *err)
{
    struct backoff backoff;
    backoff_of(fleet_newest_finished(f, guest->uuid), &backoff);
    if (automatic && backoff.exhausted)
        return err_set(err, ERR_REFUSED, "%u automatic migrations of %s/%s failed in a row",
                       backoff.failures, guest->ns, guest->name);
    return has_room(f, err) && check_free(f, guest, NULL, HV_MANAGER_NONE, err) &&
           check_target(f, target, guest, err);
}

struct job *admission_admit(struct fleet *f, const struct migration_request *request,
                            struct moment now, struct err *err)
{
    struct guest *guest = NULL;
    struct volumes requested;
    const struct volumes *volumes = request->volumes_json != NULL ? &requested : NULL;
    OWNED(job) job = job_new(err);
    if (job == NULL || !has_room(f, err) || !check_request(request, job, err) ||
        (volumes != NULL && !volumes_parse(request->volumes_json, false, &requested, err)) ||
        !copy_texts(request, volumes, job, err) ||
        !check_guest(f, request, volumes, job->request.on_behalf_of, &guest, err) ||
        !check_target(f, request->target, guest, err) || !choose_name(f, request, job, err))
        return NULL;
    fleet_make_uid(f, job->uid);
    admission_begin(job, guest, now);
    TEXT_SET(job->request.wanted, request->target);
    TEXT_SET(job->request.requester, request->requester);
    job->request.bandwidth_mibs = request->bandwidth_mibs;
    job->request.origin = job->request.volumes_json != NULL ? ORIGIN_VOLUMES : ORIGIN_HUMAN;
    return TAKE(job);
}

void admission_add(struct fleet *f, struct job *take_job, struct moment now, struct effects *fx)
{
    fleet_add_job(f, take_job);
    struct effect *effect = effects_add(fx, EFFECT_STEP, take_job, now.wall_ms);
    effect->of.step.from = PHASE_NONE;
    effect->of.step.to = PHASE_PENDING;
    effect->of.step.seq = 1;
    effects_event(fx, take_job, now.wall_ms, false, "Accepted", "Requested by %s.",
                  take_job->request.requester);
    schedule_first(f, take_job, now, fx);
}

struct job *admission_automatic(struct fleet *f, struct guest *guest,
                                struct automatic_request request, struct moment now,
                                struct effects *fx, struct err *err)
{
    if (!admission_allows(f, guest, "", true, err))
        return NULL;
    OWNED(job) job = job_new(err);
    if (job == NULL)
        return NULL;
    do
        make_name(f, request.name_stem, job);
    while (fleet_job_named(f, guest->ns, job->name) != NULL);
    fleet_make_uid(f, job->uid);
    admission_begin(job, guest, now);
    TEXT_SET(job->request.requester, request.requester);
    job->request.priority = request.priority;
    job->request.origin = request.origin;
    if (request.origin == ORIGIN_EVACUATION)
        TEXT_SET(job->request.evacuates, guest->owner->node->name);
    struct job *kept = TAKE(job);
    admission_add(f, kept, now, fx);
    return kept;
}
