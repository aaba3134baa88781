/* diagnose.c - see diagnose.h. */
#include "cli/diagnose.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "hypervisor/versions.h"

#define VERSION_OF(major, minor, micro) ((major)*1000000ul + (minor)*1000ul + (micro))
#define POSTCOPY_LIBVIRT VERSION_OF(1ul, 3ul, 3ul) /* first version with VIR_MIGRATE_POSTCOPY */
#define POSTCOPY_QEMU VERSION_OF(2ul, 5ul, 0ul)    /* first version with post-copy */

const char *result_name(enum result result)
{
    static const char *const names[RESULT_COUNT] = {"ok", "note", "failed"};
    assert(result < RESULT_COUNT);
    return names[result];
}

__attribute__((format(printf, 3, 4))) static void set_check(struct check *check, enum result result,
                                                            const char *fmt, ...)
{
    va_list args;
    check->result = result;
    va_start(args, fmt);
    (void)vsnprintf(check->text, sizeof check->text, fmt, args);
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
        set_check(check, RESULT_OK, "libvirt %s, QEMU %s",
                  version_text(p->facts.libvirt_version).text,
                  version_text(p->facts.hypervisor_version).text);
    else
        set_check(check, RESULT_FAILED, "%s", p->err.text[0] != '\0' ? p->err.text : "no answer");
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
            set_check(check, RESULT_FAILED, "same %s as %s: libvirt treats both as one host",
                      same_uuid ? "host uuid" : "host name", diagnoses[j].host->name);
            return;
        }
    }
    set_check(check, RESULT_OK, "%s %s", own->hostname, own->uuid);
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
    else if (!system)
        set_check(check, RESULT_NOTE,
                  "supported by the versions, but QEMU is unprivileged: set "
                  "vm.unprivileged_userfaultfd to 1");
    else
        set_check(check, RESULT_NOTE,
                  "supported by the versions; libvirt does not report userfaultfd");
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
        set_check(check, RESULT_NOTE, "not checked: the host is unreachable; %s",
                  port[p->tls_port]);
        return;
    }
    set_check(check, tls ? RESULT_OK : RESULT_NOTE, "%s; %s",
              tls               ? "Ferry's connection is TLS"
              : host[0] != '\0' ? "Ferry's connection is not TLS"
                                : "Ferry's connection is local",
              port[p->tls_port]);
}

static void check_helper(const struct diagnosis *p, struct check *check)
{
    if (p->host->helper[0] == '\0')
        set_check(check, RESULT_NOTE, "not configured: a helper can end a switch-over that stalls");
    else if (!p->helper_asked)
        set_check(check, RESULT_NOTE, "not checked: timeout while checking other helpers");
    else if (p->helper_err.code != ERR_NONE)
        set_check(check, RESULT_FAILED, "%.400s", p->helper_err.text);
    else
        set_check(check, RESULT_OK, "%s can close sockets", p->host->helper);
}

/* Optional: never a failure. */
static void check_hook(const struct diagnosis *p, struct check *check)
{
    static const char *const texts[] = {
        [HOOK_NOT_CHECKED] =
            "not checked: only `ferry doctor` on the host itself (qemu:///system) can",
        [HOOK_ABSENT] =
            ("no hook (qemu.d/ferry): migrations of an old or another appliance are not "
             "refused by the host"),
        [HOOK_LATE] = "not loaded: installed after the daemon started; restart the daemon",
        [HOOK_LOADED] = "loaded",
    };
    set_check(check, p->hook == HOOK_LOADED ? RESULT_OK : RESULT_NOTE, "%s", texts[p->hook]);
}

void diagnose_host(const struct diagnosis *diagnoses, size_t n, size_t i,
                   struct check out_checks[CHECK_COUNT])
{
    static const char *const names[CHECK_COUNT] = {
        [CHECK_REACHABLE] = "reachable",
        [CHECK_IDENTITY] = "identity",
        [CHECK_VERSIONS] = "versions",
        [CHECK_POSTCOPY] = "post-copy",
        [CHECK_TLS] = "tls",
        [CHECK_CLOCK] = "clock",
        [CHECK_HELPER] = "helper",
        [CHECK_HOOK] = "hook",
    };
    const struct diagnosis *p = &diagnoses[i];
    for (size_t c = 0; c < CHECK_COUNT; c++) {
        out_checks[c].name = names[c];
        set_check(&out_checks[c], RESULT_NOTE, "not checked: the host is unreachable");
    }
    check_reachable(p, &out_checks[CHECK_REACHABLE]);
    check_tls(p, &out_checks[CHECK_TLS]);
    check_helper(p, &out_checks[CHECK_HELPER]);
    check_hook(p, &out_checks[CHECK_HOOK]);
    set_check(&out_checks[CHECK_CLOCK], RESULT_NOTE, "libvirt does not report the clock offset");
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
        set_check(check, RESULT_FAILED, "%s is unreachable",
                  !from->reached ? from->host->name : to->host->name);
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

void diagnose_pair(const struct diagnosis *from, const struct diagnosis *to, int cpu,
                   const char *cpu_why, struct check *out_check)
{
    out_check->name = "migrate";
    if (!differ_enough(from, to, out_check))
        return;
    enum hv_quirk quirk = refusal(from, to);
    if (quirk != HV_QUIRK_COUNT)
        set_check(out_check, RESULT_FAILED, "%s; %s", hv_quirk_why(quirk), hv_quirk_instead(quirk));
    else if (cpu == CPU_INCOMPATIBLE)
        set_check(out_check, RESULT_FAILED,
                  "%s lacks CPU features; guests with a smaller CPU model may migrate",
                  to->host->name);
    else if (cpu != CPU_IDENTICAL && cpu != CPU_SUPERSET)
        set_check(out_check, RESULT_NOTE, "CPUs not compared: %s",
                  *cpu_why != '\0' ? cpu_why : "no answer");
    else if (is_older(from, to))
        set_check(out_check, RESULT_NOTE,
                  "%s is older (QEMU %s to %s): new machine types cannot migrate", to->host->name,
                  version_text(from->facts.hypervisor_version).text,
                  version_text(to->facts.hypervisor_version).text);
    else
        set_check(out_check, RESULT_OK, "CPU %s; not checked: whether %s reaches %s",
                  cpu == CPU_IDENTICAL ? "identical" : "has more features", from->host->name,
                  to->host->peer_uri[0] != '\0' ? to->host->peer_uri : to->host->uri);
}
