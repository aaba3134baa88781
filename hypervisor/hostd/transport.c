/* transport.c - the lines of protocol.h over a socket, with a timeout on every wait. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "hypervisor/hostd/protocol.h"

enum { LINE_MAX_ = HOSTD_ANSWER_MAX + 1 };

static bool wait_for(int fd, short events, int64_t until_ms, struct err *err)
{
    for (;;) {
        int64_t left = until_ms - clock_mono_ms(clock_system());
        struct pollfd poll_fd = {.fd = fd, .events = events};
        int n = left > 0 ? poll(&poll_fd, 1, (int)left) : 0;
        if (n > 0)
            return true;
        if (n == 0)
            return err_set(err, ERR_TIMEOUT, "no answer in time");
        if (errno != EINTR)
            return err_set(err, ERR_IO, "poll: %s", strerror(errno));
    }
}

static bool finish_connect(int fd, int64_t until_ms, struct err *err)
{
    int failed = 0;
    socklen_t length = sizeof failed;
    if (!wait_for(fd, POLLOUT, until_ms, err))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &length) != 0)
        failed = errno;
    if (failed == ECONNREFUSED)
        return err_set(err, ERR_REFUSED, "%s", strerror(failed));
    return failed == 0 ? true : err_set(err, ERR_UNREACHABLE, "%s", strerror(failed));
}

bool hostd_connect(const struct hostd_address *to, int64_t until_ms, int *out_fd, struct err *err)
{
    int fd = socket(to->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, ERR_IO, "socket: %s", strerror(errno));
    bool connected = connect(fd, (const struct sockaddr *)&to->at, to->length) == 0;
    if (!connected && errno == ECONNREFUSED)
        (void)err_set(err, ERR_REFUSED, "%s", strerror(errno));
    else if (!connected && errno != EINPROGRESS)
        (void)err_set(err, ERR_UNREACHABLE, "%s", strerror(errno));
    else if (!connected)
        connected = finish_connect(fd, until_ms, err);
    if (connected)
        *out_fd = fd;
    else
        (void)close(fd);
    return connected;
}

bool hostd_send_line(int fd, const char *line, int64_t until_ms, struct err *err)
{
    char bytes[LINE_MAX_];
    size_t n = strnlen(line, HOSTD_ANSWER_MAX - 1), sent = 0;
    memcpy(bytes, line, n);
    bytes[n++] = '\n';
    while (sent < n) {
        if (!wait_for(fd, POLLOUT, until_ms, err))
            return false;
        ssize_t more = send(fd, bytes + sent, n - sent, MSG_NOSIGNAL);
        if (more > 0)
            sent += (size_t)more;
        else if (errno != EAGAIN && errno != EINTR)
            return err_set(err, ERR_UNREACHABLE, "%s", strerror(errno));
    }
    return true;
}

bool hostd_receive_line(int fd, char *out_line, size_t out_bytes, int64_t until_ms, struct err *err)
{
    size_t n = 0;
    for (;;) {
        if (n == out_bytes)
            return err_set(err, ERR_CORRUPT, "more than %zu bytes in a line", out_bytes - 1);
        if (!wait_for(fd, POLLIN, until_ms, err))
            return false;
        ssize_t more = recv(fd, out_line + n, out_bytes - n, 0);
        if (more < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (more < 0)
            return err_set(err, ERR_UNREACHABLE, "%s", strerror(errno));
        if (more == 0)
            return err_set(err, ERR_UNREACHABLE, "the connection was closed");
        n += (size_t)more;
        const char *end = memchr(out_line, '\n', n);
        if (end == NULL)
            continue;
        if (end != out_line + n - 1 || memchr(out_line, '\0', n) != NULL)
            return err_set(err, ERR_CORRUPT, "not one line of text");
        out_line[n - 1] = '\0';
        return true;
    }
}
