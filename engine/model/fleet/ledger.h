/* ledger.h - who uses how much of a node and of a namespace: guests that are up, and target
 * launchers that were promised a place. The one book, so that nothing is promised twice.
 *
 * A node's room is what libvirt says it has, times the fleet's overcommit, less `running`, less
 * `reserved`. A guest that has arrived under its reservation is counted once: in `reserved` until
 * the launcher is given back, in `running` from then on. */
#ifndef ENGINE_MODEL_FLEET_LEDGER_H
#define ENGINE_MODEL_FLEET_LEDGER_H

#include "engine/model/fleet/fleet.h"

struct resources ledger_resources(const struct guest *guest);

/* Room left for one more launcher of `job` (its own reservation does not count). UINT64_MAX where
 * the node's size is not known. */
uint64_t ledger_memory_left(const struct fleet *f, const struct node *node, const struct job *job);
uint64_t ledger_memory_whole(const struct fleet *f, const struct node *node);
uint64_t ledger_vcpus_left(const struct fleet *f, const struct node *node, const struct job *job);
uint64_t ledger_huge_left(const struct node *node, uint64_t page_kib, const struct job *job);
/* The guest's memory in whole pages of that size. page_kib 1: the host's default size, here as
 * above: the smallest one known that is bigger than plain pages. */
uint64_t ledger_huge_need(const struct node *node, uint64_t page_kib, uint64_t memory_kib);
/* Bytes per second the job is promised: what it asks for, else its configuration's limit, and never
 * more than a node gives. 0: no limit and no budget. With a budget the job must be started with
 * this limit, or the promise to the others is broken. */
uint64_t ledger_bandwidth(const struct fleet *f, const struct job *job);

/* The target launcher's reservation on job->target, with its charge to the namespace and its
 * bandwidth on both nodes. Once per job until released; releasing twice is fine. Until then the
 * job's source, target and namespace stay as they are. */
void ledger_reserve(struct fleet *f, struct job *job, const struct resources *resources);
void ledger_release(struct fleet *f, struct job *job);
/* A job that the store held: enters the amounts it was promised. */
void ledger_restore(struct fleet *f, struct job *job);
/* Call when a place came, went, changed state or size: keeps node->running and the namespace
 * true. remove: it is about to go. A namespace is charged once for a guest, however many nodes it
 * is up on: only a reservation makes a second launcher. */
void ledger_domain(struct fleet *f, struct domain *domain, bool remove);

/* Recounts everything from nothing and compares; false with what differs. For tests and laws. */
bool ledger_check(const struct fleet *f, char *out_text, size_t bytes);

#endif
