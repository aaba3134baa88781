/* order.h - an order to a hypervisor about one job (order.def): recorded as an intent in the
 * turn that gives it, carried out once that is committed, closed by its answer. Pure. */
#ifndef ENGINE_DATA_ORDER_H
#define ENGINE_DATA_ORDER_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

struct order_spec {
    enum effect_kind effect; /* that carries it out */
    enum hv_call call;       /* DO_TUNE: its call */
    enum intent_kind intent;
    const char *node, *argument; /* the node that gets it; the argument may be NULL */
};

/* When may that order be given, by the monotonic clock? At once, unless the same one just failed:
 * it is repeated after 0.2 s, then after twice as long each time, at most 10 s. One intent counts
 * all of them. */
int64_t order_due_ms(const struct job *job, enum order which, const struct order_spec *spec);
/* An operator asks for it: the intervals begin anew. */
void order_hurry(struct job *job, enum order which);

/* Records the intent and orders the call. The caller fills the effect further. */
struct effect *order_give(struct fleet *f, struct job *job, enum order which,
                          const struct order_spec *spec, struct moment now, struct effects *fx);
/* The same in two steps, for an order that needs other effects before its own. */
void order_open(struct fleet *f, struct job *job, enum order which, const struct order_spec *spec,
                struct moment now, struct effects *fx);
struct effect *order_carry_out(const struct job *job, enum order which,
                               const struct order_spec *spec, struct moment now,
                               struct effects *fx);

/* Is an order that waited for its commit still to be carried out? Not about a job that has ended
 * since, except to resume on the source a guest that Ferry paused, or to set autostart
 * on the target, both by operator override. */
bool order_stands(const struct job *job, const struct effect *effect);

/* The answer came: closes the intent, records an error of the host. */
void order_answered(struct job *job, enum order which, const struct err *err, struct moment now,
                    struct effects *fx);
/* Closes the intent of an order whose answer cannot come any more. */
void order_close(const struct job *job, enum order which, const struct err *err, struct moment now,
                 struct effects *fx);
/* Closes the unanswered orders of an earlier process as lost. */
void order_close_left(struct job *job, struct moment now, struct effects *fx);

#endif
