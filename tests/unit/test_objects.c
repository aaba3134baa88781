/* test_objects.c - what a document means when it is written, changed or removed: refusals, and
 * whom it moves; see documents.h and object.def. Policies, drains and evictions have more in files
 * of their own. */
#include "tests/test.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "engine/model/objects/drain.h"
#include "tests/core_world.h"

/* ---- refusals ---- */

static const struct {
    enum object_kind kind;
    const char *name, *spec;
    enum err_code code;
    const char *says;
} bad[] = {
    {OBJECT_POLICY, "p", "{\"selectors\":{},\"speed\":1}", ERR_UNPROCESSABLE, "speed"},
    {OBJECT_POLICY, "p", "[]", ERR_UNPROCESSABLE, ""},
    {OBJECT_QUOTA, "q", "{\"hard\":{\"disks\":1}}", ERR_UNPROCESSABLE, "disks"},
    {OBJECT_NAMESPACE, "n", "{\"quota\":1}", ERR_UNPROCESSABLE, "spec.quota: unknown field"},
    {OBJECT_NAMESPACE, "n", "{\"labels\":{\"a b\":\"c\"}}", ERR_INVALID, "labels"},
    {OBJECT_NODE, "h9", "{}", ERR_NOT_FOUND, "nodes \"h9\" not found"},
    {OBJECT_NODE, "h2", "{\"cordoned\":true}", ERR_UNPROCESSABLE, "spec.cordoned: unknown field"},
    {OBJECT_NODE, "h2", "{\"unschedulable\":7}", ERR_INVALID, "unschedulable"},
    {OBJECT_NODE, "h2", "{\"taints\":[{\"key\":\"k\",\"effect\":\"Never\"}]}", ERR_UNPROCESSABLE,
     "taints"},
    {OBJECT_GUEST, "g1", "{\"evictionStrategy\":\"Sometimes\"}", ERR_UNPROCESSABLE,
     "evictionStrategy"},
    {OBJECT_GUEST, "g1", "{\"memory\":1}", ERR_UNPROCESSABLE, "spec.memory"},
    {OBJECT_DRAIN, "d", "{\"nodeName\":\"h9\"}", ERR_NOT_FOUND, "h9"},
    {OBJECT_DRAIN, "d", "{}", ERR_UNPROCESSABLE, "nodeName"},
};

static void what_makes_no_sense_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct core_world *w = core_new();
        assert_false(core_put(w, bad[i].kind, bad[i].name, bad[i].spec));
        bool kind_is_right = w->err.code == bad[i].code || /* what it says wins over how */
                             (w->err.code == ERR_INVALID && bad[i].code == ERR_UNPROCESSABLE) ||
                             (w->err.code == ERR_UNPROCESSABLE && bad[i].code == ERR_INVALID);
        if (!kind_is_right || strstr(w->err.text, bad[i].says) == NULL)
            fail_msg("%s: %s '%s'", bad[i].spec, err_name(w->err.code), w->err.text);
        assert_int_equal(HASH_COUNT(w->fleet->objects), 0);
        core_free(w);
    }
}

static bool put_dry(struct core_world *w, enum object_kind kind, const char *name, const char *spec)
{
    struct input input = {.kind = INPUT_PUT,
                          .of.put = {.kind = kind, .spec_json = spec, .dry_run = true}};
    struct migration_ref ref;
    w->err = (struct err){0};
    TEXT_SET(input.of.put.name, name);
    return reconcile(w->fleet, &input, w->now, &w->fx, &ref, &w->err);
}

/* A dry run answers what the write would, word for word, or it is worth nothing. */
static void a_dry_run_is_refused_what_the_write_would_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct core_world *w = core_new();
        assert_false(core_put(w, bad[i].kind, bad[i].name, bad[i].spec));
        struct err written = w->err;
        if (put_dry(w, bad[i].kind, bad[i].name, bad[i].spec))
            fail_msg("%s: a dry run is fine with it", bad[i].spec);
        assert_int_equal(w->err.code, written.code);
        assert_string_equal(w->err.text, written.text);
        core_free(w);
    }
}

static void a_dry_drain_of_a_node_that_is_being_drained_is_refused(void **state)
{
    (void)state;
    static const char h1[] = "{\"nodeName\":\"h1\"}", h2[] = "{\"nodeName\":\"h2\"}";
    struct core_world *w = core_new();
    assert_true(put_dry(w, OBJECT_DRAIN, "first", h1));
    assert_int_equal(HASH_COUNT(w->fleet->objects), 0);
    assert_true(core_put(w, OBJECT_DRAIN, "first", h1));
    assert_false(put_dry(w, OBJECT_DRAIN, "second", h1));
    assert_int_equal(w->err.code, ERR_REFUSED);
    assert_string_equal(w->err.text, "node h1 is already being drained by first");
    assert_true(put_dry(w, OBJECT_DRAIN, "second", h2)); /* another node may be */
    assert_true(core_remove(w, OBJECT_DRAIN, "first"));
    assert_true(put_dry(w, OBJECT_DRAIN, "second", h1));
    assert_null(fleet_object(w->fleet, OBJECT_DRAIN, "", "second"));
    core_free(w);
}

static void each_kind_has_a_cap_that_the_refusal_names(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    char name[16];
    for (unsigned i = 0; i < object_kind_max(OBJECT_POLICY); i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        assert_true(core_put(w, OBJECT_POLICY, name, "{\"selectors\":{}}"));
    }
    assert_false(core_put(w, OBJECT_POLICY, "more", "{\"selectors\":{}}"));
    assert_int_equal(w->err.code, ERR_FORBIDDEN);
    assert_string_equal(w->err.text,
                        "limit reached: 1000 MigrationPolicy objects; delete some first");
    assert_true(core_put(w, OBJECT_POLICY, "p0", "{\"selectors\":{}}")); /* a change is no more */
    assert_true(core_put(w, OBJECT_NAMESPACE, "n", "{}"));
    core_free(w);
}

static void a_long_document_is_refused_with_its_size(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    static char spec[OBJECT_BYTES_MAX + 32];
    (void)snprintf(spec, sizeof spec, "{\"labels\":{\"a\":\"%0*d\"}}", OBJECT_BYTES_MAX, 1);
    assert_false(core_put(w, OBJECT_NAMESPACE, "n", spec));
    assert_int_equal(w->err.code, ERR_FORBIDDEN);
    assert_non_null(strstr(w->err.text, "at most 32768 are accepted"));
    core_free(w);
}

/* Nobody deletes finished drains: a drain in need must not be refused for them. */
static void finished_drains_make_room_for_new_ones(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    char name[16];
    for (unsigned i = 0; i < object_kind_max(OBJECT_DRAIN) + 2; i++) {
        (void)snprintf(name, sizeof name, "d%u", i);
        assert_true(core_put(w, OBJECT_DRAIN, name, "{\"nodeName\":\"h2\"}"));
        const struct object *drain = fleet_object(w->fleet, OBJECT_DRAIN, "", name);
        assert_true(drain_is_final(drain->drain->state));
    }
    assert_null(fleet_object(w->fleet, OBJECT_DRAIN, "", "d1"));
    core_free(w);
}

static bool put(struct core_world *w, struct object_request *request)
{
    struct input input = {.kind = INPUT_PUT, .of.put = *request};
    struct migration_ref ref;
    w->err = (struct err){0};
    TEXT_SET(input.of.put.name, "p");
    input.of.put.kind = OBJECT_POLICY;
    input.of.put.spec_json = "{\"selectors\":{}}";
    return reconcile(w->fleet, &input, w->now, &w->fx, &ref, &w->err);
}

static void conditions_of_a_write_are_kept(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_false(put(w, &(struct object_request){.must_exist = true}));
    assert_string_equal(w->err.text, "MigrationPolicy \"p\" not found");
    assert_true(put(w, &(struct object_request){.dry_run = true}));
    assert_null(fleet_object(w->fleet, OBJECT_POLICY, "", "p"));
    assert_true(put(w, &(struct object_request){.must_be_new = true}));
    const struct object *object = fleet_object(w->fleet, OBJECT_POLICY, "", "p");
    uint64_t version = object->version;
    assert_false(put(w, &(struct object_request){.must_be_new = true}));
    assert_int_equal(w->err.code, ERR_EXISTS);
    assert_false(put(w, &(struct object_request){.if_version = version + 1}));
    assert_int_equal(w->err.code, ERR_REFUSED);
    assert_int_equal(object->version, version);
    char uid[JOB_UID_MAX];
    TEXT_SET(uid, object->uid);
    assert_true(put(w, &(struct object_request){.if_version = version}));
    assert_true(object->version > version);
    assert_string_equal(object->uid, uid); /* the same one, changed */
    w->fleet->store_ok = false;
    assert_false(put(w, &(struct object_request){.must_exist = true}));
    assert_int_equal(w->err.code, ERR_IO);
    assert_false(core_remove(w, OBJECT_POLICY, "p"));
    assert_int_equal(w->err.code, ERR_IO);
    core_free(w);
}

static void what_is_not_there_cannot_be_removed(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_false(core_remove(w, OBJECT_POLICY, "nothing"));
    assert_int_equal(w->err.code, ERR_NOT_FOUND);
    assert_string_equal(w->err.text, "MigrationPolicy \"nothing\" not found");
    core_free(w);
}

/* ---- whom it moves ---- */

static const struct {
    enum object_kind kind;
    const char *name, *keeps, *lets; /* lets NULL: removed */
    enum pending pending;
} waking[] = {
    {OBJECT_NODE, "h2", "{\"unschedulable\":true}", "{}", PENDING_UNSCHEDULABLE},
    {OBJECT_NODE, "h2", "{\"unschedulable\":true}", NULL, PENDING_UNSCHEDULABLE},
    {OBJECT_NODE, "h2", "{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}", "{}",
     PENDING_UNSCHEDULABLE},
    {OBJECT_GUEST, "g1", "{\"nodeSelector\":{\"zone\":\"mars\"}}", "{}", PENDING_UNSCHEDULABLE},
    {OBJECT_GUEST, "g1", "{\"nodeSelector\":{\"zone\":\"mars\"}}", NULL, PENDING_UNSCHEDULABLE},
    {OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":1}}", "{\"hard\":{\"pods\":2}}", PENDING_QUOTA},
    {OBJECT_QUOTA, "q", "{\"hard\":{\"memory\":\"100Mi\"}}", "{\"hard\":{\"memory\":\"128Mi\"}}",
     PENDING_QUOTA},
    {OBJECT_QUOTA, "q", "{\"hard\":{\"cpu\":1}}", NULL, PENDING_QUOTA},
};

static void a_document_that_lets_it_go_wakes_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(waking); i++) {
        struct core_world *w = core_new();
        assert_true(core_put(w, waking[i].kind, waking[i].name, waking[i].keeps));
        assert_non_null(core_ask(w, "g1", NULL));
        core_phase(w, "g1", PHASE_PENDING);
        core_waits(w, "g1", waking[i].pending);
        core_advance(w, 20000);
        core_waits(w, "g1", waking[i].pending);
        if (waking[i].lets != NULL)
            assert_true(core_put(w, waking[i].kind, waking[i].name, waking[i].lets));
        else
            assert_true(core_remove(w, waking[i].kind, waking[i].name));
        core_phase(w, "g1", PHASE_TARGET_READY);
        core_ledger(w);
        core_free(w);
    }
}

static void a_label_that_a_node_gets_wakes_who_asked_for_it(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_true(core_put(w, OBJECT_GUEST, "g1", "{\"nodeSelector\":{\"zone\":\"a\"}}"));
    assert_non_null(core_ask(w, "g1", NULL));
    core_waits(w, "g1", PENDING_UNSCHEDULABLE);
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"labels\":{\"zone\":\"b\"}}"));
    core_phase(w, "g1", PHASE_PENDING);
    assert_true(core_put(w, OBJECT_NODE, "h2", "{\"labels\":{\"zone\":\"a\"}}"));
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_free(w);
}

/* ---- quota ---- */

static void a_target_launcher_counts(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h1", 2, 3);
    assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":4}}"));
    const struct namespace *namespace = fleet_namespace(w->fleet, "default");
    assert_int_equal(namespace->used.launchers, 3);
    assert_non_null(core_ask(w, "g1", NULL));
    assert_int_equal(namespace->used.launchers, 4);
    assert_non_null(core_ask(w, "g2", NULL));
    core_waits(w, "g2", PENDING_QUOTA);
    assert_string_equal(core_job_of(w, "g2")->wait.reason,
                        "exceeded quota: q, requested: launchers=1, used: launchers=4, limited: "
                        "launchers=4");
    core_arrives(w, "g1"); /* its launchers are one again */
    core_phase(w, "g2", PHASE_TARGET_READY);
    assert_int_equal(namespace->used.launchers, 4);
    core_ledger(w);
    core_free(w);
}

static void freed_quota_wakes_those_of_its_namespace_that_fit(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct core_guest *other = core_add_guest(w, "other", "h1", 64);
    TEXT_SET(other->is.ns, "elsewhere");
    core_list(w, "h1");
    core_add_guest(w, "big", "h1", 400);
    core_add_guest(w, "small", "h1", 32);
    /* 496 MiB are used; 64 more for g1 */
    assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"memory\":\"560Mi\"}}"));
    struct input input = {.kind = INPUT_PUT, .of.put.kind = OBJECT_QUOTA};
    struct migration_ref ref;
    struct err err = {0};
    input.of.put.spec_json = "{\"hard\":{\"pods\":1}}";
    TEXT_SET(input.of.put.ns, "elsewhere");
    TEXT_SET(input.of.put.name, "q");
    assert_true(reconcile(w->fleet, &input, w->now, &w->fx, &ref, &err));
    assert_non_null(core_ask(w, "g1", NULL));
    assert_non_null(core_ask(w, "big", &(struct core_request){.priority = "system-critical"}));
    assert_non_null(core_ask(w, "small", NULL));
    assert_non_null(core_ask(w, "other", &(struct core_request){.ns = "elsewhere"}));
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_waits(w, "big", PENDING_QUOTA);
    core_waits(w, "small", PENDING_QUOTA);
    core_waits(w, "other", PENDING_QUOTA);
    uint64_t version = core_job_of(w, "other")->version;
    core_fails(w, "g1");
    core_waits(w, "big", PENDING_QUOTA); /* it does not fit, and keeps nobody up */
    core_phase(w, "small", PHASE_TARGET_READY);
    core_waits(w, "other", PENDING_QUOTA);
    assert_int_equal(core_job_of(w, "other")->version, version);
    assert_ptr_equal(core_job_of(w, "other")->queue.wait.in,
                     &fleet_namespace(w->fleet, "elsewhere")->blocked);
    core_free(w);
}

static void a_guest_that_is_shut_down_frees_its_quota(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    core_add_guests(w, "h2", 2, 2);
    assert_true(core_put(w, OBJECT_QUOTA, "q", "{\"hard\":{\"pods\":2}}"));
    assert_non_null(core_ask(w, "g1", NULL));
    core_waits(w, "g1", PENDING_QUOTA);
    core_guest(w, "g2")->is.state = HV_STATE_SHUTOFF;
    core_list(w, "h2");
    core_settle(w);
    core_phase(w, "g1", PHASE_TARGET_READY);
    core_ledger(w);
    core_free(w);
}

/* ---- what a definition asks for ---- */

static void a_pending_change_gets_exactly_one_migration(void **state)
{
    (void)state;
    static const struct {
        enum pending_change_kind is;
        int64_t after_ms;
    } rows[] = {{PENDING_CHANGE_NOW, 0}, {PENDING_CHANGE_SOON, PENDING_CHANGE_GRACE_MS}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_world *w = core_new();
        struct pending_change *required = &core_guest(w, "g1")->facts.pending_change;
        required->is = rows[i].is;
        required->hash = 5;
        required->cures = true;
        core_define(w, "g1");
        if (rows[i].after_ms > 0) {
            core_advance(w, rows[i].after_ms - 200);
            assert_int_equal(HASH_COUNT(w->fleet->jobs), 0);
        }
        core_advance(w, 400);
        const struct job *job = core_job_of(w, "g1");
        assert_int_equal(job->request.origin, ORIGIN_UPDATE);
        assert_int_equal(job->request.priority, PRIORITY_USER_TRIGGERED);
        assert_int_equal(core_count_events(w, "SuccessfulCreate", "for automated workload update"),
                         1);
        core_fails(w, "g1");
        core_advance(w, 60000);
        assert_int_equal(HASH_COUNT(w->fleet->jobs), 1); /* what did not help is not repeated */
        required->hash = 6;
        core_define(w, "g1");
        core_advance(w, rows[i].after_ms + 400);
        assert_int_equal(HASH_COUNT(w->fleet->jobs), 2); /* another wish, another job */
        core_free(w);
    }
}

/* Nothing moves for what moving does not cure; readers and the log are told, once. */
static void what_a_migration_does_not_cure_gets_none(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    const struct guest *guest = fleet_guest(w->fleet, CORE_GUEST);
    struct pending_change *required = &core_guest(w, "g1")->facts.pending_change;
    *required = (struct pending_change){.is = PENDING_CHANGE_SOON,
                                        .hash = 5,
                                        .detail = "interface a was added",
                                        .todo = "attach it"};
    core_define(w, "g1");
    core_advance(w, PENDING_CHANGE_GRACE_MS - 200);
    assert_true(guest->change_due_ms == 0);
    uint64_t before = w->fleet->guests_version;
    core_advance(w, 400);
    assert_true(guest->change_due_ms > guest->change_since_ms); /* not pending any more */
    assert_true(w->fleet->guests_version > before);             /* ... and readers see it */
    core_advance(w, 600000);
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 0);
    assert_int_equal(
        core_count_events(w, "NotCuredByMigration", "interface a was added; attach it"), 1);
    required->detail[10] = 'b'; /* another wish: pending again */
    required->hash = 6;
    core_define(w, "g1");
    assert_true(guest->change_due_ms < guest->change_since_ms);
    core_advance(w, PENDING_CHANGE_GRACE_MS + 200);
    assert_true(guest->change_due_ms > guest->change_since_ms);
    core_free(w);
}

/* A move that was tried in vain stays required after its grace. */
static void a_grace_ends_also_for_what_was_tried_before(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct guest *guest = fleet_guest(w->fleet, CORE_GUEST);
    core_guest(w, "g1")->facts.pending_change =
        (struct pending_change){.is = PENDING_CHANGE_SOON, .hash = 5, .cures = true};
    guest->change_tried = 5;
    core_define(w, "g1");
    core_advance(w, PENDING_CHANGE_GRACE_MS + 200);
    assert_true(guest->change_due_ms > guest->change_since_ms);
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 0);
    core_free(w);
}

static void a_pending_change_reverted_in_time_makes_no_job(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    struct pending_change *required = &core_guest(w, "g1")->facts.pending_change;
    *required = (struct pending_change){.is = PENDING_CHANGE_SOON, .hash = 5, .cures = true};
    core_define(w, "g1");
    core_advance(w, PENDING_CHANGE_GRACE_MS - 500);
    *required = (struct pending_change){.is = PENDING_CHANGE_NO};
    core_define(w, "g1");
    core_advance(w, 5000);
    assert_int_equal(HASH_COUNT(w->fleet->jobs), 0);
    core_free(w);
}

TEST_FILE(test_objects)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_makes_no_sense_is_refused_and_changes_nothing),
        cmocka_unit_test(each_kind_has_a_cap_that_the_refusal_names),
        cmocka_unit_test(a_long_document_is_refused_with_its_size),
        cmocka_unit_test(finished_drains_make_room_for_new_ones),
        cmocka_unit_test(a_dry_run_is_refused_what_the_write_would_be),
        cmocka_unit_test(a_dry_drain_of_a_node_that_is_being_drained_is_refused),
        cmocka_unit_test(conditions_of_a_write_are_kept),
        cmocka_unit_test(what_is_not_there_cannot_be_removed),
        cmocka_unit_test(a_document_that_lets_it_go_wakes_it),
        cmocka_unit_test(a_label_that_a_node_gets_wakes_who_asked_for_it),
        cmocka_unit_test(a_target_launcher_counts),
        cmocka_unit_test(freed_quota_wakes_those_of_its_namespace_that_fit),
        cmocka_unit_test(a_guest_that_is_shut_down_frees_its_quota),
        cmocka_unit_test(a_pending_change_gets_exactly_one_migration),
        cmocka_unit_test(what_a_migration_does_not_cure_gets_none),
        cmocka_unit_test(a_grace_ends_also_for_what_was_tried_before),
        cmocka_unit_test(a_pending_change_reverted_in_time_makes_no_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
