/* ports.c - see ports.h. */
#include "cli/ports.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

/* Hosts being asked; pollers[i] is about patients[of[i]]. */
struct round {
    size_t n;
    struct pollfd pollers[PORTS_AT_ONCE];
    struct patient *of[PORTS_AT_ONCE];
};

/* The name of a host, from the way Ferry or its peers reach it; empty when it is local. */
static void name_of(const struct hv_host *host, char *out_name)
{
    bool tls, system;
    diagnose_uri(host->uri, out_name, &tls, &system);
    if (out_name[0] == '\0')
        diagnose_uri(host->peer_uri, out_name, &tls, &system);
}

/* Begins to connect; what can be told at once is told. */
static void knock(struct round *round, struct patient *patient, const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    bool open = connect(fd, address->ai_addr, address->ai_addrlen) == 0;
    patient->tls_port = open ? PORT_ANSWERS : PORT_SILENT;
    if (open || errno != EINPROGRESS) {
        (void)close(fd);
        return;
    }
    round->pollers[round->n] = (struct pollfd){.fd = fd, .events = POLLOUT};
    round->of[round->n++] = patient;
}

static void begin(struct round *round, struct patient *patient, int port)
{
    char name[HV_TEXT_MAX], service[16];
    name_of(patient->host, name);
    if (name[0] == '\0')
        return;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    (void)snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(name, service, &hints, &found) != 0) {
        patient->tls_port = PORT_NO_ADDRESS;
        return;
    }
    knock(round, patient, found);
    freeaddrinfo(found);
}

static bool is_connected(int fd)
{
    int failure = 1;
    socklen_t size = sizeof failure;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
}

/* Waits for all that are under way, PORTS_CONNECT_MS together. */
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
            round->pollers[i] = (struct pollfd){.fd = -1}; /* poll passes it over */
            open--;
        }
    }
    for (size_t i = 0; i < round->n; i++)
        if (round->pollers[i].fd >= 0)
            (void)close(round->pollers[i].fd);
    round->n = 0;
}

void ports_ask(struct patient *patients, size_t n, int port, int64_t patience_ms)
{
    int64_t until = clock_mono_ms(clock_system()) + patience_ms;
    struct round round = {0};
    for (size_t i = 0; i < n; i++) {
        if (clock_mono_ms(clock_system()) >= until) {
            patients[i].tls_port = PORT_NO_TIME;
            continue;
        }
        begin(&round, &patients[i], port);
        if (round.n == PORTS_AT_ONCE)
            finish(&round);
    }
    finish(&round);
}
