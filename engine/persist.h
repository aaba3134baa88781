/* persist.h - the engine's types to and from the store's rows. */
#ifndef ENGINE_PERSIST_H
#define ENGINE_PERSIST_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"
#include "store/store.h"

/* Puts a record into the open transaction; skips actions. */
void persist_effect(struct store *store, const struct fleet *f, const struct effect *effect);
/* Hands a row of the trace to the samples lane; dropped when there is no room. */
void persist_monitor_input(struct store *store, const struct effect *effect);
/* An EVENT as it is stored; texts live with the effect and the fleet. */
struct store_event persist_event(const struct fleet *f, const struct effect *effect);
/* The same in the story of the job's guest, as KubeVirt has it: where the migration began, how it
 * ended, and each warning. False: it is not told there. The text is in out_text. */
enum { PERSIST_TEXT_MAX = JOB_NAME_MAX + JOB_REASON_MAX + 2 };
bool persist_guest_event(const struct fleet *f, const struct effect *effect,
                         char out_text[static PERSIST_TEXT_MAX], struct store_event *out_event);
void persist_job(struct store *store, const struct job *job);
void persist_rejections(struct store *store, const struct job *job);
void persist_object(struct store *store, struct fleet *f, const struct object *object,
                    int64_t wall_ms);

/* Fills the fleet with the jobs of the store: all unfinished ones and the newest finished. */
MUST_CHECK bool persist_load(struct store *store, struct fleet *f, struct err *err);
/* Reads one job as of the last commit, with its records; the fleet is not changed. *out_job is
 * the caller's, NULL when the store has no such job. */
MUST_CHECK bool persist_read_job(struct store *store, struct fleet *f, const char *uid,
                                 struct job **out_job, struct err *err);

#endif
