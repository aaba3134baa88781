/* job_parts.h - what a job (job.h) consists of: small records, each written by one part of the
 * engine and read by all. */
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
    JOB_MODES_MAX = 8,
};

/* Both clocks at one moment. */
struct moment {
    int64_t mono_ms, wall_ms;
};

/* What was last seen of the guest on one side, and whether a question is out. */
struct job_side {
    struct hv_observation observation;
    int64_t seen_wall_ms; /* 0: never */
    int64_t seen_ms;      /* the same moment, monotonic */
    uint64_t query_id;    /* question out, 0: none */
    int64_t asked_ms;     /* when; an answer that got lost is not awaited for ever */
    uint64_t round;       /* round of looks that this answer belongs to */
};

/* An order about the guest that is out, with its intent. */
struct job_order {
    uint64_t id;           /* 0: none is out */
    int64_t seq, asked_ms; /* wall */
    enum intent_kind kind;
    char node[HV_HOST_MAX], argument[32];
};
/* One that an earlier process did not live to see answered. */
struct job_left {
    struct job_order order;
    char unknown[INTENT_NAME_MAX]; /* INTENT_COUNT: its name as another version stored it */
};

struct job_mode { /* one change of mode */
    enum mode mode;
    int64_t wall_ms;
    char cause[48];
};

struct job_stream {            /* engine/data/remedy.h */
    uint64_t bytes;            /* data_processed of the newest sample */
    int64_t flow_ms;           /* monotonic: when it last grew, or was first seen */
    int64_t sampled_ms;        /* monotonic: of that sample; what was not measured is not known */
    int64_t stopped_ms;        /* monotonic: the source stands still for the switch-over; 0: not */
    int64_t stopped_wall_ms;   /* the same moment, to be shown */
    int64_t aborted_ms;        /* monotonic: an abort was accepted; 0: none */
    bool target_resumed;       /* the target was seen to let the guest run */
    bool switched;             /* the source was seen to stop for the switch-over */
    bool unseen;               /* for a while nobody watched: it may have */
    bool target_unseen;        /* the target was not watched from the first: it may have run it */
    uint64_t target_losses;    /* its losses, and all that was missed, when the call went out */
    bool postcopy_ordered;     /* it may run there at any moment, whatever was seen */
    struct job_order order;    /* a remedy, out */
    uint64_t tried;            /* remedies, as bits by enum decision */
    int64_t ordered_ms;        /* monotonic: when the last one was; 0: none */
    int64_t advanced_ms;       /* monotonic: it was last looked after */
    int64_t looked_ms;         /* monotonic: both sides were asked */
    int last;                  /* enum decision of the newest look */
    unsigned port;             /* that Ferry chose for the target to listen on; 0: libvirt did */
    char remedy[JOB_NOTE_MAX]; /* what was done, for the reason; empty: nothing */
};

struct job_recovery { /* engine/data/recovery.h */
    enum recovery state;
    enum recovery_way way; /* of the newest try */
    unsigned unsafe;       /* ways after which a daemon ended, as bits */
    uint64_t losses;       /* of both nodes when that try was made */
    unsigned tries;
    int64_t since_ms, until_ms; /* wall, to be shown */
    int64_t next_ms, ends_ms;   /* monotonic: the next try, the end of the window */
    int64_t tried_ms;           /* monotonic: the newest one; 0: none */
    int64_t answered_ms;        /* monotonic: when the newest order was */
    struct job_order order;     /* out */
    bool paused, killed;        /* the stream was ended, at the source, at the target */
    enum hv_path path;          /* to the target, as the source's helper last found it */
    int64_t path_ms;            /* monotonic: when; 0: not for the try that comes next */
    int64_t path_dead_ms;       /* monotonic: it is dead since; 0: it is not */
    uint64_t path_id;           /* question out, 0: none */
    int64_t path_asked_ms;      /* monotonic */
};

struct job_userpause { /* engine/data/userpause.h */
    bool requested;
    int64_t suspect_ms; /* monotonic: the source stopped with far too much left; 0: it did not */
    struct job_order order; /* out */
    unsigned tries;
    int64_t ran_since_ms; /* monotonic: the target let it run since; 0: it does not */
    int64_t ran_ms;       /* how long it ran on the target against its user's wish */
};

struct job_final { /* from the hypervisors */
    bool known;
    const char *from; /* a literal: event, target */
    uint64_t total_ms, downtime_ms, setup_ms, bytes, iterations;
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
    bool made;
    int64_t total_ms, low_ms, high_ms, downtime_ms;
    int percent; /* chance that it converges */
};

#endif
