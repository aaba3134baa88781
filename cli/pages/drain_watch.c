/* drain_watch.c - see drain_watch.h. */
#include "cli/pages/drain_watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/view.h"
#include "cli/common/wait.h"
#include "cli/pages/pages.h"

enum { POLL_MS = 500, BAR_MAX = 24, BAR_MIN = 6, LINES_MAX = 1 << 20 };

bool drain_is_settled(struct json_object *object)
{
    static const char *const settled[] = {"Succeeded", "Failed", "Cancelled", "Blocked"};
    for (size_t i = 0; i < COUNT(settled); i++)
        if (text_equal(view_text(object, "status.state"), settled[i]))
            return true;
    return false;
}

static size_t put_bar(struct json_object *object, size_t room, char *out)
{
    int64_t total = view_i64(object, "status.total", 0),
            moved = view_i64(object, "status.moved", 0);
    if (total <= 0 || room < BAR_MIN + 3) /* brackets and a space */
        return 0;
    size_t cells = room - 3 < BAR_MAX ? room - 3 : BAR_MAX, n = 0;
    size_t full = moved > 0 ? cells * (size_t)(moved < total ? moved : total) / (size_t)total : 0;
    out[n++] = '[';
    for (size_t i = 0; i < cells; i++)
        out[n++] = i < full ? '=' : i == full ? '>' : ' ';
    out[n++] = ']';
    out[n++] = ' ';
    return n;
}

void drain_bar(struct json_object *object, size_t width, char *out_line)
{
    struct buf text;
    char words[DRAIN_LINE_MAX / 2];
    if (width >= DRAIN_LINE_MAX)
        width = DRAIN_LINE_MAX - 1;
    buf_init(&text, sizeof words);
    page_drain_line(object, &text);
    TEXT_SET(words, text.data != NULL ? text.data : "");
    buf_fini(&text);
    size_t length = strlen(words);
    size_t bar = put_bar(object, width > length ? width - length : 0, out_line);
    (void)text_copy(out_line + bar, width + 1 - bar, words);
}

static struct json_object *find_guest(struct json_object *object, const char *uuid)
{
    for (size_t i = 0; object != NULL && i < view_count(object, "status.guests"); i++) {
        struct json_object *guest = view_element(object, "status.guests", i);
        if (text_equal(view_text(guest, "uuid"), uuid))
            return guest;
    }
    return NULL;
}

static void add_change(struct json_object *guest, struct buf *out)
{
    char name[TABLE_CELL_MAX], raw[TABLE_CELL_MAX], state[TABLE_CELL_MAX], why[PAGE_TEXT_MAX];
    char migration[TABLE_CELL_MAX];
    (void)snprintf(raw, sizeof raw, "%.63s/%.150s", view_text(guest, "namespace"),
                   view_text(guest, "name"));
    table_clean(name, sizeof name, raw);
    table_clean(state, sizeof state, view_text(guest, "state"));
    table_clean(migration, sizeof migration, view_text(guest, "migration"));
    const char *message = view_text(guest, "message");
    table_clean(why, sizeof why, *message != '\0' ? message : view_text(guest, "reason"));
    bool stuck = text_equal(state, "Blocked") || text_equal(state, "Failed");
    buf_addf(out, "%s %s", name, state);
    if (stuck && why[0] != '\0')
        buf_addf(out, ": %s", why);
    else if (migration[0] != '\0')
        buf_addf(out, " (%s)", migration);
    buf_add(out, "\n");
}

void drain_changes(struct json_object *before, struct json_object *now, struct buf *out)
{
    for (size_t i = 0; i < view_count(now, "status.guests"); i++) {
        struct json_object *guest = view_element(now, "status.guests", i);
        struct json_object *old = find_guest(before, view_text(guest, "uuid"));
        const char *was = old != NULL ? view_text(old, "state") : "Waiting";
        if (!text_equal(was, view_text(guest, "state")))
            add_change(guest, out);
    }
}

/* --- output --- */

struct watching {
    const struct drain_watch *watch;
    bool live;
    int64_t began_ms, seen_ms;
    struct json_object *last; /* owned */
};

static void erase(const struct watching *w)
{
    if (w->live && !w->watch->quiet)
        (void)fputs("\r\033[K", stderr);
}

static void draw(const struct watching *w, struct json_object *now)
{
    if (w->watch->quiet)
        return;
    struct buf lines;
    char bar[DRAIN_LINE_MAX];
    buf_init(&lines, LINES_MAX);
    drain_changes(w->last, now, &lines);
    erase(w);
    if (lines.data != NULL)
        (void)fputs(lines.data, stderr);
    buf_fini(&lines);
    if (w->live) {
        drain_bar(now, cli_width(STDERR_FILENO, TABLE_WIDTH) - 1, bar);
        (void)fputs(bar, stderr);
    }
    (void)fflush(stderr);
}

static int print_stopped(const struct watching *w, enum err_code code, const char *what)
{
    struct err err = {0};
    char hint[DRAIN_LINE_MAX * 2];
    erase(w);
    (void)snprintf(hint, sizeof hint,
                   "the drain continues; `ferry describe drain %.120s` shows it, `ferry uncordon "
                   "%.63s` cancels it",
                   w->watch->name, w->watch->node);
    (void)err_set(&err, code, "%s", what);
    return cli_fail(&err, hint);
}

static int64_t call_timeout_ms(const struct watching *w, int64_t now_ms)
{
    int64_t left = w->watch->timeout_ms - (now_ms - w->began_ms);
    return w->watch->timeout_ms >= 0 && left < WAIT_ANSWER_MS ? left : WAIT_ANSWER_MS;
}

/* False with *err: the drain cannot be polled any more. */
static bool poll_once(struct watching *w, const char *path, struct err *err)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    struct err call_err = {0};
    client_set_timeout(w->watch->client, call_timeout_ms(w, now_ms));
    OWNED(json_object) object = client_call(w->watch->client, "GET", path, NULL, &call_err);
    if (object == NULL) {
        if (call_err.code == ERR_UNREACHABLE && now_ms - w->seen_ms < WAIT_UNREACHABLE_MS)
            return true;
        *err = call_err;
        return false;
    }
    w->seen_ms = now_ms;
    draw(w, object);
    json_object_free(w->last);
    w->last = TAKE(object);
    return true;
}

static int watch_loop(struct watching *w, const char *path, int signals)
{
    for (;;) {
        struct err err = {0};
        if (!poll_once(w, path, &err)) {
            erase(w);
            return cli_fail(&err, err.code == ERR_NOT_FOUND ? "the drain was deleted" : NULL);
        }
        if (w->last != NULL && drain_is_settled(w->last)) {
            erase(w);
            return EXIT_DONE;
        }
        int64_t left = w->watch->timeout_ms - (clock_mono_ms(clock_system()) - w->began_ms);
        if (w->watch->timeout_ms >= 0 && left <= 0)
            return print_stopped(w, ERR_TIMEOUT, "the drain has not ended yet");
        int64_t pause = w->watch->timeout_ms >= 0 && left < POLL_MS ? left : POLL_MS;
        if (wait_pause(signals, pause)) {
            (void)print_stopped(w, ERR_TIMEOUT, "interrupted");
            return EXIT_INTERRUPTED;
        }
    }
}

int drain_watch(const struct drain_watch *watch, struct json_object **out_object)
{
    struct err err = {0};
    char path[KINDS_PATH_MAX];
    if (!kind_path(KIND_DRAIN, NULL, watch->name, path, &err))
        return cli_fail(&err, NULL);
    int signals = wait_open_signals(&err);
    if (signals < 0)
        return cli_fail(&err, NULL);
    int64_t now_ms = clock_mono_ms(clock_system());
    struct watching w = {.watch = watch,
                         .live = cli_is_terminal(STDERR_FILENO),
                         .began_ms = now_ms,
                         .seen_ms = now_ms};
    int status = watch_loop(&w, path, signals);
    (void)close(signals);
    OWNED(json_object) last = w.last;
    if (status == EXIT_DONE)
        *out_object = TAKE(last);
    return status;
}
