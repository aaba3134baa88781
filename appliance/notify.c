/* notify.c - see notify.h. */
#include "appliance/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || length >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') /* the abstract namespace */
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* WATCHDOG_PID, if set, names the process that is watched. */
static int64_t read_watchdog(void)
{
    const char *pid = getenv("WATCHDOG_PID"), *usec = getenv("WATCHDOG_USEC");
    int64_t number, watched;
    if (usec == NULL || !text_to_i64(usec, 1, INT64_MAX / 2, &number))
        return 0;
    if (pid != NULL && (!text_to_i64(pid, 1, INT32_MAX, &watched) || watched != getpid()))
        return 0;
    return number / 2000 > 0 ? number / 2000 : 1;
}

void notify_open(struct notify *notify)
{
    const char *path = getenv("NOTIFY_SOCKET");
    *notify = (struct notify){.fd = path != NULL ? connect_to(path) : -1};
    if (notify->fd >= 0)
        notify->watchdog_ms = read_watchdog();
    (void)unsetenv("NOTIFY_SOCKET"); /* not for children: libvirt starts ssh */
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *notify)
{
    if (notify->fd >= 0)
        (void)close(notify->fd);
    notify->fd = -1;
}

/* False: systemd's queue is full, as on a busy machine; the caller tries again. */
static bool tell(struct notify *notify, const char *text)
{
    return notify->fd < 0 || send(notify->fd, text, strlen(text), MSG_NOSIGNAL) >= 0 ||
           (errno != EAGAIN && errno != ENOBUFS);
}

void notify_ready(struct notify *notify, const char *status)
{
    char text[256];
    if (notify->is_ready && text_equal(notify->status, status))
        return;
    (void)snprintf(text, sizeof text, "%sSTATUS=%.*s", notify->is_ready ? "" : "READY=1\n",
                   (int)sizeof notify->status - 1, status);
    if (!tell(notify, text))
        return;
    notify->is_ready = true;
    TEXT_SET(notify->status, status);
}

void notify_reloading(struct notify *notify)
{
    char text[96];
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* systemd compares it with its own */
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    (void)tell(notify, text);
}

/* Otherwise the unit would be reloading for ever: the next notify_ready() says it again. */
void notify_reloaded(struct notify *notify)
{
    notify->is_ready = tell(notify, "READY=1");
}

void notify_stopping(struct notify *notify)
{
    (void)tell(notify, "STOPPING=1\nSTATUS=stopping; running migrations continue in libvirt");
}

void notify_alive(struct notify *notify, bool is_alive)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    if (!is_alive || notify->watchdog_ms == 0 || now_ms - notify->fed_ms < notify->watchdog_ms / 2)
        return;
    if (tell(notify, "WATCHDOG=1"))
        notify->fed_ms = now_ms;
}
