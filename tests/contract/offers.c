/* offers.c - more promises: what a host offers, what is stored of a guest, shutting it down. */
#include <string.h>

#include "base/text.h"
#include "hypervisor/definition.h"
#include "tests/contract/contract.h"

static const char stranger[] = "deadbeef-0000-4000-8000-000000000000";

enum { NO_DOMAIN = 42, NOT_VALID = 55 }; /* libvirt's numbers */

static bool expect(struct contract_world *w, const struct hv_reply *reply, enum err_code code,
                   int hv_code)
{
    return reply != NULL &&
           contract_check(w, reply->err.code == code && reply->err.hv_code == hv_code,
                          "%s: %s, number %d instead of %s, number %d (%s)",
                          hv_call_name(reply->call), err_name(reply->err.code), reply->err.hv_code,
                          err_name(code), hv_code, reply->err.text);
}

static bool offers_machine(const struct hv_capabilities *offer, const struct hv_definition *guest)
{
    for (size_t i = 0; i < offer->n_machines; i++)
        if (strcmp(offer->machines[i].arch, guest->arch) == 0 &&
            strcmp(offer->machines[i].name, guest->machine) == 0)
            return true;
    return false;
}

static bool is_plausible(struct contract_world *w, const struct hv_capabilities *offer)
{
    for (size_t i = 0; i < offer->n_pages; i++)
        if (!contract_check(w, offer->pages[i].free <= offer->pages[i].total,
                            "more free pages than pages in total"))
            return false;
    return contract_check(w, offer->machines_known && offer->n_machines > 0, "no machines") &&
           contract_check(w, offer->networks_known || offer->n_networks == 0, "unknown networks") &&
           contract_check(w, offer->bridges_known || offer->n_bridges == 0, "unknown links") &&
           contract_check(w, offer->pools_known || offer->n_pools == 0, "unknown pools") &&
           contract_check(w, offer->hash != 0, "no hash");
}

bool contract_offers_are_plausible_and_stay(struct contract_world *w)
{
    for (int i = 0; i < 2; i++) {
        const struct hv_reply *first = contract_call(w, HV_CALL_HOST_CAPABILITIES, w->hosts[i], "");
        if (!expect(w, first, ERR_NONE, 0) || !is_plausible(w, first->with.capabilities))
            return false;
        const struct hv_reply *again = contract_call(w, HV_CALL_HOST_CAPABILITIES, w->hosts[i], "");
        if (!expect(w, again, ERR_NONE, 0) ||
            !contract_check(w, first->with.capabilities->hash == again->with.capabilities->hash,
                            "%s offers something else every time", w->hosts[i]))
            return false;
    }
    if (w->dead_host[0] == '\0')
        return true;
    const struct hv_reply *dead = contract_call(w, HV_CALL_HOST_CAPABILITIES, w->dead_host, "");
    return dead != NULL && contract_check(w, dead->err.code == ERR_UNREACHABLE, "a dead host: %s",
                                          err_name(dead->err.code));
}

/* What runs on both hosts must not be refused by either. */
bool contract_both_hosts_offer_the_guests_machine(struct contract_world *w)
{
    const char *source, *target;
    struct hv_definition *definition = calloc(1, sizeof *definition);
    if (definition == NULL || !contract_locate(w, w->guest, &source, &target)) {
        free(definition);
        return false;
    }
    struct err err = {0};
    const struct hv_reply *xml = contract_call(w, HV_CALL_GUEST_XML, source, w->guest);
    bool holds =
        expect(w, xml, ERR_NONE, 0) &&
        contract_check(w, hv_definition_parse(xml->with.text, definition, &err), "%s", err.text) &&
        contract_check(w, definition->cpu_hash != 0, "its CPU has no number");
    for (int i = 0; i < 2 && holds; i++) {
        const struct hv_reply *reply = contract_call(w, HV_CALL_HOST_CAPABILITIES, w->hosts[i], "");
        holds = expect(w, reply, ERR_NONE, 0) &&
                contract_check(w, offers_machine(reply->with.capabilities, definition),
                               "%s does not offer %s", w->hosts[i], definition->machine);
    }
    free(definition);
    return holds;
}

bool contract_only_a_persistent_guest_is_stored(struct contract_world *w)
{
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target) ||
        !expect(w, contract_call(w, HV_CALL_GUEST_XML_STORED, source, w->guest), ERR_NOT_FOUND,
                0) ||
        !expect(w, contract_call(w, HV_CALL_GUEST_XML_STORED, source, stranger), ERR_NOT_FOUND,
                NO_DOMAIN))
        return false;
    if (w->persistent[0] == '\0')
        return true;
    const struct hv_reply *reply =
        contract_call(w, HV_CALL_GUEST_XML_STORED, w->hosts[0], w->persistent);
    return expect(w, reply, ERR_NONE, 0) &&
           contract_check(w, strstr(reply->with.text, w->persistent) != NULL, "another guest's");
}

static const struct hv_guest *find(const struct hv_guest_list *list, const char *uuid)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->guests[i].uuid, uuid) == 0)
            return &list->guests[i];
    return NULL;
}

bool contract_a_guest_says_what_it_asks_for(struct contract_world *w)
{
    if (w->persistent[0] == '\0')
        return true;
    const struct hv_reply *reply = contract_call(w, HV_CALL_LIST_GUESTS, w->hosts[0], "");
    if (!expect(w, reply, ERR_NONE, 0))
        return false;
    const struct hv_guest *plain = find(reply->with.guests, w->twin);
    const struct hv_guest *guest = find(reply->with.guests, w->persistent);
    return contract_check(w, plain == NULL || (plain->settings == NULL && plain->labels == NULL),
                          "a guest that asks for nothing") &&
           contract_check(w, guest != NULL && guest->persistent, "no persistent guest") &&
           contract_check(w, text_equal(guest->labels, "{\"app\":\"contract\"}"), "labels %s",
                          guest->labels != NULL ? guest->labels : "none") &&
           contract_check(w, text_equal(guest->settings, "{\"evictionStrategy\":\"LiveMigrate\"}"),
                          "settings %s", guest->settings != NULL ? guest->settings : "none");
}

bool contract_an_edited_guest_is_told(struct contract_world *w)
{
    if (w->persistent[0] == '\0' || w->edit == NULL)
        return true;
    size_t mark = contract_mark(w);
    struct contract_event changed = {w->hosts[0], w->persistent, HV_EVENT_CHANGED, -1, -1};
    return contract_check(w, w->edit(w->ctx, w->hosts[0], w->persistent), "it cannot be edited") &&
           contract_wait_event(w, mark, changed);
}

static bool keeps_snapshots(struct contract_world *w, const char *guest, int n)
{
    const struct hv_reply *reply = contract_call(w, HV_CALL_GUEST_XML, w->hosts[0], guest);
    return expect(w, reply, ERR_NONE, 0) &&
           contract_check(w, reply->snapshots == n, "%d snapshots, not %d", reply->snapshots, n);
}

bool contract_snapshots_are_told_and_stop_a_migration(struct contract_world *w)
{
    const char *guest = w->persistent;
    if (guest[0] == '\0')
        return true;
    if (!keeps_snapshots(w, guest, 0))
        return false;
    if (w->snapshot == NULL)
        return true;
    struct err err = {0};
    struct hv_request move = {.call = HV_CALL_MIGRATE};
    TEXT_SET(move.host, w->hosts[0]);
    TEXT_SET(move.guest, guest);
    TEXT_SET(move.with.migrate.target, w->hosts[1]);
    if (!contract_check(w, w->snapshot(w->ctx, w->hosts[0], guest, true), "no snapshot taken") ||
        !keeps_snapshots(w, guest, 1))
        return false;
    uint64_t id = contract_submit(w, &move, &err);
    return contract_check(w, id != 0, "%s", err.text) &&
           expect(w, contract_answer(w, id), ERR_HYPERVISOR, NOT_VALID) &&
           contract_check(w, w->snapshot(w->ctx, w->hosts[0], guest, false), "it stays") &&
           keeps_snapshots(w, guest, 0);
}

static const struct hv_reply *set_autostart(struct contract_world *w, const char *host,
                                            const char *guest, bool on)
{
    struct err err = {0};
    struct hv_request request = {.call = HV_CALL_SET_AUTOSTART, .with.tune.value = on};
    TEXT_SET(request.host, host);
    TEXT_SET(request.guest, guest);
    uint64_t id = contract_submit(w, &request, &err);
    return contract_check(w, id != 0, "%s", err.text) ? contract_answer(w, id) : NULL;
}

static bool starts_with(struct contract_world *w, const char *host, const char *guest, bool on)
{
    const struct hv_reply *reply = contract_call(w, HV_CALL_DOMAIN_STATE, host, guest);
    return expect(w, reply, ERR_NONE, 0) &&
           contract_check(w, reply->with.observation.presence == HV_PRESENT, "not on %s", host) &&
           contract_check(w, reply->with.observation.autostart == on, "autostart on %s is %s", host,
                          on ? "off" : "on");
}

static bool move_defined(struct contract_world *w, const char *from, const char *to)
{
    struct err err = {0};
    struct hv_request move = {.call = HV_CALL_MIGRATE,
                              .with.migrate.flags = HV_MIGRATE_PERSIST | HV_MIGRATE_UNSAFE};
    TEXT_SET(move.host, from);
    TEXT_SET(move.guest, w->persistent);
    TEXT_SET(move.with.migrate.target, to);
    uint64_t id = contract_submit(w, &move, &err);
    return contract_check(w, id != 0, "%s", err.text) &&
           expect(w, contract_answer(w, id), ERR_NONE, 0);
}

/* libvirt sends it to no target, and a guest that only runs has none. */
bool contract_autostart_is_set_and_does_not_move_along(struct contract_world *w)
{
    const char *source, *target, *home = w->hosts[0], *away = w->hosts[1];
    if (!contract_locate(w, w->guest, &source, &target) ||
        !starts_with(w, source, w->guest, false) ||
        !expect(w, set_autostart(w, source, w->guest, true), ERR_HYPERVISOR, NOT_VALID) ||
        !expect(w, set_autostart(w, source, stranger, true), ERR_NOT_FOUND, NO_DOMAIN))
        return false;
    if (w->persistent[0] == '\0')
        return true;
    return starts_with(w, home, w->persistent, false) &&
           expect(w, set_autostart(w, home, w->persistent, true), ERR_NONE, 0) &&
           starts_with(w, home, w->persistent, true) && move_defined(w, home, away) &&
           starts_with(w, away, w->persistent, false) && /* lost on the way */
           move_defined(w, away, home) && starts_with(w, home, w->persistent, false) &&
           expect(w, set_autostart(w, home, w->persistent, true), ERR_NONE, 0) &&
           expect(w, set_autostart(w, home, w->persistent, false), ERR_NONE, 0) &&
           starts_with(w, home, w->persistent, false);
}

static bool marked(struct contract_world *w, const char *host, const char *job, bool labelled)
{
    const struct hv_reply *reply = contract_call(w, HV_CALL_GUEST_XML, host, w->guest);
    struct hv_mark mark;
    if (!expect(w, reply, ERR_NONE, 0))
        return false;
    (void)hv_mark_parse(reply->with.text, &mark);
    return contract_check(w, strcmp(mark.job, job) == 0, "mark on %s: '%s', want '%s'", host,
                          mark.job, job) &&
           contract_check(w, (strstr(reply->with.text, "urn:ferry:domain:1") != NULL) == labelled,
                          "the guest's own metadata changed on %s", host);
}

/* Written by the migrate call, sent along, removed where the guest is then; nothing else is
 * touched. */
bool contract_a_mark_travels_with_the_guest(struct contract_world *w)
{
    const char *source, *target;
    struct err err = {0};
    struct hv_request move = {
        .call = HV_CALL_MIGRATE,
        .with.migrate.flags = HV_MIGRATE_UNSAFE,
        .with.migrate.mark = {
            .appliance = "0123456789abcdef", .appliance_epoch = 7, .job = "a-job", .epoch = 1}};
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    const struct hv_reply *before = contract_call(w, HV_CALL_GUEST_XML, source, w->guest);
    if (!expect(w, before, ERR_NONE, 0))
        return false;
    bool labelled = strstr(before->with.text, "urn:ferry:domain:1") != NULL;
    if (!marked(w, source, "", labelled))
        return false;
    TEXT_SET(move.host, source);
    TEXT_SET(move.guest, w->guest);
    TEXT_SET(move.with.migrate.target, target);
    uint64_t id = contract_submit(w, &move, &err);
    if (!contract_check(w, id != 0, "%s", err.text))
        return false;
    const struct hv_reply *reply = contract_answer(w, id);
    return expect(w, reply, ERR_NONE, 0) &&
           contract_check(w, reply->with.unmarked[0] == '\0', "%s", reply->with.unmarked) &&
           contract_wait_state(w, target, w->guest, "running") &&
           marked(w, target, "a-job", labelled) &&
           expect(w, contract_call(w, HV_CALL_CLEAR_MARK, target, w->guest), ERR_NONE, 0) &&
           marked(w, target, "", labelled) &&
           expect(w, contract_call(w, HV_CALL_CLEAR_MARK, target, w->guest), ERR_NONE, 0) &&
           expect(w, contract_call(w, HV_CALL_CLEAR_MARK, target, stranger), ERR_NOT_FOUND,
                  NO_DOMAIN);
}

/* Whether it obeys is the guest's business. */
bool contract_a_guest_can_be_asked_to_go(struct contract_world *w)
{
    if (!expect(w, contract_call(w, HV_CALL_SHUTDOWN, w->hosts[0], stranger), ERR_NOT_FOUND,
                NO_DOMAIN))
        return false;
    if (w->persistent[0] == '\0')
        return true;
    const struct hv_reply *observed =
        contract_call(w, HV_CALL_DOMAIN_STATE, w->hosts[0], w->persistent);
    if (observed == NULL)
        return false;
    bool runs = observed->with.observation.state == HV_STATE_RUNNING;
    return expect(w, contract_call(w, HV_CALL_SHUTDOWN, w->hosts[0], w->persistent),
                  runs ? ERR_NONE : ERR_HYPERVISOR, runs ? 0 : NOT_VALID);
}

static const struct hv_reply *ask_about(struct contract_world *w, struct hv_request request,
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

/* Neither a directory nor a pool of that name is anywhere. */
bool contract_a_place_that_is_not_there_is_told(struct contract_world *w)
{
    static const struct hv_location locations[] = {
        {.name = "/no-such-directory/of-ferry/g.img"},
        {.pool = "no-such-pool-of-ferry", .name = "g.img"},
    };
    for (size_t i = 0; i < COUNT(locations); i++) {
        const struct hv_reply *reply = ask_about(
            w, (struct hv_request){.call = HV_CALL_VOLUME_INFO, .with.location = locations[i]},
            w->hosts[0], "");
        if (!expect(w, reply, ERR_NONE, 0) ||
            !contract_check(w, reply->with.volume.known, "%s: not known", locations[i].name) ||
            !contract_check(w, !reply->with.volume.exists && !reply->with.volume.creatable,
                            "%s is there", locations[i].name))
            return false;
    }
    return true;
}

/* What a target is asked before a guest's disk is opened there under its name. */
bool contract_a_disk_is_found_only_where_it_is(struct contract_world *w)
{
    if (w->volume[0] == '\0')
        return true;
    struct hv_request ask = {.call = HV_CALL_VOLUME_INFO};
    TEXT_SET(ask.with.location.name, w->volume);
    for (size_t i = 0; i < COUNT(w->hosts); i++) {
        const struct hv_reply *reply = ask_about(w, ask, w->hosts[i], "");
        if (!expect(w, reply, ERR_NONE, 0))
            return false;
        const struct hv_volume_info *at = &reply->with.volume;
        bool has_it = i == 1;
        if (!contract_check(w, at->known, "%s: %s is not known", w->hosts[i], w->volume) ||
            !contract_check(w, at->exists == has_it, "%s: %s is %sthere", w->hosts[i], w->volume,
                            at->exists ? "" : "not ") ||
            !contract_check(w, !has_it || at->capacity == CONTRACT_VOLUME_BYTES,
                            "%s has %llu bytes", w->volume, (unsigned long long)at->capacity))
            return false;
    }
    return true;
}

bool contract_a_disk_it_does_not_have_is_refused(struct contract_world *w)
{
    enum { INVALID_ARGUMENT = 8 };
    const char *source, *target;
    if (!contract_locate(w, w->guest, &source, &target))
        return false;
    struct hv_request ask = {.call = HV_CALL_BLOCK_INFO};
    TEXT_SET(ask.with.disk, "vdz");
    if (!expect(w, ask_about(w, ask, source, w->guest), ERR_HYPERVISOR, INVALID_ARGUMENT) ||
        !expect(w, ask_about(w, ask, source, stranger), ERR_NOT_FOUND, NO_DOMAIN))
        return false;
    struct hv_volume volume = {.disk = "vdz", .to = {.name = "/var/tmp/g.img"}};
    struct hv_request move = {.call = HV_CALL_MIGRATE};
    move.with.migrate.flags = HV_MIGRATE_NON_SHARED_DISK;
    move.with.migrate.volumes = &volume;
    move.with.migrate.n_volumes = 1;
    TEXT_SET(move.with.migrate.target, target);
    const struct hv_reply *reply = ask_about(w, move, source, w->guest);
    return reply != NULL &&
           contract_check(w, reply->err.code != ERR_NONE && reply->err.code != ERR_UNREACHABLE,
                          "it moved: %s", err_name(reply->err.code)) &&
           contract_wait_state(w, source, w->guest, "running") &&
           contract_wait_state(w, target, w->guest, "absent");
}
