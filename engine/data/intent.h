/* intent.h - an order to a hypervisor as a record: opened in the turn that asks for it, closed by
 * its answer. Pure. */
#ifndef ENGINE_DATA_INTENT_H
#define ENGINE_DATA_INTENT_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* Opens the next one of this epoch, for the source; returns its number. argument may be NULL. */
int64_t intent_open_at(struct job *job, const char *node, enum intent_kind kind,
                       const char *argument, struct moment now, struct effects *fx);
int64_t intent_open(struct job *job, enum intent_kind kind, const char *argument, struct moment now,
                    struct effects *fx);
/* The answer came, or was lost with our connection. */
void intent_close(const struct job *job, enum intent_kind kind, int64_t seq, int64_t asked_ms,
                  const struct err *err, struct moment now, struct effects *fx);
/* What an earlier process did not live to see answered is closed as lost. */
void intent_close_left(struct job *job, struct moment now, struct effects *fx);
/* What a host said, as it came. */
void intent_error(const struct job *job, enum intent_kind kind, const struct err *err,
                  struct moment now, struct effects *fx);

/* An order about the guest to one of its nodes: the intent, and the effect that carries it out once
 * that is committed; the effect is the caller's to fill further. call MIGRATE: a DO_MIGRATE. */
struct effect *order_give(struct fleet *f, struct job *job, struct job_order *order,
                          enum hv_call call, const char *node, enum intent_kind kind,
                          const char *argument, struct moment now, struct effects *fx);
/* Was it this one that was answered? Then its intent is closed and an error recorded. */
bool order_answered(struct job *job, struct job_order *order, uint64_t id, const struct err *err,
                    struct moment now, struct effects *fx);

#endif
