/* hosts.c - what the hosts of a case say about themselves and their guests; the end of a process
 * and the beginning of the next. See world.h. */
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "engine/incidents.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/turn/step.h"
#include "engine/persist.h"
#include "hypervisor/definition.h"
#include "store/sqlite/sqlite.h"
#include "tests/decisions/report.h"
#include "tests/decisions/world.h"

static void tell(struct world *w, struct input *input)
{
    struct migration_ref ref = {{0}, {0}, {0}};
    struct err err = {0};
    (void)world_feed(w, input, &ref, &err);
}

static struct input about(const struct world_host *host, enum input_kind kind)
{
    struct input input = {.kind = kind};
    TEXT_SET(input.host, host->is.name);
    return input;
}

/* ---- capabilities ---- */

static size_t count(const struct yaml_node *list)
{
    size_t n = 0;
    for (const struct yaml_node *one = list != NULL ? list->child : NULL; one; one = one->next)
        n++;
    return n;
}

/* Names of a list; a name with "inactive " before it is there and not active. */
static const char *name_of(const struct yaml_node *one, bool *out_active)
{
    static const char mark[] = "inactive ";
    *out_active = !text_has_prefix(one->text, mark);
    return *out_active ? one->text : one->text + sizeof mark - 1;
}

static void read_links(const struct yaml_node *host, struct hv_capabilities *a)
{
    const struct yaml_node *machines = yaml_child(host, "machines"), *one;
    const struct yaml_node *networks = yaml_child(host, "networks");
    const struct yaml_node *bridges = yaml_child(host, "bridges");
    const struct yaml_node *pools = yaml_child(host, "pools");
    bool active;
    a->machines_known = machines != NULL;
    a->networks_known = networks != NULL;
    a->bridges_known = bridges != NULL;
    a->pools_known = pools != NULL;
    a->machines = calloc(count(machines) + 1, sizeof *a->machines);
    a->networks = calloc(count(networks) + 1, sizeof *a->networks);
    a->bridges = calloc(count(bridges) + 1, sizeof *a->bridges);
    a->pools = calloc(count(pools) + 1, sizeof *a->pools);
    for (one = machines != NULL ? machines->child : NULL; one != NULL; one = one->next) {
        TEXT_SET(a->machines[a->n_machines].name, one->text);
        TEXT_SET(a->machines[a->n_machines++].arch, "x86_64");
    }
    for (one = networks != NULL ? networks->child : NULL; one != NULL; one = one->next) {
        TEXT_SET(a->networks[a->n_networks].name, name_of(one, &active));
        a->networks[a->n_networks++].active = active;
    }
    for (one = bridges != NULL ? bridges->child : NULL; one != NULL; one = one->next)
        TEXT_SET(a->bridges[a->n_bridges++].name, one->text);
    for (one = pools != NULL ? pools->child : NULL; one != NULL; one = one->next) {
        TEXT_SET(a->pools[a->n_pools].name, name_of(one, &active));
        a->pools[a->n_pools++].active = active;
    }
}

/* hugepages: free pages of 2 MiB. */
static bool read_pages(const struct world *w, const struct yaml_node *host,
                       struct hv_capabilities *a, struct err *err)
{
    const struct yaml_node *pages = yaml_child(host, "hugepages");
    int64_t n = 0;
    if (pages == NULL)
        return true;
    if (!yaml_i64(w->yaml, pages, 0, 1000000, &n, err))
        return false;
    a->pages_known = true;
    a->pages[a->n_pages++] = (struct hv_pages){4, 1000000, 1000000};
    a->pages[a->n_pages++] = (struct hv_pages){2048, (uint64_t)n, (uint64_t)n};
    return true;
}

static bool tell_capabilities(struct world *w, const struct world_host *host, struct err *err)
{
    struct input input = about(host, INPUT_CAPABILITIES);
    struct hv_capabilities *a = calloc(1, sizeof *a);
    if (a == NULL)
        return err_set(err, ERR_NOMEM, "out of memory: capabilities");
    read_links(host->node, a);
    if (!read_pages(w, host->node, a, err)) {
        hv_capabilities_free(a);
        return false;
    }
    hv_capabilities_seal(a);
    input.of.capabilities = a;
    tell(w, &input);
    hv_capabilities_free(input.of.capabilities); /* NULL once the fleet has it */
    return true;
}

/* ---- guests ---- */

void world_list(struct world *w, const struct world_host *host)
{
    struct hv_guest here[WORLD_GUESTS_MAX];
    struct hv_guest_list list = {.guests = here};
    for (size_t i = 0; i < w->n_guests; i++) {
        struct hv_observation observation = world_observation(w, &w->guests[i], host->is.name);
        if (observation.presence != HV_PRESENT)
            continue;
        here[list.n] = w->guests[i].is;
        here[list.n].state = observation.state;
        here[list.n++].reason = observation.reason;
    }
    struct input input = about(host, INPUT_GUESTS);
    input.of.guests = &list;
    tell(w, &input);
}

static void count_disks(const struct hv_definition *live, struct guest_facts *facts)
{
    for (size_t i = 0; i < live->n_disks; i++) {
        facts->block_jobs += live->disks[i].block_job;
        facts->utility_disks += live->disks[i].utility;
    }
}

/* As engine/intake.c reads a definition. */
static bool read_definition(const struct world *w, const struct world_guest *guest,
                            struct hv_definition live[static 2], struct guest_facts *facts,
                            struct err *err)
{
    const struct migratable_config config = {.shared_paths = w->shared_paths,
                                             .n_shared_paths = w->n_shared_paths,
                                             .shared_pools = w->shared_pools,
                                             .n_shared_pools = w->n_shared_pools};
    struct hv_definition *stored = &live[1];
    bool has_stored = guest->stored_xml != NULL;
    if (!hv_definition_parse(guest->xml, live, err) ||
        (has_stored && !hv_definition_parse(guest->stored_xml, stored, err)))
        return err_wrap(err, "definition of %s", guest->is.name);
    live->snapshots = guest->snapshots;
    if (has_stored)
        migratable_mark_plugged(live, stored);
    migratable_evaluate(live, &config, &facts->migratable);
    pending_change_evaluate(live, has_stored ? stored : NULL, &facts->pending_change);
    if (facts->pending_change.cures)
        pending_change_plug(live, stored);
    host_requirements_from(live, &facts->requirements);
    host_requirements_add_disks(live, &config, &facts->requirements);
    count_disks(live, facts);
    return true;
}

bool world_define(struct world *w, const struct world_guest *guest, struct err *err)
{
    if (guest->xml == NULL)
        return true;
    struct hv_definition *live = calloc(2, sizeof *live);
    struct guest_facts *facts = calloc(1, sizeof *facts);
    bool done = live != NULL && facts != NULL && read_definition(w, guest, live, facts, err);
    if (done) {
        struct input input = {.kind = INPUT_DEFINITION, .of.definition = facts};
        TEXT_SET(input.host, guest->home);
        TEXT_SET(input.guest, guest->is.uuid);
        tell(w, &input);
    }
    free(facts);
    free(live);
    return done;
}

/* ---- coming and going ---- */

bool world_connect(struct world *w, struct world_host *host, struct err *err)
{
    host->connected = true;
    struct input input = about(host, INPUT_HOST);
    input.of.connected = true;
    tell(w, &input);
    input = about(host, INPUT_FACTS);
    input.of.facts = host->facts;
    tell(w, &input);
    if (!tell_capabilities(w, host, err))
        return false;
    world_list(w, host);
    for (size_t i = 0; i < w->n_guests; i++)
        if (strcmp(w->guests[i].home, host->is.name) == 0 && !world_define(w, &w->guests[i], err))
            return false;
    return true;
}

void world_lose(struct world *w, struct world_host *host, int hv_code)
{
    host->connected = false;
    struct input input = about(host, INPUT_HOST);
    err_set(&input.err, ERR_UNREACHABLE, "connection lost");
    input.err.hv_code = hv_code;
    tell(w, &input);
}

/* What was asked for and ordered is answered to nobody; the hosts go on. */
bool world_restart(struct world *w, int64_t away_ms, struct err *err)
{
    struct fleet_config config = w->fleet->config;
    fleet_free(w->fleet);
    effects_clear(&w->fx);
    w->shown = w->asked = w->n_orders = w->n_asked = 0;
    w->now.mono_ms = WORLD_BEGIN_MS;
    w->now.wall_ms += away_ms;
    w->fleet = fleet_new(&config, 100 + ++w->starts, err);
    if (w->fleet == NULL)
        return false;
    for (size_t i = 0; i < w->n_hosts; i++)
        if (!fleet_add_node(w->fleet, &w->hosts[i].is, w->now.wall_ms, err))
            return false;
    if (!persist_load(w->store, w->fleet, err) || !incidents_load(w->store, w->fleet, err))
        return false;
    struct job *job, *next;
    HASH_ITER(links.hh_guest, w->fleet->active, job, next)
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    for (size_t i = 0; i < w->n_hosts; i++)
        if (w->hosts[i].connected && !world_connect(w, &w->hosts[i], err))
            return false;
    return true;
}

static void drop_effects(struct world *w, const char *uid)
{
    size_t left = 0;
    for (size_t i = 0; i < w->fx.n; i++)
        if (strcmp(w->fx.list[i].job_uid, uid) != 0 && left++ != i)
            w->fx.list[left - 1] = w->fx.list[i];
    w->fx.n = left;
    w->shown = w->shown < left ? w->shown : left;
}

static void add_frozen(struct world *w, struct job *take_job, const char *why)
{
    struct job *job = take_job;
    job->frozen = !phase_is_final(job->phase);
    job->entered_ms = w->now.mono_ms;
    fleet_add_job(w->fleet, job);
    if (job->frozen) {
        if (job->placement.launcher != LAUNCHER_NONE && job->target[0] != '\0')
            ledger_restore(w->fleet, job);
        step_wait(job, PENDING_INTERNAL_ERROR, w->now, "internal error: %s", why);
        fleet_settle_job(w->fleet, job);
    }
    effects_event(&w->fx, job, w->now.wall_ms, true, "InternalError",
                  "%s; the changes of this turn to the migration were rolled back", why);
    incidents_internal(w->fleet, job, w->now.wall_ms);
}

bool world_roll_back(struct world *w, struct err *err)
{
    while (w->fleet->broken != NULL) {
        struct job *broken = w->fleet->broken, *stored = NULL;
        char why[JOB_REASON_MAX];
        TEXT_SET(why, broken->wait.reason);
        w->fleet->broken = broken->links.next_broken;
        broken->links.next_broken = NULL;
        drop_effects(w, broken->uid);
        if (!persist_read_job(w->store, w->fleet, broken->uid, &stored, err))
            return false;
        fleet_drop_job(w->fleet, broken);
        if (stored != NULL)
            add_frozen(w, stored, why);
    }
    return true;
}
