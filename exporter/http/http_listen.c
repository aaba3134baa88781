/* http_listen.c - from an address in the configuration to a listening socket, loopback only. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "exporter/http/http.h"

enum { BACKLOG = 511, HOST_MAX = 64 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Splits at the last colon; brackets around an IPv6 address are taken off. */
static bool split(const char *listen, char *host, size_t host_bytes, int64_t *out_port)
{
    const char *colon = strrchr(listen, ':');
    if (colon == NULL || colon[1] == '-' || !text_to_i64(colon + 1, 0, 65535, out_port))
        return false;
    const char *from = listen, *to = colon;
    if (*from == '[' && to > from && to[-1] == ']') {
        from++;
        to--;
    }
    size_t n = (size_t)(to - from);
    if (n == 0 || n >= host_bytes)
        return false;
    memcpy(host, from, n);
    host[n] = '\0';
    return true;
}

static bool to_address(const char *host, unsigned port, union address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return true;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, text_equal(host, "localhost") ? "127.0.0.1" : host,
                     &out->v4.sin_addr) == 1;
}

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* A Host header: the port may be missing. */
bool http_host_is_loopback(const char *text)
{
    char host[HOST_MAX];
    int64_t port;
    union address address;
    size_t n = strlen(text);
    if (n > 2 && text[0] == '[' && strchr(text, ']') == text + n - 1) {
        (void)text_copy(host, sizeof host, text + 1);
        host[strcspn(host, "]")] = '\0';
    } else if (!split(text, host, sizeof host, &port) && !text_copy(host, sizeof host, text)) {
        return false;
    }
    return to_address(host, 0, &address) && is_loopback(&address);
}

static int open_socket(const union address *address, const char *listen_on, struct err *err)
{
    bool v6 = address->any.sa_family == AF_INET6;
    int one = 1;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, &address->any, v6 ? sizeof address->v6 : sizeof address->v4) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    if (fd >= 0)
        (void)close(fd);
    err_set(err, ERR_IO, "cannot listen on %s: %s%s", listen_on, strerror(why),
            why == EADDRINUSE ? "; stop the other program or use another --listen" : "");
    return -1;
}

int http_listen(const char *listen, unsigned *out_port, struct err *err)
{
    char host[HOST_MAX];
    int64_t port;
    union address address;
    if (!split(listen, host, sizeof host, &port) || !to_address(host, (unsigned)port, &address)) {
        err_set(err, ERR_INVALID, "listen address '%s': expected ADDRESS:PORT, like 127.0.0.1:9178",
                listen);
        return -1;
    }
    if (!is_loopback(&address)) {
        err_set(err, ERR_INVALID,
                "listen address '%s' is not loopback: without TLS any client could migrate guests; "
                "use 127.0.0.1:PORT and a proxy or tunnel",
                listen);
        return -1;
    }
    int fd = open_socket(&address, listen, err);
    socklen_t n = sizeof address;
    if (fd >= 0 && getsockname(fd, &address.any, &n) == 0)
        *out_port =
            ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return fd;
}
