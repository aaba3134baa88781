/* internal.h - what the collector's files share; no other file includes it.
 *
 * collector.c     creation, posts, the step
 * inventory.c     hosts: facts and guests
 * watch.c         migrations being sampled
 * state_query.c   the engine's queries of a guest's state
 * definition.c    definitions of guests
 * capabilities.c  capabilities of hosts
 *
 * Each query has an id made of kind, slot and a serial number that is used once, so an answer after
 * the timeout matches nothing and is ignored. Every query times out: a missing answer delays its
 * user but never blocks it.
 */
#ifndef COLLECTOR_INTERNAL_H
#define COLLECTOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/queue.h"
#include "collector/capabilities.h"
#include "collector/collector.h"
#include "collector/definition.h"
#include "collector/due.h"
#include "collector/hash.h"
#include "collector/watch.h"

enum {
    LIST_SPACING_MS = 500, /* between two lists of one host */
    LIST_RETRY_MS = 2000,  /* after a list that failed */
    REPLY_LOST_MS = 60000, /* facts, list, statistics: libvirt's own limits are at 30 s */
    STATE_LOST_MS = 15000, /* state queries: a healthy host answers at once */
    STATE_EVERY_MS = 400,  /* state of a guest whose statistics are not polled */
    QUERY_SPACING_MS = 20, /* between two statistics calls of one guest, always */
    NEAR_END_MS = 1000,    /* the remaining bytes need less than this: near the end */
    STEP_POSTS_MAX = 8192, /* posts handled in one step, so that deadlines are kept in a flood */
    STEP_WAIT_MAX_MS = 1000,
    /* Events that may be lost get half of the queue; the other half has room for every reply that
     * can be in flight. */
    QUEUE_EVENTS_MAX = COLLECTOR_QUEUE_MAX / 2,
};
_Static_assert(2 * COLLECTOR_HOSTS_MAX + 2 * COLLECTOR_WATCHES_MAX +
                       2 * COLLECTOR_STATE_QUERIES_MAX + COLLECTOR_DEFINITIONS_MAX +
                       COLLECTOR_CAPABILITIES_MAX <
                   COLLECTOR_QUEUE_MAX - QUEUE_EVENTS_MAX,
               "replies in flight must fit the reserved half");

enum query_kind {
    QUERY_FACTS,
    QUERY_LIST,
    QUERY_STATS,
    QUERY_STATE,
    QUERY_STATE_QUERY,
    QUERY_DEFINITION,
    QUERY_STORED,
    QUERY_CAPABILITIES,
    QUERY_COUNT
};
enum { QUERY_SLOT_BITS = 14, QUERY_KIND_BITS = 3 };
_Static_assert(QUERY_COUNT <= 1 << QUERY_KIND_BITS, "a kind fits a request's id");
_Static_assert(COLLECTOR_HOSTS_MAX <= 1 << QUERY_SLOT_BITS, "a host's slot fits a request's id");

struct host {
    char name[HV_HOST_MAX];
    size_t slot;
    bool connected;
    bool unsure; /* a connection event was lost: until the next one, answers to lists decide */
    bool wants_list, wants_facts;
    bool list_failure_logged;   /* the newest list failed, and that was logged */
    uint64_t list_id, facts_id; /* 0: none in flight */
    int64_t list_asked_ms, facts_asked_ms;
    int64_t list_from_ms; /* not before */
    int64_t periodic_ms;  /* the next regular list */
    struct due due;
    struct definitions definitions;
    struct capabilities capabilities;
    UT_hash_handle hh;
};

struct state_query {
    uint64_t id; /* ours; 0: free */
    uint64_t asker_id;
    size_t slot;
    char host[HV_HOST_MAX];
    char guest[HV_UUID_MAX];
    int64_t asked_ms;
    struct state_query *prev, *next; /* in flight: by age; free: next only */
};

enum post_kind { POST_REPLY, POST_EVENT, POST_WATCH, POST_UNWATCH, POST_STATE_QUERY, POST_HOST };
struct post {
    enum post_kind kind;
    union {
        struct hv_reply reply;
        struct hv_event event;
        struct {
            char job_uid[SAMPLE_JOB_MAX], host[HV_HOST_MAX], guest[HV_UUID_MAX];
            int64_t next_seq;
            bool foreign;
        } watch; /* and unwatch */
        struct {
            uint64_t asker_id;
            char host[HV_HOST_MAX], guest[HV_UUID_MAX];
        } query;
        struct {
            char name[HV_HOST_MAX];
            bool removed;
        } host;
    } as;
};

struct collector {
    struct collector_config config;
    const struct clock *clock;
    struct recorder *recorder; /* borrowed */
    struct collector_sink sink;
    const struct hv_observe *observe; /* borrowed */

    struct queue *queue; /* of struct post *, owned by the queue */
    struct post *held;   /* taken by collector_wait, handled by the next step */
    atomic_uint_fast64_t posts_dropped, events_dropped;
    atomic_bool lost_connection_event;
    atomic_size_t n_watches, n_queries; /* posted and not yet over: limited */

    /* The rest belongs to the thread of collector_step(). */
    int64_t now_ms; /* of this step */
    int64_t start_ms;
    atomic_bool started;
    uint64_t serial;
    struct due_heap due;
    struct host **hosts;            /* by slot; NULL: the slot is free */
    struct host *by_name;           /* changed under hosts_lock: other threads look names up */
    size_t n_hosts, hosts_capacity; /* slots */
    pthread_rwlock_t hosts_lock;
    struct watch watches[COLLECTOR_WATCHES_MAX];
    struct state_query queries[COLLECTOR_STATE_QUERIES_MAX];
    struct state_query *queries_in_flight, *queries_free;
    struct host *definition_queue;   /* hosts with guests to be read */
    size_t n_definitions;            /* in flight */
    struct host *capabilities_queue; /* hosts whose capabilities are due */
    size_t n_capabilities;           /* in flight */
    struct collector_stats stats;

    pthread_mutex_t published_lock;
    struct collector_stats published;
};

/* Submits one query; 0, with *err set, when it was refused. */
uint64_t collector_submit(struct collector *c, enum query_kind kind, size_t slot, const char *host,
                          const char *guest, struct err *err);

/* Of the thread of collector_step(), or before the first step. */
MUST_CHECK bool inventory_add(struct collector *c, const char *host, struct err *err);
void inventory_remove(struct collector *c, const char *host);
struct host *inventory_slot(const struct collector *c, size_t slot); /* NULL: none */
void inventory_start(struct collector *c);
void inventory_run(struct collector *c, struct host *h);
void inventory_event(struct collector *c, const struct hv_event *event);
void inventory_facts(struct collector *c, size_t slot, const struct hv_reply *reply);
void inventory_list(struct collector *c, size_t slot, const struct hv_reply *reply);
void inventory_mark_unsure(struct collector *c); /* some connection event was lost */
void inventory_fini(struct collector *c);

void state_query_init(struct collector *c);
void state_query_begin(struct collector *c, const struct post *post);
void state_query_reply(struct collector *c, size_t slot, const struct hv_reply *reply);
void state_query_expire(struct collector *c);

#endif
