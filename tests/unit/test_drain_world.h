/* test_drain_world.h - a small, real fleet for the stories of drains and evacuations: three nodes
 * and the guests on them. test_drain_jobs.h moves them. */
#ifndef TESTS_UNIT_TEST_DRAIN_WORLD_H
#define TESTS_UNIT_TEST_DRAIN_WORLD_H

#include "tests/test.h"

#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/control/drain.h"

enum { WORLD_NODES = 3, WORLD_GUESTS = 16, MIB_KIB = 1024 };
#define MOVES "{\"evictionStrategy\":\"LiveMigrate\"}"
#define MOVES_IF "{\"evictionStrategy\":\"LiveMigrateIfPossible\"}"
#define STAYS "{\"evictionStrategy\":\"None\"}"
#define EXTERNAL "{\"evictionStrategy\":\"External\"}"

struct world {
    struct fleet *f;
    struct effects fx;
    struct moment now;
    struct hv_guest guests[WORLD_GUESTS]; /* uuid "": none */
    int at[WORLD_GUESTS];                 /* index of the node it is on */
    struct object *drain;
};

static inline const char *world_node_name(int node)
{
    static const char *const names[WORLD_NODES] = {"n1", "n2", "n3"};
    return names[node];
}

static inline struct node *world_node(struct world *w, int node)
{
    return fleet_node(w->f, world_node_name(node));
}

static inline int world_index(const struct world *w, const char *name)
{
    for (int i = 0; i < WORLD_GUESTS; i++)
        if (w->guests[i].uuid[0] != '\0' && strcmp(w->guests[i].name, name) == 0)
            return i;
    fail_msg("no guest %s", name);
    return -1;
}

static inline struct guest *world_guest(struct world *w, const char *name)
{
    return fleet_guest(w->f, w->guests[world_index(w, name)].uuid);
}

static inline struct job *world_job(struct world *w, const char *name)
{
    return fleet_active_job(w->f, w->guests[world_index(w, name)].uuid);
}

static inline void world_list(struct world *w, int node)
{
    struct hv_guest here[WORLD_GUESTS];
    struct hv_guest_list list = {.guests = here};
    for (int i = 0; i < WORLD_GUESTS; i++)
        if (w->guests[i].uuid[0] != '\0' && w->at[i] == node)
            here[list.n++] = w->guests[i];
    world_node(w, node)->connected = true;
    fleet_apply_list(w->f, world_node(w, node), &list, w->now.wall_ms);
}

static inline void world_up(struct world *w, int node, const char *name, uint64_t mib,
                            const char *settings)
{
    int i = 0;
    while (w->guests[i].uuid[0] != '\0')
        assert_true(++i < WORLD_GUESTS);
    struct hv_guest *guest = &w->guests[i];
    *guest = (struct hv_guest){.state = HV_STATE_RUNNING,
                               .reason = HV_RUNNING_BOOTED,
                               .memory_kib = mib * MIB_KIB,
                               .vcpus = 1};
    (void)snprintf(guest->uuid, sizeof guest->uuid, "00000000-0000-0000-0000-0000000000%02d", i);
    TEXT_SET(guest->name, name);
    TEXT_SET(guest->ns, "default");
    guest->settings = settings != NULL ? strdup(settings) : NULL;
    w->at[i] = node;
    world_list(w, node);
}

static inline void world_set_state(struct world *w, const char *name, int state, int reason)
{
    int i = world_index(w, name);
    w->guests[i].state = state;
    w->guests[i].reason = reason;
    world_list(w, w->at[i]);
}

static inline void world_gone(struct world *w, const char *name)
{
    int i = world_index(w, name);
    w->guests[i].uuid[0] = '\0';
    free(w->guests[i].settings);
    w->guests[i].settings = NULL;
    world_list(w, w->at[i]);
}

static inline void world_lose(struct world *w, int node)
{
    world_node(w, node)->connected = false;
    world_node(w, node)->listed = false;
}

/* What its definition says: rows is a set of unmovable ones. */
static inline void world_define(struct world *w, const char *name, uint32_t rows)
{
    int i = world_index(w, name);
    struct guest_facts facts = {.migratable = {.known = true, .rows = rows}};
    fleet_apply_definition(w->f, world_node(w, w->at[i]), w->guests[i].uuid, &facts,
                           w->now.wall_ms);
}

static inline void world_sleep(struct world *w, int64_t ms)
{
    w->now.mono_ms += ms;
    w->now.wall_ms += ms;
}

static inline struct object *world_object(struct world *w, enum object_kind kind, const char *ns,
                                          const char *name, const char *spec)
{
    struct object *object = calloc(1, sizeof *object);
    assert_non_null(object);
    object->kind = kind;
    TEXT_SET(object->ns, ns);
    TEXT_SET(object->name, name);
    TEXT_SET(object->requester, "someone");
    object->spec_json = strdup(spec);
    object->created_ms = w->now.wall_ms;
    fleet_make_uid(w->f, object->uid);
    fleet_add_object(w->f, object);
    return object;
}

/* Is there such an event, and how often? */
static inline unsigned world_told(const struct world *w, const char *reason, const char *part)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == EFFECT_EVENT &&
             strcmp(w->fx.list[i].of.event.reason, reason) == 0 &&
             strstr(w->fx.list[i].of.event.message, part) != NULL;
    return n;
}

static inline unsigned world_orders(const struct world *w, enum effect_kind kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        n += w->fx.list[i].kind == kind;
    return n;
}

static inline void world_make(struct world *w)
{
    static const struct fleet_config config = {.jobs_kept_per_guest = 20, .jobs_kept = 1000};
    struct err err = {0};
    *w = (struct world){.now = {.mono_ms = 1000, .wall_ms = 1700000000000}};
    w->f = fleet_new(&config, 1, &err);
    assert_non_null(w->f);
    w->f->store_ok = true;
    for (int i = 0; i < WORLD_NODES; i++) {
        struct hv_host host = {0};
        TEXT_SET(host.name, world_node_name(i));
        assert_true(fleet_add_node(w->f, &host, w->now.wall_ms, &err));
        struct node *node = world_node(w, i);
        node->has_facts = true;
        node->facts.memory_kib = 64 * 1024 * MIB_KIB;
        node->facts.cpus = 64;
        world_list(w, i);
    }
}

static inline void world_free(struct world *w)
{
    for (int i = 0; i < WORLD_GUESTS; i++)
        free(w->guests[i].settings);
    effects_fini(&w->fx);
    fleet_free(w->f);
}

#endif
