/* snapshot_guest.h - a guest in the snapshot; see snapshot.h. */
#ifndef ENGINE_SNAPSHOT_GUEST_H
#define ENGINE_SNAPSHOT_GUEST_H

#include "engine/model/definition/migratable.h"
#include "engine/model/definition/pending_change.h"
#include "engine/model/settings/settings.h"
#include "hypervisor/types.h"

enum {
    SNAPSHOT_NAME_MAX = 254, /* Kubernetes object names, with terminator */
    SNAPSHOT_UID_MAX = 37,
    SNAPSHOT_REASON_MAX = 512,
    SNAPSHOT_WHO_MAX = 64,
};

/* Conditions of a guest. */
enum guest_condition {
    CONDITION_READY,
    CONDITION_LIVE_MIGRATABLE,
    CONDITION_STORAGE_MIGRATABLE,
    CONDITION_PAUSED,
    CONDITION_EVICTION,
    CONDITION_SELECTOR,
    CONDITION_COUNT
};

struct snapshot_guest {
    char uuid[HV_UUID_MAX], name[HV_NAME_MAX], ns[HV_HOST_MAX];
    char node[HV_HOST_MAX]; /* owner; empty when not known */
    const char *labels;     /* JSON object text or NULL; lives as long as the snapshot */
    int state, reason;
    bool persistent, node_reachable;
    uint64_t memory_kib;
    unsigned vcpus;
    struct migratable migratable; /* live-migratable, by its definition */
    enum strategy strategy;       /* effective */
    char evacuation_node[HV_HOST_MAX];
    struct pending_change pending_change;
    bool change_is_due;                /* at once, or its grace period is over */
    int64_t change_since_ms;           /* wall: since when */
    bool up;                           /* it uses memory: it has a launcher */
    char unmet_selector[96];           /* "zone=a": its node no longer has this label */
    int64_t since_ms[CONDITION_COUNT]; /* wall: last change of each condition; 0: not known */
    char pod[SNAPSHOT_NAME_MAX], pod_uid[SNAPSHOT_UID_MAX]; /* its launcher, while it is up */
    const char *settings;           /* JSON object text or NULL: its settings */
    int64_t seen_ms;                /* wall: last observed */
    int64_t first_seen_ms;          /* wall: by this process */
    int64_t here_since_ms;          /* wall: arrived where it is, or first seen there */
    char job_uid[SNAPSHOT_UID_MAX]; /* its newest job, empty when none */
    struct hv_mark
        orphan; /* of a migration that this appliance does not know; without a job: none */
};

/* "True", "False", or NULL: the guest has no such condition. */
const char *snapshot_condition(const struct snapshot_guest *guest, enum guest_condition which);

#endif
