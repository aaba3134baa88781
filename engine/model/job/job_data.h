/* job_data.h - the parts of a job that the data plane writes; all read them. Stored fields first,
 * as in job_control.h. */
#ifndef ENGINE_MODEL_JOB_JOB_DATA_H
#define ENGINE_MODEL_JOB_JOB_DATA_H

#include "collector/sample.h"
#include "engine/model/forecast/eta.h"
#include "engine/model/job/job_member.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/settings/migration_config.h"

/* What is known about the hypervisor's own job on the source while no call of ours answers. */
enum job_seen {
    JOB_SEEN_UNKNOWN,
    JOB_SEEN_ACTIVE, /* a migration out */
    JOB_SEEN_OTHER,  /* a job that is no migration: a backup, say */
    JOB_SEEN_NONE
};

struct job_call { /* the migrate call of this process, if there is one; engine/data/move.h */
#define CALL_FIELD JOB_MEMBER
#include "store/job_fields.def"
    struct migration_config config; /* in effect; frozen at hand-off */
    uint64_t config_version;        /* of the fleet's policies it was made from */
    int64_t begun_ms;               /* monotonic: when it was handed off, by this process's clock */
    bool over;                      /* answered by the source itself: its job has ended */
    bool withdrawn;   /* the order was recorded but never given: the store was too slow */
    bool moved;       /* something was seen moving, in this process or before */
    unsigned retries; /* calls made again after proof that the one before was never made */
};

struct job_abort { /* engine/data/move.h */
#define ABORT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool asked, accepted;
    int64_t asked_ms, next_ms; /* monotonic */
};

struct job_resolution { /* the outcome as both nodes show it; engine/data/resolve.h */
#define RESOLUTION_FIELD JOB_MEMBER
#include "store/job_fields.def"
    enum guest_at guest_at;
    uint64_t round, judged_round; /* of looks */
    unsigned again;               /* sides of this round that were asked a second time */
    int64_t next_round_ms;
    struct job_side source_side, target_side;
    struct job_left *left; /* orders of an earlier process, open; owned */
    unsigned n_left;
    enum job_seen hv_job;     /* newest answer about the source's own job */
    bool hv_job_is_backup;    /* OTHER: one that may be stopped where the policy says so */
    bool asked_job;           /* ... was asked for, in this stage */
    uint64_t hv_job_question; /* question out, 0: none */
    uint64_t hv_job_round;    /* round of looks that this answer belongs to */
    int64_t hv_job_asked_ms;
    int64_t ownership_since_ms; /* both sides say the same since, 0: not known */
    int ownership_last;         /* what they said; -1: nothing yet */
    bool reported;              /* the present verdict was told */
};

struct job_monitor { /* engine/data/monitor_driver.h */
#define MONITOR_FIELD JOB_MEMBER
#include "store/job_fields.def"
    int decision; /* enum decision: the newest one */
    char decision_text[JOB_REASON_MAX];
    int64_t decision_ms;                   /* wall; 0: none yet */
    struct monitor_driver *monitor_driver; /* the monitors at work, owned */
    void (*free_monitor_driver)(
        struct monitor_driver *monitor_driver); /* set with it by who made it */
    char *json;        /* the acting one's state as last stored, owned or NULL */
    int64_t driven_ms; /* monotonic: it last looked */
    int64_t decisions_before, inputs_before; /* recorded by earlier processes */
    int64_t next_sample_seq;
    bool stopped_by_us; /* we paused the guest to finish; it is given back if that fails */
    unsigned resume_tries;
};

struct job_result {
#define RESULT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    struct err error;                  /* what the migrate call answered */
    struct verdict_rows *verdict_rows; /* why it ended as it did; NULL: not judged yet */
    bool residue;       /* final: it seems to have left something behind; seen once */
    bool observe_later; /* final: both sides are to be seen once more, at queue.wake_ms */
};

struct job_stream { /* does it move? engine/data/remedy.h */
#define STREAM_FIELD JOB_MEMBER
#include "store/job_fields.def"
    uint64_t bytes;          /* data_processed of the newest sample */
    int64_t flow_ms;         /* monotonic: when it last grew, or was first seen */
    int64_t sampled_ms;      /* monotonic: of that sample; what was not measured is not known */
    int64_t stopped_ms;      /* monotonic: the source stands still for the switch-over; 0: not */
    int64_t stopped_wall_ms; /* the same moment, to be shown */
    int64_t aborted_ms;      /* monotonic: an abort was accepted; 0: none */
    bool target_resumed;     /* the target was seen to let the guest run */
    bool switched;           /* the source was seen to stop for the switch-over */
    bool unseen;             /* for a while nobody watched: it may have */
    bool target_unseen;      /* the target was not watched from the first: it may have run it */
    uint64_t target_losses;  /* its losses, and all that was missed, when the call went out */
    bool postcopy_ordered;   /* it may run there at any moment, whatever was seen */
    uint64_t tried;          /* remedies, as bits by enum decision */
    int64_t ordered_ms;      /* monotonic: when the last one was; 0: none */
    int64_t advanced_ms;     /* monotonic: it was last looked after */
    int64_t looked_ms;       /* monotonic: both sides were asked */
    int last;                /* enum decision of the newest look */
};

struct job_progress { /* the newest sample */
    bool has_sample;
    struct sample sample;
    struct eta eta; /* when it will be over, by that sample */
};

struct job_recovery { /* of a post-copy that broke: engine/data/recovery.h */
#define RECOVERY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    enum recovery_way way;    /* of the newest try */
    unsigned unsafe;          /* ways after which a daemon ended, as bits */
    uint64_t losses;          /* of both nodes when that try was made */
    int64_t next_ms, ends_ms; /* monotonic: the next try, the end of the window */
    int64_t tried_ms;         /* monotonic: the newest one; 0: none */
    int64_t answered_ms;      /* monotonic: when the newest order was */
    bool paused, killed;      /* the stream was ended, at the source, at the target */
    enum hv_path path;        /* to the target, as the source's helper last found it */
    int64_t path_ms;          /* monotonic: when; 0: not for the try that comes next */
    int64_t path_dead_ms;     /* monotonic: it is dead since; 0: it is not */
    uint64_t path_id;         /* question out, 0: none */
    int64_t path_asked_ms;    /* monotonic */
};

struct job_userpause { /* engine/data/userpause.h */
#define USERPAUSE_FIELD JOB_MEMBER
#include "store/job_fields.def"
    int64_t suspect_ms; /* monotonic: the source stopped with far too much left; 0: it did not */
    unsigned tries;
    int64_t ran_since_ms; /* monotonic: the target let it run since; 0: it does not */
};

struct job_carry { /* what libvirt does not take along: engine/data/carry.h */
#define CARRY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    unsigned tries;           /* to set autostart on the target */
    int64_t since_ms;         /* monotonic: it arrived, and autostart is to be set; 0: not yet */
    int64_t tried_ms;         /* monotonic: the newest try; 0: none */
    char error[JOB_NOTE_MAX]; /* its answer */
    bool told;                /* that it could not be set */
};

struct job_final { /* from the hypervisors */
#define FINAL_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool known;
    uint64_t whole_bytes; /* of what had to move; 0 after a restart: not stored */
    uint64_t question;    /* out to the target, 0: none */
};

struct job_budget {            /* as its monitor sees it; engine/data/monitor_driver.h */
    int64_t used_ms, whole_ms; /* of the time it may take; whole 0: no limit */
    int64_t still_ms;          /* since what is left became less */
    uint64_t low_water;        /* the least that was left */
    bool known, has_low_water;
};

struct job_forecast { /* engine/model/forecast/forecast.h */
#define FORECAST_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool made;
    int percent; /* chance that it converges */
};

#endif
