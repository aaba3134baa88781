/* incident.h - open incidents: migrations whose end somebody must look at, one for each.
 *
 * Opened with the verdict, or at once when the guest is seen to run twice; closed when its fate is
 * settled (incident.def says how). No two open ones look the same to a reader: of those the newer
 * stays, since each is one series.
 * Bounded: when as many are open as are kept, the oldest ordinary one makes room, else the new one
 * is only counted. Everything is stored, so that a page to an operator outlives a restart. Pure:
 * no clock, no I/O.
 */
#ifndef ENGINE_MODEL_JOB_INCIDENT_H
#define ENGINE_MODEL_JOB_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hypervisor/types.h"

enum {
    INCIDENTS_MAX = 1000,       /* open */
    INCIDENTS_KEPT_MAX = 4000,  /* with those to be stored */
    INCIDENTS_CLOSED_MAX = 100, /* the newest that are shown with who closed them */
    INCIDENT_AGE_MS = 15 * 60 * 1000,
    INCIDENT_WORD_MAX = 64
};

enum incident_kind {
#define INCIDENT_KIND(id, name, lasts, help) INCIDENT_##id,
#include "engine/model/job/incident.def"
#undef INCIDENT_KIND
    INCIDENT_KINDS
};
enum incident_end {
#define INCIDENT_END(id, name, help) INCIDENT_END_##id,
#include "engine/model/job/incident.def"
#undef INCIDENT_END
    INCIDENT_ENDS
};
const char *incident_kind_name(enum incident_kind kind);
enum incident_kind incident_kind_from_name(const char *name); /* INCIDENT_KINDS: no such */
bool incident_lasts(enum incident_kind kind);
const char *incident_end_name(enum incident_end end);

struct incident {
    char uid[37]; /* of the migration; the key */
    char ns[HV_HOST_MAX], guest[HV_NAME_MAX], node[HV_HOST_MAX], migration[254];
    char source[HV_HOST_MAX], target[HV_HOST_MAX];
    char guest_at[INCIDENT_WORD_MAX]; /* outcome.def */
    char plane[INCIDENT_WORD_MAX], cause[INCIDENT_WORD_MAX];
    enum incident_kind kind;
    int64_t opened_ms; /* wall */
    int64_t ended_ms;  /* wall: the migration's end, or when it was seen */
    enum incident_end end;
    int64_t closed_ms;
    char by[64];  /* who closed it */
    bool changed; /* must be stored */
};
struct incident_totals { /* since start */
    uint64_t opened[INCIDENT_KINDS], closed[INCIDENT_ENDS], overflow;
};
struct incidents {
    struct incident *list; /* owned; by opening; closed ones stay until they are stored */
    size_t n, n_open;
    struct incident *closed; /* owned; INCIDENTS_CLOSED_MAX; stored ones, by closing; to be shown */
    size_t n_closed;
    bool changed;     /* some must be stored */
    uint64_t version; /* grows with every change */
    struct incident_totals totals;
};

void incidents_fini(struct incidents *incidents);
/* One of that migration that is open already takes over the newer verdict. False: it is only
 * counted, there is no room (or no memory) for it. */
bool incidents_open(struct incidents *incidents, const struct incident *incident);
/* One that an earlier process opened; not counted again. */
bool incidents_restore(struct incidents *incidents, const struct incident *incident);
/* The open one of a migration, by namespace and name; NULL: none. */
const struct incident *incidents_find(const struct incidents *incidents, const char *ns,
                                      const char *migration);
/* Closes the one of a migration. False: none is open. */
bool incidents_close(struct incidents *incidents, const char *uid, enum incident_end end,
                     const char *by, int64_t now_ms);
/* Closes those of a guest that fade: a migration of it that ended at moved_ms worked. Those of
 * migrations that ended later stay. */
void incidents_guest_moved(struct incidents *incidents, const char *ns, const char *guest,
                           int64_t moved_ms, int64_t now_ms);
/* Closes ordinary ones that are old; a clock that was set back only makes it later. */
void incidents_age(struct incidents *incidents, int64_t now_ms);
/* Everything that changed is on disk: closed ones are only kept to be shown, the newest of them. */
void incidents_stored(struct incidents *incidents);

#endif
