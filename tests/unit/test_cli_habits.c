/* test_cli_habits.c - what a tired operator types: misspelt names and options, -h, KIND/NAME,
 * orders that cannot be followed. Each gets an answer that leads on. */
#include "tests/unit/test_cli_rig.h"

#include "base/err.h"

/* `busy` writes its memory faster than the link carries it, and nothing but pre-copy is allowed. */
static const char fleet[] =
    "hosts:\n- {name: alpha, link: 1Gi}\n- {name: beta, link: 1Gi}\n"
    "guests:\n"
    "- {name: web, host: alpha, memory: 64Mi}\n"
    "- {name: gpu, host: alpha, memory: 64Mi, hostDevice: true}\n"
    "- {name: busy, host: alpha, memory: 8Gi, workingSet: 8Gi, dirtyRate: 4Gi}\n"
    "- {name: till, namespace: shop, host: alpha, memory: 64Mi}\n";

#define NO_API_PATH "/apis/"

/* As a shell would run it, in this order. */
static const struct story {
    verb_fn *verb;
    const char *words;
    int status;
    const char *prints, *never; /* NULL: nothing is asked */
} stories[] = {
    /* Misspelt names. */
    {verb_get, "get guests wbe", 1, "did you mean 'web'?", NULL},
    {verb_get, "get guests till", 1, "it is in namespace shop: add -n shop", NULL},
    {verb_get, "get guests zzzzzzzz", 1, "`ferry get vmi -A` lists the names", "did you mean"},
    {verb_describe, "describe node alhpa", 1, "did you mean 'alpha'?", NULL},
    {verb_check, "check wbe", 1, "did you mean 'web'?", NULL},
    {verb_migrate, "migrate wbe", 1, "did you mean 'web'?", NULL},
    {verb_migrate, "migrate web --to bta", 2, "did you mean 'beta'?", NULL},
    {verb_migrate, "migrate web --name first --wait --timeout 20s", 0, "'web' migrated", NULL},
    {verb_abort, "abort frist", 1, "did you mean 'first'?", NULL},
    {verb_recover, "recover frist", 1, "did you mean 'first'?", NULL},
    {verb_resolve, "resolve frist --guest-on source --because x --yes", 1, "did you mean 'first'?",
     NULL},
    {verb_delete, "delete vmim frist", 1, "did you mean 'first'?", NULL},
    {verb_postmortem, "postmortem frist", 1, "did you mean 'first'?", NULL},
    {verb_explain, "explain frist", 1, "did you mean 'first'?", NULL},
    {verb_drain, "drain alhpa --dry-run", 1, "did you mean 'alpha'?", NULL},
    {verb_cordon, "cordon alhpa", 1, "did you mean 'alpha'?", NULL},
    {verb_adopt, "adopt wbe --from alpha --to beta", 1, "did you mean 'web'?", NULL},
    {verb_adopt, "adopt web --from alhpa --to beta", 2, "did you mean 'alpha'?", NULL},
    {verb_get, "get gusets", 2, "did you mean 'guests'?", NULL},
    /* Misspelt options. */
    {verb_migrate, "migrate web --tp beta", 2, "did you mean '--to'?", NULL},
    {verb_migrate, "migrate --bandwith 5 web", 2, "did you mean '--bandwidth'?", NULL},
    {verb_get, "get nodes --namespce x", 2, "did you mean '--namespace'?", NULL},
    {verb_get, "get nodes --output=name", 0, "no/alpha", NULL},
    {verb_get, "get nodes --out name", 0, "no/alpha", NULL}, /* getopt takes a beginning */
    {verb_get, "get nodes -n --x", 0, "alpha", NULL},        /* a value, not an option */
    {verb_get, "get nodes -x", 2, "invalid option -- 'x'", NULL},
    /* Help after a verb. */
    {verb_get, "get -h", 0, "Usage: ferry get", "Mandatory or optional"},
    {verb_get, "get nodes -h", 0, "-h, --help", NULL},
    {verb_migrate, "migrate web --help", 0, "--bandwidth=", NULL},
    {verb_doctor, "doctor -h", 0, "Usage: ferry doctor", NULL},
    {verb_version, "version -h", 0, "Usage: ferry version", NULL},
    {verb_check, "check -h", 0, "5  it can start", NULL},
    /* What -o name prints is a name. */
    {verb_get, "get vmi/web", 0, "running", NULL},
    {verb_get, "get vmim/first -o name", 0, "vmim/first\n", NULL},
    {verb_describe, "describe no/alpha", 0, "Name:         alpha", NULL},
    {verb_describe, "describe guest/web", 0, "Name:         web", NULL},
    {verb_check, "check guest/web", 0, "Guest:        default/web", NULL},
    {verb_check, "check vmi/web --to node/alpha", 0, "to alpha", NULL},
    {verb_abort, "abort vmim/first", 1, "migration 'first' has already ended", NULL},
    {verb_postmortem, "postmortem migration/first", 0, "default/first", NULL},
    {verb_explain, "explain vmim/first", 0, "Migration:    first", NULL},
    {verb_cordon, "cordon node/beta", 0, "no/beta cordoned", NULL},
    {verb_uncordon, "uncordon no/beta", 0, "no/beta uncordoned", NULL},
    {verb_ack, "ack vmim/first", 1, "no open incident", NULL},
    {verb_delete, "delete vmim/first", 0, "vmim/first deleted", NULL},
    {verb_abort, "abort vmi/web", 2, "'vmi/web' is a guest; expected a migration, as vmim/NAME",
     NULL},
    {verb_drain, "drain guest/web", 2, "is a guest; expected a node, as no/NAME", NULL},
    {verb_migrate, "migrate web --to vmi/web", 2, "expected a node", NULL},
    {verb_get, "get nodes node/alpha", 0, "Ready", NULL},
    {verb_get, "get nodes vmi/web", 2, "is a guest; expected a node", NULL},
    {verb_get, "get vmi/web web", 2, "names an object already", NULL},
    {verb_get, "get vmi/web -A", 2, "-A excludes a NAME", NULL},
    {verb_check, "check shop/till", 2, "a namespace is given with -n: till -n shop", NULL},
    {verb_get, "get vmi/", 2, "the name is empty", NULL},
    /* What cannot be done, and what can instead. */
    {verb_delete, "delete guest web", 2, "undefine it with virsh", NO_API_PATH},
    {verb_delete, "delete node alpha", 2, "remove it from the configuration", NO_API_PATH},
    {verb_delete, "delete pod x", 2, "a pod goes with its guest", NO_API_PATH},
    {verb_delete, "delete incident x", 2, "`ferry ack x`", NO_API_PATH},
    {verb_migrate, "migrate gpu", 1, "`ferry check gpu -n default`", "later"},
    {verb_migrate, "migrate web --to beta", 1, "`ferry check web -n default`", "later"},
    {verb_ack, "ack nothing", 1, "`ferry get inc -A` lists the names", "KIND"},
    {verb_ack, "ack nothing", 1, "no open incident 'nothing' in namespace default",
     "virtualmachine"},
    {verb_reload, "reload", 1, "simulation", "later"},
    {verb_explain, "explain --all --state /nonexistent", 1, "--state DIR", "KIND"},
    {verb_replay, "replay x --state /nonexistent", 1, "--state DIR", "KIND"},
    {verb_drain, "drain alpha --deadline 5", 2, "not a duration", NULL},
    /* The forecast of a check, and its exit status. */
    {verb_check, "check web", 0, "Migratable:   yes, to alpha", NULL},
    {verb_check, "check busy --measure=1s", 5, "can start, to beta; expected to end in abort",
     "Migratable:   yes"},
    /* Rules with links that a pager's laptop reaches. */
    {verb_rules, "rules --external-url https://f.example.org/x/", 0,
     "runbook_url: 'https://f.example.org/x/runbooks/FerryDown'", "http://"},
    {verb_rules, "rules fleet --external-url https://f.example.org", 0,
     "\"https://f.example.org/migration/${__data.fields.namespace}", "fields.instance}/"},
    {verb_rules, "rules grafana-datasource --external-url https://f.example.org", 0,
     "url: https://f.example.org/migration/default/$${__value.raw}", NULL},
    {verb_rules, "rules --external-url ftp://x", 2, "is not a URL", NULL},
    {verb_rules, "rules prometheus.yaml --external-url https://x", 1, "did you mean", NULL},
    {verb_rules, "rules --config /nonexistent", 1, "--external-url URL", NULL},
    /* Empty lists. */
    {verb_get, "get vmim", 0, "No resources found in default namespace.\n", NULL},
    {verb_get, "get vmim -A", 0, "No resources found\n", "namespace"},
    {verb_get, "get drains", 0, "No resources found\n", "namespace"},
};

static void wait_for_guests(void)
{
    char out[4096];
    for (int i = 0; i < 100; i++) {
        if (run(verb_get, "get guests till -n shop", out, sizeof out) == EXIT_DONE)
            return;
        clock_sleep_ms(50);
    }
    fail_msg("the guests never appeared");
}

static void wrong_names_options_and_orders_get_a_hint_that_leads_on(void **state)
{
    (void)state;
    struct appliance a;
    unsigned wrong = 0;
    start(&a, fleet);
    wait_for_guests();
    for (size_t i = 0; i < COUNT(stories); i++) {
        const struct story *story = &stories[i];
        static char out[1 << 20];
        char words[256];
        (void)snprintf(words, sizeof words, "ferry_%s", story->words);
        int status = run_all(story->verb, words, out, sizeof out);
        bool fits = status == story->status && strstr(out, story->prints) != NULL &&
                    (story->never == NULL || strstr(out, story->never) == NULL);
        if (!fits)
            print_error("ferry %s: status %d, expected %d and '%s', never '%s':\n%s\n",
                        story->words, status, story->status, story->prints,
                        story->never != NULL ? story->never : "", out);
        wrong += !fits;
    }
    assert_int_equal(wrong, 0);
    stop(&a);
}

/* A verb that is called by the name of another could not be asked for. */
static void a_verb_is_called_what_the_table_calls_it(void **state)
{
    (void)state;
    static const struct {
        const char *id, *name;
    } rows[] = {
#define VERB(id, name, arguments, help) {#id, name},
#include "cli/common/verbs.def"
#undef VERB
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char name[32];
        TEXT_SET(name, rows[i].id);
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '_' ? '-' : *c;
        assert_string_equal(rows[i].name, name);
    }
}

static void exit_statuses_of_errors_are_in_the_table(void **state)
{
    (void)state;
    for (enum err_code code = ERR_NONE; code < ERR_COUNT; code++)
        assert_non_null(cli_exit_help(err_exit_status(code)));
    assert_non_null(cli_exit_help(EXIT_INTERRUPTED));
    assert_null(cli_exit_help(77));
}

TEST_FILE(test_cli_habits)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_names_options_and_orders_get_a_hint_that_leads_on),
        cmocka_unit_test(a_verb_is_called_what_the_table_calls_it),
        cmocka_unit_test(exit_statuses_of_errors_are_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
