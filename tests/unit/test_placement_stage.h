/* test_placement_stage.h - one guest that asks for something of everything, and a node that has it
 * all: what the tests of placement spoil one thing of. */
#ifndef TESTS_UNIT_TEST_PLACEMENT_STAGE_H
#define TESTS_UNIT_TEST_PLACEMENT_STAGE_H

#include "tests/unit/test_placement_world.h"

/* Guest "g" runs on a and needs something of everything; b has it all, and the db it must be near
 * to; c is in another zone. */
struct stage {
    struct fleet *f;
    struct node *a, *b, *c;
    struct guest *guest, *db;
    struct host_requirements_facts requirements;
    struct labels added;
    struct placement p;
};

static const char guest_settings[] =
    "{\"nodeSelector\":{\"disk\":\"ssd\"},\"affinity\":{\"podAffinity\":{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":"
    "{\"app\":\"db\"}},\"topologyKey\":\"kubernetes.io/hostname\"}]},\"podAntiAffinity\":{"
    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":"
    "{\"app\":\"web\"}},\"topologyKey\":\"zone\"}]}},"
    "\"tolerations\":[{\"key\":\"night\",\"operator\":\"Exists\"}]}";

static inline void ask(struct stage *s)
{
    const char *wanted = s->p.wanted;
    placement_of(s->f, s->guest, NULL, &s->p);
    s->p.added = &s->added;
    s->p.wanted = wanted != NULL ? wanted : "";
}

static inline void set_requirements(struct stage *s)
{
    world_requirements(s->f, s->guest, &s->requirements);
    s->p.requirements = s->guest->owner->requirements;
}

static inline void begin(struct stage *s)
{
    memset(s, 0, sizeof *s);
    s->f = world_fleet();
    s->f->config.bandwidth_per_node = 100 * MIB_S;
    s->a = world_node(s->f, "a", (const char *const[]){"disk", "ssd", "zone", "north", NULL});
    s->b = world_node(s->f, "b", (const char *const[]){"disk", "ssd", "zone", "south", NULL});
    s->c = world_node(s->f, "c", (const char *const[]){"disk", "ssd", "zone", "east", NULL});
    (void)world_capabilities(s->b);
    s->guest = world_guest(s->f, "shop", "g", s->a);
    world_settings(s->guest, guest_settings);
    s->db = world_guest(s->f, "shop", "db", s->b);
    assert_true(labels_set(&s->db->labels, "app", "db"));
    TEXT_SET(s->requirements.arch, "x86_64");
    TEXT_SET(s->requirements.machine, "pc-q35-7.2");
    TEXT_SET(s->requirements.networks[s->requirements.n_networks++], "default");
    TEXT_SET(s->requirements.bridges[s->requirements.n_bridges++], "br0");
    TEXT_SET(s->requirements.pools[s->requirements.n_pools++], "images");
    s->requirements.cpu_hash = 77;
    s->requirements.hugepage_kib = 2048;
    set_requirements(s);
    ask(s);
    s->p.bandwidth = 60 * MIB_S;
}

static inline void end(struct stage *s)
{
    labels_fini(&s->added);
    fleet_free(s->f);
}

static inline struct guest *guest_with(struct stage *s, const char *ns, const char *app,
                                       struct node *node)
{
    struct guest *guest = world_guest(s->f, ns, app, node);
    assert_true(labels_set(&guest->labels, "app", app));
    return guest;
}

#endif
