/* test_cli_pages.c - objects as pages, tables and lines for people: the exact text. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "cli/pages/columns.h"
#include "cli/pages/drain_watch.h"
#include "cli/pages/pages.h"

static const struct page_style plain = {TABLE_WIDTH, false};

static struct json_object *parse(const char *text)
{
    struct err err = {0};
    struct json_object *object = json_parse(text, strlen(text), "test", &err);
    if (object == NULL)
        fail_msg("%s", err.text);
    return object;
}

static void expect(struct buf *take_out, const char *text)
{
    OWNED_TEXT got = buf_take(take_out);
    assert_non_null(got);
    assert_string_equal(got, text);
    for (const char *line = got; *line != '\0'; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > TABLE_WIDTH && *line == ' ')
            assert_null(strchr(line, '~')); /* words may be long, tables never are */
}

/* ---- check ---- */

static const char can_move[] =
    "{\"guest\":{\"namespace\":\"default\",\"name\":\"web\",\"uuid\":\"u\",\"node\":\"a\"},"
    "\"migratable\":true,\"reasons\":[],\"evictionStrategy\":\"LiveMigrate\","
    "\"policy\":{\"name\":\"gold\",\"candidates\":["
    "{\"name\":\"gold\",\"matches\":true,\"guestPairs\":2,\"namespacePairs\":1,\"why\":\"\"},"
    "{\"name\":\"iron\",\"matches\":true,\"guestPairs\":1,\"namespacePairs\":0,\"why\":\"\"},"
    "{\"name\":\"tin\",\"matches\":false,\"guestPairs\":0,\"namespacePairs\":0,"
    "\"why\":\"namespace has no label env=prod\"}]},"
    "\"wouldWaitFor\":[],\"nodes\":["
    "{\"name\":\"a\",\"fits\":false,\"reason\":\"source-node\",\"detail\":\"\",\"forEver\":true},"
    "{\"name\":\"b\",\"fits\":true,\"reason\":\"\",\"detail\":\"\",\"forEver\":false,\"score\":7},"
    "{\"name\":\"c\",\"fits\":false,\"reason\":\"memory\",\"detail\":\"needs 2.0 GiB, has 1.0 "
    "GiB\","
    "\"forEver\":false}],\"best\":\"b\"}";

static void a_migratable_guest_shows_target_and_policy(void **state)
{
    (void)state;
    OWNED(json_object) status = parse(can_move);
    struct buf out;
    buf_init(&out, PAGE_MAX);
    assert_int_equal(page_check(status, &plain, &out), CHECK_YES);
    expect(&out, "Guest:        default/web on a\n"
                 "Migratable:   yes, to b\n"
                 "Eviction:     LiveMigrate\n"
                 "Policy:       gold\n"
                 "  POLICY  GUEST LABELS  NS LABELS  APPLIES\n"
                 "  gold    2             1          applies\n"
                 "  iron    1             0          matches, but gold is more specific\n"
                 "  tin     0             0          no: namespace has no label env=prod\n"
                 "Nodes:\n"
                 "  NODE  FITS   REASON       DETAIL\n"
                 "  a     never  source-node  -\n"
                 "  b     yes    -            -\n"
                 "  c     no     memory       needs 2.0 GiB, has 1.0 GiB\n");
}

static void notes_on_the_guest_s_disks_and_on_nodes_are_shown(void **state)
{
    (void)state;
    OWNED(json_object) status =
        parse("{\"migratable\":true,\"best\":\"b\",\"nodes\":[{\"name\":\"b\",\"fits\":true,"
              "\"notes\":[{\"name\":\"n\",\"why\":\"it is old\",\"instead\":\"nothing\"}]}],"
              "\"notes\":[{\"name\":\"storage-not-checked\",\"why\":\"vdb is not looked for\","
              "\"instead\":\"libvirt fails\"}]}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    assert_int_equal(page_check(status, &plain, &out), CHECK_YES);
    assert_non_null(strstr(out.data, "Note: vdb is not looked for; libvirt fails\n"
                                     "Note on b: it is old; nothing\n"));
    buf_fini(&out);
}

static void the_answer_says_how_the_forecast_ends(void **state)
{
    (void)state;
    static const struct {
        const char *ends, *shown;
        enum check_answer answer;
    } rows[] = {
        {"converges", "Migratable:   yes, to b\n", CHECK_YES},
        {"post-copy", "Migratable:   yes, to b; expected to need post-copy\n", CHECK_YES},
        {"pause", "Migratable:   yes, to b; expected to pause the guest\n", CHECK_YES},
        {"abort", "Migratable:   can start, to b; expected to end in abort\n", CHECK_DOUBTFUL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "{\"migratable\":true,\"best\":\"b\",\"forecast\":{\"ends\":\"%s\"}}",
                       rows[i].ends);
        OWNED(json_object) status = parse(text);
        struct buf out;
        buf_init(&out, PAGE_MAX);
        assert_int_equal(page_check(status, &plain, &out), rows[i].answer);
        assert_non_null(strstr(out.data, rows[i].shown));
        assert_int_equal(strstr(out.data, "What helps:") != NULL, rows[i].answer == CHECK_DOUBTFUL);
        buf_fini(&out);
    }
}

static void a_forecast_is_shown_with_its_basis(void **state)
{
    (void)state;
    static const char forecast[] =
        "\"forecast\":{\"node\":\"b\",\"expectedMs\":12300,\"lowMs\":8000,\"highMs\":125000,"
        "\"downtimeMs\":300,\"downtimeHighMs\":900,\"convergePercent\":93,"
        "\"ends\":\"converges\",\"why\":\"so it is\"}";
    static const struct {
        const char *rate, *shown;
    } rows[] = {
        {"{\"measuring\":false}", "Dirty rate:   not measured (`ferry check --measure`)\n"},
        {"{\"measuring\":true}",
         "measured (`ferry check --measure`)\n              measurement in progress"},
        {"{\"measuring\":false,\"error\":\"it is being moved\"}",
         "Not measured: it is being moved\n"},
        {"{\"measuring\":false,\"from\":\"measured\",\"at\":\"2026-01-02T03:04:05Z\",\"windows\":["
         "{\"seconds\":1,\"bytesPerSecond\":46137344},{\"seconds\":5,\"bytesPerSecond\":1048576}]}",
         "Dirty rate:   44 MiB/s over 1 s, 1.0 MiB/s over 5 s, measured at 2026-01-02T03:04:05Z\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{\"migratable\":true,\"best\":\"b\",%s,\"dirtyRate\":%s}", forecast,
                       rows[i].rate);
        OWNED(json_object) status = parse(text);
        struct buf out;
        buf_init(&out, PAGE_MAX);
        assert_int_equal(page_check(status, &plain, &out), CHECK_YES);
        assert_non_null(strstr(out.data,
                               "Duration:     12.3 s (8.0 s to 2 min 05 s), downtime 300 ms "
                               "(up to 900 ms)\n"
                               "Convergence:  93 %; expected end: converges\n"
                               "Basis:        so it is\n"));
        if (strstr(out.data, rows[i].shown) == NULL)
            fail_msg("row %zu: %s", i, out.data);
        buf_fini(&out);
    }
}

/* One thing in the way at a time: what is said first, and that it cannot move now. */
static void each_obstacle_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *status, *what;
    } rows[] = {
        {"{\"migratable\":false,\"best\":\"b\",\"reasons\":[{\"reason\":\"HostDeviceNotLive"
         "Migratable\",\"message\":\"it has a host device\",\"help\":\"detach it\"}]}",
         "Migratable:   no; see the reasons below\n"
         "Not migratable:\n"
         "  HostDeviceNotLiveMigratable: it has a host device\n"
         "    detach it\n"},
        {"{\"migratable\":true,\"best\":\"b\",\"activeMigration\":\"m1\"}",
         "not now: migration m1 is active\n"},
        {"{\"migratable\":true,\"nodes\":[{\"name\":\"a\",\"fits\":false,\"forEver\":true},"
         "{\"name\":\"b\",\"fits\":false,\"forEver\":false}]}",
         "not now: every node rejects it; see the nodes below\n"},
        {"{\"migratable\":true,\"nodes\":[{\"name\":\"a\",\"fits\":false,\"forEver\":true}]}",
         "no: every node rejects it permanently; see the nodes below\n"},
        {"{\"migratable\":true,\"best\":\"b\",\"wouldWaitFor\":[{\"reason\":\"slot-fleet\","
         "\"message\":\"5 of 5 run\"}]}",
         "yes, to b, but Pending first: slot-fleet\n"
         "Pending reasons:\n"
         "  slot-fleet: 5 of 5 run\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(json_object) status = parse(rows[i].status);
        struct buf out;
        buf_init(&out, PAGE_MAX);
        assert_int_equal(page_check(status, &plain, &out), CHECK_NO);
        if (strstr(out.data, rows[i].what) == NULL)
            fail_msg("row %zu: %s", i, out.data);
        assert_non_null(strstr(out.data, "Policy:       none: the fleet's defaults apply\n"));
        buf_fini(&out);
    }
}

/* ---- drains ---- */

static const char draining[] =
    "{\"metadata\":{\"name\":\"drain-h1-x\"},\"spec\":{\"nodeName\":\"h1\",\"retryBudget\":3},"
    "\"status\":{\"state\":\"Draining\",\"total\":4,\"moved\":1,\"blocked\":1,\"etaSeconds\":125,"
    "\"guests\":["
    "{\"namespace\":\"default\",\"name\":\"a\",\"uuid\":\"1\",\"memoryKiB\":1048576,"
    "\"state\":\"Moved\",\"attempts\":1,\"migration\":\"m1\"},"
    "{\"namespace\":\"default\",\"name\":\"b\",\"uuid\":\"2\",\"memoryKiB\":2097152,"
    "\"state\":\"Moving\",\"attempts\":2,\"migration\":\"m2\"},"
    "{\"namespace\":\"default\",\"name\":\"c\",\"uuid\":\"3\",\"memoryKiB\":4194304,"
    "\"state\":\"Waiting\",\"attempts\":0},"
    "{\"namespace\":\"shop\",\"name\":\"gpu\",\"uuid\":\"4\",\"memoryKiB\":1048576,"
    "\"state\":\"Blocked\",\"attempts\":0,\"reason\":\"NotLiveMigratable\","
    "\"message\":\"it is not live-migratable\",\"unblock\":\"shut it down\"}]}}";

static void a_drain_names_its_guests_and_what_blocks_it(void **state)
{
    (void)state;
    OWNED(json_object) object = parse(draining);
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_DRAIN, object, &plain, &out);
    expect(&out, "Name:         drain-h1-x\n"
                 "Node:         h1\n"
                 "State:        Draining\n"
                 "Retries:      3\n"
                 "Progress:     1 of 4 moved, 1 moving, 1 waiting, 1 blocked, ETA 2 min 05 s\n"
                 "Guests:\n"
                 "  GUEST      MEMORY   STATE    FAILED  DETAIL\n"
                 "  default/a  1.0 GiB  Moved    1       m1\n"
                 "  default/b  2.0 GiB  Moving   2       m2\n"
                 "  default/c  4.0 GiB  Waiting  0       -\n"
                 "  shop/gpu   1.0 GiB  Blocked  0       NotLiveMigratable\n"
                 "Blocked by:\n"
                 "  shop/gpu: NotLiveMigratable: it is not live-migratable\n"
                 "    shut it down\n");
}

static void a_plan_lists_migrating_and_blocked_guests(void **state)
{
    (void)state;
    OWNED(json_object) object =
        parse("{\"spec\":{\"nodeName\":\"h1\"},\"status\":{\"guests\":["
              "{\"namespace\":\"n\",\"name\":\"a\",\"memoryKiB\":1024,\"state\":\"Waiting\"},"
              "{\"namespace\":\"n\",\"name\":\"b\",\"memoryKiB\":1024,\"state\":\"Blocked\","
              "\"reason\":\"External\",\"message\":\"m\",\"unblock\":\"u\"}]}}");
    OWNED(json_object) empty = parse("{\"spec\":{\"nodeName\":\"h1\"},\"status\":{}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    assert_false(page_plan(object, &plain, &out));
    expect(&out, "Drain of h1: 1 of 2 guests would migrate, in this order; others are blocked.\n"
                 "  GUEST  MEMORY   STATE     REASON\n"
                 "  n/a    1.0 MiB  Migrates  -\n"
                 "  n/b    1.0 MiB  Blocked   External\n"
                 "Blocked by:\n"
                 "  n/b: External: m\n"
                 "    u\n");
    assert_true(page_plan(empty, &plain, &out));
    expect(&out, "h1 has no guests: a drain would complete at once.\n");
}

static void a_plan_says_what_waits_and_what_has_no_strategy(void **state)
{
    (void)state;
    OWNED(json_object) object =
        parse("{\"spec\":{\"nodeName\":\"h1\"},\"status\":{\"strategyUnset\":1,\"guests\":["
              "{\"namespace\":\"n\",\"name\":\"a\",\"memoryKiB\":1024,\"state\":\"Waiting\","
              "\"target\":\"h2\"},"
              "{\"namespace\":\"n\",\"name\":\"b\",\"memoryKiB\":1024,\"state\":\"Waiting\","
              "\"message\":\"quota q exceeded\"}]}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    assert_true(page_plan(object, &plain, &out));
    expect(&out, "Drain of h1: 1 of 2 guests would migrate, in this order.\n"
                 "1 would wait for what its row says.\n"
                 "1 of them has no eviction strategy, nor does the fleet: treated as "
                 "LiveMigrateIfPossible.\n"
                 "  GUEST  MEMORY   STATE     REASON\n"
                 "  n/a    1.0 MiB  Migrates  -\n"
                 "  n/b    1.0 MiB  Waits     quota q exceeded\n");
}

static void the_bar_of_a_drain_fits_every_width(void **state)
{
    (void)state;
    OWNED(json_object) object = parse(draining);
    char line[DRAIN_LINE_MAX];
    drain_bar(object, 79, line);
    assert_string_equal(
        line, "[====>           ] 1 of 4 moved, 1 moving, 1 waiting, 1 blocked, ETA 2 min 05 s");
    for (size_t width = 1; width < 400; width++) {
        drain_bar(object, width, line);
        assert_true(strlen(line) <= width);
    }
}

static void a_guest_is_printed_when_its_state_changes(void **state)
{
    (void)state;
    OWNED(json_object) now = parse(draining);
    OWNED(json_object) before = parse(draining);
    struct buf out;
    buf_init(&out, PAGE_MAX);
    drain_changes(NULL, now, &out);
    expect(&out, "default/a Moved (m1)\n"
                 "default/b Moving (m2)\n"
                 "shop/gpu Blocked: it is not live-migratable\n");
    drain_changes(before, now, &out);
    expect(&out, "");
    json_add_text(json_at(before, "status.guests.1"), "state", "Waiting");
    drain_changes(before, now, &out);
    expect(&out, "default/b Moving (m2)\n");
}

static void a_settled_drain_ends_the_wait(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        bool settled;
    } rows[] = {
#define DRAIN(id, name, final, help) {name, !(#id[0] == 'D')},
#include "engine/model/objects/drain.def"
#undef DRAIN
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(json_object) object = json_object_new_object();
        json_add_text(json_add_object(object, "status"), "state", rows[i].state);
        assert_int_equal(drain_is_settled(object), rows[i].settled);
    }
}

/* ---- describe ---- */

static void a_migration_shows_rejections_and_settings(void **state)
{
    (void)state;
    OWNED(json_object) object = parse(
        "{\"metadata\":{\"name\":\"m1\",\"namespace\":\"default\",\"annotations\":{\"why\":\"x\"}},"
        "\"spec\":{\"vmiName\":\"web\",\"priority\":\"system-critical\","
        "\"addedNodeSelector\":{\"zone\":\"a\"}},"
        "\"status\":{\"phase\":\"Pending\",\"migrationState\":{\"migrationConfiguration\":"
        "{\"bandwidthPerMigration\":67108864,\"allowPostCopy\":true,\"monitor\":\"legacy\","
        "\"parallelConnections\":4,\"progressTimeout\":0}},"
        "\"ferry\":{\"policy\":\"gold\",\"launcher\":{\"state\":\"Scheduled\"},\"origin\":"
        "\"evacuation\",\"flags\":[\"live\",\"post-copy\",\"warp\"],\"flagsLeftOut\":["
        "\"parallel streams left out: post-copy is allowed\"],"
        "\"rejections\":[{\"node\":\"a\",\"reason\":\"source-node\",\"detail\":\"\",\"forEver\":"
        "true},"
        "{\"node\":\"b\",\"reason\":\"memory\",\"detail\":\"2.0 GiB more are needed\","
        "\"forEver\":false}]}}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_MIGRATION, object, &plain, &out);
    expect(&out, "Name:         m1\n"
                 "Namespace:    default\n"
                 "Guest:        web\n"
                 "Origin:       evacuation\n"
                 "Priority:     system-critical\n"
                 "Phase:        Pending\n"
                 "Launcher:     Scheduled\n"
                 "Policy:       gold\n"
                 "Selector:     zone=a\n"
                 "Annotations:  why=x\n"
                 "Settings at hand-off:\n"
                 "  bandwidth: 64 MiB/s\n"
                 "  max downtime: 900 ms\n"
                 "  completion timeout: 150 s per GiB\n"
                 "  progress timeout: none\n"
                 "  auto-converge: no, post-copy: yes, workload disruption: no\n"
                 "  streams: 4, compression: no, TLS: where both hosts can, monitor: legacy\n"
                 "Flags:\n"
                 "  live               the guest runs while its memory is copied\n"
                 "  post-copy          the guest may run on the target before all memory "
                 "is there\n"
                 "  warp\n"
                 "  parallel streams left out: post-copy is allowed\n"
                 "Rejected nodes:\n"
                 "  NODE  REASON       PERMANENT  DETAIL\n"
                 "  a     source-node  yes        -\n"
                 "  b     memory       no         2.0 GiB more are needed\n");
}

static void a_node_shows_cordon_taints_and_reservations(void **state)
{
    (void)state;
    OWNED(json_object) object =
        parse("{\"metadata\":{\"name\":\"h1\",\"labels\":{\"zone\":\"a\",\"rack\":\"7\"}},"
              "\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"gpu\",\"value\":\"big\","
              "\"effect\":\"NoSchedule\"},{\"key\":\"old\",\"effect\":\"NoExecute\"}]},"
              "\"status\":{\"ferry\":{\"drain\":\"d1\",\"outbound\":2,\"inbound\":0,"
              "\"reserved\":{\"memoryKiB\":2097152,\"vcpus\":4}}}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_NODE, object, &plain, &out);
    expect(&out, "Name:         h1\n"
                 "Drain:        d1\n"
                 "Outbound:     2\n"
                 "Inbound:      0\n"
                 "Cordoned:     yes, unschedulable\n"
                 "Taints:       gpu=big:NoSchedule\n"
                 "              old:NoExecute\n"
                 "Labels:       zone=a, rack=7\n"
                 "Reserved:     2.0 GiB and 4 CPUs, for inbound migrations\n");
}

static void a_guest_shows_its_scheduling_constraints(void **state)
{
    (void)state;
    OWNED(json_object) object = parse(
        "{\"metadata\":{\"name\":\"web\",\"labels\":{\"app\":\"web\"}},"
        "\"spec\":{\"evictionStrategy\":\"LiveMigrate\",\"nodeSelector\":{\"zone\":\"a\"},"
        "\"tolerations\":[{\"key\":\"gpu\",\"value\":\"big\",\"effect\":\"NoSchedule\"},"
        "{\"key\":\"old\",\"operator\":\"Exists\"}],"
        "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
        "[{\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}},"
        "\"topologyKey\":\"kubernetes.io/hostname\"}]}}},"
        "\"status\":{\"evacuationNodeName\":\"h1\",\"activePods\":{\"p1\":\"h1\",\"p2\":\"h2\"},"
        "\"conditions\":[{\"type\":\"MigrationRequired\",\"status\":\"True\","
        "\"reason\":\"Immediate\",\"message\":\"its network changed\"}]}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_GUEST, object, &plain, &out);
    expect(&out, "Name:         web\n"
                 "Eviction:     LiveMigrate\n"
                 "Evacuation:   h1\n"
                 "Labels:       app=web\n"
                 "Selector:     zone=a\n"
                 "Tolerates:    gpu=big:NoSchedule\n"
                 "              old\n"
                 "Anti-affinity: guests with app=web, by kubernetes.io/hostname\n"
                 "Active pods:  p1=h1, p2=h2\n"
                 "Conditions:\n"
                 "  MigrationRequired        True     Immediate: its network changed\n");
}

static void a_guest_shows_its_newest_migration(void **state)
{
    (void)state;
    OWNED(json_object) object = parse(
        "{\"metadata\":{\"name\":\"db\"},\"status\":{\"migrationState\":{\"sourceNode\":\"a\","
        "\"targetNode\":\"b\",\"targetNodeAddress\":\"192.0.2.1\",\"mode\":\"PostCopy\","
        "\"sourcePod\":\"p1\",\"targetPod\":\"p2\",\"migrationPolicyName\":\"gold\","
        "\"startTimestamp\":\"2025-11-16T05:06:40Z\",\"abortStatus\":\"Aborting\","
        "\"failureReason\":\"it broke\"},\"ferry\":{\"migration\":\"m1\","
        "\"abortCause\":\"operator\",\"remedy\":\"the stream was broken\","
        "\"recovery\":{\"state\":\"recovery-exhausted\",\"tries\":4},"
        "\"modeHistory\":[{\"mode\":\"PreCopy\",\"at\":\"2025-11-16T05:06:40Z\"}]},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_GUEST, object, &plain, &out);
    OWNED_TEXT got = buf_take(&out);
    static const char *const lines[] = {
        "Migration:    m1\nFrom:         a\nTo:           b\nAddress:      192.0.2.1\n"
        "Mode:         PostCopy\nPolicy:       gold\nStarted:      2025-11-16T05:06:40Z\n"
        "Source pod:   p1\nTarget pod:   p2\nAbort:        Aborting\nAbort cause:  operator\n"
        "Failure:      it broke\n",
        "Remedy:       the stream was broken\n",
        "ferry recover m1 (or", /* the migration's name, not the guest's */
        "Modes:\n  PreCopy          2025-11-16T05:06:40Z  +0 ms\n",
    };
    for (size_t i = 0; i < COUNT(lines); i++)
        if (strstr(got, lines[i]) == NULL)
            fail_msg("'%s' is missing in:\n%s", lines[i], got);
}

static void a_guest_shows_the_destinations_of_its_volumes(void **state)
{
    (void)state;
    OWNED(json_object) object =
        parse("{\"metadata\":{\"name\":\"db\"},\"status\":{\"migratedVolumes\":["
              "{\"volumeName\":\"vda\",\"sourcePVCInfo\":{\"claimName\":\"/old/a\"},"
              "\"destinationPVCInfo\":{\"claimName\":\"fast/a.img\"}},"
              "{\"volumeName\":\"vdb\",\"destinationPVCInfo\":{\"claimName\":\"/new/b\"}}]}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_GUEST, object, &plain, &out);
    expect(&out, "Name:         db\n"
                 "Volumes:      vda: /old/a to fast/a.img\n"
                 "              vdb: to /new/b\n");
}

static void a_policy_shows_what_it_matches_and_sets(void **state)
{
    (void)state;
    OWNED(json_object) object =
        parse("{\"metadata\":{\"name\":\"gold\"},\"spec\":{\"selectors\":{"
              "\"virtualMachineInstanceSelector\":{\"app\":\"db\"},\"namespaceSelector\":{}},"
              "\"allowPostCopy\":true,\"experimental\":{\"stallDetector\":{\"stallMargin\":7}}}}");
    OWNED(json_object) blind = parse("{\"metadata\":{\"name\":\"x\"},\"spec\":{}}");
    struct buf out;
    buf_init(&out, PAGE_MAX);
    page_object(KIND_POLICY, object, &plain, &out);
    expect(&out, "Name:         gold\n"
                 "Guests:       app=db\n"
                 "Namespaces:   all\n"
                 "Settings:\n"
                 "  allowPostCopy: true\n"
                 "  experimental.stallDetector.stallMargin: 7\n");
    page_object(KIND_POLICY, blind, &plain, &out);
    expect(&out, "Name:         x\n"
                 "Matches:      nothing: it has no selectors\n"
                 "Settings:\n");
}

/* ---- get ---- */

static void every_kind_has_a_table(void **state)
{
    (void)state;
    static const struct {
        enum kind kind;
        const char *object, *table;
    } rows[] = {
        {KIND_POLICY,
         "{\"metadata\":{\"name\":\"gold\"},\"spec\":{\"allowPostCopy\":true,\"selectors\":"
         "{\"virtualMachineInstanceSelector\":{\"app\":\"db\"},"
         "\"namespaceSelector\":{\"env\":\"prod\"}}}}",
         "NAME  MATCHES              SETS           AGE\n"
         "gold  app=db; ns env=prod  allowPostCopy  -\n"},
        {KIND_QUOTA,
         "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"memory\":\"4Gi\"}},"
         "\"status\":{\"used\":{\"memory\":\"1Gi\"}}}",
         "NAME  HARD        USED        AGE\n"
         "q     memory=4Gi  memory=1Gi  -\n"},
        {KIND_NAMESPACE,
         "{\"metadata\":{\"name\":\"shop\",\"labels\":{\"env\":\"prod\"},"
         "\"creationTimestamp\":\"1970-01-01T00:00:30Z\"}}",
         "NAME  LABELS    AGE\n"
         "shop  env=prod  30s\n"},
        {KIND_DRAIN, draining,
         "NAME        STATE     NODE  MOVED  BLOCKED  ETA         AGE\n"
         "drain-h1-x  Draining  h1    1/4    1        2 min 05 s  -\n"},
        {KIND_INCIDENT,
         "{\"metadata\":{\"name\":\"m1\",\"creationTimestamp\":\"1970-01-01T00:00:30Z\"},"
         "\"spec\":{\"vmiName\":\"web\"},\"status\":{\"state\":\"open\",\"kind\":\"lost\","
         "\"nodeName\":\"h1\",\"cause\":\"guest-gone\"}}",
         "NAME  STATE  KIND  GUEST  NODE  CAUSE       AGE\n"
         "m1    open   lost  web    h1    guest-gone  30s\n"},
        {KIND_POD,
         "{\"metadata\":{\"name\":\"virt-launcher-web-x\"},\"spec\":{\"nodeName\":\"h1\"},"
         "\"status\":{\"phase\":\"Running\"}}",
         "NAME                 STATUS   NODE  AGE\n"
         "virt-launcher-web-x  Running  h1    -\n"},
        {KIND_NODE,
         "{\"metadata\":{\"name\":\"h1\"},\"spec\":{\"unschedulable\":true},"
         "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
         "NAME  STATUS          GUESTS  CPUS  MEMORY  LIBVIRT  QEMU  AGE\n"
         "h1    Ready,Cordoned  -       -     -       -        -     -\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        OWNED(json_object) object = parse(rows[i].object);
        const struct columns choice = {.kind = rows[i].kind, .now_ms = 60000};
        struct buf out;
        buf_init(&out, PAGE_MAX);
        assert_int_equal(columns_render(&choice, object, &plain, &out), 1);
        expect(&out, rows[i].table);
    }
}

/* A law: whatever the object, every kind is a page and a table, narrow and wide. */
static void an_empty_object_has_a_page(void **state)
{
    (void)state;
    OWNED(json_object) empty = parse("{}");
    OWNED(json_object) none = parse("{\"items\":[]}");
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        for (int wide = 0; wide < 2; wide++) {
            const struct columns choice = {.kind = kind, .wide = wide, .all_namespaces = true};
            struct buf out;
            buf_init(&out, PAGE_MAX);
            page_object(kind, empty, &plain, &out);
            assert_int_equal(columns_render(&choice, empty, &plain, &out), 1);
            assert_false(out.failed);
            buf_fini(&out);
            buf_init(&out, PAGE_MAX);
            assert_int_equal(columns_render(&choice, none, &plain, &out), 0);
            buf_fini(&out);
        }
    }
}

TEST_FILE(test_cli_pages)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_migratable_guest_shows_target_and_policy),
        cmocka_unit_test(notes_on_the_guest_s_disks_and_on_nodes_are_shown),
        cmocka_unit_test(the_answer_says_how_the_forecast_ends),
        cmocka_unit_test(a_forecast_is_shown_with_its_basis),
        cmocka_unit_test(each_obstacle_is_shown),
        cmocka_unit_test(a_drain_names_its_guests_and_what_blocks_it),
        cmocka_unit_test(a_plan_lists_migrating_and_blocked_guests),
        cmocka_unit_test(a_plan_says_what_waits_and_what_has_no_strategy),
        cmocka_unit_test(the_bar_of_a_drain_fits_every_width),
        cmocka_unit_test(a_guest_is_printed_when_its_state_changes),
        cmocka_unit_test(a_settled_drain_ends_the_wait),
        cmocka_unit_test(a_migration_shows_rejections_and_settings),
        cmocka_unit_test(a_node_shows_cordon_taints_and_reservations),
        cmocka_unit_test(a_guest_shows_its_scheduling_constraints),
        cmocka_unit_test(a_guest_shows_its_newest_migration),
        cmocka_unit_test(a_guest_shows_the_destinations_of_its_volumes),
        cmocka_unit_test(a_policy_shows_what_it_matches_and_sets),
        cmocka_unit_test(every_kind_has_a_table),
        cmocka_unit_test(an_empty_object_has_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
