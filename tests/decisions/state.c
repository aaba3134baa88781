/* state.c - the state at the end of a case: jobs, nodes, drains, quotas, incidents. See report.h.
 */
#include <stdio.h>
#include <string.h>

#include "engine/control/drain.h"
#include "engine/control/placement.h"
#include "tests/decisions/report.h"

static void add_time(struct buf *out, const char *before, int64_t wall_ms)
{
    char time[32];
    report_time(wall_ms - WORLD_WALL_MS, time);
    buf_addf(out, "%s%s", before, time);
}

static void show_rejections(struct buf *out, const struct job *job)
{
    const struct rejections *all = job->placement.rejections;
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        const struct rejection *one = &all->list[i];
        buf_addf(out, "  rejected by %s: %s", one->node, reject_name(one->why));
        if (one->detail[0] != '\0')
            buf_addf(out, " (%s)", one->detail);
        buf_addf(out, "%s\n", reject_is_for_ever(one->why) ? ", for ever" : "");
    }
}

static void show_wait(struct buf *out, const struct job *job)
{
    if (job->wait.pending == PENDING_NONE)
        return;
    buf_addf(out, "  waits for %s", pending_name(job->wait.pending));
    add_time(out, " since ", job->wait.since_ms);
    if (job->wait.until_ms != 0)
        add_time(out, " until ", job->wait.until_ms);
    buf_addf(out, ": %s\n", job->wait.reason);
}

static void show_end(struct buf *out, const struct job *job)
{
    if (!phase_is_final(job->phase))
        return;
    buf_addf(out, "  outcome %s, guest %s\n", outcome_name(job->result.outcome),
             guest_at_name(job->resolution.guest_at));
    if (job->result.failure_reason[0] != '\0')
        buf_addf(out, "  reason: %s\n", job->result.failure_reason);
}

static void show_job(struct buf *out, const struct job *job)
{
    bool has_target = job->target[0] != '\0';
    buf_addf(out, "migration %s: %s", job->name, phase_name(job->phase));
    if (job->mode != MODE_NONE)
        buf_addf(out, " %s", mode_name(job->mode));
    buf_addf(out, ", %s%s%s%s%s, %s, %s", job->guest_name, job->source[0] != '\0' ? " " : "",
             job->source, has_target ? " -> " : "", job->target,
             priority_name(job->request.priority), origin_name(job->request.origin));
    if (job->request.policy[0] != '\0')
        buf_addf(out, ", policy %s", job->request.policy);
    if (job->epoch != 0)
        buf_addf(out, ", epoch %lld", (long long)job->epoch);
    buf_addf(out, "%s%s\n", job->resolving ? ", resolving" : "", job->frozen ? ", frozen" : "");
    if (job->abort.status != ABORT_NONE)
        buf_addf(out, "  abort %s (%s, asked by %s)\n", abort_status_name(job->abort.status),
                 abort_cause_name(job->abort.cause), job->abort.requester);
    if (job->recovery.state != RECOVERY_NONE)
        buf_addf(out, "  recovery %s, attempts %u\n", recovery_name(job->recovery.state),
                 job->recovery.tries);
    show_wait(out, job);
    show_end(out, job);
    show_rejections(out, job);
}

static void show_node(struct buf *out, const struct node *node)
{
    buf_addf(out, "node %s: %s%s%s, inbound %u, outbound %u, guests %llu", node->name,
             node->connected ? "connected" : "lost", node->cordoned ? ", cordoned" : "",
             node->cordoned_by_drain ? " by a drain" : "", node->inbound, node->outbound,
             (unsigned long long)node->running.launchers);
    if (node->reserved.launchers != 0)
        buf_addf(out, ", reserved %llu MiB and %llu vCPU for %llu",
                 (unsigned long long)node->reserved.memory_kib / 1024,
                 (unsigned long long)node->reserved.vcpus,
                 (unsigned long long)node->reserved.launchers);
    if (node->reserved_huge_kib != 0)
        buf_addf(out, ", huge pages %llu MiB", (unsigned long long)node->reserved_huge_kib / 1024);
    if (node->in_bandwidth + node->out_bandwidth != 0)
        buf_addf(out, ", bandwidth in %llu MiB/s out %llu MiB/s",
                 (unsigned long long)node->in_bandwidth >> 20,
                 (unsigned long long)node->out_bandwidth >> 20);
    buf_add(out, "\n");
}

static void show_drain(struct buf *out, const struct object *object)
{
    const struct drain *drain = object->drain;
    buf_addf(out, "drain %s of %s: %s%s%s\n", object->name, drain->node,
             drain_state_name(drain->state), drain->message[0] != '\0' ? ": " : "", drain->message);
    for (size_t i = 0; i < drain->n_shut_off && i < DRAIN_SHUT_OFF_MAX; i++)
        buf_addf(out, "  %s: shut off, stays\n", drain->shut_off[i].name);
    for (size_t i = 0; i < drain->n; i++) {
        const struct drain_guest *guest = &drain->guests[i];
        buf_addf(out, "  %s: %s", guest->name, drain_guest_state_name(guest->state));
        if (guest->block != BLOCK_NONE)
            buf_addf(out, " %s", block_name(guest->block));
        if (guest->attempts != 0)
            buf_addf(out, ", attempts %u", guest->attempts);
        if (guest->message[0] != '\0')
            buf_addf(out, ": %s", guest->message);
        buf_add(out, "\n");
    }
}

static void show_incidents(struct buf *out, const struct incidents *incidents)
{
    for (size_t i = 0; i < incidents->n; i++) {
        const struct incident *one = &incidents->list[i];
        if (one->end == INCIDENT_END_NONE)
            buf_addf(out, "incident %s: %s of %s on %s, plane %s, cause %s\n", incident_name(one),
                     incident_kind_name(one->kind), one->guest, one->node, one->plane, one->cause);
    }
    for (size_t i = 0; i < incidents->n_closed; i++) {
        const struct incident *one = &incidents->closed[i];
        buf_addf(out, "incident %s: %s of %s, closed (%s) by %s\n", incident_name(one),
                 incident_kind_name(one->kind), one->guest, incident_end_name(one->end), one->by);
    }
}

void report_state(struct world *w)
{
    const struct fleet *f = w->fleet;
    char time[32];
    report_time(world_elapsed_ms(w), time);
    buf_addf(&w->out, "\nstate at %s\n", time);
    for (const struct job *job = f->jobs; job != NULL; job = job->hh.next)
        show_job(&w->out, job);
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        show_drain(&w->out, o);
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next)
        show_node(&w->out, node);
    show_incidents(&w->out, &f->incidents);
}
