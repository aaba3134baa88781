/* collector.c - see collector.h. Creation, posts and the step; the rest is in inventory.c, watch.c
 * and state_query.c, what they share in internal.h. */
#include "collector/internal.h"

#include <assert.h>

#include "base/log.h"
#include "base/text.h"

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

struct collector *collector_new(const struct collector_config *config, const struct clock *clock,
                                struct recorder *recorder, const struct collector_sink *sink,
                                struct err *err)
{
    OWNED(collector) c = calloc(1, sizeof *c);
    if (c == NULL) {
        err_set(err, ERR_NOMEM, "collector");
        return NULL;
    }
    c->config = (struct collector_config){
        .sample_ms = or_default(config->sample_ms, 400),
        .near_end_ms = or_default(config->near_end_ms, 100),
        .inventory_ms = or_default(config->inventory_ms, 10000),
        .patience_ms = or_default(config->patience_ms, 1000),
        .definition_ms = or_default(config->definition_ms, 600000),
        .capabilities_ms = or_default(config->capabilities_ms, 60000),
    };
    c->clock = clock;
    c->recorder = recorder;
    c->sink = *sink;
    (void)pthread_mutex_init(&c->published_lock, NULL);
    (void)pthread_rwlock_init(&c->hosts_lock, NULL);
    watch_init(c);
    state_query_init(c);
    if (!due_reserve(&c->due, COLLECTOR_WATCHES_MAX, err))
        return NULL;
    c->queue = queue_new(sizeof(struct post *), COLLECTOR_QUEUE_MAX, err);
    return c->queue == NULL ? NULL : TAKE(c);
}

static void post_free(struct post *post)
{
    if (post != NULL && post->kind == POST_REPLY)
        hv_reply_fini(&post->as.reply);
    free(post);
}

void collector_free(struct collector *c)
{
    if (c == NULL)
        return;
    post_free(c->held);
    struct post *post = NULL;
    while (c->queue != NULL && queue_pop(c->queue, &post, 0) == QUEUE_ITEM)
        post_free(post);
    queue_free(c->queue);
    inventory_fini(c);
    due_fini(&c->due);
    (void)pthread_rwlock_destroy(&c->hosts_lock);
    (void)pthread_mutex_destroy(&c->published_lock);
    free(c);
}

void collector_attach(struct collector *c, const struct hv_observe *observe)
{
    assert(!atomic_load(&c->started) && c->observe == NULL);
    c->observe = observe;
}

/* Events that only save time: the regular list and the patience of a watch would find the same,
 * later. */
static bool may_be_lost(const struct post *post)
{
    return post->kind == POST_EVENT &&
           (post->as.event.kind == HV_EVENT_LIFECYCLE || post->as.event.kind == HV_EVENT_CHANGED ||
            post->as.event.kind == HV_EVENT_ITERATION);
}

/* Takes the post; false, counted, when there is no room. */
static bool post_push(struct collector *c, struct post *take_post)
{
    bool fits = !may_be_lost(take_post) || queue_depth(c->queue) < QUEUE_EVENTS_MAX;
    if (fits && queue_push(c->queue, &take_post))
        return true;
    atomic_fetch_add(&c->posts_dropped, 1);
    post_free(take_post);
    return false;
}

static struct post *post_new(struct collector *c, enum post_kind kind)
{
    struct post *post = calloc(1, sizeof *post);
    if (post == NULL)
        atomic_fetch_add(&c->posts_dropped, 1);
    else
        post->kind = kind;
    return post;
}

static void sink_event(void *ctx, const struct hv_event *event)
{
    struct collector *c = ctx;
    bool about_connection =
        event->kind == HV_EVENT_CONNECTED || event->kind == HV_EVENT_DISCONNECTED;
    struct post *post = post_new(c, POST_EVENT);
    if (post != NULL)
        post->as.event = *event;
    if (post != NULL && post_push(c, post))
        return;
    atomic_fetch_add(&c->events_dropped, 1);
    if (about_connection)
        atomic_store(&c->lost_connection_event, true);
}

static void sink_reply(void *ctx, struct hv_reply *take_reply)
{
    struct post *post = post_new(ctx, POST_REPLY);
    if (post == NULL) {
        hv_reply_fini(take_reply);
        return;
    }
    post->as.reply = *take_reply;
    (void)post_push(ctx, post); /* a lost reply is counted there; its query times out */
}

struct hv_event_sink collector_event_sink(struct collector *c)
{
    return (struct hv_event_sink){sink_event, c};
}

uint64_t collector_submit(struct collector *c, enum query_kind kind, size_t slot, const char *host,
                          const char *guest, struct err *err)
{
    static const enum hv_call calls[] = {
        [QUERY_FACTS] = HV_CALL_HOST_FACTS,
        [QUERY_LIST] = HV_CALL_LIST_GUESTS,
        [QUERY_STATS] = HV_CALL_JOB_STATS,
        [QUERY_STATE] = HV_CALL_DOMAIN_STATE,
        [QUERY_STATE_QUERY] = HV_CALL_DOMAIN_STATE,
        [QUERY_DEFINITION] = HV_CALL_GUEST_XML,
        [QUERY_STORED] = HV_CALL_GUEST_XML_STORED,
        [QUERY_CAPABILITIES] = HV_CALL_HOST_CAPABILITIES,
    };
    struct hv_request request = {
        .id = (++c->serial << QUERY_KIND_BITS | kind) << QUERY_SLOT_BITS | slot,
        .call = calls[kind],
        .reply_to = {sink_reply, c},
    };
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    return hv_observe_submit(c->observe, &request, err) ? request.id : 0;
}

/* One more of something bounded, from any thread. */
static bool reserve(atomic_size_t *count, size_t max)
{
    if (atomic_fetch_add(count, 1) < max)
        return true;
    atomic_fetch_sub(count, 1);
    return false;
}

static bool is_known(struct collector *c, const char *host)
{
    const struct host *known = NULL;
    (void)pthread_rwlock_rdlock(&c->hosts_lock);
    HASH_FIND_STR(c->by_name, host, known);
    (void)pthread_rwlock_unlock(&c->hosts_lock);
    return known != NULL;
}

static bool post_host(struct collector *c, const char *host, bool removed, struct err *err)
{
    struct post *post = post_new(c, POST_HOST);
    if (post == NULL)
        return err_set(err, ERR_NOMEM, "host '%s'", host);
    post->as.host.removed = removed;
    TEXT_SET(post->as.host.name, host);
    return post_push(c, post) || err_set(err, ERR_LIMIT, "the collector's queue is full");
}

bool collector_add_host(struct collector *c, const char *host, struct err *err)
{
    return atomic_load(&c->started) ? post_host(c, host, false, err) : inventory_add(c, host, err);
}

bool collector_remove_host(struct collector *c, const char *host, struct err *err)
{
    return post_host(c, host, true, err);
}

static void handle_host(struct collector *c, const struct post *post)
{
    struct err err = {0};
    if (post->as.host.removed)
        inventory_remove(c, post->as.host.name);
    else if (!inventory_add(c, post->as.host.name, &err))
        LOG(ERROR, "host_not_added", FIELD_TEXT(NODE, post->as.host.name),
            FIELD_TEXT(ERROR, err.text));
}

struct watched {
    const char *job_uid, *host, *guest;
    int64_t next_seq;
    bool foreign;
};

static bool begin_watch(struct collector *c, const struct watched *what, struct err *err)
{
    const char *job_uid = what->job_uid, *host = what->host, *guest = what->guest;
    if (!is_known(c, host))
        return err_set(err, ERR_NOT_FOUND, "host '%s' is not known", host);
    if (!reserve(&c->n_watches, COLLECTOR_WATCHES_MAX))
        return err_set(err, ERR_LIMIT, "limit of %d watched migrations reached",
                       COLLECTOR_WATCHES_MAX);
    struct post *post = post_new(c, POST_WATCH);
    if (post == NULL) {
        atomic_fetch_sub(&c->n_watches, 1);
        return err_set(err, ERR_NOMEM, "watch of '%s'", job_uid);
    }
    post->as.watch.next_seq = what->next_seq;
    post->as.watch.foreign = what->foreign;
    TEXT_SET(post->as.watch.host, host);
    if (job_uid[0] == '\0' || guest[0] == '\0' ||
        !text_copy(post->as.watch.job_uid, sizeof post->as.watch.job_uid, job_uid) ||
        !text_copy(post->as.watch.guest, sizeof post->as.watch.guest, guest)) {
        atomic_fetch_sub(&c->n_watches, 1);
        post_free(post);
        return err_set(err, ERR_INVALID, "watch: job or guest is empty or too long");
    }
    if (!post_push(c, post)) {
        atomic_fetch_sub(&c->n_watches, 1);
        return err_set(err, ERR_LIMIT, "the collector's queue is full");
    }
    return true;
}

bool collector_watch(struct collector *c, const char *job_uid, const char *host, const char *guest,
                     int64_t next_seq, struct err *err)
{
    return begin_watch(c, &(struct watched){job_uid, host, guest, next_seq, false}, err);
}

bool collector_watch_foreign(struct collector *c, const char *job_uid, const char *host,
                             const char *guest, int64_t next_seq, struct err *err)
{
    return begin_watch(c, &(struct watched){job_uid, host, guest, next_seq, true}, err);
}

void collector_unwatch(struct collector *c, const char *job_uid)
{
    struct post *post = post_new(c, POST_UNWATCH);
    if (post == NULL)
        return;
    TEXT_SET(post->as.watch.job_uid, job_uid);
    (void)post_push(c, post);
}

bool collector_query_state(struct collector *c, uint64_t id, const char *host, const char *guest,
                           struct err *err)
{
    if (!reserve(&c->n_queries, COLLECTOR_STATE_QUERIES_MAX))
        return err_set(err, ERR_LIMIT, "limit of %d state queries in flight reached",
                       COLLECTOR_STATE_QUERIES_MAX);
    struct post *post = post_new(c, POST_STATE_QUERY);
    if (post == NULL) {
        atomic_fetch_sub(&c->n_queries, 1);
        return err_set(err, ERR_NOMEM, "state query to host '%s'", host);
    }
    post->as.query.asker_id = id;
    if (!text_copy(post->as.query.host, sizeof post->as.query.host, host) ||
        !text_copy(post->as.query.guest, sizeof post->as.query.guest, guest)) {
        atomic_fetch_sub(&c->n_queries, 1);
        post_free(post);
        return err_set(err, ERR_INVALID, "state query: host or guest is too long");
    }
    if (!post_push(c, post)) {
        atomic_fetch_sub(&c->n_queries, 1);
        return err_set(err, ERR_LIMIT, "the collector's queue is full");
    }
    return true;
}

/* The handler may take what the reply owns. */
static void handle_reply(struct collector *c, struct hv_reply *reply)
{
    size_t slot = reply->id & ((1u << QUERY_SLOT_BITS) - 1);
    switch ((enum query_kind)(reply->id >> QUERY_SLOT_BITS & ((1u << QUERY_KIND_BITS) - 1))) {
    case QUERY_FACTS: inventory_facts(c, slot, reply); break;
    case QUERY_LIST: inventory_list(c, slot, reply); break;
    case QUERY_STATS: watch_stats(c, slot, reply); break;
    case QUERY_STATE: watch_state(c, slot, reply); break;
    case QUERY_STATE_QUERY: state_query_reply(c, slot, reply); break;
    case QUERY_DEFINITION: definition_live(c, slot, reply); break;
    case QUERY_STORED: definition_stored(c, slot, reply); break;
    case QUERY_CAPABILITIES: capabilities_reply(c, slot, reply); break;
    case QUERY_COUNT: break;
    }
}

/* The final sample comes before the event of the migration's end. */
static void handle_event(struct collector *c, const struct hv_event *event)
{
    inventory_event(c, event);
    if (event->kind == HV_EVENT_CONNECTED || event->kind == HV_EVENT_DISCONNECTED ||
        event->kind == HV_EVENT_CHANGED)
        return;
    watch_event(c, event);
    if (c->sink.on_event != NULL)
        c->sink.on_event(c->sink.ctx, event);
}

static void handle_post(struct collector *c, struct post *take_post)
{
    switch (take_post->kind) {
    case POST_REPLY: handle_reply(c, &take_post->as.reply); break;
    case POST_EVENT: handle_event(c, &take_post->as.event); break;
    case POST_WATCH: watch_begin(c, take_post); break;
    case POST_UNWATCH: watch_end(c, take_post->as.watch.job_uid); break;
    case POST_STATE_QUERY: state_query_begin(c, take_post); break;
    case POST_HOST: handle_host(c, take_post); break;
    }
    post_free(take_post);
}

static void handle_posts(struct collector *c)
{
    struct post *post = TAKE(c->held);
    if (post != NULL)
        handle_post(c, post);
    for (size_t n = 0; n < STEP_POSTS_MAX && queue_pop(c->queue, &post, 0) == QUEUE_ITEM; n++)
        handle_post(c, post);
}

/* Ends, because each handler moves its deadline past now. */
static void run_due(struct collector *c)
{
    for (struct due *due = due_first(&c->due); due != NULL && due->at_ms <= c->now_ms;
         due = due_first(&c->due)) {
        if (due->owner == DUE_HOST)
            inventory_run(c, due->object);
        else
            watch_run(c, due->object);
    }
    state_query_expire(c);
}

static void publish(struct collector *c)
{
    (void)pthread_mutex_lock(&c->published_lock);
    c->published = c->stats;
    (void)pthread_mutex_unlock(&c->published_lock);
}

static int64_t until_next(const struct collector *c)
{
    if (queue_depth(c->queue) > 0)
        return 0;
    int64_t next_ms = c->now_ms + STEP_WAIT_MAX_MS;
    const struct due *due = due_first(&c->due);
    if (due != NULL && due->at_ms < next_ms)
        next_ms = due->at_ms;
    if (c->queries_in_flight != NULL && c->queries_in_flight->asked_ms + STATE_LOST_MS < next_ms)
        next_ms = c->queries_in_flight->asked_ms + STATE_LOST_MS;
    return next_ms - c->now_ms;
}

int64_t collector_step(struct collector *c)
{
    assert(c->observe != NULL);
    c->now_ms = clock_mono_ms(c->clock);
    if (!atomic_load(&c->started)) {
        atomic_store(&c->started, true);
        c->start_ms = c->now_ms;
        inventory_start(c);
    }
    if (atomic_exchange(&c->lost_connection_event, false))
        inventory_mark_unsure(c);
    handle_posts(c);
    run_due(c);
    definition_run(c);
    capabilities_run(c);
    publish(c);
    return until_next(c);
}

void collector_wait(struct collector *c, int64_t timeout_ms)
{
    if (c->held == NULL && queue_pop(c->queue, &c->held, timeout_ms) != QUEUE_ITEM)
        c->held = NULL;
}

void collector_stats(struct collector *c, struct collector_stats *out_stats)
{
    (void)pthread_mutex_lock(&c->published_lock);
    *out_stats = c->published;
    (void)pthread_mutex_unlock(&c->published_lock);
    out_stats->posts_dropped = atomic_load(&c->posts_dropped);
    out_stats->events_dropped = atomic_load(&c->events_dropped);
    out_stats->queue_depth = queue_depth(c->queue);
}
