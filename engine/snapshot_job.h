/* snapshot_job.h - a migration job in the snapshot; see snapshot.h.
 *
 * Has the parts of struct job (engine/model/job/job.h), with the stored fields of each
 * (store/job_fields.def) and further values. Text pointers live with the snapshot. */
#ifndef ENGINE_SNAPSHOT_JOB_H
#define ENGINE_SNAPSHOT_JOB_H

#include "collector/sample.h"
#include "engine/model/fleet/rejection.h"
#include "engine/model/job/advice.h"
#include "engine/model/job/job_control.h"
#include "engine/model/job/job_data.h"
#include "engine/model/job/verdict_rows.h"
#include "engine/snapshot_guest.h"

struct snapshot_observation { /* the last observation of the guest on one side */
    enum hv_presence presence;
    int state, reason;
    int64_t at_ms; /* wall; 0: never observed */
};

struct snapshot_job {
#define IDENTITY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    struct {
#define REQUEST_FIELD JOB_MEMBER
#include "store/job_fields.def"
        const char *metadata_json; /* {"labels":{..},"annotations":{..}} */
        const char *selector_json; /* addedNodeSelector or NULL */
        const char *volumes_json;  /* volumes that are migrated too:
                                      engine/model/definition/volumes.h; or NULL */
    } request;
    struct job_times times;
    struct {
#define WAIT_FIELD JOB_MEMBER
#include "store/job_fields.def"
        enum pending pending;
        int64_t since_ms, until_ms;       /* wall; until 0: no end */
        int64_t waited_ms[PENDING_COUNT]; /* finished waits */
    } wait;
    struct {
#define PLACEMENT_FIELD JOB_MEMBER
#include "store/job_fields.def"
        char source_pod[SNAPSHOT_NAME_MAX], target_pod[SNAPSHOT_NAME_MAX];
        char target_pod_uid[SNAPSHOT_UID_MAX];
        const struct rejections *rejections; /* per node, or NULL */
    } placement;
    struct {
#define CALL_FIELD JOB_MEMBER
#include "store/job_fields.def"
        uint32_t shown, left_out; /* flags of the migrate call: engine/data/flags.h */
        const char *config_json;  /* frozen configuration; NULL before hand-off */
    } call;
    struct {
#define ABORT_FIELD JOB_MEMBER
#include "store/job_fields.def"
        bool asked;
    } abort;
    struct {
#define RESOLUTION_FIELD JOB_MEMBER
#include "store/job_fields.def"
        enum guest_at guest_at;
        struct snapshot_observation source, target;
    } resolution;
    struct {
#define MONITOR_FIELD JOB_MEMBER
#include "store/job_fields.def"
        const char *name;     /* the acting monitor, a literal */
        const char *decision; /* its newest decision, a literal; "" none */
        const char *decision_text;
        int64_t decision_ms;
        struct job_budget budget;
    } monitor;
    struct {
#define STREAM_FIELD JOB_MEMBER
#include "store/job_fields.def"
        const char *source_address, *target_address; /* NULL, "": libvirt's choice */
        unsigned port_min, port_max;                 /* where the target accepts streams */
        int64_t stopped_since_ms; /* wall: paused for the switch-over since; 0: not */
    } stream;
    struct {
        bool has_sample;
        struct sample sample; /* newest */
        int64_t eta_ms;       /* remaining time; -1: not known */
        int64_t eta_low_ms, eta_high_ms;
        const char *eta_note; /* why the expected end last moved later; NULL, "": it did not */
    } progress;
    struct {
#define RECOVERY_FIELD JOB_MEMBER
#include "store/job_fields.def"
        const char *path; /* a literal: between the nodes, by the last probe; "" none */
    } recovery;
    struct {
#define USERPAUSE_FIELD JOB_MEMBER
#include "store/job_fields.def"
    } userpause;
    struct {
#define CARRY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    } carry;
    struct {
#define RESULT_FIELD JOB_MEMBER
#include "store/job_fields.def"
        struct job_error error;             /* of the migrate call; code NONE when it gave none */
        const struct verdict_rows *verdict; /* NULL: not analysed yet */
    } result;
    struct {
#define FINAL_FIELD JOB_MEMBER
#include "store/job_fields.def"
        bool known;
        uint64_t whole_bytes; /* total bytes to move; 0: not known */
    } final;
    struct {
#define FORECAST_FIELD JOB_MEMBER
#include "store/job_fields.def"
        bool made;
        int percent; /* probability that pre-copy converges */
    } forecast;
    struct job_advice advice; /* about somebody else's */
    struct job_history history;
};

#endif
