/* capabilities.h - inside the collector: what is kept of each host for asking what it offers. */
#ifndef COLLECTOR_CAPABILITIES_H
#define COLLECTOR_CAPABILITIES_H

#include "hypervisor/hv.h"

struct capabilities { /* of one host */
    uint64_t hash;    /* of what was given to the sink; 0: nothing */
    int64_t at_ms;    /* the next question; 0: none is planned */
    uint64_t id;      /* of the question in flight; 0: none */
    int64_t asked_ms;
    bool in_queue; /* waits for one of COLLECTOR_CAPABILITIES_MAX */
    struct host *prev, *next;
};

struct collector;
struct host;
void capabilities_connected(struct collector *c, struct host *h); /* after its connection changed */
int64_t capabilities_due_ms(const struct host *h);                /* INT64_MAX: never by itself */
void capabilities_due(struct collector *c, struct host *h);       /* plans and gives up */
void capabilities_run(struct collector *c);                       /* asks what may be asked now */
void capabilities_reply(struct collector *c, size_t slot,
                        struct hv_reply *reply); /* takes its list */

#endif
