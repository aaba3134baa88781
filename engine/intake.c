/* intake.c - the entrances of the engine: the collector's sink, replies to orders, requests.
 * Every function here may run on any thread; each makes one input and posts it. */
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/impl.h"

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

/* Facts that are sent again anyway get half of the queue, so that a flood of them cannot
 * displace the answers that a job waits for. */
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
    LOG(ERROR, "engine_answer_dropped",
        FIELD_TEXT(WHY, "out of memory, or the engine is stopping"));
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
    struct engine *e = ctx;
    if (!intake_post(e, input))
        atomic_fetch_add(&e->messages_dropped, 1);
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
        if (list->guests[i].settings != NULL)
            copy->guests[i].settings = strdup(list->guests[i].settings);
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
    struct engine *e = ctx;
    if (!post_fact(e, input))
        atomic_fetch_add(&e->messages_dropped, 1);
}

static void on_observed(void *ctx, uint64_t id, const char *host, const char *guest,
                        const struct hv_observation *observation, const struct err *err)
{
    struct input *input = intake_new(INPUT_OBSERVED, host, guest);
    if (input != NULL) {
        input->id = id;
        input->of.observation = *observation;
        input->err = *err;
    }
    (void)intake_post(ctx, input);
}

static void count_disks(const struct hv_definition *definition, struct guest_facts *facts)
{
    for (size_t i = 0; i < definition->n_disks; i++) {
        facts->block_jobs += definition->disks[i].block_job;
        facts->utility_disks += definition->disks[i].utility;
    }
}

/* Parsed and checked on the collector's thread, to relieve the engine's. A text that cannot be
 * parsed counts as "not known". */
static bool on_definition(void *ctx, const char *host, const char *guest, const char *xml,
                          const char *stored_xml, int snapshots)
{
    struct engine *e = ctx;
    struct hv_definition *live = calloc(2, sizeof *live), *stored = live + 1;
    struct guest_facts *facts = calloc(1, sizeof *facts);
    struct input *input = intake_new(INPUT_DEFINITION, host, guest);
    struct err err = {0};
    if (live == NULL || facts == NULL || input == NULL) {
        free(live);
        free(facts);
        free(input);
        return false;
    }
    if (hv_definition_parse(xml, live, &err)) {
        bool has_stored = stored_xml != NULL && hv_definition_parse(stored_xml, stored, &err);
        live->snapshots = snapshots > 0 ? (unsigned)snapshots : 0;
        if (has_stored)
            migratable_mark_plugged(live, stored);
        migratable_evaluate(live, &e->storage, &facts->migratable);
        pending_change_evaluate(live, has_stored ? stored : NULL, &facts->pending_change);
        if (facts->pending_change
                .cures) /* on the target it is connected as in the persistent definition */
            pending_change_plug(live, stored);
        host_requirements_from(live, &facts->requirements);
        host_requirements_add_disks(live, &e->storage, &facts->requirements);
        count_disks(live, facts);
    }
    free(live);
    (void)hv_mark_parse(xml, &facts->mark);
    input->of.definition = facts;
    return post_fact(e, input);
}

static bool on_capabilities(void *ctx, const char *host, struct hv_capabilities *take_capabilities)
{
    struct input *input = intake_new(INPUT_CAPABILITIES, host, "");
    if (input == NULL)
        return false;
    input->of.capabilities = take_capabilities;
    (void)post_fact(ctx, input); /* owned by the input, and freed with it */
    return true;
}

struct collector_sink engine_collector_sink(struct engine *e)
{
    return (struct collector_sink){
        .ctx = e,
        .on_sample = on_sample,
        .on_host = on_host,
        .on_facts = on_facts,
        .on_guests = on_guests,
        .on_event = on_event,
        .on_observed = on_observed,
        .on_definition = on_definition,
        .on_capabilities = on_capabilities,
    };
}

static enum input_kind kind_of(enum hv_call call)
{
    switch (call) {
    case HV_CALL_COMPLETED_STATS: return INPUT_FINAL;
    case HV_CALL_JOB_STATS: return INPUT_ASK_JOB;
    case HV_CALL_PROBE_PATH: return INPUT_PATH;
    default: return INPUT_CALL;
    }
}

static void on_reply(void *ctx, struct hv_reply *reply)
{
    if (reply->call == HV_CALL_SHUTDOWN || reply->call == HV_CALL_CLEAR_MARK) {
        if (reply->err.code != ERR_NONE)
            LOG(WARN, reply->call == HV_CALL_SHUTDOWN ? "shutdown_refused" : "mark_not_cleared",
                FIELD_TEXT(NODE, reply->host), FIELD_TEXT(GUEST, reply->guest),
                FIELD_TEXT(ERROR, reply->err.text));
        hv_reply_fini(reply);
        return; /* the guest's state will show it */
    }
    enum input_kind kind = kind_of(reply->call);
    struct input *input = intake_new(kind, reply->host, reply->guest);
    if (input != NULL) {
        input->id = reply->id;
        input->err = reply->err;
        if (reply->call == HV_CALL_MIGRATE)
            TEXT_SET(input->unmarked, reply->with.unmarked);
        if (kind == INPUT_PATH)
            input->of.path = reply->err.code == ERR_NONE ? reply->with.path : HV_PATH_UNKNOWN;
        else if (kind == INPUT_CALL)
            input->of.call = reply->call;
        else
            input->of.stats = reply->with.stats;
    }
    hv_reply_fini(reply);
    post_answer(ctx, input);
}

struct hv_reply_sink intake_reply_sink(struct engine *e)
{
    return (struct hv_reply_sink){on_reply, e};
}
