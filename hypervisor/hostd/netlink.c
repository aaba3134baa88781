/* netlink.c - see netlink.h. */
#include "hypervisor/hostd/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    DATAGRAM_MAX = 32768, /* the kernel's largest dump message */
    DATAGRAMS_MAX = 65536,
    WAIT_S = 2, /* the kernel answers at once */
};

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 body;
};

bool netlink_open(int *out_fd, struct err *err)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return err_set(err, ERR_REFUSED, "the kernel does not list sockets (CONFIG_INET_DIAG): %s",
                       strerror(errno));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    *out_fd = fd;
    return true;
}

static bool send_question(int fd, const struct question *question, struct err *err)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n =
        sendto(fd, question, sizeof *question, 0, (const struct sockaddr *)&kernel, sizeof kernel);
    return n == (ssize_t)sizeof *question
               ? true
               : err_set(err, ERR_IO, "cannot send to the kernel: %s", strerror(errno));
}

static bool receive_datagram(int fd, void *out_datagram, size_t *out_bytes, struct err *err)
{
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t length = sizeof from;
        ssize_t n =
            recvfrom(fd, out_datagram, DATAGRAM_MAX, MSG_TRUNC, (struct sockaddr *)&from, &length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, errno == EAGAIN ? ERR_TIMEOUT : ERR_IO,
                           "the kernel does not answer: %s", strerror(errno));
        if (n > DATAGRAM_MAX)
            return err_set(err, ERR_LIMIT, "the kernel sent %zd bytes at once", n);
        if (from.nl_pid != 0)
            continue; /* not sent by the kernel */
        *out_bytes = (size_t)n;
        return true;
    }
}

/* The kernel's errno as a message for the operator. */
static bool refuse(int number, struct err *err)
{
    switch (number) {
    case EPERM:
    case EACCES:
        return err_set(err, ERR_FORBIDDEN,
                       "not allowed to close sockets: hostd needs root or CAP_NET_ADMIN");
    case EOPNOTSUPP:
        return err_set(err, ERR_REFUSED,
                       "this kernel cannot close sockets (CONFIG_INET_DIAG_DESTROY is not set)");
    case ENOENT:
        return err_set(err, ERR_REFUSED,
                       "this kernel does not list TCP sockets (CONFIG_INET_TCP_DIAG, tcp_diag)");
    default: return err_set(err, ERR_IO, "the kernel refuses: %s", strerror(number));
    }
}

/* The body of the message at `at`, whose length was compared with what came. */
static bool take_body(const char *at, void *out_body, size_t bytes, struct err *err)
{
    struct nlmsghdr header;
    memcpy(&header, at, sizeof header);
    if (header.nlmsg_len < NLMSG_LENGTH(bytes))
        return err_set(err, ERR_CORRUPT, "the kernel's answer is truncated");
    memcpy(out_body, at + NLMSG_HDRLEN, bytes);
    return true;
}

static bool take_error(const char *at, int *out_number, struct err *err)
{
    struct nlmsgerr body = {0};
    if (!take_body(at, &body, sizeof body, err))
        return false;
    *out_number = -body.error;
    return true;
}

static bool take_socket(const char *at, const struct process_sockets *guest,
                        struct socket_list *list, struct err *err)
{
    struct inet_diag_msg body = {0};
    if (!take_body(at, &body, sizeof body, err))
        return false;
    if (guest != NULL && !process_has_socket(guest, body.idiag_inode))
        return true;
    if (list->n == PROCESS_SOCKETS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d sockets", PROCESS_SOCKETS_MAX);
    list->at[list->n++] = (struct socket_seen){
        .family = body.idiag_family,
        .state = body.idiag_state,
        .inode = body.idiag_inode,
        .id = body.id,
    };
    return true;
}

bool sockets_read(const void *datagram, size_t bytes, const struct process_sockets *guest,
                  struct socket_list *list, bool *out_end, struct err *err)
{
    size_t left = bytes;
    *out_end = false;
    for (const char *at = datagram; left > 0;) {
        struct nlmsghdr header;
        int number = 0;
        if (left < sizeof header)
            return err_set(err, ERR_CORRUPT, "the kernel's answer is truncated");
        memcpy(&header, at, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > left)
            return err_set(err, ERR_CORRUPT, "the kernel's answer is truncated");
        if (header.nlmsg_type == NLMSG_DONE)
            *out_end = true;
        else if (header.nlmsg_type == NLMSG_ERROR && !take_error(at, &number, err))
            return false;
        else if (number != 0)
            return refuse(number, err);
        else if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && !take_socket(at, guest, list, err))
            return false;
        size_t step = NLMSG_ALIGN(header.nlmsg_len);
        at += step < left ? step : left;
        left -= step < left ? step : left;
    }
    return true;
}

static bool list_states(int fd, int family, unsigned states, const struct process_sockets *guest,
                        struct socket_list *list, struct err *err)
{
    char datagram[DATAGRAM_MAX];
    const struct question question = {
        .header = {.nlmsg_len = sizeof question,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.sdiag_family = (uint8_t)family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = states},
    };
    if (!send_question(fd, &question, err))
        return false;
    for (int i = 0; i < DATAGRAMS_MAX; i++) {
        size_t n;
        bool end;
        if (!receive_datagram(fd, datagram, &n, err) ||
            !sockets_read(datagram, n, guest, list, &end, err))
            return false;
        if (end)
            return true;
    }
    return err_set(err, ERR_LIMIT, "the kernel's list of sockets does not end");
}

bool netlink_list(int fd, int family, const struct process_sockets *guest, struct socket_list *list,
                  struct err *err)
{
    /* Not only ESTABLISHED: a stream whose other end is closed can block a guest too. */
    const unsigned states = 1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT | 1U << TCP_FIN_WAIT1 |
                            1U << TCP_FIN_WAIT2 | 1U << TCP_CLOSE_WAIT | 1U << TCP_LISTEN;
    return list_states(fd, family, states, guest, list, err);
}

bool netlink_list_state(int fd, int family, int state, struct socket_list *list, struct err *err)
{
    return list_states(fd, family, 1U << state, NULL, list, err);
}

bool netlink_destroy(int fd, const struct socket_seen *socket, bool *out_closed, struct err *err)
{
    char datagram[DATAGRAM_MAX];
    const struct question question = {
        .header = {.nlmsg_len = sizeof question,
                   .nlmsg_type = SOCK_DESTROY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .body = {.sdiag_family = (uint8_t)socket->family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = 1U << socket->state,
                 .id = socket->id},
    };
    struct nlmsghdr header = {0};
    size_t n;
    int number = 0;
    if (!send_question(fd, &question, err) || !receive_datagram(fd, datagram, &n, err))
        return false;
    memcpy(&header, datagram, sizeof header);
    if (n < sizeof header || header.nlmsg_type != NLMSG_ERROR || header.nlmsg_len > n)
        return err_set(err, ERR_CORRUPT, "the kernel's answer is malformed");
    if (!take_error(datagram, &number, err))
        return false;
    if (number != 0 && number != ENOENT)
        return refuse(number, err);
    *out_closed = number == 0;
    return true;
}
