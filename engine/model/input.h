/* input.h - everything that can happen to the engine, as one record. */
#ifndef ENGINE_MODEL_INPUT_H
#define ENGINE_MODEL_INPUT_H

#include "collector/sample.h"
#include "engine/model/migratable.h"
#include "engine/requests.h"
#include "hypervisor/hv.h"

enum input_kind {
    INPUT_TICK,    /* time passed */
    INPUT_HOST,    /* a host connected or was lost */
    INPUT_FACTS,   /* facts of a host */
    INPUT_GUESTS,  /* the list of a host's guests */
    INPUT_MOVABLE, /* what a guest's definition says about moving it */
    INPUT_EVENT,   /* lifecycle, iteration, completion */
    INPUT_SAMPLE,  /* a measurement */
    INPUT_LOOK,    /* an answer to DO_LOOK */
    INPUT_ASK_JOB, /* an answer to DO_ASK_JOB */
    INPUT_CALL,    /* an answer to DO_MIGRATE or DO_ABORT */
    INPUT_CREATE,  /* a request for a new job */
    INPUT_CANCEL,  /* a request to stop one */
};

struct input {
    enum input_kind kind;
    char host[HV_HOST_MAX], guest[HV_UUID_MAX];
    uint64_t id; /* LOOK, ASK_JOB, CALL: the question's number */
    struct err err;
    void *slot; /* CREATE, CANCEL: the shell's own; the core does not look */
    union {
        bool connected;               /* HOST */
        struct hv_facts facts;        /* FACTS */
        struct hv_guest_list *guests; /* GUESTS; owned */
        struct migratable migratable; /* DEFINITION */
        struct hv_event event;        /* EVENT */
        struct sample sample;         /* SAMPLE */
        struct hv_sight sight;        /* LOOK */
        struct hv_job_stats stats;    /* ASK_JOB */
        enum hv_call call;            /* CALL */
        struct {
            struct migration_request request; /* metadata_json owned by the input */
        } create;
        struct {
            char ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX], requester[SNAPSHOT_WHO_MAX];
            bool remove; /* delete: take it out of view once it is final */
        } cancel;
    } of;
};

void input_free(struct input *input); /* NULL is fine */

#endif
