/* intake.c - the ways into the engine: the collector's sink, replies to orders, requests.
 * Every function here may run on any thread; each makes one input and posts it. */
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/impl.h"

void input_free(struct input *input)
{
    if (input == NULL)
        return;
    if (input->kind == INPUT_GUESTS)
        hv_guest_list_free(input->of.guests);
    if (input->kind == INPUT_CREATE)
        free((char *)(uintptr_t)input->of.create.request.metadata_json); /* ours: see post_create */
    free(input);
}

struct input *intake_new(enum input_kind kind, const char *host, const char *guest)
{
    struct input *input = calloc(1, sizeof *input);
    if (input == NULL)
        return NULL;
    input->kind = kind;
    TEXT_SET(input->host, host);
    TEXT_SET(input->guest, guest);
    return input;
}

bool intake_post(struct engine *e, struct input *take_input)
{
    if (take_input != NULL && queue_push(e->inbox, &take_input))
        return true;
    input_free(take_input);
    atomic_fetch_add(&e->posts_dropped, 1);
    return false;
}

/* Facts that come again by themselves get half of the queue, so that a flood of them cannot crowd
 * out the answers that a job waits for. */
static bool post_fact(struct engine *e, struct input *take_input)
{
    if (queue_depth(e->inbox) < ENGINE_QUEUE_MAX / 2)
        return intake_post(e, take_input);
    input_free(take_input);
    atomic_fetch_add(&e->posts_dropped, 1);
    return false;
}

/* The answer to an order: its thread has nothing else to do and waits for room. */
static void post_answer(struct engine *e, struct input *take_input)
{
    if (take_input != NULL && queue_push_wait(e->inbox, &take_input, -1))
        return;
    input_free(take_input);
    atomic_fetch_add(&e->posts_dropped, 1);
    LOG(ERROR, "engine_answer_dropped", FIELD_TEXT(WHY, "no memory, or the engine is stopping"));
}

static void on_sample(void *ctx, const struct sample *sample)
{
    struct input *input = intake_new(INPUT_SAMPLE, sample->host, sample->guest);
    if (input != NULL)
        input->of.sample = *sample;
    (void)post_fact(ctx, input);
}

static void on_host(void *ctx, const char *host, bool connected, const struct err *err)
{
    struct input *input = intake_new(INPUT_HOST, host, "");
    if (input != NULL) {
        input->of.connected = connected;
        if (!connected)
            input->err = *err;
    }
    (void)intake_post(ctx, input);
}

static void on_facts(void *ctx, const char *host, const struct hv_facts *facts)
{
    struct input *input = intake_new(INPUT_FACTS, host, "");
    if (input != NULL)
        input->of.facts = *facts;
    (void)post_fact(ctx, input);
}

static struct hv_guest_list *copy_guests(const struct hv_guest_list *list)
{
    struct hv_guest_list *copy = calloc(1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    copy->guests = calloc(list->n + 1, sizeof *copy->guests);
    if (copy->guests == NULL) {
        free(copy);
        return NULL;
    }
    for (size_t i = 0; i < list->n; i++) {
        copy->guests[i] = list->guests[i];
        if (list->guests[i].labels != NULL)
            copy->guests[i].labels = strdup(list->guests[i].labels);
    }
    copy->n = list->n;
    return copy;
}

static void on_guests(void *ctx, const char *host, const struct hv_guest_list *guests)
{
    struct hv_guest_list *copy = copy_guests(guests);
    struct input *input = copy != NULL ? intake_new(INPUT_GUESTS, host, "") : NULL;
    if (input != NULL)
        input->of.guests = copy;
    else
        hv_guest_list_free(copy);
    (void)post_fact(ctx, input);
}

static void on_event(void *ctx, const struct hv_event *event)
{
    struct input *input = intake_new(INPUT_EVENT, event->host, event->guest);
    if (input != NULL)
        input->of.event = *event;
    (void)post_fact(ctx, input);
}

static void on_look(void *ctx, uint64_t id, const char *host, const char *guest,
                    const struct hv_sight *sight, const struct err *err)
{
    struct input *input = intake_new(INPUT_LOOK, host, guest);
    if (input != NULL) {
        input->id = id;
        input->of.sight = *sight;
        input->err = *err;
    }
    (void)intake_post(ctx, input);
}

/* Read and judged on the collector's thread: the engine's has better things to do. A text that
 * is no definition tells nothing, which is kept as such. */
static bool on_definition(void *ctx, const char *host, const char *guest, const char *xml)
{
    struct engine *e = ctx;
    struct hv_definition definition;
    struct err err = {0};
    struct input *input = intake_new(INPUT_MOVABLE, host, guest);
    if (input != NULL && hv_definition_parse(xml, &definition, &err))
        migratable_evaluate(&definition, &e->storage, &input->of.migratable);
    return post_fact(e, input);
}

struct collector_sink engine_collector_sink(struct engine *e)
{
    return (struct collector_sink){e,         on_sample, on_host, on_facts,
                                   on_guests, on_event,  on_look, on_definition};
}

static void on_reply(void *ctx, struct hv_reply *reply)
{
    bool question = reply->call == HV_CALL_JOB_STATS;
    struct input *input =
        intake_new(question ? INPUT_ASK_JOB : INPUT_CALL, reply->host, reply->guest);
    if (input != NULL) {
        input->id = reply->id;
        input->err = reply->err;
        if (question)
            input->of.stats = reply->with.stats;
        else
            input->of.call = reply->call;
    }
    hv_reply_fini(reply);
    post_answer(ctx, input);
}

struct hv_reply_sink intake_reply_sink(struct engine *e)
{
    return (struct hv_reply_sink){on_reply, e};
}

/* --- requests ------------------------------------------------------------------------------- */

static struct slot *slot_new(void)
{
    struct slot *slot = calloc(1, sizeof *slot);
    if (slot == NULL)
        return NULL;
    slot->holders = 2;
    (void)pthread_mutex_init(&slot->lock, NULL);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&slot->answered, &attr);
    (void)pthread_condattr_destroy(&attr);
    return slot;
}

static void slot_drop(struct slot *slot)
{
    (void)pthread_mutex_lock(&slot->lock);
    bool last = --slot->holders == 0;
    (void)pthread_mutex_unlock(&slot->lock);
    if (!last)
        return;
    (void)pthread_cond_destroy(&slot->answered);
    (void)pthread_mutex_destroy(&slot->lock);
    free(slot);
}

void intake_answer(const struct answer *answer)
{
    if (answer->slot == NULL)
        return;
    (void)pthread_mutex_lock(&answer->slot->lock);
    answer->slot->err = answer->err;
    answer->slot->ref = answer->ref;
    answer->slot->done = true;
    (void)pthread_cond_signal(&answer->slot->answered);
    (void)pthread_mutex_unlock(&answer->slot->lock);
    slot_drop(answer->slot);
}

bool intake_answer_uncommitted(const struct answer *answer)
{
    (void)pthread_mutex_lock(&answer->slot->lock);
    bool abandoned = answer->slot->holders == 1;
    (void)pthread_mutex_unlock(&answer->slot->lock);
    if (!abandoned && answer->err.code == ERR_NONE)
        return false;
    intake_answer(answer);
    return true;
}

static bool slot_wait(struct slot *slot, struct migration_ref *out_ref, struct err *err)
{
    struct timespec deadline;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += REQUEST_DEADLINE_MS / 1000;
    (void)pthread_mutex_lock(&slot->lock);
    while (!slot->done && pthread_cond_timedwait(&slot->answered, &slot->lock, &deadline) == 0)
        ;
    if (!slot->done)
        err_set(err, ERR_TIMEOUT, "no answer in %d s; look whether it was accepted",
                REQUEST_DEADLINE_MS / 1000);
    else
        *err = slot->err;
    *out_ref = slot->ref;
    (void)pthread_mutex_unlock(&slot->lock);
    slot_drop(slot);
    return err->code == ERR_NONE;
}

static struct input *make_create(const struct migration_request *request)
{
    struct input *input = intake_new(INPUT_CREATE, "", "");
    if (input == NULL)
        return NULL;
    input->of.create.request = *request;
    input->of.create.request.metadata_json = NULL;
    if (request->metadata_json != NULL) {
        input->of.create.request.metadata_json = strdup(request->metadata_json);
        if (input->of.create.request.metadata_json == NULL) {
            free(input);
            return NULL;
        }
    }
    return input;
}

static struct input *make_cancel(const char *ns, const char *name, const char *requester,
                                 bool remove)
{
    struct input *input = intake_new(INPUT_CANCEL, "", "");
    if (input == NULL)
        return NULL;
    TEXT_SET(input->of.cancel.ns, ns);
    TEXT_SET(input->of.cancel.name, name);
    TEXT_SET(input->of.cancel.requester, requester);
    input->of.cancel.remove = remove;
    return input;
}

static bool ask(struct engine *e, struct input *take_input, struct migration_ref *out_ref,
                struct err *err)
{
    struct slot *slot = take_input != NULL ? slot_new() : NULL;
    if (slot == NULL) {
        input_free(take_input);
        return err_set(err, ERR_NOMEM, "a request");
    }
    take_input->slot = slot;
    if (!intake_post(e, take_input)) {
        slot_drop(slot);
        slot_drop(slot);
        return err_set(err, ERR_LIMIT, "the engine has %d things to do; try again",
                       ENGINE_QUEUE_MAX);
    }
    return slot_wait(slot, out_ref, err);
}

static bool request_create(void *ctx, const struct migration_request *request,
                           struct migration_ref *out_ref, struct err *err)
{
    return ask(ctx, make_create(request), out_ref, err);
}

static bool request_cancel(void *ctx, const char *ns, const char *name, const char *requester,
                           bool remove, struct err *err)
{
    struct migration_ref ref;
    return ask(ctx, make_cancel(ns, name, requester, remove), &ref, err);
}

struct engine_requests engine_requests(struct engine *e)
{
    return (struct engine_requests){e, request_create, request_cancel};
}

bool engine_post_create(struct engine *e, const struct migration_request *request, struct err *err)
{
    struct input *input = make_create(request);
    return intake_post(e, input) || err_set(err, ERR_LIMIT, "the engine's queue is full");
}

bool engine_post_cancel(struct engine *e, const char *ns, const char *name, const char *requester,
                        bool remove, struct err *err)
{
    struct input *input = make_cancel(ns, name, requester, remove);
    return intake_post(e, input) || err_set(err, ERR_LIMIT, "the engine's queue is full");
}
