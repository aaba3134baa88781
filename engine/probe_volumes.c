/* probe_volumes.c - the disks of a job and their destinations: two queries for each, in
 * sequence, the source about the disk and the target about the destination, or about the same name.
 * Runs on the hypervisor's threads; only posts. */
#include <string.h>

#include "base/text.h"
#include "engine/impl.h"
#include "engine/model/definition/volumes.h"

struct volume_probe { /* in the engine's list until it is answered */
    struct engine *engine;
    struct volume_probe *prev, *next;
    uint64_t id;
    char from[HV_HOST_MAX], node[HV_HOST_MAX], guest[HV_UUID_MAX];
    struct volumes volumes;    /* without destination: the target must have it by its name */
    struct volume_facts facts; /* .n are complete */
};

static void ask_block(struct volume_probe *probe);

static void drop(struct volume_probe *probe)
{
    struct engine *e = probe->engine;
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_DELETE(e->volume_probes, probe);
    (void)pthread_mutex_unlock(&e->probes_lock);
    free(probe);
}

void probe_volumes_free_all(struct engine *e)
{
    struct volume_probe *probe, *next;
    DL_FOREACH_SAFE(e->volume_probes, probe, next)
    {
        free(probe);
    }
    e->volume_probes = NULL;
}

/* Without memory there is no answer, and the core asks again after a while. */
static void answer(struct volume_probe *take_probe, const struct err *err)
{
    struct volume_facts *facts = malloc(sizeof *facts);
    struct input *input =
        facts != NULL ? intake_new(INPUT_VOLUMES, take_probe->node, take_probe->guest) : NULL;
    if (input != NULL) {
        *facts = take_probe->facts;
        input->id = take_probe->id;
        input->err = *err;
        input->of.volumes = facts;
    } else {
        free(facts);
    }
    (void)intake_post(take_probe->engine, input);
    drop(take_probe);
}

static void on_destination(void *ctx, struct hv_reply *reply)
{
    struct volume_probe *probe = ctx;
    struct err err = reply->err;
    probe->facts.list[probe->facts.n].at = reply->with.volume;
    hv_reply_fini(reply);
    if (err.code != ERR_NONE) {
        answer(probe, &err);
        return;
    }
    probe->facts.n++;
    ask_block(probe);
}

/* A disk of which the source has no size is "not known"; an unreachable source is an error. */
static void on_block(void *ctx, struct hv_reply *reply)
{
    struct volume_probe *probe = ctx;
    struct err err = reply->err;
    size_t at = probe->facts.n;
    if (err.code == ERR_NONE)
        probe->facts.list[at].block = reply->with.block;
    hv_reply_fini(reply);
    bool goes_on = err.code == ERR_NONE || err.code == ERR_HYPERVISOR;
    const struct hv_location *location = &probe->facts.list[at].block.location;
    bool stays = probe->volumes.list[at].is.to.name[0] == '\0';
    if (goes_on && stays && location->name[0] == '\0') { /* not known, and said so */
        probe->facts.n++;
        ask_block(probe);
        return;
    }
    struct hv_request request = {.id = probe->id,
                                 .call = HV_CALL_VOLUME_INFO,
                                 .reply_to = {on_destination, probe},
                                 .with.location =
                                     stays ? *location : probe->volumes.list[at].is.to};
    TEXT_SET(request.host, probe->node);
    TEXT_SET(request.guest, probe->guest);
    if (!goes_on || !hv_probe_submit(probe->engine->parts.probe, &request, &err))
        answer(probe, &err);
}

static void ask_block(struct volume_probe *probe)
{
    struct err err = {0};
    if (probe->facts.n == probe->volumes.n) {
        answer(probe, &err);
        return;
    }
    struct hv_request request = {
        .id = probe->id, .call = HV_CALL_BLOCK_INFO, .reply_to = {on_block, probe}};
    TEXT_SET(request.host, probe->from);
    TEXT_SET(request.guest, probe->guest);
    TEXT_SET(request.with.disk, probe->volumes.list[probe->facts.n].is.disk);
    if (!hv_observe_submit(probe->engine->parts.observe, &request, &err))
        answer(probe, &err);
}

/* The disks that move along; without those, the ones that the target must have by name. */
static bool find_volumes(struct engine *e, const struct job *job, struct volumes *out)
{
    struct err err = {0};
    const struct guest *guest = fleet_guest(e->fleet, job->guest_uuid);
    if (job->request.volumes_json != NULL)
        return volumes_parse(job->request.volumes_json, true, out, &err);
    return guest != NULL && guest->owner != NULL &&
           volumes_by_name(guest->owner->requirements, out);
}

void probe_volumes(struct engine *e, const struct effect *effect)
{
    const struct job *job = fleet_job(e->fleet, effect->job_uid);
    struct volume_probe *probe = calloc(1, sizeof *probe);
    if (job == NULL || probe == NULL || !find_volumes(e, job, &probe->volumes)) {
        free(probe);
        return;
    }
    probe->engine = e;
    probe->id = effect->of.act.id;
    TEXT_SET(probe->from, effect->of.act.from);
    TEXT_SET(probe->node, effect->of.act.node);
    TEXT_SET(probe->guest, effect->of.act.guest);
    (void)pthread_mutex_lock(&e->probes_lock);
    DL_APPEND(e->volume_probes, probe);
    (void)pthread_mutex_unlock(&e->probes_lock);
    ask_block(probe);
}
