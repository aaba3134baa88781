/* core_restart.c - see core_restart.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/incidents.h"
#include "engine/model/fleet/fleet_incidents.h"
#include "engine/persist.h"
#include "store/sqlite/sqlite.h"
#include "tests/core_restart.h"

static void save(struct core_world *w, struct store *store)
{
    struct err err = {0};
    store->ops->begin(store);
    for (struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next) {
        persist_job(store, job);
        persist_rejections(store, job);
    }
    for (const struct object *o = w->fleet->changed_objects; o != NULL; o = o->next_changed)
        persist_object(store, w->fleet, o, w->now.wall_ms);
    for (size_t i = 0; i < w->fx.n; i++)
        persist_effect(store, w->fleet, &w->fx.list[i]);
    incidents_put(store, &w->fleet->incidents);
    assert_true(store->ops->commit(store, &err));
}

static void load(struct core_world *w, struct store *store)
{
    struct fleet_config config = w->fleet->config;
    struct err err = {0};
    struct hv_host hosts[COUNT(w->hosts)]; /* as the configuration still has them */
    for (unsigned i = 0; i < w->n_hosts; i++)
        hosts[i] = core_node(w, w->hosts[i].name)->host;
    fleet_free(w->fleet);
    w->fleet = fleet_new(&config, 8, &err);
    assert_non_null(w->fleet);
    for (unsigned i = 0; i < w->n_hosts; i++) {
        assert_true(fleet_add_node(w->fleet, &hosts[i], w->now.wall_ms, &err));
        fleet_node(w->fleet, hosts[i].name)->has_facts = true;
    }
    if (!persist_load(store, w->fleet, &err))
        fail_msg("%s", err.text);
    struct job *job, *next;
    HASH_ITER(links.hh_guest, w->fleet->active, job, next)
    reconcile_restore(w->fleet, job, w->now, &w->fx);
    HASH_ITER(links.hh_guest, w->fleet->observed.jobs, job, next)
    reconcile_restore(w->fleet, job, w->now, &w->fx);
}

void core_restart_blind(struct core_world *w, int64_t away_ms)
{
    struct err err = {0};
    struct store *store = store_sqlite_open(NULL, &err);
    assert_non_null(store);
    save(w, store);
    w->played = w->fx.n; /* what was asked for is answered to nobody; what was told stays told */
    w->now.mono_ms = 5000;
    w->now.wall_ms += away_ms;
    for (unsigned i = 0; i < w->n_guests; i++)
        w->guests[i].migrate_id = 0;
    load(w, store);
    store_free(store);
}

void core_restart(struct core_world *w, int64_t away_ms)
{
    core_restart_blind(w, away_ms);
    for (unsigned i = 0; i < w->n_hosts; i++) {
        core_connect(w, w->hosts[i].name, true);
        core_list(w, w->hosts[i].name);
    }
    for (unsigned i = 0; i < w->n_guests; i++)
        core_define(w, w->guests[i].is.name);
    core_settle(w);
}
