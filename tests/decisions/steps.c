/* steps.c - see case.h: what can happen in a case. One row for each kind of step. */
#include <stdio.h>
#include <string.h>

#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/job/launcher.h"
#include "tests/decisions/case.h"
#include "tests/decisions/report.h"

enum { SAMPLE_MS = 400 };

/* A guest or host that a step names. */
static struct world_guest *guest_of(struct world *w, const struct yaml_node *step, const char *key,
                                    struct err *err)
{
    const char *name = "";
    if (!case_text(w, step, key, &name, err))
        return NULL;
    struct world_guest *guest = world_guest(w, name);
    if (guest == NULL)
        yaml_fail(w->yaml, step, err, "there is no guest '%s'", name);
    return guest;
}

static struct world_host *host_of(struct world *w, const struct yaml_node *step, const char *key,
                                  struct err *err)
{
    const char *name = "";
    if (!case_text(w, step, key, &name, err))
        return NULL;
    struct world_host *host = world_host(w, name);
    if (host == NULL)
        yaml_fail(w->yaml, step, err, "there is no host '%s'", name);
    return host;
}

static char *json_of(const struct yaml_node *step, const char *key)
{
    const struct yaml_node *child = yaml_child(step, key);
    if (child == NULL)
        return NULL;
    OWNED(json_object) json = yaml_to_json(child);
    return strdup(json_object_to_json_string(json));
}

/* A request: refused is an answer too. */
static void ask(struct world *w, struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err refused = {0};
    if (!world_feed(w, input, &ref, &refused))
        report_refusal(w, &refused);
}

/* ---- requests ---- */

static bool do_migrate(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *guest = "", *to = "", *priority = "", *ns = "default", *name = NULL;
    struct input input = {.kind = INPUT_CREATE};
    struct migration_request *request = &input.of.create.request;
    if (!case_text(w, step, "migrate", &guest, err) || !case_text(w, step, "to", &to, err) ||
        !case_text(w, step, "priority", &priority, err) ||
        !case_text(w, step, "namespace", &ns, err) || !case_text(w, step, "name", &name, err) ||
        !case_number(w, step, "bandwidth", &request->bandwidth_mibs, err) ||
        !case_bool(w, step, "dryRun", &request->dry_run, err))
        return false;
    OWNED_TEXT metadata = json_of(step, "metadata");
    OWNED_TEXT selector = json_of(step, "selector");
    OWNED_TEXT volumes = json_of(step, "volumes");
    request->metadata_json = metadata;
    request->selector_json = selector;
    request->volumes_json = volumes;
    TEXT_SET(request->ns, ns);
    TEXT_SET(request->guest_name, guest);
    TEXT_SET(request->target, to);
    TEXT_SET(request->priority, priority);
    TEXT_SET(request->requester, "operator");
    (void)snprintf(request->name, sizeof request->name, "m%u", ++w->n_migrations);
    if (name != NULL)
        TEXT_SET(request->name, name);
    ask(w, &input);
    return true;
}

static bool stop(struct world *w, const struct yaml_node *step, const char *key, struct err *err)
{
    const char *name = "";
    struct input input = {.kind = INPUT_CANCEL};
    if (!case_text(w, step, key, &name, err))
        return false;
    TEXT_SET(input.of.cancel.ns, "default");
    TEXT_SET(input.of.cancel.name, name);
    TEXT_SET(input.of.cancel.requester, "operator");
    input.of.cancel.remove = strcmp(key, "delete") == 0;
    ask(w, &input);
    return true;
}

static bool do_abort(struct world *w, const struct yaml_node *step, struct err *err)
{
    return stop(w, step, "abort", err);
}

static bool do_delete(struct world *w, const struct yaml_node *step, struct err *err)
{
    return stop(w, step, "delete", err);
}

static bool do_put(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *kind = "", *name = "";
    struct err refused = {0};
    if (!case_text(w, step, "put", &kind, err) || !case_text(w, step, "name", &name, err))
        return false;
    if (object_kind_from_name(kind) == OBJECT_COUNT)
        return yaml_fail(w->yaml, step, err, "there is no kind '%s'", kind);
    OWNED_TEXT spec = json_of(step, "spec");
    if (!case_put(w, object_kind_from_name(kind), name, spec, &refused))
        report_refusal(w, &refused);
    return true;
}

static bool do_remove(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *kind = "", *name = "";
    struct input input = {.kind = INPUT_REMOVE};
    if (!case_text(w, step, "remove", &kind, err) || !case_text(w, step, "name", &name, err))
        return false;
    input.of.remove.kind = object_kind_from_name(kind);
    if (input.of.remove.kind == OBJECT_COUNT)
        return yaml_fail(w->yaml, step, err, "there is no kind '%s'", kind);
    TEXT_SET(input.of.remove.ns, object_kind_is_spaced(input.of.remove.kind) ? "default" : "");
    TEXT_SET(input.of.remove.name, name);
    TEXT_SET(input.of.remove.requester, "operator");
    ask(w, &input);
    return true;
}

static bool do_evict(struct world *w, const struct yaml_node *step, struct err *err)
{
    const struct world_guest *is = guest_of(w, step, "evict", err);
    struct input input = {.kind = INPUT_EVICT};
    struct eviction_request *request = &input.of.evict;
    if (is == NULL || !case_bool(w, step, "allowShutdown", &request->allow_shutdown, err) ||
        !case_bool(w, step, "cancel", &request->cancel, err) ||
        !case_bool(w, step, "descheduler", &request->descheduler, err))
        return false;
    const struct guest *guest = fleet_guest(w->fleet, is->is.uuid);
    TEXT_SET(request->ns, is->is.ns);
    TEXT_SET(request->requester, "operator");
    if (request->cancel)
        TEXT_SET(request->pod, is->is.name);
    else if (guest != NULL && guest->owner != NULL)
        launcher_pod(guest->name, guest->uuid, guest->owner->node->name, guest->stay_job,
                     request->pod);
    ask(w, &input);
    return true;
}

static bool say(struct world *w, const struct yaml_node *step, const char *key,
                enum override_kind word, struct err *err)
{
    const char *name = "";
    struct input input = {.kind = INPUT_RESOLVE, .of.resolve.kind = word};
    if (!case_text(w, step, key, &name, err))
        return false;
    TEXT_SET(input.of.resolve.ns, "default");
    TEXT_SET(input.of.resolve.name, name);
    TEXT_SET(input.of.resolve.requester, "operator");
    TEXT_SET(input.of.resolve.why, "looked at both hosts");
    ask(w, &input);
    return true;
}

static bool do_resolve(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *on = "";
    if (!case_text(w, step, "guestOn", &on, err))
        return false;
    enum override_kind word = strcmp(on, "source") == 0   ? RESOLVE_ON_SOURCE
                              : strcmp(on, "target") == 0 ? RESOLVE_ON_TARGET
                                                          : RESOLVE_GONE;
    return say(w, step, "resolve", word, err);
}

static bool do_recover(struct world *w, const struct yaml_node *step, struct err *err)
{
    return say(w, step, "recover", RESOLVE_RECOVER, err);
}

static bool do_ack(struct world *w, const struct yaml_node *step, struct err *err)
{
    return say(w, step, "ack", RESOLVE_ACKNOWLEDGE, err);
}

/* The analyser's verdict about a job that is over. */
static bool do_judge(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *name = "", *plane = "data", *cause = "unknown";
    if (!case_text(w, step, "judge", &name, err) || !case_text(w, step, "plane", &plane, err) ||
        !case_text(w, step, "cause", &cause, err))
        return false;
    const struct job *job = fleet_job_named(w->fleet, "default", name);
    if (job == NULL || !phase_is_final(job->phase))
        return yaml_fail(w->yaml, step, err, "there is no migration '%s' that is over", name);
    struct verdict_rows judged = {.verdict = {.job_uid = job->uid,
                                              .at_ms = w->now.wall_ms,
                                              .outcome = outcome_name(job->result.outcome),
                                              .plane = plane,
                                              .cause = cause,
                                              .guest_at = guest_at_name(job->resolution.guest_at)},
                                  .about = {job->ns, job->name, job->guest_name, job->source,
                                            job->target, "", job->epoch > 0}};
    incidents_judged(w->fleet, &judged, w->now.wall_ms);
    return true;
}

/* ---- what hosts say ---- */

static bool do_see(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "see", err);
    if (guest == NULL)
        return false;
    for (const struct yaml_node *one = step->child; one != NULL; one = one->next) {
        size_t i = 0;
        if (strcmp(one->key, "at") == 0 || strcmp(one->key, "see") == 0)
            continue;
        if (world_host(w, one->key) == NULL)
            return yaml_fail(w->yaml, one, err, "there is no host '%s'", one->key);
        while (i < guest->n_seen && strcmp(guest->seen[i].host, one->key) != 0)
            i++;
        if (!case_observation(w, one, &guest->seen[i].is, err))
            return false;
        guest->seen[i].is.persistent = guest->is.persistent;
        TEXT_SET(guest->seen[i].host, one->key);
        guest->n_seen += i == guest->n_seen;
    }
    return true;
}

static bool do_job(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "job", err);
    const char *is = "none";
    if (guest == NULL || !case_text(w, step, "is", &is, err) ||
        !case_seconds(w, step, "downtime", &guest->downtime_ms, err)) /* as the target kept it */
        return false;
    guest->job = strcmp(is, "backup") == 0      ? HV_OPERATION_BACKUP
                 : strcmp(is, "migration") == 0 ? HV_OPERATION_MIGRATION_OUT
                 : strcmp(is, "snapshot") == 0  ? HV_OPERATION_SNAPSHOT
                                                : HV_OPERATION_UNKNOWN;
    return true;
}

/* What the source's QEMU says of the migration: a name of QEMU's, or silent. */
static bool do_stream(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "stream", err);
    const char *is = "";
    if (guest == NULL || !case_text(w, step, "is", &is, err))
        return false;
    guest->monitor_hangs = strcmp(is, "silent") == 0;
    guest->stream = hv_migration_status_from_name(is);
    if (guest->stream == HV_MIGRATION_UNKNOWN && !guest->monitor_hangs)
        return yaml_fail(w->yaml, step, err, "'%s' is no state of QEMU's, nor silent", is);
    return true;
}

/* What the target's host says of the place of the guest's only disk that moves along. */
static bool do_volume(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "volume", err);
    if (guest == NULL)
        return false;
    guest->at = (struct volume_facts){.n = 1};
    struct hv_volume_info *at = &guest->at.list[0].at;
    at->known = true;
    return case_number(w, step, "disk", &guest->at.list[0].block.capacity, err) &&
           case_bool(w, step, "exists", &at->exists, err) &&
           case_bool(w, step, "creatable", &at->creatable, err) &&
           case_number(w, step, "size", &at->capacity, err) &&
           case_number(w, step, "free", &at->free, err);
}

static bool do_lose(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_host *host = host_of(w, step, "lose", err);
    const char *how = "silent";
    if (host == NULL || !case_text(w, step, "how", &how, err))
        return false;
    world_lose(w, host, strcmp(how, "closed") == 0 ? HV_LOST_CLOSED : HV_LOST_SILENT);
    return true;
}

static bool do_connect(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_host *host = host_of(w, step, "connect", err);
    const char *uuid = NULL;
    if (host == NULL || !case_text(w, step, "uuid", &uuid, err))
        return false;
    if (uuid != NULL) /* another machine answers to its name */
        TEXT_SET(host->facts.uuid, uuid);
    return world_connect(w, host, err);
}

static bool do_list(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_host *host = host_of(w, step, "list", err);
    if (host == NULL)
        return false;
    world_list(w, host);
    return true;
}

static bool do_path(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_host *host = host_of(w, step, "path", err);
    const char *is = "unknown";
    if (host == NULL || !case_text(w, step, "is", &is, err))
        return false;
    for (int i = HV_PATH_UNKNOWN; i <= HV_PATH_DEAD; i++)
        if (strcmp(hv_path_name((enum hv_path)i), is) == 0)
            host->path = (enum hv_path)i;
    return true;
}

static bool do_event(struct world *w, const struct yaml_node *step, struct err *err)
{
    const struct world_guest *guest = guest_of(w, step, "event", err);
    const struct world_host *host = guest != NULL ? host_of(w, step, "host", err) : NULL;
    const char *is = "";
    uint64_t detail = 0;
    struct input input = {.kind = INPUT_EVENT};
    struct hv_event *event = &input.of.event;
    if (host == NULL || !case_text(w, step, "is", &is, err) ||
        !case_number(w, step, "detail", &detail, err))
        return false;
    event->kind = strcmp(is, "iteration") == 0 ? HV_EVENT_ITERATION : HV_EVENT_LIFECYCLE;
    for (int i = HV_LIFECYCLE_DEFINED; i <= HV_LIFECYCLE_CRASHED; i++)
        if (strcmp(hv_lifecycle_name(i), is) == 0)
            event->a = i;
    event->b = (int)detail;
    event->at_ms = w->now.mono_ms;
    TEXT_SET(event->host, host->is.name);
    TEXT_SET(event->guest, guest->is.uuid);
    TEXT_SET(input.host, host->is.name);
    TEXT_SET(input.guest, guest->is.uuid);
    ask(w, &input);
    return true;
}

/* ---- answers ---- */

static struct world_order *order_of(struct world *w, const struct world_guest *guest,
                                    const char *call)
{
    for (size_t i = w->n_orders; i-- > 0;)
        if (w->orders[i].id != 0 && strcmp(hv_call_name(w->orders[i].call), call) == 0 &&
            strcmp(w->orders[i].guest, guest->is.uuid) == 0)
            return &w->orders[i];
    return NULL;
}

static bool read_error(struct world *w, const struct yaml_node *step, struct err *out_error,
                       struct err *err)
{
    const char *error = NULL, *text = "operation failed";
    bool lost = false;
    if (!case_text(w, step, "error", &error, err) || !case_text(w, step, "text", &text, err) ||
        !case_bool(w, step, "lost", &lost, err))
        return false;
    if (lost) {
        err_set(out_error, ERR_UNREACHABLE, "End of file while reading data: Input/output error");
        out_error->hv_code = 38;
        out_error->hv_domain = 7;
    } else if (error != NULL) {
        err_set(out_error, ERR_HYPERVISOR, "%s", text);
        if (sscanf(error, "%d/%d", &out_error->hv_code, &out_error->hv_domain) != 2)
            return yaml_fail(w->yaml, step, err, "error: code/domain as libvirt numbers them");
    }
    return true;
}

static bool do_returns(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "of", err);
    const char *call = "";
    struct err error = {0};
    if (guest == NULL || !case_text(w, step, "returns", &call, err) ||
        !read_error(w, step, &error, err))
        return false;
    struct world_order *order = order_of(w, guest, call);
    if (order == NULL)
        return yaml_fail(w->yaml, step, err, "no order '%s' about %s is out", call, guest->is.name);
    struct input input = {.kind = INPUT_CALL, .id = order->id, .of.call = order->call};
    input.err = error;
    TEXT_SET(input.host, order->host);
    TEXT_SET(input.guest, order->guest);
    order->id = 0;
    if (order->call == HV_CALL_MIGRATE && error.code != ERR_UNREACHABLE)
        guest->moves = false;
    ask(w, &input);
    return true;
}

/* The call ends well, and the guest lives on the target. */
static bool do_arrives(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "arrives", err);
    if (guest == NULL)
        return false;
    struct world_order *order = order_of(w, guest, "migrate");
    TEXT_SET(guest->home, guest->target);
    if (guest->is.state == HV_STATE_RUNNING)
        guest->is.reason = HV_RUNNING_MIGRATED;
    guest->moves = false;
    guest->n_seen = 0;
    if (order == NULL)
        return true;
    struct input input = {.kind = INPUT_CALL, .id = order->id, .of.call = HV_CALL_MIGRATE};
    TEXT_SET(input.host, order->host);
    TEXT_SET(input.guest, order->guest);
    order->id = 0;
    ask(w, &input);
    return true;
}

/* ---- measurements ---- */

struct measured { /* bytes a second, bytes, bytes a second, percent */
    uint64_t rate, left, dirty, throttle;
};

static void sample(struct world *w, struct world_guest *guest, const struct measured *is)
{
    uint64_t rate = is->rate, left = is->left;
    const struct job *job = fleet_active_job(w->fleet, guest->is.uuid);
    if (job == NULL)
        return;
    uint64_t whole = guest->is.memory_kib * 1024, pass = left > 0 ? left : 1 << 20;
    guest->sent += rate * SAMPLE_MS / 1000;
    struct input input = {.kind = INPUT_SAMPLE};
    struct sample *one = &input.of.sample;
    TEXT_SET(one->job_uid, job->uid);
    TEXT_SET(one->host, job->source);
    TEXT_SET(one->guest, guest->is.uuid);
    one->seq = job->monitor.next_sample_seq;
    one->mono_ms = w->now.mono_ms;
    one->wall_ms = w->now.wall_ms;
    one->bandwidth_bps = rate;
    one->stats = (struct hv_job_stats){
        .type = HV_JOB_UNBOUNDED,
        .operation = HV_OPERATION_MIGRATION_OUT,
        .time_elapsed_ms = (uint64_t)(w->now.mono_ms - job->call.begun_ms),
        .data_total = whole,
        .data_processed = guest->sent,
        .data_remaining = left,
        .memory_total = whole,
        .memory_processed = guest->sent,
        .memory_remaining = left,
        .memory_iteration = guest->sent < whole ? 1 : 2 + (guest->sent - whole) / pass,
        .memory_dirty_rate = is->dirty / 4096,
        .auto_converge_throttle = is->throttle,
        .memory_page_size = 4096};
    ask(w, &input);
    world_settle(w);
}

static bool do_samples(struct world *w, const struct yaml_node *step, struct err *err)
{
    struct world_guest *guest = guest_of(w, step, "samples", err);
    int64_t ms = SAMPLE_MS;
    struct measured is = {0};
    uint64_t less = 0;
    if (guest == NULL || !case_seconds(w, step, "for", &ms, err) ||
        !case_number(w, step, "rate", &is.rate, err) ||
        !case_number(w, step, "remaining", &is.left, err) ||
        !case_number(w, step, "less", &less, err) ||
        !case_number(w, step, "dirty", &is.dirty, err) ||
        !case_number(w, step, "throttle", &is.throttle, err))
        return false;
    int64_t end_ms = world_elapsed_ms(w) + ms;
    while (world_elapsed_ms(w) + SAMPLE_MS <= end_ms) {
        world_iteration(w, world_elapsed_ms(w) + SAMPLE_MS);
        sample(w, guest, &is);
        is.left -= less < is.left ? less : is.left; /* with each measurement */
    }
    return true;
}

/* ---- Ferry itself ---- */

static bool do_restart(struct world *w, const struct yaml_node *step, struct err *err)
{
    int64_t away_ms = 0;
    return case_seconds(w, step, "restart", &away_ms, err) && world_restart(w, away_ms, err);
}

static bool do_store(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *is = "";
    if (!case_text(w, step, "store", &is, err))
        return false;
    w->store_fails = strcmp(is, "fails") == 0;
    w->fleet->store_ok = !w->store_fails;
    if (!w->store_fails)
        w->fleet->drains_due = w->fleet->queue.crowded = true;
    return true;
}

/* A contradiction, as if a step had been taken that phase.def does not have. */
static bool do_freeze(struct world *w, const struct yaml_node *step, struct err *err)
{
    const char *name = "";
    if (!case_text(w, step, "internalError", &name, err))
        return false;
    struct job *job = fleet_job_named(w->fleet, "default", name);
    if (job == NULL)
        return yaml_fail(w->yaml, step, err, "there is no migration '%s'", name);
    fleet_freeze_job(w->fleet, job, "planted by this case");
    return world_roll_back(w, err);
}

static const struct {
    const char *name;
    bool (*play)(struct world *, const struct yaml_node *, struct err *);
    const char *keys[10]; /* besides its name and "at"; "*": hosts */
} kinds[] = {
    {"migrate",
     do_migrate,
     {"to", "priority", "namespace", "name", "bandwidth", "dryRun", "metadata", "selector",
      "volumes"}},
    {"abort", do_abort, {NULL}},
    {"delete", do_delete, {NULL}},
    {"put", do_put, {"name", "spec"}},
    {"remove", do_remove, {"name"}},
    {"evict", do_evict, {"allowShutdown", "cancel", "descheduler"}},
    {"resolve", do_resolve, {"guestOn"}},
    {"recover", do_recover, {NULL}},
    {"ack", do_ack, {NULL}},
    {"judge", do_judge, {"plane", "cause"}},
    {"see", do_see, {"*"}},
    {"job", do_job, {"is", "downtime"}},
    {"stream", do_stream, {"is"}},
    {"volume", do_volume, {"disk", "exists", "creatable", "size", "free"}},
    {"lose", do_lose, {"how"}},
    {"connect", do_connect, {"uuid"}},
    {"list", do_list, {NULL}},
    {"path", do_path, {"is"}},
    {"event", do_event, {"host", "is", "detail"}},
    {"returns", do_returns, {"of", "error", "text", "lost"}},
    {"arrives", do_arrives, {NULL}},
    {"samples", do_samples, {"for", "rate", "remaining", "less", "dirty", "throttle"}},
    {"restart", do_restart, {NULL}},
    {"store", do_store, {NULL}},
    {"internalError", do_freeze, {NULL}},
};

static bool has_only_keys(struct world *w, const struct yaml_node *step, size_t kind,
                          struct err *err)
{
    const char *keys[COUNT(kinds[0].keys) + 2] = {"at", kinds[kind].name};
    size_t n = 2;
    if (kinds[kind].keys[0] != NULL && strcmp(kinds[kind].keys[0], "*") == 0)
        return true;
    for (size_t i = 0; i < COUNT(kinds[kind].keys) && kinds[kind].keys[i] != NULL; i++)
        keys[n++] = kinds[kind].keys[i];
    return yaml_only_keys(w->yaml, step, keys, n, err);
}

bool case_step(struct world *w, const struct yaml_node *step, struct err *err)
{
    int64_t at_ms = world_elapsed_ms(w);
    if (!case_seconds(w, step, "at", &at_ms, err))
        return false;
    if (at_ms < world_elapsed_ms(w))
        return yaml_fail(w->yaml, step, err, "steps are in the order of time");
    world_iteration(w, at_ms);
    if (yaml_child(step, "at") != NULL && step->child->next == NULL)
        return world_is_lawful(w, err); /* time passes, nothing else */
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (yaml_child(step, kinds[i].name) == NULL)
            continue;
        if (!has_only_keys(w, step, i, err))
            return false;
        report_input(w, step);
        if (!kinds[i].play(w, step, err))
            return false;
        world_settle(w);
        return world_is_lawful(w, err);
    }
    return yaml_fail(w->yaml, step, err, "a step says what happens: migrate, abort, see, ...");
}
