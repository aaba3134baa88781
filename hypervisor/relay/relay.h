/* relay.h - streams of memory that pass through Ferry on their way to the target.
 *
 * In a switch-over whose path dies the source's QEMU hangs in a write and answers nobody, until TCP
 * gives up. Whoever owns the other end of its socket can reset it, and the guest runs on at once:
 * the target lets it run only after the source said that all has gone, so a stream that breaks
 * never makes two of them. A relay also sees which bytes stand still while nobody can be asked.
 *
 * libvirt has the target listen on the port that the source connects to, so the relay listens on a
 * port P of its own address and connects to port P of the target once the source has come. What is
 * encrypted stays so. Streams end with this process.
 *
 * One thread moves the bytes of all relays (splice, a pipe a direction: nothing is ever held that
 * is not bounded). Functions may be called from any thread and do not block.
 */
#ifndef HYPERVISOR_RELAY_RELAY_H
#define HYPERVISOR_RELAY_RELAY_H

#include "base/own.h"
#include "hypervisor/types.h"

enum {
    RELAY_MAX = 1024,         /* relays at once */
    RELAY_STREAMS_MAX = 65,   /* connections of one */
    RELAY_CONNECT_MS = 15000, /* a target that does not answer for so long */
    RELAY_DRAIN_MS = 5000,    /* what is left after the end of its migration */
    RELAY_ORPHAN_MS = 180000, /* ... or where the end is not known: for a stream to come */
};

struct relays;
struct relay_wish {
    const char *guest;           /* uuid */
    const char *address;         /* an IP address of this machine */
    const char *target;          /* IP address of the one that will listen */
    unsigned port_min, port_max; /* both listen on one of these */
    unsigned streams;            /* that will come, up to RELAY_STREAMS_MAX; no others are let in */
};

struct relays *relays_new(struct err *err); /* NULL with err */
void relays_free(struct relays *relays);    /* NULL is fine; breaks what is there */
DEFINE_OWNED(relays)

/* Listens. 0 with err: LIMIT no port is free; INVALID not addresses; IO not an address of ours. */
uint64_t relays_open(struct relays *relays, const struct relay_wish *wish, unsigned *out_port,
                     struct err *err);
/* Its migration ended, or (known false) nobody can tell: then its streams go on for as long as they
 * live. */
void relays_release(struct relays *relays, uint64_t id, bool known);
/* Resets the guest's streams, both ends; the number of those there were. */
unsigned relays_reset(struct relays *relays, const char *guest);
/* False: no stream of that guest passes here. */
bool relays_look(struct relays *relays, const char *guest, struct hv_relay *out_relay);

#endif
