/* http_peer.h - what the server knows about a client without asking it: the listener it came
 * through, its address, the user behind a Unix socket, the names in a verified certificate. */
#ifndef EXPORTER_HTTP_HTTP_PEER_H
#define EXPORTER_HTTP_HTTP_PEER_H

#include <stdbool.h>
#include <sys/types.h>

enum http_transport { HTTP_UNIX, HTTP_PLAIN, HTTP_TLS };
enum { HTTP_PEER_NAMES_MAX = 8, HTTP_PEER_NAME_MAX = 128, HTTP_PEER_ADDRESS_MAX = 64 };

struct http_peer {
    enum http_transport transport;
    unsigned tag;     /* of the listener's configuration */
    bool is_loopback; /* the listener's address is */
    char address[HTTP_PEER_ADDRESS_MAX];
    /* UNIX: from the kernel, as of connect(2). */
    uid_t uid;
    bool is_in_group; /* the listener's; its first or a supplementary group */
    /* TLS: of a certificate that the configured CA signed; the common name first. */
    unsigned n_names;
    char names[HTTP_PEER_NAMES_MAX][HTTP_PEER_NAME_MAX];
};

/* The user behind a connected Unix socket. False: the kernel does not say. */
bool http_peer_of_socket(int fd, gid_t gid, struct http_peer *out_peer);
struct sockaddr;
void http_peer_address(const struct sockaddr *address, char *out_text); /* HTTP_PEER_ADDRESS_MAX */

#endif
