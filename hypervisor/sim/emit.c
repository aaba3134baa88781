/* emit.c - random numbers from the seed, recorded errors, events.
 *
 * Every event and reply that Ferry gets is mixed into sim->trace, so that two runs with equal
 * hashes had the same events, not only the same end.
 */
#include <assert.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/text.h"
#include "hypervisor/sim/inside.h"

static const struct {
    enum err_code code;
    int hv_code, hv_domain;
    const char *text;
} errors[SIM_ERROR_COUNT] = {
#define SIM_ERROR(id, code, hv_code, hv_domain, text) \
    [SIM_ERROR_##id] = {ERR_##code, hv_code, hv_domain, text},
#include "hypervisor/sim/error.def"
#undef SIM_ERROR
};

/* splitmix64: a few operations, full period, any seed is good. */
uint64_t sim_random(uint64_t *state, uint64_t min, uint64_t max)
{
    assert(min <= max);
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return min + z % (max - min + 1);
}

void sim_error_set(struct err *err, enum sim_error which, const struct copy *copy,
                   const struct host *host)
{
    assert(which > SIM_ERROR_NONE && which < SIM_ERROR_COUNT);
    char text[ERR_TEXT_MAX];
    size_t used = 0;
    for (const char *at = errors[which].text; *at != '\0' && used + 1 < sizeof text; at++) {
        const char *word = NULL;
        if (strncmp(at, "$G", 2) == 0)
            word = copy != NULL ? copy->name : "?";
        else if (strncmp(at, "$U", 2) == 0)
            word = copy != NULL ? copy->guest->what.uuid : "?";
        else if (strncmp(at, "$H", 2) == 0)
            word = host != NULL ? host->what.name : "?";
        if (word == NULL) {
            text[used++] = *at;
            continue;
        }
        (void)text_copy(text + used, sizeof text - used, word);
        used += strlen(text + used);
        at++;
    }
    text[used] = '\0';
    (void)err_set(err, errors[which].code, "%s", text);
    err->hv_code = errors[which].hv_code;
    err->hv_domain = errors[which].hv_domain;
}

static void deliver(struct sim *sim, const struct hv_event *event)
{
    uint64_t trace = hash_word(sim->trace, event->host);
    trace = hash_word(trace, event->guest);
    trace = hash_number(trace, (uint64_t)event->kind);
    trace = hash_number(trace, (uint64_t)event->a);
    trace = hash_number(trace, (uint64_t)event->b);
    trace = hash_number(trace, (uint64_t)event->at_ms);
    sim->trace = hash_number(trace, (uint64_t)event->err.hv_code);
    if (sim->events.on_event != NULL)
        sim->events.on_event(sim->events.ctx, event);
}

/* A stopped libvirtd sends its events later, as its socket would; beyond a bound they are lost. */
static void hold(struct host *host, const struct hv_event *event)
{
    struct held_event *held = host->held_n < SIM_HELD_EVENTS_MAX ? malloc(sizeof *held) : NULL;
    if (held == NULL)
        return;
    held->event = *event;
    host->held_n++;
    DL_APPEND(host->held, held);
}

static void emit(struct sim *sim, struct hv_event *event, struct host *host)
{
    TEXT_SET(event->host, host->what.name);
    event->at_ms = sim->now_ms;
    bool about_host = event->kind == HV_EVENT_CONNECTED || event->kind == HV_EVENT_DISCONNECTED;
    if (!about_host && !host->connected)
        return; /* no sink */
    if (!about_host && sim_host_is_hung(host))
        hold(host, event);
    else
        deliver(sim, event);
}

void sim_flush_events(struct sim *sim, struct host *host, bool wanted)
{
    struct held_event *held, *next;
    DL_FOREACH_SAFE(host->held, held, next)
    {
        DL_DELETE(host->held, held);
        host->held_n--;
        held->event.at_ms = sim->now_ms;
        if (wanted)
            deliver(sim, &held->event);
        free(held);
    }
}

void sim_emit_host(struct sim *sim, struct host *host, enum hv_event_kind kind, enum sim_error why)
{
    struct hv_event event = {.kind = kind};
    if (why != SIM_ERROR_NONE)
        sim_error_set(&event.err, why, NULL, host);
    emit(sim, &event, host);
}

static void emit_guest_changed(struct sim *sim, const struct copy *copy, struct hv_event *event)
{
    TEXT_SET(event->guest, copy->guest->what.uuid);
    TEXT_SET(event->guest_name, copy->name);
    emit(sim, event, copy->host);
}

void sim_emit_lifecycle(struct sim *sim, const struct copy *copy, enum hv_lifecycle what,
                        int detail)
{
    struct hv_event event = {.kind = HV_EVENT_LIFECYCLE, .a = (int)what, .b = detail};
    emit_guest_changed(sim, copy, &event);
}

void sim_emit_changed(struct sim *sim, const struct copy *copy)
{
    struct hv_event event = {.kind = HV_EVENT_CHANGED};
    emit_guest_changed(sim, copy, &event);
}

void sim_emit_iteration(struct sim *sim, const struct copy *copy, uint64_t iteration)
{
    struct hv_event event = {.kind = HV_EVENT_ITERATION, .a = (int)iteration};
    emit_guest_changed(sim, copy, &event);
}

void sim_emit_completed(struct sim *sim, const struct copy *copy, const struct hv_job_stats *stats)
{
    struct hv_event event = {.kind = HV_EVENT_JOB_COMPLETED, .stats = *stats};
    emit_guest_changed(sim, copy, &event);
}
