/* guest_free.c - see guest_free.h. */
#include "engine/control/scheduling/guest_free.h"

#include "base/text.h"
#include "engine/control/scheduling/wait.h"
#include "engine/data/intent.h"

/* Re-asked at KubeVirt's pace: the higher the class the sooner. */
static int64_t again_ms(const struct job *job)
{
    if (job->priority == PRIORITY_SYSTEM_CRITICAL)
        return 1000;
    return job->priority == PRIORITY_USER_TRIGGERED ? 3000 : 5000;
}

static void ask_job(struct fleet *f, struct job *job, const char *node, struct moment now,
                    struct effects *fx)
{
    job->asked_job = true;
    job->hv_job_question = ++f->next_call_id;
    job->hv_job_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_JOB, job, now.wall_ms);
    effect->of.act.id = job->hv_job_question;
    TEXT_SET(effect->of.act.node, node);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

void guest_check_first(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    if (guest != NULL && guest->owner != NULL && guest->owner->node->connected)
        ask_job(f, job, guest->owner->node->name, now, fx);
}

static void wait_for_answer(struct fleet *f, struct job *job, const struct guest *guest,
                            struct moment now, struct effects *fx)
{
    if (job->hv_job == JOB_SEEN_ACTIVE)
        step_wait(job, PENDING_GUEST_BUSY, now,
                  "a migration that Ferry did not start runs on the guest");
    else
        step_wait(job, PENDING_GUEST_BUSY, now, "node %s is asked whether a job runs on the guest",
                  guest->owner->node->name);
    if (wait_until_deadline(f, job, now, fx) && job->wake_ms > now.mono_ms + again_ms(job))
        job->wake_ms = now.mono_ms + again_ms(job);
}

/* An order like any other that changes a guest: recorded open, closed by its answer. */
static void stop_backup(struct fleet *f, struct job *job, const char *node, struct moment now,
                        struct effects *fx)
{
    effects_event(fx, job, now.wall_ms, false, "BackupAbortedForMigration",
                  "Aborting backup of %s for system-critical migration", job->guest_name);
    struct effect *effect = order_give(f, job, &job->backup_order, HV_CALL_ABORT, node,
                                       INTENT_STOP_BACKUP, NULL, now, fx);
    effect->kind = EFFECT_DO_STOP_BACKUP; /* somebody else's job, not the migration's */
}

bool guest_backup_answered(struct job *job, uint64_t id, const struct err *err, struct moment now,
                           struct effects *fx)
{
    if (!order_answered(job, &job->backup_order, id, err, now, fx))
        return false;
    /* Lost, or never given: the next look tells whether the backup is still there. */
    job->backup_asked = err->code == ERR_NONE || err->code == ERR_HYPERVISOR;
    job->backup_aborted = err->code == ERR_NONE;
    job->hv_job_is_backup = false; /* as it was before the order */
    job->hv_job_question = 0;
    if (err->code == ERR_HYPERVISOR)
        effects_event(fx, job, now.wall_ms, true, "BackupNotAborted",
                      "The backup could not be ended: %.300s", err->text);
    return true;
}

static void wait_for_backup(struct fleet *f, struct job *job, const struct guest *guest,
                            struct moment now, struct effects *fx)
{
    bool may = job->priority == PRIORITY_SYSTEM_CRITICAL && job->config.backup_abort;
    bool is_backup = job->hv_job == JOB_SEEN_OTHER;
    if (may && job->hv_job_is_backup && !job->backup_asked && job->backup_order.id == 0)
        stop_backup(f, job, guest->owner->node->name, now, fx);
    step_wait(job, PENDING_BACKUP, now, "%s of %s to complete",
              job->backup_aborted || job->backup_order.id != 0 ? "Waiting for the aborted backup"
              : is_backup                                      ? "Waiting for backup"
                                                               : "Waiting for block job",
              job->guest_name);
    if (wait_until_deadline(f, job, now, fx) && job->wake_ms > now.mono_ms + again_ms(job))
        job->wake_ms = now.mono_ms + again_ms(job);
}

/* An answer that does not come in this time is not waited for. */
enum { ANSWER_MS = 10000 };

bool guest_is_free(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                   struct effects *fx)
{
    int64_t age_ms = now.mono_ms - job->hv_job_asked_ms;
    bool busy = job->hv_job == JOB_SEEN_OTHER || job->hv_job == JOB_SEEN_ACTIVE;
    if (job->hv_job_question != 0 && age_ms >= ANSWER_MS)
        job->hv_job_question = 0;
    if (job->hv_job_question == 0 && (!job->asked_job || (busy && age_ms >= again_ms(job))))
        ask_job(f, job, guest->owner->node->name, now, fx);
    if (job->hv_job == JOB_SEEN_OTHER || job->backup_order.id != 0) {
        wait_for_backup(f, job, guest, now, fx);
        return false;
    }
    if (job->hv_job_question != 0 || busy) {
        wait_for_answer(f, job, guest, now, fx);
        return false;
    }
    if (guest->owner->block_jobs > 0) {
        wait_for_backup(f, job, guest, now, fx);
        return false;
    }
    if (guest->owner->utility_disks == 0)
        return true;
    step_wait(job, PENDING_UTILITY_VOLUMES, now,
              "Migration waiting for utility volumes to detach from VMI [%s/%s].", job->ns,
              job->guest_name);
    if (job->waits_until_ms == 0)
        effects_event(fx, job, now.wall_ms, true, "UtilityVolumeMigrationPending",
                      "Migration waiting for utility volumes to detach from VMI [%s/%s]. Will "
                      "timeout in %lld seconds.",
                      job->ns, job->guest_name, (long long)(wait_limit_ms(f, job) / 1000));
    if (wait_until_deadline(f, job, now, fx) && phase_is_busy(job->phase) &&
        job->wake_ms > now.mono_ms + again_ms(job))
        job->wake_ms = now.mono_ms + again_ms(job); /* only waiting ones are woken by the guest */
    return false;
}
