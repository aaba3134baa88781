/* api_move.c - how the data plane of a migration went, in status.ferry of the job and of its guest:
 * addresses, modes, recovery, remedies, a user's pause, final numbers, the forecast. KubeVirt has
 * fields for none of these. */
#include "engine/data/ownership.h"
#include "exporter/api/api.h"

static void add_modes(struct json_object *ferry, const struct snapshot_job *job)
{
    struct json_object *list = job->n_modes > 0 ? json_add_array(ferry, "modeHistory") : NULL;
    for (unsigned i = 0; i < job->n_modes; i++) {
        struct json_object *change = json_add_object(list, "");
        json_add_text(change, "mode", mode_name(job->modes[i].mode));
        json_add_time(change, "at", job->modes[i].at_ms);
        api_add_unless_empty(change, "cause", job->modes[i].cause);
    }
}

/* The end of the window says something only while tries go on. */
static void add_recovery(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->recovery == RECOVERY_NONE)
        return;
    struct json_object *recovery = json_add_object(ferry, "recovery");
    json_add_text(recovery, "state", recovery_name(job->recovery));
    json_add_i64(recovery, "tries", job->recovery_tries);
    if (job->recovery_path != NULL && job->recovery_path[0] != '\0')
        json_add_text(recovery, "path", job->recovery_path);
    json_add_time(recovery, "since", job->recovery_since_ms);
    if (job->recovering)
        json_add_time(recovery, "until", job->recovery_until_ms);
}

static void add_final(struct json_object *ferry, const struct snapshot_job *job)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"totalMs", job->final_total_ms},  {"downtimeMs", job->final_downtime_ms},
        {"setupMs", job->final_setup_ms},  {"bytes", job->final_bytes},
        {"passes", job->final_iterations},
    };
    if (!job->final_known)
        return;
    struct json_object *final = json_add_object(ferry, "final");
    json_add_text(final, "from", job->final_from);
    for (size_t i = 0; i < COUNT(rows); i++)
        json_add_i64(final, rows[i].key, (int64_t)rows[i].value);
}

/* What cannot be said is negative, and left out. */
static void add_forecast(struct json_object *ferry, const struct snapshot_job *job)
{
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"totalMs", job->forecast_total_ms},         {"lowMs", job->forecast_low_ms},
        {"highMs", job->forecast_high_ms},           {"downtimeMs", job->forecast_downtime_ms},
        {"convergesPercent", job->forecast_percent},
    };
    if (!job->forecast_made)
        return;
    struct json_object *forecast = json_add_object(ferry, "forecast");
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].value >= 0)
            json_add_i64(forecast, rows[i].key, rows[i].value);
}

/* Between which addresses memory moves, as far as they are configured. */
static void add_stream(struct json_object *ferry, const struct snapshot_job *job)
{
    if (job->handed_off_ms == 0)
        return;
    struct json_object *stream = json_add_object(ferry, "stream");
    api_add_unless_empty(stream, "sourceAddress", job->source_address);
    api_add_unless_empty(stream, "targetAddress", job->target_address);
    if (job->port != 0)
        json_add_i64(stream, "port", job->port);
    if (job->port_max == 0) /* the target is not configured any more */
        return;
    struct json_object *ports = json_add_object(stream, "targetPorts");
    json_add_i64(ports, "min", job->port_min);
    json_add_i64(ports, "max", job->port_max);
}

void api_add_move(struct json_object *ferry, const struct snapshot_job *job)
{
    add_stream(ferry, job);
    add_modes(ferry, job);
    api_add_unless_empty(ferry, "abortCause", abort_cause_name(job->abort_cause));
    add_recovery(ferry, job);
    api_add_unless_empty(ferry, "remedy", job->remedy);
    if (job->paused_by_user) {
        json_add_bool(ferry, "pausedByUser", true);
        json_add_i64(ferry, "ranAgainstWishMs", job->ran_ms);
    }
    add_final(ferry, job);
    add_forecast(ferry, job);
}

bool api_guest_is_broken(const struct snapshot_guest *guest, const struct snapshot_job *newest)
{
    const struct hv_observation observation = {
        .presence = HV_PRESENT, .state = guest->state, .reason = guest->reason};
    enum ownership_side side = ownership_side(&observation);
    return newest != NULL && newest->outcome == OUTCOME_IRRECOVERABLE &&
           (side == SIDE_POSTCOPY || side == SIDE_POSTCOPY_FAILED);
}
