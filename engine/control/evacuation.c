/* evacuation.c - guests marked for evacuation (engine/model/fleet/evacuation.h): their jobs, and
 * the cordon of a drain; see drain.h.
 *
 * Clearing a mark also stops the job created for it. While a drain of the node is active only
 * the drain creates jobs: it counts attempts, a mark does not. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/advance.h"
#include "engine/control/drain.h"
#include "engine/control/eviction.h"
#include "engine/data/ownership.h"
#include "engine/model/job/backoff.h"

#define NAME_STEM "kubevirt-evacuation-"

/* ---- jobs of marked guests ---- */

struct object *drain_of_node(struct fleet *f, const char *node)
{
    struct object *object;
    DL_FOREACH(f->of_kind[OBJECT_DRAIN], object)
    {
        const struct drain *drain = object->drain;
        if (drain != NULL && !drain_is_final(drain->state) && strcmp(drain->node, node) == 0)
            return object;
    }
    return NULL;
}

static bool is_orphan(const struct guest *guest)
{
    for (const struct domain *domain = guest->domains; domain != NULL; domain = domain->next_of)
        if (domain->mark != NULL && domain->mark->orphan)
            return true;
    return false;
}

enum strategy evacuation_strategy(const struct fleet *f, const struct guest *guest)
{
    return strategy_effective(guest->settings != NULL ? guest->settings->strategy : STRATEGY_UNSET,
                              f->config.eviction_strategy);
}

enum drain_action drain_action(const struct fleet *f, const struct domain *domain, bool shutdown,
                               enum block *out_block)
{
    const struct hv_observation observation = {
        .presence = HV_PRESENT, .state = domain->state, .reason = domain->reason};
    enum ownership_side side = ownership_side(&observation);
    if (side == SIDE_POSTCOPY || side == SIDE_POSTCOPY_FAILED) {
        *out_block = BLOCK_HALF;
        return DRAIN_ACTION_BLOCK;
    }
    if (is_orphan(domain->guest)) { /* another appliance's: neither moved nor shut down */
        *out_block = BLOCK_ORPHAN;
        return DRAIN_ACTION_BLOCK;
    }
    enum strategy strategy = evacuation_strategy(f, domain->guest);
    enum moves moves = strategy_moves(strategy);
    enum unmovable row = migratable_first_live(&domain->migratable);
    *out_block = BLOCK_NONE;
    if (moves != MOVES_NO && row == UNMOVABLE_COUNT)
        return DRAIN_ACTION_MIGRATE;
    if (row == UNMOVABLE_MANAGED && strategy != STRATEGY_EXTERNAL) { /* nor is it shut down */
        *out_block = BLOCK_NOT_MIGRATABLE;
        return DRAIN_ACTION_BLOCK;
    }
    if (shutdown && moves != MOVES_YES && (moves == MOVES_IF_POSSIBLE || !strategy_marks(strategy)))
        return DRAIN_ACTION_SHUT_DOWN;
    if (moves != MOVES_NO)
        *out_block = BLOCK_NOT_MIGRATABLE;
    else
        *out_block = strategy_marks(strategy) ? BLOCK_EXTERNAL : BLOCK_STRATEGY_NONE;
    return DRAIN_ACTION_BLOCK;
}

bool evacuation_is_of(const struct job *job, const char *node)
{
    return job->request.origin == ORIGIN_EVACUATION && strcmp(job->request.evacuates, node) == 0;
}

struct job *evacuation_job(struct fleet *f, struct guest *guest, const char *requester,
                           struct moment now, struct effects *fx, struct err *err)
{
    enum priority priority =
        guest->evacuation_by_descheduler ? PRIORITY_SYSTEM_MAINTENANCE : PRIORITY_SYSTEM_CRITICAL;
    struct automatic_request request = {
        .origin = ORIGIN_EVACUATION,
        .priority = priority,
        .requester = requester,
        .name_stem = NAME_STEM,
    };
    struct job *job = admission_automatic(f, guest, request, now, fx, err);
    if (job != NULL)
        effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, false,
                     "SuccessfulCreate", "Created Migration %s%s", job->name,
                     evacuation_strategy(f, guest) == STRATEGY_UNSET
                         ? "; no eviction strategy is set: treated as LiveMigrateIfPossible"
                         : "");
    return job;
}

static bool has_left(const struct guest *guest)
{
    return guest->owner == NULL || !domain_is_up(guest->owner) ||
           strcmp(guest->owner->node->name, guest->evacuation_node) != 0;
}

void evacuation_advance(struct fleet *f, struct guest *guest, struct moment now, struct effects *fx)
{
    struct backoff backoff;
    enum block block;
    struct err err = {0};
    if (guest->evacuation_node[0] == '\0')
        return;
    if (fleet_active_job(f, guest->uuid) != NULL)
        return; /* also while the hosts disagree on the owner */
    if (has_left(guest)) {
        evacuation_unset(f, guest);
        return;
    }
    backoff_of(fleet_newest_finished(f, guest->uuid), &backoff);
    if (!f->store_ok || backoff.exhausted || drain_of_node(f, guest->evacuation_node) != NULL ||
        drain_action(f, guest->owner, false, &block) != DRAIN_ACTION_MIGRATE)
        return;
    if (evacuation_job(f, guest, "evacuation", now, fx, &err) == NULL)
        LOG(INFO, "evacuation_refused", FIELD_TEXT(GUEST, guest->name),
            FIELD_TEXT(ERROR, err.text));
}

void evacuation_report_blocked(const struct fleet *f, const struct guest *guest, struct moment now,
                               struct effects *fx)
{
    char text[MIGRATABLE_TEXT_MAX];
    const struct migratable *migratable = &guest->owner->migratable;
    unmovable_text(migratable_first_live(migratable), migratable, text);
    effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                 "Migrated", "EvictionStrategy is %s vmi is not migratable; %s",
                 evacuation_strategy(f, guest) == STRATEGY_UNSET ? "not set and" : "set but", text);
}

bool evacuation_mark(struct fleet *f, struct guest *guest, bool by_descheduler, struct moment now,
                     struct effects *fx, struct err *err)
{
    enum block block;
    if (guest->owner == NULL)
        return err_set(err, ERR_REFUSED, "guest %s/%s is on no node", guest->ns, guest->name);
    if (!evacuation_set(f, guest, guest->owner->node->name, by_descheduler, now))
        return err_set(err, ERR_NOMEM, "out of memory: evacuation not recorded");
    if (drain_action(f, guest->owner, false, &block) == DRAIN_ACTION_BLOCK &&
        block == BLOCK_NOT_MIGRATABLE)
        evacuation_report_blocked(f, guest, now, fx);
    evacuation_advance(f, guest, now, fx);
    return true;
}

void evacuation_clear(struct fleet *f, struct guest *guest, const char *who, struct moment now,
                      struct effects *fx)
{
    char node[HV_HOST_MAX];
    TEXT_SET(node, guest->evacuation_node);
    evacuation_unset(f, guest); /* first: the end of the job must not create the next */
    struct job *job = node[0] != '\0' ? fleet_active_job(f, guest->uuid) : NULL;
    if (job != NULL && evacuation_is_of(job, node))
        advance_stop(
            f, job,
            (struct stop){.who = who, .cause = ABORT_CAUSE_DRAIN, .why = "evacuation cancelled"},
            now, fx);
}

void evacuation_node_uncordoned(struct fleet *f, struct node *node, const char *who,
                                struct moment now, struct effects *fx)
{
    struct object *drain = drain_of_node(f, node->name);
    struct domain *domain, *next;
    evacuation_keep_cordon(f, node); /* an operator has lifted the cordon */
    if (drain != NULL)
        drain_cancel(f, drain, who, now, fx);
    for (domain = node->domains; domain != NULL; domain = next) {
        next = domain->next_here;
        if (strcmp(domain->guest->evacuation_node, node->name) == 0)
            evacuation_clear(f, domain->guest, who, now, fx);
    }
}

/* ---- the cordon ---- */

static bool write_cordon(struct fleet *f, struct node *node, bool cordoned, struct moment now)
{
    struct object *object = object_make(f, OBJECT_NODE, "", node->name, now);
    if (object == NULL)
        return false;
    OWNED(json_object) spec = object_read_part(object->spec_json);
    OWNED(json_object) status = object_read_part(object->status_json);
    json_add_bool(spec, "unschedulable", cordoned);
    json_add_bool(status, "cordonedByDrain", cordoned);
    if (!object_write_part(status, &object->status_json) ||
        !object_write_part(spec, &object->spec_json))
        return false;
    fleet_object_changed(f, object);
    fleet_refresh_node(f, node);
    node->cordoned_by_drain = cordoned;
    return true;
}

void evacuation_cordon(struct fleet *f, struct node *node, struct moment now, struct effects *fx)
{
    if (node->cordoned)
        return;
    if (!write_cordon(f, node, true, now)) {
        LOG(ERROR, "out_of_memory", FIELD_TEXT(WHY, "a cordon cannot be recorded"));
        return;
    }
    effects_note(fx, (struct involved){"Node", "", node->name, ""}, now.wall_ms, false,
                 "NodeNotSchedulable", "Node %s status is now: NodeNotSchedulable", node->name);
}

/* From memory or, after a restart, from the node's object. */
static bool drain_cordoned(struct fleet *f, const struct node *node)
{
    struct err err = {0};
    bool cordoned = node->cordoned_by_drain;
    const struct object *object = fleet_object(f, OBJECT_NODE, "", node->name);
    if (cordoned || object == NULL || object->status_json == NULL)
        return cordoned;
    OWNED(json_object) status = object_read_part(object->status_json);
    return json_get_bool(status, "cordonedByDrain", false, &cordoned, &err) && cordoned;
}

void evacuation_keep_cordon(struct fleet *f, struct node *node)
{
    if (!drain_cordoned(f, node))
        return;
    node->cordoned_by_drain = false;
    struct object *object = fleet_object(f, OBJECT_NODE, "", node->name);
    if (object == NULL)
        return;
    OWNED(json_object) status = object_read_part(object->status_json);
    json_object_object_del(status, "cordonedByDrain");
    if (!object_write_part(status, &object->status_json))
        LOG(WARN, "out_of_memory", FIELD_TEXT(WHY, "a cordon keeps its drain's name"));
    fleet_object_changed(f, object);
}

void evacuation_uncordon(struct fleet *f, struct node *node, struct moment now, struct effects *fx)
{
    if (!node->cordoned || !drain_cordoned(f, node))
        return;
    if (!write_cordon(f, node, false, now)) {
        LOG(ERROR, "out_of_memory", FIELD_TEXT(WHY, "a cordon cannot be lifted"));
        return;
    }
    effects_note(fx, (struct involved){"Node", "", node->name, ""}, now.wall_ms, false,
                 "NodeSchedulable", "Node %s status is now: NodeSchedulable", node->name);
}
