/* answer.c - calls that change nothing, answered from the current state. */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/text.h"
#include "hypervisor/sim/inside.h"

enum { CPU_IDENTICAL = 1 }; /* libvirt's virCPUCompareResult: 0 is incompatible */

static struct copy *find_copy(const struct sim *sim, const struct call *call)
{
    struct guest *guest;
    HASH_FIND_STR(sim->guests, call->request.guest, guest);
    return guest == NULL ? NULL : sim_copy_find(guest, call->host);
}

static void answer_facts(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    (void)sim;
    const struct host *host = call->host;
    struct hv_facts *facts = &reply->with.facts;
    TEXT_SET(facts->hostname, host->what.name);
    (void)snprintf(facts->uuid, sizeof facts->uuid, "00000000-0000-4000-8000-%012x", host->number);
    TEXT_SET(facts->cpu_model, "qemu64");
    TEXT_SET(facts->arch, "x86_64");
    facts->libvirt_version = sim_host_libvirt(host);
    facts->hypervisor_version = sim_host_qemu(host);
    facts->cpus = host->what.cpus;
    facts->memory_kib = host->what.memory_kib;
    if (host->what.memory_kib > host->used_kib)
        facts->free_memory_kib = host->what.memory_kib - host->used_kib;
}

static void list_one(const struct copy *copy, struct hv_guest *out_guest)
{
    const struct sim_guest *what = &copy->guest->what;
    TEXT_SET(out_guest->uuid, what->uuid);
    TEXT_SET(out_guest->name, copy->name);
    TEXT_SET(out_guest->ns, what->ns[0] != '\0' ? what->ns : "default");
    out_guest->state = copy->state;
    out_guest->reason = copy->reason;
    out_guest->persistent = copy->persistent;
    out_guest->memory_kib = what->memory_bytes / 1024;
    out_guest->vcpus = what->vcpus;
    out_guest->labels = what->labels[0] != '\0' ? strdup(what->labels) : NULL;
    out_guest->settings = what->settings[0] != '\0' ? strdup(what->settings) : NULL;
}

static void answer_list(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    (void)sim;
    const struct copy *copy;
    size_t n = 0;
    DL_COUNT2(call->host->copies, copy, n, host_next);
    if (n > HV_GUESTS_MAX) {
        (void)err_set(&reply->err, ERR_LIMIT, "%zu guests, at most %d", n, HV_GUESTS_MAX);
        return;
    }
    struct hv_guest_list *list = calloc(1, sizeof *list);
    struct hv_guest *guests = calloc(n > 0 ? n : 1, sizeof *guests);
    if (list == NULL || guests == NULL) {
        free(list);
        free(guests);
        (void)err_set(&reply->err, ERR_NOMEM, "no memory for a list of %zu guests", n);
        return;
    }
    list->guests = guests;
    DL_FOREACH2(call->host->copies, copy, host_next)
    {
        list_one(copy, &guests[list->n++]);
    }
    reply->with.guests = list;
}

/* As on a real host, DOMAIN_STATE never enters the monitor and has no job. */
static void answer_observe(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    struct hv_observation *observation = &reply->with.observation;
    observation->job_type = -1;
    observation->presence = copy == NULL ? HV_ABSENT : HV_PRESENT;
    if (copy == NULL)
        return;
    observation->state = copy->state;
    observation->reason = copy->reason;
    observation->persistent = copy->persistent;
    observation->autostart = copy->autostart;
}

static void answer_stats(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    if (copy == NULL)
        return; /* sim_answer has refused it */
    if (!sim_copy_is_live(copy))
        sim_error_set(&reply->err, SIM_ERROR_NOT_RUNNING, copy, NULL);
    else if (copy->in != NULL)
        sim_error_set(&reply->err, SIM_ERROR_STATS_ON_TARGET, copy, NULL);
    else if (copy->out != NULL)
        sim_stream_stats(sim, copy->out, &reply->with.stats);
}

/* A cancelled job that still exists waits for its dead stream. */
static enum hv_migration_status status_of(const struct job *job)
{
    static const enum hv_migration_status statuses[] = {
        [JOB_PREPARE] = HV_MIGRATION_NONE,
        [JOB_CONNECT] = HV_MIGRATION_SETUP,
        [JOB_DISKS] = HV_MIGRATION_NONE,
        [JOB_COPY] = HV_MIGRATION_ACTIVE,
        [JOB_SWITCHOVER] = HV_MIGRATION_DEVICE,
        [JOB_STUCK] = HV_MIGRATION_CANCELLING,
        [JOB_POSTCOPY] = HV_MIGRATION_POSTCOPY_ACTIVE,
        [JOB_BROKEN] = HV_MIGRATION_POSTCOPY_ACTIVE,
        [JOB_RECOVER] = HV_MIGRATION_POSTCOPY_RECOVER,
        [JOB_FINISH] = HV_MIGRATION_COMPLETED,
    };
    bool broken = job->phase == JOB_BROKEN && job->source_knows;
    return broken ? HV_MIGRATION_POSTCOPY_PAUSED : statuses[job->phase];
}

static void answer_migration(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    struct hv_job_stats stats;
    reply->with.migration.status = HV_MIGRATION_NONE;
    if (copy != NULL && !sim_copy_is_live(copy))
        sim_error_set(&reply->err, SIM_ERROR_NOT_RUNNING, copy, NULL);
    if (copy == NULL || !sim_copy_is_live(copy) || copy->out == NULL)
        return;
    sim_stream_stats(sim, copy->out, &stats);
    reply->with.migration.status = status_of(copy->out);
    reply->with.migration.transferred = stats.memory_processed;
}

static void answer_completed(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    if (copy != NULL)
        reply->with.stats = copy->completed;
}

static void answer_text(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    if (call->request.call == HV_CALL_CAPABILITIES)
        reply->with.text = sim_describe_host(call->host);
    else if (call->request.call == HV_CALL_DOMAIN_CAPABILITIES)
        reply->with.text = sim_describe_emulator(call->host);
    else if (copy != NULL)
        reply->with.text = sim_describe_guest(copy, call->request.call == HV_CALL_GUEST_XML_STORED);
    if (reply->with.text == NULL)
        (void)err_set(&reply->err, ERR_NOMEM, "no memory for XML");
}

static void answer_live(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    reply->snapshots = copy != NULL && copy->guest->what.snapshot;
    answer_text(sim, call, reply);
}

static void answer_cpu(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    (void)sim;
    reply->with.comparison = call->host->what.other_cpu ? 0 : CPU_IDENTICAL;
}

static void answer_stored(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    if (copy != NULL && !copy->persistent)
        (void)err_set(&reply->err, ERR_NOT_FOUND,
                      "guest '%s' is transient there, it has no persistent definition", copy->name);
    else
        answer_text(sim, call, reply);
}

static void answer_capabilities(const struct sim *sim, const struct call *call,
                                struct hv_reply *reply)
{
    (void)sim;
    reply->with.capabilities = sim_offer(call->host);
    if (reply->with.capabilities == NULL)
        (void)err_set(&reply->err, ERR_NOMEM, "no memory for capabilities");
}

static void answer_block(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    const struct copy *copy = find_copy(sim, call);
    if (copy != NULL && !sim_block_info(copy->guest, call->request.with.disk, &reply->with.block))
        sim_error_set(&reply->err, SIM_ERROR_NO_BLOCK, copy, NULL);
}

static void answer_volume(const struct sim *sim, const struct call *call, struct hv_reply *reply)
{
    (void)sim;
    sim_volume_info(call->host, &call->request.with.location, &reply->with.volume);
}

static void begin_measure(struct sim *sim, struct call *call, const struct copy *copy)
{
    enum { WINDOW_MAX_S = 60 };
    uint64_t seconds = call->request.with.tune.value;
    if (seconds < 1 || seconds > WINDOW_MAX_S)
        sim_call_answer(sim, call, SIM_ERROR_DIRTY_WINDOW, copy, NULL, 0);
    else if (!sim_copy_is_live(copy))
        sim_call_answer(sim, call, SIM_ERROR_NOT_RUNNING, copy, NULL, 0);
    else
        sim_call_wait_measure(sim, call, (int64_t)seconds * 1000);
}

/* Distinct pages: it saturates at the working set. */
void sim_answer_measure(struct sim *sim, struct call *call)
{
    struct hv_reply reply = {0};
    const struct copy *copy = find_copy(sim, call);
    if (copy == NULL || !sim_copy_is_live(copy)) {
        sim_call_answer(sim, call, copy == NULL ? SIM_ERROR_NO_DOMAIN : SIM_ERROR_NOT_RUNNING, copy,
                        NULL, 0);
        return;
    }
    const struct sim_guest *guest = &copy->guest->what;
    uint64_t seconds = call->request.with.tune.value;
    uint64_t set = guest->working_set_bytes < guest->memory_bytes ? guest->working_set_bytes
                                                                  : guest->memory_bytes;
    uint64_t most = set / seconds;
    if (copy->state == HV_STATE_RUNNING)
        reply.with.dirty_bps = guest->dirty_bps < most ? guest->dirty_bps : most;
    sim_call_reply(sim, call, &reply);
}

static const struct {
    void (*answer)(const struct sim *sim, const struct call *call, struct hv_reply *reply);
    bool requires_guest, requires_monitor;
} answers[HV_CALL_COUNT] = {
    [HV_CALL_HOST_FACTS] = {answer_facts, false, false},
    [HV_CALL_LIST_GUESTS] = {answer_list, false, false},
    [HV_CALL_DOMAIN_STATE] = {answer_observe, false, false},
    [HV_CALL_JOB_STATS] = {answer_stats, true, true},
    [HV_CALL_COMPLETED_STATS] = {answer_completed, true, false},
    [HV_CALL_HOST_CAPABILITIES] = {answer_capabilities, false, false},
    [HV_CALL_GUEST_XML_STORED] = {answer_stored, true, false},
    [HV_CALL_GUEST_XML] = {answer_live, true, false},
    [HV_CALL_CAPABILITIES] = {answer_text, false, false},
    [HV_CALL_BLOCK_INFO] = {answer_block, true, true},
    [HV_CALL_VOLUME_INFO] = {answer_volume, false, false},
    [HV_CALL_COMPARE_CPU] = {answer_cpu, false, false},
    [HV_CALL_DOMAIN_CAPABILITIES] = {answer_text, false, false},
    [HV_CALL_MIGRATABLE_XML] = {answer_text, true, false},
    [HV_CALL_QUERY_MIGRATE] = {answer_migration, true, true},
    [HV_CALL_MEASURE_DIRTY] = {NULL, true, true}, /* answered later */
};

void sim_answer(struct sim *sim, struct call *call)
{
    enum hv_call what = call->request.call;
    bool measures = what == HV_CALL_MEASURE_DIRTY;
    assert(measures || answers[what].answer != NULL);
    const struct copy *copy = find_copy(sim, call);
    if (answers[what].requires_guest && copy == NULL) {
        sim_call_answer(sim, call, SIM_ERROR_NO_DOMAIN, NULL, NULL, 0);
        return;
    }
    if (answers[what].requires_monitor && copy->out != NULL &&
        sim_job_monitor_is_blocked(copy->out)) {
        sim_call_wait_monitor(sim, call, copy->out);
        return;
    }
    if (measures) {
        begin_measure(sim, call, copy);
        return;
    }
    struct hv_reply reply = {0};
    answers[what].answer(sim, call, &reply);
    sim_call_reply(sim, call, &reply);
}
