/* follow.c - see follow.h. */
#include "cli/common/follow.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/common/kinds.h"
#include "cli/common/view.h"

enum { SELECTOR_MAX = 1024 };

struct follow {
    struct streams *streams; /* NULL in tests: nothing is opened */
    const struct clock *clock;
    struct follow_sink sink;
    struct stream *stream;
    char path[KINDS_PATH_MAX], labels[SELECTOR_MAX], fields[SELECTOR_MAX];
    char version[FOLLOW_VERSION_MAX]; /* of the last change; empty: begin with everything */
    bool is_telling_all;              /* between BEGIN and SYNCED */
    bool has_line;                    /* since the connection was opened */
    uint32_t random;
    struct buf line; /* its beginning */
    struct follow_link link;
};

int64_t follow_pause_ms(unsigned tries, uint32_t random)
{
    int64_t pause = FOLLOW_PAUSE_MS;
    if (tries == 0)
        return 0;
    for (unsigned i = 1; i < tries && pause < FOLLOW_PAUSE_MAX_MS; i++)
        pause *= 2;
    if (pause > FOLLOW_PAUSE_MAX_MS)
        pause = FOLLOW_PAUSE_MAX_MS;
    return pause - pause / 4 + (int64_t)(random % (uint32_t)(pause / 4 + 1));
}

static bool copy(char *out, size_t n, const char *text, struct err *err)
{
    return text_copy(out, n, text) || err_set(err, ERR_INVALID, "'%.60s...' is too long", text);
}

struct follow *follow_new(struct streams *streams, const struct clock *clock,
                          const struct follow_spec *spec, const struct follow_sink *sink,
                          struct err *err)
{
    OWNED(follow) f = calloc(1, sizeof *f);
    if (f == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for a watch");
        return NULL;
    }
    f->streams = streams;
    f->clock = clock;
    f->sink = *sink;
    f->random = (uint32_t)getpid();
    buf_init(&f->line, FOLLOW_LINE_MAX);
    if (!copy(f->path, sizeof f->path, spec->path, err) ||
        !copy(f->labels, sizeof f->labels, spec->labels, err) ||
        !copy(f->fields, sizeof f->fields, spec->fields, err) ||
        !copy(f->version, sizeof f->version, spec->version, err))
        return NULL;
    f->link.is_synced = f->version[0] != '\0';
    return TAKE(f);
}

void follow_free(struct follow *follow)
{
    if (follow == NULL)
        return;
    stream_close(follow->stream);
    buf_fini(&follow->line);
    free(follow);
}

struct follow_link follow_link(const struct follow *follow)
{
    return follow->link;
}

bool follow_path(const struct follow *follow, char *out, struct err *err)
{
    struct buf path;
    buf_init(&path, FOLLOW_PATH_MAX - 1);
    buf_addf(&path, "%s?watch=1&allowWatchBookmarks=true", follow->path);
    if (follow->version[0] != '\0')
        buf_addf(&path, "&resourceVersion=%s", follow->version);
    else
        buf_add(&path, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    path_add_query(&path, "labelSelector", follow->labels);
    path_add_query(&path, "fieldSelector", follow->fields);
    bool fits = !path.failed && text_copy(out, FOLLOW_PATH_MAX, path.data);
    buf_fini(&path);
    return fits || err_set(err, ERR_INVALID, "the selectors are too long");
}

/* ---- events ---- */

static void keep_version(struct follow *f, struct json_object *object)
{
    const char *version = view_text(object, "metadata.resourceVersion");
    if (*version != '\0' && strspn(version, "0123456789") == strlen(version))
        TEXT_SET(f->version, version);
}

static void on_bookmark(struct follow *f, struct json_object *object)
{
    struct json_object *annotations = json_at(object, "metadata.annotations"), *end = NULL;
    keep_version(f, object);
    if (!f->is_telling_all || annotations == NULL ||
        !json_object_object_get_ex(annotations, "k8s.io/initial-events-end", &end))
        return;
    f->is_telling_all = false;
    f->link.is_synced = true;
    f->sink.on_event(f->sink.ctx, FOLLOW_SYNCED, NULL);
}

/* The appliance ends a watch with an error of its own. */
static bool on_error(struct json_object *object, struct err *err)
{
    return client_fail_from_status(view_i64(object, "code", 500), object, err);
}

static bool on_line(struct follow *f, const char *line, size_t n, struct err *err)
{
    static const struct {
        const char *type;
        enum follow_event event;
    } types[] = {
        {"ADDED", FOLLOW_ADDED}, {"MODIFIED", FOLLOW_MODIFIED}, {"DELETED", FOLLOW_DELETED}};
    OWNED(json_object) parsed = json_parse(line, n, "the watch", err);
    struct json_object *object = parsed != NULL ? json_at(parsed, "object") : NULL;
    if (object == NULL) {
        *err = (struct err){0}; /* instead of what the reader says about it */
        return err_set(err, ERR_INTERNAL, "the appliance sent something else than a watch");
    }
    const char *type = view_text(parsed, "type");
    if (text_equal(type, "BOOKMARK"))
        on_bookmark(f, object);
    if (text_equal(type, "ERROR"))
        return on_error(object, err);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!text_equal(type, types[i].type))
            continue;
        if (!f->is_telling_all) /* those of the beginning are in no order */
            keep_version(f, object);
        f->sink.on_event(f->sink.ctx, types[i].event, object);
    }
    f->has_line = true;
    return true;
}

/* The first bytes of an answer. */
static void connected(struct follow *f)
{
    if (f->link.is_connected)
        return;
    f->link.is_connected = true;
    f->link.tries = 0;
    f->link.err = (struct err){0};
    if (f->version[0] != '\0')
        return;
    f->is_telling_all = true;
    f->link.is_synced = false;
    f->sink.on_event(f->sink.ctx, FOLLOW_BEGIN, NULL);
}

bool follow_bytes(void *follow, const char *bytes, size_t n, struct err *err)
{
    struct follow *f = follow;
    connected(f);
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end != NULL ? (size_t)(end - bytes) : n;
        buf_add_bytes(&f->line, bytes, part);
        if (f->line.failed)
            return err_set(err, ERR_LIMIT, "an object of the watch is larger than %d MiB",
                           FOLLOW_LINE_MAX >> 20);
        if (end == NULL)
            return true;
        bool is_taken = f->line.length == 0 || on_line(f, f->line.data, f->line.length, err);
        f->line.length = 0;
        if (!is_taken)
            return false;
        bytes = end + 1;
        n -= part + 1;
    }
    return true;
}

/* ---- the connection ---- */

static void plan_next(struct follow *f)
{
    f->random = f->random * 1664525u + 1013904223u;
    f->link.retry_ms = clock_mono_ms(f->clock) + follow_pause_ms(f->link.tries, f->random >> 8);
}

/* Two ends cost no pause: one that was announced (a watch lasts an hour), unless nothing came at
 * all, and a version that is not kept, which is not asked for again. */
void follow_ended(void *follow, const struct err *err)
{
    struct follow *f = follow;
    bool is_gone = err != NULL && err->code == ERR_EXPIRED;
    bool may_at_once = is_gone ? f->version[0] != '\0' : err == NULL && f->has_line;
    f->stream = NULL;
    f->link.is_connected = false;
    f->line.length = 0;
    f->line.failed = false;
    if (f->is_telling_all || is_gone)
        f->version[0] = '\0';
    f->is_telling_all = f->has_line = false;
    f->link.tries = may_at_once ? 0 : f->link.tries + 1;
    if (err != NULL)
        f->link.err = *err;
    else if (!may_at_once)
        (void)err_set(&f->link.err, ERR_UNREACHABLE, "the appliance ended the watch");
    plan_next(f);
}

void follow_drop(struct follow *follow, const struct err *why)
{
    if (follow->stream == NULL)
        return;
    stream_close(follow->stream);
    follow->has_line = false;
    follow_ended(follow, why);
}

void follow_hurry(struct follow *follow)
{
    follow->link.retry_ms = clock_mono_ms(follow->clock);
}

void follow_restart(struct follow *follow)
{
    stream_close(follow->stream);
    follow->stream = NULL;
    follow->version[0] = '\0';
    follow->line.length = 0;
    follow->is_telling_all = follow->has_line = follow->link.is_connected = false;
    follow->link.retry_ms = clock_mono_ms(follow->clock);
}

void follow_run(struct follow *follow)
{
    char path[FOLLOW_PATH_MAX];
    struct err err = {0};
    if (follow->stream != NULL || clock_mono_ms(follow->clock) < follow->link.retry_ms)
        return;
    const struct stream_request request = {.method = "GET", .path = path};
    const struct stream_sink sink = {follow, follow_bytes, follow_ended};
    if (follow_path(follow, path, &err))
        follow->stream = stream_open(follow->streams, &request, &sink, &err);
    if (follow->stream == NULL)
        follow_ended(follow, &err);
}

int64_t follow_wait_ms(const struct follow *follow, int64_t most_ms)
{
    int64_t left = follow->link.retry_ms - clock_mono_ms(follow->clock);
    if (follow->stream != NULL || left >= most_ms)
        return most_ms;
    return left > 0 ? left : 0;
}
