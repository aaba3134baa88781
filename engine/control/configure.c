/* configure.c - see configure.h. */
#include "engine/control/configure.h"

#include "base/own.h"
#include "base/text.h"
#include "engine/model/objects/drain.h"

bool configure_reconnects(const struct hv_host *a, const struct hv_host *b)
{
    return !text_equal(a->uri, b->uri) || !text_equal(a->peer_uri, b->peer_uri) ||
           !text_equal(a->migration_host, b->migration_host) || !text_equal(a->listen, b->listen) ||
           !text_equal(a->tls_name, b->tls_name) || a->tls != b->tls || a->observe != b->observe ||
           !text_equal(a->helper, b->helper) || !text_equal(a->helper_secret, b->helper_secret) ||
           a->port_min != b->port_min || a->port_max != b->port_max ||
           a->keepalive_interval_s != b->keepalive_interval_s ||
           a->keepalive_count != b->keepalive_count;
}

/* ---- refusals ---- */

static bool job_needs(struct fleet *f, const struct job *job, const struct node *node)
{
    const struct guest *guest = fleet_guest(f, job->guest_uuid);
    return text_equal(job->source, node->name) || text_equal(job->target, node->name) ||
           text_equal(job->request.wanted, node->name) ||
           (guest != NULL && guest->owner != NULL && guest->owner->node == node);
}

static const struct job *job_of(struct fleet *f, const struct node *node)
{
    for (const struct job *job = f->active; job != NULL; job = job->links.hh_guest.next)
        if (job_needs(f, job, node))
            return job;
    for (const struct job *job = f->observed.jobs; job != NULL; job = job->links.hh_guest.next)
        if (text_equal(job->source, node->name) || text_equal(job->target, node->name))
            return job;
    return NULL;
}

static const struct object *drain_of(const struct fleet *f, const struct node *node)
{
    for (const struct object *o = f->of_kind[OBJECT_DRAIN]; o != NULL; o = o->next)
        if (!drain_is_final(o->drain->state) && text_equal(o->drain->node, node->name))
            return o;
    return NULL;
}

static bool check_free(struct fleet *f, const struct node *node, const char *what, struct err *err)
{
    const struct job *job = job_of(f, node);
    if (job != NULL)
        return err_set(err, ERR_REFUSED,
                       "host '%s' cannot be %s: migration %s/%s (%s) is not finished; wait for it "
                       "or abort it",
                       node->name, what, job->ns, job->name, phase_name(job->phase));
    const struct object *drain = drain_of(f, node);
    if (drain != NULL)
        return err_set(err, ERR_REFUSED,
                       "host '%s' cannot be %s: drain %s is not finished; wait for it or delete it",
                       node->name, what, drain->name);
    return true;
}

static bool check(struct fleet *f, const struct setup *setup, struct err *err)
{
    for (const struct node *node = f->nodes; node != NULL; node = node->hh.next) {
        const struct setup_host *next = setup_find(setup, node->name);
        if (next == NULL && !check_free(f, node, "removed", err))
            return false;
        if (next != NULL && configure_reconnects(&node->host, &next->host) &&
            !check_free(f, node, "reached another way", err))
            return false;
    }
    return true;
}

/* ---- changes ---- */

/* As after a loss of the connection: what is known of its guests stays until it answers. */
static void reach_again(struct fleet *f, struct node *node, const struct hv_host *host,
                        struct moment now)
{
    node->host = *host;
    node->connected = node->listed = node->has_facts = node->facts_fresh = false;
    node->lost.times++;
    node->lost.at_ms = now.mono_ms;
    node->lost.closed = false;
    node->since_wall_ms = now.wall_ms;
    TEXT_SET(node->error, "its configuration changed; not connected yet");
    f->guests_version = fleet_touch(f);
}

static void take_text(char **to, char **from)
{
    free(*to);
    *to = TAKE(*from);
}

static void set_node(struct fleet *f, struct node *node, struct setup_host *next)
{
    take_text(&node->config.labels, &next->labels);
    take_text(&node->config.taints, &next->taints);
    node->config.cordoned = next->cordoned;
    fleet_refresh_node(f, node);
    (void)fleet_touch(f);
}

static bool add_missing(struct fleet *f, const struct setup *setup, struct moment now,
                        struct err *err)
{
    for (size_t i = 0; i < setup->n_hosts; i++)
        if (fleet_node(f, setup->hosts[i].host.name) == NULL &&
            !fleet_add_node(f, &setup->hosts[i].host, now.wall_ms, err))
            return false;
    return true;
}

static void apply(struct fleet *f, struct setup *setup, struct moment now)
{
    struct node *node, *next_node;
    HASH_ITER(hh, f->nodes, node, next_node)
    {
        struct setup_host *next = setup_find(setup, node->name);
        if (next == NULL) {
            fleet_remove_node(f, node);
            continue;
        }
        if (configure_reconnects(&node->host, &next->host))
            reach_again(f, node, &next->host, now);
        set_node(f, node, next);
    }
}

/* Limits may be wider now. Each node was refreshed already: fleet_refresh_node(). */
static void wake(struct fleet *f)
{
    f->queue.affinity_changed = f->drains_due = true;
    f->guests_version = fleet_touch(f); /* a guest shows the default eviction strategy */
}

bool configure_fleet(struct fleet *f, struct setup *setup, struct moment now, struct err *err)
{
    if (!setup_sort(setup, err) || !check(f, setup, err) || !add_missing(f, setup, now, err))
        return false;
    f->config = setup->config;
    apply(f, setup, now);
    wake(f);
    return true;
}
