/* flags.c - see flags.h. Sets are of enum flag: the port has no bit for a flag that is always
 * set or that is a number there. */
#include "engine/data/flags.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "hypervisor/versions.h"

#define ALWAYS 0U
#define STREAMS 0U
static const struct {
    unsigned bit;
    const char *name, *help;
} rows[FLAG_COUNT] = {
#define FLAG(id, bit, name, help) [FLAG_##id] = {bit, name, help},
#include "engine/data/flags.def"
#undef FLAG
};

enum when { WITH, WITH_TLS, WITHOUT, EXCLUDED, CANNOT };
static const struct rule {
    enum flag flag;
    enum when when;
    enum flag other;
    const char *text;
} rules[FLAG_RULE_COUNT] = {
#define RULE(id, flag, when, other, text) \
    [FLAG_RULE_##id] = {FLAG_##flag, when, FLAG_##other, text},
#include "engine/data/flags.def"
#undef RULE
};

static uint32_t one(enum flag flag)
{
    return UINT32_C(1) << flag;
}

static uint32_t when(bool wanted, enum flag flag)
{
    return wanted ? one(flag) : 0;
}

static uint32_t always(void)
{
    return one(FLAG_LIVE) | one(FLAG_PEER2PEER);
}

/* What the settings request. TLS is requested unless disabled. */
static uint32_t requested(const struct migration_config *c)
{
    return when(c->auto_converge, FLAG_AUTO_CONVERGE) | when(c->tunnelled, FLAG_TUNNELLED) |
           when(c->post_copy, FLAG_POSTCOPY) | when(c->channels > 0, FLAG_PARALLEL) |
           one(FLAG_TLS) | when(c->compression == COMPRESSION_XBZRLE, FLAG_XBZRLE) |
           when(c->compression == COMPRESSION_MT, FLAG_MT) |
           when(c->compression == COMPRESSION_ZSTD, FLAG_ZSTD) | when(c->unsafe, FLAG_UNSAFE);
}

static bool is_excluded(const struct migration_config *c, enum flag flag)
{
    return flag == FLAG_TLS ? c->no_tls && !c->require_tls
                            : flag == FLAG_TUNNELLED && c->require_tls;
}

/* Both versions are known and do not have the quirk. */
static bool is_free_of(enum hv_quirk quirk, const struct flags_side *side)
{
    return side->libvirt_version > 0 && side->qemu_version > 0 &&
           !hv_quirk_of(quirk, side->libvirt_version, side->qemu_version);
}

static uint32_t cannot(const struct flags_facts *f)
{
    bool mt = is_free_of(HV_QUIRK_NO_MT, &f->source) && is_free_of(HV_QUIRK_NO_MT, &f->target);
    bool zstd =
        is_free_of(HV_QUIRK_NO_ZSTD, &f->source) && is_free_of(HV_QUIRK_NO_ZSTD, &f->target);
    return when(f->vfio, FLAG_POSTCOPY) | when(!f->source.tls || !f->target.tls, FLAG_TLS) |
           when(!mt, FLAG_MT) | when(!zstd, FLAG_ZSTD);
}

/* What the guest requires, whatever the settings. */
static uint32_t given(const struct flags_facts *f)
{
    return always() | when(f->persistent, FLAG_PERSIST) | when(f->paused, FLAG_PAUSED) |
           when(f->as_defined, FLAG_AS_DEFINED) |
           when(f->disks == FLAGS_DISKS_WHOLE, FLAG_NON_SHARED_DISK) |
           when(f->disks == FLAGS_DISKS_INCREMENTAL, FLAG_NON_SHARED_INC);
}

static bool applies(const struct rule *rule, const struct migration_config *c, uint32_t set)
{
    switch (rule->when) {
    case WITH: return (set & one(rule->other)) != 0;
    case WITH_TLS: return (set & one(rule->other)) != 0 && (set & one(FLAG_TLS)) != 0;
    case WITHOUT: return (set & one(rule->other)) == 0;
    case EXCLUDED: return is_excluded(c, rule->flag);
    case CANNOT: return false; /* an unsupported method is no longer in the set */
    }
    return false;
}

static uint32_t apply_rules(const struct migration_config *c, uint32_t set)
{
    for (size_t i = 0; i < COUNT(rules); i++)
        if (applies(&rules[i], c, set))
            set &= ~one(rules[i].flag);
    return set;
}

/* libvirt counts bandwidth in MiB/s; a limit below one is rounded up to one. */
static uint64_t whole_mib(int64_t bytes)
{
    return bytes <= 0 ? 0 : ((uint64_t)bytes + (1 << 20) - 1) >> 20;
}

/* Numbers only for enabled features: libvirt refuses parameters of others. */
static void fill(const struct migration_config *c, uint32_t set, struct hv_migrate *out_how)
{
    bool slows = (set & one(FLAG_AUTO_CONVERGE)) != 0;
    int64_t after = c->post_copy_bandwidth > 0 ? c->post_copy_bandwidth : c->bandwidth;
    out_how->flags = 0;
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        out_how->flags |= (set & one((enum flag)i)) != 0 ? rows[i].bit : 0U;
    out_how->flags &= ~(unsigned)FLAGS_RELAYED;
    out_how->bandwidth_mibs = whole_mib(c->bandwidth);
    out_how->postcopy_bandwidth_mibs = (set & one(FLAG_POSTCOPY)) != 0 ? whole_mib(after) : 0;
    out_how->auto_converge_initial = slows ? (int)c->throttle_initial : 0;
    out_how->auto_converge_increment = slows ? (int)c->throttle_increment : 0;
    out_how->parallel_connections = (set & one(FLAG_PARALLEL)) != 0 ? (int)c->channels : 0;
}

void flags_choose(const struct migration_config *config, const struct flags_facts *facts,
                  struct hv_migrate *out_how)
{
    fill(config, apply_rules(config, (requested(config) & ~cannot(facts)) | given(facts)), out_how);
}

/* The stored flags of a job, as a set. Parallel streams have no flag in the port: they follow
 * from the settings. */
static uint32_t kept(const struct job *job)
{
    uint32_t set = always() | when(job->call.config.channels > 0, FLAG_PARALLEL);
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        set |= when((job->call.flags & rows[i].bit) != 0, (enum flag)i);
    return apply_rules(&job->call.config, set);
}

void flags_fill(const struct job *job, struct hv_migrate *out_how)
{
    fill(&job->call.config, kept(job), out_how);
}

bool flags_allow_postcopy(const struct job *job)
{
    return (kept(job) & one(FLAG_POSTCOPY)) != 0;
}

/* ---- texts ---- */

uint32_t flags_shown(const struct job *job)
{
    return job->epoch > 0 ? kept(job) : 0;
}

/* The first rule whose other flag is set; a flag left out by none of those was left out because
 * it is not possible. */
static uint32_t why_not(const struct migration_config *c, uint32_t set, enum flag flag)
{
    for (unsigned i = 0; i < FLAG_RULE_COUNT; i++)
        if (rules[i].flag == flag && (applies(&rules[i], c, set) || rules[i].when == CANNOT))
            return UINT32_C(1) << i;
    return 0;
}

uint32_t flags_left_out(const struct job *job)
{
    uint32_t set = flags_shown(job), out = 0;
    for (unsigned i = 0; set != 0 && i < FLAG_COUNT; i++)
        if ((requested(&job->call.config) & ~set & one((enum flag)i)) != 0)
            out |= why_not(&job->call.config, set, (enum flag)i);
    return out;
}

const char *flag_name(enum flag flag)
{
    return (unsigned)flag < FLAG_COUNT ? rows[flag].name : "";
}

const char *flag_help(enum flag flag)
{
    return (unsigned)flag < FLAG_COUNT ? rows[flag].help : "";
}

enum flag flag_from_name(const char *name)
{
    unsigned i = 0;
    while (i < FLAG_COUNT && strcmp(rows[i].name, name) != 0)
        i++;
    return (enum flag)i;
}

const char *flag_rule_text(enum flag_rule rule)
{
    return (unsigned)rule < FLAG_RULE_COUNT ? rules[rule].text : "";
}

static size_t append(char *out_text, size_t bytes, size_t at, const char *before, const char *text)
{
    int n = at < bytes ? snprintf(out_text + at, bytes - at, "%s%s", before, text) : 0;
    return at + (n > 0 ? (size_t)n : 0);
}

void flags_summary(uint32_t shown, uint32_t left_out, char *out_text, size_t bytes)
{
    size_t at = 0;
    if (bytes > 0)
        out_text[0] = '\0';
    for (unsigned i = 0; i < FLAG_COUNT; i++)
        if ((shown & one((enum flag)i)) != 0)
            at = append(out_text, bytes, at, at > 0 ? ", " : "", rows[i].name);
    for (unsigned i = 0; i < FLAG_RULE_COUNT; i++)
        if ((left_out & UINT32_C(1) << i) != 0)
            at = append(out_text, bytes, at, at > 0 ? "; " : "", rules[i].text);
}
