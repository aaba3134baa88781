/* collector.h - measures hosts, guests and running migrations through observe; decides nothing.
 *
 * For every host: facts and the list of guests, on connecting, on lifecycle events and every
 * inventory_ms; capabilities, on connecting and every capabilities_ms. For every guest: its
 * definition, live and stored, when it is new, when it was defined, started, resumed or changed,
 * and with the first list after definition_ms; one in flight per host.
 *
 * For every watched migration: job statistics every sample_ms, every near_end_ms when it is about
 * to end, and at each iteration event; one statistics call per guest in flight. A call older than
 * patience_ms, or a source in paused(migration): statistics are not queried (a hanging statistics
 * call holds the lock that abort needs), only the state, until the guest runs again on the source
 * or the watch ends. Samples go to the recorder, then to the sink.
 *
 * Threads: one thread (or the simulator's) calls collector_step(); watch, unwatch, query_state and
 * the hv sinks may be called from any thread: they only post. Sink functions run inside
 * collector_step().
 */
#ifndef COLLECTOR_COLLECTOR_H
#define COLLECTOR_COLLECTOR_H

#include "base/clock.h"
#include "collector/recorder.h"
#include "collector/sample.h"
#include "hypervisor/observe.h"

enum {
    COLLECTOR_QUEUE_MAX = 65536,
    COLLECTOR_WATCHES_MAX = 512,
    COLLECTOR_HOSTS_MAX = 10000,
    COLLECTOR_STATE_QUERIES_MAX = 4096, /* in flight */
    COLLECTOR_DEFINITIONS_MAX = 1024,   /* in flight; one per host */
    COLLECTOR_CAPABILITIES_MAX = 256,   /* in flight */
};

struct collector_config {    /* 0 means the default */
    int64_t sample_ms;       /* 400 */
    int64_t near_end_ms;     /* 100 */
    int64_t inventory_ms;    /* 10000 */
    int64_t patience_ms;     /* 1000 */
    int64_t definition_ms;   /* 600000: a definition older than this is read again */
    int64_t capabilities_ms; /* 60000 */
};

struct collector_sink { /* a function may be NULL */
    void *ctx;
    void (*on_sample)(void *ctx, const struct sample *sample);
    /* A host connected (err empty) or was lost. */
    void (*on_host)(void *ctx, const char *host, bool connected, const struct err *err);
    void (*on_facts)(void *ctx, const char *host, const struct hv_facts *facts);
    /* The complete list of a host's guests; borrowed. */
    void (*on_guests)(void *ctx, const char *host, const struct hv_guest_list *guests);
    /* Lifecycle, iteration and completion events, as they came; JOB_ENDED, once for each watch. */
    void (*on_event)(void *ctx, const struct hv_event *event);
    /* Answer to collector_query_state(). presence UNREACHABLE when the host could not be
     * queried. */
    void (*on_observed)(void *ctx, uint64_t id, const char *host, const char *guest,
                        const struct hv_observation *observation, const struct err *err);
    /* The live definition of a guest and the persistent one (NULL: a transient guest, or it could
     * not be read), and how many snapshots its host keeps of it (-1: not known), when one of them
     * is new or changed; borrowed. False: the sink could not keep it and gets it again with the
     * next reading. */
    bool (*on_definition)(void *ctx, const char *host, const char *guest, const char *xml,
                          const char *stored_xml, int snapshots);
    /* Capabilities of a host: after it connected, and when they changed. True: the sink owns them
     * now. False: the sink could not keep them and gets them again with the next reading. */
    bool (*on_capabilities)(void *ctx, const char *host, struct hv_capabilities *take_capabilities);
};

struct collector;
struct collector *collector_new(const struct collector_config *config, const struct clock *clock,
                                struct recorder *recorder, const struct collector_sink *sink,
                                struct err *err);
void collector_free(struct collector *c);
DEFINE_OWNED(collector)

/* The sink to give to the hypervisor's constructor; valid as long as the collector. */
struct hv_event_sink collector_event_sink(struct collector *c);
/* Sets the hypervisor to query; before the first step. */
void collector_attach(struct collector *c, const struct hv_observe *observe);
/* Before the first step on its thread; later on any, and handled with the next step: before the
 * hypervisor reports the host. A host that is removed is forgotten, with what was asked of it. */
MUST_CHECK bool collector_add_host(struct collector *c, const char *host, struct err *err);
MUST_CHECK bool collector_remove_host(struct collector *c, const char *host, struct err *err);

/* Starts and stops sampling of a migration. next_seq: first sample number (adoption continues the
 * numbering). A second watch of a job replaces the first. Refused: ERR_INVALID (a name empty or too
 * long), ERR_NOT_FOUND (no such host), ERR_LIMIT. */
MUST_CHECK bool collector_watch(struct collector *c, const char *job_uid, const char *host,
                                const char *guest, int64_t next_seq, struct err *err);
/* The same of a migration that somebody else started: what Ferry asks may neither slow nor change
 * its end. Statistics are not queried at its iterations nor when it is about to end: see
 * foreign_pace.h. */
MUST_CHECK bool collector_watch_foreign(struct collector *c, const char *job_uid, const char *host,
                                        const char *guest, int64_t next_seq, struct err *err);
void collector_unwatch(struct collector *c, const char *job_uid);
/* Queries the state of one guest on one host now; when true, on_observed follows exactly once,
 * within 15 s: UNREACHABLE when the host could not be queried or did not answer, UNKNOWN when it
 * answered with an error. An error never means absent. */
MUST_CHECK bool collector_query_state(struct collector *c, uint64_t id, const char *host,
                                      const char *guest, struct err *err);

/* Handles posts and starts the queries that are due. Returns milliseconds until the next deadline
 * (at most 1000). Never blocks. */
int64_t collector_step(struct collector *c);
/* Waits until something is posted, at most timeout_ms. */
void collector_wait(struct collector *c, int64_t timeout_ms);

struct collector_stats {
    uint64_t samples, stats_calls;
    uint64_t stats_failures;      /* without "no such job or guest": a poll may race with the end */
    uint64_t posts_dropped;       /* mostly events; the query of a lost reply times out */
    uint64_t events_dropped;      /* of them: events, which are not repeated */
    uint64_t stalled_watches;     /* now: their statistics call hangs */
    uint64_t definitions;         /* live definitions read since start, changed or not */
    uint64_t capabilities;        /* read since start, changed or not */
    uint64_t unknown_statuses[3]; /* answers with a job state, type or operation that this version
                                     does not know; they are passed on unchanged */
    int64_t lag_ms;               /* delay of the last sample that was due */
    int64_t gap_max_ms;           /* largest gap between two samples of a watch since start */
    size_t queue_depth;
};
void collector_stats(struct collector *c, struct collector_stats *out_stats); /* any thread */

#endif
