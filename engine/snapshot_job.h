/* snapshot_job.h - a migration job as readers see it; see snapshot.h.
 *
 * In the parts of struct job (engine/model/job/job.h), with the stored fields of each
 * (store/job_fields.def) and what else is shown of it. Text pointers live with the snapshot. */
#ifndef ENGINE_SNAPSHOT_JOB_H
#define ENGINE_SNAPSHOT_JOB_H

#include "collector/sample.h"
#include "engine/model/fleet/rejection.h"
#include "engine/model/job/job_control.h"
#include "engine/model/job/job_data.h"
#include "engine/model/job/verdict_rows.h"
#include "engine/snapshot_guest.h"

struct snapshot_observation { /* what was last seen of the guest on one side */
    enum hv_presence presence;
    int state, reason;
    int64_t at_ms; /* wall, 0: never looked */
};

struct snapshot_job {
#define IDENTITY_FIELD JOB_MEMBER
#include "store/job_fields.def"
    uint64_t version;
    struct {
#define REQUEST_FIELD JOB_MEMBER
#include "store/job_fields.def"
        const char *metadata_json; /* {"labels":{..},"annotations":{..}} */
        const char *selector_json; /* addedNodeSelector or NULL */
        const char
            *volumes_json; /* disks that move along: engine/model/definition/volumes.h; or NULL */
    } request;
    struct job_times times;
    struct {
#define WAIT_FIELD JOB_MEMBER
#include "store/job_fields.def"
        enum pending pending;
        int64_t since_ms, until_ms;       /* wall; until 0: no end */
        int64_t waited_ms[PENDING_COUNT]; /* waits that are over */
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
        uint32_t shown, left_out; /* what the hypervisor is told: engine/data/flags.h */
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
        const char *name;     /* of the monitor that watches, a literal */
        const char *decision; /* its newest, a literal; "" none */
        char decision_text[SNAPSHOT_REASON_MAX];
        int64_t decision_ms;
        struct job_budget budget;
    } monitor;
    struct {
#define STREAM_FIELD JOB_MEMBER
#include "store/job_fields.def"
        char source_address[HV_TEXT_MAX], target_address[HV_TEXT_MAX]; /* "": libvirt's choice */
        unsigned port_min, port_max; /* where the target lets streams in */
        int64_t stopped_since_ms;    /* wall: it stands still for the switch-over; 0: it does not */
    } stream;
    struct {
        bool has_sample;
        struct sample sample; /* newest */
        int64_t eta_ms;       /* until it is over, -1: cannot say */
        int64_t eta_low_ms, eta_high_ms;
        char eta_note[160]; /* why its end moved later, the newest; "" it did not */
    } progress;
    struct {
#define RECOVERY_FIELD JOB_MEMBER
#include "store/job_fields.def"
        const char *path; /* a literal: between the nodes, as last probed; "" it was not */
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
        struct err error;                   /* of the migrate call; code NONE when it gave none */
        const struct verdict_rows *verdict; /* NULL: not judged yet */
    } result;
    struct {
#define FINAL_FIELD JOB_MEMBER
#include "store/job_fields.def"
        bool known;
        uint64_t whole_bytes; /* of what had to move; 0: not known */
    } final;
    struct {
#define FORECAST_FIELD JOB_MEMBER
#include "store/job_fields.def"
        bool made;
        int percent; /* chance that it converges */
    } forecast;
    struct job_history history;
};

#endif
