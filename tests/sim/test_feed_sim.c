/* test_feed_sim.c - who watches sees what who lists sees: random fleets, and a client that reads
 * the change feed and nothing else. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "exporter/api/feed.h"
#include "tests/sim/wild_fleet.h"

enum { SEEDS = 4, COMPARE_EVERY = 7 };

struct mirrored { /* an object as the events told it */
    char key[512];
    char *object;
    uint64_t version;
    size_t phases; /* of a migration: those that were told */
    UT_hash_handle hh;
};
struct client {
    struct clock_fake clock;
    struct feed *feed;
    struct mirrored *objects[KIND_COUNT];
    uint64_t at[KIND_COUNT];
    uint64_t seen, events[CHANGE_TYPES], compared;
};

static void forget(struct client *client)
{
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++) {
        struct mirrored *object, *next;
        HASH_ITER(hh, client->objects[kind], object, next)
        {
            HASH_DEL(client->objects[kind], object);
            free(object->object);
            free(object);
        }
    }
}

static void begin(struct client *client)
{
    struct err err = {0};
    client->feed = feed_new(&client->clock.clock, false, &err);
    assert_non_null(client->feed);
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++)
        (void)feed_warm(client->feed, kind);
}

static struct mirrored *find(struct client *client, enum api_kind kind, const char *ns,
                             const char *name, char *out_key)
{
    struct mirrored *object = NULL;
    (void)snprintf(out_key, sizeof object->key, "%s/%s", ns, name);
    HASH_FIND_STR(client->objects[kind], out_key, object);
    return object;
}

static void put(struct client *client, enum api_kind kind, const char *ns, const char *name,
                const char *text, uint64_t version)
{
    char key[sizeof((struct mirrored *)NULL)->key];
    struct mirrored *object = find(client, kind, ns, name, key);
    if (object == NULL) {
        object = calloc(1, sizeof *object);
        assert_non_null(object);
        TEXT_SET(object->key, key);
        HASH_ADD_STR(client->objects[kind], key, object);
    }
    free(object->object);
    object->object = strdup(text);
    object->version = version;
}

static size_t phases_of(const char *text)
{
    struct err err = {0};
    OWNED(json_object) object = json_parse(text, strlen(text), "object", &err);
    assert_non_null(object);
    struct json_object *steps = json_at(object, "status.phaseTransitionTimestamps");
    size_t n = json_object_array_length(steps);
    struct json_object *last = json_object_array_get_idx(steps, n - 1);
    assert_string_equal(json_object_get_string(json_at(last, "phase")),
                        json_object_get_string(json_at(object, "status.phase")));
    return n;
}

/* Each phase of a migration is told, however many of them there are in one turn. */
static void check_phases(struct mirrored *object, const struct feed_change *change)
{
    size_t is = phases_of(change->object);
    size_t was = change->type == CHANGE_ADDED ? 0 : object->phases;
    if (is > was + 1 || (change->type == CHANGE_ADDED && is != 1))
        fail_msg("%s: phase %zu was told after phase %zu", change->name, is, was);
    object->phases = is;
}

static void apply(struct client *client, enum api_kind kind, const struct feed_change *change)
{
    char key[sizeof((struct mirrored *)NULL)->key];
    struct mirrored *object = find(client, kind, change->ns, change->name, key);
    client->events[change->type]++;
    if ((change->type == CHANGE_ADDED) != (object == NULL))
        fail_msg("%s %s: event %d, but it is%s there", api_kind_row(kind)->kind, key,
                 (int)change->type, object == NULL ? " not" : "");
    if (change->version <= client->at[kind])
        fail_msg("%s %s: versions went back", api_kind_row(kind)->kind, key);
    client->at[kind] = change->version;
    if (change->type != CHANGE_DELETED) {
        put(client, kind, change->ns, change->name, change->object, change->version);
        if (kind == KIND_MIGRATION)
            check_phases(find(client, kind, change->ns, change->name, key), change);
        return;
    }
    HASH_DEL(client->objects[kind], object);
    free(object->object);
    free(object);
}

static char *text_of(const struct versions *v, enum api_kind kind, size_t i)
{
    struct buf text;
    OWNED(json_object) object = api_view_of(kind)->object(v->snapshot, i);
    buf_init(&text, 1 << 20);
    api_set_version(object, versions_of(v, kind, i));
    api_add_json(&text, object);
    return buf_take(&text);
}

/* A list: what the client has must be just that. */
static void compare(struct client *client, const struct versions *v, bool take)
{
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct api_view *view = api_view_of(kind);
        size_t there = 0;
        /* Usage changes without a version. */
        bool is_watched = view != NULL && strstr(api_kind_row(kind)->verbs, "watch") != NULL;
        for (size_t i = 0; view != NULL && i < view->count(v->snapshot); i++) {
            char key[sizeof((struct mirrored *)NULL)->key];
            if (view->is_there != NULL && !view->is_there(v->snapshot, i))
                continue;
            there++;
            const char *ns = view->ns == NULL ? "" : view->ns(v->snapshot, i);
            OWNED_TEXT text = text_of(v, kind, i);
            if (take)
                put(client, kind, ns, view->name(v->snapshot, i), text, versions_of(v, kind, i));
            struct mirrored *object = find(client, kind, ns, view->name(v->snapshot, i), key);
            if (take && kind == KIND_MIGRATION)
                object->phases = phases_of(text);
            if (object == NULL || (is_watched && strcmp(object->object, text) != 0))
                fail_msg("%s %s: the list says\n%s\nthe watch said\n%s", api_kind_row(kind)->kind,
                         key, text, object == NULL ? "nothing" : object->object);
            client->compared++;
        }
        if (take)
            client->at[kind] = v->newest;
        if (there != HASH_COUNT(client->objects[kind]))
            fail_msg("%s: %zu are listed, %u were watched", api_kind_row(kind)->kind, there,
                     HASH_COUNT(client->objects[kind]));
    }
}

static void read_changes(struct client *client)
{
    for (enum api_kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct feed_change *change;
        uint64_t at;
        enum feed_found found;
        while ((found = feed_next(client->feed, kind, client->at[kind], &change, &at)) ==
               FEED_FOUND) {
            apply(client, kind, change);
            feed_change_unref(change);
        }
        assert_int_equal(found, FEED_NONE);
        client->at[kind] = at;
    }
}

static void see(void *ctx, const struct snapshot *snapshot)
{
    struct client *client = ctx;
    bool is_first = client->feed == NULL;
    if (is_first)
        begin(client);
    feed_take(client->feed, snapshot);
    const struct versions *v = feed_newest(client->feed);
    if (!is_first)
        read_changes(client);
    if (is_first || client->seen++ % COMPARE_EVERY == 0)
        compare(client, v, is_first);
    versions_unref(v);
}

static void crashed(void *ctx)
{
    struct client *client = ctx;
    feed_free(client->feed);
    client->feed = NULL;
    client->clock.now_ms += 1000;
    forget(client);
}

static void a_watch_sees_what_a_list_sees(void **state)
{
    (void)state;
    uint64_t events[CHANGE_TYPES] = {0}, compared = 0;
    const char *only = getenv("SEED");
    const uint64_t seeds = test_size(1, SEEDS, SEEDS);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct client client = {.seen = 0};
        clock_fake_init(&client.clock, 1700000000000);
        const struct wild_reader reader = {&client, see, crashed};
        struct wild_fleet *w =
            wild_fleet_run_seen(only == NULL ? seed : strtoull(only, NULL, 10), &reader);
        for (enum change_type type = 0; type < CHANGE_TYPES; type++)
            events[type] += client.events[type];
        compared += client.compared;
        crashed(&client);
        wild_fleet_free(w);
    }
    for (enum change_type type = 0; type < CHANGE_TYPES; type++)
        assert_true(events[type] > 10);
    assert_true(compared > 250 * seeds);
}

TEST_FILE(test_feed_sim)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_watch_sees_what_a_list_sees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
