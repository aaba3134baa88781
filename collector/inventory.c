/* inventory.c - hosts: connection, facts, guests.
 *
 * Queried when a host connects, soon after an event of one of its guests, and every inventory_ms.
 * Each host has its own offset within inventory_ms, also after all hosts connected at once, so that
 * 10,000 lists do not come in one burst. A list that fails changes nothing about the known
 * guests. */
#include "collector/internal.h"

#include "base/log.h"
#include "base/text.h"

static size_t free_slot(const struct collector *c)
{
    size_t slot = 0;
    while (slot < c->n_hosts && c->hosts[slot] != NULL)
        slot++;
    return slot;
}

static bool reserve_slot(struct collector *c, size_t slot, struct err *err)
{
    if (slot == COLLECTOR_HOSTS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d hosts", COLLECTOR_HOSTS_MAX);
    if (!due_reserve(&c->due, COLLECTOR_WATCHES_MAX + c->n_hosts + 1, err))
        return false;
    if (slot < c->hosts_capacity)
        return true;
    size_t grown = c->hosts_capacity == 0 ? 16 : c->hosts_capacity * 2;
    struct host **hosts = realloc(c->hosts, grown * sizeof *hosts);
    if (hosts == NULL)
        return err_set(err, ERR_NOMEM, "%zu hosts", grown);
    c->hosts = hosts;
    c->hosts_capacity = grown;
    return true;
}

static bool enter_name(struct collector *c, struct host *h)
{
    (void)pthread_rwlock_wrlock(&c->hosts_lock);
    HASH_ADD_STR(c->by_name, name, h);
    (void)pthread_rwlock_unlock(&c->hosts_lock);
    return h->hh.tbl != NULL;
}

bool inventory_add(struct collector *c, const char *host, struct err *err)
{
    struct host *h = NULL;
    HASH_FIND(hh, c->by_name, host, strlen(host), h);
    if (h != NULL)
        return err_set(err, ERR_EXISTS, "host '%s' is configured twice", host);
    size_t slot = c->started ? free_slot(c) : c->n_hosts;
    if (!reserve_slot(c, slot, err))
        return false;
    h = calloc(1, sizeof *h);
    if (h == NULL)
        return err_set(err, ERR_NOMEM, "host '%s'", host);
    if (host[0] == '\0' || !text_copy(h->name, sizeof h->name, host)) {
        free(h);
        return err_set(err, ERR_INVALID, "host name '%.80s' is empty or too long", host);
    }
    h->slot = slot;
    h->due = (struct due){.owner = DUE_HOST, .object = h};
    h->list_from_ms = c->now_ms;
    if (!enter_name(c, h)) {
        free(h);
        return err_set(err, ERR_NOMEM, "host '%s'", host);
    }
    c->hosts[slot] = h;
    c->n_hosts += slot == c->n_hosts;
    return true;
}

/* Answers of queries in flight find no host with their number. */
void inventory_remove(struct collector *c, const char *host)
{
    struct host *h = NULL;
    HASH_FIND(hh, c->by_name, host, strlen(host), h);
    if (h == NULL)
        return;
    h->connected = false;
    definition_arm(c, h); /* leaves the queues */
    capabilities_connected(c, h);
    c->n_definitions -= h->definitions.id != 0;
    c->n_capabilities -= h->capabilities.id != 0;
    due_clear(&c->due, &h->due);
    (void)pthread_rwlock_wrlock(&c->hosts_lock);
    HASH_DEL(c->by_name, h);
    (void)pthread_rwlock_unlock(&c->hosts_lock);
    c->hosts[h->slot] = NULL;
    definition_fini(h);
    free(h);
}

struct host *inventory_slot(const struct collector *c, size_t slot)
{
    return slot < c->n_hosts ? c->hosts[slot] : NULL;
}

void inventory_fini(struct collector *c)
{
    HASH_CLEAR(hh, c->by_name);
    for (size_t i = 0; i < c->n_hosts; i++) {
        if (c->hosts[i] != NULL)
            definition_fini(c->hosts[i]);
        free(c->hosts[i]);
    }
    free(c->hosts);
}

/* The next periodic list of the host after now. */
static int64_t next_periodic(const struct collector *c, const struct host *h)
{
    int64_t every = c->config.inventory_ms;
    int64_t first = c->start_ms + (int64_t)h->slot * every / (int64_t)c->n_hosts;
    if (c->now_ms < first)
        return first;
    int64_t next = first + ((c->now_ms - first) / every + 1) * every;
    return next - c->now_ms < LIST_SPACING_MS ? next + every : next;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void arm(struct collector *c, struct host *h)
{
    int64_t at = INT64_MAX;
    if (h->connected || h->unsure)
        at = h->periodic_ms;
    if (h->wants_list && h->list_id == 0)
        at = earlier(at, h->list_from_ms);
    if (h->wants_facts && h->facts_id == 0)
        at = c->now_ms;
    if (h->list_id != 0)
        at = earlier(at, h->list_asked_ms + REPLY_LOST_MS);
    if (h->facts_id != 0)
        at = earlier(at, h->facts_asked_ms + REPLY_LOST_MS);
    if (h->definitions.id != 0)
        at = earlier(at, h->definitions.asked_ms + REPLY_LOST_MS);
    at = earlier(at, capabilities_due_ms(h));
    if (at == INT64_MAX)
        due_clear(&c->due, &h->due);
    else
        due_set(&c->due, &h->due, at);
}

void inventory_start(struct collector *c)
{
    for (size_t i = 0; i < c->n_hosts; i++)
        c->hosts[i]->list_from_ms = c->now_ms;
}

static void query_facts(struct collector *c, struct host *h)
{
    struct err err = {0};
    h->wants_facts = false; /* refused: again with the next regular list */
    h->facts_id = collector_submit(c, QUERY_FACTS, h->slot, h->name, "", &err);
    h->facts_asked_ms = c->now_ms;
}

static void query_list(struct collector *c, struct host *h)
{
    struct err err = {0};
    h->list_id = collector_submit(c, QUERY_LIST, h->slot, h->name, "", &err);
    h->list_asked_ms = c->now_ms;
    h->wants_list = h->list_id == 0;
    h->list_from_ms = c->now_ms + (h->list_id == 0 ? LIST_RETRY_MS : LIST_SPACING_MS);
}

void inventory_run(struct collector *c, struct host *h)
{
    if (h->list_id != 0 && c->now_ms - h->list_asked_ms >= REPLY_LOST_MS)
        h->list_id = 0;
    if (h->facts_id != 0 && c->now_ms - h->facts_asked_ms >= REPLY_LOST_MS)
        h->facts_id = 0;
    definition_expire(c, h);
    capabilities_due(c, h);
    if ((h->connected || h->unsure) && c->now_ms >= h->periodic_ms) {
        h->wants_list = h->wants_facts = true;
        h->periodic_ms = next_periodic(c, h);
    }
    if (h->wants_facts && h->facts_id == 0)
        query_facts(c, h);
    if (h->wants_list && h->list_id == 0 && c->now_ms >= h->list_from_ms)
        query_list(c, h);
    arm(c, h);
}

static void set_connected(struct collector *c, struct host *h, bool connected,
                          const struct err *err)
{
    h->connected = connected;
    h->wants_list = h->wants_facts = connected;
    h->periodic_ms = next_periodic(c, h);
    definition_arm(c, h);
    capabilities_connected(c, h);
    if (c->sink.on_host != NULL)
        c->sink.on_host(c->sink.ctx, h->name, connected, err);
}

void inventory_event(struct collector *c, const struct hv_event *event)
{
    struct host *h = NULL;
    HASH_FIND_STR(c->by_name, event->host, h);
    if (h == NULL)
        return;
    static const struct err no_error = {0};
    switch (event->kind) {
    case HV_EVENT_CONNECTED:
        h->unsure = false;
        set_connected(c, h, true, &no_error);
        break;
    case HV_EVENT_DISCONNECTED:
        h->unsure = false;
        set_connected(c, h, false, &event->err);
        break;
    case HV_EVENT_LIFECYCLE:
    case HV_EVENT_CHANGED:
        h->wants_list |= h->connected || h->unsure;
        definition_event(c, h, event);
        break;
    case HV_EVENT_ITERATION:
    case HV_EVENT_JOB_COMPLETED:
    case HV_EVENT_JOB_ENDED: return;
    }
    arm(c, h);
}

void inventory_mark_unsure(struct collector *c)
{
    for (size_t i = 0; i < c->n_hosts; i++) {
        struct host *h = c->hosts[i];
        if (h == NULL)
            continue;
        h->unsure = true;
        h->periodic_ms = next_periodic(c, h);
        arm(c, h);
    }
}

/* After a lost connection event an answer counts as one. */
static void confirm_connection(struct collector *c, struct host *h, const struct err *err)
{
    bool answered = err->code != ERR_UNREACHABLE;
    if (answered)
        h->unsure = false;
    if (answered != h->connected)
        set_connected(c, h, answered, err);
}

void inventory_facts(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    struct host *h = inventory_slot(c, slot);
    if (h == NULL || h->facts_id != reply->id)
        return;
    h->facts_id = 0;
    if (reply->err.code == ERR_NONE && h->connected && c->sink.on_facts != NULL)
        c->sink.on_facts(c->sink.ctx, h->name, &reply->with.facts);
    arm(c, h);
}

/* A host that answers but cannot list its guests looks like one without guests: logged once until a
 * list works. */
static void log_list_failure(struct host *h, const struct err *err)
{
    if (!h->list_failure_logged)
        LOG(WARN, "guests_not_listed", FIELD_TEXT(NODE, h->name), FIELD_TEXT(ERROR, err->text),
            FIELD_I64(HV_CODE, err->hv_code),
            FIELD_TEXT(TEXT, "the known guests stay; the list is retried"));
    h->list_failure_logged = true;
}

void inventory_list(struct collector *c, size_t slot, const struct hv_reply *reply)
{
    struct host *h = inventory_slot(c, slot);
    if (h == NULL || h->list_id != reply->id)
        return;
    h->list_id = 0;
    bool has_guests = reply->err.code == ERR_NONE && reply->with.guests != NULL;
    if (h->unsure && (has_guests || reply->err.code == ERR_UNREACHABLE))
        confirm_connection(c, h, &reply->err);
    if (has_guests && h->connected && c->sink.on_guests != NULL)
        c->sink.on_guests(c->sink.ctx, h->name, reply->with.guests);
    if (has_guests && h->connected)
        definition_listed(c, h, reply->with.guests);
    if (has_guests)
        h->list_failure_logged = false;
    if (!has_guests && h->connected) {
        if (reply->err.code != ERR_UNREACHABLE) /* the connection event reports that */
            log_list_failure(h, &reply->err);
        h->wants_list = true;
        h->list_from_ms = c->now_ms + LIST_RETRY_MS;
    }
    arm(c, h);
}
