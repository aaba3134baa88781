/* visit.c - see visit.h. */
#include "cli/doctor/visit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/doctor/ports.h"
#include "hypervisor/certificate.h"
#include "hypervisor/hostd/inspect.h"

enum { CONNECT_MS = 2000 };

struct round {
    const struct visit *visit;
    atomic_size_t next;
    int64_t until_ms;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* --- a program on a host --- */

/* This machine: its own program looks. A uri with a socket may lead to another machine. */
static bool is_here(const struct hv_host *host)
{
    return text_equal(host->uri, "qemu:///system");
}

static bool has_eyes(const struct diagnosis *p)
{
    return is_here(p->host) || (p->host->helper[0] != '\0' && p->helper_err.code == ERR_NONE);
}

static bool see_name(const struct hv_host *host, const char *name, char *out_ip, struct err *err)
{
    return is_here(host) ? inspect_name(name, out_ip, err)
                         : hostd_resolve(host->helper, host->helper_secret, name, out_ip, err);
}

static bool see_path(const struct hv_host *host, const char *ip, unsigned port,
                     enum hostd_path *out_path, struct err *err)
{
    struct hostd_address to;
    if (!is_here(host))
        return hostd_probe(host->helper, host->helper_secret, ip, port, out_path, err);
    return hostd_address_make(ip, port, &to, err) &&
           inspect_path(&to, now_ms() + CONNECT_MS, out_path, err);
}

static bool see_directory(const struct hv_host *host, const char *path, char *out_identity,
                          struct err *err)
{
    return is_here(host)
               ? inspect_directory(path, out_identity, err)
               : hostd_directory(host->helper, host->helper_secret, path, out_identity, err);
}

static void see_facts(struct diagnosis *p)
{
    struct err err = {0};
    int64_t began = clock_wall_ms(clock_system());
    if (is_here(p->host))
        inspect_facts("", &p->seen);
    else if (!hostd_ask_facts(p->host->helper, p->host->helper_secret, &p->seen, &err))
        return;
    int64_t ended = clock_wall_ms(clock_system());
    p->facts_known = p->seen.at[HOSTD_FACT_CLOCK_MS] != HOSTD_FACT_UNKNOWN;
    p->clock_off_ms = p->seen.at[HOSTD_FACT_CLOCK_MS] - (began + ended) / 2;
    p->clock_doubt_ms = (ended - began) / 2;
}

/* --- the way to another host --- */

static enum way_step try_step(const struct hv_host *source, const char *name, unsigned port,
                              char *why, size_t why_bytes)
{
    struct err err = {0};
    char ip[HV_TEXT_MAX];
    enum hostd_path path;
    if (!see_name(source, name, ip, &err)) {
        if (err.code == ERR_NOT_FOUND)
            return WAY_NO_NAME;
    } else if (see_path(source, ip, port, &path, &err)) {
        return path == HOSTD_PATH_OPEN      ? WAY_OPEN
               : path == HOSTD_PATH_REFUSED ? WAY_REFUSED
                                            : WAY_DEAD;
    }
    (void)text_copy(why, why_bytes,
                    err.code == ERR_INVALID ? "the source's helper is of an older version"
                                            : err.text);
    return WAY_NOT_TRIED;
}

static void try_way(const struct hv_host *source, const struct diagnosis *target, struct way *way)
{
    char daemon[HV_TEXT_MAX], memory[HV_TEXT_MAX];
    bool tls, system;
    const char *uri = diagnose_peer_uri(target->host);
    diagnose_uri(uri, daemon, &tls, &system);
    if (daemon[0] == '\0') {
        TEXT_SET(way->why, "the target's uri is local");
        return;
    }
    unsigned port = diagnose_uri_port(uri);
    (void)snprintf(way->daemon_at, sizeof way->daemon_at, "%s:%u", daemon, port);
    way->daemon = try_step(source, daemon, port, way->why, sizeof way->why);
    if (way->daemon != WAY_OPEN)
        return;
    /* without an address libvirt sends memory to the target's host name */
    TEXT_SET(memory, target->host->migration_host[0] != '\0' ? target->host->migration_host
                                                             : target->facts.hostname);
    port = target->host->port_max != 0 ? target->host->port_max : HV_PORT_MAX;
    (void)snprintf(way->memory_at, sizeof way->memory_at, "%s:%u", memory, port);
    way->memory = try_step(source, memory, port, way->why, sizeof way->why);
    if (way->memory == WAY_REFUSED) /* nobody listens before a migration: the path works */
        way->memory = WAY_OPEN;
}

static void try_ways(const struct round *round, size_t from)
{
    const struct visit *visit = round->visit;
    const struct diagnosis *source = &visit->diagnoses[from];
    for (size_t to = 0; to < visit->n; to++) {
        struct way *way = &visit->ways[from * visit->n + to];
        if (to == from)
            continue;
        if (!has_eyes(source))
            TEXT_SET(way->why, source->host->helper[0] == '\0'
                                   ? "the source has no helper (ferry hostd) that could try"
                                   : "the source's helper does not answer");
        else if (now_ms() >= round->until_ms)
            TEXT_SET(way->why, "timeout while trying other pairs");
        else if (source->reached && visit->diagnoses[to].reached)
            try_way(source->host, &visit->diagnoses[to], way);
    }
}

/* --- one host --- */

static void read_certificate(struct diagnosis *p)
{
    struct hostd_address to;
    int64_t until_ms = now_ms() + CONNECT_MS;
    char name[HV_TEXT_MAX], ip[HV_TEXT_MAX];
    int fd;
    if (p->tls_port != PORT_ANSWERS)
        return;
    ports_name(p->host, name);
    p->server.asked = true;
    if (!inspect_name(name, ip, &p->server.err) ||
        !hostd_address_make(ip, PORTS_TLS, &to, &p->server.err) ||
        !hostd_connect(&to, until_ms, &fd, &p->server.err))
        return;
    (void)certificate_peer_end(fd, until_ms, &p->server.end_s, &p->server.err);
    (void)close(fd);
}

static void visit_host(const struct round *round, size_t i)
{
    const struct visit *visit = round->visit;
    struct diagnosis *p = &visit->diagnoses[i];
    char name[HV_TEXT_MAX], version[HV_TEXT_MAX];
    bool tls, system;
    struct err err = {0};
    p->now_s = clock_wall_ms(clock_system()) / 1000;
    p->n_paths = visit->n_paths;
    diagnose_uri(diagnose_peer_uri(p->host), name, &tls, &system);
    if (name[0] != '\0' && !inspect_name(name, p->peer_ip, &err))
        p->peer_ip[0] = '\0';
    read_certificate(p);
    if (p->host->helper[0] != '\0') {
        (void)hostd_ping(p->host->helper, p->host->helper_secret, version, &p->helper_err);
        p->helper_asked = true;
    }
    for (size_t path = 0; path < visit->n_paths; path++)
        p->paths[path].path = visit->paths[path];
    if (has_eyes(p)) {
        see_facts(p);
        for (size_t path = 0; path < visit->n_paths && now_ms() < round->until_ms; path++) {
            struct path_seen *seen = &p->paths[path];
            seen->asked = true;
            if (!see_directory(p->host, seen->path, seen->identity, &seen->err))
                seen->identity[0] = '\0';
        }
    }
    if (visit->ways != NULL)
        try_ways(round, i);
}

static void *work(void *ctx)
{
    struct round *round = ctx;
    for (;;) {
        size_t i = atomic_fetch_add(&round->next, 1);
        if (i >= round->visit->n)
            return NULL;
        visit_host(round, i);
    }
}

void visit_hosts(struct visit *visit)
{
    pthread_t threads[VISIT_THREADS];
    size_t n = 0;
    struct round round = {.visit = visit, .until_ms = now_ms() + visit->timeout_ms};
    while (n < VISIT_THREADS && n + 1 < visit->n &&
           pthread_create(&threads[n], NULL, work, &round) == 0)
        n++;
    (void)work(&round); /* this thread too: it gets done without any other */
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
}
