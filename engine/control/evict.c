/* evict.c - the eviction API on a launcher; see objects.h and eviction.def. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/control/drain.h"
#include "engine/control/eviction.h"
#include "engine/control/objects.h"
#include "engine/model/job/launcher.h"

/* *out_target: the pod is the target launcher of a migration, not the guest's own. */
static bool is_of(struct fleet *f, const struct guest *guest,
                  const struct eviction_request *request, bool *out_target)
{
    char pod[LAUNCHER_POD_MAX];
    *out_target = false;
    if (strcmp(guest->ns, request->ns) != 0 || guest->owner == NULL)
        return false;
    launcher_pod(guest->name, guest->uuid, guest->owner->node->name, guest->stay_job, pod);
    if (strcmp(pod, request->pod) == 0)
        return true;
    const struct job *job = fleet_active_job(f, guest->uuid);
    if (job == NULL || job->placement.launcher == LAUNCHER_NONE)
        return false;
    launcher_pod(guest->name, guest->uuid, job->target, job->uid, pod);
    *out_target = strcmp(pod, request->pod) == 0;
    return *out_target;
}

/* Guests whose name is a literal prefix of the launcher's: the usual case. */
static struct guest *first_named(struct fleet *f, const struct eviction_request *request)
{
    static const char head[] = "virt-launcher-";
    enum { TAIL = 6 }; /* "-" and five letters */
    size_t n = strlen(request->pod);
    struct guest *guest = NULL;
    char key[sizeof guest->key];
    if (n <= sizeof head - 1 + TAIL || strncmp(request->pod, head, sizeof head - 1) != 0)
        return NULL;
    int stem = (int)(n - (sizeof head - 1) - TAIL);
    (void)snprintf(key, sizeof key, "%s/%.*s", request->ns, stem, request->pod + sizeof head - 1);
    HASH_FIND(hh_name, f->guests_named, key, strlen(key), guest);
    return guest;
}

/* The guest of this launcher. */
static struct guest *find(struct fleet *f, const struct eviction_request *request, bool *out_target)
{
    struct guest *guest, *next;
    for (guest = first_named(f, request); guest != NULL; guest = guest->next_namesake)
        if (is_of(f, guest, request, out_target))
            return guest;
    HASH_ITER(hh, f->guests, guest,
              next) /* libvirt allows more characters in a name than a pod has */
    {
        if (is_of(f, guest, request, out_target))
            return guest;
    }
    return NULL;
}

/* A guest is not shut down where another manager owns it, or while somebody else migrates it. */
static bool may_stop(struct fleet *f, const struct guest *guest, struct err *err)
{
    const struct migratable *migratable = &guest->owner->migratable;
    if (fleet_observed_job(f, guest->uuid) != NULL)
        return err_set(err, ERR_LIMIT, "VMI \"%s/%s\" is not shut down: somebody else migrates it",
                       guest->ns, guest->name);
    return migratable_first_live(migratable) != UNMOVABLE_MANAGED ||
           err_set(err, ERR_LIMIT, "VMI \"%s/%s\" is not shut down: it is managed by %s", guest->ns,
                   guest->name, hv_manager_title(migratable->manager));
}

static void act(struct fleet *f, struct guest *guest, const struct eviction_request *request,
                enum eviction answer, struct moment now, struct effects *fx)
{
    struct err ignored = {0};
    if (request->dry_run)
        return;
    if (answer == EVICTION_MARKED || answer == EVICTION_MARKED_UNSET)
        (void)evacuation_mark(f, guest, request->descheduler, now, fx, &ignored);
    if (answer == EVICTION_SHUT_DOWN) {
        (void)effects_order(fx, EFFECT_DO_SHUTDOWN, guest->owner->node->name, guest->uuid,
                            now.wall_ms);
        effects_note(fx, involved_guest(guest->ns, guest->name, guest->uuid), now.wall_ms, true,
                     "ShuttingDown", "Evicted by %s, shutdown allowed.", request->requester);
    }
}

static bool cancel(struct fleet *f, const struct eviction_request *request, struct moment now,
                   struct effects *fx, struct err *err)
{
    unsigned count = 0;
    struct guest *guest = fleet_guest_named(f, request->ns, request->pod, &count);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "the VMI \"%s/%s\" does not exist", request->ns,
                       request->pod);
    if (guest->evacuation_node[0] != '\0' && !request->dry_run)
        evacuation_clear(f, guest, request->requester, now, fx);
    return true;
}

/* Formats a row's text: its last %s is the guest's name, the one before it the namespace. */
static void fill(const char *format, const struct guest *guest, char *out_text, size_t bytes)
{
    const char *first = strstr(format, "%s");
    const char *second = first != NULL ? strstr(first + 2, "%s") : NULL;
    const char *name_at = second != NULL ? second : first;
    size_t used = 0;
    out_text[0] = '\0';
    for (const char *c = format; *c != '\0' && used + 1 < bytes; c++) {
        int n;
        if (c == name_at || c == first)
            n = snprintf(out_text + used, bytes - used, "%s",
                         c == name_at ? guest->name : guest->ns);
        else
            n = snprintf(out_text + used, bytes - used, "%c", *c);
        c += c == name_at || c == first;
        used += n > 0 ? (size_t)n : 0;
    }
}

bool objects_evict(struct fleet *f, const struct eviction_request *request, struct moment now,
                   struct effects *fx, struct err *err)
{
    if (request->cancel)
        return cancel(f, request, now, fx, err);
    bool is_target = false;
    struct guest *guest = find(f, request, &is_target);
    if (guest == NULL)
        return err_set(err, ERR_NOT_FOUND, "pods \"%s\" not found", request->pod);
    if (!fleet_may_act(guest->owner->node, err))
        return false;
    const char *node = guest->owner->node->name;
    struct eviction_case c = {
        .ours = domain_is_up(guest->owner),
        .is_target = is_target,
        .strategy = evacuation_strategy(f, guest),
        .migratable = migratable_first_live(&guest->owner->migratable) == UNMOVABLE_COUNT,
        .marked = strcmp(guest->evacuation_node, node) == 0,
        .shutdown_allowed = request->allow_shutdown,
        .descheduler = request->descheduler,
    };
    enum eviction answer = eviction_answer(&c);
    bool marked = answer == EVICTION_MARKED || answer == EVICTION_MARKED_UNSET;
    bool moves = strategy_moves(c.strategy) != MOVES_NO; /* External: by somebody else */
    if (marked && moves && fleet_active_job(f, guest->uuid) == NULL &&
        !admission_allows(f, guest, "", true, err)) {
        err->code = ERR_LIMIT; /* 429, as all other denials; nothing is marked */
        return err_wrap(err, "VMI \"%s/%s\" cannot be evacuated", guest->ns, guest->name);
    }
    if (answer == EVICTION_SHUT_DOWN && !may_stop(f, guest, err))
        return false;
    act(f, guest, request, answer, now, fx);
    if (eviction_is_allowed(answer))
        return true;
    char text[JOB_REASON_MAX];
    fill(eviction_format(answer), guest, text, sizeof text);
    return err_set(err, ERR_LIMIT, "%s", text);
}
