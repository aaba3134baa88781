/* follow.h - objects of a kind as they change: a watch of the API that is opened again.
 *
 * It begins with every object there is, or after a version that the caller has read. When the
 * connection ends it goes on from the last version it has seen, after a pause that grows; where the
 * appliance no longer keeps that version (410), everything is told again between FOLLOW_BEGIN and
 * FOLLOW_SYNCED: what was not told in between is gone. Nothing is kept here but one line.
 * One thread.
 */
#ifndef CLI_COMMON_FOLLOW_H
#define CLI_COMMON_FOLLOW_H

#include "base/clock.h"
#include "base/json.h"
#include "cli/common/streams.h"

enum {
    FOLLOW_LINE_MAX = 16 << 20, /* bytes of one object */
    FOLLOW_PAUSE_MS = 250,      /* the first one */
    FOLLOW_PAUSE_MAX_MS = 5000,
    FOLLOW_VERSION_MAX = 32,
};

enum follow_event { FOLLOW_BEGIN, FOLLOW_ADDED, FOLLOW_MODIFIED, FOLLOW_DELETED, FOLLOW_SYNCED };
struct follow_sink {
    void *ctx;
    /* object: borrowed; NULL with BEGIN and SYNCED. */
    void (*on_event)(void *ctx, enum follow_event event, struct json_object *object);
};
/* All are copied. */
struct follow_spec {
    const char *path;            /* of the list */
    const char *labels, *fields; /* selectors; NULL: none */
    const char *version;         /* changes after it; NULL: begin with everything */
};
struct follow_link {
    bool is_connected; /* an answer has begun */
    bool is_synced;    /* what was told is everything there is, up to the last change */
    unsigned tries;    /* that failed since then */
    struct err err;    /* of the last one */
    int64_t retry_ms;  /* mono: when the next one begins */
};

struct follow;
struct follow *follow_new(struct streams *streams, const struct clock *clock,
                          const struct follow_spec *spec, const struct follow_sink *sink,
                          struct err *err);
void follow_free(struct follow *follow); /* before its streams */
DEFINE_OWNED(follow)

/* Opens the connection when it is time; before each streams_wait(). */
void follow_run(struct follow *follow);
/* How long streams_wait() may last at most because of this. */
int64_t follow_wait_ms(const struct follow *follow, int64_t most_ms);
struct follow_link follow_link(const struct follow *follow);
/* Ends the connection, as if it was lost for that reason. */
void follow_drop(struct follow *follow, const struct err *why);
/* The next try is now: another watch of that appliance is connected. */
void follow_hurry(struct follow *follow);
/* Begins again with everything, at once. */
void follow_restart(struct follow *follow);

/* ---- pure ---- */
/* The pause before the next try; random: any number, so that many clients do not come together. */
int64_t follow_pause_ms(unsigned tries, uint32_t random);
/* The path with its query, for the next request; out holds FOLLOW_PATH_MAX. */
enum { FOLLOW_PATH_MAX = 4096 };
bool follow_path(const struct follow *follow, char *out, struct err *err);
/* What a stream's sink is told. */
bool follow_bytes(void *follow, const char *bytes, size_t n, struct err *err);
void follow_ended(void *follow, const struct err *err);

#endif
