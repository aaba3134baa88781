/* input.h - every input of the engine, as one record. */
#ifndef ENGINE_MODEL_TURN_INPUT_H
#define ENGINE_MODEL_TURN_INPUT_H

#include "collector/sample.h"
#include "engine/model/fleet/setup.h"
#include "engine/model/objects/request.h"
#include "engine/model/turn/input_kind.h"
#include "hypervisor/hv.h"

struct input {
    enum input_kind kind;
    char host[HV_HOST_MAX], guest[HV_UUID_MAX];
    uint64_t id; /* OBSERVED, ASK_JOB, CALL: number of the query or order */
    struct err err;
    char unmarked[HV_TEXT_MAX]; /* CALL of a migrate order: why the guest could not be marked */
    void *slot;                 /* requests: used by the shell only */
    union {
        bool connected;                       /* HOST */
        struct hv_facts facts;                /* FACTS */
        struct hv_guest_list *guests;         /* GUESTS; owned */
        struct hv_capabilities *capabilities; /* CAPABILITIES; owned */
        struct guest_facts *definition;       /* DEFINITION; owned */
        int comparison; /* CPU: libvirt's virCPUCompareResult; err when it could not be asked */
        struct volume_facts *volumes;      /* VOLUMES; owned; err when a host could not be asked */
        struct dirty_curve dirty;          /* DIRTY; with err: what was measured before it failed */
        struct hv_event event;             /* EVENT */
        struct sample sample;              /* SAMPLE */
        struct hv_observation observation; /* OBSERVED */
        struct hv_job_stats stats;         /* ASK_JOB, FINAL */
        enum hv_path path;                 /* PATH; err when it could not be asked */
        struct hv_migration migration;     /* STREAM; err when it could not be asked */
        enum hv_call call;                 /* CALL */
        struct verdict_rows *judged;       /* JUDGED; owned */
        struct {
            struct migration_request request; /* its texts are owned by the input */
        } create;
        struct {
            char ns[HV_HOST_MAX], name[JOB_NAME_MAX], requester[JOB_WHO_MAX];
            bool remove; /* delete: remove the job from memory once it is final */
        } cancel;
        struct object_request put; /* its texts are owned by the input */
        struct object_ref remove;
        struct resolve_request resolve;
        struct eviction_request evict;
        struct setup *setup; /* CONFIGURE; owned */
        struct question ask;
    } of;
};

void input_free(struct input *input); /* NULL is fine */

#endif
