/* test_recovery_ways.c - by which order a broken post-copy is resumed: not by one that ends the
 * target's libvirtd, not a second time by one after which a daemon ended; and how Ferry comes to
 * know the port that the other way needs. */
#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "engine/data/recovery.h"
#include "hypervisor/versions.h"
#include "tests/core_move.h"
#include "tests/core_restart.h"

enum { PORT = 49190, KILLS = 11003000, FINE = 9000000 };

static void know_hosts(struct core_world *w, unsigned long target_version)
{
    struct node *target = core_node(w, "h2");
    TEXT_SET(target->host.migration_host, "10.0.0.2");
    target->facts.libvirt_version = target_version;
    target->has_facts = true;
}

/* port 0: libvirt chose it, nobody knows it. */
static struct core_world *broken(unsigned long target_version, unsigned port)
{
    struct core_world *w = core_in_postcopy();
    know_hosts(w, target_version);
    core_job(w)->stream.port = port;
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    core_advance(w, 500);
    return w;
}

static void arrives(struct core_world *w)
{
    w->source = CORE_ABSENT;
    w->target = CORE_ARRIVED;
    core_advance(w, 3000);
    core_expect(w, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, GUEST_AT_TARGET);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_RECOVERED);
    assert_int_equal(core_open_intents(w), 0);
    core_clean(w);
}

static void lose(struct core_world *w, const char *host, enum hv_lost how)
{
    struct input input = {.kind = INPUT_HOST, .of.connected = false};
    TEXT_SET(input.host, host);
    err_set(&input.err, ERR_UNREACHABLE, "connection lost");
    input.err.hv_code = (int)how;
    core_feed(w, &input);
    core_settle(w);
}

static void exhausted(struct core_world *w, const char *why)
{
    const struct job *job = core_job(w);
    assert_int_equal(job->recovery.state, RECOVERY_EXHAUSTED);
    if (strstr(job->wait.reason, why) == NULL)
        fail_msg("'%s' does not say '%s'", job->wait.reason, why);
    assert_int_equal(core_count_events(w, "PostCopyNotRecovered", why), 1);
}

static void a_target_that_dies_of_resume_is_recovered_through_the_source_s_monitor(void **state)
{
    (void)state;
    struct core_world *w = broken(KILLS, PORT);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 1);
    const struct effect *order = core_newest(w, HV_CALL_RESUME_STREAM);
    assert_string_equal(order->of.act.node, "h1");
    assert_string_equal(order->of.act.migrate.target, "h2");
    assert_int_equal(order->of.act.migrate.port, PORT);
    core_answers(w, HV_CALL_RESUME_STREAM, ERR_NONE);
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_flow(w, 20000);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 1);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    arrives(w);
    core_free(w);
}

static void a_monitor_s_refusal_is_followed_by_another_try_soon(void **state)
{
    (void)state;
    struct core_world *w = broken(KILLS, PORT);
    core_answers(w, HV_CALL_RESUME_STREAM, ERR_HYPERVISOR); /* QEMU does not know yet */
    core_advance(w, 2000);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 2);
    core_free(w);
}

/* Accepted is not connected: the same states say that it did not work. */
static void an_accepted_order_that_changed_nothing_is_given_again(void **state)
{
    (void)state;
    struct core_world *w = broken(KILLS, PORT);
    core_answers(w, HV_CALL_RESUME_STREAM, ERR_NONE);
    core_advance(w, RECOVERY_AGAIN_MS + 2000);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 2);
    core_free(w);
}

static void without_the_port_a_target_that_dies_of_resume_is_left_to_an_operator(void **state)
{
    (void)state;
    struct core_world *w = broken(KILLS, 0);
    core_advance(w, 600000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE) + core_orders(w, HV_CALL_RESUME_STREAM), 0);
    exhausted(w, "h2 has libvirt 11.3.0: the target's libvirtd crashes with signal 11");
    exhausted(w, "the port for the monitor's command is not known");

    assert_true(core_override(w, RESOLVE_RECOVER)); /* a word does not make it safe */
    core_advance(w, 600000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 0);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_EXHAUSTED);
    core_free(w);
}

/* On the port that was chosen, once: that port may be what makes it fail. */
static void a_target_without_the_quirk_is_resumed_by_libvirt(void **state)
{
    (void)state;
    struct core_world *w = broken(FINE, PORT);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 0);
    assert_int_equal(core_newest(w, HV_CALL_MIGRATE)->of.act.migrate.port, PORT);
    assert_int_equal(core_job(w)->stream.port, PORT);
    core_answers(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, RECOVERY_AGAIN_MS + 2000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
    assert_int_equal(core_newest(w, HV_CALL_MIGRATE)->of.act.migrate.port, 0);
    assert_int_equal(core_job(w)->stream.port, 0); /* it listens elsewhere now */
    core_free(w);
}

/* The target's daemon ends a second after the order, and is back a second later. */
static void daemon_dies(struct core_world *w, const char *host, enum hv_lost how)
{
    core_advance(w, 1000);
    if (strcmp(host, "h2") == 0)
        w->target = CORE_BLIND;
    else
        w->source = CORE_BLIND;
    lose(w, host, how);
    core_returns(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, 1000);
    w->source = CORE_PC_BROKEN_SOURCE;
    w->target = CORE_PC_BROKEN_TARGET;
    core_connect(w, host, true);
    core_list(w, host);
    core_advance(w, 10000);
}

/* After a restart, or when its daemon was replaced by another version. */
static void nothing_is_tried_before_the_target_said_which_libvirt_it_has(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    know_hosts(w, FINE);
    core_breaks(w, CORE_PC_BROKEN_SOURCE, CORE_PC_BROKEN_TARGET);
    unsigned tries = core_orders(w, HV_CALL_MIGRATE);
    w->hides_version = true;
    core_restart(w, 1000);
    core_advance(w, 20000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 0);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_WAITING);
    know_hosts(w, KILLS);
    core_node(w, "h2")->facts_fresh = true;
    core_advance(w, 5000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), tries);
    assert_int_equal(core_job(w)->recovery.state, RECOVERY_EXHAUSTED);
    core_free(w);
}

static void an_order_after_which_a_daemon_ended_is_not_given_again(void **state)
{
    (void)state;
    static const char *const hosts[] = {"h1", "h2"};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct core_world *w = broken(FINE, 0);
        daemon_dies(w, hosts[i], HV_LOST_CLOSED);
        core_advance(w, 600000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
        assert_int_equal(core_count_events(w, "DaemonEnded", hosts[i]), 1);
        exhausted(w, "a libvirtd ended right after the last attempt by libvirt");

        core_restart(w, 1000); /* nor by the next process */
        know_hosts(w, FINE);
        core_advance(w, 600000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
        assert_int_equal(core_job(w)->recovery.state, RECOVERY_EXHAUSTED);

        assert_true(core_override(w, RESOLVE_RECOVER)); /* until somebody decides */
        core_advance(w, 1000);
        assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
        core_free(w);
    }
}

/* libvirt's attempt names the same port: QEMU listens there before and after it. */
static void a_daemon_that_dies_of_libvirt_s_attempt_leaves_the_monitor_s_command(void **state)
{
    (void)state;
    struct core_world *w = broken(FINE, PORT);
    daemon_dies(w, "h2", HV_LOST_CLOSED);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 1);
    assert_int_equal(core_newest(w, HV_CALL_RESUME_STREAM)->of.act.migrate.port, PORT);
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_answers(w, HV_CALL_RESUME_STREAM, ERR_NONE);
    arrives(w);
    core_free(w);
}

/* A second attempt of libvirt's took another port, which nobody knows. */
static void after_two_attempts_by_libvirt_the_first_port_is_not_used(void **state)
{
    (void)state;
    struct core_world *w = broken(FINE, PORT);
    core_answers(w, HV_CALL_MIGRATE, ERR_HYPERVISOR);
    core_advance(w, RECOVERY_AGAIN_MS + 2000);
    daemon_dies(w, "h2", HV_LOST_CLOSED);
    core_advance(w, 60000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
    assert_int_equal(core_orders(w, HV_CALL_RESUME_STREAM), 0);
    exhausted(w, "the port for the monitor's command is not known");
    core_free(w);
}

/* The order was out when Ferry ended, and no daemon answers the next one. */
static void a_daemon_that_died_while_ferry_was_restarted_is_noticed(void **state)
{
    (void)state;
    struct core_world *w = broken(FINE, 0);
    core_restart_blind(w, 500);
    lose(w, "h2", HV_LOST_CLOSED); /* connection refused */
    core_connect(w, "h1", true);
    core_list(w, "h1");
    w->target = CORE_BLIND;
    core_advance(w, 3000);
    w->target = CORE_PC_BROKEN_TARGET;
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_advance(w, 60000);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    assert_int_equal(core_count_events(w, "DaemonEnded", "h2"), 1);
    core_free(w);
}

/* A path that is cut, or a daemon that hangs, was not ended by the order. */
static void silence_is_no_death(void **state)
{
    (void)state;
    struct core_world *w = broken(FINE, 0);
    daemon_dies(w, "h2", HV_LOST_SILENT);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 2);
    assert_int_equal(core_count_events(w, "DaemonEnded", NULL), 0);
    core_free(w);
}

/* An order may wait for its turn at the host, and then for libvirt's lock. */
static void a_daemon_that_ends_while_the_order_is_out_was_ended_by_it(void **state)
{
    (void)state;
    struct core_world *w = broken(FINE, 0);
    core_advance(w, 40000);
    daemon_dies(w, "h2", HV_LOST_CLOSED);
    assert_int_equal(core_orders(w, HV_CALL_MIGRATE), 1);
    assert_int_equal(core_count_events(w, "DaemonEnded", "h2"), 1);
    core_free(w);
}

static void a_daemon_that_ends_long_after_the_answer_was_not_ended_by_the_order(void **state)
{
    (void)state;
    struct core_world *w = broken(KILLS, PORT);
    core_answers(w, HV_CALL_RESUME_STREAM, ERR_NONE);
    w->source = CORE_PC_SOURCE;
    w->target = CORE_PC_TARGET;
    core_flow(w, RECOVERY_DEATH_MS + 2000); /* it runs */
    w->target = CORE_BLIND;
    lose(w, "h2", HV_LOST_CLOSED);
    core_advance(w, 1000);
    w->source = CORE_PC_BROKEN_SOURCE;
    w->target = CORE_PC_BROKEN_TARGET;
    core_connect(w, "h2", true);
    core_list(w, "h2");
    core_advance(w, 10000);
    assert_int_equal(core_count_events(w, "DaemonEnded", NULL), 0);
    assert_true(core_orders(w, HV_CALL_RESUME_STREAM) > 1);
    core_free(w);
}

/* ---- the port ---- */

static struct core_world *migrates_to(unsigned long version, bool post_copy, const char *address)
{
    struct core_world *w = core_new();
    TEXT_SET(core_node(w, "h2")->host.migration_host, address);
    core_node(w, "h2")->facts.libvirt_version = version;
    assert_true(core_put(w, OBJECT_POLICY, "p",
                         post_copy ? "{\"selectors\":{},\"allowPostCopy\":true}"
                                   : "{\"selectors\":{},\"allowPostCopy\":false}"));
    core_create(w);
    return w;
}

static struct core_world *migrates(bool post_copy, const char *address)
{
    return migrates_to(KILLS, post_copy, address);
}

static void a_port_is_chosen_where_a_post_copy_could_break(void **state)
{
    (void)state;
    struct core_world *w = migrates(true, "10.0.0.2");
    assert_true(w->last.port >= (HV_PORT_MIN + HV_PORT_MAX + 1) / 2 && w->last.port < HV_PORT_MAX);
    assert_int_equal(core_job(w)->stream.port, w->last.port);
    core_restart(w, 1000);
    assert_int_equal(core_job(w)->stream.port, w->last.port);
    core_free(w);

    w = migrates(false, "10.0.0.2");
    assert_int_equal(w->last.port, 0);
    core_free(w);
    w = migrates(true, ""); /* libvirt decides where the memory goes: it takes no port alone */
    assert_int_equal(w->last.port, 0);
    core_free(w);
    w = migrates_to(FINE, true, "10.0.0.2"); /* a second way, should libvirt's own resume fail */
    assert_int_not_equal(w->last.port, 0);
    core_free(w);
    w = migrates(true, "h2"); /* a name: it listens on all addresses, where they are free */
    assert_int_equal(w->last.port, 0);
    core_free(w);
}

static void fails_in_prepare(struct core_world *w, int hv_code, int hv_domain)
{
    struct input input = {.kind = INPUT_CALL, .id = w->migrate_id, .of.call = HV_CALL_MIGRATE};
    TEXT_SET(input.guest, CORE_GUEST);
    err_set(&input.err, ERR_HYPERVISOR, "Address already in use");
    input.err.hv_code = hv_code;
    input.err.hv_domain = hv_domain;
    core_feed(w, &input);
    core_settle(w);
    core_advance(w, 5000);
}

/* It may be needed again: a stream that is resumed must not reach another guest. */
static void the_port_of_an_unfinished_migration_is_given_to_no_other(void **state)
{
    (void)state;
    struct core_world *w = core_in_postcopy();
    know_hosts(w, FINE);
    enum { FIRST = (HV_PORT_MIN + HV_PORT_MAX + 1) / 2 };
    core_job(w)->stream.port = FIRST;
    core_node(w, "h2")->next_port = 0;
    fleet_apply_observation(w->fleet, core_node(w, "h2"), CORE_GUEST, &CORE_PC_TARGET);
    assert_true(core_put(w, OBJECT_POLICY, "p", "{\"selectors\":{},\"allowPostCopy\":true}"));
    (void)core_add_guest(w, "g2", "h1", 64);
    assert_non_null(core_ask(w, "g2", &(struct core_request){.target = "h2"}));
    core_advance(w, 1000);
    assert_int_equal(w->last.port, FIRST + 1);
    core_free(w);
}

static void where_libvirt_s_resume_is_safe_a_taken_port_is_followed_by_libvirt_s(void **state)
{
    (void)state;
    struct core_world *w = migrates_to(FINE, true, "10.0.0.2");
    w->target = CORE_ABSENT;
    fails_in_prepare(w, 1, 10);
    assert_int_equal(w->migrates, 2);
    assert_int_equal(w->last.port, 0);
    fails_in_prepare(w, 1, 10);
    assert_int_equal(w->migrates, 2);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_port_that_is_taken_is_followed_by_another_and_then_by_libvirt_s(void **state)
{
    (void)state;
    struct core_world *w = migrates(true, "10.0.0.2");
    unsigned first = w->last.port;
    w->target = CORE_ABSENT;
    fails_in_prepare(w, 1, 10);
    assert_int_equal(w->migrates, 2);
    assert_int_not_equal(w->last.port, 0);
    assert_int_not_equal(w->last.port, first);
    fails_in_prepare(w, 1, 10);
    assert_int_equal(w->migrates, 3);
    assert_int_equal(w->last.port, 0);
    fails_in_prepare(w, 1, 10);
    assert_int_equal(w->migrates, 3);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

static void a_failure_that_is_not_the_port_s_is_final_at_once(void **state)
{
    (void)state;
    struct core_world *w = migrates(true, "10.0.0.2");
    w->target = CORE_ABSENT;
    fails_in_prepare(w, 9, 10); /* the CPU, say */
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);
}

/* "client socket is closed": the target's daemon may have died of the call. */
static void a_call_after_which_the_target_was_lost_is_not_made_again(void **state)
{
    (void)state;
    struct core_world *w = migrates(true, "10.0.0.2");
    w->target = CORE_ABSENT;
    fails_in_prepare(w, 1, 7);
    assert_int_equal(w->migrates, 1);
    core_expect(w, PHASE_FAILED, OUTCOME_FAILED, GUEST_AT_SOURCE);
    core_free(w);

    w = migrates(true, "10.0.0.2");
    lose(w, "h2", HV_LOST_CLOSED);
    core_connect(w, "h2", true);
    core_list(w, "h2");
    w->target = CORE_ABSENT;
    fails_in_prepare(w, 1, 10);
    assert_int_equal(w->migrates, 1);
    core_free(w);
}

TEST_FILE(test_recovery_ways)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_that_dies_of_resume_is_recovered_through_the_source_s_monitor),
        cmocka_unit_test(a_monitor_s_refusal_is_followed_by_another_try_soon),
        cmocka_unit_test(an_accepted_order_that_changed_nothing_is_given_again),
        cmocka_unit_test(without_the_port_a_target_that_dies_of_resume_is_left_to_an_operator),
        cmocka_unit_test(a_target_without_the_quirk_is_resumed_by_libvirt),
        cmocka_unit_test(nothing_is_tried_before_the_target_said_which_libvirt_it_has),
        cmocka_unit_test(an_order_after_which_a_daemon_ended_is_not_given_again),
        cmocka_unit_test(a_daemon_that_dies_of_libvirt_s_attempt_leaves_the_monitor_s_command),
        cmocka_unit_test(after_two_attempts_by_libvirt_the_first_port_is_not_used),
        cmocka_unit_test(a_daemon_that_died_while_ferry_was_restarted_is_noticed),
        cmocka_unit_test(silence_is_no_death),
        cmocka_unit_test(a_daemon_that_ends_while_the_order_is_out_was_ended_by_it),
        cmocka_unit_test(a_daemon_that_ends_long_after_the_answer_was_not_ended_by_the_order),
        cmocka_unit_test(a_port_is_chosen_where_a_post_copy_could_break),
        cmocka_unit_test(the_port_of_an_unfinished_migration_is_given_to_no_other),
        cmocka_unit_test(where_libvirt_s_resume_is_safe_a_taken_port_is_followed_by_libvirt_s),
        cmocka_unit_test(a_port_that_is_taken_is_followed_by_another_and_then_by_libvirt_s),
        cmocka_unit_test(a_failure_that_is_not_the_port_s_is_final_at_once),
        cmocka_unit_test(a_call_after_which_the_target_was_lost_is_not_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
