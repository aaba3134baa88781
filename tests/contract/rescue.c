/* rescue.c - the contract for failures: a broken post-copy is resumed, a stuck stream can be
 * broken, a copy that is not incoming is never dropped; and the rarer ways to move. */
#include <string.h>

#include "base/text.h"
#include "hypervisor/versions.h"
#include "tests/contract/contract.h"

static const char stranger[] = "deadbeef-0000-4000-8000-000000000000";

enum { /* libvirt's numbers */
       NO_DOMAIN = 42,
       NOT_VALID = 55,
       UNSUPPORTED_CONFIG = 67,
       UNSUPPORTED = 84,
       DETAIL_RESUMED_POSTCOPY = 3,
       DETAIL_RESUMED_POSTCOPY_FAILED = 4,
       DETAIL_SUSPENDED_POSTCOPY_FAILED = 8,
};

static bool expect(struct contract_world *w, const struct hv_reply *reply, enum err_code code,
                   int hv_code)
{
    return reply != NULL &&
           contract_check(w, reply->err.code == code && reply->err.hv_code == hv_code,
                          "%s: %s, number %d instead of %s, number %d (%s)",
                          hv_call_name(reply->call), err_name(reply->err.code), reply->err.hv_code,
                          err_name(code), hv_code, reply->err.text);
}

static bool expect_done(struct contract_world *w, const struct hv_reply *reply)
{
    return expect(w, reply, ERR_NONE, 0);
}

/* Of a stream that broke; the number may be any. */
static bool expect_failed(struct contract_world *w, const struct hv_reply *reply)
{
    return reply != NULL &&
           contract_check(w, reply->err.code == ERR_HYPERVISOR, "%s: %s (%s)",
                          hv_call_name(reply->call), err_name(reply->err.code), reply->err.text);
}

static const struct hv_reply *ask_with(struct contract_world *w, struct hv_request request,
                                       const char *host, const char *guest)
{
    struct err err = {0};
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    uint64_t id = contract_submit(w, &request, &err);
    return contract_check(w, id != 0, "%s was refused: %s", hv_call_name(request.call), err.text)
               ? contract_answer(w, id)
               : NULL;
}

static bool at_home(struct contract_world *w, const char *source, const char *target)
{
    return contract_wait_state(w, source, w->guest, "running") &&
           contract_wait_state(w, target, w->guest, "absent");
}

static bool arrived(struct contract_world *w, const char *source, const char *target)
{
    return contract_wait_state(w, target, w->guest, "running(migrated)") &&
           contract_wait_state(w, source, w->guest, "absent");
}

/* --- post-copy --- */

static uint64_t begin_postcopy_at(struct contract_world *w, unsigned port, const char **out_source,
                                  const char **out_target, size_t *out_mark)
{
    struct hv_migrate how = {.flags = HV_MIGRATE_UNSAFE | HV_MIGRATE_POSTCOPY,
                             .port = port,
                             .bandwidth_mibs = CONTRACT_SLOW_MIBS,
                             .postcopy_bandwidth_mibs = CONTRACT_SLOW_MIBS / 2};
    if (!contract_locate(w, w->guest, out_source, out_target))
        return 0;
    uint64_t id = contract_move(w, *out_source, *out_target, how, out_mark);
    struct contract_event resumed = {*out_target, w->guest, HV_EVENT_LIFECYCLE,
                                     HV_LIFECYCLE_RESUMED, DETAIL_RESUMED_POSTCOPY};
    bool begun = id != 0 &&
                 expect_done(w, contract_call(w, HV_CALL_START_POSTCOPY, *out_source, w->guest)) &&
                 contract_wait_event(w, *out_mark, resumed);
    return begun ? id : 0;
}

static uint64_t begin_postcopy(struct contract_world *w, const char **out_source,
                               const char **out_target, size_t *out_mark)
{
    return begin_postcopy_at(w, 0, out_source, out_target, out_mark);
}

static bool both_halves_failed(struct contract_world *w, size_t mark, const char *source,
                               const char *target)
{
    struct contract_event suspended = {source, w->guest, HV_EVENT_LIFECYCLE, HV_LIFECYCLE_SUSPENDED,
                                       DETAIL_SUSPENDED_POSTCOPY_FAILED};
    struct contract_event resumed = {target, w->guest, HV_EVENT_LIFECYCLE, HV_LIFECYCLE_RESUMED,
                                     DETAIL_RESUMED_POSTCOPY_FAILED};
    return contract_wait_event(w, mark, suspended) && contract_wait_event(w, mark, resumed) &&
           contract_wait_state(w, source, w->guest, "paused(postcopy-failed)") &&
           contract_wait_state(w, target, w->guest, "running(postcopy-failed)");
}

/* Is the host without that quirk of versions? */
static bool is_free_of(struct contract_world *w, const char *host, enum hv_quirk quirk)
{
    const struct hv_reply *reply = contract_call(w, HV_CALL_HOST_FACTS, host, "");
    return reply != NULL && !hv_quirk_of(quirk, reply->with.facts.libvirt_version,
                                         reply->with.facts.hypervisor_version);
}

/* libvirt of some versions does not bear to be asked. */
static bool bears_resume(struct contract_world *w, const char *target)
{
    return is_free_of(w, target, HV_QUIRK_RESUME_KILLS_TARGET);
}

static const struct hv_reply *take_up(struct contract_world *w, const char *source,
                                      const char *target)
{
    struct hv_request request = {.call = HV_CALL_MIGRATE};
    request.with.migrate.flags = HV_MIGRATE_UNSAFE | HV_MIGRATE_POSTCOPY | HV_MIGRATE_RESUME;
    request.with.migrate.postcopy_bandwidth_mibs = (uint64_t)CONTRACT_SLOW_MIBS * 4;
    TEXT_SET(request.with.migrate.target, target);
    return ask_with(w, request, source, w->guest);
}

/* Both sides say that it failed, and still QEMU may believe that it runs: then it is tried again.
 */
static bool is_taken_up(struct contract_world *w, const char *source, const char *target)
{
    for (int tries = 0; tries < 30; tries++) {
        const struct hv_reply *reply = take_up(w, source, target);
        bool too_early = reply != NULL && reply->err.hv_code == NOT_VALID;
        if (!too_early)
            return expect_done(w, reply) && arrived(w, source, target);
        contract_pause(w, 1000);
    }
    return contract_check(w, false, "it is refused for ever");
}

bool contract_a_paused_post_copy_is_taken_up(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    if (!contract_locate(w, w->guest, &source, &target) || !bears_resume(w, target))
        return w->failure[0] == '\0';
    uint64_t id = begin_postcopy(w, &source, &target, &mark);
    struct hv_request pause = {.call = HV_CALL_ABORT, .with.tune.postcopy = true};
    return id != 0 && expect_done(w, ask_with(w, pause, source, w->guest)) &&
           expect_failed(w, contract_answer(w, id)) &&
           both_halves_failed(w, mark, source, target) && is_taken_up(w, source, target);
}

bool contract_a_broken_post_copy_is_taken_up(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    if (w->break_stream == NULL)
        return true;
    if (!contract_locate(w, w->guest, &source, &target) || !bears_resume(w, target))
        return w->failure[0] == '\0';
    uint64_t id = begin_postcopy(w, &source, &target, &mark);
    return id != 0 &&
           contract_check(w, w->break_stream(w->ctx, source, w->guest), "it did not break") &&
           expect_failed(w, contract_answer(w, id)) &&
           both_halves_failed(w, mark, source, target) && is_taken_up(w, source, target);
}

static const struct hv_reply *connect_again(struct contract_world *w, const char *source,
                                            const char *target, unsigned port)
{
    struct hv_request request = {.call = HV_CALL_RESUME_STREAM};
    request.with.migrate.port = port;
    TEXT_SET(request.with.migrate.target, target);
    return ask_with(w, request, source, w->guest);
}

/* QEMU may not know yet that the stream is dead, and accepting is not connecting. */
static bool is_connected_again(struct contract_world *w, const char *source, const char *target,
                               unsigned port)
{
    for (int tries = 0; tries < 30; tries++) {
        const struct hv_reply *reply = connect_again(w, source, target, port);
        if (reply == NULL)
            return false;
        struct hv_request faster = {.call = HV_CALL_SET_SPEED,
                                    .with.tune = {.value = 64, .postcopy = true}};
        if (reply->err.code == ERR_NONE)
            return contract_wait_state(w, target, w->guest, "running(postcopy)") &&
                   expect_done(w, ask_with(w, faster, source, w->guest)) &&
                   arrived(w, source, target);
        if (!expect(w, reply, ERR_HYPERVISOR, NOT_VALID))
            return false;
        contract_pause(w, 1000);
    }
    return contract_check(w, false, "it is refused for ever");
}

bool contract_a_broken_post_copy_is_connected_again_at_its_port(struct contract_world *w)
{
    enum { PORT = 49200 };
    const char *source, *target;
    size_t mark;
    if (w->break_stream == NULL)
        return true;
    if (!contract_locate(w, w->guest, &source, &target) ||
        !expect(w, connect_again(w, source, target, PORT), ERR_HYPERVISOR, NOT_VALID) ||
        !at_home(w, source, target)) /* nothing is broken: refused, and nothing happens */
        return false;
    uint64_t id = begin_postcopy_at(w, PORT, &source, &target, &mark);
    return id != 0 &&
           contract_check(w, w->break_stream(w->ctx, source, w->guest), "it did not break") &&
           expect_failed(w, contract_answer(w, id)) &&
           both_halves_failed(w, mark, source, target) &&
           is_connected_again(w, source, target, PORT);
}

bool contract_what_is_not_broken_is_not_taken_up(struct contract_world *w)
{
    const char *source, *target;
    size_t mark;
    if (!contract_locate(w, w->guest, &source, &target) || !bears_resume(w, target))
        return w->failure[0] == '\0';
    if (!contract_locate(w, w->guest, &source, &target) ||
        !expect(w, take_up(w, source, target), ERR_HYPERVISOR, NOT_VALID) ||
        !at_home(w, source, target))
        return false;
    uint64_t id = begin_postcopy(w, &source, &target, &mark);
    struct hv_request faster = {.call = HV_CALL_SET_SPEED,
                                .with.tune = {.value = 64, .postcopy = true}};
    return id != 0 && expect(w, take_up(w, source, target), ERR_HYPERVISOR, NOT_VALID) &&
           expect_done(w, ask_with(w, faster, source, w->guest)) &&
           expect_done(w, contract_answer(w, id)) && arrived(w, source, target);
}

/* --- streams that are broken on purpose --- */

static uint64_t begin_move(struct contract_world *w, const char **out_source,
                           const char **out_target)
{
    size_t mark;
    struct hv_migrate how = {.flags = HV_MIGRATE_UNSAFE, .bandwidth_mibs = CONTRACT_SLOW_MIBS};
    if (!contract_locate(w, w->guest, out_source, out_target))
        return 0;
    uint64_t id = contract_move(w, *out_source, *out_target, how, &mark);
    return contract_wait_state(w, *out_target, w->guest, "paused(migration)") ? id : 0;
}

bool contract_a_yanked_guest_stays_at_home(struct contract_world *w)
{
    const char *source, *target;
    uint64_t id = begin_move(w, &source, &target);
    return id != 0 && expect_done(w, contract_call(w, HV_CALL_YANK, source, w->guest)) &&
           expect_failed(w, contract_answer(w, id)) && at_home(w, source, target) &&
           expect(w, contract_call(w, HV_CALL_YANK, source, w->guest), ERR_HYPERVISOR, NOT_VALID) &&
           expect(w, contract_call(w, HV_CALL_YANK, source, stranger), ERR_NOT_FOUND, NO_DOMAIN) &&
           at_home(w, source, target);
}

bool contract_only_an_incoming_copy_is_dropped(struct contract_world *w)
{
    const char *source, *target;
    uint64_t id = begin_move(w, &source, &target);
    return id != 0 &&
           expect(w, contract_call(w, HV_CALL_JOB_STATS, target, w->guest), ERR_HYPERVISOR,
                  UNSUPPORTED) && /* that is how an incoming copy is known */
           expect(w, contract_call(w, HV_CALL_DROP_COPY, source, w->guest), ERR_HYPERVISOR,
                  NOT_VALID) &&
           contract_check(w, !contract_has_answer(w, id), "the migration ended") &&
           expect_done(w, contract_call(w, HV_CALL_DROP_COPY, target, w->guest)) &&
           expect_failed(w, contract_answer(w, id)) && at_home(w, source, target) &&
           expect(w, contract_call(w, HV_CALL_DROP_COPY, source, w->guest), ERR_HYPERVISOR,
                  NOT_VALID) &&
           expect(w, contract_call(w, HV_CALL_DROP_COPY, target, w->guest), ERR_NOT_FOUND,
                  NO_DOMAIN) &&
           expect_done(w, contract_call(w, HV_CALL_SUSPEND, source, w->guest)) &&
           expect(w, contract_call(w, HV_CALL_DROP_COPY, source, w->guest), ERR_HYPERVISOR,
                  NOT_VALID) &&
           expect_done(w, contract_call(w, HV_CALL_RESUME, source, w->guest)) &&
           at_home(w, source, target);
}

bool contract_a_host_without_a_helper_says_so(struct contract_world *w)
{
    const struct hv_reply *reply = contract_call(w, HV_CALL_KILL_STREAM, w->hosts[0], w->guest);
    return expect(w, reply, ERR_HYPERVISOR, 0) &&
           contract_check(w, strstr(reply->err.text, "helper") != NULL, "it said '%s'",
                          reply->err.text);
}

bool contract_a_path_is_probed_by_a_helper_only(struct contract_world *w)
{
    struct hv_request probe = {.call = HV_CALL_PROBE_PATH};
    TEXT_SET(probe.with.peer, w->hosts[1]);
    const struct hv_reply *reply = ask_with(w, probe, w->hosts[0], w->guest);
    return expect(w, reply, ERR_HYPERVISOR, 0) &&
           contract_check(w, strstr(reply->err.text, "helper") != NULL, "it said '%s'",
                          reply->err.text);
}

/* --- the rest --- */

bool contract_a_dirty_rate_is_measured(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    struct hv_request ask = {.call = HV_CALL_MEASURE_DIRTY, .with.tune.value = 1};
    const struct hv_reply *reply = ask_with(w, ask, source, w->guest);
    if (!expect_done(w, reply) ||
        !contract_check(w, reply->ended_ms - reply->began_ms >= 900, "it took no second") ||
        !contract_check(w, reply->with.dirty_bps < UINT64_C(1) << 30, "more than all its memory"))
        return false;
    ask.with.tune.value = 61;
    return expect(w, ask_with(w, ask, source, w->guest), ERR_HYPERVISOR, UNSUPPORTED_CONFIG) &&
           expect(w, ask_with(w, ask, source, stranger), ERR_NOT_FOUND, NO_DOMAIN);
}

/* The user's pause is lost: whoever cares must give it again. */
bool contract_a_guest_suspended_on_its_way_runs_where_it_arrives(struct contract_world *w)
{
    const char *source, *target;
    uint64_t id = begin_move(w, &source, &target);
    return id != 0 && expect_done(w, contract_call(w, HV_CALL_SUSPEND, source, w->guest)) &&
           expect_done(w, contract_answer(w, id)) && arrived(w, source, target);
}

bool contract_packed_and_tunnelled_guests_arrive(struct contract_world *w)
{
    static const unsigned ways[] = {HV_MIGRATE_XBZRLE, HV_MIGRATE_TUNNELLED, HV_MIGRATE_MT};
    bool mt =
        is_free_of(w, w->hosts[0], HV_QUIRK_NO_MT) && is_free_of(w, w->hosts[1], HV_QUIRK_NO_MT);
    for (size_t i = 0; i < COUNT(ways) - !mt; i++) {
        const char *source, *target;
        size_t mark;
        if (!contract_locate(w, w->guest, &source, &target))
            return false;
        struct hv_migrate how = {.flags = HV_MIGRATE_UNSAFE | ways[i]};
        uint64_t id = contract_move(w, source, target, how, &mark);
        if (id == 0 || !expect_done(w, contract_answer(w, id)) || !arrived(w, source, target))
            return false;
    }
    return true;
}
