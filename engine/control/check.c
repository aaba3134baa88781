/* check.c - the answer to `ferry check` as a JSON text; see check.h. */
#include "engine/control/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine/control/admission.h"
#include "engine/control/drain.h"
#include "engine/control/placement_scan.h"
#include "engine/control/policy_choose.h"
#include "engine/data/expect.h"
#include "engine/model/definition/volumes.h"
#include "engine/model/fleet/ledger.h"
#include "engine/model/job/backoff.h"
#include "hypervisor/versions.h"

struct asked { /* one request while it is answered */
    struct fleet *f;
    const struct guest *guest;
    const struct domain *owner; /* NULL: on no node */
    const struct object *policy;
    struct migration_config config;
    struct placement placement;
    struct moment now;
};

static void add_reasons(const struct asked *a, struct json_object *root)
{
    static const struct migratable unknown;
    const struct migratable *m = a->owner != NULL ? &a->owner->migratable : &unknown;
    json_add_bool(root, "migratable", migratable_first_live(m) == UNMOVABLE_COUNT);
    struct json_object *reasons = json_add_array(root, "reasons");
    for (unsigned i = 0; i < UNMOVABLE_COUNT; i++) {
        char text[MIGRATABLE_TEXT_MAX];
        if (!migratable_has(m, (enum unmovable)i))
            continue;
        struct json_object *reason = json_add_object(reasons, NULL);
        unmovable_text((enum unmovable)i, m, text);
        json_add_text(reason, "reason", unmovable_name((enum unmovable)i));
        json_add_text(reason, "message", text);
        json_add_text(reason, "help", unmovable_help((enum unmovable)i));
    }
}

static void add_guest(const struct asked *a, struct json_object *root)
{
    struct json_object *guest = json_add_object(root, "guest");
    json_add_text(guest, "namespace", a->guest->ns);
    json_add_text(guest, "name", a->guest->name);
    json_add_text(guest, "uuid", a->guest->uuid);
    json_add_text(guest, "node", a->owner != NULL ? a->owner->node->name : NULL);
}

static void add_state(const struct asked *a, struct json_object *root)
{
    enum strategy strategy = evacuation_strategy(a->f, a->guest);
    const struct job *active = fleet_active_job(a->f, a->guest->uuid);
    json_add_text(root, "evictionStrategy", strategy_name(strategy));
    json_add_text(root, "activeMigration", active != NULL ? active->name : NULL);
    struct err refusal = {0};
    if (active == NULL)
        (void)admission_allows(a->f, a->guest, a->placement.wanted, false, &refusal);
    json_add_text(root, "refusal", refusal.code != ERR_NONE ? refusal.text : NULL);
}

static void describe_match(const struct asked *a, const struct object *candidate,
                           const struct policy_score *score, char *out_why, size_t bytes)
{
    if (!score->matches)
        (void)snprintf(out_why, bytes, "%s", score->why_not);
    else if (candidate == a->policy)
        (void)snprintf(out_why, bytes, "the best match");
    else
        (void)snprintf(out_why, bytes, "%s matches better", a->policy->name);
}

static void add_policy(const struct asked *a, struct json_object *root)
{
    struct json_object *policy = json_add_object(root, "policy");
    json_add_text(policy, "name", a->policy != NULL ? a->policy->name : NULL);
    json_add(policy, "configuration", migration_config_json(&a->config));
    struct json_object *candidates = json_add_array(policy, "candidates");
    for (const struct object *o = a->f->of_kind[OBJECT_POLICY]; o != NULL; o = o->next) {
        struct policy_score score;
        char why[JOB_NAME_MAX + 32];
        if (o->removed || o->policy == NULL)
            continue;
        policy_match_guest(o, a->guest, &score);
        describe_match(a, o, &score, why, sizeof why);
        struct json_object *candidate = json_add_object(candidates, NULL);
        json_add_text(candidate, "name", o->name);
        json_add_bool(candidate, "matches", score.matches);
        json_add_i64(candidate, "guestPairs", score.guest_pairs);
        json_add_i64(candidate, "namespacePairs", score.ns_pairs);
        json_add_text(candidate, "why", why);
    }
}

/* ---- what a migration would wait for ---- */

__attribute__((format(printf, 3, 4))) static void wait_for(struct json_object *waits,
                                                           enum pending pending, const char *fmt,
                                                           ...)
{
    char text[JOB_REASON_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct json_object *wait = json_add_object(waits, NULL);
    json_add_text(wait, "reason", pending_name(pending));
    json_add_text(wait, "message", text);
}

static void add_slot_waits(const struct asked *a, struct json_object *waits)
{
    const struct fleet_config *config = &a->f->config;
    const struct node *source = a->placement.source;
    unsigned fleet = config->parallel_per_fleet, out = config->parallel_outbound_per_node;
    uint64_t budget = config->bandwidth_per_node, need = a->placement.bandwidth;
    if (fleet > 0 && a->f->busy_jobs >= fleet)
        wait_for(waits, PENDING_SLOT_FLEET, "%u migrations run, the limit of the fleet is %u",
                 a->f->busy_jobs, fleet);
    if (source == NULL)
        return;
    if (out > 0 && source->outbound >= out)
        wait_for(waits, PENDING_SLOT_SOURCE, "%u migrations leave node %s, its limit is %u",
                 source->outbound, source->name, out);
    if (need == 0 || need > budget)
        need = budget;
    if (budget > 0 && source->out_bandwidth + need > budget)
        wait_for(waits, PENDING_BANDWIDTH, "migrations from node %s use its whole bandwidth",
                 source->name);
}

static void add_quota_waits(const struct asked *a, struct json_object *waits)
{
    static const struct resources nothing;
    const struct resources more = ledger_resources(a->guest);
    const struct resources *used =
        a->guest->namespace != NULL ? &a->guest->namespace->used : &nothing;
    for (const struct object *o = a->f->of_kind[OBJECT_QUOTA]; o != NULL; o = o->next) {
        char text[QUOTA_TEXT_MAX];
        if (!o->removed && o->quota != NULL && strcmp(o->ns, a->guest->ns) == 0 &&
            !quota_allows(o->quota, o->name, used, &more, text))
            wait_for(waits, PENDING_QUOTA, "%s", text);
    }
}

static void add_backoff_wait(const struct asked *a, struct json_object *waits)
{
    struct backoff backoff;
    char until[CLOCK_TEXT_MAX];
    backoff_of(fleet_newest_finished(a->f, a->guest->uuid), &backoff);
    if (backoff.exhausted) {
        wait_for(waits, PENDING_BACKOFF,
                 "%u automatic migrations failed in a row: no further automatic attempt",
                 backoff.failures);
    } else if (backoff.failures > 0 && backoff.until_ms > a->now.mono_ms) {
        clock_format_wall(a->now.wall_ms + backoff.until_ms - a->now.mono_ms, until);
        wait_for(waits, PENDING_BACKOFF,
                 "%u automatic migrations failed in a row: next attempt not before %s",
                 backoff.failures, until);
    }
}

static void add_guest_waits(const struct asked *a, struct json_object *waits)
{
    if (a->owner == NULL) {
        wait_for(waits, PENDING_GUEST_UNSEEN, "the guest has not been seen on any node");
        return;
    }
    if (!a->owner->node->connected)
        wait_for(waits, PENDING_SOURCE_UNREACHABLE, "node %s is unreachable: %s",
                 a->owner->node->name, a->owner->node->error);
    if (a->owner->block_jobs > 0)
        wait_for(waits, PENDING_BACKUP, "%u block jobs run on the guest", a->owner->block_jobs);
    if (a->owner->utility_disks > 0)
        wait_for(waits, PENDING_UTILITY_VOLUMES, "%u utility volumes are attached",
                 a->owner->utility_disks);
}

/* ---- target nodes ---- */

/* What the versions of a host mean for this migration; shown where there is something to say. */
static void add_notes(struct json_object *row, const struct node *node, enum hv_quirk_side side)
{
    enum hv_quirk quirk = hv_quirk_next(-1, &node->facts, side, HV_QUIRK_NOTE);
    struct json_object *notes = quirk != HV_QUIRK_COUNT ? json_add_array(row, "notes") : NULL;
    while (quirk != HV_QUIRK_COUNT) {
        struct json_object *note = json_add_object(notes, NULL);
        json_add_text(note, "name", hv_quirk_name(quirk));
        json_add_text(note, "why", hv_quirk_why(quirk));
        json_add_text(note, "instead", hv_quirk_instead(quirk));
        quirk = hv_quirk_next((int)quirk, &node->facts, side, HV_QUIRK_NOTE);
    }
}

/* What no host is asked now. A file below storage.sharedPaths counts as shared by its name alone.
 */
static void add_storage_note(const struct asked *a, struct json_object *root)
{
    struct volumes volumes;
    if (a->owner == NULL || !volumes_by_name(a->owner->requirements, &volumes))
        return;
    char why[HV_TEXT_MAX + 160];
    (void)snprintf(why, sizeof why,
                   "%zu disk%s of the guest, the first is %s: declared shared by "
                   "storage.sharedPaths, and not looked for on the target",
                   volumes.n, volumes.n == 1 ? "" : "s", volumes.list[0].is.disk);
    struct json_object *note = json_add_object(json_add_array(root, "notes"), NULL);
    json_add_text(note, "name", "storage-not-checked");
    json_add_text(note, "why", why);
    json_add_text(note, "instead",
                  a->config.unsafe
                      ? "at hand-off the target is asked for name and size, which do not prove "
                        "equal bytes"
                      : "libvirt fails where the target lacks one; that a file of that name is "
                        "the same one rests on the configuration");
}

static void add_nodes(const struct asked *a, struct json_object *root)
{
    struct json_object *nodes = json_add_array(root, "nodes");
    struct placement_scan scan;
    placement_scan_begin(&scan, a->f, &a->placement);
    placement_scan_names(&scan);
    for (const struct node *node = a->f->nodes; node != NULL; node = node->hh.next) {
        char detail[PLACEMENT_DETAIL_MAX] = "", score[32];
        enum reject why = scan_node(&scan, node, SCAN_ALL, detail);
        struct json_object *row = json_add_object(nodes, NULL);
        json_add_text(row, "name", node->name);
        json_add_bool(row, "fits", why == REJECT_NONE);
        add_notes(row, node, node == a->placement.source ? HV_QUIRK_OF_SOURCE : HV_QUIRK_OF_TARGET);
        if (why != REJECT_NONE) {
            json_add_text(row, "reason", reject_name(why));
            json_add_text(row, "detail", detail);
            json_add_bool(row, "forEver", reject_is_for_ever(why));
            continue;
        }
        double value = placement_score(a->f, &a->placement, node);
        (void)snprintf(score, sizeof score, "%.1f", value);
        json_add(row, "score", json_object_new_double_s(value, score));
    }
}

static bool add_best(const struct asked *a, struct json_object *root, struct json_object *waits,
                     struct err *err)
{
    struct rejections *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_set(err, ERR_NOMEM, "out of memory: nodes of guest '%s'", a->guest->name);
    const struct node *best = placement_choose(a->f, &a->placement, r);
    json_add_text(root, "best", best != NULL ? best->name : NULL);
    struct forecast forecast = {0};
    if (a->owner != NULL)
        expect_move(a->f, a->guest, best, &a->config, &forecast);
    expect_add_json(root, a->guest, best != NULL ? best->name : NULL, &forecast, a->now.wall_ms);
    if (best == NULL) {
        char text[JOB_REASON_MAX];
        rejections_text(r, text, sizeof text);
        wait_for(waits, PENDING_UNSCHEDULABLE, "%s%s", text,
                 rejections_all_for_ever(r) ? " This cannot change: a migration would fail at once."
                                            : "");
    }
    free(r);
    return true;
}

/* ---- the whole answer ---- */

static bool find(struct fleet *f, const struct question *q, struct asked *out_asked,
                 struct err *err)
{
    unsigned count;
    const struct guest *guest = fleet_guest_named(f, q->ns, q->name, &count);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "the VMI \"%s/%s\" does not exist", q->ns, q->name);
    if (q->wanted[0] != '\0' && fleet_node(f, q->wanted) == NULL)
        return err_set(err, ERR_NOT_FOUND, "node '%s' not found", q->wanted);
    out_asked->f = f;
    out_asked->guest = guest;
    out_asked->owner = guest->owner;
    out_asked->policy = policy_choose(f, guest);
    policy_merge(&f->config.migration, out_asked->policy != NULL ? out_asked->policy->policy : NULL,
                 &out_asked->config);
    placement_of(f, guest, NULL, &out_asked->placement);
    out_asked->placement.encrypted = out_asked->config.require_tls;
    out_asked->placement.job =
        fleet_active_job(f, guest->uuid); /* its own reservation does not count */
    out_asked->placement.wanted = q->wanted;
    out_asked->placement.bandwidth = (uint64_t)out_asked->config.bandwidth;
    return true;
}

char *check_guest(struct fleet *f, const struct question *question, struct moment now,
                  struct err *err)
{
    struct asked a = {.now = now};
    if (!find(f, question, &a, err))
        return NULL;
    OWNED(json_object) root = json_object_new_object();
    add_guest(&a, root);
    add_reasons(&a, root);
    add_state(&a, root);
    add_policy(&a, root);
    struct json_object *waits = json_add_array(root, "wouldWaitFor");
    add_guest_waits(&a, waits);
    add_slot_waits(&a, waits);
    add_quota_waits(&a, waits);
    add_backoff_wait(&a, waits);
    add_nodes(&a, root);
    add_storage_note(&a, root);
    if (!add_best(&a, root, waits, err))
        return NULL;
    const char *text =
        root != NULL ? json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN) : NULL;
    char *copy = text != NULL ? strdup(text) : NULL;
    if (copy == NULL)
        (void)err_set(err, ERR_NOMEM, "out of memory: answer about guest '%s'", a.guest->name);
    return copy;
}
