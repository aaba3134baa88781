/* connection.c - opening connections and reading libvirt's errors.
 *
 * Which connection broke decides what an error means. "client socket is closed" (code 1, domain 7)
 * is the error when Ferry lost the host, and also when two healthy hosts lost each other during a
 * migrate call; the texts are the same. So the connection itself is checked: dead means that the
 * outcome of the call is not known (UNREACHABLE), alive means that the host refused (HYPERVISOR).
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
    /* A driver inside this process has no keepalive: no failure. */
    (void)virConnectSetKeepAlive(conn, interval_s, (unsigned)count);
    return conn;
}

void libvirt_connection_close(virConnectPtr conn)
{
    if (conn != NULL)
        (void)virConnectClose(conn);
}

/* Checks the client's side only, never the host, so it cannot hang. */
bool libvirt_connection_is_alive(virConnectPtr conn)
{
    return virConnectIsAlive(conn) != 0; /* -1: not known, counts as alive */
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
