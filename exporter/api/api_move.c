/* api_move.c - the data plane of a migration in status.ferry of the job and of its guest:
 * addresses, modes, recovery, remedies, a user's pause, final statistics, the forecast. KubeVirt
 * has no fields for them. */
#include "engine/data/ownership.h"
#include "exporter/api/api.h"

static void add_modes(struct json_object *ferry, const struct snapshot_job *job)
{
    struct json_object *list =
        job->history.n_modes > 0 ? json_add_array(ferry, "modeHistory") : NULL;
    for (unsigned i = 0; i < job->history.n_modes; i++) {
        struct json_object *change = json_add_object(list, "");
        json_add_text(change, "mode", mode_name(job->history.modes[i].mode));
        json_add_time(change, "at", job->history.modes[i].wall_ms);
        api_add_unless_empty(change, "cause", job->history.modes[i].cause);
    }
}

/* The end of the window is shown while recovery is active. */
static void add_recovery(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->recovery.state == RECOVERY_NONE)
        return;
    struct json_object *recovery = json_add_object(ferry, "recovery");
    api_add_fields(recovery, JOB_OBJECT_RECOVERY, job);
    if (job->recovery.path != NULL && job->recovery.path[0] != '\0')
        json_add_text(recovery, "path", job->recovery.path);
    if (job->recovering)
        json_add_time(recovery, "until", job->recovery.until_ms);
}

static void add_final(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->final.known)
        api_add_fields(json_add_object(ferry, "final"), JOB_OBJECT_FINAL, job);
}

/* Negative: unknown, left out. */
static void add_forecast(struct json_object *ferry, const struct snapshot_job *job)
{
    if (!job->forecast.made)
        return;
    struct json_object *forecast = json_add_object(ferry, "forecast");
    api_add_fields(forecast, JOB_OBJECT_FORECAST, job);
    if (job->forecast.percent >= 0)
        json_add_i64(forecast, "convergesPercent", job->forecast.percent);
}

/* Configured addresses of the stream. */
static void add_stream(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->times.handed_off_ms == 0)
        return;
    struct json_object *stream = json_add_object(ferry, "stream");
    api_add_unless_empty(stream, "sourceAddress", job->stream.source_address);
    api_add_unless_empty(stream, "targetAddress", job->stream.target_address);
    api_add_fields(stream, JOB_OBJECT_STREAM, job);
    if (job->stream.port_max == 0) /* the target was removed from the configuration */
        return;
    struct json_object *ports = json_add_object(stream, "targetPorts");
    json_add_i64(ports, "min", job->stream.port_min);
    json_add_i64(ports, "max", job->stream.port_max);
}

void api_add_move(struct json_object *ferry, const struct snapshot_job *job)
{
    add_stream(ferry, job);
    add_modes(ferry, job);
    api_add_fields(ferry, JOB_OBJECT_MOVE, job);
    add_recovery(ferry, job);
    if (job->userpause.requested)
        json_add_i64(ferry, "ranDespitePauseMs", job->userpause.ran_ms);
    add_final(ferry, job);
    add_forecast(ferry, job);
}

bool api_guest_is_broken(const struct snapshot_guest *guest, const struct snapshot_job *newest)
{
    const struct hv_observation observation = {
        .presence = HV_PRESENT, .state = guest->state, .reason = guest->reason};
    enum ownership_side side = ownership_side(&observation);
    return newest != NULL && newest->result.outcome == OUTCOME_IRRECOVERABLE &&
           (side == SIDE_POSTCOPY || side == SIDE_POSTCOPY_FAILED);
}
