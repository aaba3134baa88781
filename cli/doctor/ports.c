/* ports.c - see ports.h. */
#include "cli/doctor/ports.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

/* Connects in progress; pollers[i] belongs to *of[i]. */
struct round {
    size_t n;
    struct pollfd pollers[PORTS_AT_ONCE];
    struct diagnosis *of[PORTS_AT_ONCE];
};

void ports_name(const struct hv_host *host, char *out_name)
{
    bool tls, system;
    diagnose_uri(host->uri, out_name, &tls, &system);
    if (out_name[0] == '\0')
        diagnose_uri(host->peer_uri, out_name, &tls, &system);
}

/* Starts a connect; sets the result if it is known at once. */
static void start_connect(struct round *round, struct diagnosis *diagnosis,
                          const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    bool open = connect(fd, address->ai_addr, address->ai_addrlen) == 0;
    diagnosis->tls_port = open ? PORT_ANSWERS : PORT_SILENT;
    if (open || errno != EINPROGRESS) {
        (void)close(fd);
        return;
    }
    round->pollers[round->n] = (struct pollfd){.fd = fd, .events = POLLOUT};
    round->of[round->n++] = diagnosis;
}

static void start_check(struct round *round, struct diagnosis *diagnosis, int port)
{
    char name[HV_TEXT_MAX], service[16];
    ports_name(diagnosis->host, name);
    if (name[0] == '\0')
        return;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    (void)snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(name, service, &hints, &found) != 0) {
        diagnosis->tls_port = PORT_NO_ADDRESS;
        return;
    }
    start_connect(round, diagnosis, found);
    freeaddrinfo(found);
}

static bool is_connected(int fd)
{
    int failure = 1;
    socklen_t size = sizeof failure;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
}

/* Waits for all connects in progress, at most PORTS_CONNECT_MS. */
static void finish(struct round *round)
{
    int64_t until = clock_mono_ms(clock_system()) + PORTS_CONNECT_MS;
    for (size_t open = round->n; open > 0;) {
        int64_t left = until - clock_mono_ms(clock_system());
        if (left <= 0 || poll(round->pollers, round->n, (int)left) <= 0)
            break;
        for (size_t i = 0; i < round->n; i++) {
            if (round->pollers[i].revents == 0)
                continue;
            if (is_connected(round->pollers[i].fd))
                round->of[i]->tls_port = PORT_ANSWERS;
            (void)close(round->pollers[i].fd);
            round->pollers[i] = (struct pollfd){.fd = -1}; /* ignored by poll */
            open--;
        }
    }
    for (size_t i = 0; i < round->n; i++)
        if (round->pollers[i].fd >= 0)
            (void)close(round->pollers[i].fd);
    round->n = 0;
}

void ports_ask(struct diagnosis *diagnoses, size_t n, int port, int64_t timeout_ms)
{
    int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
    struct round round = {0};
    for (size_t i = 0; i < n; i++) {
        if (clock_mono_ms(clock_system()) >= until) {
            diagnoses[i].tls_port = PORT_NO_TIME;
            continue;
        }
        start_check(&round, &diagnoses[i], port);
        if (round.n == PORTS_AT_ONCE)
            finish(&round);
    }
    finish(&round);
}
