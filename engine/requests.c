/* requests.c - requests to the engine: each becomes an input with a slot in which its answer is
 * awaited. Any thread. */
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "engine/impl.h"

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
    free(slot->text);
    free(slot);
}

void intake_answer(const struct answer *answer)
{
    if (answer->slot == NULL) {
        free(answer->text);
        return;
    }
    (void)pthread_mutex_lock(&answer->slot->lock);
    answer->slot->err = answer->err;
    answer->slot->ref = answer->ref;
    answer->slot->text = answer->text;
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

static bool slot_wait(struct slot *slot, struct migration_ref *out_ref, char **out_text,
                      struct err *err)
{
    struct timespec deadline;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += REQUEST_DEADLINE_MS / 1000;
    (void)pthread_mutex_lock(&slot->lock);
    while (!slot->done && pthread_cond_timedwait(&slot->answered, &slot->lock, &deadline) == 0)
        ;
    if (!slot->done)
        err_set(err, ERR_TIMEOUT, "no answer in %d s; check whether it was accepted",
                REQUEST_DEADLINE_MS / 1000);
    else
        *err = slot->err;
    if (out_ref != NULL)
        *out_ref = slot->ref;
    if (out_text != NULL)
        *out_text = slot->text;
    if (out_text != NULL)
        slot->text = NULL;
    (void)pthread_mutex_unlock(&slot->lock);
    slot_drop(slot);
    return err->code == ERR_NONE;
}

/* Copies a borrowed text; false when there is no memory. */
static bool own_text(const char **text)
{
    if (*text == NULL)
        return true;
    *text = strdup(*text);
    return *text != NULL;
}

static struct input *make_create(const struct migration_request *request)
{
    struct input *input = intake_new(INPUT_CREATE, "", "");
    if (input == NULL)
        return NULL;
    struct migration_request *own = &input->of.create.request;
    *own = *request;
    bool metadata = own_text(&own->metadata_json);
    bool selector = own_text(&own->selector_json);
    if (own_text(&own->volumes_json) && metadata && selector)
        return input;
    input_free(input);
    return NULL;
}

static struct input *make_put(const struct object_request *request)
{
    struct input *input = intake_new(INPUT_PUT, "", "");
    if (input == NULL)
        return NULL;
    input->of.put = *request;
    bool metadata = own_text(&input->of.put.metadata_json);
    if (own_text(&input->of.put.spec_json) && metadata)
        return input;
    input_free(input);
    return NULL;
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
                char **out_text, struct err *err)
{
    struct slot *slot = take_input != NULL ? slot_new() : NULL;
    if (slot == NULL) {
        input_free(take_input);
        return err_set(err, ERR_NOMEM, "out of memory: request");
    }
    take_input->slot = slot;
    if (!intake_post(e, take_input)) {
        slot_drop(slot);
        slot_drop(slot);
        return err_set(err, ERR_LIMIT, "the engine's queue has %d inputs; try again",
                       ENGINE_QUEUE_MAX);
    }
    return slot_wait(slot, out_ref, out_text, err);
}

bool engine_configure(struct engine *e, const struct engine_config *config, struct err *err)
{
    return ask(e, engine_configure_input(config), NULL, NULL, err);
}

bool engine_post_configure(struct engine *e, const struct engine_config *config, struct err *err)
{
    struct input *input = engine_configure_input(config);
    return (input != NULL && intake_post(e, input)) ||
           err_set(err, ERR_LIMIT, "the engine's queue is full");
}

static bool request_create(void *ctx, const struct migration_request *request,
                           struct migration_ref *out_ref, struct err *err)
{
    return ask(ctx, make_create(request), out_ref, NULL, err);
}

static bool request_cancel(void *ctx, const char *ns, const char *name, const char *requester,
                           bool remove, struct err *err)
{
    return ask(ctx, make_cancel(ns, name, requester, remove), NULL, NULL, err);
}

static bool request_resolve(void *ctx, const struct resolve_request *request, struct err *err)
{
    struct input *input = intake_new(INPUT_RESOLVE, "", "");
    if (input != NULL)
        input->of.resolve = *request;
    return ask(ctx, input, NULL, NULL, err);
}

static bool request_put(void *ctx, const struct object_request *request,
                        struct migration_ref *out_ref, struct err *err)
{
    return ask(ctx, make_put(request), out_ref, NULL, err);
}

static bool request_remove(void *ctx, const struct object_ref *ref, struct err *err)
{
    struct input *input = intake_new(INPUT_REMOVE, "", "");
    if (input != NULL)
        input->of.remove = *ref;
    return ask(ctx, input, NULL, NULL, err);
}

static bool request_evict(void *ctx, const struct eviction_request *request, struct err *err)
{
    struct input *input = intake_new(INPUT_EVICT, "", "");
    if (input != NULL)
        input->of.evict = *request;
    return ask(ctx, input, NULL, NULL, err);
}

static bool request_ask(void *ctx, const struct question *question, char **out_json,
                        struct err *err)
{
    struct input *input = intake_new(INPUT_ASK, "", "");
    if (input != NULL)
        input->of.ask = *question;
    *out_json = NULL;
    return ask(ctx, input, NULL, out_json, err);
}

struct engine_requests engine_requests(struct engine *e)
{
    return (struct engine_requests){
        .ctx = e,
        .create = request_create,
        .cancel = request_cancel,
        .resolve = request_resolve,
        .put = request_put,
        .remove = request_remove,
        .evict = request_evict,
        .ask = request_ask,
    };
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

bool engine_post_resolve(struct engine *e, const struct resolve_request *request, struct err *err)
{
    struct input *input = intake_new(INPUT_RESOLVE, "", "");
    if (input != NULL)
        input->of.resolve = *request;
    return intake_post(e, input) || err_set(err, ERR_LIMIT, "the engine's queue is full");
}

bool engine_post_verdict_rows(struct engine *e, const struct verdict_rows *verdict_rows,
                              struct err *err)
{
    struct input *input = intake_new(INPUT_JUDGED, "", "");
    if (input != NULL)
        input->of.judged = verdict_rows_new(verdict_rows, false);
    if (input == NULL || input->of.judged == NULL) {
        input_free(input);
        return err_set(err, ERR_NOMEM, "out of memory: verdict");
    }
    if (atomic_fetch_add(&e->judging, 1) >= COUNT(e->judged)) {
        atomic_fetch_sub(&e->judging, 1);
        input_free(input);
        return err_set(err, ERR_LIMIT, "limit reached: verdicts that wait to be stored");
    }
    if (intake_post(e, input))
        return true;
    atomic_fetch_sub(&e->judging, 1);
    return err_set(err, ERR_LIMIT, "the engine's queue is full");
}

bool engine_post_put(struct engine *e, const struct object_request *request, struct err *err)
{
    struct input *input = make_put(request);
    return intake_post(e, input) || err_set(err, ERR_LIMIT, "the engine's queue is full");
}

bool engine_post_remove(struct engine *e, const struct object_ref *ref, struct err *err)
{
    struct input *input = intake_new(INPUT_REMOVE, "", "");
    if (input != NULL)
        input->of.remove = *ref;
    return intake_post(e, input) || err_set(err, ERR_LIMIT, "the engine's queue is full");
}

bool engine_post_evict(struct engine *e, const struct eviction_request *request, struct err *err)
{
    struct input *input = intake_new(INPUT_EVICT, "", "");
    if (input != NULL)
        input->of.evict = *request;
    return intake_post(e, input) || err_set(err, ERR_LIMIT, "the engine's queue is full");
}
