/* expect.c - see expect.h. */
#include "engine/data/expect.h"

#include "base/json.h"
#include "base/text.h"
#include "engine/data/flags.h"
#include "engine/model/definition/volumes.h"

enum { MEASURED_FRESH_MS = 3600 * 1000 };

/* ---- known facts ---- */

/* A measurement outside of a migration is preferred to the rate seen during one, unless that is
 * much newer. */
const struct dirty_curve *expect_curve(const struct guest *guest)
{
    if (guest->dirty == NULL)
        return NULL;
    const struct dirty_curve *measured = &guest->dirty->measured, *moved = &guest->dirty->moved;
    if (measured->n > 0 &&
        (moved->n == 0 || moved->wall_ms < measured->wall_ms + MEASURED_FRESH_MS))
        return measured;
    return moved->n > 0 ? moved : NULL;
}

/* Bytes sent by the last migration are an upper bound of non-zero memory; more than the memory
 * size only means that pages were sent twice. */
static uint64_t used_bytes(const struct fleet *f, const struct guest *guest)
{
    const struct job *job;
    if (guest->dirty != NULL && guest->dirty->used_bytes > 0)
        return guest->dirty->used_bytes;
    HASH_FIND(links.hh_newest, f->newest, guest->uuid, strlen(guest->uuid), job);
    while (job != NULL && !(job->result.outcome == OUTCOME_SUCCEEDED && job->final.known))
        job = job->links.older;
    uint64_t memory = guest->memory_kib << 10;
    if (job == NULL || job->request.volumes_json != NULL || job->final.bytes >= memory)
        return 0;
    return job->final.bytes;
}

static void gather(const struct fleet *f, const struct guest *guest, const char *source,
                   const char *target, const struct migration_config *config,
                   struct forecast_input *out)
{
    const struct dirty_curve *curve = expect_curve(guest);
    const struct path *path = target != NULL ? paths_find(&f->paths, source, target) : NULL;
    uint64_t postcopy = (uint64_t)config->post_copy_bandwidth;
    *out = (struct forecast_input){.memory_bytes = guest->memory_kib << 10, .config = config};
    out->used_bytes = used_bytes(f, guest);
    if (curve != NULL)
        out->dirty = *curve;
    if (curve != NULL && curve == &guest->dirty->measured && guest->dirty->moved.n > 0 &&
        curve->at[0].bps > 0)
        out->dirty.rise = (double)guest->dirty->moved.at[0].bps / (double)curve->at[0].bps;
    out->path = paths_speed(path, (uint64_t)config->bandwidth);
    out->path.postcopy = postcopy != 0 ? postcopy : (uint64_t)config->bandwidth;
}

static bool has_host_device(const struct guest *guest)
{
    const struct migratable *m = guest->owner != NULL ? &guest->owner->migratable : NULL;
    return m != NULL &&
           (migratable_has(m, UNMOVABLE_HOST_DEVICE) || migratable_has(m, UNMOVABLE_INTERFACE));
}

void expect_move(const struct fleet *f, const struct guest *guest, const struct node *target,
                 const struct migration_config *config, struct forecast *out_forecast)
{
    struct forecast_input in;
    gather(f, guest, guest->owner != NULL ? guest->owner->node->name : "",
           target != NULL ? target->name : NULL, config, &in);
    in.postcopy = config->post_copy && !has_host_device(guest) && !config->tunnelled;
    forecast_make(&in, out_forecast);
}

int64_t expect_ms(const struct fleet *f, const struct guest *guest)
{
    struct forecast forecast;
    if (expect_curve(guest) == NULL)
        return 0;
    expect_move(f, guest, NULL, &f->config.migration, &forecast);
    return forecast.total_ms;
}

uint64_t expect_disk_bytes(const struct job *job)
{
    struct volumes volumes;
    struct err err = {0};
    uint64_t bytes = 0;
    if (job->request.volumes_json == NULL ||
        !volumes_parse(job->request.volumes_json, true, &volumes, &err))
        return 0;
    for (size_t i = 0; i < volumes.n; i++)
        bytes += volumes.list[i].capacity;
    return bytes;
}

void expect_job(struct fleet *f, struct job *job)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct forecast_input in;
    struct forecast is;
    if (guest == NULL)
        return;
    gather(f, guest, job->source, job->target, &job->call.config, &in);
    in.disk_bytes = expect_disk_bytes(job);
    in.postcopy = flags_allow_postcopy(job);
    forecast_make(&in, &is);
    job->forecast = (struct job_forecast){.made = is.made,
                                          .total_ms = is.total_ms,
                                          .low_ms = is.low_ms,
                                          .high_ms = is.high_ms,
                                          .downtime_ms = is.downtime_ms,
                                          .percent = is.percent};
    job->changed = true;
}

/* ---- results of migrations ---- */

static struct guest_dirty *dirty_of(struct guest *guest)
{
    if (guest->dirty == NULL)
        guest->dirty = calloc(1, sizeof *guest->dirty);
    return guest->dirty;
}

static void keep_rate(struct fleet *f, const struct job *job, struct moment now)
{
    struct guest *guest = fleet_guest(f, job->guest_uuid);
    struct guest_dirty *dirty = NULL;
    if (guest != NULL && job->progress.eta.first_bytes > 0)
        dirty = dirty_of(guest);
    if (dirty == NULL)
        return;
    dirty->used_bytes = job->progress.eta.first_bytes;
    if (job->progress.eta.dirty_bps == 0)
        return;
    dirty->moved = (struct dirty_curve){.from = DIRTY_LAST_MOVE, .wall_ms = now.wall_ms, .n = 1};
    dirty->moved.at[0].seconds = 1;
    dirty->moved.at[0].bps = job->progress.eta.dirty_bps;
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

void expect_ended(struct fleet *f, struct job *job, struct moment now, struct effects *fx)
{
    const struct job_forecast *was = &job->forecast;
    keep_rate(f, job, now);
    if (job->result.outcome != OUTCOME_SUCCEEDED || !was->made)
        return;
    int64_t took_ms =
        job->final.known ? (int64_t)job->final.total_ms : now.wall_ms - job->times.handed_off_ms;
    bool held = took_ms >= was->low_ms && took_ms <= was->high_ms;
    effects_event(fx, job, now.wall_ms, false, "ForecastAccuracy",
                  "expected %.1f s (%.1f..%.1f), took %.1f s%s", seconds(was->total_ms),
                  seconds(was->low_ms), seconds(was->high_ms), seconds(took_ms),
                  held ? "" : ": outside of the interval");
}

void expect_learn(struct fleet *f, const struct job *job)
{
    if (!job_is_observed(job)) /* its limits are not known */
        paths_learn(&f->paths, job);
}

void expect_restore(struct fleet *f)
{
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next)
        if (phase_is_final(job->phase))
            expect_learn(f, job);
}

/* ---- measurements ---- */

bool expect_is_measuring(const struct guest *guest, int64_t wall_ms)
{
    return guest->dirty != NULL && guest->dirty->asked_ms != 0 && wall_ms < guest->dirty->until_ms;
}

bool expect_may_measure(const struct fleet *f, const struct guest *guest, struct err *err)
{
    const struct domain *at = guest->owner;
    const struct job *job;
    HASH_FIND(links.hh_guest, f->active, guest->uuid, strlen(guest->uuid), job);
    if (at == NULL || at->state != HV_STATE_RUNNING)
        return err_set(err, ERR_REFUSED, "the guest does not run");
    if (!at->node->connected)
        return err_set(err, ERR_REFUSED, "node %s is unreachable", at->node->name);
    if (at->node->host.observe)
        return err_set(err, ERR_REFUSED, "node %s is in observe mode", at->node->name);
    if (job != NULL && phase_is_busy(job->phase))
        return err_set(err, ERR_REFUSED, "the guest is being migrated");
    return true;
}

bool expect_measuring(struct guest *guest, int64_t wall_ms, int64_t for_ms)
{
    struct guest_dirty *dirty = dirty_of(guest);
    if (dirty == NULL)
        return false;
    dirty->asked_ms = wall_ms;
    dirty->until_ms = wall_ms + for_ms;
    dirty->error[0] = '\0';
    return true;
}

void expect_measured(struct fleet *f, const char *guest_uuid, const struct dirty_curve *curve,
                     const struct err *err)
{
    struct guest *guest = fleet_guest(f, guest_uuid);
    struct guest_dirty *dirty = guest != NULL ? dirty_of(guest) : NULL;
    if (dirty == NULL)
        return; /* the guest is gone */
    dirty->asked_ms = dirty->until_ms = 0;
    TEXT_SET(dirty->error, err->code != ERR_NONE ? err->text : "");
    if (curve->n > 0)
        dirty->measured = *curve;
}

/* ---- output ---- */

static void add_rate(struct json_object *root, const struct guest *guest, int64_t wall_ms)
{
    const struct dirty_curve *curve = expect_curve(guest);
    struct json_object *rate = json_add_object(root, "dirtyRate");
    json_add_bool(rate, "measuring", expect_is_measuring(guest, wall_ms));
    if (guest->dirty != NULL && guest->dirty->error[0] != '\0')
        json_add_text(rate, "error", guest->dirty->error);
    if (curve == NULL)
        return;
    json_add_text(rate, "from", dirty_from_name(curve->from));
    json_add_time(rate, "at", curve->wall_ms);
    struct json_object *windows = json_add_array(rate, "windows");
    for (unsigned i = 0; i < curve->n; i++) {
        struct json_object *window = json_add_object(windows, NULL);
        json_add_i64(window, "seconds", curve->at[i].seconds);
        json_add_i64(window, "bytesPerSecond", (int64_t)curve->at[i].bps);
    }
}

void expect_add_json(struct json_object *root, const struct guest *guest, const char *node,
                     const struct forecast *forecast, int64_t wall_ms)
{
    add_rate(root, guest, wall_ms);
    if (!forecast->made)
        return;
    struct json_object *out = json_add_object(root, "forecast");
    json_add_text(out, "node", node);
    json_add_i64(out, "expectedMs", forecast->total_ms);
    json_add_i64(out, "lowMs", forecast->low_ms);
    json_add_i64(out, "highMs", forecast->high_ms);
    json_add_i64(out, "downtimeMs", forecast->downtime_ms);
    json_add_i64(out, "downtimeHighMs", forecast->downtime_high_ms);
    json_add_i64(out, "convergePercent", forecast->percent);
    json_add_text(out, "ends", forecast_end_name(forecast->end));
    json_add_i64(out, "bandwidthBytesPerSecond", (int64_t)forecast->bandwidth_bps);
    json_add_text(out, "why", forecast->why);
}
