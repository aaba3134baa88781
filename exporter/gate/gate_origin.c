/* gate_origin.c - where a request comes from: the Host header, other web pages, proxies. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "exporter/gate/gate_impl.h"

/* ---- Host ---- */

static bool is_external_host(const struct gate *gate, const char *name)
{
    const char *at = strstr(gate->config.external_url, "://");
    char authority[ACCESS_TEXT_MAX], host[ACCESS_TEXT_MAX];
    if (at == NULL)
        return false;
    TEXT_SET(authority, at + 3);
    authority[strcspn(authority, "/")] = '\0';
    return http_host_name(authority, host, sizeof host) && strcasecmp(host, name) == 0;
}

static bool is_own_name(const struct gate *gate, const char *name)
{
    for (size_t i = 0; i < gate->config.n_hosts; i++)
        if (strcasecmp(gate->config.hosts[i], name) == 0)
            return true;
    return is_external_host(gate, name);
}

/* A name that somebody else's DNS made resolve to this address is not allowed; an address is what
 * the client connected to. A credential in a header is proof that no foreign page asks. */
bool gate_host_is_allowed(const struct gate *gate, const struct http_request *request)
{
    const char *host = http_header(request, "Host");
    const struct http_peer *peer = request->peer;
    char name[ACCESS_TEXT_MAX];
    if (peer->transport == HTTP_UNIX || host == NULL ||
        http_header(request, "Authorization") != NULL)
        return true;
    if (!http_host_name(host, name, sizeof name))
        return false;
    if (http_name_is_loopback(name) || is_own_name(gate, name))
        return true;
    if (peer->is_loopback)
        return false;
    for (size_t i = 0; i < GATE_OWN_NAMES; i++)
        if (gate->own_names[i][0] != '\0' && strcasecmp(gate->own_names[i], name) == 0)
            return true;
    return http_name_is_address(name);
}

enum http_admission gate_refuse_host(const struct gate *gate, const struct http_request *request,
                                     struct gate_refusal *refusal)
{
    struct buf text;
    buf_init(&text, GATE_REFUSAL_MAX);
    buf_addf(&text, "the Host header '%.100s' is not allowed: a loopback address",
             http_header(request, "Host"));
    if (!request->peer->is_loopback) {
        buf_add(&text, ", an IP address");
        for (size_t i = 0; i < GATE_OWN_NAMES; i++)
            if (gate->own_names[i][0] != '\0')
                buf_addf(&text, ", %s", gate->own_names[i]);
    }
    for (size_t i = 0; i < gate->config.n_hosts; i++)
        buf_addf(&text, ", %s", gate->config.hosts[i]);
    if (gate->config.external_url[0] != '\0')
        buf_addf(&text, ", that of %s", gate->config.external_url);
    buf_add(&text, " (allowedHosts, externalUrl)");
    (void)gate_refuse(refusal, 421, text.failed ? "the Host header is not allowed" : text.data);
    buf_fini(&text);
    return HTTP_REFUSED;
}

/* ---- other web pages ---- */

static bool origin_is(const char *origin, const char *host)
{
    const char *scheme_end = strstr(origin, "://");
    return scheme_end != NULL && host != NULL && strcasecmp(scheme_end + 3, host) == 0;
}

/* "https://ferry.example.org/x" has the origin "https://ferry.example.org". */
static bool is_external_origin(const struct gate *gate, const char *origin)
{
    const char *url = gate->config.external_url, *at = strstr(url, "://");
    size_t n = at == NULL ? 0 : (size_t)(at - url) + 3 + strcspn(at + 3, "/");
    return n > 0 && strlen(origin) == n && strncasecmp(url, origin, n) == 0;
}

/* A link on another page opens a report: no other cost can be caused that way. */
static bool is_link(const struct gate_ask *ask, const struct http_request *request)
{
    return strcmp(request->method, "GET") == 0 && !text_equal(ask->action.path, "/query") &&
           text_equal(http_header(request, "Sec-Fetch-Mode"), "navigate") &&
           text_equal(http_header(request, "Sec-Fetch-Dest"), "document");
}

const char *gate_foreign_page(const struct gate *gate, const struct gate_ask *ask,
                              const struct http_request *request)
{
    const char *site = http_header(request, "Sec-Fetch-Site");
    const char *origin = http_header(request, "Origin");
    bool is_read = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if ((is_read && !ask->is_costly) || is_link(ask, request))
        return NULL;
    if (site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return "Sec-Fetch-Site";
    if (origin != NULL && !origin_is(origin, http_header(request, "Host")) &&
        !is_external_origin(gate, origin))
        return "Origin is not Host";
    return NULL;
}

/* ---- proxies ---- */

/* An address as 16 bytes, IPv4 as mapped into IPv6. */
static bool read_address(const char *text, unsigned char *out)
{
    struct in_addr v4;
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return false;
    memset(out, 0, 10);
    out[10] = out[11] = 0xff;
    memcpy(out + 12, &v4, 4);
    return true;
}

static bool is_in_network(const unsigned char *address, const char *network)
{
    char text[ACCESS_ADDRESS_MAX];
    unsigned char base[16];
    int64_t bits = 128;
    TEXT_SET(text, network);
    char *slash = strchr(text, '/');
    if (slash != NULL)
        *slash = '\0';
    if (!read_address(text, base) || (slash != NULL && !text_to_i64(slash + 1, 0, 128, &bits)))
        return false;
    if (slash != NULL && strchr(text, ':') == NULL)
        bits += 96;
    for (int64_t i = 0; i < bits && i < 128; i++)
        if (((address[i / 8] ^ base[i / 8]) >> (7 - i % 8) & 1) != 0)
            return false;
    return true;
}

static bool is_trusted(const struct gate *gate, const char *text)
{
    unsigned char address[16];
    if (!read_address(text, address))
        return false;
    for (size_t i = 0; i < gate->config.n_proxies; i++)
        if (is_in_network(address, gate->config.proxies[i]))
            return true;
    return false;
}

/* The last hop that is not a trusted proxy: what stands before it anybody may have written. */
void gate_client_address(const struct gate *gate, const struct http_request *request, char *out)
{
    (void)text_copy(out, ACCESS_ADDRESS_MAX, request->peer->address);
    if (gate->config.n_proxies == 0 || !is_trusted(gate, out))
        return;
    struct buf hops;
    buf_init(&hops, 4096);
    http_header_all(request, "X-Forwarded-For", &hops);
    for (char *end = hops.data == NULL || hops.failed ? NULL : hops.data + hops.length;
         end != NULL && end > hops.data;) {
        *end = '\0';
        char *comma = strrchr(hops.data, ',');
        char *hop = comma == NULL ? hops.data : comma + 1, text[ACCESS_ADDRESS_MAX];
        unsigned char ignored[16];
        hop += strspn(hop, " \t");
        hop[strcspn(hop, " \t")] = '\0';
        if (!text_copy(text, sizeof text, hop) || !read_address(text, ignored))
            break; /* not an address: nothing before it can be trusted */
        (void)text_copy(out, ACCESS_ADDRESS_MAX, text);
        if (!is_trusted(gate, text))
            break;
        end = comma;
    }
    buf_fini(&hops);
}
