/* api.c - see api.h. */
#include "tests/fuzz/api.h"

#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/publish.h"
#include "exporter/exporter_impl.h"
#include "store/sqlite/sqlite.h"
#include "tests/core_world.h"
#include "tests/fuzz/fuzz.h"

struct api_world {
    struct exporter x;
    struct clock_fake clock;
    struct api_asked asked;
    const char *ns; /* of the request being served */
};

static const char *find(const struct api_field *fields, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(fields[i].key, key) == 0)
            return fields[i].value;
    return NULL;
}

const char *__wrap_http_query(const struct http_request *request, const char *key);
const char *__wrap_http_query(const struct http_request *request, const char *key)
{
    const struct api_fields *fields = request->connection;
    return find(fields->query, fields->n_query, key);
}

const char *__wrap_http_header(const struct http_request *request, const char *key);
const char *__wrap_http_header(const struct http_request *request, const char *key)
{
    const struct api_fields *fields = request->connection;
    return find(fields->headers, fields->n_headers, key);
}

/* ---- the engine ---- */

static void law_of_the_name(const char *name, bool is_prefix)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t n = strlen(name);
    if (n == 0)
        return;
    FUZZ_LAW(n == strspn(name, letters) && name[0] != '-' && name[0] != '.',
             "the engine is asked for a migration called '%s'", name);
    FUZZ_LAW(is_prefix || (name[n - 1] != '-' && name[n - 1] != '.'), "a name '%s'", name);
}

static void law_of_the_metadata(const char *text)
{
    struct err err = {0};
    if (text == NULL)
        return;
    FUZZ_LAW(strlen(text) < REQUEST_METADATA_MAX, "%zu bytes of metadata", strlen(text));
    OWNED(json_object) object = json_parse(text, strlen(text), "metadata", &err);
    FUZZ_LAW(object != NULL, "metadata is no JSON: %s: %s", err.text, text);
    json_object_object_foreach(object, key, value)
    {
        FUZZ_LAW(strcmp(key, "labels") == 0 || strcmp(key, "annotations") == 0, "'%s'", key);
        FUZZ_LAW(json_object_is_type(value, json_type_object), "%s is no object", key);
    }
}

static void law_of_the_requester(const char *who)
{
    FUZZ_LAW(who[0] != '\0', "somebody without a name");
    for (const char *c = who; *c != '\0'; c++)
        FUZZ_LAW(*c >= ' ' && *c <= '~', "a requester that cannot be printed");
}

static void law_of_the_text(const char *text, const char *what)
{
    struct err err = {0};
    if (text == NULL)
        return;
    OWNED(json_object) value = json_parse(text, strlen(text), what, &err);
    FUZZ_LAW(value != NULL, "%s is no JSON: %s: %s", what, err.text, text);
}

static bool create(void *ctx, const struct migration_request *request,
                   struct migration_ref *out_ref, struct err *err)
{
    struct api_world *w = ctx;
    w->asked.creates++;
    FUZZ_LAW(strcmp(request->ns, w->ns) == 0, "namespace %s became %s", w->ns, request->ns);
    FUZZ_LAW(request->guest_name[0] != '\0', "a migration of nobody");
    law_of_the_name(request->name, false);
    law_of_the_name(request->generate_name, true);
    law_of_the_metadata(request->metadata_json);
    law_of_the_requester(request->requester);
    law_of_the_text(request->selector_json, "selector");
    law_of_the_text(request->volumes_json, "volumes");
    if (request->guest_name[0] == '!') /* a guest the engine says no to, in every way it can */
        return err_set(err, (enum err_code)(1 + strlen(request->guest_name) % (ERR_COUNT - 1)),
                       "no: %s", request->guest_name);
    TEXT_SET(out_ref->uid, "30000000-0000-4000-8000-000000000000");
    TEXT_SET(out_ref->ns, request->ns);
    TEXT_SET(out_ref->name, request->name[0] != '\0' ? request->name : "migration-x7k2p");
    return true;
}

static bool cancel(void *ctx, const char *ns, const char *name, const char *requester, bool remove,
                   struct err *err)
{
    struct api_world *w = ctx;
    (void)remove;
    w->asked.cancels++;
    FUZZ_LAW(strcmp(ns, w->ns) == 0 && name[0] != '\0' && requester[0] != '\0',
             "'%s' cancels %s/%s", requester, ns, name);
    if (strcmp(name, "m1") == 0)
        return true;
    return err_set(err, name[0] == 'f' ? ERR_REFUSED : ERR_NOT_FOUND, "no %s", name);
}

static const char *ns_asked(const struct api_world *w)
{
    return w->ns == NULL ? "" : w->ns;
}

static bool put(void *ctx, const struct object_request *request, struct migration_ref *out_ref,
                struct err *err)
{
    struct api_world *w = ctx;
    w->asked.puts++;
    FUZZ_LAW(strcmp(request->ns, ns_asked(w)) == 0, "namespace %s became %s", ns_asked(w),
             request->ns);
    FUZZ_LAW(request->name[0] != '\0' && request->kind < OBJECT_COUNT, "a document without a name");
    FUZZ_LAW(!(request->must_be_new && request->must_exist), "new, and there already");
    law_of_the_requester(request->requester);
    law_of_the_metadata(request->metadata_json);
    FUZZ_LAW(request->spec_json != NULL, "a document without a text");
    /* As deep as a client likes: the engine's parser decides about that. */
    if (request->name[0] == 'f')
        return err_set(err, (enum err_code)(1 + strlen(request->name) % (ERR_COUNT - 1)), "no: %s",
                       request->name);
    TEXT_SET(out_ref->uid, "40000000-0000-4000-8000-000000000000");
    return true;
}

static bool remove_object(void *ctx, const struct object_ref *ref, struct err *err)
{
    struct api_world *w = ctx;
    w->asked.removes++;
    FUZZ_LAW(strcmp(ref->ns, ns_asked(w)) == 0 && ref->name[0] != '\0', "%s/%s", ref->ns,
             ref->name);
    law_of_the_requester(ref->requester);
    return ref->name[0] != 'f' || err_set(err, ERR_NOT_FOUND, "no %s", ref->name);
}

static bool resolve(void *ctx, const struct resolve_request *request, struct err *err)
{
    (void)ctx;
    return request->why[0] != '\0' || err_set(err, ERR_REFUSED, "nothing is in doubt");
}

static bool evict(void *ctx, const struct eviction_request *request, struct err *err)
{
    struct api_world *w = ctx;
    w->asked.evictions++;
    FUZZ_LAW(strcmp(request->ns, ns_asked(w)) == 0 && request->pod[0] != '\0', "%s/%s", request->ns,
             request->pod);
    FUZZ_LAW(!request->cancel || !request->allow_shutdown, "a cancel that shuts down");
    law_of_the_requester(request->requester);
    return request->pod[0] != 'f' || err_set(err, ERR_LIMIT, "not now");
}

static bool answer(void *ctx, const struct question *question, char **out_json, struct err *err)
{
    struct api_world *w = ctx;
    w->asked.questions++;
    if (question->name[0] == 'f')
        return err_set(err, ERR_NOT_FOUND, "no %s", question->name);
    *out_json = strdup("{\"nodes\":[]}");
    return *out_json != NULL || err_set(err, ERR_NOMEM, "no memory");
}

/* ---- the world ---- */

static void fill_store(struct store *store)
{
    struct err err = {0};
    const struct store_event row = {.kind = "VirtualMachineInstanceMigration",
                                    .ns = "default",
                                    .name = "m1",
                                    .uid = "u1",
                                    .type = "Normal",
                                    .reason = "Accepted",
                                    .message = "Requested by tester.",
                                    .at_ms = 1700000000000};
    store->ops->begin(store);
    store->ops->put_event(store, &row);
    FUZZ_LAW(store->ops->commit(store, &err), "%s", err.text);
}

/* A job called m1 whose memory moves. */
static const struct snapshot *make_snapshot(void)
{
    struct err err = {0};
    struct core_world *core = core_new();
    struct input input = {.kind = INPUT_CREATE};
    TEXT_SET(input.of.create.request.ns, "default");
    TEXT_SET(input.of.create.request.name, "m1");
    TEXT_SET(input.of.create.request.guest_name, "g1");
    TEXT_SET(input.of.create.request.requester, "tester");
    core_feed(core, &input);
    core_settle(core);
    core_sample(core);
    struct publisher *publisher = publisher_new(&err);
    const struct snapshot *snapshot = publish(publisher, core->fleet, core->now.wall_ms);
    publisher_free(publisher);
    core_free(core);
    return snapshot;
}

/* Made once: serving changes nothing in it. */
static struct api_world *world(void)
{
    static struct api_world w;
    struct err err = {0};
    if (w.x.clock != NULL)
        return &w;
    clock_fake_init(&w.clock, 1700000000000);
    w.x.clock = &w.clock.clock;
    struct access_config access;
    access_config_default(&access);
    access.n_listen = 0;
    w.x.gate = gate_new(&access, NULL, clock_system(), &err);
    w.x.requests = (struct engine_requests){.ctx = &w,
                                            .create = create,
                                            .cancel = cancel,
                                            .put = put,
                                            .remove = remove_object,
                                            .evict = evict,
                                            .ask = answer,
                                            .resolve = resolve};
    w.x.store = store_sqlite_open(NULL, &err);
    w.x.counters = metrics_counters_new(w.x.clock, true, &err);
    w.x.scrape = scrape_new(&err);
    w.x.lists = list_keep_new(&err);
    w.x.feed = feed_new(w.x.clock, false, &err);
    FUZZ_LAW(w.x.gate != NULL && w.x.store != NULL && w.x.counters != NULL && w.x.scrape != NULL &&
                 w.x.lists != NULL && w.x.feed != NULL,
             "%s", err.text);
    TEXT_SET(w.x.version, "fuzz");
    (void)pthread_mutex_init(&w.x.lock, NULL);
    fill_store(w.x.store);
    w.x.snapshot = make_snapshot();
    feed_take(w.x.feed, w.x.snapshot);
    return &w;
}

/* ---- replies ---- */

static void law_of_the_reply(const struct http_reply *reply)
{
    FUZZ_LAW(reply->status >= 200 && reply->status <= 599, "status %u", reply->status);
    bool has_body = reply->body != NULL || reply->stream.next != NULL;
    FUZZ_LAW(has_body != (reply->page != NULL), "a body and a page, or neither");
    if (reply->page != NULL || reply->stream.next != NULL ||
        strcmp(reply->type, "application/json") != 0)
        return;
    struct err err = {0};
    OWNED(json_object) body = json_parse(reply->body, reply->body_bytes, "reply", &err);
    FUZZ_LAW(body != NULL, "the reply is no JSON: %s: %s", err.text, reply->body);
    const char *kind = NULL;
    if (reply->status >= 400)
        FUZZ_LAW(json_get_text(body, "kind", NULL, &kind, &err) && text_equal(kind, "Status"),
                 "a failure that is no Status: %s", reply->body);
}

/* Some pieces; a watch has no end of its own. */
static void read_stream(struct http_stream *stream)
{
    enum http_next next = STREAM_MORE;
    for (unsigned i = 0; i < 8 && next == STREAM_MORE; i++) {
        struct buf piece;
        buf_init(&piece, 16 << 20);
        next = stream->next(stream->ctx, &piece);
        FUZZ_LAW(!piece.failed, "a piece could not be made");
        buf_fini(&piece);
    }
    stream->free(stream->ctx);
}

unsigned api_serve(struct http_request *request, struct api_asked *out_asked)
{
    struct api_world *w = world();
    struct route_parts parts;
    char allow[64];
    struct http_reply reply = {0};
    static const struct access_identity identity = {.source = SOURCE_SOCKET, .role = ROLE_ADMIN};
    request->identity = &identity;
    const struct http_route *route = route_find(request->method, request->path, &parts, allow);
    w->asked = (struct api_asked){0};
    if (route == NULL) {
        FUZZ_LAW(memchr(allow, '\0', sizeof allow) != NULL, "methods without an end");
        return 404;
    }
    request->ns = parts.has_ns ? parts.ns : NULL;
    request->name = parts.has_name ? parts.name : NULL;
    w->ns = request->ns;
    const struct versions *versions = exporter_versions(&w->x);
    struct api_call call = {.x = &w->x,
                            .kind = route->kind,
                            .versions = versions,
                            .snapshot = versions->snapshot,
                            .request = request};
    route->handler(&call, &reply);
    versions_unref(versions);
    law_of_the_reply(&reply);
    if (reply.stream.next != NULL)
        read_stream(&reply.stream);
    http_page_unref(reply.page);
    free(reply.body);
    *out_asked = w->asked;
    return reply.status;
}
