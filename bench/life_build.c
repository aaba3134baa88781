/* life_build.c - the fleet of life.h: hosts in zones, guests in namespaces, policies and quotas,
 * given to the core as the collector would give them. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "bench/life_inside.h"

void life_host_name(unsigned host, char out_name[static HV_HOST_MAX])
{
    (void)snprintf(out_name, HV_HOST_MAX, "host-%05u", host);
}

/* The number comes first, so that a uuid gives the guest's number. */
void life_guest_uuid(unsigned guest, char out_uuid[static HV_UUID_MAX])
{
    (void)snprintf(out_uuid, HV_UUID_MAX, "%08x-0000-4000-8000-%012x", guest, guest);
}

void life_namespace_name(const struct life *life, unsigned guest, char out_name[static HV_HOST_MAX])
{
    (void)snprintf(out_name, HV_HOST_MAX, "team-%u", guest % life->size.namespaces);
}

void life_guest_name(unsigned guest, char out_name[static HV_NAME_MAX])
{
    (void)snprintf(out_name, HV_NAME_MAX, "vm-%u", guest);
}

static void write_requests(struct life_requests *w)
{
    TEXT_SET(w->web, "{\"app\":\"web\",\"tier\":\"front\"}");
    TEXT_SET(w->db, "{\"app\":\"db\"}");
    TEXT_SET(w->nowhere, "{\"nodeSelector\":{\"zone\":\"z99\"}}");
    TEXT_SET(w->apart, "{\"affinity\":{\"podAntiAffinity\":"
                       "{\"requiredDuringSchedulingIgnoredDuringExecution\":"
                       "[{\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}},"
                       "\"topologyKey\":\"kubernetes.io/hostname\"}]}}}");
    for (unsigned i = 0; i < LIFE_ZONES; i++)
        (void)snprintf(w->zone[i], sizeof w->zone[i], "{\"nodeSelector\":{\"zone\":\"z%u\"}}", i);
}

/* One guest in 20 stays in its zone, one in 100 keeps away from others of its kind, one in 2000
 * asks for a zone that does not exist. */
static char *requests_of(struct life_requests *w, unsigned guest)
{
    if (guest % 2000 == 1999)
        return w->nowhere;
    if (guest % 100 == 1)
        return w->apart;
    return guest % 20 == 2 ? w->zone[guest / 20 % LIFE_ZONES] : NULL;
}

void life_describe_guest(struct life *life, unsigned guest, struct hv_guest *out_guest)
{
    struct life_requests *w = &life->requests;
    *out_guest = (struct hv_guest){.labels = guest % 100 == 1 ? w->db : w->web,
                                   .settings = requests_of(w, guest),
                                   .state = HV_STATE_RUNNING,
                                   .reason = HV_RUNNING_BOOTED,
                                   .persistent = true,
                                   .memory_kib = (uint64_t)(1 + guest % 8) << 20,
                                   .vcpus = 1 + guest % 4};
    life_guest_uuid(guest, out_guest->uuid);
    life_guest_name(guest, out_guest->name);
    life_namespace_name(life, guest, out_guest->ns);
}

void life_describe_host(unsigned host, struct hv_facts *out_facts)
{
    *out_facts = (struct hv_facts){.libvirt_version = 9000000,
                                   .hypervisor_version = 7002000,
                                   .cpus = 64,
                                   .memory_kib = 256ULL << 20,
                                   .free_memory_kib = 128ULL << 20};
    life_host_name(host, out_facts->hostname);
    TEXT_SET(out_facts->arch, "x86_64");
    TEXT_SET(out_facts->cpu_model, "EPYC-Rome");
}

static struct hv_capabilities *capabilities(unsigned host)
{
    enum { MACHINES = 8, NETWORKS = 4, POOLS = 2 };
    struct hv_capabilities *a = life_memory(calloc(1, sizeof *a));
    a->machines_known = a->networks_known = a->bridges_known = a->pools_known = true;
    a->machines = life_memory(calloc(MACHINES, sizeof *a->machines));
    a->networks = life_memory(calloc(NETWORKS, sizeof *a->networks));
    a->pools = life_memory(calloc(POOLS, sizeof *a->pools));
    for (unsigned i = 0; i < MACHINES; i++, a->n_machines++) {
        TEXT_SET(a->machines[i].arch, "x86_64");
        (void)snprintf(a->machines[i].name, sizeof a->machines[i].name, "pc-q35-%u", i);
    }
    unsigned networks = host % 10 == 9 ? NETWORKS - 1 : NETWORKS; /* one host in ten lacks one */
    for (unsigned i = 0; i < networks; i++, a->n_networks++) {
        (void)snprintf(a->networks[i].name, sizeof a->networks[i].name, "net-%u", i);
        a->networks[i].active = true;
    }
    for (unsigned i = 0; i < POOLS; i++, a->n_pools++) {
        (void)snprintf(a->pools[i].name, sizeof a->pools[i].name, "pool-%u", i);
        a->pools[i].active = true;
    }
    hv_capabilities_seal(a);
    return a;
}

static void put(struct life *life, enum object_kind kind, const char *ns, const char *name,
                const char *spec)
{
    struct input input = {.kind = INPUT_PUT, .of.put = {.kind = kind, .spec_json = spec}};
    TEXT_SET(input.of.put.ns, ns);
    TEXT_SET(input.of.put.name, name);
    TEXT_SET(input.of.put.requester, "operator");
    if (!life_feed(life, &input)) {
        (void)fprintf(stderr, "bench: %s/%s is refused\n", ns, name);
        exit(1);
    }
}

/* A quota for one namespace in five; one in twenty has room for one launcher more only. */
static void build_documents(struct life *life)
{
    char name[HV_HOST_MAX], spec[256];
    for (unsigned i = 0; i < LIFE_POLICIES; i++) {
        (void)snprintf(name, sizeof name, "policy-%u", i);
        (void)snprintf(spec, sizeof spec,
                       "{\"selectors\":{\"virtualMachineInstanceSelector\":{\"tier\":\"%s\"}},"
                       "\"bandwidthPerMigration\":\"%uMi\"}",
                       i % 2 == 0 ? "front" : "back", 64 + i);
        put(life, OBJECT_POLICY, "", name, spec);
    }
    unsigned each = life->size.guests / life->size.namespaces;
    for (unsigned i = 0; i < life->size.namespaces; i += 5) {
        life_namespace_name(life, i, name);
        (void)snprintf(spec, sizeof spec, "{\"hard\":{\"pods\":%u}}",
                       i % 20 == 0 ? each + 1 : 2 * each);
        put(life, OBJECT_QUOTA, name, "launchers", spec);
    }
}

static void build_host(struct life *life, unsigned i)
{
    struct hv_host host = {.name = {0}};
    struct err err = {0};
    char labels[64];
    life_host_name(i, host.name);
    (void)snprintf(host.uri, sizeof host.uri, "qemu+tls://%s/system", host.name);
    if (!fleet_add_node(life->fleet, &host, life->now.wall_ms, &err))
        exit(1);
    struct node *node = fleet_node(life->fleet, host.name);
    (void)snprintf(labels, sizeof labels, "{\"zone\":\"z%u\"}", i % LIFE_ZONES);
    node->config.labels = life_memory(strdup(labels));
    fleet_refresh_node(life->fleet, node);
    struct input up = {.kind = INPUT_HOST, .of.connected = true};
    struct input facts = {.kind = INPUT_FACTS};
    struct input offers = {.kind = INPUT_CAPABILITIES, .of.capabilities = capabilities(i)};
    TEXT_SET(up.host, host.name);
    TEXT_SET(facts.host, host.name);
    TEXT_SET(offers.host, host.name);
    life_describe_host(i, &facts.of.facts);
    (void)life_feed(life, &up);
    (void)life_feed(life, &facts);
    (void)life_feed(life, &offers);
}

static void define(struct life *life, unsigned guest)
{
    struct guest_facts facts;
    memset(&facts, 0, sizeof facts); /* compared as bytes */
    facts.migratable.known = true;
    TEXT_SET(facts.requirements.arch, "x86_64");
    (void)snprintf(facts.requirements.machine, sizeof facts.requirements.machine, "pc-q35-%u",
                   guest % 8);
    facts.requirements.cpu_hash = 1 + guest % LIFE_CPUS;
    facts.requirements.n_networks = facts.requirements.n_pools = 1;
    (void)snprintf(facts.requirements.networks[0], REQUIREMENTS_LINK_MAX, "net-%u", guest % 4);
    (void)snprintf(facts.requirements.pools[0], REQUIREMENTS_LINK_MAX, "pool-%u", guest % 2);
    struct input input = {.kind = INPUT_DEFINITION, .of.definition = &facts};
    life_host_name(life->home[guest], input.host);
    life_guest_uuid(guest, input.guest);
    (void)life_feed(life, &input);
}

static void build_guests(struct life *life, unsigned host)
{
    unsigned hosts = life->size.hosts, n = 0;
    struct hv_guest *list = life_memory(calloc(HV_GUESTS_MAX, sizeof *list));
    for (unsigned guest = host; guest < life->size.guests && n < HV_GUESTS_MAX; guest += hosts) {
        life->home[guest] = host;
        life_describe_guest(life, guest, &list[n++]);
    }
    struct hv_guest_list guests = {n, list};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &guests};
    life_host_name(host, input.host);
    (void)life_feed(life, &input);
    free(list);
    for (unsigned guest = host; guest < life->size.guests; guest += hosts)
        define(life, guest);
}

void life_build(struct life *life)
{
    write_requests(&life->requests);
    size_t empty = life_heap_bytes();
    for (unsigned i = 0; i < life->size.hosts; i++)
        build_host(life, i);
    size_t hosts = life_heap_bytes();
    for (unsigned i = 0; i < life->size.hosts; i++)
        build_guests(life, i);
    life->host_bytes = hosts - empty;
    life->guest_bytes = life_heap_bytes() - hosts;
    build_documents(life);
}
