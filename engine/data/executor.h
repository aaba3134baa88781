/* executor.h - the only code that gives orders to a hypervisor. It runs after the intent of the
 * order is committed, never before, and never waits: the answer comes back as an input. */
#ifndef ENGINE_DATA_EXECUTOR_H
#define ENGINE_DATA_EXECUTOR_H

#include "engine/model/turn/effects.h"
#include "hypervisor/act.h"

/* Submits a DO_MIGRATE, with the job's volumes, or a DO_ABORT. False, with no order given, when
 * the hypervisor's queue is full: the caller answers instead. */
MUST_CHECK bool executor_order(const struct hv_act *act, const struct effect *effect,
                               const struct job *job, struct hv_reply_sink reply_to,
                               struct err *err);

#endif
