/* admission.c - see admission.h. */
#include "engine/control/admission.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { ADMISSION_JOBS_MAX = 100000, NAME_LETTERS = 5 };

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

static bool choose_name(struct fleet *f, const struct migration_request *request, struct job *job,
                        struct err *err)
{
    if (request->name[0] != '\0') {
        TEXT_SET(job->name, request->name);
    } else {
        static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
        char tail[NAME_LETTERS + 1] = {0};
        uint64_t dice = fleet_random(f);
        for (unsigned i = 0; i < NAME_LETTERS; i++, dice /= sizeof letters - 1)
            tail[i] = letters[dice % (sizeof letters - 1)];
        const char *stem =
            request->generate_name[0] != '\0' ? request->generate_name : "migration-";
        (void)snprintf(job->name, sizeof job->name, "%.200s%s", stem, tail);
    }
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

static bool choose_priority(const struct migration_request *request, struct job *job,
                            struct err *err)
{
    if (request->priority[0] == '\0')
        return true; /* a human's, as the job is made */
    job->priority = priority_from_name(request->priority);
    if (job->priority < PRIORITY_COUNT)
        return true;
    return err_set(err, ERR_UNPROCESSABLE,
                   "spec.priority: there is no class '%s'; there is: system-critical, "
                   "user-triggered, system-maintenance, none",
                   request->priority);
}

/* A definition nobody has read yet is no reason to refuse: libvirt has the last word. */
static bool check_migratable(const struct migratable *migratable, struct err *err)
{
    enum unmovable row = migratable_first_live(migratable);
    if (row == UNMOVABLE_COUNT)
        return true;
    char text[MIGRATABLE_TEXT_MAX];
    unmovable_text(row, migratable, text);
    return err_set(err, ERR_REFUSED, "Cannot migrate VMI, Reason: %s, Message: %s",
                   unmovable_name(row), text);
}

static bool check_guest(struct fleet *f, const struct migration_request *request,
                        struct guest **out_guest, struct err *err)
{
    if (request->guest_name[0] == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "vmiName is missing");
    unsigned count = 0;
    struct guest *guest = fleet_guest_named(f, request->ns, request->guest_name, &count);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "the VMI \"%s/%s\" does not exist", request->ns,
                       request->guest_name);
    if (count > 1)
        return err_set(err, ERR_REFUSED,
                       "%u different guests are called \"%s/%s\"; rename one of them", count,
                       request->ns, request->guest_name);
    const struct job *active = fleet_active_job(f, guest->uuid);
    if (active != NULL)
        return err_set(err, ERR_REFUSED,
                       "in-flight migration detected. Active migration job (%s) is currently "
                       "already in progress for VMI %s.",
                       active->name, guest->name);
    int state = guest->owner != NULL ? guest->owner->state : HV_STATE_SHUTOFF;
    if (state == HV_STATE_SHUTOFF || state == HV_STATE_CRASHED || state == HV_STATE_NONE)
        return err_set(err, ERR_REFUSED, "Cannot migrate VMI in finalized state.");
    if (!check_migratable(&guest->owner->migratable, err))
        return false;
    *out_guest = guest;
    return true;
}

/* Names of the nodes a guest could go to, for the message that asks to choose. */
static unsigned other_nodes(const struct fleet *f, const char *source, char *out, size_t out_bytes)
{
    unsigned n = 0;
    size_t used = 0;
    out[0] = '\0';
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        if (strcmp(node->name, source) == 0)
            continue;
        int more = snprintf(out + used, out_bytes - used, "%s%s", n > 0 ? ", " : "", node->name);
        if (more > 0 && (size_t)more < out_bytes - used)
            used += (size_t)more;
        n++;
    }
    return n;
}

static bool check_target(struct fleet *f, const struct migration_request *request,
                         const struct guest *guest, struct err *err)
{
    const char *source = guest->owner->node->name;
    char others[256];
    unsigned n = other_nodes(f, source, others, sizeof others);
    if (request->target[0] == '\0') {
        if (n == 0)
            return err_set(err, ERR_REFUSED, "there is no other node than %s to migrate to",
                           source);
        if (n > 1)
            return err_set(err, ERR_UNPROCESSABLE, "name a target node, one of: %s", others);
        return true;
    }
    if (fleet_node(f, request->target) == NULL)
        return err_set(err, ERR_UNPROCESSABLE, "target node \"%s\" is not configured; there is: %s",
                       request->target, others);
    if (strcmp(request->target, source) == 0)
        return err_set(err, ERR_REFUSED, "the guest is on node %s already", source);
    return true;
}

struct job *admission_admit(struct fleet *f, const struct migration_request *request,
                            struct moment now, struct err *err)
{
    struct guest *guest = NULL;
    if (!f->store_ok) {
        err_set(err, ERR_IO, "the store cannot be written; nothing new is accepted");
        return NULL;
    }
    if (HASH_CNT(hh_guest, f->active) >= ADMISSION_JOBS_MAX) {
        err_set(err, ERR_LIMIT, "%d unfinished migrations are the limit", ADMISSION_JOBS_MAX);
        return NULL;
    }
    if (!check_guest(f, request, &guest, err) || !check_target(f, request, guest, err))
        return NULL;

    OWNED(job) job = job_new(err);
    if (job == NULL || !choose_priority(request, job, err) || !choose_name(f, request, job, err))
        return NULL;
    if (request->metadata_json != NULL) {
        job->metadata_json = strdup(request->metadata_json);
        if (job->metadata_json == NULL) {
            err_set(err, ERR_NOMEM, "labels and annotations");
            return NULL;
        }
    }
    fleet_make_uid(f, job->uid);
    TEXT_SET(job->ns, request->ns);
    TEXT_SET(job->guest_uuid, guest->uuid);
    TEXT_SET(job->guest_name, guest->name);
    TEXT_SET(job->wanted, request->target);
    TEXT_SET(job->requester, request->requester);
    job->bandwidth_mibs = request->bandwidth_mibs;
    job->created_ms = now.wall_ms;
    job->entered_ms = job->wake_ms = now.mono_ms;
    job->steps[0].phase = PHASE_PENDING;
    job->steps[0].wall_ms = now.wall_ms;
    job->n_steps = 1;
    job->changed = true;
    return TAKE(job);
}
