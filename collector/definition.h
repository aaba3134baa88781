/* definition.h - inside the collector: state of each host for reading definitions. */
#ifndef COLLECTOR_DEFINITION_H
#define COLLECTOR_DEFINITION_H

#include "collector/hash.h"
#include "hypervisor/hv.h"

/* What is known of the definition of one guest of a host. */
struct known {
    char uuid[HV_UUID_MAX];
    bool waits, again; /* in the host's queue; to be read again after the answer in flight */
    bool has_reading;  /* the query at read_ms did not fail */
    uint64_t list;     /* number of the newest list that contained it */
    bool persistent;   /* by that list */
    uint64_t hash;     /* of the texts that were passed to the sink; 0: none */
    int64_t read_ms;
    int snapshots;             /* by the newest reading; -1: not known */
    struct known *prev, *next; /* in the queue */
    UT_hash_handle hh;
};

/* Of one host. */
struct definitions {
    struct known *known; /* hash by uuid, in the order of the lists */
    struct known *line;  /* to be read, first come first served */
    struct known *being_read;
    char *live; /* owned: set while the persistent one is in flight; NULL: the live one is next */
    uint64_t n_lists;
    uint64_t id; /* of the query in flight; 0: none */
    int64_t asked_ms;
    bool in_queue; /* waits for one of COLLECTOR_DEFINITIONS_MAX */
    struct host *prev, *next;
};

struct collector;
struct host;
void definition_listed(struct collector *c, struct host *h, const struct hv_guest_list *guests);
void definition_event(struct collector *c, struct host *h, const struct hv_event *event);
void definition_arm(struct collector *c, struct host *h); /* after its connection changed */
void definition_run(struct collector *c); /* starts the queries that are allowed now */
void definition_expire(struct collector *c, struct host *h);
void definition_live(struct collector *c, size_t slot, struct hv_reply *reply); /* takes its text */
void definition_stored(struct collector *c, size_t slot, const struct hv_reply *reply);
void definition_fini(struct host *h);

#endif
