/* feed.h - the change feed: what the API shows now, and what changed up to there.
 *
 * The engine's thread hands over each snapshot; the feed's own thread gives it versions
 * (versions.h), writes each changed object once as text, and then makes it the newest one that
 * readers get. A watch reads the changes from any version that is still kept, at its own pace:
 * the feed holds nothing for a client, and one that is too slow finds its place gone.
 *
 * Bounded: FEED_BYTES of changes are kept, the oldest go first. A kind that nobody listed or
 * watched for FEED_WARM_MS costs no text: its changes are not kept, and a watch from before is
 * gone.
 */
#ifndef EXPORTER_API_FEED_H
#define EXPORTER_API_FEED_H

#include "base/clock.h"
#include "exporter/api/versions.h"

enum {
    FEED_BYTES = 24 * 1024 * 1024,
    FEED_WARM_MS = 10 * 60 * 1000,
    FEED_FIELDS_MAX = 6, /* selectable fields of a kind besides name and namespace */
};

/* What selectors look at. */
struct feed_traits {
    const char *labels;                  /* KEY\0VALUE\0 ..., an empty key ends them; may be NULL */
    const char *fields[FEED_FIELDS_MAX]; /* in the order of api_view.fields; may be NULL */
};
/* The value of that label; NULL: there is none. */
const char *feed_label(const struct feed_traits *traits, const char *key);
/* One change. Immutable and counted; one piece of memory, so that its size is its cost. */
struct feed_change {
    enum change_type type;
    uint64_t version;
    const char *ns, *name; /* ns "": none */
    const char *object;    /* JSON; of one that was deleted: as it was, with the new version */
    const char *metadata, *cells; /* JSON: of the object; the cells of its Table row, an array */
    struct feed_traits was, is;   /* not of ADDED; not of DELETED */
};
const struct feed_change *feed_change_ref(const struct feed_change *change);
void feed_change_unref(const struct feed_change *change); /* NULL is fine; any thread */

struct feed;
/* Without a thread (is_threaded false) feed_take() itself does the work. */
struct feed *feed_new(const struct clock *clock, bool is_threaded, struct err *err);
void feed_free(struct feed *feed); /* after the last reader; ends the waits */
DEFINE_OWNED(feed)

/* Ends all waits: those who read see FEED_ENDS. Before the server stops. */
void feed_stop(struct feed *feed);
/* Takes a reference. The engine's thread: never waits for a reader. */
void feed_take(struct feed *feed, const struct snapshot *snapshot);
struct store_event;
/* An event was stored; shown with the next snapshot, or soon. Copies. The engine's thread. */
void feed_take_event(struct feed *feed, const struct store_event *event);
/* One that was stored before this process began: it counts. Before the first snapshot. */
void feed_know_event(struct feed *feed, const struct store_event *event);
/* Waits, at most a second, until every snapshot that was taken is the newest: after a change a
 * client reads what it wrote. */
void feed_settle(struct feed *feed);
/* What is shown now, a reference of the caller's; NULL: nothing yet. */
const struct versions *feed_newest(struct feed *feed);
/* Somebody lists or watches this kind: its changes are kept from the next snapshot on. False: they
 * were not before; what is being compared just now may not be kept. */
bool feed_warm(struct feed *feed, enum api_kind kind);

/* The first change of the kind after that version; a reference of the caller's in *out. */
enum feed_found {
    FEED_FOUND,
    FEED_NONE, /* none yet; *out_at: up to which version that is known */
    FEED_GONE, /* that version is too old, or of another run */
    FEED_ENDS, /* the appliance stops */
};
enum feed_found feed_next(struct feed *feed, enum api_kind kind, uint64_t after,
                          const struct feed_change **out_change, uint64_t *out_at);

/* wake() is called once, when something changed, the time (mono) has come or the feed ends; from
 * any thread, or at once. A waiter is the caller's and must live until then. */
struct feed_waiter {
    struct feed_waiter *next;
    int64_t until_ms;
    uint64_t after; /* of a change or newest version beyond this one */
    void *ctx;
    void (*wake)(void *ctx);
};
void feed_wait(struct feed *feed, struct feed_waiter *waiter);

struct feed_stats {
    size_t changes, bytes; /* kept */
    uint64_t written;      /* since start */
    unsigned waiters;
};
void feed_stats(struct feed *feed, struct feed_stats *out_stats);

#endif
