/* incident.h - open incidents: migrations whose end an operator must see, one each, and guests that
 * no migration is about.
 *
 * Opened with the verdict, or at once when the guest is observed running twice; closed as listed
 * in incident.def. No two open ones have equal labels: the newer one stays, since each is one
 * series. Bounded: at the limit the oldest ordinary one is dropped, else the new one is only
 * counted. Everything is stored, so that an alert survives a restart. Pure: no clock, no I/O. */
#ifndef ENGINE_MODEL_JOB_INCIDENT_H
#define ENGINE_MODEL_JOB_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hypervisor/types.h"

enum {
    INCIDENTS_MAX = 1000,       /* open */
    INCIDENTS_KEPT_MAX = 4000,  /* including those to be stored */
    INCIDENTS_CLOSED_MAX = 100, /* closed ones shown, with who closed them */
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
/* What operators call it: its migration, or the guest where there is none. */
struct incident;
const char *incident_name(const struct incident *incident);

struct incident {
    char uid[37]; /* of the migration, or of a guest that no migration is about; the key */
    char ns[HV_HOST_MAX], guest[HV_NAME_MAX], node[HV_HOST_MAX], migration[254];
    char source[HV_HOST_MAX], target[HV_HOST_MAX];
    char guest_at[INCIDENT_WORD_MAX]; /* outcome.def */
    char plane[INCIDENT_WORD_MAX], cause[INCIDENT_WORD_MAX];
    enum incident_kind kind;
    int64_t opened_ms; /* wall */
    int64_t ended_ms;  /* wall: the migration's end, or the observation */
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
/* An open incident of that migration takes over the newer verdict. False: only counted, no room
 * (or no memory). */
bool incidents_open(struct incidents *incidents, const struct incident *incident);
/* An incident that an earlier process opened; not counted again. */
bool incidents_restore(struct incidents *incidents, const struct incident *incident);
/* The open incident of a migration, by namespace and name; else of a guest of that name; NULL:
 * none. */
const struct incident *incidents_find(const struct incidents *incidents, const char *ns,
                                      const char *migration);
/* The same by its key. */
const struct incident *incidents_with_uid(const struct incidents *incidents, const char *uid);
/* Closes the incident with that key. False: none is open. */
bool incidents_close(struct incidents *incidents, const char *uid, enum incident_end end,
                     const char *by, int64_t now_ms);
/* Closes the fading incidents of a guest: a migration that ended at moved_ms succeeded. Those of
 * migrations that ended later stay. */
void incidents_guest_moved(struct incidents *incidents, const char *ns, const char *guest,
                           int64_t moved_ms, int64_t now_ms);
/* Closes ordinary incidents that are old; a clock that was set back only delays it. */
void incidents_age(struct incidents *incidents, int64_t now_ms);
/* The store lost some: the open ones are stored again. */
void incidents_store_again(struct incidents *incidents);
/* All changes are committed: of the closed ones only the newest are kept, to be shown. */
void incidents_stored(struct incidents *incidents);

#endif
