/* test_flags.c - laws over every combination of settings and facts: nothing that libvirt or QEMU
 * refuses comes out, and what was asked for is done or said not to be; and stories of both. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/data/flags.h"
#include "hypervisor/volume.h"

enum { OLD = 7002022, LAST_MT = 9000050, NEW = 9001000, LIBVIRT_OLD = 9003000, ZSTD = 9004000 };

struct world {
    struct migration_config config;
    struct flags_facts facts;
    struct hv_migrate how;
    struct job job;
};

static void choose(struct world *w)
{
    memset(&w->how, 0, sizeof w->how);
    memset(&w->job, 0, sizeof w->job);
    flags_choose(&w->config, &w->facts, &w->how);
    w->job.epoch = 1;
    w->job.call.config = w->config;
    w->job.call.flags = w->how.flags;
}

static bool has(const struct hv_migrate *how, unsigned bits)
{
    return (how->flags & bits) != 0;
}

/* ---- the laws ---- */

enum { DISKS = HV_MIGRATE_NON_SHARED_DISK | HV_MIGRATE_NON_SHARED_INC };

/* Written down apart from the table: what was seen refused, or is known to lose pages. */
static const char *refused(const struct hv_migrate *how)
{
    bool parallel = how->parallel_connections > 0;
    bool tunnelled = has(how, HV_MIGRATE_TUNNELLED);
    unsigned packed = how->flags & (HV_MIGRATE_XBZRLE | HV_MIGRATE_MT | HV_MIGRATE_ZSTD);
    if (tunnelled && (parallel || has(how, HV_MIGRATE_POSTCOPY | HV_MIGRATE_TLS | DISKS)))
        return "the tunnel carries one plain stream of memory";
    if (has(how, FLAGS_RELAYED))
        return "no hypervisor knows that flag";
    if (parallel && has(how, DISKS) && has(how, HV_MIGRATE_TLS))
        return "certificate does not match the hostname";
    if ((how->flags & DISKS) == DISKS)
        return "disks are copied one way or the other";
    if (has(how, HV_MIGRATE_POSTCOPY) && has(how, HV_MIGRATE_PAUSED))
        return "post-copy migration is not supported with paused migration";
    if (has(how, HV_MIGRATE_POSTCOPY) && (parallel || has(how, HV_MIGRATE_MT)))
        return "pages of post-copy are placed whole";
    if (parallel && has(how, HV_MIGRATE_XBZRLE | HV_MIGRATE_MT))
        return "multifd is not compatible with compress";
    if (has(how, HV_MIGRATE_ZSTD) && !parallel)
        return "zstd packs parallel streams";
    if ((packed & (packed - 1)) != 0)
        return "packed once";
    if (!has(how, HV_MIGRATE_AUTO_CONVERGE) &&
        (how->auto_converge_initial > 0 || how->auto_converge_increment > 0))
        return "turn auto convergence on to tune it";
    if (!has(how, HV_MIGRATE_POSTCOPY) && how->postcopy_bandwidth_mibs > 0)
        return "no post-copy to limit";
    return NULL;
}

static bool both_tls(const struct world *w)
{
    return w->facts.source.tls && w->facts.target.tls;
}

static void check_world(struct world *w)
{
    const struct hv_migrate *how = &w->how;
    const struct flags_facts *facts = &w->facts;
    choose(w);
    const char *why = refused(how);
    if (why != NULL)
        fail_msg("flags %x, streams %d: %s", how->flags, how->parallel_connections, why);
    assert_true(has(how, HV_MIGRATE_PERSIST) == facts->persistent);
    assert_true(has(how, HV_MIGRATE_PAUSED) == facts->paused);
    assert_true(has(how, HV_MIGRATE_AS_DEFINED) == facts->as_defined);
    assert_true(has(how, HV_MIGRATE_NON_SHARED_DISK) == (facts->disks == FLAGS_DISKS_WHOLE));
    assert_true(has(how, HV_MIGRATE_NON_SHARED_INC) == (facts->disks == FLAGS_DISKS_INCREMENTAL));
    assert_true(has(how, HV_MIGRATE_UNSAFE) == w->config.unsafe);
    assert_true(has(how, HV_MIGRATE_AUTO_CONVERGE) == w->config.auto_converge);
    assert_false(has(how, HV_MIGRATE_RESUME));
    assert_true(!has(how, HV_MIGRATE_TLS) || both_tls(w));
    assert_true(!w->config.require_tls || !both_tls(w) || has(how, HV_MIGRATE_TLS));
    assert_true(!has(how, HV_MIGRATE_POSTCOPY) || (w->config.post_copy && !facts->vfio));
    assert_true(!has(how, HV_MIGRATE_MT) ||
                (facts->source.qemu_version < NEW && facts->target.qemu_version < NEW));
    assert_true(!has(how, HV_MIGRATE_ZSTD) ||
                (facts->source.libvirt_version >= ZSTD && facts->target.libvirt_version >= ZSTD));
}

/* Each wish is there, or exactly one rule says why it is not. */
static void check_words(const struct world *w)
{
    static const enum flag about[FLAG_RULE_COUNT] = {
#define RULE(id, flag, when, other, text) FLAG_##flag,
#include "engine/data/flags.def"
#undef RULE
    };
    uint32_t shown = flags_shown(&w->job), out = flags_left_out(&w->job);
    const struct migration_config *c = &w->config;
    uint32_t requested = (uint32_t)c->post_copy << FLAG_POSTCOPY |
                         (uint32_t)(c->channels > 0) << FLAG_PARALLEL |
                         (uint32_t)c->tunnelled << FLAG_TUNNELLED | UINT32_C(1) << FLAG_TLS |
                         (uint32_t)(c->compression == COMPRESSION_XBZRLE) << FLAG_XBZRLE |
                         (uint32_t)(c->compression == COMPRESSION_MT) << FLAG_MT |
                         (uint32_t)(c->compression == COMPRESSION_ZSTD) << FLAG_ZSTD;
    uint32_t said = 0;
    for (unsigned i = 0; i < FLAG_RULE_COUNT; i++)
        if ((out & UINT32_C(1) << i) != 0) {
            assert_true((said & UINT32_C(1) << about[i]) == 0);
            said |= UINT32_C(1) << about[i];
        }
    assert_int_equal(said, requested & ~shown);
    assert_true((shown & 3) == 3); /* live, peer to peer */
    assert_true(((shown & UINT32_C(1) << FLAG_PARALLEL) != 0) == (w->how.parallel_connections > 0));
}

/* What a job keeps gives the same call again; and a pause that came later breaks no law. */
static void check_kept(struct world *w)
{
    struct hv_migrate again = {0};
    flags_fill(&w->job, &again);
    assert_memory_equal(&again, &w->how, sizeof again);
    assert_true(flags_allow_postcopy(&w->job) == has(&again, HV_MIGRATE_POSTCOPY));
    w->job.call.flags |= HV_MIGRATE_PAUSED;
    flags_fill(&w->job, &again);
    assert_true(has(&again, HV_MIGRATE_PAUSED));
    assert_false(flags_allow_postcopy(&w->job));
    if (refused(&again) != NULL)
        fail_msg("paused late, flags %x: %s", again.flags, refused(&again));
}

static void set_config(struct world *w, unsigned bits)
{
    struct migration_config *c = &w->config;
    migration_config_default(c);
    c->auto_converge = bits & 1;
    c->post_copy = bits >> 1 & 1;
    c->unsafe = bits >> 2 & 1;
    c->no_tls = bits >> 3 & 1;
    c->require_tls = bits >> 4 & 1;
    c->tunnelled = bits >> 5 & 1;
    c->channels = (bits >> 6 & 1) != 0 ? 4 : 0;
    c->compression = (int)(bits >> 7 & 3);
    c->throttle_initial = 30;
    c->throttle_increment = 15;
    c->bandwidth = 5 << 20;
}

static void set_facts(struct world *w, unsigned bits)
{
    static const struct flags_side sides[] = {
        {false, LIBVIRT_OLD, OLD}, {true, LIBVIRT_OLD, LAST_MT}, {true, ZSTD, NEW}, {true, 0, 0}};
    w->facts = (struct flags_facts){
        .persistent = bits & 1,
        .paused = bits >> 1 & 1,
        .as_defined = bits >> 2 & 1,
        .vfio = bits >> 3 & 1,
        .source = sides[bits >> 4 & 3],
        .target = sides[bits >> 6 & 3],
        .disks = (enum flags_disks)(bits >> 8),
    };
}

static void no_settings_and_facts_give_what_is_refused_or_unsaid(void **state)
{
    (void)state;
    static struct world w;
    for (unsigned config = 0; config < 1U << 9; config++)
        for (unsigned facts = 0; facts < 3U << 8; facts++) {
            set_config(&w, config);
            set_facts(&w, facts);
            check_world(&w);
            check_words(&w);
            check_kept(&w);
        }
}

static void every_flag_has_a_name_words_and_a_way_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FLAG_COUNT; i++) {
        assert_true(flag_name((enum flag)i)[0] != '\0' && flag_help((enum flag)i)[0] != '\0');
        assert_int_equal(flag_from_name(flag_name((enum flag)i)), i);
    }
    assert_int_equal(flag_from_name("warp"), FLAG_COUNT);
    assert_string_equal(flag_help(FLAG_COUNT), "");
    assert_string_equal(flag_rule_text(FLAG_RULE_COUNT), "");
}

/* Each rule is there for somebody: some settings and facts make it speak. */
static void every_flag_rule_applies_for_some_settings(void **state)
{
    (void)state;
    static struct world w;
    uint32_t spoken = 0;
    for (unsigned config = 0; config < 1U << 9; config++)
        for (unsigned facts = 0; facts < 3U << 8; facts++) {
            set_config(&w, config);
            set_facts(&w, facts);
            choose(&w);
            spoken |= flags_left_out(&w.job);
        }
    assert_int_equal(spoken, (UINT32_C(1) << FLAG_RULE_COUNT) - 1);
}

/* ---- the stories ---- */

static void plain(struct world *w)
{
    (void)w;
}
static void defined(struct world *w)
{
    w->facts.persistent = true;
}
static void encrypted(struct world *w)
{
    w->facts.source.tls = w->facts.target.tls = true;
}
static void half_encrypted(struct world *w)
{
    w->facts.source.tls = true;
}
static void not_encrypted(struct world *w)
{
    encrypted(w);
    w->config.no_tls = true;
}
static void required_after_all(struct world *w)
{
    not_encrypted(w);
    w->config.require_tls = true;
}
static void slowed(struct world *w)
{
    encrypted(w);
    w->config.auto_converge = true;
}
static void streams(struct world *w)
{
    encrypted(w);
    w->config.channels = 4;
}
static void streams_and_postcopy(struct world *w)
{
    streams(w);
    w->config.post_copy = true;
}
static void paused_and_postcopy(struct world *w)
{
    streams_and_postcopy(w);
    w->facts.paused = true;
}
static void device_and_postcopy(struct world *w)
{
    encrypted(w);
    w->config.post_copy = w->facts.vfio = true;
}
static void tunnel(struct world *w)
{
    streams_and_postcopy(w);
    w->config.tunnelled = true;
}
static void tunnel_with_disks(struct world *w)
{
    encrypted(w);
    w->config.tunnelled = true;
    w->facts.disks = FLAGS_DISKS_WHOLE;
}
static void streams_with_disks(struct world *w)
{
    streams(w);
    w->facts.disks = FLAGS_DISKS_WHOLE;
}
static void tunnel_required_tls(struct world *w)
{
    encrypted(w);
    w->config.tunnelled = w->config.require_tls = true;
}
static void deltas(struct world *w)
{
    encrypted(w);
    w->config.compression = COMPRESSION_XBZRLE;
    w->config.post_copy = true;
}
static void deltas_and_streams(struct world *w)
{
    streams(w);
    w->config.compression = COMPRESSION_XBZRLE;
}
static void threads(struct world *w)
{
    encrypted(w);
    w->config.compression = COMPRESSION_MT;
}
static void threads_on_new_qemu(struct world *w)
{
    threads(w);
    w->facts.target.qemu_version = NEW;
}
static void zstd_alone(struct world *w)
{
    encrypted(w);
    w->config.compression = COMPRESSION_ZSTD;
    w->facts.source.libvirt_version = w->facts.target.libvirt_version = ZSTD;
}
static void zstd(struct world *w)
{
    zstd_alone(w);
    w->config.channels = 2;
}
static void zstd_too_early(struct world *w)
{
    zstd(w);
    w->facts.source.libvirt_version = LIBVIRT_OLD;
}
static void forced(struct world *w)
{
    encrypted(w);
    w->config.unsafe = true;
}

static const struct {
    void (*make)(struct world *w);
    const char *words; /* after "live, peer-to-peer" */
} stories[] = {
    {plain, "; memory is sent unencrypted: not both hosts have tls in the configuration"},
    {half_encrypted, "; memory is sent unencrypted: not both hosts have tls in the configuration"},
    {not_encrypted, "; memory is sent unencrypted: disableTLS is set"},
    {required_after_all, ", tls"},
    {encrypted, ", tls"},
    {slowed, ", auto-converge, tls"},
    {streams, ", parallel, tls"},
    {streams_and_postcopy, ", post-copy, tls; parallel streams left out: post-copy is allowed"},
    {paused_and_postcopy, ", paused, parallel, tls; post-copy left out: the guest is paused"},
    {device_and_postcopy, ", tls; post-copy left out: the guest has a host device"},
    {tunnel, ", tunnelled; post-copy left out: the stream is tunnelled; QEMU's encryption left "
             "out: the tunnel is as safe as libvirt's connection; parallel streams left out: the "
             "stream is tunnelled"},
    {streams_with_disks, ", disks, tls; parallel streams left out: disks are migrated with TLS"},
    {tunnel_with_disks, ", disks, tls; tunnel left out: migrated disks cannot go through it"},
    {tunnel_required_tls, ", tls; tunnel left out: requireTLS requires QEMU's encryption"},
    {deltas, ", post-copy, tls, xbzrle"},
    {deltas_and_streams, ", parallel, tls; xbzrle left out: streams are parallel"},
    {threads, ", tls, mt"},
    {threads_on_new_qemu, ", tls; mt left out: QEMU has it up to 9.0 only"},
    {zstd_alone, ", tls; zstd left out: it compresses parallel streams only"},
    {zstd, ", parallel, tls, zstd"},
    {zstd_too_early, ", parallel, tls; zstd left out: both hosts need libvirt 9.4"},
    {forced, ", tls, unsafe"},
    {defined,
     ", persist; memory is sent unencrypted: not both hosts have tls in the configuration"},
};

static void begin(struct world *w)
{
    memset(w, 0, sizeof *w);
    migration_config_default(&w->config);
    w->facts.source = w->facts.target = (struct flags_side){false, LIBVIRT_OLD, OLD};
}

static void flags_are_said_in_words(void **state)
{
    (void)state;
    static struct world w;
    for (size_t i = 0; i < COUNT(stories); i++) {
        char want[512], have[512];
        begin(&w);
        stories[i].make(&w);
        choose(&w);
        flags_summary(flags_shown(&w.job), flags_left_out(&w.job), have, sizeof have);
        (void)snprintf(want, sizeof want, "live, peer-to-peer%s", stories[i].words);
        assert_string_equal(have, want);
    }
}

static void words_that_do_not_fit_are_cut(void **state)
{
    (void)state;
    char text[12];
    flags_summary(3, 0, text, sizeof text);
    assert_string_equal(text, "live, peer-");
    flags_summary(0, 0, text, sizeof text);
    assert_string_equal(text, "");
}

static void nothing_is_shown_before_hand_off(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    choose(&w);
    w.job.epoch = 0;
    assert_int_equal(flags_shown(&w.job), 0);
    assert_int_equal(flags_left_out(&w.job), 0);
}

static void numbers_go_with_their_flags(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    w.config.throttle_initial = 30;
    w.config.throttle_increment = 15;
    w.config.bandwidth = 1; /* below a MiB is one, not none */
    w.config.post_copy_bandwidth = (3 << 20) + 1;
    choose(&w);
    assert_int_equal(w.how.bandwidth_mibs, 1);
    assert_int_equal(w.how.postcopy_bandwidth_mibs, 0);
    assert_int_equal(w.how.auto_converge_initial, 0);
    w.config.auto_converge = w.config.post_copy = true;
    choose(&w);
    assert_int_equal(w.how.postcopy_bandwidth_mibs, 4);
    assert_int_equal(w.how.auto_converge_initial, 30);
    assert_int_equal(w.how.auto_converge_increment, 15);
    w.config.post_copy_bandwidth = 0; /* as before the switch */
    w.config.bandwidth = 9 << 20;
    choose(&w);
    assert_int_equal(w.how.postcopy_bandwidth_mibs, 9);
}

static void target_and_volumes_are_left_alone(void **state)
{
    (void)state;
    static struct world w;
    static const struct hv_volume volume;
    struct hv_migrate how = {.target = "b", .volumes = &volume, .n_volumes = 1};
    begin(&w);
    flags_choose(&w.config, &w.facts, &how);
    assert_string_equal(how.target, "b");
    assert_ptr_equal(how.volumes, &volume);
    assert_int_equal(how.n_volumes, 1);
}

TEST_FILE(test_flags)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_settings_and_facts_give_what_is_refused_or_unsaid),
        cmocka_unit_test(every_flag_rule_applies_for_some_settings),
        cmocka_unit_test(every_flag_has_a_name_words_and_a_way_back),
        cmocka_unit_test(flags_are_said_in_words),
        cmocka_unit_test(words_that_do_not_fit_are_cut),
        cmocka_unit_test(nothing_is_shown_before_hand_off),
        cmocka_unit_test(numbers_go_with_their_flags),
        cmocka_unit_test(target_and_volumes_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
