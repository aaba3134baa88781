/* list_watch.c - see list_watch.h. */
#include "cli/common/list_watch.h"

#include <stdio.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/seen.h"
#include "cli/common/view.h"
#include "cli/common/wait.h"

enum { LONGEST_MS = 1000 };

struct watching {
    const struct list_watch *watch;
    struct seen seen;
    int status; /* EXIT_DONE: goes on */
    struct err err;
};

static bool note(struct watching *w, struct json_object *object)
{
    bool is_new = false;
    if (seen_add(&w->seen, object, &is_new) || w->err.code != ERR_NONE)
        return is_new;
    (void)err_set(&w->err, ERR_LIMIT, "more than %d objects cannot be watched", SEEN_MAX);
    return false;
}

static void on_event(void *ctx, enum follow_event event, struct json_object *object)
{
    struct watching *w = ctx;
    size_t gone;
    bool is_shown = false;
    switch (event) {
    case FOLLOW_BEGIN: seen_begin(&w->seen); return;
    case FOLLOW_SYNCED:
        gone = seen_end(&w->seen);
        if (gone > 0)
            (void)fprintf(stderr, "ferry: %zu of the objects were deleted meanwhile\n", gone);
        return;
    case FOLLOW_ADDED:
    case FOLLOW_MODIFIED: is_shown = note(w, object); break;
    case FOLLOW_DELETED:
        seen_remove(&w->seen, object);
        is_shown = true;
        break;
    }
    if (is_shown && w->status == EXIT_DONE)
        w->status = w->watch->print(w->watch->ctx, object);
}

static bool may_come_back(const struct err *err)
{
    return err->code == ERR_UNREACHABLE || err->code == ERR_EXPIRED || err->code == ERR_TIMEOUT;
}

/* EXIT_DONE: goes on. *lost_ms: since when, 0: connected. */
static int read_state(const struct follow *follow, int64_t now_ms, int64_t *lost_ms)
{
    struct follow_link link = follow_link(follow);
    if (link.is_connected || link.tries == 0) {
        *lost_ms = link.is_connected ? 0 : *lost_ms;
        return EXIT_DONE;
    }
    if (*lost_ms == 0 && may_come_back(&link.err))
        (void)fprintf(stderr, "ferry: %s; trying again\n", link.err.text);
    if (*lost_ms == 0)
        *lost_ms = now_ms;
    return may_come_back(&link.err) && now_ms - *lost_ms < LIST_WATCH_UNREACHABLE_MS
               ? EXIT_DONE
               : cli_fail(&link.err, NULL);
}

static int loop(struct watching *w, struct streams *streams, struct follow *follow, int signals)
{
    int64_t lost_ms = 0;
    while (w->status == EXIT_DONE) {
        follow_run(follow);
        if (streams_wait(streams, &signals, 1, follow_wait_ms(follow, LONGEST_MS)) != 0)
            return EXIT_INTERRUPTED;
        if (w->err.code != ERR_NONE)
            return cli_fail(&w->err, NULL);
        int status = read_state(follow, clock_mono_ms(clock_system()), &lost_ms);
        if (status != EXIT_DONE)
            return status;
    }
    return w->status;
}

int list_watch_run(const struct list_watch *watch)
{
    struct watching w = {.watch = watch};
    const struct follow_sink sink = {&w, on_event};
    for (size_t i = 0; i < view_count(watch->shown, "items"); i++)
        (void)note(&w, view_element(watch->shown, "items", i));
    OWNED(streams) streams = streams_new(watch->client, &w.err);
    OWNED(follow) follow =
        streams != NULL ? follow_new(streams, clock_system(), &watch->spec, &sink, &w.err) : NULL;
    int signals = follow != NULL ? wait_open_signals(&w.err) : -1;
    int status = signals >= 0 ? loop(&w, streams, follow, signals) : cli_fail(&w.err, NULL);
    if (signals >= 0)
        (void)close(signals);
    seen_fini(&w.seen);
    return status;
}
