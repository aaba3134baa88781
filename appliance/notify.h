/* notify.h - tells systemd how Ferry is: ready, reloading, stopping, alive (sd_notify(3)).
 *
 * The protocol is a datagram to the socket that NOTIFY_SOCKET names and is documented as stable;
 * thirty lines here are less than another library in the process. Without NOTIFY_SOCKET nothing is
 * sent. What systemd's full queue refuses is sent again at the next call. One thread. */
#ifndef APPLIANCE_NOTIFY_H
#define APPLIANCE_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
    int fd;              /* -1: nobody listens */
    bool is_ready;       /* READY=1 has been sent */
    int64_t watchdog_ms; /* half of what systemd waits; 0: it does not watch */
    int64_t fed_ms;      /* monotonic */
    char status[160];    /* as last sent */
};

/* Reads NOTIFY_SOCKET and WATCHDOG_USEC and removes them from the environment. */
void notify_open(struct notify *notify);
void notify_close(struct notify *notify);
void notify_ready(struct notify *notify, const char *status); /* once; later only the status */
void notify_reloading(struct notify *notify);                 /* notify_reloaded() follows */
void notify_reloaded(struct notify *notify);
void notify_stopping(struct notify *notify);
/* Is it alive? When not, systemd ends and restarts it after a while. */
void notify_alive(struct notify *notify, bool is_alive);

#endif
