/* versions.h - the version of each object that the API shows: metadata.resourceVersion.
 *
 * Each change of an object has a number of its own, greater than every one before, whatever the
 * kind: after any event of a watch a client can go on from that event's number. An object has
 * changed when what it is shown from has changed (api_view.is_same); one that was removed gets a
 * number for that, and so does each state between two snapshots that is told (api_view.passed).
 *
 * Numbers begin with the wall clock's microseconds: after a restart they are greater than any given
 * out before, and those before are known to be gone. Immutable and counted, one for each snapshot.
 */
#ifndef EXPORTER_API_VERSIONS_H
#define EXPORTER_API_VERSIONS_H

#include "exporter/api/api.h"

/* A state between two snapshots: a snapshot of that object alone, its number 0. Not to be copied.
 */
struct api_passed {
    struct snapshot snapshot;
    struct snapshot_job job;
    const struct snapshot_job *jobs[1];
};

struct version_list;
struct versions {
    const struct snapshot *snapshot;
    uint64_t newest; /* of all changes up to that snapshot: the version of its lists */
    struct version_list *lists[KIND_COUNT];
};

enum change_type {
    CHANGE_ADDED,
    CHANGE_MODIFIED,
    CHANGE_DELETED,
    CHANGE_TYPES,
};
struct version_change {
    enum api_kind kind;
    enum change_type type;
    const struct snapshot *before, *after;
    size_t was, is; /* its number there; was: not of ADDED, is: not of DELETED */
    uint64_t version;
};
struct version_sink { /* told of each change, in the order of their numbers */
    void *ctx;
    void (*changed)(void *ctx, const struct version_change *change);
};

/* Those of the next snapshot, of which a reference is taken. before NULL: the first ones, from
 * first_version on; the sink is told of nothing. NULL without memory. */
const struct versions *versions_next(const struct versions *before, const struct snapshot *snapshot,
                                     uint64_t first_version, const struct version_sink *sink);
/* The same snapshot and the same versions again, so that something else gets a number. */
const struct versions *versions_again(const struct versions *before);
/* The next number, for a change that is of no snapshot; before others see these versions. */
uint64_t versions_number(const struct versions *fresh);
/* Takes or drops a reference. NULL is fine. Any thread. */
const struct versions *versions_ref(const struct versions *versions);
void versions_unref(const struct versions *versions);
/* Of an object by its number in the view of its kind. */
uint64_t versions_of(const struct versions *versions, enum api_kind kind, size_t i);

#endif
