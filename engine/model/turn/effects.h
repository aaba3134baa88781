/* effects.h - the effects of one turn of the pure core, in order.
 *
 * Records are stored; actions are carried out, but only after the records of the same turn are
 * committed. The core appends; the shell commits, then acts. Grows as needed and is emptied each
 * turn. Without memory for a record the process ends: an action without a record must not
 * happen, and the next process adopts the running migrations. */
#ifndef ENGINE_MODEL_TURN_EFFECTS_H
#define ENGINE_MODEL_TURN_EFFECTS_H

#include "engine/model/job/decision.h"
#include "engine/model/job/intent_kind.h"
#include "engine/model/job/job.h"
#include "engine/model/turn/input_kind.h"
#include "hypervisor/hv.h"

enum effect_kind {
#define EFFECT(id, is, commit, call, answer, help) EFFECT_##id,
#include "engine/model/turn/effect.def"
#undef EFFECT
    EFFECT_COUNT
};
/* What happens while commits fail; see effect.def. */
enum effect_commit { EFFECT_WAITS, EFFECT_GOES, EFFECT_STOPS, EFFECT_MAY_STOP };
bool effect_is_record(enum effect_kind kind); /* else it is carried out */
enum effect_commit effect_commit(enum effect_kind kind);
enum input_kind effect_answer(enum effect_kind kind); /* INPUT_COUNT: no answer */
struct effect;
enum hv_call effect_call(const struct effect *effect); /* HV_CALL_COUNT: none */

/* One row of the trace from which a monitor's decisions can be replayed. */
enum monitor_input_kind {
    MONITOR_INPUT_BEGIN,
    MONITOR_INPUT_STEP,
    MONITOR_INPUT_ACCEPTED,
    MONITOR_INPUT_REFUSED,
    MONITOR_INPUT_COUNT
};
const char *monitor_input_kind_name(enum monitor_input_kind kind); /* begin look accepted refused */

/* Of a record whose turn outlives the commit: it waits for what was decided since. */
enum effect_stored { EFFECT_NOT_STORED, EFFECT_IN_COMMIT, EFFECT_STORED };

struct effect {
    enum effect_kind kind;
    enum effect_stored stored;
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
            struct hv_observation observation;
        } observation;
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
            enum intent_kind kind;
            char unknown[INTENT_NAME_MAX]; /* INTENT_COUNT: its name as another version stored it */
            const char *status;            /* a literal */
            int64_t first_ms, times;
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
            enum monitor_input_kind kind;
            int64_t seq, elapsed_ms, sample_seq; /* -1: no sample */
            enum mode mode;
            bool stopped, aborting; /* LOOK */
            bool resumed, post_copy;
            struct monitor_facts facts; /* BEGIN */
        } monitor_input;
        struct {
            uint64_t id;
            enum hv_call call; /* TUNE */
            uint64_t value;    /* TUNE */
            bool stops;        /* TUNE: replaces an abort, and as urgent */
            bool postcopy;     /* TUNE, ABORT: only the post-copy stream is ended */
            char node[HV_HOST_MAX], guest[HV_UUID_MAX];
            char from[HV_HOST_MAX]; /* COMPARE_CPU, ASK_VOLUMES, ASK_PATH */
            int64_t next_seq;       /* WATCH */
            bool foreign;           /* WATCH: somebody else's migration */
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
/* A new effect of that kind for that job, to be filled in; never NULL. */
struct effect *effects_add(struct effects *fx, enum effect_kind kind, const struct job *job,
                           int64_t wall_ms);
void effects_event(struct effects *fx, const struct job *job, int64_t wall_ms, bool warning,
                   const char *reason, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same for another object (Kubernetes: involvedObject): kind is a literal. */
struct involved {
    const char *kind, *ns, *name, *uid;
};
struct involved involved_guest(const char *ns, const char *name, const char *uuid);
void effects_note(struct effects *fx, struct involved object, int64_t wall_ms, bool warning,
                  const char *reason, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The action's name, of an INTENT. */
const char *effect_intent_name(const struct effect *effect);
/* An order about a guest without a job. */
struct effect *effects_order(struct effects *fx, enum effect_kind kind, const char *node,
                             const char *guest_uuid, int64_t wall_ms);

#endif
