/* ownerless.c - see ownerless.h. */
#include "hypervisor/hostd/ownerless.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/clock.h"
#include "hypervisor/hostd/netlink.h"

static bool matches(const struct socket_rule *rule, const struct socket_seen *socket)
{
    unsigned ours = ntohs(socket->id.idiag_sport), theirs = ntohs(socket->id.idiag_dport);
    return socket->state == TCP_CLOSE_WAIT && socket->inode != 0 && ours >= rule->given_from &&
           theirs >= rule->port_min && theirs <= rule->port_max;
}

bool ownerless_choose(const char *proc, const struct socket_rule *rule, struct socket_list *list,
                      int64_t until_ms, struct err *err)
{
    struct process_inode inodes[OWNERLESS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (!matches(rule, &list->at[i]))
            continue;
        if (n == OWNERLESS_MAX)
            return err_set(err, ERR_LIMIT, "more than %d half-closed sockets: nothing was closed",
                           OWNERLESS_MAX);
        inodes[n] = (struct process_inode){.inode = list->at[i].inode};
        list->at[n++] = list->at[i];
    }
    list->n = 0;
    if (n > 0 && !process_find_holders(proc, inodes, n, until_ms, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!inodes[i].held)
            list->at[list->n++] = list->at[i];
    return true;
}

static bool find(const struct ownerless_search *search, struct err *err)
{
    struct socket_list *list = search->list;
    list->n = 0;
    return netlink_list_state(search->netlink, AF_INET, TCP_CLOSE_WAIT, list, err) &&
           netlink_list_state(search->netlink, AF_INET6, TCP_CLOSE_WAIT, list, err) &&
           ownerless_choose(search->proc, search->rule, list, search->until_ms, err);
}

bool ownerless_kill(const struct ownerless_search *search, struct sockets_report *report,
                    struct err *err)
{
    const struct socket_list *list = search->list;
    bool closed = false;
    if (!find(search, err))
        return false;
    if (list->n == 0)
        return true;
    if (list->n > 1)
        return err_set(
            err, ERR_LIMIT,
            "%zu sockets of migrations are held by no process: nothing was closed, since "
            "which is this guest's is not known",
            list->n);
    struct socket_seen first = list->at[0];
    clock_sleep_ms(OWNERLESS_AGAIN_MS);
    if (!find(search, err))
        return false;
    if (list->n != 1 || memcmp(&list->at[0].id, &first.id, sizeof first.id) != 0)
        return true;
    if (!netlink_destroy(search->netlink, &first, &closed, err))
        return false;
    if (closed)
        report->closed[report->n++] = first;
    return true;
}
