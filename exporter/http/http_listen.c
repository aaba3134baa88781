/* http_listen.c - from an address in the configuration to a listening socket; names of a Host
 * header. */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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
bool http_host_name(const char *text, char *out, size_t n)
{
    int64_t port;
    size_t length = strlen(text);
    if (length > 2 && text[0] == '[' && strchr(text, ']') == text + length - 1) {
        if (!text_copy(out, n, text + 1))
            return false;
        out[strcspn(out, "]")] = '\0';
        return true;
    }
    return split(text, out, n, &port) || text_copy(out, n, text);
}

bool http_name_is_loopback(const char *name)
{
    union address address;
    return to_address(name, 0, &address) && is_loopback(&address);
}

bool http_name_is_address(const char *name)
{
    union address address;
    return !text_equal(name, "localhost") && to_address(name, 0, &address);
}

static bool read_address(const char *text, union address *out, struct err *err)
{
    char host[HOST_MAX];
    int64_t port;
    return (split(text, host, sizeof host, &port) && to_address(host, (unsigned)port, out)) ||
           err_set(err, ERR_INVALID,
                   "listen address '%s': expected ADDRESS:PORT, like 127.0.0.1:9178", text);
}

bool http_address_is_loopback(const char *text, bool *out_loopback, struct err *err)
{
    union address address;
    if (!read_address(text, &address, err))
        return false;
    *out_loopback = is_loopback(&address);
    return true;
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

int http_listen_tcp(const char *text, unsigned *out_port, struct err *err)
{
    union address address;
    if (!read_address(text, &address, err))
        return -1;
    int fd = open_socket(&address, text, err);
    socklen_t n = sizeof address;
    if (fd >= 0 && getsockname(fd, &address.any, &n) == 0)
        *out_port =
            ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return fd;
}

/* ---- Unix sockets ---- */

/* Does a process listen there? A socket of a dead one refuses. */
static bool is_in_use(const struct sockaddr_un *to)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool in_use = fd >= 0 && (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 ||
                              errno == EAGAIN || errno == EACCES);
    if (fd >= 0)
        (void)close(fd);
    return in_use;
}

static bool clear_path(const struct sockaddr_un *to, struct err *err)
{
    struct stat found;
    if (lstat(to->sun_path, &found) != 0)
        return true;
    if (!S_ISSOCK(found.st_mode))
        return err_set(err, ERR_EXISTS, "socket %s: a file of that name is no socket",
                       to->sun_path);
    if (is_in_use(to))
        return err_set(err, ERR_LOCKED, "socket %s: another process listens there", to->sun_path);
    (void)unlink(to->sun_path);
    return true;
}

/* The mode is set before listen(2): until then nobody can connect. */
static bool bind_unix(int fd, const struct sockaddr_un *to, gid_t gid)
{
    return fd >= 0 && bind(fd, (const struct sockaddr *)to, sizeof *to) == 0 &&
           (gid == (gid_t)-1 || chown(to->sun_path, (uid_t)-1, gid) == 0) &&
           chmod(to->sun_path, 0660) == 0 && listen(fd, BACKLOG) == 0;
}

int http_listen_unix(const char *path, gid_t gid, struct err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path[0] != '/' || !text_copy(to.sun_path, sizeof to.sun_path, path)) {
        err_set(err, ERR_INVALID, "socket '%s': expected an absolute path of at most %zu bytes",
                path, sizeof to.sun_path - 1);
        return -1;
    }
    if (!clear_path(&to, err))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind_unix(fd, &to, gid))
        return fd;
    err_set(err, ERR_IO, "cannot listen on socket %s: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

gid_t http_group(const char *name)
{
    struct group entry, *found = NULL;
    char members[16384];
    if (name == NULL || name[0] == '\0' ||
        getgrnam_r(name, &entry, members, sizeof members, &found) != 0 || found == NULL)
        return (gid_t)-1;
    return found->gr_gid;
}
