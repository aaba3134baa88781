/* policy_choose.c - the MigrationPolicy that applies to a guest; see policy_choose.h. */
#include "engine/control/policy_choose.h"

void policy_match_guest(const struct object *object, const struct guest *guest,
                        struct policy_score *out_score)
{
    static const struct labels none;
    const struct labels *ns = guest->namespace != NULL ? &guest->namespace->labels : &none;
    policy_match(object->policy, &guest->labels, ns, out_score);
}

const struct object *policy_choose(const struct fleet *f, const struct guest *guest)
{
    const struct object *best = NULL;
    struct policy_score best_score = {0}, score;
    for (const struct object *o = f->of_kind[OBJECT_POLICY]; o != NULL; o = o->next) {
        if (o->removed || o->policy == NULL)
            continue;
        policy_match_guest(o, guest, &score);
        if (!score.matches ||
            (best != NULL && !policy_better(&score, o->name, &best_score, best->name)))
            continue;
        best = o;
        best_score = score;
    }
    return best;
}
