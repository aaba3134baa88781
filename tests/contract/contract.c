/* contract.c - see contract.h: keeping what was seen, asking, waiting. */
#include "tests/contract/contract.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/act.h"
#include "hypervisor/observe.h"
#include "hypervisor/probe.h"

enum { EVENTS_MAX = 8192, REPLIES_MAX = 8192 };

/* Slots are written once and then only read, so what was found may be used without the lock. */
struct contract_seen {
    pthread_mutex_t lock;
    uint64_t last_id;
    size_t n_events, n_replies;
    struct hv_event events[EVENTS_MAX];
    struct hv_reply replies[REPLIES_MAX];
};

struct contract_seen *contract_seen_new(void)
{
    struct contract_seen *seen = calloc(1, sizeof *seen);
    if (seen != NULL)
        (void)pthread_mutex_init(&seen->lock, NULL);
    return seen;
}

void contract_seen_free(struct contract_seen *seen)
{
    if (seen == NULL)
        return;
    for (size_t i = 0; i < seen->n_replies; i++)
        hv_reply_fini(&seen->replies[i]);
    (void)pthread_mutex_destroy(&seen->lock);
    free(seen);
}

static void on_event(void *ctx, const struct hv_event *event)
{
    struct contract_seen *seen = ctx;
    (void)pthread_mutex_lock(&seen->lock);
    if (seen->n_events < EVENTS_MAX)
        seen->events[seen->n_events++] = *event;
    (void)pthread_mutex_unlock(&seen->lock);
}

static void on_reply(void *ctx, struct hv_reply *take_reply)
{
    struct contract_seen *seen = ctx;
    (void)pthread_mutex_lock(&seen->lock);
    if (seen->n_replies < REPLIES_MAX)
        seen->replies[seen->n_replies++] = *take_reply;
    else
        hv_reply_fini(take_reply);
    (void)pthread_mutex_unlock(&seen->lock);
}

struct hv_event_sink contract_event_sink(struct contract_seen *seen)
{
    return (struct hv_event_sink){on_event, seen};
}

bool contract_check(struct contract_world *w, bool ok, const char *fmt, ...)
{
    if (ok)
        return true;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(w->failure, sizeof w->failure, fmt, args);
    va_end(args);
    return false;
}

uint64_t contract_submit(struct contract_world *w, const struct hv_request *request,
                         struct err *err)
{
    struct hv_request copy = *request;
    (void)pthread_mutex_lock(&w->seen->lock);
    copy.id = ++w->seen->last_id;
    (void)pthread_mutex_unlock(&w->seen->lock);
    copy.reply_to = (struct hv_reply_sink){on_reply, w->seen};
    bool taken = false;
    switch (hv_call_access(copy.call)) {
    case HV_ACCESS_OBSERVE:
        taken = hv_observe_submit(&(struct hv_observe){w->hv}, &copy, err);
        break;
    case HV_ACCESS_PROBE: taken = hv_probe_submit(&(struct hv_probe){w->hv}, &copy, err); break;
    case HV_ACCESS_ACT: taken = hv_act_submit(&(struct hv_act){w->hv}, &copy, err); break;
    case HV_ACCESS_COUNT: break;
    }
    return taken ? copy.id : 0;
}

uint64_t contract_ask(struct contract_world *w, enum hv_call call, const char *host,
                      const char *guest)
{
    struct hv_request request = {.call = call};
    struct err err = {0};
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    uint64_t id = contract_submit(w, &request, &err);
    (void)contract_check(w, id != 0, "%s on %s was refused: %s", hv_call_name(call), host,
                         err.text);
    return id;
}

static const struct hv_reply *find_reply(struct contract_seen *seen, uint64_t id, unsigned *out_n)
{
    const struct hv_reply *found = NULL;
    *out_n = 0;
    (void)pthread_mutex_lock(&seen->lock);
    for (size_t i = 0; i < seen->n_replies; i++) {
        if (seen->replies[i].id != id)
            continue;
        found = &seen->replies[i];
        ++*out_n;
    }
    (void)pthread_mutex_unlock(&seen->lock);
    return found;
}

unsigned contract_answers(struct contract_world *w, uint64_t id)
{
    unsigned n;
    (void)find_reply(w->seen, id, &n);
    return n;
}

bool contract_has_answer(struct contract_world *w, uint64_t id)
{
    return contract_answers(w, id) > 0;
}

struct wait_reply {
    struct contract_world *w;
    uint64_t id;
};

static bool reply_is_there(void *arg)
{
    const struct wait_reply *wait = arg;
    return contract_has_answer(wait->w, wait->id);
}

const struct hv_reply *contract_answer(struct contract_world *w, uint64_t id)
{
    if (id == 0)
        return NULL; /* refused, and said so */
    struct wait_reply wait = {w, id};
    unsigned n;
    if (!contract_check(w, w->wait(w->ctx, reply_is_there, &wait, CONTRACT_PATIENCE_MS),
                        "request %llu: no reply", (unsigned long long)id))
        return NULL;
    return find_reply(w->seen, id, &n);
}

const struct hv_reply *contract_call(struct contract_world *w, enum hv_call call, const char *host,
                                     const char *guest)
{
    return contract_answer(w, contract_ask(w, call, host, guest));
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

void contract_pause(struct contract_world *w, int64_t ms)
{
    (void)w->wait(w->ctx, never, NULL, ms);
}

size_t contract_mark(struct contract_world *w)
{
    (void)pthread_mutex_lock(&w->seen->lock);
    size_t n = w->seen->n_events;
    (void)pthread_mutex_unlock(&w->seen->lock);
    return n;
}

static bool fits(const struct hv_event *event, const struct contract_event *what)
{
    return event->kind == what->kind && (what->a < 0 || event->a == what->a) &&
           (what->b < 0 || event->b == what->b) &&
           (what->host == NULL || strcmp(event->host, what->host) == 0) &&
           (what->guest == NULL || strcmp(event->guest, what->guest) == 0);
}

const struct hv_event *contract_find(struct contract_world *w, size_t mark,
                                     struct contract_event what, size_t *out_index)
{
    const struct hv_event *found = NULL;
    size_t n = contract_mark(w);
    for (size_t i = mark; i < n && found == NULL; i++) {
        if (!fits(&w->seen->events[i], &what))
            continue;
        found = &w->seen->events[i];
        *out_index = i;
    }
    return found;
}

struct wait_event {
    struct contract_world *w;
    size_t mark;
    struct contract_event what;
};

static bool event_is_there(void *arg)
{
    const struct wait_event *wait = arg;
    size_t index;
    return contract_find(wait->w, wait->mark, wait->what, &index) != NULL;
}

bool contract_wait_event(struct contract_world *w, size_t mark, struct contract_event what)
{
    struct wait_event wait = {w, mark, what};
    return contract_check(w, w->wait(w->ctx, event_is_there, &wait, CONTRACT_PATIENCE_MS),
                          "no event of kind %d (%d, %d) from %s", (int)what.kind, what.a, what.b,
                          what.host != NULL ? what.host : "any host");
}

bool contract_wait_state(struct contract_world *w, const char *host, const char *guest,
                         const char *state)
{
    char text[HV_TEXT_MAX] = "";
    for (int tries = 0; tries < 100; tries++) {
        const struct hv_reply *reply = contract_call(w, HV_CALL_DOMAIN_STATE, host, guest);
        if (reply == NULL)
            return false;
        const struct hv_observation *observation = &reply->with.observation;
        if (observation->presence == HV_PRESENT)
            hv_state_text(observation->state, observation->reason, text);
        else
            TEXT_SET(text, hv_presence_name(observation->presence));
        if (text_has_prefix(text, state))
            return true;
        contract_pause(w, 100);
    }
    return contract_check(w, false, "guest on %s is %s, not %s", host, text, state);
}

bool contract_locate(struct contract_world *w, const char *guest, const char **out_source,
                     const char **out_target)
{
    for (int tries = 0; tries < 50; tries++) {
        for (int i = 0; i < 2; i++) {
            const struct hv_reply *reply =
                contract_call(w, HV_CALL_DOMAIN_STATE, w->hosts[i], guest);
            if (reply == NULL)
                return false;
            if (reply->with.observation.presence != HV_PRESENT ||
                reply->with.observation.state != HV_STATE_RUNNING)
                continue;
            *out_source = w->hosts[i];
            *out_target = w->hosts[1 - i];
            return true;
        }
        contract_pause(w, 100);
    }
    return contract_check(w, false, "guest %s runs on neither host", guest);
}

/* Until memory is copied. Most versions send an event when the first iteration begins; QEMU 11.1
 * begins with the second one. */
static bool wait_copying(struct contract_world *w, uint64_t id, const char *source, size_t mark)
{
    enum { STEP_MS = 100 };
    struct contract_event iteration = {source, w->guest, HV_EVENT_ITERATION, -1, -1};
    size_t index;
    for (int waited_ms = 0; waited_ms < CONTRACT_PATIENCE_MS; waited_ms += STEP_MS) {
        if (contract_find(w, mark, iteration, &index) != NULL)
            return true;
        if (contract_has_answer(w, id)) {
            const struct hv_reply *reply = contract_answer(w, id);
            return contract_check(w, reply != NULL && reply->err.code == ERR_NONE,
                                  "migrate failed: %s", reply != NULL ? reply->err.text : "");
        }
        const struct hv_reply *stats = contract_call(w, HV_CALL_JOB_STATS, source, w->guest);
        if (stats != NULL && stats->err.code == ERR_NONE &&
            stats->with.stats.memory_iteration >= 1 && stats->with.stats.data_processed > 0)
            return true;
        contract_pause(w, STEP_MS);
    }
    return contract_check(w, false, "%s copies nothing", source);
}

uint64_t contract_move(struct contract_world *w, const char *source, const char *target,
                       struct hv_migrate how, size_t *out_mark)
{
    struct hv_request request = {.call = HV_CALL_MIGRATE, .with.migrate = how};
    TEXT_SET(request.host, source);
    TEXT_SET(request.guest, w->guest);
    TEXT_SET(request.with.migrate.target, target);
    struct err err = {0};
    *out_mark = contract_mark(w);
    uint64_t id = contract_submit(w, &request, &err);
    if (!contract_check(w, id != 0, "migrate was refused: %s", err.text))
        return 0;
    return wait_copying(w, id, source, *out_mark) ? id : 0;
}
