/* advise.c - see advise.h. */
#include "engine/control/advise.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/policy_choose.h"
#include "engine/data/monitor_driver.h"
#include "engine/data/move.h"
#include "engine/data/ownership.h"
#include "engine/data/recovery.h"
#include "engine/data/remedy.h"
#include "engine/model/objects/policy.h"
#include "engine/model/turn/step.h"
#include "hypervisor/versions.h"

enum { LEFT_MS = 10000 }; /* paused for a migration that is over */

static enum advice advice_of(enum monitor_action action)
{
    switch (action) {
    case MONITOR_SET_DOWNTIME: return ADVICE_DOWNTIME;
    case MONITOR_POSTCOPY: return ADVICE_POSTCOPY;
    case MONITOR_PAUSE: return ADVICE_PAUSE;
    case MONITOR_ABORT: return ADVICE_ABORT;
    case MONITOR_YANK: return ADVICE_YANK;
    case MONITOR_DROP_COPY: return ADVICE_DROP_COPY;
    case MONITOR_KILL_STREAM: return ADVICE_KILL_STREAM;
    case MONITOR_RESUME: return ADVICE_RESUME;
    case MONITOR_PAUSE_STREAM: return ADVICE_PAUSE_STREAM;
    default: return ADVICE_NONE;
    }
}

/* A local URI is of no use to another host. */
static const char *peer_uri(const struct node *target)
{
    const char *uri = target == NULL                     ? ""
                      : target->host.peer_uri[0] != '\0' ? target->host.peer_uri
                                                         : target->host.uri;
    return strstr(uri, "///") != NULL ? "" : uri;
}

struct said {
    enum advice is;
    const char *text;
    int64_t number; /* of the command */
};

/* A new advice is an event; the same one only gets its newest numbers. */
static void give(struct fleet *f, struct job *job, struct said said, struct moment now,
                 struct effects *fx)
{
    struct job_advice *advice = &job->advice;
    bool is_new = advice->is != said.is;
    if (!is_new && said.is == ADVICE_NONE)
        return;
    if (is_new)
        *advice = (struct job_advice){.is = said.is, .since_ms = now.wall_ms};
    TEXT_SET(advice->text, said.text);
    advice_command(advice, &(struct advice_for){.source = job->source,
                                                .target = job->target,
                                                .guest = job->guest_name,
                                                .uuid = job->guest_uuid,
                                                .peer_uri = peer_uri(fleet_node(f, job->target)),
                                                .number = said.number});
    job->version = fleet_touch(f);
    if (is_new && said.is != ADVICE_NONE)
        effects_event(fx, job, now.wall_ms, true, "Advice", "%s Ferry would: %s%s%s%s%s", said.text,
                      advice_name(said.is), advice->command[0] != '\0' ? "; on " : "", advice->node,
                      advice->command[0] != '\0' ? ": " : "", advice->command);
}

/* ---- broken post-copy ---- */

static bool advise_recovery(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct node *target = fleet_node(f, job->target);
    enum recovery_plan plan =
        recovery_plan(ownership_side(&job->resolution.source_side.observation),
                      ownership_side(&job->resolution.target_side.observation));
    bool kills =
        target != NULL && hv_quirk_of(HV_QUIRK_RESUME_KILLS_TARGET, target->facts.libvirt_version,
                                      target->facts.hypervisor_version);
    switch (plan) {
    case RECOVER_RESUME:
        if (kills)
            give(f, job,
                 (struct said){
                     ADVICE_WAIT,
                     "Post-copy is broken on both sides. The target's libvirt dies of a resume by "
                     "virsh; QEMU's monitor on the source can resume it.",
                     0},
                 now, fx);
        else
            give(f, job,
                 (struct said){ADVICE_RESUME_STREAM, "Post-copy is broken on both sides.", 0}, now,
                 fx);
        return true;
    case RECOVER_PAUSE:
        give(f, job,
             (struct said){ADVICE_PAUSE_STREAM,
                           "Post-copy is broken on the target, and the source does not know it.",
                           0},
             now, fx);
        return true;
    case RECOVER_BLIND:
        give(f, job,
             (struct said){ADVICE_WAIT, "Post-copy, and one of its hosts cannot be reached.", 0},
             now, fx);
        return true;
    case RECOVER_NOT:
    case RECOVER_WATCH:
    case RECOVER_GONE: break;
    }
    return false;
}

/* ---- a stalled stream ---- */

static void show_stall(struct job *job, bool stalls, const char *text, struct moment now)
{
    bool shown = job->wait.pending == PENDING_STALLED;
    if (stalls && !shown && job->wait.pending != PENDING_UNPROVEN) {
        step_wait(job, PENDING_STALLED, now, "%s Somebody else's migration: only observed.", text);
    } else if (!stalls && shown) {
        step_wait_over(job, now);
        job->changed = true;
    }
}

static bool advise_remedy(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct remedy_facts facts;
    char text[MONITOR_TEXT_MAX];
    bool streams = remedy_watch(job, now);
    if (streams)
        remedy_gather(f, job, now, &facts);
    /* Samples are seconds apart: only what they measured is quiet. */
    bool stalls = streams && (facts.quiet_ms >= REMEDY_QUIET_MS || facts.stopped_ms >= 0);
    if (!stalls) {
        show_stall(job, false, "", now);
        return false;
    }
    facts.has_disks = job->progress.has_sample && job->progress.sample.stats.disk_total > 0;
    enum decision why = remedy_choose(&facts, text);
    bool is_quiet = why != DECISION_GOES_ON;
    char stall[MONITOR_TEXT_MAX];
    (void)snprintf(stall, sizeof stall, "No data transferred for %lld s%s.",
                   (long long)((facts.stopped_ms >= 0 ? facts.silent_ms : facts.quiet_ms) / 1000),
                   facts.stopped_ms >= 0 ? ", and the guest is stopped for the switch-over" : "");
    show_stall(job, is_quiet, stall, now);
    enum advice advice = advice_of(decision_action(why));
    if (why == DECISION_STREAM_ABANDONED)
        advice = ADVICE_WAIT;
    if (advice == ADVICE_NONE)
        return false;
    give(f, job, (struct said){advice, text, 0}, now, fx);
    return true;
}

/* ---- left behind ---- */

/* As resume_leftover() of engine/data/resolve.c. */
static bool advise_resume(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct job_resolution *seen = &job->resolution;
    bool left = ownership_side(&seen->source_side.observation) == SIDE_MOVING &&
                ownership_is_gone(ownership_side(&seen->target_side.observation)) &&
                seen->hv_job == JOB_SEEN_NONE && now.mono_ms - seen->ownership_since_ms >= LEFT_MS;
    bool may_have_run =
        job->stream.target_resumed || !move_saw_target(f, job) || job->mode == MODE_POSTCOPY;
    if (!left || may_have_run)
        return false;
    give(f, job,
         (struct said){
             ADVICE_RESUME,
             "The migration is over, and its guest is left paused on the source. The target was "
             "observed all the time, never ran it, and no longer has it.",
             0},
         now, fx);
    return true;
}

/* ---- when ---- */

void advise_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    if (job->phase != PHASE_RUNNING)
        return;
    bool given = advise_recovery(f, job, now, fx) || advise_resume(f, job, now, fx) ||
                 advise_remedy(f, job, now, fx);
    if (given)
        job->advice.by_monitor = false;
    else if (!job->advice.by_monitor)
        give(f, job, (struct said){ADVICE_NONE, "", 0}, now, fx);
}

static void begin(struct fleet *f, struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    const struct object *policy = guest != NULL ? policy_choose(f, guest) : NULL;
    struct migration_config config;
    policy_merge(&f->config.migration, policy != NULL ? policy->policy : NULL, &config);
    monitor_driver_begin_advice(f, job, &config);
}

void advise_sample(struct fleet *f, struct job *job, const struct sample *sample, struct moment now,
                   struct effects *fx)
{
    struct monitor_decision decision;
    if (job->monitor.monitor_driver == NULL)
        begin(f, job);
    monitor_driver_advise(job, sample, now, fx, &decision);
    if (job->advice.is != ADVICE_NONE && !job->advice.by_monitor)
        return; /* a stalled or broken stream comes first */
    give(f, job, (struct said){advice_of(decision.action), decision.text, decision.downtime_ms},
         now, fx);
    job->advice.by_monitor = job->advice.is != ADVICE_NONE;
}
