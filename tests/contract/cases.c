/* cases.c - the promises, one function each. See contract.h. */
#include <string.h>

#include "base/text.h"
#include "tests/contract/contract.h"

static const char stranger[] = "deadbeef-0000-4000-8000-000000000000";

enum { /* libvirt's numbers, the same in both implementations */
       NO_DOMAIN = 42,
       NOT_VALID = 55,
       FAILED = 9,
       DETAIL_MIGRATED = 1, /* of STARTED, SUSPENDED, RESUMED */
       DETAIL_STOPPED_MIGRATED = 3,
       DETAIL_RESUMED_POSTCOPY = 3,
       DETAIL_SUSPENDED_POSTCOPY = 7,
};

static struct contract_event lifecycle(const struct contract_world *w, const char *host,
                                       enum hv_lifecycle what, int detail)
{
    return (struct contract_event){host, w->guest, HV_EVENT_LIFECYCLE, (int)what, detail};
}

static bool expect_failure(struct contract_world *w, const struct hv_reply *reply,
                           enum err_code code, int hv_code)
{
    return reply != NULL &&
           contract_check(w, reply->err.code == code && reply->err.hv_code == hv_code,
                          "%s: %s, number %d instead of %s, number %d (%s)",
                          hv_call_name(reply->call), err_name(reply->err.code), reply->err.hv_code,
                          err_name(code), hv_code, reply->err.text);
}

/* Any number: an abort that races with a dying stream has many; the states decide. */
static bool expect_refusal(struct contract_world *w, const struct hv_reply *reply)
{
    return reply != NULL &&
           contract_check(w, reply->err.code == ERR_HYPERVISOR, "%s: %s (%s)",
                          hv_call_name(reply->call), err_name(reply->err.code), reply->err.text);
}

static bool expect_success(struct contract_world *w, const struct hv_reply *reply)
{
    return reply != NULL && contract_check(w, reply->err.code == ERR_NONE, "%s on %s failed: %s",
                                           hv_call_name(reply->call), reply->host, reply->err.text);
}

/* --- questions --- */

static bool every_host_connects(struct contract_world *w)
{
    for (int i = 0; i < 2; i++) {
        struct contract_event what = {w->hosts[i], NULL, HV_EVENT_CONNECTED, -1, -1};
        if (!contract_wait_event(w, 0, what))
            return false;
    }
    return true;
}

static bool facts_are_plausible(struct contract_world *w)
{
    for (int i = 0; i < 2; i++) {
        const struct hv_reply *reply = contract_call(w, HV_CALL_HOST_FACTS, w->hosts[i], "");
        if (!expect_success(w, reply))
            return false;
        const struct hv_facts *facts = &reply->with.facts;
        if (!contract_check(w, facts->hostname[0] != '\0' && facts->arch[0] != '\0', "no name") ||
            !contract_check(w, strlen(facts->uuid) == 36, "host uuid '%s'", facts->uuid) ||
            !contract_check(w, facts->cpus > 0 && facts->memory_kib > 0, "no size") ||
            !contract_check(w, facts->free_memory_kib <= facts->memory_kib, "more free than all") ||
            !contract_check(w, facts->libvirt_version >= 1000000, "libvirt version %lu",
                            facts->libvirt_version) ||
            !contract_check(w, facts->hypervisor_version >= 1000000, "QEMU version %lu",
                            facts->hypervisor_version))
            return false;
    }
    return true;
}

static bool hosts_differ(struct contract_world *w)
{
    const struct hv_reply *first = contract_call(w, HV_CALL_HOST_FACTS, w->hosts[0], "");
    const struct hv_reply *second = contract_call(w, HV_CALL_HOST_FACTS, w->hosts[1], "");
    return expect_success(w, first) && expect_success(w, second) &&
           contract_check(w, strcmp(first->with.facts.uuid, second->with.facts.uuid) != 0,
                          "both hosts have one uuid");
}

static const struct hv_guest *listed(const struct hv_guest_list *list, const char *uuid)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->guests[i].uuid, uuid) == 0)
            return &list->guests[i];
    return NULL;
}

static bool only_the_guests_host_lists_it(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    const struct hv_reply *here = contract_call(w, HV_CALL_LIST_GUESTS, source, "");
    const struct hv_reply *there = contract_call(w, HV_CALL_LIST_GUESTS, target, "");
    if (!expect_success(w, here) || !expect_success(w, there))
        return false;
    const struct hv_guest *guest = listed(here->with.guests, w->guest);
    return contract_check(w, guest != NULL, "%s does not list its guest", source) &&
           contract_check(w, listed(there->with.guests, w->guest) == NULL, "%s lists it too",
                          target) &&
           contract_check(w, guest->name[0] != '\0' && guest->ns[0] != '\0', "no name") &&
           contract_check(w, guest->memory_kib > 0 && guest->vcpus > 0, "no size") &&
           contract_check(w, guest->state == HV_STATE_RUNNING, "state %d", guest->state);
}

static bool expect_presence(struct contract_world *w, const char *host, const char *guest,
                            enum hv_presence presence, enum err_code code)
{
    const struct hv_reply *reply = contract_call(w, HV_CALL_DOMAIN_STATE, host, guest);
    return reply != NULL &&
           contract_check(w, reply->with.observation.presence == presence, "%s on %s is %s, not %s",
                          guest, host, hv_presence_name(reply->with.observation.presence),
                          hv_presence_name(presence)) &&
           contract_check(w, reply->err.code == code, "a state query with error '%s': %s",
                          err_name(reply->err.code), reply->err.text);
}

static bool absent_is_an_answer(struct contract_world *w)
{
    const char *source, *target;
    return contract_locate(w, w->guest, &source, &target) &&
           expect_presence(w, source, w->guest, HV_PRESENT, ERR_NONE) &&
           expect_presence(w, target, w->guest, HV_ABSENT, ERR_NONE) &&
           expect_presence(w, source, stranger, HV_ABSENT, ERR_NONE);
}

static bool unreachable_is_not_absent(struct contract_world *w)
{
    if (w->dead_host[0] == '\0')
        return true;
    const struct hv_reply *reply = contract_call(w, HV_CALL_HOST_FACTS, w->dead_host, "");
    return expect_presence(w, w->dead_host, w->guest, HV_UNREACHABLE, ERR_UNREACHABLE) &&
           reply != NULL &&
           contract_check(w, reply->err.code == ERR_UNREACHABLE, "facts of a dead host: %s",
                          err_name(reply->err.code));
}

static bool texts_are_xml(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    const struct {
        enum hv_call call;
        const char *root;
    } rows[] = {
        {HV_CALL_GUEST_XML, "<domain"},
        {HV_CALL_MIGRATABLE_XML, "<domain"},
        {HV_CALL_CAPABILITIES, "<capabilities"},
        {HV_CALL_DOMAIN_CAPABILITIES, "<domainCapabilities"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct hv_reply *reply = contract_call(w, rows[i].call, source, w->guest);
        if (!expect_success(w, reply) ||
            !contract_check(w, reply->with.text != NULL && strstr(reply->with.text, rows[i].root),
                            "%s: no %s in it", hv_call_name(rows[i].call), rows[i].root))
            return false;
    }
    const struct hv_reply *reply = contract_call(w, HV_CALL_GUEST_XML, source, stranger);
    return expect_failure(w, reply, ERR_NOT_FOUND, NO_DOMAIN);
}

static bool every_request_gets_one_reply_with_its_id(struct contract_world *w)
{
    enum { N = 24 };
    const enum hv_call calls[] = {HV_CALL_DOMAIN_STATE, HV_CALL_HOST_FACTS, HV_CALL_JOB_STATS,
                                  HV_CALL_MIGRATABLE_XML};
    uint64_t ids[N];
    for (size_t i = 0; i < N; i++) {
        ids[i] = contract_ask(w, calls[i % COUNT(calls)], w->hosts[i % 2], w->guest);
        if (ids[i] == 0)
            return false;
    }
    for (size_t i = 0; i < N; i++) {
        const struct hv_reply *reply = contract_answer(w, ids[i]);
        if (reply == NULL)
            return false;
        bool own = reply->call == calls[i % COUNT(calls)] &&
                   strcmp(reply->host, w->hosts[i % 2]) == 0 && strcmp(reply->guest, w->guest) == 0;
        bool ordered = reply->queued_ms <= reply->began_ms && reply->began_ms <= reply->ended_ms;
        if (!contract_check(w, own, "a reply that belongs to another request") ||
            !contract_check(w, ordered, "a reply out of time"))
            return false;
    }
    contract_pause(w, 300);
    for (size_t i = 0; i < N; i++)
        if (!contract_check(w, contract_answers(w, ids[i]) == 1, "%u replies to one request",
                            contract_answers(w, ids[i])))
            return false;
    return true;
}

static bool an_unknown_host_is_refused_at_once(struct contract_world *w)
{
    struct err err = {0};
    struct hv_request request = {.call = HV_CALL_HOST_FACTS, .host = "no-such-host"};
    if (!contract_check(w, contract_submit(w, &request, &err) == 0 && err.code == ERR_NOT_FOUND,
                        "an unknown host was taken"))
        return false;
    err = (struct err){0};
    request = (struct hv_request){.call = HV_CALL_MIGRATE};
    TEXT_SET(request.host, w->hosts[0]);
    TEXT_SET(request.guest, w->guest);
    TEXT_SET(request.with.migrate.target, "no-such-host");
    return contract_check(w, contract_submit(w, &request, &err) == 0 && err.code == ERR_NOT_FOUND,
                          "an unknown target was taken");
}

static bool lanes_count_their_calls(struct contract_world *w)
{
    struct hv_lane_status before, after, none;
    bool known = hv_lane_status(w->hv, w->hosts[0], HV_LANE_OBSERVE, &before);
    if (!contract_check(w, known, "no status of a lane") ||
        contract_call(w, HV_CALL_DOMAIN_STATE, w->hosts[0], w->guest) == NULL)
        return false;
    contract_pause(w, 50); /* counted just after the reply is given */
    known = hv_lane_status(w->hv, w->hosts[0], HV_LANE_OBSERVE, &after);
    return contract_check(w, known && after.calls > before.calls, "a call was not counted") &&
           contract_check(w, !hv_lane_status(w->hv, "no-such-host", HV_LANE_OBSERVE, &none),
                          "an unknown host has a lane");
}

/* --- orders without a migration --- */

static bool suspend_and_resume(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    size_t mark = contract_mark(w);
    return expect_success(w, contract_call(w, HV_CALL_SUSPEND, source, w->guest)) &&
           contract_wait_state(w, source, w->guest, "paused(user)") &&
           contract_wait_event(w, mark, lifecycle(w, source, HV_LIFECYCLE_SUSPENDED, 0)) &&
           expect_success(w, contract_call(w, HV_CALL_RESUME, source, w->guest)) &&
           contract_wait_state(w, source, w->guest, "running") &&
           contract_wait_event(w, mark, lifecycle(w, source, HV_LIFECYCLE_RESUMED, -1));
}

static bool without_a_job_statistics_and_abort_are_refused(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    const struct hv_reply *stats = contract_call(w, HV_CALL_JOB_STATS, source, w->guest);
    if (!expect_success(w, stats) || !contract_check(w, stats->with.stats.type == HV_JOB_NONE,
                                                     "a job of type %d", stats->with.stats.type))
        return false;
    return expect_failure(w, contract_call(w, HV_CALL_ABORT, source, w->guest), ERR_HYPERVISOR,
                          NOT_VALID) &&
           expect_failure(w, contract_call(w, HV_CALL_START_POSTCOPY, source, w->guest),
                          ERR_HYPERVISOR, NOT_VALID) &&
           contract_wait_state(w, source, w->guest, "running");
}

static const struct hv_reply *tune(struct contract_world *w, enum hv_call call, const char *host,
                                   uint64_t value)
{
    struct hv_request request = {.call = call, .with.tune.value = value};
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, w->guest);
    struct err err = {0};
    uint64_t id = contract_submit(w, &request, &err);
    (void)contract_check(w, id != 0, "%s was refused: %s", hv_call_name(call), err.text);
    return contract_answer(w, id);
}

static bool tuning_without_a_job_is_harmless(struct contract_world *w)
{
    const char *source, *target;
    return contract_locate(w, w->guest, &source, &target) &&
           tune(w, HV_CALL_SET_DOWNTIME, source, 300) != NULL &&
           tune(w, HV_CALL_SET_SPEED, source, 1000) != NULL &&
           contract_wait_state(w, source, w->guest, "running");
}

/* --- migrations --- */

static const struct hv_reply *try_to_move(struct contract_world *w, const char *host,
                                          const char *guest, const char *target)
{
    struct hv_request request = {.call = HV_CALL_MIGRATE};
    request.with.migrate.flags = HV_MIGRATE_UNSAFE;
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    TEXT_SET(request.with.migrate.target, target);
    struct err err = {0};
    uint64_t id = contract_submit(w, &request, &err);
    (void)contract_check(w, id != 0, "migrate was refused: %s", err.text);
    return contract_answer(w, id);
}

static bool an_unknown_guest_cannot_be_migrated(struct contract_world *w)
{
    return expect_failure(w, try_to_move(w, w->hosts[0], stranger, w->hosts[1]), ERR_NOT_FOUND,
                          NO_DOMAIN);
}

static bool a_name_in_use_on_the_target_refuses_a_migration(struct contract_world *w)
{
    const char *source, *target;
    if (w->twin[0] == '\0')
        return true;
    return contract_locate(w, w->twin, &source, &target) &&
           expect_failure(w, try_to_move(w, source, w->twin, target), ERR_HYPERVISOR, FAILED) &&
           contract_wait_state(w, source, w->twin, "running") &&
           expect_presence(w, target, w->twin, HV_ABSENT, ERR_NONE);
}

/* Polls until the call is back; passes and bytes only ever grow. */
static bool watch_statistics(struct contract_world *w, const char *source, uint64_t id)
{
    uint64_t iteration = 0, processed = 0;
    bool seen = false;
    while (!contract_has_answer(w, id)) {
        contract_pause(w, 100);
        const struct hv_reply *reply = contract_call(w, HV_CALL_JOB_STATS, source, w->guest);
        if (reply == NULL)
            return false;
        const struct hv_job_stats *stats = &reply->with.stats;
        bool counts = reply->err.code == ERR_NONE && stats->type == HV_JOB_UNBOUNDED &&
                      stats->memory_total > 0; /* else not begun, or over */
        if (!counts)
            continue;
        seen = true;
        if (!contract_check(w, stats->operation == HV_OPERATION_MIGRATION_OUT, "operation %d",
                            stats->operation) ||
            !contract_check(w, stats->memory_iteration >= iteration, "iteration %llu after %llu",
                            (unsigned long long)stats->memory_iteration,
                            (unsigned long long)iteration) ||
            !contract_check(w, stats->data_processed >= processed, "the number of bytes decreased"))
            return false;
        iteration = stats->memory_iteration;
        processed = stats->data_processed;
    }
    return contract_check(w, seen, "no statistics of a migration that took seconds");
}

/* Order is promised for each host; two hosts' events come by two connections. The first iteration
 * may have none: QEMU 11.1 begins with the second. */
static bool check_iterations(struct contract_world *w, size_t mark, const char *source)
{
    struct contract_event iteration = {source, w->guest, HV_EVENT_ITERATION, -1, -1};
    const struct hv_event *event;
    int passes = 0;
    size_t at = mark;
    while ((event = contract_find(w, at, iteration, &at)) != NULL) {
        passes = passes == 0 && event->a == 2 ? 2 : passes + 1;
        at++;
        if (!contract_check(w, event->a == passes, "iteration %d instead of %d", event->a, passes))
            return false;
    }
    return contract_check(w, passes >= 2, "%d iterations",
                          passes); /* the last is the switch-over's */
}

static bool check_source_events(struct contract_world *w, size_t mark, const char *source)
{
    size_t suspended, stopped, completed;
    struct contract_event done = {source, w->guest, HV_EVENT_JOB_COMPLETED, -1, -1};
    struct contract_event suspend = lifecycle(w, source, HV_LIFECYCLE_SUSPENDED, DETAIL_MIGRATED);
    struct contract_event stop =
        lifecycle(w, source, HV_LIFECYCLE_STOPPED, DETAIL_STOPPED_MIGRATED);
    if (!check_iterations(w, mark, source) ||
        !contract_check(w, contract_find(w, mark, suspend, &suspended) != NULL, "no suspend") ||
        !contract_check(w, contract_find(w, mark, stop, &stopped) != NULL, "no stop"))
        return false;
    const struct hv_event *event = contract_find(w, mark, done, &completed);
    return contract_check(w, event != NULL, "no final statistics") &&
           contract_check(w, suspended < stopped, "stopped before suspended") &&
           contract_check(w, suspended < completed, "completed before suspended") &&
           contract_check(w, event->stats.type == HV_JOB_COMPLETED, "final type %d",
                          event->stats.type) &&
           contract_check(w, event->stats.data_processed > 0, "final statistics are empty");
}

static bool check_target_events(struct contract_world *w, size_t mark, const char *target)
{
    size_t started, resumed;
    struct contract_event start = lifecycle(w, target, HV_LIFECYCLE_STARTED, DETAIL_MIGRATED);
    struct contract_event resume = lifecycle(w, target, HV_LIFECYCLE_RESUMED, DETAIL_MIGRATED);
    return contract_check(w, contract_find(w, mark, start, &started) != NULL, "no start") &&
           contract_check(w, contract_find(w, mark, resume, &resumed) != NULL, "no resume") &&
           contract_check(w, started < resumed, "resumed before it was started");
}

static bool a_guest_migrates_and_its_events_come_in_order(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    struct hv_migrate how = {.flags = HV_MIGRATE_UNSAFE, .bandwidth_mibs = CONTRACT_SLOW_MIBS * 4};
    uint64_t id = contract_move(w, source, target, how, &mark);
    if (id == 0 || !watch_statistics(w, source, id) || !expect_success(w, contract_answer(w, id)))
        return false;
    struct contract_event done = {source, w->guest, HV_EVENT_JOB_COMPLETED, -1, -1};
    return contract_wait_event(w, mark, done) &&
           contract_wait_event(w, mark, lifecycle(w, source, HV_LIFECYCLE_STOPPED, -1)) &&
           check_source_events(w, mark, source) && check_target_events(w, mark, target) &&
           contract_wait_state(w, target, w->guest, "running(migrated)") &&
           contract_wait_state(w, source, w->guest, "absent");
}

static bool completed_statistics_stay_on_the_target(struct contract_world *w)
{
    if (!a_guest_migrates_and_its_events_come_in_order(w))
        return false;
    const char *host, *other;
    if (!contract_locate(w, w->guest, &host, &other))
        return false;
    const struct hv_reply *reply = contract_call(w, HV_CALL_COMPLETED_STATS, host, w->guest);
    return expect_success(w, reply) &&
           contract_check(w, reply->with.stats.type == HV_JOB_COMPLETED, "type %d",
                          reply->with.stats.type) &&
           expect_failure(w, contract_call(w, HV_CALL_COMPLETED_STATS, other, w->guest),
                          ERR_NOT_FOUND, NO_DOMAIN);
}

/* Stops the migration and checks that the guest is at home. */
static bool call_off(struct contract_world *w, const char *source, const char *target, uint64_t id)
{
    return expect_success(w, contract_call(w, HV_CALL_ABORT, source, w->guest)) &&
           expect_refusal(w, contract_answer(w, id)) &&
           contract_wait_state(w, source, w->guest, "running") &&
           contract_wait_state(w, target, w->guest, "absent");
}

static uint64_t move_slowly(struct contract_world *w, const char **out_source,
                            const char **out_target, size_t *out_mark)
{
    struct hv_migrate how = {.flags = HV_MIGRATE_UNSAFE, .bandwidth_mibs = CONTRACT_SLOW_MIBS};
    if (!contract_locate(w, w->guest, out_source, out_target))
        return 0;
    return contract_move(w, *out_source, *out_target, how, out_mark);
}

static bool abort_in_pre_copy_leaves_the_guest_on_the_source(struct contract_world *w)
{
    const char *source, *target;
    size_t mark, at;
    uint64_t id = move_slowly(w, &source, &target, &mark);
    struct contract_event done = {source, w->guest, HV_EVENT_JOB_COMPLETED, -1, -1};
    if (id == 0 || !contract_wait_state(w, target, w->guest, "paused(migration)") ||
        !call_off(w, source, target, id))
        return false;
    contract_pause(w, 300);
    return contract_check(w, contract_find(w, mark, done, &at) == NULL,
                          "an aborted migration was completed");
}

static bool a_second_migration_is_refused_and_the_first_continues(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    uint64_t id = move_slowly(w, &source, &target, &mark);
    return id != 0 &&
           expect_failure(w, try_to_move(w, source, w->guest, target), ERR_HYPERVISOR, NOT_VALID) &&
           contract_check(w, !contract_has_answer(w, id), "the first one ended") &&
           call_off(w, source, target, id);
}

static bool a_running_migration_can_be_tuned(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    uint64_t id = move_slowly(w, &source, &target, &mark);
    if (id == 0 || !expect_success(w, tune(w, HV_CALL_SET_SPEED, source, 4)) ||
        !expect_success(w, tune(w, HV_CALL_SET_DOWNTIME, source, 500)))
        return false;
    const struct hv_reply *reply = tune(w, HV_CALL_SET_DOWNTIME, source, 2000001);
    return reply != NULL &&
           contract_check(w, reply->err.code == ERR_HYPERVISOR, "a downtime beyond all limits") &&
           contract_check(w, !contract_has_answer(w, id), "it ended meanwhile") &&
           call_off(w, source, target, id);
}

static bool post_copy_requires_its_flag(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    uint64_t id = move_slowly(w, &source, &target, &mark);
    return id != 0 &&
           expect_failure(w, contract_call(w, HV_CALL_START_POSTCOPY, source, w->guest),
                          ERR_HYPERVISOR, NOT_VALID) &&
           call_off(w, source, target, id);
}

static bool post_copy_switches_over_and_then_finishes(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    struct hv_migrate how = {.flags = HV_MIGRATE_UNSAFE | HV_MIGRATE_POSTCOPY,
                             .bandwidth_mibs = CONTRACT_SLOW_MIBS,
                             .postcopy_bandwidth_mibs = CONTRACT_SLOW_MIBS};
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    uint64_t id = contract_move(w, source, target, how, &mark);
    return id != 0 &&
           expect_success(w, contract_call(w, HV_CALL_START_POSTCOPY, source, w->guest)) &&
           contract_wait_event(
               w, mark, lifecycle(w, source, HV_LIFECYCLE_SUSPENDED, DETAIL_SUSPENDED_POSTCOPY)) &&
           contract_wait_event(
               w, mark, lifecycle(w, target, HV_LIFECYCLE_RESUMED, DETAIL_RESUMED_POSTCOPY)) &&
           expect_failure(w, contract_call(w, HV_CALL_ABORT, source, w->guest), ERR_HYPERVISOR,
                          NOT_VALID) &&
           expect_success(w, contract_answer(w, id)) &&
           contract_wait_state(w, target, w->guest, "running(migrated)") &&
           contract_wait_state(w, source, w->guest, "absent");
}

static bool a_paused_guest_arrives_paused(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target) ||
        !expect_success(w, contract_call(w, HV_CALL_SUSPEND, source, w->guest)))
        return false;
    const struct hv_reply *moved = try_to_move(w, source, w->guest, target);
    return expect_success(w, moved) && contract_wait_state(w, target, w->guest, "paused(user)") &&
           contract_wait_state(w, source, w->guest, "absent") &&
           expect_success(w, contract_call(w, HV_CALL_RESUME, target, w->guest)) &&
           contract_wait_state(w, target, w->guest, "running");
}

const struct contract_case contract_cases[] = {
    {"every host connects", every_host_connects},
    {"facts are plausible", facts_are_plausible},
    {"hosts differ", hosts_differ},
    {"only the guest's host lists it", only_the_guests_host_lists_it},
    {"absent is an answer", absent_is_an_answer},
    {"unreachable is not absent", unreachable_is_not_absent},
    {"texts are XML", texts_are_xml},
    {"every request gets one reply with its id", every_request_gets_one_reply_with_its_id},
    {"an unknown host is refused at once", an_unknown_host_is_refused_at_once},
    {"lanes count their calls", lanes_count_their_calls},
    {"suspend and resume", suspend_and_resume},
    {"without a job statistics and abort are refused",
     without_a_job_statistics_and_abort_are_refused},
    {"tuning without a job is harmless", tuning_without_a_job_is_harmless},
    {"an unknown guest cannot be migrated", an_unknown_guest_cannot_be_migrated},
    {"a name in use on the target refuses a migration",
     a_name_in_use_on_the_target_refuses_a_migration},
    {"a guest migrates and its events come in order",
     a_guest_migrates_and_its_events_come_in_order},
    {"completed statistics stay on the target", completed_statistics_stay_on_the_target},
    {"abort in pre-copy leaves the guest on the source",
     abort_in_pre_copy_leaves_the_guest_on_the_source},
    {"a second migration is refused and the first continues",
     a_second_migration_is_refused_and_the_first_continues},
    {"a running migration can be tuned", a_running_migration_can_be_tuned},
    {"post-copy requires its flag", post_copy_requires_its_flag},
    {"post-copy switches over and then finishes", post_copy_switches_over_and_then_finishes},
    {"a paused guest arrives paused", a_paused_guest_arrives_paused},
    {"capabilities are plausible and stay", contract_offers_are_plausible_and_stay},
    {"both hosts offer the guest's machine", contract_both_hosts_offer_the_guests_machine},
    {"only a persistent guest has a persistent definition",
     contract_only_a_persistent_guest_is_stored},
    {"a mark travels with the guest", contract_a_mark_travels_with_the_guest},
    {"autostart is set and does not move along", contract_autostart_is_set_and_does_not_move_along},
    {"a guest has its settings", contract_a_guest_says_what_it_asks_for},
    {"an edited guest sends an event", contract_an_edited_guest_is_told},
    {"snapshots are counted and prevent a migration",
     contract_snapshots_are_told_and_stop_a_migration},
    {"a missing location is reported", contract_a_place_that_is_not_there_is_told},
    {"a disk is found, with its size, only on the host that has it",
     contract_a_disk_is_found_only_where_it_is},
    {"a disk it does not have is refused", contract_a_disk_it_does_not_have_is_refused},
    {"a paused post-copy is resumed", contract_a_paused_post_copy_is_taken_up},
    {"a broken post-copy is resumed", contract_a_broken_post_copy_is_taken_up},
    {"a broken post-copy is reconnected to its port",
     contract_a_broken_post_copy_is_connected_again_at_its_port},
    {"a post-copy that is not broken is not resumed", contract_what_is_not_broken_is_not_taken_up},
    {"a yanked guest stays on the source", contract_a_yanked_guest_stays_at_home},
    {"only an incoming copy is dropped", contract_only_an_incoming_copy_is_dropped},
    {"a host without a helper refuses", contract_a_host_without_a_helper_says_so},
    {"a path is probed by a helper only", contract_a_path_is_probed_by_a_helper_only},
    {"a dirty rate is measured", contract_a_dirty_rate_is_measured},
    {"a guest suspended during migration runs on the target",
     contract_a_guest_suspended_on_its_way_runs_where_it_arrives},
    {"packed and tunnelled guests arrive", contract_packed_and_tunnelled_guests_arrive},
    {"a guest can be shut down", contract_a_guest_can_be_asked_to_go},
};
const size_t contract_case_count = COUNT(contract_cases);
