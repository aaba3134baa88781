/* test_cli_control.c - the control plane through the command line's own verbs: objects applied,
 * questions answered, a node drained, and the exit status of each. */
#include "tests/unit/test_cli_rig.h"

/* Two guests leave at once, the third never can. */
static const char fleet[] = "hosts:\n- {name: a, link: 1Gi, labels: {zone: x}}\n"
                            "- {name: b, link: 1Gi, labels: {zone: y}}\n"
                            "guests:\n"
                            "- {name: web, host: a, memory: 64Mi, labels: {app: web},"
                            " evictionStrategy: LiveMigrate}\n"
                            "- {name: db, host: a, memory: 64Mi, evictionStrategy: LiveMigrate}\n"
                            "- {name: gpu, host: a, memory: 64Mi, hostDevice: true,"
                            " evictionStrategy: LiveMigrate}\n"
                            "objects:\n"
                            "- {kind: MigrationPolicy, name: seeded, spec: {selectors: {}}}\n";

static const char objects[] = "apiVersion: migrations.kubevirt.io/v1alpha1\n"
                              "kind: MigrationPolicy\n"
                              "metadata: {name: gentle}\n"
                              "spec:\n"
                              "  maxDowntimeMs: 500\n"
                              "  selectors: {virtualMachineInstanceSelector: {app: web}}\n"
                              "---\n"
                              "apiVersion: v1\n"
                              "kind: ResourceQuota\n"
                              "metadata: {name: q}\n"
                              "spec: {hard: {memory: 4Gi}}\n";

/* Each as a shell would run it, in this order; part of what it prints. */
static const struct story {
    verb_fn *verb;
    const char *words;
    int status;
    const char *prints;
} stories[] = {
    {verb_get, "get mp", 0, "seeded  all"},
    {verb_check, "check web", 0, "Policy:       gentle"},
    {verb_check, "check web", 0, "Dirty rate:   not measured"},
    {verb_check, "check web --measure=1s", 0, "over 1 s, measured at"},
    {verb_check, "check web -o json", 0, "\"from\":\"measured\""},
    {verb_check, "check web --measure=5", 2, ""},
    {verb_check, "check web --to a", 1, "source-node"},
    {verb_check, "check gpu", 1, "HostDeviceNotLiveMigratable"},
    {verb_check, "check gpu -o json", 1, "\"migratable\":false"},
    {verb_check, "check nobody", 1, ""},
    {verb_check, "check", 2, ""},
    {verb_cordon, "cordon b", 0, "no/b cordoned"},
    {verb_get, "get nodes", 0, "Ready,Cordoned"},
    {verb_check, "check web", 1, "cordoned"},
    {verb_uncordon, "uncordon b", 0, "no/b uncordoned"},
    {verb_cordon, "cordon nobody", 1, ""},
    {verb_migrate, "migrate web --selector zone", 2, ""},
    {verb_migrate, "migrate web --selector zone=z --wait", 1, ""},
    {verb_describe, "describe vmi gpu", 0, "Eviction:     LiveMigrate"},
    {verb_drain, "drain a --dry-run", 1, "2 of 3 guests would migrate"},
    {verb_drain, "drain a --dry-run --wait", 2, ""},
    {verb_drain, "drain nobody", 1, ""},
    {verb_get, "get drains -o name", 0, ""}, /* a plan leaves nothing behind */
    {verb_drain, "drain a --wait --timeout 30s", 1, "2 of 3 moved, 1 blocked"},
    {verb_get, "get drains", 0, "Blocked"},
    {verb_get, "get vmi db -o wide", 0, " b "},
    {verb_uncordon, "uncordon a", 0, "no/a uncordoned"},
    {verb_get, "get drains", 0, "Cancelled"},
    {verb_delete, "delete mp gentle", 0, "mp/gentle deleted"},
    {verb_delete, "delete mp gentle", 1, ""},
    {verb_delete, "delete mp gentle --ignore-not-found", 0, ""},
    {verb_get, "get pods -o name", 0, "po/virt-launcher-"},
};

static void apply(const char *text, int status, const char *prints)
{
    char file[32], words[64], out[4096];
    write_file(file, text);
    (void)snprintf(words, sizeof words, "apply -f %s", file);
    int got = run(verb_apply, words, out, sizeof out);
    (void)unlink(file);
    if (got != status || !text_equal(out, prints))
        fail_msg("%d: %s", got, out);
}

static void wait_until_seen(void)
{
    char out[4096];
    for (int i = 0; i < 100; i++) {
        if (run(verb_get, "get vmi gpu -o wide", out, sizeof out) == EXIT_DONE &&
            strstr(out, "HostDeviceNot") != NULL)
            return;
        clock_sleep_ms(50);
    }
    fail_msg("the guest's definition was never read: %s", out);
}

static void the_control_plane_is_run_from_the_command_line(void **state)
{
    (void)state;
    struct appliance a;
    char out[16384];
    start(&a, fleet);
    wait_until_seen();
    apply(objects, EXIT_DONE, "mp/gentle created\nquota/q created\n");
    apply(objects, EXIT_DONE, "mp/gentle unchanged\nquota/q unchanged\n");
    apply("apiVersion: v1\nkind: Nodes\nmetadata: {name: a}\n", EXIT_USAGE, "");
    apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
          "spec: {hard: {memory: 8Gi}}\n",
          EXIT_DONE, "quota/q configured\n");
    for (size_t i = 0; i < COUNT(stories); i++) {
        int status = run(stories[i].verb, stories[i].words, out, sizeof out);
        if (status != stories[i].status || strstr(out, stories[i].prints) == NULL)
            fail_msg("%s: %d: %s", stories[i].words, status, out);
    }
    stop(&a);
}

TEST_FILE(test_cli_control)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_control_plane_is_run_from_the_command_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
