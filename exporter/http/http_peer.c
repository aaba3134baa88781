/* http_peer.c - see http_peer.h. */
#include "exporter/http/http_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/text.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

enum { GROUPS_MAX = 65536 }; /* the kernel's NGROUPS_MAX */

static bool is_among(int fd, gid_t gid)
{
    gid_t *groups = malloc(GROUPS_MAX * sizeof *groups);
    socklen_t n = GROUPS_MAX * sizeof *groups;
    bool found = false;
    if (groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n) == 0)
        for (size_t i = 0; i < n / sizeof *groups; i++)
            found = found || groups[i] == gid;
    free(groups);
    return found;
}

bool http_peer_of_socket(int fd, gid_t gid, struct http_peer *out_peer)
{
    struct ucred credentials;
    socklen_t n = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) != 0)
        return false;
    out_peer->uid = credentials.uid;
    out_peer->is_in_group = gid != (gid_t)-1 && (credentials.gid == gid || is_among(fd, gid));
    (void)snprintf(out_peer->address, sizeof out_peer->address, "pid %ld", (long)credentials.pid);
    return true;
}

void http_peer_address(const struct sockaddr *address, char *out_text)
{
    const void *bytes = NULL;
    if (address != NULL && address->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address != NULL && address->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (bytes == NULL ||
        inet_ntop(address->sa_family, bytes, out_text, HTTP_PEER_ADDRESS_MAX) == NULL)
        (void)text_copy(out_text, HTTP_PEER_ADDRESS_MAX, "unknown");
}
