/* test_admission.c - what is refused, with which words and in which order; see admission.h.
 *
 * KubeVirt's refusals that have no place here: sendTo and receive (a migration between clusters)
 * are fields the API does not know; labels that select the job are not used to find it. That a
 * spec cannot be changed is the API's: there is no request that would.
 */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/control/admission.h"
#include "engine/model/job/backoff.h"
#include "tests/core_world.h"

/* ---- how the world is before the request ---- */

static void nothing(struct core_world *w)
{
    (void)w;
}

static void shut_off(struct core_world *w)
{
    core_guest(w, "g1")->is.state = HV_STATE_SHUTOFF;
    core_list(w, "h1");
}

static void crashed(struct core_world *w)
{
    core_guest(w, "g1")->is.state = HV_STATE_CRASHED;
    core_list(w, "h1");
}

static void has_host_device(struct core_world *w)
{
    struct migratable *m = &core_guest(w, "g1")->facts.migratable;
    m->known = true;
    m->rows = 1U << UNMOVABLE_HOST_DEVICE | 1U << UNMOVABLE_SEV;
    core_define(w, "g1");
}

static void shut_off_with_host_device(struct core_world *w)
{
    has_host_device(w);
    shut_off(w);
}

static void moves_already(struct core_world *w)
{
    assert_non_null(core_ask(w, "g1", &(struct core_request){.name = "first"}));
}

static void moves_and_got_a_host_device(struct core_world *w)
{
    moves_already(w);
    has_host_device(w);
}

static void has_a_double(struct core_world *w)
{
    struct core_guest *twin = core_add_guest(w, "g1", "h2", 64);
    assert_int_not_equal(strcmp(twin->is.uuid, CORE_GUEST), 0);
}

static void cannot_store(struct core_world *w)
{
    w->fleet->store_ok = false;
}

static void alone(struct core_world *w) /* the only host there is */
{
    struct fleet_config config = core_config();
    struct err err = {0};
    fleet_free(w->fleet);
    w->fleet = fleet_new(&config, 7, &err);
    assert_non_null(w->fleet);
    w->n_hosts = 0;
    core_add_host(w, "h1");
}

static void nowhere(struct core_world *w) /* it left its host and nobody has it */
{
    core_guest(w, "g1")->host[0] = '\0';
    core_list(w, "h1");
}

/* Its migration broke in post-copy and the half on the target died. */
static void lost_half_of_itself(struct core_world *w)
{
    const struct job *job = core_ask(w, "g1", &(struct core_request){.name = "first"});
    assert_non_null(job);
    TEXT_SET(w->job, job->uid);
    core_sample(w);
    w->source = CORE_BROKEN;
    w->target = CORE_ABSENT;
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 5000);
    core_expect(w, PHASE_FAILED, OUTCOME_IRRECOVERABLE, GUEST_AT_BROKEN);
    core_guest(w, "g1")->is.state = HV_STATE_PAUSED;
    core_guest(w, "g1")->is.reason = HV_PAUSED_POSTCOPY_FAILED;
    core_list(w, "h1");
}

/* ---- the table ---- */

#define FINAL "Cannot migrate VMI in finalized state."
#define HOST_DEVICE                                                      \
    "Cannot migrate VMI, Reason: HostDeviceNotLiveMigratable, Message: " \
    "VMI specifies non-migratable generic PCI host device"
#define IN_FLIGHT                                                                                  \
    "in-flight migration detected. Active migration job (first) is currently already in progress " \
    "for VMI g1."
#define NO_CLASS                                                                                \
    "spec.priority: 'urgent' is not a priority class; valid: system-critical, user-triggered, " \
    "system-maintenance, none"
#define HALF                                                                                    \
    "Cannot migrate VMI g1: migration first broke in post-copy and left the guest incomplete, " \
    "paused(postcopy-failed) on h1; destroy that domain and start the guest anew first"
#define NO_STORE "the store is not writable; no new objects are accepted"

static const struct {
    const char *guest;
    void (*before)(struct core_world *);
    struct core_request request;
    enum err_code code;
    const char *text;
} refusals[] = {
    /* KubeVirt's own, in its order */
    {"", nothing, {0}, ERR_UNPROCESSABLE, "vmiName is missing"},
    {"g1", nothing, {.priority = "urgent"}, ERR_UNPROCESSABLE, NO_CLASS},
    {"nobody", nothing, {0}, ERR_NOT_FOUND, "the VMI \"default/nobody\" does not exist"},
    {"g1", nothing, {.ns = "prod"}, ERR_NOT_FOUND, "the VMI \"prod/g1\" does not exist"},
    {"g1", shut_off, {0}, ERR_REFUSED, FINAL},
    {"g1", crashed, {0}, ERR_REFUSED, FINAL},
    {"g1", has_host_device, {0}, ERR_REFUSED, HOST_DEVICE},
    {"g1", moves_already, {0}, ERR_REFUSED, IN_FLIGHT},
    /* two at once: the first of them is told */
    {"", cannot_store, {0}, ERR_IO, NO_STORE},
    {"", nothing, {.priority = "urgent"}, ERR_UNPROCESSABLE, "vmiName is missing"},
    {"nobody", nothing, {.priority = "urgent"}, ERR_UNPROCESSABLE, NO_CLASS},
    {"g1", shut_off_with_host_device, {0}, ERR_REFUSED, FINAL},
    {"g1", moves_and_got_a_host_device, {0}, ERR_REFUSED, HOST_DEVICE},
    {"g1", moves_already, {.target = "h9"}, ERR_REFUSED, IN_FLIGHT},
    /* Ferry's */
    {"g1", lost_half_of_itself, {0}, ERR_REFUSED, HALF},
    {"g1", lost_half_of_itself, {.target = "h9"}, ERR_REFUSED, HALF},
    {"g1", nowhere, {0}, ERR_NOT_FOUND, "the VMI \"default/g1\" does not exist"},
    {"g1",
     has_a_double,
     {0},
     ERR_REFUSED,
     "2 guests with different UUIDs have the name \"default/g1\"; rename one of them"},
    {"g1",
     nothing,
     {.target = "h9"},
     ERR_UNPROCESSABLE,
     "target node \"h9\" is not configured; valid: h2"},
    {"g1", nothing, {.target = "h1"}, ERR_REFUSED, "the guest is already on node h1"},
    {"g1", cannot_store, {0}, ERR_IO, NO_STORE},
    {"g1",
     nothing,
     {.name = "Not_A_Name"},
     ERR_UNPROCESSABLE,
     "metadata.name: 'Not_A_Name' is not a name: lower case letters, digits, '-' and '.', up to "
     "253"},
};

static void every_refusal_has_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct core_world *w = core_new();
        refusals[i].before(w);
        core_settle(w);
        unsigned jobs = HASH_COUNT(w->fleet->jobs);
        assert_null(core_ask(w, refusals[i].guest, &refusals[i].request));
        assert_string_equal(w->err.text, refusals[i].text);
        assert_string_equal(err_name(w->err.code), err_name(refusals[i].code));
        assert_int_equal(HASH_COUNT(w->fleet->jobs), jobs);
        core_ledger(w);
        core_free(w);
    }
}

/* The same request a moment later: what was refused was refused for its reason alone. */
static void a_refused_request_is_admitted_once_its_reason_is_gone(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    shut_off(w);
    assert_null(core_ask(w, "g1", NULL));
    core_guest(w, "g1")->is.state = HV_STATE_RUNNING;
    core_list(w, "h1");
    has_host_device(w);
    assert_null(core_ask(w, "g1", NULL));
    core_guest(w, "g1")->facts.migratable.rows = 0;
    core_define(w, "g1");
    cannot_store(w);
    assert_null(core_ask(w, "g1", NULL));
    w->fleet->store_ok = true;
    assert_non_null(core_ask(w, "g1", NULL));
    core_free(w);
}

/* Each state in which half a guest can be found, and those in which it is whole again. */
static void half_a_guest_stays_until_it_is_started_anew(void **state)
{
    (void)state;
    static const struct {
        int state, reason;
        bool is_half;
    } rows[] = {{HV_STATE_PAUSED, HV_PAUSED_POSTCOPY_FAILED, true},
                {HV_STATE_PAUSED, HV_PAUSED_POSTCOPY, true},
                {HV_STATE_RUNNING, HV_RUNNING_POSTCOPY_FAILED, true},
                {HV_STATE_PAUSED, HV_PAUSED_USER, false},
                {HV_STATE_RUNNING, HV_RUNNING_BOOTED, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        lost_half_of_itself(w);
        core_guest(w, "g1")->is.state = rows[i].state;
        core_guest(w, "g1")->is.reason = rows[i].reason;
        core_list(w, "h1");
        assert_int_equal(core_ask(w, "g1", NULL) == NULL, rows[i].is_half);
        core_free(w);
    }
    struct core_world *w = core_new(); /* broken by somebody else's hand: libvirt has the word */
    core_guest(w, "g1")->is.state = HV_STATE_PAUSED;
    core_guest(w, "g1")->is.reason = HV_PAUSED_POSTCOPY_FAILED;
    core_list(w, "h1");
    assert_non_null(core_ask(w, "g1", NULL));
    core_free(w);
}

static void a_fleet_of_one_host_has_nowhere_to_go(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    alone(w);
    assert_null(core_ask(w, "g1", NULL));
    assert_string_equal(w->err.text, "node h1 is the only node; there is no target to migrate to");
    core_free(w);
}

static void a_definition_nobody_has_read_is_no_reason_to_refuse(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_false(fleet_guest(w->fleet, CORE_GUEST)->owner->migratable.known);
    assert_non_null(core_ask(w, "g1", NULL));
    core_free(w);
}

static void a_selector_must_be_a_map_of_labels(void **state)
{
    (void)state;
    static const char *const bad[] = {"[]",
                                      "\"zone\"",
                                      "{\"zone\":1}",
                                      "{\"zone\":[\"a\"]}",
                                      "{\"bad key\":\"a\"}",
                                      "{\"zone\":\"not a value!\"}",
                                      "{"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct core_world *w = core_new();
        assert_null(core_ask(w, "g1", &(struct core_request){.selector = bad[i]}));
        assert_non_null(strstr(w->err.text, "spec.addedNodeSelector"));
        assert_int_equal(HASH_COUNT(w->fleet->jobs), 0);
        core_free(w);
    }
    struct core_world *w = core_new();
    assert_non_null(core_ask(w, "g1", &(struct core_request){.selector = "{}"}));
    core_free(w);
}

static void a_name_that_is_taken_is_refused_even_by_a_job_that_has_ended(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    moves_already(w);
    core_fails(w, "g1");
    assert_null(core_ask(w, "g1", &(struct core_request){.name = "first"}));
    assert_int_equal(w->err.code, ERR_EXISTS);
    assert_string_equal(w->err.text,
                        "virtualmachineinstancemigrations.kubevirt.io \"first\" already exists");
    core_free(w);
}

static void a_guest_never_has_two_unfinished_jobs(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_connect(w, "h2", false);
    for (int i = 0; i < 3; i++)
        (void)core_ask(w, "g1", NULL);
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 1);
    core_abort_asked(w, "g1");
    assert_non_null(core_ask(w, "g1", NULL)); /* final is final: the next may come at once */
    core_free(w);
}

static void the_default_priority_of_a_request_is_user_triggered(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        enum priority is;
    } rows[] = {{"", PRIORITY_USER_TRIGGERED},
                {"system-critical", PRIORITY_SYSTEM_CRITICAL},
                {"user-triggered", PRIORITY_USER_TRIGGERED},
                {"system-maintenance", PRIORITY_SYSTEM_MAINTENANCE},
                {"none", PRIORITY_DEFAULT}};
    assert_int_equal(COUNT(rows), PRIORITY_COUNT + 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        const struct job *job = core_ask(w, "g1", &(struct core_request){.priority = rows[i].said});
        assert_non_null(job);
        assert_int_equal(job->request.priority, rows[i].is);
        assert_int_equal(job->request.origin, ORIGIN_HUMAN);
        core_free(w);
    }
}

static void a_dry_run_says_what_would_be_and_keeps_nothing(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_null(core_ask(w, "g1", &(struct core_request){.dry_run = true}));
    assert_int_equal(w->err.code, ERR_NONE);
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 0);
    assert_int_equal(w->asks.jobs, 0);
    assert_null(core_ask(w, "nobody", &(struct core_request){.dry_run = true}));
    assert_int_equal(w->err.code, ERR_NOT_FOUND);
    core_free(w);
}

/* ---- jobs that Ferry makes by itself ---- */

static struct job *automatic(struct core_world *w)
{
    w->err = (struct err){0};
    struct job *job = admission_automatic(
        w->fleet, fleet_guest(w->fleet, CORE_GUEST),
        (struct automatic_request){ORIGIN_EVACUATION, PRIORITY_SYSTEM_CRITICAL, "ferry", "auto-"},
        w->now, &w->fx, &w->err);
    core_settle(w);
    return job;
}

static void automatic_jobs_end_after_ten_failures_in_a_row(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    for (unsigned i = 0; i < BACKOFF_ATTEMPTS_MAX; i++) {
        assert_non_null(automatic(w));
        core_advance(w, 330000); /* the longest wait */
        core_fails(w, "g1");
        fleet_prune_jobs(w->fleet, CORE_GUEST); /* only five stay in view */
    }
    assert_null(automatic(w));
    assert_string_equal(w->err.text, "10 automatic migrations of default/g1 failed in a row");
    assert_non_null(core_ask(w, "g1", NULL)); /* a human still may ask, and success resets it */
    core_arrives(w, "g1");
    assert_non_null(automatic(w));
    core_free(w);
}

static void automatic_jobs_are_refused_like_a_human_s(void **state)
{
    (void)state;
    static const struct {
        void (*before)(struct core_world *);
        const char *text;
    } rows[] = {{shut_off, FINAL},
                {has_host_device, HOST_DEVICE},
                {moves_already, IN_FLIGHT},
                {lost_half_of_itself, HALF},
                {cannot_store, NO_STORE}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        rows[i].before(w);
        assert_null(automatic(w));
        assert_string_equal(w->err.text, rows[i].text);
        core_free(w);
    }
}

static void an_evacuation_remembers_the_node_it_leaves(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    const struct job *job = automatic(w);
    assert_non_null(job);
    assert_string_equal(job->request.evacuates, "h1");
    assert_int_equal(strncmp(job->name, "auto-", 5), 0);
    core_free(w);
}

TEST_FILE(test_admission)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refusal_has_its_words),
        cmocka_unit_test(a_refused_request_is_admitted_once_its_reason_is_gone),
        cmocka_unit_test(half_a_guest_stays_until_it_is_started_anew),
        cmocka_unit_test(a_fleet_of_one_host_has_nowhere_to_go),
        cmocka_unit_test(a_definition_nobody_has_read_is_no_reason_to_refuse),
        cmocka_unit_test(a_selector_must_be_a_map_of_labels),
        cmocka_unit_test(a_name_that_is_taken_is_refused_even_by_a_job_that_has_ended),
        cmocka_unit_test(a_guest_never_has_two_unfinished_jobs),
        cmocka_unit_test(the_default_priority_of_a_request_is_user_triggered),
        cmocka_unit_test(a_dry_run_says_what_would_be_and_keeps_nothing),
        cmocka_unit_test(automatic_jobs_end_after_ten_failures_in_a_row),
        cmocka_unit_test(automatic_jobs_are_refused_like_a_human_s),
        cmocka_unit_test(an_evacuation_remembers_the_node_it_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
