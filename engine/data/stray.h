/* stray.h - a guest that runs on both hosts, and the copy of the two that libvirt itself started on
 * the target after it had resumed the guest on the source. Pure.
 *
 * QEMU ends a pre-copy without libvirtd. When the target's daemon hangs at that moment, the
 * source's sends Finish, its keepalive closes the connection, the call fails, and the source
 * resumes the guest. A daemon that then goes on still finds Finish in its socket and starts its
 * copy (libvirt: qemuMigrationSrcPerformPeer2Peer3, "ddomain could in fact be running on the
 * dest").
 *
 * Of two running copies the one that was started last is the wrong one: the other had the disks
 * for itself until then. Ferry suspends the target's copy, once, and only when that one is proven
 * to be the last: both hosts say in two rounds why they run it, running(migration-canceled) on the
 * source and running(migrated) on the target, no migration is left on the source, and the target
 * was seen waiting after the source ran, or its kept statistics say so. It never destroys a copy,
 * never suspends the source and never resumes what it suspended; the incident stays until one
 * copy is left. A copy that somebody resumed has another reason, and is left alone. */
#ifndef ENGINE_DATA_STRAY_H
#define ENGINE_DATA_STRAY_H

#include "engine/data/order.h"
#include "engine/data/ownership.h"
#include "engine/model/turn/step.h"

/* A guest that runs on both hosts needs an operator at once, not at the end. The incident is
 * opened once per finding, which guest_at keeps, also over a restart: an acknowledged one stays
 * closed. An unreachable host does not end it, nor does a copy that Ferry suspended. */
void stray_note_split(struct fleet *f, struct job *job, enum ownership ownership,
                      struct moment now);

/* A sample of the source: while memory was copied after it, the guest ran there. */
void stray_sample(struct job *job, const struct sample *sample);
/* The source or the target stopped or resumed the guest. */
void stray_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now);
/* Both hosts were observed; their states are equal for stable_ms. Asks, or orders, what is due. */
void stray_seen(struct fleet *f, struct job *job, int64_t stable_ms, struct moment now,
                struct effects *fx);
/* The target's kept statistics. True: that was the answer to Ferry's query about a second copy. */
bool stray_statistics(struct job *job, uint64_t id, const struct err *err,
                      const struct hv_job_stats *stats, struct moment now);
void stray_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);

/* Ferry suspended the target's copy, and it is still paused, or cannot be observed. */
bool stray_is_suspended(const struct job *job);
/* What was done, and what an operator has to do. */
void stray_describe(const struct job *job, char out[static JOB_REASON_MAX]);
/* An operator decided where the guest is, and the suspended copy is left. */
void stray_left(struct job *job, bool on_source, struct moment now, struct effects *fx);

#endif
