/* observe.h - observations of a job's guest on both hosts: rounds of queries, their answers, and
 * the record of them. Pure.
 *
 * A round queries both hosts and is complete when both answered, or are unreachable. It only
 * observes: ownership.h and the caller draw the conclusions. */
#ifndef ENGINE_DATA_OBSERVE_H
#define ENGINE_DATA_OBSERVE_H

#include "engine/model/fleet/fleet.h"
#include "engine/model/turn/effects.h"

/* A final job whose time has come: both hosts are queried once more. The answers are recorded
 * and change nothing (moment: later). True if the answer was to that. */
void observe_later(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
bool observe_answered_later(struct fleet *f, struct job *job, uint64_t id,
                            const struct hv_observation *observation, struct moment now,
                            struct effects *fx);

/* Records the last observations of both hosts. moment is a literal: before, outcome, adoption. */
void observe_record_sides(struct job *job, const char *moment, struct moment now,
                          struct effects *fx);

/* Starts a round on both hosts unless one is open. */
void observe_begin(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* True when both hosts answered the newest round, and neither answer became outdated while the
 * other was awaited: an outdated one is queried again first. */
bool observe_answered(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* Does the source's own job run? Queried in each round in which that matters and the query harms
 * nothing. True when the answer of this round is here, is not needed, or has been awaited long
 * enough. */
enum { OBSERVE_LEFTOVER_MS = 10000 }; /* how long a dead copy may remain on the target */
bool observe_knows_job(struct fleet *f, struct job *job, struct moment now, struct effects *fx);

/* Queries every node that has the guest, whatever job there is. Returns the number of the first
 * query. */
uint64_t observe_guest(struct fleet *f, const struct guest *guest, struct moment now,
                       struct effects *fx);

/* Notes which machines the source and the target are, at the migrate call. */
void observe_note_hosts(struct fleet *f, struct job *job);
/* The answer of a node, or unreachable where its name now means another machine, or is not known to
 * mean the same one: such an answer proves nothing about the guest. */
struct hv_observation observe_trusted(struct fleet *f, const struct job *job, bool is_source,
                                      const struct hv_observation *observation);
/* The node that is another machine than at the migrate call; NULL: none. */
const struct node *observe_other_machine(struct fleet *f, const struct job *job);

#endif
