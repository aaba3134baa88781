/* test_drain_laws.h - what holds after every look at a drain, in every story, and the words the
 * stories are told in. */
#ifndef TESTS_UNIT_TEST_DRAIN_LAWS_H
#define TESTS_UNIT_TEST_DRAIN_LAWS_H

#include "tests/unit/test_drain_jobs.h"

#define PLAIN "{\"nodeName\":\"n1\"}"
#define SHUTDOWN "{\"nodeName\":\"n1\",\"shutdown\":true}"
#define DEVICE (1u << UNMOVABLE_HOST_DEVICE)
#define MANAGED (1u << UNMOVABLE_MANAGED)

static inline void assert_same_guest(const struct drain_guest *a, const struct drain_guest *b)
{
    assert_string_equal(a->uuid, b->uuid);
    assert_string_equal(a->ns, b->ns);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->job_uid, b->job_uid);
    assert_string_equal(a->job_name, b->job_name);
    assert_string_equal(a->target, b->target);
    assert_string_equal(a->message, b->message);
    assert_int_equal(a->memory_kib, b->memory_kib);
    assert_int_equal(a->expected_ms, b->expected_ms);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->block, b->block);
    assert_int_equal(a->unmovable, b->unmovable);
    assert_int_equal(a->attempts, b->attempts);
}

static inline void assert_parses_back(const struct object *object)
{
    struct err err = {0};
    const struct drain *a = object->drain;
    OWNED(drain) b = drain_parse(object->spec_json, object->status_json, object->created_ms, &err);
    if (b == NULL)
        fail_msg("%s", err.text);
    assert_string_equal(a->node, b->node);
    assert_string_equal(a->message, b->message);
    assert_int_equal(a->deadline_ms, b->deadline_ms);
    assert_int_equal(a->retry_budget, b->retry_budget);
    assert_int_equal(a->shutdown, b->shutdown);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->began_ms, b->began_ms);
    assert_int_equal(a->since_ms, b->since_ms);
    assert_int_equal(a->last_moved_ms, b->last_moved_ms);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_same_guest(&a->guests[i], &b->guests[i]);
}

static inline void assert_blocked_ones_say_why(const struct object *object)
{
    struct err err = {0};
    OWNED(json_object)
    status = json_parse(object->status_json, strlen(object->status_json), "status", &err);
    struct json_object *guests = json_at(status, "guests");
    for (size_t i = 0; i < json_object_array_length(guests); i++) {
        struct json_object *row = json_object_array_get_idx(guests, i);
        const char *state, *reason, *message, *unblock;
        assert_true(json_get_text(row, "state", "", &state, &err));
        assert_true(json_get_text(row, "reason", "", &reason, &err));
        assert_true(json_get_text(row, "message", "", &message, &err));
        assert_true(json_get_text(row, "unblock", "", &unblock, &err));
        bool stuck = strcmp(state, "Blocked") == 0 || strcmp(state, "Failed") == 0;
        assert_int_equal(stuck, reason[0] != '\0');
        assert_int_equal(stuck, unblock[0] != '\0');
        assert_true(!stuck || message[0] != '\0');
    }
}

static inline void check_laws(struct world *w)
{
    const struct drain *drain = w->drain->drain;
    unsigned counts[DRAIN_GUEST_COUNT], blocks[BLOCK_COUNT], sum = 0, stuck = 0;
    drain_count(drain, counts);
    for (unsigned i = 0; i < DRAIN_GUEST_COUNT; i++)
        sum += counts[i];
    assert_int_equal(sum, drain->n);
    drain_count_blocks(drain, blocks);
    for (unsigned i = 0; i < BLOCK_COUNT; i++)
        stuck += blocks[i];
    assert_int_equal(blocks[BLOCK_NONE], 0);
    assert_int_equal(stuck, counts[DRAIN_GUEST_BLOCKED] + counts[DRAIN_GUEST_FAILED]);
    for (size_t i = 0; i < drain->n; i++) {
        assert_true(drain->guests[i].attempts <= drain->retry_budget);
        assert_ptr_equal(drain_find(drain, drain->guests[i].uuid), &drain->guests[i]);
        assert_true(i == 0 || drain->guests[i - 1].memory_kib <= drain->guests[i].memory_kib);
    }
    OWNED_TEXT status = drain_status(drain);
    assert_string_equal(status, w->drain->status_json);
    assert_parses_back(w->drain);
    assert_blocked_ones_say_why(w->drain);
    if (drain_is_final(drain->state))
        return;
    assert_true(drain->next_ms > w->now.mono_ms);
    for (int i = 0; i < WORLD_GUESTS; i++) {
        if (w->guests[i].uuid[0] == '\0' || w->at[i] != 0 ||
            w->guests[i].state != HV_STATE_RUNNING || !world_node(w, 0)->listed)
            continue;
        const struct drain_guest *shown = drain_find(drain, w->guests[i].uuid);
        assert_non_null(shown);
        assert_int_not_equal(shown->state, DRAIN_GUEST_MOVED);
    }
}

static inline void advance(struct world *w)
{
    drain_advance(w->f, w->drain, w->now, &w->fx);
    check_laws(w);
}

static inline bool begin(struct world *w, const char *spec, struct err *err)
{
    w->drain = world_object(w, OBJECT_DRAIN, "", "d", spec);
    bool begun = drain_begin(w->f, w->drain, w->now, &w->fx, err);
    if (begun)
        check_laws(w);
    return begun;
}

static inline void drain_n1(struct world *w, const char *spec)
{
    struct err err = {0};
    if (!begin(w, spec, &err))
        fail_msg("%s", err.text);
}

static inline const struct drain_guest *shown(struct world *w, const char *name)
{
    return drain_find(w->drain->drain, w->guests[world_index(w, name)].uuid);
}

static inline void assert_shown(struct world *w, const char *name, enum drain_guest_state state,
                                enum block block, const char *message)
{
    const struct drain_guest *guest = shown(w, name);
    assert_non_null(guest);
    if (guest->state != state || guest->block != block || strstr(guest->message, message) == NULL)
        fail_msg("%s is %s %s: %s", name, drain_guest_state_name(guest->state),
                 block_name(guest->block), guest->message);
}

static inline void assert_state(struct world *w, enum drain_state state)
{
    assert_string_equal(drain_state_name(w->drain->drain->state), drain_state_name(state));
}

#endif
