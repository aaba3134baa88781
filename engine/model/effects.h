/* effects.h - what a turn of the pure core asks of the world, in order.
 *
 * Records are to be stored; actions are to be done, but only after the records of the same turn
 * are committed. The core appends; the shell commits, then acts. Grows as needed and is emptied
 * each turn. When not even that memory is to be had the process ends: what it cannot record it
 * must not do, and the next one adopts what is under way.
 */
#ifndef ENGINE_MODEL_EFFECTS_H
#define ENGINE_MODEL_EFFECTS_H

#include "engine/model/decision.h"
#include "engine/model/job.h"
#include "hypervisor/hv.h"

enum effect_kind {
    EFFECT_STEP,     /* record: a job changed phase */
    EFFECT_EVENT,    /* record: something to tell about a job, or about another object */
    EFFECT_SIGHTING, /* record: the guest seen, or not, on a node */
    EFFECT_ERROR,    /* record: an error of a hypervisor call */
    EFFECT_MODE,     /* record: the mode changed */
    EFFECT_DECISION, /* record: what a monitor decided, or would have */
    EFFECT_INTENT,   /* record: an action that changes a guest, before and after */
    /* From here on: things to do. */
    EFFECT_DO_LOOK,        /* ask a node for the guest's state */
    EFFECT_DO_ASK_JOB,     /* ask the source whether a job runs on the guest */
    EFFECT_DO_ASK_FINAL,   /* ask a node for the numbers it kept of the guest's last move */
    EFFECT_DO_COMPARE_CPU, /* ask a node whether it has the CPU that the guest sees on `from` */
    EFFECT_DO_ASK_VOLUMES, /* ask `from` how big the job's disks are, a node about their places */
    EFFECT_DO_ASK_PATH,    /* ask a node's helper whether `from`, another node, can be reached */
    EFFECT_DO_ASK_RELAY,   /* ask how the guest's streams through our relay fare */
    EFFECT_DO_MIGRATE,     /* its volumes are the job's */
    EFFECT_DO_ABORT,
    EFFECT_DO_TUNE,        /* downtime, post-copy, pause, resume: act.call */
    EFFECT_DO_SHUTDOWN,    /* ask a guest to turn itself off */
    EFFECT_DO_STOP_BACKUP, /* abort the job of somebody else on the guest */
    EFFECT_DO_WATCH,
    EFFECT_DO_UNWATCH,
    EFFECT_DO_NOTE_LOOK, /* append to the trace what a monitor was given; nobody waits for it */
    EFFECT_DO_REMOVE,    /* take the finished job out of view */
};

/* One line of the trace from which a monitor's decisions can be computed again. */
enum look_kind { LOOK_BEGIN, LOOK_LOOK, LOOK_ACCEPTED, LOOK_REFUSED, LOOK_COUNT };
const char *look_kind_name(enum look_kind kind); /* begin look accepted refused */

struct effect {
    enum effect_kind kind;
    char job_uid[JOB_UID_MAX];
    int64_t wall_ms;
    union {
        struct {
            enum phase from, to;
            enum trigger why;
            int64_t seq, spent_ms;
        } step;
        struct {
            bool warning;
            const char *reason; /* a literal */
            char message[JOB_REASON_MAX];
            const char *kind; /* a literal; NULL: the job itself */
            char ns[HV_HOST_MAX], name[JOB_NAME_MAX];
        } event; /* job_uid holds the uid of another object */
        struct {
            char node[HV_HOST_MAX];
            const char *role, *moment; /* literals */
            struct hv_sight sight;
        } sighting;
        struct {
            char node[HV_HOST_MAX];
            const char *call; /* a literal */
            struct err err;
        } error;
        struct {
            enum mode mode;
            const char *cause; /* a literal */
        } mode;
        struct {
            int64_t epoch, seq, asked_ms, done_ms;
            const char *action, *status; /* literals */
            char node[HV_HOST_MAX], argument[32];
            struct err err;
        } intent;
        struct {
            int64_t seq;
            const char *monitor; /* a literal: stall, legacy */
            bool shadow;
            struct monitor_decision is;
        } decision;
        struct {
            enum look_kind kind;
            int64_t seq, elapsed_ms, sample_seq; /* -1: no sample */
            enum mode mode;
            bool stopped, aborting; /* LOOK */
            bool resumed, post_copy;
            struct monitor_facts facts; /* BEGIN */
        } look;
        struct {
            uint64_t id;
            enum hv_call call; /* TUNE */
            uint64_t value;    /* TUNE */
            bool stops;        /* TUNE: in the place of an abort, and as urgent */
            bool postcopy;     /* TUNE, ABORT: only the post-copy stream is ended */
            char node[HV_HOST_MAX], guest[HV_UUID_MAX];
            char from[HV_HOST_MAX]; /* COMPARE_CPU, ASK_VOLUMES, ASK_PATH */
            int64_t next_seq;       /* WATCH */
            struct hv_migrate migrate;
        } act;
    } of;
};

struct effects {
    struct effect *list;
    size_t n, capacity;
};

void effects_fini(struct effects *fx);
void effects_clear(struct effects *fx);
/* A new effect of that kind about that job, to be filled in; never NULL. */
struct effect *effects_add(struct effects *fx, enum effect_kind kind, const struct job *job,
                           int64_t wall_ms);
void effects_event(struct effects *fx, const struct job *job, int64_t wall_ms, bool warning,
                   const char *reason, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same about another object: kind is a literal. */
void effects_note(struct effects *fx, const char *kind, const char *ns, const char *name,
                  const char *uid, int64_t wall_ms, bool warning, const char *reason,
                  const char *fmt, ...) __attribute__((format(printf, 9, 10)));
/* Something to do with a guest that is no job's. */
struct effect *effects_order(struct effects *fx, enum effect_kind kind, const char *node,
                             const char *guest_uuid, int64_t wall_ms);

#endif
