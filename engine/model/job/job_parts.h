/* job_parts.h - sizes and small records for the parts of a job: job_control.h, job_data.h. */
#ifndef ENGINE_MODEL_JOB_JOB_PARTS_H
#define ENGINE_MODEL_JOB_JOB_PARTS_H

#include "engine/model/job/intent_kind.h"
#include "engine/model/job/phase.h"
#include "hypervisor/types.h"

enum {
    JOB_UID_MAX = 37,
    JOB_NAME_MAX = 254, /* Kubernetes object names, with terminator */
    JOB_WHO_MAX = 64,
    JOB_REASON_MAX = 512,
    JOB_NOTE_MAX = 160,
    JOB_FROM_MAX = 8,
    JOB_END_MAX = 16,
    JOB_MANAGER_MAX = 16,
    JOB_MODES_MAX = 8,
};

/* Both clocks at one moment. */
struct moment {
    int64_t mono_ms, wall_ms;
};

/* The last observation of the guest on one side, and its open query. */
struct job_side {
    struct hv_observation observation;
    int64_t seen_wall_ms; /* 0: never */
    int64_t seen_ms;      /* the same moment, monotonic */
    uint64_t query_id;    /* number of the open query; 0: none */
    int64_t asked_ms;     /* when; a lost answer is not awaited for ever */
    uint64_t round;       /* round that this answer belongs to */
};

/* A second copy that libvirt started: engine/data/stray.h. Times are monotonic. */
struct job_stray {
    int64_t stopped_ms, back_ms; /* events of the source: in the switch-over, and when it resumed
                                    the guest; 0: none */
    int64_t ran_ms; /* the guest still ran on the source then; 0: not known. By its samples: */
    int64_t last_ms, before_ms;
    uint64_t bytes;
    bool target_first;  /* the target was seen to run it before the source resumed it */
    bool target_waited; /* ... and not to run it after that */
    uint64_t question;  /* number of the open query; 0: none */
    int64_t asked_ms;
    unsigned asks;
    bool known; /* the target's kept statistics: */
    uint64_t downtime_ms;
};

enum order {
#define ORDER(id, answered, late, stands, help) ORDER_##id,
#include "engine/model/job/order.def"
#undef ORDER
    ORDER_COUNT
};

/* An order about the guest, with its intent. */
struct job_order {
    uint64_t id;           /* 0: not open */
    int64_t epoch;         /* of the job when the order was given; its intent is epoch and seq */
    int64_t seq, asked_ms; /* wall */
    int64_t first_ms;      /* wall: asked for the first time, when it is repeated */
    int64_t due_ms;        /* monotonic: when it may be repeated, if it failed */
    unsigned times;        /* given under this intent; all but the last one failed */
    unsigned waits;        /* intervals of the schedule that are over */
    bool failed;           /* the last one */
    bool lost;             /* one of them was not answered: it may have worked */
    enum err_code err;     /* of the last failure */
    int hv_code;
    enum intent_kind kind;
    char node[HV_HOST_MAX], argument[32];
};
/* The error of a call as a job keeps it: thousands of jobs have none, or a short one. */
struct job_error {
    enum err_code code;
    int hv_domain, hv_code;
    char *text; /* NULL: none */
};
void job_error_set(struct job_error *error, enum err_code code, const char *text); /* copies */
void job_error_fini(struct job_error *error);
const char *job_error_text(const struct job_error *error); /* never NULL */

/* An order of an earlier process that was not answered. */
struct job_stale_order {
    struct job_order order;
    char unknown[INTENT_NAME_MAX]; /* INTENT_COUNT: its name as another version stored it */
};

struct job_mode { /* one change of mode */
    enum mode mode;
    int64_t wall_ms;
    char cause[48];
};
struct job_step { /* one change of phase */
    enum phase phase;
    int64_t wall_ms;
};
struct job_history {
    struct job_step steps[PHASE_COUNT];
    unsigned n_steps;
    struct job_mode modes[JOB_MODES_MAX]; /* oldest first; the store keeps all */
    unsigned n_modes;
};

#endif
