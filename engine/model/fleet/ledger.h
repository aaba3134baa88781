/* ledger.h - resources of nodes and namespaces in use: by running guests and by reserved target
 * launchers. The one account, so that nothing is reserved twice.
 *
 * The room of a node is its capacity reported by libvirt, times the fleet's overcommit, minus
 * `running`, minus `reserved`. A guest that arrived under its reservation counts once: in
 * `reserved` until the launcher is released, in `running` from then on. */
#ifndef ENGINE_MODEL_FLEET_LEDGER_H
#define ENGINE_MODEL_FLEET_LEDGER_H

#include "engine/model/fleet/fleet.h"

struct resources ledger_resources(const struct guest *guest);

/* Room for one more launcher of `job` (its own reservation does not count). UINT64_MAX where the
 * node's capacity is not known. */
uint64_t ledger_memory_left(const struct fleet *f, const struct node *node, const struct job *job);
uint64_t ledger_memory_whole(const struct fleet *f, const struct node *node);
uint64_t ledger_vcpus_left(const struct fleet *f, const struct node *node, const struct job *job);
uint64_t ledger_huge_left(const struct node *node, uint64_t page_kib, const struct job *job);
/* The guest's memory in whole pages of that size. page_kib 1 means the host's default huge page
 * size, here as above: the smallest known size above plain pages. */
uint64_t ledger_huge_need(const struct node *node, uint64_t page_kib, uint64_t memory_kib);
/* Bytes per second to reserve for the job: the requested limit, else its configuration's, at
 * most a node's budget. 0: no limit and no budget. With a budget the job must be started with
 * this limit, or other reservations are broken. */
uint64_t ledger_bandwidth(const struct fleet *f, const struct job *job);

/* Do the namespace's quotas allow this much more? NULL: it has none. False: the text explains why
 * not. */
bool ledger_in_quota(const struct namespace *namespace, const struct resources *more,
                     char out_text[static QUOTA_TEXT_MAX]);

/* Reserves the target launcher on job->target, its charge to the namespace and its bandwidth on
 * both nodes. Once per job until released; releasing twice is harmless. Until then the job's
 * source, target and namespace do not change. */
void ledger_reserve(struct fleet *f, struct job *job, const struct resources *resources);
void ledger_release(struct fleet *f, struct job *job);
/* Only its bandwidth: nothing is known to be transferred, but the guest may be on the target. */
void ledger_release_bandwidth(struct fleet *f, struct job *job);
/* A job from the store: enters its stored reservation. */
void ledger_restore(struct fleet *f, struct job *job);
/* Call when a domain came, went, changed state or size: updates node->running and the namespace.
 * remove: the domain is about to go. A namespace is charged once per guest, on however many
 * nodes it is up: only a reservation is a second launcher. */
void ledger_domain(struct fleet *f, struct domain *domain, bool remove);

/* Recounts everything and compares; false with the difference. For tests and laws. */
bool ledger_check(const struct fleet *f, char *out_text, size_t bytes);

#endif
