/* gate_listen.c - the listeners of the configuration, each checked: off loopback only TLS, except
 * for metrics that the configuration opens. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/gate/gate_impl.h"

static bool add_listener(struct gate *gate, const char *address, enum http_transport transport,
                         bool is_metrics_only)
{
    struct gate_listener *row = &gate->listeners[gate->n_listeners++];
    row->transport = transport;
    row->is_metrics_only = is_metrics_only;
    return text_copy(row->address, sizeof row->address, address);
}

/* Splits "https://ADDR:PORT"; without a scheme: as the certificate and the address say. */
static bool read_listen(const struct gate *gate, const char *text, enum http_transport *out,
                        const char **out_address, bool *out_loopback, struct err *err)
{
    bool is_http = text_has_prefix(text, "http://"), is_https = text_has_prefix(text, "https://");
    *out_address = text + (is_http ? strlen("http://") : is_https ? strlen("https://") : 0);
    if (!http_address_is_loopback(*out_address, out_loopback, err))
        return false;
    bool has_certificate = gate->web != NULL && gate->web->cert_file[0] != '\0';
    *out = is_https || (!is_http && (has_certificate || !*out_loopback)) ? HTTP_TLS : HTTP_PLAIN;
    return true;
}

static bool add_tcp(struct gate *gate, const char *text, struct err *err)
{
    enum http_transport transport;
    const char *address;
    bool is_loopback;
    if (!read_listen(gate, text, &transport, &address, &is_loopback, err))
        return false;
    if (transport == HTTP_PLAIN && !is_loopback)
        return err_set(err, ERR_INVALID,
                       "listen address '%s' is not loopback and not https: anybody could read "
                       "along; use https://%s",
                       text, address);
    return add_listener(gate, address, transport, false);
}

/* Metrics without an identity may be plain anywhere: that is what `auth: none` says. */
static bool add_metrics(struct gate *gate, struct err *err)
{
    const char *text = gate->config.metrics_listen, *address;
    enum http_transport transport;
    bool is_loopback;
    if (text[0] == '\0')
        return true;
    if (!read_listen(gate, text, &transport, &address, &is_loopback, err))
        return false;
    bool has_scheme = address != text;
    bool has_certificate = gate->web != NULL && gate->web->cert_file[0] != '\0';
    if (gate->config.metrics_open && !has_scheme && !has_certificate)
        transport = HTTP_PLAIN;
    if (transport == HTTP_PLAIN && !is_loopback && !gate->config.metrics_open)
        return err_set(err, ERR_INVALID,
                       "metrics.listen '%s' is not loopback and not https: a token would be "
                       "readable on the way; use https://%s, or write auth: none",
                       text, address);
    return add_listener(gate, address, transport, true);
}

bool gate_settle_listeners(struct gate *gate, struct err *err)
{
    if (gate->config.socket[0] != '\0')
        (void)add_listener(gate, gate->config.socket, HTTP_UNIX, false);
    for (size_t i = 0; i < gate->config.n_listen; i++)
        if (!add_tcp(gate, gate->config.listen[i], err))
            return false;
    return add_metrics(gate, err);
}

size_t gate_listeners(const struct gate *gate, struct http_listener_config *out_listeners)
{
    for (size_t i = 0; i < gate->n_listeners; i++)
        out_listeners[i] = (struct http_listener_config){.address = gate->listeners[i].address,
                                                         .transport = gate->listeners[i].transport,
                                                         .group = gate->config.group,
                                                         .tag = (unsigned)i};
    return gate->n_listeners;
}

/* ---- TLS ---- */

/* The host of the external URL; "" without one. */
static void external_host(const struct gate *gate, char *out, size_t n)
{
    const char *at = strstr(gate->config.external_url, "://");
    char authority[ACCESS_TEXT_MAX];
    out[0] = '\0';
    if (at == NULL)
        return;
    TEXT_SET(authority, at + 3);
    authority[strcspn(authority, "/")] = '\0';
    (void)http_host_name(authority, out, n);
}

/* Every name that a client may use: in the certificate that Ferry makes. */
static bool make_certificate(struct gate *gate, const struct http_tls_files *files, struct err *err)
{
    char listens[HTTP_LISTENERS_MAX][ACCESS_TEXT_MAX], external[ACCESS_TEXT_MAX];
    const char *names[HTTP_LISTENERS_MAX + ACCESS_HOSTS_MAX + GATE_OWN_NAMES + 4];
    size_t n = 0;
    names[n++] = "localhost";
    names[n++] = "127.0.0.1";
    names[n++] = "::1";
    for (size_t i = 0; i < GATE_OWN_NAMES; i++)
        if (gate->own_names[i][0] != '\0')
            names[n++] = gate->own_names[i];
    for (size_t i = 0; i < gate->n_listeners; i++)
        if (gate->listeners[i].transport == HTTP_TLS &&
            http_host_name(gate->listeners[i].address, listens[i], sizeof listens[i]) &&
            !http_name_is_loopback(listens[i]) && !text_equal(listens[i], "0.0.0.0") &&
            !text_equal(listens[i], "::"))
            names[n++] = listens[i];
    for (size_t i = 0; i < gate->config.n_hosts; i++)
        names[n++] = gate->config.hosts[i];
    external_host(gate, external, sizeof external);
    if (external[0] != '\0')
        names[n++] = external;
    return http_tls_make(files->cert, files->key, HTTP_TLS_SERVER, names, n, err);
}

void gate_tls_files(const struct gate *gate, const struct web_config *web,
                    struct http_tls_files *out_files)
{
    *out_files = (struct http_tls_files){0};
    TEXT_SET(out_files->priority, web == NULL ? WEB_PRIORITY_DEFAULT : web->priority);
    if (web != NULL && web->cert_file[0] != '\0') {
        TEXT_SET(out_files->cert, web->cert_file);
        TEXT_SET(out_files->key, web->key_file);
        TEXT_SET(out_files->client_ca, web->client_ca_file);
        (void)http_client_auth_from_name(web->client_auth_type, &out_files->client_auth);
        return;
    }
    (void)snprintf(out_files->cert, sizeof out_files->cert, "%.4000s/tls.crt", gate->state_dir);
    (void)snprintf(out_files->key, sizeof out_files->key, "%.4000s/tls.key", gate->state_dir);
}

bool gate_open_tls(struct gate *gate, struct err *err)
{
    bool needs_tls = false, is_own = gate->web == NULL || gate->web->cert_file[0] == '\0';
    struct http_tls_files files;
    for (size_t i = 0; i < gate->n_listeners; i++)
        needs_tls = needs_tls || gate->listeners[i].transport == HTTP_TLS;
    if (!needs_tls)
        return true;
    if (is_own && gate->state_dir[0] == '\0')
        return err_set(err, ERR_INVALID,
                       "https needs a certificate: give --state DIR, where one is made, or "
                       "--web.config.file");
    gate_tls_files(gate, gate->web, &files);
    if (is_own && !make_certificate(gate, &files, err))
        return false;
    gate->tls = http_tls_new(&files, err);
    return gate->tls != NULL;
}

/* ---- for messages ---- */

size_t gate_https_listener(const struct gate *gate)
{
    for (size_t i = 0; i < gate->n_listeners; i++)
        if (gate->listeners[i].transport == HTTP_TLS && !gate->listeners[i].is_metrics_only)
            return i;
    return HTTP_LISTENERS_MAX;
}

void gate_https_url(const struct gate *gate, unsigned port, char *out, size_t n)
{
    size_t i = gate_https_listener(gate);
    char host[ACCESS_TEXT_MAX];
    out[0] = '\0';
    if (text_has_prefix(gate->config.external_url, "https://")) {
        (void)text_copy(out, n, gate->config.external_url);
        return;
    }
    if (i == HTTP_LISTENERS_MAX || !http_host_name(gate->listeners[i].address, host, sizeof host))
        return;
    bool is_any = text_equal(host, "0.0.0.0") || text_equal(host, "::");
    bool is_v6 = !is_any && strchr(host, ':') != NULL;
    (void)snprintf(out, n, "https://%s%s%s:%u", is_v6 ? "[" : "",
                   !is_any                         ? host
                   : gate->own_names[0][0] != '\0' ? gate->own_names[0]
                                                   : "127.0.0.1",
                   is_v6 ? "]" : "", port);
}

void gate_ways(const struct gate *gate, struct buf *out)
{
    size_t i = gate_https_listener(gate);
    bool has_socket = gate->config.socket[0] != '\0';
    if (has_socket)
        buf_addf(out, "the socket (--server unix:%s)", gate->config.socket);
    if (i != HTTP_LISTENERS_MAX)
        buf_addf(out, "%shttps://%s with a token", has_socket ? " or " : "",
                 gate->listeners[i].address);
    if (out->length == 0)
        buf_add(out, "a socket or https, and this appliance has neither");
}
