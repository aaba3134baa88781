/* diagnose.c - see diagnose.h. */
#include "cli/doctor/diagnose.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "hypervisor/hostd/inspect.h"
#include "hypervisor/versions.h"

#define VERSION_OF(major, minor, micro) ((major)*1000000ul + (minor)*1000ul + (micro))
#define POSTCOPY_LIBVIRT VERSION_OF(1ul, 3ul, 3ul) /* first version with VIR_MIGRATE_POSTCOPY */
#define POSTCOPY_QEMU VERSION_OF(2ul, 5ul, 0ul)    /* first version with post-copy */

static const struct {
    const char *name, *mark;
} results[] = {
#define RESULT(id, name, mark, help) [RESULT_##id] = {name, mark},
#include "cli/doctor/checks.def"
#undef RESULT
};

const char *result_name(enum result result)
{
    assert(result < RESULT_COUNT);
    return results[result].name;
}

const char *result_mark(enum result result)
{
    assert(result < RESULT_COUNT);
    return results[result].mark;
}

__attribute__((format(printf, 3, 4))) static void set_check(struct check *check, enum result result,
                                                            const char *fmt, ...)
{
    va_list args;
    check->result = result;
    check->detail[0] = '\0';
    va_start(args, fmt);
    (void)vsnprintf(check->text, sizeof check->text, fmt, args);
    va_end(args);
}

__attribute__((format(printf, 2, 3))) static void set_detail(struct check *check, const char *fmt,
                                                             ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(check->detail, sizeof check->detail, fmt, args);
    va_end(args);
}

struct version {
    char text[32];
};

static struct version version_text(unsigned long number)
{
    struct version version;
    (void)snprintf(version.text, sizeof version.text, "%lu.%lu.%lu", number / 1000000,
                   number / 1000 % 1000, number % 1000);
    return version;
}

void diagnose_uri(const char *uri, char *out_host, bool *out_tls, bool *out_system)
{
    const char *rest = strstr(uri, "://");
    size_t scheme = rest != NULL ? (size_t)(rest - uri) : strlen(uri);
    const char *transport = memchr(uri, '+', scheme);
    const char *authority = rest != NULL ? rest + 3 : "";
    size_t length = strcspn(authority, "/?");
    const char *path = authority + length;
    const char *user = memchr(authority, '@', length);
    if (user != NULL) {
        length -= (size_t)(user + 1 - authority);
        authority = user + 1;
    }
    size_t host = length;
    if (*authority == '[') { /* an IPv6 address keeps its colons */
        host = strcspn(++authority, "]/?");
    } else {
        const char *colon = memchr(authority, ':', length);
        if (colon != NULL)
            host = (size_t)(colon - authority);
    }
    (void)snprintf(out_host, HV_TEXT_MAX, "%.*s", (int)host, authority);
    /* libvirt: a remote URI without a transport is TLS */
    *out_tls = transport != NULL ? strncmp(transport, "+tls:", 5) == 0 : host > 0;
    *out_system = strncmp(path, "/session", 8) != 0;
}

unsigned diagnose_uri_port(const char *uri)
{
    static const struct {
        const char *transport;
        unsigned port;
    } ports[] = {{"+tcp:", 16509}, {"+ssh:", 22}, {"+libssh:", 22}, {"+libssh2:", 22}};
    char host[HV_TEXT_MAX];
    bool tls, system;
    const char *rest = strstr(uri, "://"), *plus = strchr(uri, '+');
    int64_t port;
    diagnose_uri(uri, host, &tls, &system);
    const char *at = rest != NULL && host[0] != '\0' ? strstr(rest, host) : NULL;
    if (at != NULL) {
        at += strlen(host);
        at += *at == ']';
        char digits[8] = "";
        if (*at == ':')
            (void)snprintf(digits, sizeof digits, "%.*s", (int)strcspn(at + 1, "/?"), at + 1);
        if (text_to_i64(digits, 1, UINT16_MAX, &port))
            return (unsigned)port;
    }
    for (size_t i = 0; plus != NULL && i < COUNT(ports); i++)
        if (text_has_prefix(plus, ports[i].transport))
            return ports[i].port;
    return 16514;
}

const char *diagnose_peer_uri(const struct hv_host *host)
{
    return host->peer_uri[0] != '\0' ? host->peer_uri : host->uri;
}

char *diagnose_guest_cpu(const char *domain_capabilities)
{
    const char *mode = strstr(domain_capabilities, "<mode name='host-model'");
    const char *inside = mode != NULL ? strchr(mode, '>') : NULL;
    const char *supported = mode != NULL ? strstr(mode, "supported='yes'") : NULL;
    const char *end = inside != NULL ? strstr(inside, "</mode>") : NULL;
    char *cpu = NULL;
    if (end == NULL || supported == NULL || supported > inside || inside[-1] == '/')
        return NULL;
    return asprintf(&cpu, "<cpu>%.*s</cpu>", (int)(end - inside - 1), inside + 1) > 0 ? cpu : NULL;
}

/* --- one host --- */

static void check_reachable(const struct diagnosis *p, struct check *check)
{
    if (p->reached)
        set_check(check, RESULT_OK, "libvirt %s, QEMU %s%s",
                  version_text(p->facts.libvirt_version).text,
                  version_text(p->facts.hypervisor_version).text,
                  p->host->observe ? ", read-only (mode: observe)" : "");
    else
        set_check(check, RESULT_FAILED, "%s", p->err.text[0] != '\0' ? p->err.text : "no answer");
}

/* libvirt on the other hosts opens this one: a local socket or a name that nobody knows is found
 * here, the rest is tried per pair. */
static void check_peer(const struct diagnosis *p, size_t n, struct check *check)
{
    char host[HV_TEXT_MAX];
    bool tls, system;
    const char *uri = diagnose_peer_uri(p->host);
    diagnose_uri(uri, host, &tls, &system);
    if (host[0] == '\0' && n < 2)
        set_check(check, RESULT_NOTE, "not used: there is no other host");
    else if (p->host->observe)
        set_check(check, RESULT_NOTE, "not used: Ferry migrates no guest to it (mode: observe)");
    else if (host[0] == '\0')
        set_check(check, RESULT_FAILED, "no other host can open a local uri: set 'peerUri'");
    else if (p->peer_ip[0] == '\0')
        set_check(check, RESULT_UNCHECKED,
                  "its name does not resolve on this machine; whether it does on the hosts is "
                  "tried per pair");
    else
        set_check(check, RESULT_OK, "its name resolves on this machine");
    set_detail(check, "%s", uri);
}

static void check_identity(const struct diagnosis *diagnoses, size_t n, size_t i,
                           struct check *check)
{
    const struct hv_facts *own = &diagnoses[i].facts;
    for (size_t j = 0; j < n; j++) {
        const struct hv_facts *other = &diagnoses[j].facts;
        if (j == i || !diagnoses[j].reached)
            continue;
        bool same_uuid = own->uuid[0] != '\0' && text_equal(own->uuid, other->uuid);
        bool same_name = own->hostname[0] != '\0' && text_equal(own->hostname, other->hostname);
        if (same_uuid || same_name) {
            set_check(check, RESULT_FAILED, "same %s as another: libvirt treats both as one host",
                      same_uuid ? "host uuid" : "host name");
            set_detail(check, "as %s", diagnoses[j].host->name);
            return;
        }
    }
    set_check(check, RESULT_OK, "host names and uuids of their own");
    set_detail(check, "%s %s", own->hostname, own->uuid);
}

/* A quirk that refuses is shown alone, else all notes. */
static void check_versions(const struct diagnosis *p, struct check *check)
{
    enum hv_quirk quirk = hv_quirk_next(-1, &p->facts, HV_QUIRK_OF_EITHER, HV_QUIRK_REFUSES);
    if (quirk != HV_QUIRK_COUNT) {
        set_check(check, RESULT_FAILED, "%s; %s", hv_quirk_why(quirk), hv_quirk_instead(quirk));
        return;
    }
    set_check(check, RESULT_OK, "no known problem");
    if (hv_is_newer_than_known(&p->facts))
        set_check(check, RESULT_NOTE,
                  "newer than the versions that Ferry was tested with (libvirt %s, QEMU %s)",
                  version_text(hv_newest_libvirt).text, version_text(hv_newest_qemu).text);
    for (quirk = hv_quirk_next(-1, &p->facts, HV_QUIRK_OF_EITHER, HV_QUIRK_NOTE);
         quirk != HV_QUIRK_COUNT;
         quirk = hv_quirk_next((int)quirk, &p->facts, HV_QUIRK_OF_EITHER, HV_QUIRK_NOTE)) {
        char before[DIAGNOSE_TEXT_MAX / 2] = "";
        if (check->result == RESULT_NOTE)
            TEXT_SET(before, check->text);
        set_check(check, RESULT_NOTE, "%s%s%s: %s", before, *before != '\0' ? "; " : "",
                  hv_quirk_why(quirk), hv_quirk_instead(quirk));
    }
}

static void check_postcopy(const struct diagnosis *p, struct check *check)
{
    char host[HV_TEXT_MAX];
    bool tls, system;
    diagnose_uri(p->host->uri, host, &tls, &system);
    if (p->facts.libvirt_version < POSTCOPY_LIBVIRT || p->facts.hypervisor_version < POSTCOPY_QEMU)
        set_check(check, RESULT_FAILED, "not supported: requires libvirt 1.3.3 and QEMU 2.5");
    else if (hv_quirk_of(HV_QUIRK_RESUME_KILLS_TARGET, p->facts.libvirt_version,
                         p->facts.hypervisor_version) &&
             !hv_host_listens_on_address(p->host))
        set_check(check, RESULT_NOTE,
                  "a broken post-copy to this host cannot be recovered: %s; set its "
                  "'migrationAddress' to an IP address to recover through the source's monitor",
                  hv_quirk_why(HV_QUIRK_RESUME_KILLS_TARGET));
    else if (!p->facts_known || p->seen.at[HOSTD_FACT_USERFAULTFD] == HOSTD_FACT_UNKNOWN)
        set_check(check, RESULT_UNCHECKED,
                  "supported by the versions; userfaultfd: libvirt does not report it, and %s",
                  p->host->helper[0] != '\0' ? "the helper did not" : "the host has no helper");
    else if (p->seen.at[HOSTD_FACT_USERFAULTFD] == 0)
        set_check(
            check, RESULT_NOTE,
            "vm.unprivileged_userfaultfd is 0: only a QEMU that runs as root can do post-copy");
    else
        set_check(check, RESULT_OK, "vm.unprivileged_userfaultfd is 1");
}

static void check_tls(const struct diagnosis *p, struct check *check)
{
    static const char *const port[] = {
        [PORT_NOT_ASKED] = "port 16514 not checked: the uri names no host",
        [PORT_NO_ADDRESS] = "the host name does not resolve here",
        [PORT_ANSWERS] = "port 16514 answers",
        [PORT_SILENT] = "port 16514 does not answer",
        [PORT_NO_TIME] = "port 16514 not checked: timeout while resolving other host names",
    };
    char host[HV_TEXT_MAX];
    bool tls, system;
    diagnose_uri(p->host->uri, host, &tls, &system);
    if (!p->reached) {
        set_check(check, RESULT_UNCHECKED, "the host is unreachable; %s", port[p->tls_port]);
        return;
    }
    set_check(check,
              tls && p->tls_port == PORT_ANSWERS ? RESULT_OK
              : tls                              ? RESULT_UNCHECKED
                                                 : RESULT_NOTE,
              "%s; %s",
              tls               ? "Ferry's connection is TLS"
              : host[0] != '\0' ? "Ferry's connection is not TLS"
                                : "Ferry's connection is local",
              port[p->tls_port]);
}

/* --- certificates --- */

struct end { /* the certificate that ends first */
    int64_t end_s;
    const char *what;
};

static void take_end(struct end *end, int64_t end_s, const char *what)
{
    if (end_s > 0 && (end->end_s == 0 || end_s < end->end_s))
        *end = (struct end){end_s, what};
}

/* QEMU's own, which encrypt the memory of guests. */
static const enum hostd_fact of_qemu[] = {HOSTD_FACT_QEMU_CA_END, HOSTD_FACT_QEMU_SERVER_END,
                                          HOSTD_FACT_QEMU_CLIENT_END};

static enum hostd_fact missing_of_qemu(const struct diagnosis *p)
{
    for (size_t i = 0; i < COUNT(of_qemu); i++)
        if (p->seen.at[of_qemu[i]] == 0)
            return of_qemu[i];
    return HOSTD_FACTS;
}

static bool qemu_is_known(const struct diagnosis *p)
{
    for (size_t i = 0; i < COUNT(of_qemu); i++)
        if (!p->facts_known || p->seen.at[of_qemu[i]] == HOSTD_FACT_UNKNOWN)
            return false;
    return true;
}

static struct end first_end(const struct diagnosis *p)
{
    struct end end = {0, ""};
    if (p->server.asked && p->server.err.code == ERR_NONE)
        take_end(&end, p->server.end_s, "the daemon's certificate");
    for (enum hostd_fact fact = 0; p->facts_known && fact < HOSTD_FACTS; fact++)
        if (inspect_fact_file(fact) != NULL)
            take_end(&end, p->seen.at[fact], inspect_fact_file(fact));
    return end;
}

static void check_certificates(const struct diagnosis *p, struct check *check)
{
    char host[HV_TEXT_MAX];
    bool tls, system;
    diagnose_uri(diagnose_peer_uri(p->host), host, &tls, &system);
    bool daemon_known = p->server.asked && p->server.err.code == ERR_NONE;
    struct end end = first_end(p);
    int64_t days = (end.end_s - p->now_s) / 86400;
    if (end.end_s != 0 && end.end_s <= p->now_s) {
        set_check(check, RESULT_FAILED, "expired: %s", end.what);
    } else if (p->host->tls && p->facts_known && missing_of_qemu(p) != HOSTD_FACTS) {
        set_check(check, RESULT_FAILED, "'tls: true', but %s is missing",
                  inspect_fact_file(missing_of_qemu(p)));
    } else if (p->host->tls && !qemu_is_known(p)) {
        set_check(check, RESULT_UNCHECKED, "QEMU's: only a helper on the host can read them");
    } else if (tls && !daemon_known) {
        set_check(check, RESULT_UNCHECKED, "the daemon's: %s",
                  p->server.asked ? p->server.err.text : "port 16514 was not reached");
    } else if (end.end_s != 0 && days < DIAGNOSE_END_DAYS) {
        set_check(check, RESULT_NOTE, "less than %d days left: %s", DIAGNOSE_END_DAYS, end.what);
    } else if (end.end_s != 0) {
        set_check(check, RESULT_OK, "valid");
    } else {
        set_check(check, RESULT_NOTE, "none: TLS is not used");
    }
    if (end.end_s != 0)
        set_detail(check, "%s ends in %" PRId64 " days", end.what, days);
}

/* --- what only a program on the host sees --- */

static void check_clock(const struct diagnosis *p, struct check *check)
{
    int64_t off = p->clock_off_ms < 0 ? -p->clock_off_ms : p->clock_off_ms;
    if (!p->facts_known)
        set_check(check, RESULT_UNCHECKED, "libvirt does not report it; only a helper does");
    else if (off - p->clock_doubt_ms > DIAGNOSE_CLOCK_MS)
        set_check(check, RESULT_NOTE, "more than %d s off: times in logs and certificates disagree",
                  DIAGNOSE_CLOCK_MS / 1000);
    else
        set_check(check, RESULT_OK, "within %d s of this machine", DIAGNOSE_CLOCK_MS / 1000);
    if (p->facts_known)
        set_detail(check, "%+.1f s", (double)p->clock_off_ms / 1000);
}

/* The first other host whose directory is known and is another one; NULL: none. */
static const struct diagnosis *other_directory(const struct diagnosis *diagnoses, size_t n,
                                               size_t i, size_t path)
{
    const char *own = diagnoses[i].paths[path].identity;
    for (size_t j = 0; j < n; j++)
        if (j != i && diagnoses[j].paths[path].identity[0] != '\0' &&
            !text_equal(diagnoses[j].paths[path].identity, own))
            return &diagnoses[j];
    return NULL;
}

static size_t count_known(const struct diagnosis *diagnoses, size_t n, size_t path)
{
    size_t known = 0;
    for (size_t j = 0; j < n; j++)
        known += diagnoses[j].paths[path].identity[0] != '\0';
    return known;
}

/* Leaves the check as it is if the path is the same everywhere. */
static void check_path(const struct diagnosis *diagnoses, size_t n, size_t i, size_t path,
                       struct check *check)
{
    const struct path_seen *seen = &diagnoses[i].paths[path];
    bool is_fuse = text_has_prefix(seen->identity, "fuse");
    if (seen->asked && seen->err.code == ERR_NOT_FOUND) {
        set_check(check, RESULT_FAILED, "%s does not exist on the host", seen->path);
        return;
    }
    if (seen->identity[0] == '\0' || count_known(diagnoses, n, path) < n) {
        set_check(check, RESULT_UNCHECKED, "%s: only helpers on all hosts can compare it",
                  seen->path);
        if (seen->err.code != ERR_NONE)
            set_detail(check, "%.200s", seen->err.text);
        return;
    }
    const struct diagnosis *other = other_directory(diagnoses, n, i, path);
    if (other == NULL)
        return;
    set_check(check, is_fuse ? RESULT_NOTE : RESULT_FAILED, "%s is %s directory on other hosts",
              seen->path, is_fuse ? "perhaps another" : "another");
    set_detail(check, "%s: %s, here: %s", other->host->name, other->paths[path].identity,
               seen->identity);
}

static void check_storage(const struct diagnosis *diagnoses, size_t n, size_t i,
                          struct check *check)
{
    set_check(check, RESULT_OK, "the same directories on all hosts");
    if (diagnoses[i].n_paths == 0)
        set_check(check, RESULT_NOTE, "none configured (storage.sharedPaths)");
    for (size_t path = 0; path < diagnoses[i].n_paths; path++) {
        struct check one = *check;
        check_path(diagnoses, n, i, path, &one);
        if (one.result > check->result)
            *check = one;
    }
}

static void check_helper(const struct diagnosis *p, struct check *check)
{
    if (p->host->helper[0] == '\0')
        set_check(
            check, RESULT_NOTE,
            "not configured: it can end a switch-over that stalls, and tries paths for doctor");
    else if (!p->helper_asked)
        set_check(check, RESULT_UNCHECKED, "timeout while checking other helpers");
    else if (p->helper_err.code != ERR_NONE)
        set_check(check, RESULT_FAILED, "%.400s", p->helper_err.text);
    else
        set_check(check, RESULT_OK, "can close sockets");
    if (p->helper_asked)
        set_detail(check, "%s", p->host->helper);
}

/* Optional: never a failure. */
static void check_hook(const struct diagnosis *p, struct check *check)
{
    static const char *const texts[] = {
        [HOOK_NOT_CHECKED] = "only `ferry doctor` on the host itself (qemu:///system) can",
        [HOOK_ABSENT] =
            ("no hook (qemu.d/ferry): migrations of an old or another appliance are not "
             "refused by the host"),
        [HOOK_LATE] = "not loaded: installed after the daemon started; restart the daemon",
        [HOOK_LOADED] = "loaded",
    };
    set_check(check,
              p->hook == HOOK_LOADED        ? RESULT_OK
              : p->hook == HOOK_NOT_CHECKED ? RESULT_UNCHECKED
                                            : RESULT_NOTE,
              "%s", texts[p->hook]);
}

void diagnose_host(const struct diagnosis *diagnoses, size_t n, size_t i,
                   struct check out_checks[CHECK_COUNT])
{
    static const char *const names[CHECK_COUNT] = {
#define CHECK(id, name, help) [CHECK_##id] = name,
#include "cli/doctor/checks.def"
#undef CHECK
    };
    const struct diagnosis *p = &diagnoses[i];
    for (size_t c = 0; c < CHECK_COUNT; c++) {
        out_checks[c].name = names[c];
        set_check(&out_checks[c], RESULT_UNCHECKED, "the host is unreachable");
    }
    check_reachable(p, &out_checks[CHECK_REACHABLE]);
    check_peer(p, n, &out_checks[CHECK_PEER]);
    check_tls(p, &out_checks[CHECK_TLS]);
    check_certificates(p, &out_checks[CHECK_CERTIFICATES]);
    check_clock(p, &out_checks[CHECK_CLOCK]);
    check_storage(diagnoses, n, i, &out_checks[CHECK_STORAGE]);
    check_helper(p, &out_checks[CHECK_HELPER]);
    check_hook(p, &out_checks[CHECK_HOOK]);
    if (!p->reached)
        return;
    check_identity(diagnoses, n, i, &out_checks[CHECK_IDENTITY]);
    check_versions(p, &out_checks[CHECK_VERSIONS]);
    check_postcopy(p, &out_checks[CHECK_POSTCOPY]);
}

/* --- one pair --- */

static bool differ_enough(const struct diagnosis *from, const struct diagnosis *to,
                          struct check *check)
{
    const struct hv_facts *a = &from->facts, *b = &to->facts;
    if (!from->reached || !to->reached) {
        set_check(check, RESULT_FAILED, "the %s is unreachable",
                  from->reached ? "target" : "source");
        return false;
    }
    if (a->uuid[0] != '\0' && text_equal(a->uuid, b->uuid)) {
        set_check(check, RESULT_FAILED,
                  "same host uuid: libvirt refuses a migration to the same host");
        return false;
    }
    if (a->hostname[0] != '\0' && text_equal(a->hostname, b->hostname)) {
        set_check(check, RESULT_FAILED,
                  "same host name: libvirt refuses a migration to the same host");
        return false;
    }
    if (!text_equal(a->arch, b->arch)) {
        set_check(check, RESULT_FAILED, "different architectures: %s and %s", a->arch, b->arch);
        return false;
    }
    return true;
}

/* A quirk that refuses a migration between the two hosts; COUNT: none. */
static enum hv_quirk refusal(const struct diagnosis *from, const struct diagnosis *to)
{
    enum hv_quirk quirk = hv_quirk_next(-1, &from->facts, HV_QUIRK_OF_SOURCE, HV_QUIRK_REFUSES);
    return quirk != HV_QUIRK_COUNT
               ? quirk
               : hv_quirk_next(-1, &to->facts, HV_QUIRK_OF_TARGET, HV_QUIRK_REFUSES);
}

static bool is_older(const struct diagnosis *from, const struct diagnosis *to)
{
    return to->facts.libvirt_version < from->facts.libvirt_version ||
           to->facts.hypervisor_version < from->facts.hypervisor_version;
}

/* A part of the way that does not work; false: both parts work or were not tried. */
static bool way_failed(const struct way *way, struct check *check)
{
    static const char *const daemon[WAY_COUNT] = {
        [WAY_NO_NAME] = "the source cannot resolve the host of the target's peerUri",
        [WAY_REFUSED] = "the target's daemon refuses connections from the source",
        [WAY_DEAD] = "the target's daemon does not answer the source",
    };
    static const char *const memory[WAY_COUNT] = {
        [WAY_NO_NAME] = "the source cannot resolve the target's migration address",
        [WAY_DEAD] = "the target's migration ports do not answer the source",
    };
    if (daemon[way->daemon] == NULL && memory[way->memory] == NULL)
        return false;
    bool at_daemon = daemon[way->daemon] != NULL;
    set_check(check, RESULT_FAILED, "%s", at_daemon ? daemon[way->daemon] : memory[way->memory]);
    set_detail(check, "%s", at_daemon ? way->daemon_at : way->memory_at);
    return true;
}

void diagnose_pair(const struct diagnosis *from, const struct diagnosis *to,
                   const struct pair_facts *facts, struct check *out_check)
{
    const struct way *way = &facts->way;
    out_check->name = "migrate";
    if (!differ_enough(from, to, out_check))
        return;
    enum hv_quirk quirk = refusal(from, to);
    if (quirk != HV_QUIRK_COUNT) {
        set_check(out_check, RESULT_FAILED, "%s; %s", hv_quirk_why(quirk), hv_quirk_instead(quirk));
    } else if (facts->cpu == CPU_INCOMPATIBLE) {
        set_check(out_check, RESULT_FAILED,
                  "the target lacks CPU features; guests with a smaller CPU model may migrate");
    } else if (from->host->observe || to->host->observe) {
        set_check(out_check, RESULT_NOTE,
                  "not asked: Ferry migrates no guest from or to a host in "
                  "mode observe");
    } else if (way_failed(way, out_check)) {
        return;
    } else if (facts->cpu != CPU_IDENTICAL && facts->cpu != CPU_SUPERSET) {
        set_check(out_check, RESULT_UNCHECKED, "CPUs not compared: %s",
                  *facts->cpu_why != '\0' ? facts->cpu_why : "no answer");
    } else if (way->daemon != WAY_OPEN || way->memory == WAY_NOT_TRIED) {
        set_check(out_check, RESULT_UNCHECKED, "CPU %s; whether the source reaches the target: %s",
                  facts->cpu == CPU_IDENTICAL ? "identical" : "has more features", way->why);
        set_detail(out_check, "%s", diagnose_peer_uri(to->host));
    } else if (is_older(from, to)) {
        set_check(out_check, RESULT_NOTE,
                  "reached; the target is older (QEMU %s to %s): new machine types cannot migrate",
                  version_text(from->facts.hypervisor_version).text,
                  version_text(to->facts.hypervisor_version).text);
    } else {
        set_check(out_check, RESULT_OK, "CPU %s; the source reaches daemon and migration ports",
                  facts->cpu == CPU_IDENTICAL ? "identical" : "has more features");
        set_detail(out_check, "%.200s %.200s", way->daemon_at, way->memory_at);
    }
}
