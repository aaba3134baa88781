/* guest_free.c - see guest_free.h. */
#include "engine/control/scheduling/guest_free.h"

#include "base/text.h"
#include "engine/control/orphans.h"
#include "engine/control/scheduling/wait.h"
#include "engine/data/order.h"

/* Retry interval, as in KubeVirt: the higher the priority class the shorter. */
static int64_t retry_ms(const struct job *job)
{
    if (job->request.priority == PRIORITY_SYSTEM_CRITICAL)
        return 1000;
    return job->request.priority == PRIORITY_USER_TRIGGERED ? 3000 : 5000;
}

static void ask_job(struct fleet *f, struct job *job, const char *node, struct moment now,
                    struct effects *fx)
{
    job->resolution.asked_job = true;
    job->resolution.hv_job_question = ++f->next_call_id;
    job->resolution.hv_job_asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_JOB, job, now.wall_ms);
    effect->of.act.id = job->resolution.hv_job_question;
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
    if (job->resolution.hv_job == JOB_SEEN_ACTIVE)
        step_wait(job, PENDING_GUEST_BUSY, now,
                  "a migration that Ferry did not start runs on the guest");
    else
        step_wait(job, PENDING_GUEST_BUSY, now, "asking node %s whether a job runs on the guest",
                  guest->owner->node->name);
    if (wait_until_deadline(f, job, now, fx) && job->queue.wake_ms > now.mono_ms + retry_ms(job))
        job->queue.wake_ms = now.mono_ms + retry_ms(job);
}

/* Recorded like any order that changes a guest: opened before it is given, closed by its answer. */
static void stop_backup(struct fleet *f, struct job *job, const char *node, struct moment now,
                        struct effects *fx)
{
    effects_event(fx, job, now.wall_ms, false, "BackupAbortedForMigration",
                  "Aborting backup of %s for system-critical migration", job->guest_name);
    const struct order_spec spec = {.effect = EFFECT_DO_STOP_BACKUP,
                                    .call = HV_CALL_ABORT,
                                    .intent = INTENT_STOP_BACKUP,
                                    .node = node};
    (void)order_give(f, job, ORDER_STOP_BACKUP, &spec, now, fx);
}

void guest_backup_answered(struct job *job, const struct err *err, struct moment now,
                           struct effects *fx)
{
    /* Lost or never given: the next query shows whether the backup still runs. */
    job->placement.backup_asked = err->code == ERR_NONE || err->code == ERR_HYPERVISOR;
    job->placement.backup_aborted = err->code == ERR_NONE;
    job->resolution.hv_job_is_backup = false; /* as before the order */
    job->resolution.hv_job_question = 0;
    if (err->code == ERR_HYPERVISOR)
        effects_event(fx, job, now.wall_ms, true, "BackupNotAborted",
                      "The backup could not be aborted: %.300s", err->text);
}

static void wait_for_backup(struct fleet *f, struct job *job, const struct guest *guest,
                            struct moment now, struct effects *fx)
{
    bool may = job->request.priority == PRIORITY_SYSTEM_CRITICAL && job->call.config.backup_abort;
    bool is_backup = job->resolution.hv_job == JOB_SEEN_OTHER;
    if (may && job->resolution.hv_job_is_backup && !job->placement.backup_asked &&
        job->orders[ORDER_STOP_BACKUP].id == 0)
        stop_backup(f, job, guest->owner->node->name, now, fx);
    step_wait(job, PENDING_BACKUP, now, "%s of %s to complete",
              job->placement.backup_aborted || job->orders[ORDER_STOP_BACKUP].id != 0
                  ? "Waiting for the aborted backup"
              : is_backup ? "Waiting for backup"
                          : "Waiting for block job",
              job->guest_name);
    if (wait_until_deadline(f, job, now, fx) && job->queue.wake_ms > now.mono_ms + retry_ms(job))
        job->queue.wake_ms = now.mono_ms + retry_ms(job);
}

/* Somebody else migrates it. */
static bool wait_for_others(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct job *observed = fleet_observed_job(f, job->guest_uuid);
    if (observed == NULL)
        return false;
    step_wait(job, PENDING_FOREIGN, now,
              "somebody else migrates the guest from %s to %s (manager: %s)", observed->source,
              observed->target, observed->request.managed_by);
    if (wait_until_deadline(f, job, now, fx) && job->queue.wake_ms > now.mono_ms + retry_ms(job))
        job->queue.wake_ms = now.mono_ms + retry_ms(job);
    return true;
}

/* Just seen for the first time, or just arrived: the collector reads its definition within moments.
 */
static bool wait_for_definition(struct fleet *f, struct job *job, const struct guest *guest,
                                struct moment now, struct effects *fx)
{
    enum { AGAIN_MS = 300 };
    if (!f->config.needs_definition || guest->owner->migratable.known)
        return false;
    step_wait(job, PENDING_DEFINITION, now, "node %s is asked for the guest's definition",
              guest->owner->node->name);
    if (wait_until_deadline(f, job, now, fx) && job->queue.wake_ms > now.mono_ms + AGAIN_MS)
        job->queue.wake_ms = now.mono_ms + AGAIN_MS;
    return true;
}

/* An answer later than this is not waited for. */
enum { ANSWER_MS = 10000 };

bool guest_is_free(struct fleet *f, struct job *job, const struct guest *guest, struct moment now,
                   struct effects *fx)
{
    if (wait_for_others(f, job, now, fx) || wait_for_definition(f, job, guest, now, fx))
        return false;
    int64_t age_ms = now.mono_ms - job->resolution.hv_job_asked_ms;
    bool busy =
        job->resolution.hv_job == JOB_SEEN_OTHER || job->resolution.hv_job == JOB_SEEN_ACTIVE;
    if (job->resolution.hv_job_question != 0 && age_ms >= ANSWER_MS)
        job->resolution.hv_job_question = 0;
    if (job->resolution.hv_job_question == 0 &&
        (!job->resolution.asked_job || (busy && age_ms >= retry_ms(job))))
        ask_job(f, job, guest->owner->node->name, now, fx);
    if (job->resolution.hv_job == JOB_SEEN_OTHER || job->orders[ORDER_STOP_BACKUP].id != 0) {
        wait_for_backup(f, job, guest, now, fx);
        return false;
    }
    if (job->resolution.hv_job_question != 0 || busy) {
        wait_for_answer(f, job, guest, now, fx);
        return false;
    }
    struct err orphan = {0};
    if (!orphans_check(f, guest, &orphan)) { /* marked since the job was accepted */
        step_wait(job, PENDING_GUEST_BUSY, now, "%.400s", orphan.text);
        if (wait_until_deadline(f, job, now, fx) &&
            job->queue.wake_ms > now.mono_ms + retry_ms(job))
            job->queue.wake_ms = now.mono_ms + retry_ms(job);
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
    if (job->wait.until_ms == 0)
        effects_event(fx, job, now.wall_ms, true, "UtilityVolumeMigrationPending",
                      "Migration waiting for utility volumes to detach from VMI [%s/%s]. Will "
                      "timeout in %lld seconds.",
                      job->ns, job->guest_name, (long long)(wait_limit_ms(f, job) / 1000));
    if (wait_until_deadline(f, job, now, fx) && phase_is_busy(job->phase) &&
        job->queue.wake_ms > now.mono_ms + retry_ms(job))
        job->queue.wake_ms =
            now.mono_ms + retry_ms(job); /* only a waiting job is woken by the guest */
    return false;
}
