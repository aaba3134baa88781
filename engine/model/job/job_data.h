/* job_data.h - the parts of a job that the data plane writes; all read them. Stored fields first,
 * as in job_control.h. */
#ifndef ENGINE_MODEL_JOB_JOB_DATA_H
#define ENGINE_MODEL_JOB_JOB_DATA_H

#include "collector/sample.h"
#include "engine/model/forecast/eta.h"
#include "engine/model/job/job_member.h"
#include "engine/model/job/job_parts.h"
#include "engine/model/settings/migration_config.h"

/* The hypervisor's own job on the source, as far as known without an answered call. */
enum job_seen {
    JOB_SEEN_UNKNOWN,
    JOB_SEEN_ACTIVE, /* a migration out */
    JOB_SEEN_OTHER,  /* another job: e.g. a backup */
    JOB_SEEN_NONE
};

struct job_call { /* the migrate call of this process, if there is one; engine/data/move.h */
#define CALL_FIELD JOB_MEMBER
#include "store/job_fields.def"
    struct migration_config config; /* effective; frozen at hand-off */
    uint64_t config_version;        /* of the fleet's policies that it was made from */
    int64_t begun_ms;               /* monotonic: hand-off, by this process's clock */
    bool over;                      /* answered by the source itself: its job has ended */
    bool withdrawn;   /* the order was recorded but never given: the store was too slow */
    bool moved;       /* data was seen moving, in this process or before */
    unsigned retries; /* calls repeated after proof that the one before was never made */
};

struct job_abort { /* engine/data/move.h */
#define ABORT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool asked, accepted;
    int64_t asked_ms; /* monotonic */
};

struct job_resolution { /* the outcome as observed on both nodes; engine/data/resolve.h */
#define RESOLUTION_FIELD JOB_MEMBER
#include "store/job_fields.def"
    enum guest_at guest_at;
    uint64_t round, decided_round; /* of observations */
    unsigned again;                /* sides of this round that were queried a second time */
    int64_t next_round_ms;
    struct job_side source_side, target_side;
    struct job_stale_order *left; /* open orders of an earlier process; owned */
    unsigned n_left;
    enum job_seen hv_job;     /* newest answer about the source's own job */
    bool hv_job_is_backup;    /* OTHER: a job that may be aborted where the policy allows it */
    bool asked_job;           /* ... was queried, in this stage */
    uint64_t hv_job_question; /* number of the open query; 0: none */
    uint64_t hv_job_round;    /* round that this answer belongs to */
    int64_t hv_job_asked_ms;
    int64_t ownership_since_ms; /* since when both sides' states are equal; 0: not known */
    int ownership_last;         /* those states; -1: none yet */
    bool reported;              /* the present ownership was reported */
    int64_t not_received_ms;    /* monotonic: a migration runs on the source since, which the target
                                   does not receive; 0: none does */
    bool foreign;               /* that migration is not Ferry's */
    struct job_stray stray;
};

struct job_monitor { /* engine/data/monitor_driver.h */
#define MONITOR_FIELD JOB_MEMBER
#include "store/job_fields.def"
    int decision; /* enum decision: the newest */
    char decision_text[JOB_REASON_MAX];
    int64_t decision_ms;                                                /* wall; 0: none yet */
    struct monitor_driver *monitor_driver;                              /* the monitors, owned */
    void (*free_monitor_driver)(struct monitor_driver *monitor_driver); /* set by its creator */
    char *json;        /* the acting monitor's state as last stored, owned or NULL */
    int64_t driven_ms; /* monotonic: its last step */
    int64_t decisions_before, inputs_before; /* recorded by earlier processes */
    int64_t next_sample_seq;
    bool stopped_by_us; /* Ferry paused the guest to complete; resumed if that fails */
    unsigned resume_tries;
};

struct job_result {
#define RESULT_FIELD JOB_MEMBER
#include "store/job_fields.def"
    struct job_error error;            /* of the migrate call */
    struct verdict_rows *verdict_rows; /* the verdict; NULL: not analysed yet */
    bool residue;       /* final: a definition seems to be left behind; observed once */
    bool observe_later; /* final: both sides are to be observed once more, at queue.wake_ms */
};

struct job_stream_query { /* what the source's QEMU said of it: engine/data/stream.h */
    uint64_t id;          /* number of the open query; 0: none */
    int64_t asked_ms;     /* monotonic, as the others; 0: never */
    int64_t seen_ms;      /* the newest answer; 0: none */
    int64_t flow_ms;      /* the answer since which the bytes are equal; 0: none */
    int64_t ending_ms;    /* the answer since which QEMU cancels; 0: it does not */
    enum hv_migration_status status;
    uint64_t bytes;
};

struct job_stream { /* the stream; engine/data/remedy.h */
#define STREAM_FIELD JOB_MEMBER
#include "store/job_fields.def"
    uint64_t bytes;          /* data_processed of the newest sample */
    int64_t flow_ms;         /* monotonic: when it last grew, or was first seen */
    int64_t sampled_ms;      /* monotonic: of that sample */
    int64_t stopped_ms;      /* monotonic: the source is paused for the switch-over since; 0: not */
    int64_t stopped_wall_ms; /* the same moment, to be shown */
    int64_t aborted_ms;      /* monotonic: an abort was accepted; 0: none */
    bool target_resumed;     /* the guest was observed running on the target */
    bool switched;           /* the source was observed paused for the switch-over */
    bool unseen;             /* not observed for a while: it may have been */
    bool target_unseen; /* the target was not observed from the start: it may have run the guest */
    uint64_t target_losses; /* the target's disconnects, and all missed messages, at the call */
    bool shut_down_there;   /* the target reported that the guest shut itself down */
    bool received;          /* the target was seen to receive it: the migration is Ferry's */
    bool start_told;        /* the event of its copy's start came */
    bool postcopy_ordered;  /* the guest may run there at any moment */
    uint64_t tried;         /* remedies, as bits by enum decision */
    int64_t ordered_ms;     /* monotonic: the last remedy; 0: none */
    int64_t advanced_ms;    /* monotonic: last advanced */
    int64_t observed_ms;    /* monotonic: both sides were queried */
    int last;               /* enum decision: the newest */
    int64_t yanked_ms;      /* monotonic: a yank was carried out; 0: none */
    int64_t shown_ms;       /* monotonic: the text of the stall was refreshed */
    bool copy_dropped;      /* the target's copy was destroyed by a remedy, and that was answered */
    struct job_stream_query query;
};

struct job_progress { /* the newest sample */
    bool has_sample;
    struct sample sample;
    struct eta eta; /* expected end, by that sample */
};

struct job_recovery { /* of a broken post-copy: engine/data/recovery.h */
#define RECOVERY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    enum recovery_way way;    /* of the newest attempt */
    unsigned unsafe;          /* ways after which a daemon ended, as bits */
    uint64_t losses;          /* disconnects of both nodes at that attempt */
    int64_t next_ms, ends_ms; /* monotonic: the next attempt, the end of the window */
    int64_t tried_ms;         /* monotonic: the newest attempt; 0: none */
    int64_t answered_ms;      /* monotonic: answer to the newest order */
    bool paused, killed;      /* the stream was ended, on the source, on the target */
    unsigned refused;         /* attempts in a row: not in a state to be resumed */
    bool forced;           /* an operator decided that a stream is dead that cannot be measured */
    enum hv_path path;     /* to the target, by the last probe of the source's helper */
    int64_t path_ms;       /* monotonic: of that probe; 0: none for the next attempt */
    int64_t path_dead_ms;  /* monotonic: dead since; 0: it is not */
    uint64_t path_id;      /* number of the open query; 0: none */
    int64_t path_asked_ms; /* monotonic */
};

struct job_userpause { /* engine/data/userpause.h */
#define USERPAUSE_FIELD JOB_MEMBER
#include "store/job_fields.def"
    int64_t
        suspect_ms; /* monotonic: the source stopped with far too much remaining; 0: it did not */
    int64_t iteration_ms; /* monotonic: the newest iteration began */
    int64_t ours_ms;      /* monotonic: until then a pause was Ferry's own; 0: none was */
    unsigned tries;
    int64_t ran_since_ms; /* monotonic: runs on the target since; 0: it does not */
};

struct job_carry { /* what libvirt does not take along: engine/data/carry.h */
#define CARRY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    unsigned tries;           /* to set autostart on the target */
    int64_t since_ms;         /* monotonic: it arrived, and autostart is to be set; 0: not yet */
    int64_t tried_ms;         /* monotonic: the newest try; 0: none */
    char error[JOB_NOTE_MAX]; /* its answer */
    bool reported;            /* that it could not be set */
};

struct job_final { /* from the hypervisors */
#define FINAL_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool known;
    uint64_t whole_bytes; /* total bytes to move; 0 after a restart: not stored */
    uint64_t question;    /* number of the open query to the target; 0: none */
};

struct job_budget {            /* by its monitor; engine/data/monitor_driver.h */
    int64_t used_ms, whole_ms; /* of the completion timeout; whole 0: no limit */
    int64_t still_ms;          /* since remaining last shrank */
    uint64_t low_water;        /* the least remaining */
    bool known, has_low_water;
};

struct job_forecast { /* engine/model/forecast/forecast.h */
#define FORECAST_FIELD JOB_MEMBER
#include "store/job_fields.def"
    bool made;
    int percent; /* probability that pre-copy converges */
};

#endif
