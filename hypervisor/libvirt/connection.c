/* connection.c - opening connections and reading libvirt's errors.
 *
 * Whose connection broke decides what an error means. "client socket is closed" (code 1,
 * domain 7) is what a call says when Ferry lost its host, and also what a migrate call says
 * when two healthy hosts lost each other; the texts are the same. So the connection itself is
 * asked: dead means that nobody knows what became of the call (UNREACHABLE), alive means that
 * the host answered no (HYPERVISOR).
 */
#include "hypervisor/libvirt/internal.h"

enum { KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_COUNT = 5 };

virConnectPtr libvirt_connection_open(const struct hv_host *host, bool read_only, struct err *err)
{
    virConnectPtr conn = read_only ? virConnectOpenReadOnly(host->uri) : virConnectOpen(host->uri);
    if (conn == NULL) {
        (void)libvirt_connection_fail(NULL, err);
        return NULL;
    }
    int interval_s =
        host->keepalive_interval_s > 0 ? host->keepalive_interval_s : KEEPALIVE_INTERVAL_S;
    int count = host->keepalive_count > 0 ? host->keepalive_count : KEEPALIVE_COUNT;
    /* A driver inside this process has nothing to keep alive and says so: no failure. */
    (void)virConnectSetKeepAlive(conn, interval_s, (unsigned)count);
    return conn;
}

void libvirt_connection_close(virConnectPtr conn)
{
    if (conn != NULL)
        (void)virConnectClose(conn);
}

/* Asks the client's side only, never the host, so it cannot hang. */
bool libvirt_connection_is_alive(virConnectPtr conn)
{
    return virConnectIsAlive(conn) != 0; /* -1: cannot be told, so believe in it */
}

static enum err_code kind_of(virConnectPtr conn, int hv_code)
{
    if (conn == NULL)
        return ERR_UNREACHABLE;
    if (hv_code == VIR_ERR_NO_DOMAIN)
        return ERR_NOT_FOUND;
    return libvirt_connection_is_alive(conn) ? ERR_HYPERVISOR : ERR_UNREACHABLE;
}

bool libvirt_connection_fail(virConnectPtr conn, struct err *err)
{
    const virError *last = virGetLastError();
    int hv_code = 0, hv_domain = 0;
    char text[ERR_TEXT_MAX] = "no error given";
    if (last != NULL) {
        hv_code = last->code;
        hv_domain = last->domain;
        if (last->message != NULL)
            (void)snprintf(text, sizeof text, "%s", last->message);
    }
    err->hv_code = hv_code;
    err->hv_domain = hv_domain;
    return err_set(err, kind_of(conn, hv_code), "%s", text); /* resets libvirt's own copy */
}
