/* capabilities.h - inside the collector: state of the capabilities query of each host. */
#ifndef COLLECTOR_CAPABILITIES_H
#define COLLECTOR_CAPABILITIES_H

#include "hypervisor/hv.h"

struct capabilities { /* of one host */
    uint64_t hash;    /* of what was passed to the sink; 0: nothing */
    int64_t at_ms;    /* the next query; 0: none is planned */
    uint64_t id;      /* of the query in flight; 0: none */
    int64_t asked_ms;
    bool in_queue; /* waits for one of COLLECTOR_CAPABILITIES_MAX */
    struct host *prev, *next;
};

struct collector;
struct host;
void capabilities_connected(struct collector *c, struct host *h); /* after its connection changed */
int64_t capabilities_due_ms(const struct host *h);                /* INT64_MAX: never by itself */
void capabilities_due(struct collector *c,
                      struct host *h);      /* plans the next query, expires the one in flight */
void capabilities_run(struct collector *c); /* starts the queries that are allowed now */
void capabilities_reply(struct collector *c, size_t slot,
                        struct hv_reply *reply); /* takes its list */

#endif
