/* sockets.c - see sockets.h: chooses the sockets; netlink.c lists and closes them. */
#include "hypervisor/hostd/sockets.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "hypervisor/hostd/netlink.h"
#include "hypervisor/hostd/ownerless.h"

enum {
    GIVEN_FROM = 32768
}; /* Linux' default, which other hosts may have even if this one differs */

/* --- choosing --- */

static unsigned local_port(const struct socket_seen *socket)
{
    return ntohs(socket->id.idiag_sport);
}

static unsigned remote_port(const struct socket_seen *socket)
{
    return ntohs(socket->id.idiag_dport);
}

static bool is_stream_port(const struct socket_rule *rule, unsigned port)
{
    return port >= rule->port_min && port <= rule->port_max;
}

static bool is_listened_on(const struct socket_list *list, unsigned port)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].state == TCP_LISTEN && local_port(&list->at[i]) == port)
            return true;
    return false;
}

/* Direction of a socket by its ports alone. BOTH: each end happens to have a port of the range. */
enum side { NEITHER, OUTGOING, INCOMING, BOTH };

static enum side side_of(const struct socket_list *list, const struct socket_rule *rule,
                         const struct socket_seen *socket)
{
    unsigned ours = local_port(socket), theirs = remote_port(socket);
    if (socket->state == TCP_LISTEN)
        return NEITHER;
    if (is_stream_port(rule, ours) && is_stream_port(rule, theirs))
        return BOTH;
    if (is_stream_port(rule, ours))
        return theirs >= rule->given_from ? INCOMING : NEITHER;
    if (is_stream_port(rule, theirs)) /* not a client of ours that happens to have such a port */
        return ours >= rule->given_from && !is_listened_on(list, ours) ? OUTGOING : NEITHER;
    return NEITHER;
}

size_t sockets_choose(const struct socket_list *list, const struct socket_rule *rule,
                      bool *out_chosen)
{
    bool is_source = !rule->incoming;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (side_of(list, rule, &list->at[i]) == OUTGOING)
            is_source = true; /* it arrived by a migration once and now leaves */
    for (size_t i = 0; i < list->n; i++) {
        enum side side = side_of(list, rule, &list->at[i]);
        out_chosen[i] = side == BOTH || side == (is_source ? OUTGOING : INCOMING);
        n += out_chosen[i];
    }
    return n;
}

static void end_text(int family, const uint32_t *address, unsigned port, char *out, size_t bytes)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    memcpy(&v6, address, sizeof v6);
    bool is_v4 = family == AF_INET || IN6_IS_ADDR_V4MAPPED(&v6);
    const void *at = family == AF_INET ? (const void *)address
                     : is_v4           ? (const void *)&v6.s6_addr[12]
                                       : (const void *)&v6;
    if (inet_ntop(is_v4 ? AF_INET : AF_INET6, at, text, sizeof text) == NULL)
        text[0] = '\0';
    (void)snprintf(out, bytes, is_v4 ? "%s:%u" : "[%s]:%u", text, port);
}

void sockets_text(const struct socket_seen *socket, char *out_text)
{
    char ours[SOCKETS_TEXT_MAX / 2 - 1], theirs[SOCKETS_TEXT_MAX / 2 - 1];
    end_text(socket->family, socket->id.idiag_src, local_port(socket), ours, sizeof ours);
    end_text(socket->family, socket->id.idiag_dst, remote_port(socket), theirs, sizeof theirs);
    (void)snprintf(out_text, SOCKETS_TEXT_MAX, "%s>%s", ours, theirs);
}

/* --- closing --- */

/* First ephemeral port of this kernel. */
static unsigned given_from(const char *proc)
{
    char path[256], text[64] = "";
    unsigned low;
    (void)snprintf(path, sizeof path, "%s/sys/net/ipv4/ip_local_port_range", proc);
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL)
        (void)fclose(file);
    return read && sscanf(text, "%u", &low) == 1 && low < GIVEN_FROM ? low : GIVEN_FROM;
}

static bool close_chosen(const struct socket_list *list, const bool *chosen, int netlink,
                         struct sockets_report *report, struct err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        bool closed;
        if (!chosen[i])
            continue;
        if (!netlink_destroy(netlink, &list->at[i], &closed, err))
            return false;
        if (closed)
            report->closed[report->n++] = list->at[i];
    }
    return true;
}

static bool close_streams(const struct socket_rule *rule, const struct process_sockets *guest,
                          struct socket_list *list, int netlink, struct sockets_report *report,
                          struct err *err)
{
    bool chosen[PROCESS_SOCKETS_MAX];
    if (!netlink_list(netlink, AF_INET, guest, list, err) ||
        !netlink_list(netlink, AF_INET6, guest, list, err))
        return false;
    size_t n = sockets_choose(list, rule, chosen);
    if (n > SOCKETS_KILL_MAX)
        return err_set(err, ERR_LIMIT,
                       "%zu sockets match a migration stream, more than %d: nothing was closed", n,
                       SOCKETS_KILL_MAX);
    return close_chosen(list, chosen, netlink, report, err);
}

/* Working memory of one search. */
struct search {
    struct process_sockets guest;
    struct socket_list list;
};

static bool kill_found(const struct sockets_config *config, struct search *search, int64_t until_ms,
                       struct sockets_report *report, struct err *err)
{
    const struct socket_rule rule = {
        .port_min = config->port_min,
        .port_max = config->port_max,
        .given_from = given_from(config->proc),
        .incoming = search->guest.incoming,
    };
    int netlink;
    if (!netlink_open(&netlink, err))
        return false;
    const struct ownerless_search ownerless = {config->proc, &rule, netlink, &search->list,
                                               until_ms};
    bool done = close_streams(&rule, &search->guest, &search->list, netlink, report, err);
    if (done && report->n == 0 && search->guest.sends_on_closed)
        done = ownerless_kill(&ownerless, report, err);
    (void)close(netlink);
    return done;
}

bool sockets_kill(const struct sockets_config *config, const char *uuid, int64_t until_ms,
                  struct sockets_report *out_report, struct err *err)
{
    out_report->n = 0;
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL)
        return err_set(err, ERR_NOMEM, "no memory for the sockets of a guest");
    const struct process_search where = {config->proc, config->identity};
    bool done = process_sockets_of(&where, uuid, until_ms, &search->guest, err);
    if (done && search->guest.processes == 0)
        done = err_set(err, ERR_NOT_FOUND, "no process of guest %s on this host%s%s", uuid,
                       config->identity.pid_dir != NULL ? " with a pid file in " : "",
                       config->identity.pid_dir != NULL ? config->identity.pid_dir : "");
    done = done && kill_found(config, search, until_ms, out_report, err);
    free(search);
    return done;
}

/* --- self-test --- */

static int make_listener(uint32_t *out_inode)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct stat about;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0 &&
        fstat(fd, &about) == 0) {
        *out_inode = (uint32_t)about.st_ino;
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static bool close_own(struct search *search, int netlink, struct err *err)
{
    bool closed = false;
    if (!netlink_list(netlink, AF_INET, &search->guest, &search->list, err))
        return false;
    if (search->list.n != 1)
        return err_set(err, ERR_REFUSED, "the kernel does not list a socket of our own");
    if (!netlink_destroy(netlink, &search->list.at[0], &closed, err))
        return false;
    return closed ? true : err_set(err, ERR_REFUSED, "the kernel did not close our own socket");
}

bool sockets_self_test(struct err *err)
{
    struct search *search = calloc(1, sizeof *search);
    uint32_t inode = 0;
    int netlink = -1, fd = make_listener(&inode);
    bool done = false;
    if (search == NULL || fd < 0) {
        (void)err_set(err, ERR_IO, "cannot make a socket for the self-test: %s", strerror(errno));
    } else if (netlink_open(&netlink, err)) {
        search->guest.inodes[search->guest.n++] = inode;
        done = close_own(search, netlink, err);
        (void)close(netlink);
    }
    if (fd >= 0)
        (void)close(fd);
    free(search);
    return done;
}
