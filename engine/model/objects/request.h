/* request.h - requests to the engine, as records. engine/requests.h is the port that takes them;
 * the core gets each as an input (input.h). */
#ifndef ENGINE_MODEL_OBJECTS_REQUEST_H
#define ENGINE_MODEL_OBJECTS_REQUEST_H

#include "engine/model/job/job_parts.h"
#include "engine/model/objects/object_kind.h"

enum {
    REQUEST_METADATA_MAX = 16384,
    CHECK_MEASURE_MAX_S = 30, /* the longest window of a dirty rate measurement */
};

struct migration_request {
    char ns[HV_HOST_MAX];
    char name[JOB_NAME_MAX];          /* empty: made from generate_name */
    char generate_name[JOB_NAME_MAX]; /* empty: "migration-" */
    char guest_name[HV_NAME_MAX];     /* spec.vmiName */
    char target[HV_HOST_MAX];         /* empty: the only other node */
    char requester[JOB_WHO_MAX];
    char priority[32];         /* a name of priority.def; empty: user-triggered */
    const char *metadata_json; /* labels and annotations, NULL when none; copied */
    const char *selector_json; /* spec.addedNodeSelector, NULL when none; copied */
    const char *volumes_json;  /* spec.ferry.volumes, NULL when none; copied */
    uint64_t bandwidth_mibs;   /* 0: the fleet's default */
    bool dry_run;              /* dry run: admit, return the result, store nothing */
};
struct migration_ref {
    char uid[JOB_UID_MAX], ns[HV_HOST_MAX], name[JOB_NAME_MAX];
};

/* Writes an object (engine/model/objects/object.def). The engine checks the spec. */
struct object_request {
    enum object_kind kind;
    char ns[HV_HOST_MAX], name[JOB_NAME_MAX], requester[JOB_WHO_MAX];
    const char
        *spec_json; /* copied; NODE: {"labels","taints","unschedulable"}, GUEST: {"labels", and the
                       members in engine/model/settings/settings.h}, NAMESPACE: {"labels"} */
    const char *metadata_json; /* labels and annotations; copied */
    bool must_be_new;          /* else ERR_EXISTS */
    bool must_exist;           /* else ERR_NOT_FOUND */
    uint64_t if_version;       /* 0: any; else ERR_REFUSED when it has another */
    bool dry_run;
};
struct object_ref {
    enum object_kind kind;
    char ns[HV_HOST_MAX], name[JOB_NAME_MAX], requester[JOB_WHO_MAX];
};
struct eviction_request {
    char ns[HV_HOST_MAX], pod[JOB_NAME_MAX], requester[JOB_WHO_MAX];
    bool descheduler;    /* annotated requested-by: sigs.k8s.io/descheduler */
    bool allow_shutdown; /* annotated ferry.internal/allow-shutdown: "true" */
    bool cancel;         /* evacuate-cancel: pod is the guest's name */
    bool dry_run;
};
/* An operator override for a job whose outcome no host can prove, or a request to recover. */
enum override_kind {
    RESOLVE_RECOVER, /* recover a broken post-copy again */
    RESOLVE_ON_SOURCE,
    RESOLVE_ON_TARGET,
    RESOLVE_GONE,
    RESOLVE_ADOPT,       /* name is a guest's: make a job of its mark (engine/control/orphans.h) */
    RESOLVE_PAUSE,       /* name is a guest's: engine/control/pause.h */
    RESOLVE_UNPAUSE,     /* likewise */
    RESOLVE_ACKNOWLEDGE, /* acknowledge its incident: no further alert */
};
struct resolve_request {
    char ns[HV_HOST_MAX], name[JOB_NAME_MAX], requester[JOB_WHO_MAX];
    enum override_kind kind;
    bool dry_run;                                  /* PAUSE, UNPAUSE */
    char why[256];                                 /* the operator's text; kept with the job */
    char source[HV_HOST_MAX], target[HV_HOST_MAX]; /* ADOPT */
};
enum question_kind {
    QUESTION_CHECK, /* can this guest migrate, where, under which policy: engine/control/check.h */
    QUESTION_DRAIN_PLAN, /* engine/control/drain.h: drain_plan() */
};
struct question {
    enum question_kind kind;
    char ns[HV_HOST_MAX], name[HV_NAME_MAX]; /* guest, or the node's name */
    char wanted[HV_HOST_MAX];                /* CHECK: only that node */
    bool shutdown;                           /* DRAIN_PLAN */
    unsigned measure_s; /* CHECK: also start a measurement of the dirty rate, over 1 s and so many;
                           the answer shows that it runs, a later one its result */
};

#endif
