/* intent.h - an order to a hypervisor as a record: opened in the turn that asks for it, closed by
 * its answer. Pure. */
#ifndef ENGINE_DATA_INTENT_H
#define ENGINE_DATA_INTENT_H

#include "engine/model/effects.h"

/* Opens the next one of this epoch, for the source; returns its number. action is a literal, as are
 * those below; argument may be NULL. */
int64_t intent_open(struct job *job, const char *action, const char *argument, struct moment now,
                    struct effects *fx);
/* The answer came, or was lost with our connection. */
void intent_close(const struct job *job, const char *action, int64_t seq, int64_t asked_ms,
                  const struct err *err, struct moment now, struct effects *fx);
/* What a host said, as it came. */
void intent_error(const struct job *job, const char *call, const struct err *err, struct moment now,
                  struct effects *fx);

#endif
