/* prepare_volumes.c - before hand-off: has the target space for every volume that migrates
 * along? See prepare.h and engine/model/definition/volumes.h. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/scheduling/prepare.h"
#include "engine/model/definition/volumes.h"

enum {
    LOST_MS = 30000, /* an answer later than this is not waited for */
    AGAIN_MS = 3000, /* between queries for a missing location */
    SMALL_MS = 30000 /* a node without enough space is not asked again before this */
};

static void ask(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    struct volumes_report *report = job->request.volumes;
    int64_t age_ms = now.mono_ms - report->asked_ms;
    if (report->asked_ms != 0 && age_ms < (report->question != 0 ? LOST_MS : AGAIN_MS))
        return;
    report->question = ++f->next_call_id;
    report->asked_ms = now.mono_ms;
    struct effect *effect = effects_add(fx, EFFECT_DO_ASK_VOLUMES, job, now.wall_ms);
    effect->of.act.id = report->question;
    TEXT_SET(effect->of.act.node, job->target);
    TEXT_SET(effect->of.act.from, job->source);
    TEXT_SET(effect->of.act.guest, job->guest_uuid);
}

/* The report of the present target; NULL without memory, the next call may find some. */
static struct volumes_report *report_of(struct job *job)
{
    if (job->request.volumes == NULL)
        job->request.volumes = calloc(1, sizeof *job->request.volumes);
    if (job->request.volumes != NULL && strcmp(job->request.volumes->node, job->target) != 0) {
        TEXT_SET(job->request.volumes->node, job->target);
        job->request.volumes->verdict = VOLUMES_UNASKED;
        job->request.volumes->question = 0;
        job->request.volumes->asked_ms = 0;
    }
    return job->request.volumes;
}

/* With unsafeMigrationOverride libvirt checks nothing, so a file of the same name on the target
 * that holds other bytes would be started: the target is asked about every disk that it must have
 * by name. */
static bool must_ask(struct fleet *f, const struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct volumes volumes;
    if (job->request.volumes_json != NULL)
        return true;
    return job->call.config.unsafe && guest != NULL && guest->owner != NULL &&
           volumes_by_name(guest->owner->requirements, &volumes);
}

bool prepare_volumes(struct fleet *f, struct job *job, struct moment now, struct effects *fx,
                     bool *out_rejected)
{
    *out_rejected = false;
    if (!must_ask(f, job))
        return true;
    struct volumes_report *report = report_of(job);
    if (report == NULL || report->verdict == VOLUMES_FIT)
        return report != NULL;
    if (report->verdict == VOLUMES_SMALL) {
        effects_event(fx, job, now.wall_ms, true, "TargetRejected", "%s: %s", job->target,
                      report->text);
        volumes_note_small(report, job->target, now.mono_ms);
        report->node[0] = '\0';
        *out_rejected = true;
        return false;
    }
    ask(f, job, now, fx);
    if (report->verdict == VOLUMES_MISSING)
        step_wait(job, PENDING_STORAGE, now, "%s", report->text);
    else
        step_wait(job, PENDING_PREPARING, now, "asking %s about the locations of the guest's disks",
                  job->target);
    return false;
}

void prepare_volumes_again(struct job *job, struct moment now)
{
    volumes_forget_small(job->request.volumes, now.mono_ms - SMALL_MS);
}

void prepare_volumes_answered(struct job *job, const struct volume_facts *facts,
                              const struct err *err, struct moment now, struct effects *fx)
{
    struct volumes_report *report = job->request.volumes;
    struct volumes volumes;
    struct err wrong = {0};
    report->question = 0;
    if (err->code != ERR_NONE) { /* asked again until the deadline of this wait */
        effects_event(fx, job, now.wall_ms, true, "VolumesNotAsked", "%s: %.300s", job->target,
                      err->text);
        return;
    }
    if (job->request.volumes_json == NULL) {
        report->verdict = volumes_check_by_name(facts, report->text);
        return;
    }
    if (!volumes_parse(job->request.volumes_json, true, &volumes, &wrong))
        return;
    enum volumes_result before = report->verdict;
    report->verdict = volumes_check_facts(&volumes, facts, report->text);
    if (report->verdict == VOLUMES_MISSING && before != VOLUMES_MISSING)
        effects_event(fx, job, now.wall_ms, true, "VolumesPending", "%s", report->text);
    char *text = volumes_text(&volumes);
    if (text == NULL)
        return;
    free(job->request.volumes_json);
    job->request.volumes_json = text;
    job->changed = true;
}
