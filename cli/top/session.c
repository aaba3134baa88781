/* session.c - see session.h. */
#include "cli/top/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/common/fold.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"

enum { PATH_MAX_ = FOLLOW_PATH_MAX, BODY_MAX = 512 };

/* The short requests. */
enum errand {
    ERRAND_NONE,
    ERRAND_HEALTH,
    ERRAND_RIGHT,
    ERRAND_VERDICT,
    ERRAND_OBJECT,
    ERRAND_EVENTS,
    ERRAND_ABORT
};

struct watching {
    struct session *session;
    enum now_kind kind;
    struct follow *follow;
};

struct session {
    struct top *top;
    const struct clock *clock;
    struct client *client;
    struct streams *streams;
    struct watching watches[NOW_KINDS];
    int64_t heard_ms;              /* mono: when the appliance last said something */
    bool has_changed, got_through; /* got through: a watch is connected */
    enum errand errand;            /* under way */
    struct top_target of;          /* what it is about, if it was a command */
    bool wants_abort, wants_page;  /* commands that wait; of what was on the screen then */
    struct top_target to_abort, to_describe;
    struct stream *stream;   /* of the errand */
    struct buf answer, page; /* page: of an object, until its events have come */
    char uid[NOW_NODE_MAX];  /* of that object */
    uint64_t verdict_key;
    int columns;
};

static void hear(struct session *s)
{
    s->heard_ms = clock_mono_ms(s->clock);
    s->has_changed = true;
}

static void on_event(void *ctx, enum follow_event event, struct json_object *object)
{
    struct watching *watch = ctx;
    hear(watch->session);
    now_take(&watch->session->top->now, watch->kind, event, object);
}

/* ---- errands ---- */

static void begin_errand(struct session *s, enum errand errand,
                         const struct stream_request *request);

static void take_right(struct session *s, struct json_object *answer)
{
    s->top->right = view_bool(answer, "status.allowed") ? RIGHT_YES : RIGHT_NO;
}

static void show_page(struct session *s)
{
    struct buf folded;
    char title[TOP_TITLE_MAX];
    const struct top_target *target = &s->of;
    buf_init(&folded, PAGE_MAX);
    fold_page(s->page.data != NULL ? s->page.data : "", (size_t)s->columns, &folded);
    buf_fini(&s->page);
    (void)snprintf(title, sizeof title, "%s/%s", kind_short(target->kind), target->name);
    char *text = buf_take(&folded);
    if (text != NULL)
        top_show_page(s->top, title, text);
}

/* The page waits for the object's events. */
static void take_object(struct session *s, struct json_object *object)
{
    char path[KINDS_PATH_MAX];
    const struct page_style style = {.width = (size_t)s->columns};
    buf_fini(&s->page);
    buf_init(&s->page, PAGE_MAX);
    page_object(s->of.kind, object, &style, &s->page);
    TEXT_SET(s->uid, view_text(object, "metadata.uid"));
    const struct stream_request request = {"GET", path, NULL, SESSION_ANSWER_MS};
    if (kind_events_path(s->uid, path))
        begin_errand(s, ERRAND_EVENTS, &request);
    else
        show_page(s);
}

static void take_answer(struct session *s, enum errand errand, struct json_object *answer)
{
    char text[TOP_MESSAGE_MAX];
    switch (errand) {
    case ERRAND_RIGHT: take_right(s, answer); break;
    case ERRAND_VERDICT: now_take_verdict(&s->top->now, s->verdict_key, answer); break;
    case ERRAND_OBJECT: take_object(s, answer); break;
    case ERRAND_EVENTS:
        page_events(answer, s->uid, &s->page);
        show_page(s);
        break;
    case ERRAND_ABORT:
        (void)snprintf(text, sizeof text, "%s: abort requested", s->of.name);
        top_say(s->top, false, text);
        break;
    case ERRAND_HEALTH:
    case ERRAND_NONE: break;
    }
}

static void drop_watches(struct session *s, const struct err *why)
{
    for (size_t i = 0; i < NOW_KINDS; i++)
        follow_drop(s->watches[i].follow, why);
}

static void take_failure(struct session *s, enum errand errand, const struct err *err)
{
    bool is_silent = err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT;
    switch (errand) {
    case ERRAND_HEALTH:
        if (is_silent)
            drop_watches(s, err);
        break;
    case ERRAND_RIGHT: s->top->right = is_silent ? RIGHT_UNKNOWN : RIGHT_NO; break;
    case ERRAND_VERDICT: now_take_verdict(&s->top->now, s->verdict_key, NULL); break;
    case ERRAND_EVENTS: show_page(s); break;
    case ERRAND_OBJECT:
    case ERRAND_ABORT: top_say(s->top, true, err->text); break;
    case ERRAND_NONE: break;
    }
}

static bool on_bytes(void *ctx, const char *bytes, size_t n, struct err *err)
{
    struct session *s = ctx;
    hear(s);
    buf_add_bytes(&s->answer, bytes, n);
    return !s->answer.failed || err_set(err, ERR_LIMIT, "the appliance's answer is too large");
}

static void on_end(void *ctx, const struct err *err)
{
    struct session *s = ctx;
    enum errand errand = s->errand;
    struct err unreadable = {0};
    s->errand = ERRAND_NONE;
    s->stream = NULL;
    s->has_changed = true;
    if (err != NULL) {
        take_failure(s, errand, err);
        return;
    }
    hear(s);
    OWNED(json_object) answer = errand != ERRAND_HEALTH
                                    ? json_parse(s->answer.data != NULL ? s->answer.data : "",
                                                 s->answer.length, "the answer", &unreadable)
                                    : NULL;
    if (errand != ERRAND_HEALTH && answer == NULL)
        take_failure(s, errand, &unreadable);
    else
        take_answer(s, errand, answer);
}

static void begin_errand(struct session *s, enum errand errand,
                         const struct stream_request *request)
{
    struct err err = {0};
    const struct stream_sink sink = {s, on_bytes, on_end};
    buf_fini(&s->answer);
    buf_init(&s->answer, SESSION_ANSWER_MAX);
    s->errand = errand;
    s->stream = stream_open(s->streams, request, &sink, &err);
    if (s->stream != NULL)
        return;
    s->errand = ERRAND_NONE;
    take_failure(s, errand, &err);
}

static void begin_health(struct session *s)
{
    const struct stream_request request = {"GET", "/healthz", NULL, SESSION_ANSWER_MS};
    s->heard_ms = clock_mono_ms(s->clock); /* asked once, then again after a while */
    begin_errand(s, ERRAND_HEALTH, &request);
}

static void begin_right(struct session *s, const char *ns)
{
    OWNED(json_object) body = json_object_new_object();
    struct json_object *spec = json_add_object(body, "spec");
    struct json_object *what = json_add_object(spec, "resourceAttributes");
    json_add_text(what, "namespace", ns);
    json_add_text(what, "verb", "update");
    json_add_text(what, "group", "kubevirt.io");
    json_add_text(what, "resource", "virtualmachineinstancemigrations");
    json_add_text(what, "subresource", "abort");
    TEXT_SET(s->top->right_ns, ns);
    s->top->right = RIGHT_UNKNOWN;
    const struct stream_request request = {
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN), SESSION_ANSWER_MS};
    begin_errand(s, ERRAND_RIGHT, &request);
}

static void begin_verdict(struct session *s, const struct now_row *row)
{
    char path[KINDS_PATH_MAX];
    struct err ignored = {0};
    const struct stream_request request = {"GET", path, NULL, SESSION_ANSWER_MS};
    s->verdict_key = row->key;
    if (kind_path(KIND_MIGRATION, row->ns, row->migration, path, &ignored))
        begin_errand(s, ERRAND_VERDICT, &request);
}

static void begin_command(struct session *s)
{
    char path[KINDS_PATH_MAX], abort_path[KINDS_PATH_MAX + 8];
    struct err err = {0};
    enum errand wanted = s->wants_abort ? ERRAND_ABORT : ERRAND_OBJECT;
    s->of = s->wants_abort ? s->to_abort : s->to_describe;
    *(s->wants_abort ? &s->wants_abort : &s->wants_page) = false;
    if (!kind_path(s->of.kind, s->of.ns[0] != '\0' ? s->of.ns : NULL, s->of.name, path, &err)) {
        take_failure(s, wanted, &err);
        return;
    }
    (void)snprintf(abort_path, sizeof abort_path, "%s/abort", path);
    const struct stream_request get = {"GET", path, NULL, SESSION_ANSWER_MS};
    const struct stream_request abort = {"PUT", abort_path, "{}", SESSION_ANSWER_MS};
    begin_errand(s, wanted, wanted == ERRAND_ABORT ? &abort : &get);
}

/* The most urgent one. Without a connection only its health is asked for, every few seconds: a
 * request that fails at once would be made again and again. */
static void next_errand(struct session *s)
{
    const char *ns = top_right_wanted(s->top);
    const struct now_row *row = NULL;
    bool is_silent = clock_mono_ms(s->clock) - s->heard_ms >= SESSION_SILENT_MS;
    if (s->wants_abort || s->wants_page)
        begin_command(s);
    else if (is_silent)
        begin_health(s);
    else if (!s->top->link.is_connected)
        return;
    else if (ns != NULL && !s->top->is_plain)
        begin_right(s, ns);
    else if ((row = now_next_unasked(&s->top->now)) != NULL)
        begin_verdict(s, row);
}

/* ---- the connection ---- */

bool session_failure(const struct session *session, struct err *out_err)
{
    for (size_t i = 0; i < NOW_KINDS; i++) {
        struct follow_link link = follow_link(session->watches[i].follow);
        if (link.err.code == ERR_NONE || link.is_connected)
            continue;
        *out_err = link.err;
        return true;
    }
    return false;
}

/* The others need not wait for their turn when one has got through. */
static void hurry(struct session *s)
{
    bool is_any = false;
    for (size_t i = 0; i < NOW_KINDS; i++)
        is_any = is_any || follow_link(s->watches[i].follow).is_connected;
    for (size_t i = 0; i < NOW_KINDS && is_any && !s->got_through; i++)
        follow_hurry(s->watches[i].follow);
    s->got_through = is_any;
}

static void read_link(struct session *s)
{
    struct top_link *link = &s->top->link;
    struct err err = {0};
    int64_t retry_ms = INT64_MAX, now_ms = clock_mono_ms(s->clock);
    bool was_connected = link->is_connected;
    link->is_connected = true;
    for (size_t i = 0; i < NOW_KINDS; i++) {
        struct follow_link of_watch = follow_link(s->watches[i].follow);
        if (of_watch.is_connected)
            continue;
        link->is_connected = false;
        retry_ms = of_watch.retry_ms < retry_ms ? of_watch.retry_ms : retry_ms;
    }
    link->was_connected = link->was_connected || link->is_connected;
    if (was_connected && !link->is_connected)
        link->since_ms = clock_wall_ms(s->clock) - (now_ms - s->heard_ms);
    if (was_connected != link->is_connected)
        s->has_changed = true;
    if (link->is_connected)
        return;
    s->top->right = RIGHT_UNKNOWN;
    link->retry_in_ms = retry_ms - now_ms;
    if (session_failure(s, &err))
        TEXT_SET(link->why, err.text);
}

struct session *session_new(struct client *client, struct top *top, const struct clock *clock,
                            struct err *err)
{
    OWNED(session) s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for watches");
        return NULL;
    }
    s->top = top;
    s->clock = clock;
    s->client = client;
    s->heard_ms = clock_mono_ms(clock);
    top->link.since_ms = clock_wall_ms(clock);
    s->streams = streams_new(client, err);
    for (enum now_kind kind = 0; kind < NOW_KINDS && s->streams != NULL; kind++) {
        struct watching *watch = &s->watches[kind];
        char path[KINDS_PATH_MAX];
        const struct follow_spec spec = {.path = path, .fields = now_field_selector(kind)};
        const struct follow_sink sink = {watch, on_event};
        *watch = (struct watching){.session = s, .kind = kind};
        if (kind_path(now_api_kind(kind), top->ns, NULL, path, err))
            watch->follow = follow_new(s->streams, clock, &spec, &sink, err);
        if (watch->follow == NULL)
            return NULL;
    }
    return s->streams != NULL ? TAKE(s) : NULL;
}

void session_free(struct session *session)
{
    if (session == NULL)
        return;
    for (size_t i = 0; i < NOW_KINDS; i++)
        follow_free(session->watches[i].follow);
    streams_free(session->streams);
    buf_fini(&session->answer);
    buf_fini(&session->page);
    free(session);
}

unsigned session_wait(struct session *session, const int *descriptors, size_t n, int64_t most_ms)
{
    struct session *s = session;
    for (enum now_kind kind = 0; kind < NOW_KINDS; kind++) {
        struct follow *follow = s->watches[kind].follow;
        bool is_connected = follow_link(follow).is_connected; /* else it has begun anew already */
        if (is_connected && now_wants_list(&s->top->now, kind))
            follow_restart(follow);
        follow_run(follow);
        most_ms = follow_wait_ms(follow, most_ms);
    }
    if (s->errand == ERRAND_NONE)
        next_errand(s);
    unsigned readable = streams_wait(s->streams, descriptors, n, most_ms);
    hurry(s);
    read_link(s);
    return readable;
}

void session_command(struct session *session, enum top_command command, int columns)
{
    session->columns = columns;
    if (command == COMMAND_DESCRIBE) {
        session->to_describe = session->top->target;
        session->wants_page = true;
    }
    if (command == COMMAND_ABORT && session->wants_abort) {
        top_say(session->top, true, "another abort waits for its turn: nothing was aborted");
    } else if (command == COMMAND_ABORT) {
        session->to_abort = session->top->target;
        session->wants_abort = true;
    }
}

bool session_has_changed(struct session *session)
{
    bool has_changed = session->has_changed;
    session->has_changed = false;
    return has_changed;
}

bool session_is_complete(const struct session *session)
{
    const struct now *now = &session->top->now;
    for (size_t i = 0; i < now->n; i++)
        if (now->rows[i].section == SECTION_INCIDENTS && !now->rows[i].has_verdict &&
            now->rows[i].migration[0] != '\0')
            return false;
    return now_is_synced(now);
}
