/* test_placement_world.h - a small fleet made by hand: nodes, guests, places and jobs, for the
 * tests of placement, the ledger and check. */
#ifndef TESTS_UNIT_TEST_PLACEMENT_WORLD_H
#define TESTS_UNIT_TEST_PLACEMENT_WORLD_H

#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/placement.h"
#include "engine/model/fleet/ledger.h"

enum { GIB = 1024 * 1024 }; /* in KiB */
#define MIB_S ((uint64_t)1024 * 1024)

static inline struct fleet *world_fleet(void)
{
    struct err err = {0};
    struct fleet_config config = {.parallel_inbound_per_node = 2};
    struct fleet *f = fleet_new(&config, 7, &err);
    assert_non_null(f);
    return f;
}

/* Ready, 64 GiB, 16 CPUs, with the labels of the list: key, value, ..., NULL. */
static inline struct node *world_node(struct fleet *f, const char *name, const char *const *labels)
{
    struct err err = {0};
    struct hv_host host = {0};
    TEXT_SET(host.name, name);
    assert_true(fleet_add_node(f, &host, 0, &err));
    struct node *node = fleet_node(f, name);
    assert_true(labels_set(&node->labels, "kubernetes.io/hostname", name));
    for (; labels != NULL && *labels != NULL; labels += 2)
        assert_true(labels_set(&node->labels, labels[0], labels[1]));
    node->connected = node->asked = node->listed = node->has_facts = true;
    node->error[0] = '\0';
    node->facts.memory_kib = (uint64_t)64 * GIB;
    node->facts.cpus = 16;
    return node;
}

static inline void *world_list(size_t n, size_t bytes)
{
    void *list = calloc(n, bytes);
    assert_non_null(list);
    return list;
}

/* One machine, network, bridge and pool, and 16 GiB of pages of 2 MiB. */
static inline struct hv_capabilities *world_capabilities(struct node *node)
{
    struct hv_capabilities *a = world_list(1, sizeof *a);
    a->machines_known = a->networks_known = a->bridges_known = true;
    a->pools_known = a->pages_known = true;
    a->machines = world_list(3, sizeof *a->machines);
    a->machines[a->n_machines++] = (struct hv_machine){"x86_64", "pc-q35-7.2"};
    a->machines[a->n_machines++] = (struct hv_machine){"x86_64", "pc-i440fx-7.2"};
    a->machines[a->n_machines++] = (struct hv_machine){"riscv64", "virt"};
    a->networks = world_list(2, sizeof *a->networks);
    a->networks[a->n_networks++] = (struct hv_network){"default", true};
    a->networks[a->n_networks++] = (struct hv_network){"backup", false};
    a->bridges = world_list(1, sizeof *a->bridges);
    a->bridges[a->n_bridges++] = (struct hv_bridge){"br0"};
    a->pools = world_list(2, sizeof *a->pools);
    a->pools[a->n_pools++] = (struct hv_pool){"images", "/srv/images", true};
    a->pools[a->n_pools++] = (struct hv_pool){"cold", "/srv/cold", false};
    a->pages[a->n_pages++] = (struct hv_pages){4, 1000, 1000};
    a->pages[a->n_pages++] = (struct hv_pages){1024 * 1024, 4, 2};
    a->pages[a->n_pages++] = (struct hv_pages){2048, 8192, 8192};
    hv_capabilities_seal(a);
    hv_capabilities_free(node->capabilities);
    node->capabilities = a;
    return a;
}

static inline void world_state(struct fleet *f, struct domain *domain, int state)
{
    domain->state = state;
    ledger_domain(f, domain, false);
}

static inline struct domain *world_put(struct fleet *f, struct guest *guest, struct node *node)
{
    struct domain *domain = world_list(1, sizeof *domain);
    domain->guest = guest;
    domain->node = node;
    domain->next_of = guest->domains;
    guest->domains = domain;
    domain->next_here = node->domains;
    if (node->domains != NULL)
        node->domains->prev_here = domain;
    node->domains = domain;
    node->n_positions++;
    if (guest->owner == NULL)
        guest->owner = domain;
    world_state(f, domain, HV_STATE_RUNNING);
    return domain;
}

/* 4 GiB and 4 vCPUs, running on the node (NULL: nowhere yet). */
static inline struct guest *world_guest(struct fleet *f, const char *ns, const char *name,
                                        struct node *node)
{
    struct guest *guest = world_list(1, sizeof *guest);
    (void)snprintf(guest->uuid, sizeof guest->uuid, "00000000-0000-4000-8000-%012u",
                   HASH_COUNT(f->guests));
    TEXT_SET(guest->ns, ns);
    TEXT_SET(guest->name, name);
    (void)snprintf(guest->key, sizeof guest->key, "%s/%s", ns, name);
    guest->memory_kib = (uint64_t)4 * GIB;
    guest->vcpus = 4;
    guest->namespace = fleet_namespace(f, ns);
    HASH_ADD_STR(f->guests, uuid, guest);
    struct guest *first = NULL;
    HASH_FIND(hh_name, f->guests_named, guest->key, strlen(guest->key), first);
    if (first == NULL)
        HASH_ADD_KEYPTR(hh_name, f->guests_named, guest->key, strlen(guest->key), guest);
    for (; first != NULL; first = first->next_namesake)
        if (first->next_namesake == NULL) {
            first->next_namesake = guest;
            break;
        }
    if (node != NULL)
        (void)world_put(f, guest, node);
    return guest;
}

static inline void world_settings(struct guest *guest, const char *json)
{
    struct err err = {0};
    if (guest->settings == NULL)
        guest->settings = world_list(1, sizeof *guest->settings);
    else
        settings_fini(guest->settings);
    memset(guest->settings, 0, sizeof *guest->settings);
    assert_true(settings_parse(json, NULL, "test", guest->settings, &err));
}

static inline void world_requirements(struct fleet *f, struct guest *guest,
                                      const struct host_requirements_facts *facts)
{
    host_requirements_drop(&f->requirements, guest->owner->requirements);
    guest->owner->requirements = host_requirements_take(&f->requirements, facts);
    assert_non_null(guest->owner->requirements);
}

/* An unfinished job of the guest from where it is to that node. */
static inline struct job *world_job(struct fleet *f, const struct guest *guest,
                                    const struct node *target)
{
    struct err err = {0};
    struct job *job = job_new(&err);
    assert_non_null(job);
    fleet_make_uid(f, job->uid);
    TEXT_SET(job->ns, guest->ns);
    (void)snprintf(job->name, sizeof job->name, "job-%s", job->uid);
    TEXT_SET(job->guest_uuid, guest->uuid);
    TEXT_SET(job->guest_name, guest->name);
    TEXT_SET(job->source, guest->owner->node->name);
    if (target != NULL)
        TEXT_SET(job->target, target->name);
    job->phase = PHASE_PENDING;
    fleet_add_job(f, job);
    return job;
}

static inline void world_reserve(struct fleet *f, struct job *job, const struct guest *guest)
{
    struct resources resources = ledger_resources(guest);
    ledger_reserve(f, job, &resources);
    assert_true(job->placement.reserved);
}

static inline void world_balanced(const struct fleet *f)
{
    char text[256] = "";
    if (!ledger_check(f, text, sizeof text))
        fail_msg("%s", text);
}

#endif
