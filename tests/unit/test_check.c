/* test_check.c - the answer to `ferry check`: every part of it, absent and present. */
#include "tests/unit/test_placement_world.h"

#include "base/json.h"
#include "engine/control/check.h"
#include "engine/control/policy_choose.h"

static const struct moment now = {.mono_ms = 1000, .wall_ms = 1000000};

struct stage {
    struct fleet *f;
    struct node *a, *b, *c;
    struct guest *guest;
    struct json_object *answer;
};

static void begin(struct stage *s)
{
    memset(s, 0, sizeof *s);
    s->f = world_fleet();
    s->f->store_ok = true;
    s->f->config.parallel_per_fleet = 5;
    s->f->config.parallel_outbound_per_node = 2;
    s->f->config.eviction_strategy = STRATEGY_LIVE_MIGRATE;
    migration_config_default(&s->f->config.migration);
    s->a = world_node(s->f, "a", NULL);
    s->b = world_node(s->f, "b", NULL);
    s->c = world_node(s->f, "c", NULL);
    s->guest = world_guest(s->f, "shop", "g", s->a);
}

static void end(struct stage *s)
{
    json_object_free(s->answer);
    fleet_free(s->f);
}

static void ask(struct stage *s, const char *wanted)
{
    struct err err = {0};
    struct question q = {.kind = QUESTION_CHECK, .ns = "shop", .name = "g"};
    TEXT_SET(q.wanted, wanted);
    OWNED_TEXT text = check_guest(s->f, &q, now, &err);
    assert_non_null(text);
    json_object_free(s->answer);
    s->answer = json_parse(text, strlen(text), "answer", &err);
    assert_non_null(s->answer);
}

static void says(const struct stage *s, const char *path, const char *wanted)
{
    struct json_object *value = json_at(s->answer, path);
    if (value == NULL && wanted == NULL)
        return;
    if (value == NULL || wanted == NULL || strcmp(json_object_get_string(value), wanted) != 0)
        fail_msg("%s is %s, not %s", path, value != NULL ? json_object_get_string(value) : "absent",
                 wanted != NULL ? wanted : "absent");
}

static struct object *document(struct stage *s, enum object_kind kind, const char *ns,
                               const char *name, const char *spec)
{
    struct err err = {0};
    struct object *o = world_list(1, sizeof *o);
    o->kind = kind;
    TEXT_SET(o->ns, ns);
    TEXT_SET(o->name, name);
    o->spec_json = strdup(spec);
    if (kind == OBJECT_POLICY)
        o->policy = policy_parse(spec, &err);
    else
        o->quota = quota_parse(spec, &err);
    assert_true(o->policy != NULL || o->quota != NULL);
    DL_APPEND(s->f->of_kind[kind], o);
    (void)snprintf(o->key, sizeof o->key, "%d/%s/%s", (int)kind, ns, name);
    HASH_ADD_STR(s->f->objects, key, o);
    return o;
}

static void a_guest_that_can_move_is_told_where_to(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    s.c->cordoned = true;
    ask(&s, "");
    says(&s, "guest.namespace", "shop");
    says(&s, "guest.name", "g");
    says(&s, "guest.uuid", "00000000-0000-4000-8000-000000000000");
    says(&s, "guest.node", "a");
    says(&s, "migratable", "true");
    says(&s, "reasons.0", NULL);
    says(&s, "evictionStrategy", "LiveMigrate");
    says(&s, "activeMigration", NULL);
    says(&s, "policy.name", NULL);
    says(&s, "policy.configuration.maxDowntimeMs", "900");
    says(&s, "policy.candidates.0", NULL);
    says(&s, "wouldWaitFor.0", NULL);
    says(&s, "nodes.0.name", "a");
    says(&s, "nodes.0.fits", "false");
    says(&s, "nodes.0.reason", "source-node");
    says(&s, "nodes.0.detail", "the guest runs here");
    says(&s, "nodes.0.forEver", "true");
    says(&s, "nodes.0.score", NULL);
    says(&s, "nodes.1.name", "b");
    says(&s, "nodes.1.fits", "true");
    says(&s, "nodes.1.reason", NULL);
    says(&s, "nodes.1.score", "82.5");
    says(&s, "nodes.2.reason", "cordoned");
    says(&s, "nodes.2.forEver", "false");
    says(&s, "best", "b");
    end(&s);
}

static void a_question_changes_nothing(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    uint64_t before = fleet_hash(s.f), version = s.f->version;
    ask(&s, "");
    ask(&s, "c");
    assert_int_equal(fleet_hash(s.f), before);
    assert_int_equal(s.f->version, version);
    end(&s);
}

static void check_of_an_unknown_guest_or_node_is_not_found(void **state)
{
    (void)state;
    static const struct {
        const char *ns, *name, *wanted, *text;
    } stories[] = {
        {"shop", "h", "", "the VMI \"shop/h\" does not exist"},
        {"else", "g", "", "the VMI \"else/g\" does not exist"},
        {"shop", "g", "z", "node 'z' not found"},
    };
    struct stage s;
    begin(&s);
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        struct question q = {.kind = QUESTION_CHECK};
        TEXT_SET(q.ns, stories[i].ns);
        TEXT_SET(q.name, stories[i].name);
        TEXT_SET(q.wanted, stories[i].wanted);
        assert_null(check_guest(s.f, &q, now, &err));
        assert_int_equal(err.code, ERR_NOT_FOUND);
        assert_string_equal(err.text, stories[i].text);
    }
    end(&s);
}

static void a_named_node_is_the_only_choice(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    ask(&s, "c");
    says(&s, "nodes.1.reason", "not-the-named-node");
    says(&s, "nodes.1.detail", "the request names c");
    says(&s, "best", "c");
    end(&s);
}

static void what_its_definition_forbids_is_all_listed(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    s.guest->owner->migratable = (struct migratable){
        .known = true, .rows = 1U << UNMOVABLE_DISKS | 1U << UNMOVABLE_HOST_CPU, .disk = "vda"};
    ask(&s, "");
    says(&s, "migratable", "false");
    says(&s, "reasons.0.reason", "DisksNotLiveMigratable");
    assert_non_null(strstr(json_object_get_string(json_at(s.answer, "reasons.0.message")), "vda"));
    says(&s, "reasons.0.help", unmovable_help(UNMOVABLE_DISKS));
    says(&s, "reasons.1.reason", "HostPassthroughCPU");
    says(&s, "reasons.2", NULL);
    s.guest->owner->migratable.rows = 1U << UNMOVABLE_HOST_CPU; /* a note does not forbid */
    ask(&s, "");
    says(&s, "migratable", "true");
    says(&s, "reasons.0.reason", "HostPassthroughCPU");
    end(&s);
}

static void its_own_strategy_and_its_active_migration_are_shown(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    world_settings(s.guest, "{\"evictionStrategy\":\"External\"}");
    struct job *job = world_job(s.f, s.guest, NULL);
    ask(&s, "");
    says(&s, "evictionStrategy", "External");
    says(&s, "activeMigration", job->name);
    end(&s);
}

static void the_policy_that_applies_is_named_and_the_others_say_why_not(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    assert_true(labels_set(&s.guest->labels, "app", "db"));
    assert_true(labels_set(&s.guest->namespace->labels, "env", "prod"));
    (void)document(&s, OBJECT_POLICY, "", "weak",
                   "{\"selectors\":{\"namespaceSelector\":{\"env\":\"prod\"}}}");
    (void)document(&s, OBJECT_POLICY, "", "strong",
                   "{\"maxDowntimeMs\":333,\"selectors\":{\"namespaceSelector\":{\"env\":\"prod\"},"
                   "\"virtualMachineInstanceSelector\":{\"app\":\"db\"}}}");
    (void)document(&s, OBJECT_POLICY, "", "other",
                   "{\"selectors\":{\"namespaceSelector\":{\"env\":\"test\"}}}");
    ask(&s, "");
    says(&s, "policy.name", "strong");
    says(&s, "policy.configuration.maxDowntimeMs", "333");
    says(&s, "policy.candidates.0.name", "weak");
    says(&s, "policy.candidates.0.matches", "true");
    says(&s, "policy.candidates.0.namespacePairs", "1");
    says(&s, "policy.candidates.0.guestPairs", "0");
    says(&s, "policy.candidates.0.why", "strong matches better");
    says(&s, "policy.candidates.1.why", "the best match");
    says(&s, "policy.candidates.1.guestPairs", "1");
    says(&s, "policy.candidates.2.matches", "false");
    assert_true(strlen(json_object_get_string(json_at(s.answer, "policy.candidates.2.why"))) > 5);
    assert_string_equal(policy_choose(s.f, s.guest)->name, "strong");
    s.f->of_kind[OBJECT_POLICY]->next->removed = true; /* one that is on its way out */
    assert_string_equal(policy_choose(s.f, s.guest)->name, "weak");
    ask(&s, "");
    says(&s, "policy.name", "weak");
    says(&s, "policy.candidates.1.name", "other");
    end(&s);
}

/* ---- what it would wait for ---- */

static void fleet_is_busy(struct stage *s)
{
    s->f->busy_jobs = 5;
}
static void source_is_busy(struct stage *s)
{
    s->a->outbound = 2;
}
static void bandwidth_is_used(struct stage *s)
{
    s->f->config.bandwidth_per_node = 100;
    s->f->config.migration.bandwidth = 60;
    s->a->out_bandwidth = 41;
}
static void quota_is_used(struct stage *s)
{
    (void)document(s, OBJECT_QUOTA, "else", "theirs", "{\"hard\":{\"launchers\":0}}");
    (void)document(s, OBJECT_QUOTA, "shop", "wide", "{\"hard\":{\"launchers\":2}}");
    (void)document(s, OBJECT_QUOTA, "shop", "tight", "{\"hard\":{\"launchers\":1}}");
}
static void last_one_failed(struct stage *s)
{
    struct job *job = world_job(s->f, s->guest, NULL);
    job->request.origin = ORIGIN_EVACUATION;
    job->phase = PHASE_FAILED;
    job->result.outcome = OUTCOME_FAILED;
    job->times.handed_off_ms = job->times.started_ms = 999000;
    job->call.moved = true;
    job->times.ended_ms = 999900;
    fleet_job_moved(s->f, job, PHASE_PENDING);
}
static void block_job_runs(struct stage *s)
{
    s->guest->owner->block_jobs = 1;
}
static void utility_disks_are_there(struct stage *s)
{
    s->guest->owner->utility_disks = 2;
}
static void source_is_lost(struct stage *s)
{
    s->a->connected = false;
    TEXT_SET(s->a->error, "no route");
}
static void no_node_fits_now(struct stage *s)
{
    s->b->cordoned = s->c->cordoned = true;
}
static void no_node_fits_ever(struct stage *s)
{
    s->b->facts.memory_kib = s->c->facts.memory_kib = 1;
}

static const struct {
    void (*change)(struct stage *s);
    const char *reason, *message;
} waits[] = {
    {fleet_is_busy, "slot-fleet", "5 migrations run, the limit of the fleet is 5"},
    {source_is_busy, "slot-source", "2 migrations leave node a, its limit is 2"},
    {bandwidth_is_used, "bandwidth-budget", "migrations from node a use its whole bandwidth"},
    {quota_is_used, "quota", "exceeded quota: tight, requested: "},
    {last_one_failed, "backoff",
     "1 automatic migrations failed in a row: next attempt not before 1970-01-01T00:16:"},
    {block_job_runs, "backup", "1 block jobs run on the guest"},
    {utility_disks_are_there, "utility-volumes", "2 utility volumes are attached"},
    {source_is_lost, "source-unreachable", "node a is unreachable: no route"},
    {no_node_fits_now, "unschedulable-now", "0/3 nodes are available: 2 cordoned, 1 source-node."},
    {no_node_fits_ever, "unschedulable-now",
     "0/3 nodes are available: 2 memory-ever, 1 source-node. This cannot change"},
};

static void each_wait_is_named_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(waits); i++) {
        struct stage s;
        begin(&s);
        waits[i].change(&s);
        ask(&s, "");
        says(&s, "wouldWaitFor.0.reason", waits[i].reason);
        const char *message = json_object_get_string(json_at(s.answer, "wouldWaitFor.0.message"));
        if (strncmp(message, waits[i].message, strlen(waits[i].message)) != 0)
            fail_msg("wait %zu says: %s", i, message);
        says(&s, "wouldWaitFor.1", NULL);
        end(&s);
    }
}

static void waits_that_are_over_are_not_named(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    s.f->busy_jobs = 4;
    s.a->outbound = 1;
    s.f->config.bandwidth_per_node = 100;
    s.f->config.migration.bandwidth = 60;
    s.a->out_bandwidth = 40;
    last_one_failed(&s);
    s.f->newest->entered_ms = now.mono_ms - 3600 * 1000; /* it ended long ago */
    ask(&s, "");
    says(&s, "wouldWaitFor.0", NULL);
    end(&s);
}

static void check_reports_a_guest_that_is_on_no_node(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    (void)world_guest(s.f, "shop", "ghost", NULL);
    struct err err = {0};
    struct question q = {.kind = QUESTION_CHECK, .ns = "shop", .name = "ghost"};
    OWNED_TEXT text = check_guest(s.f, &q, now, &err);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"guest-unseen\""));
    assert_null(strstr(text, "\"node\":"));
    end(&s);
}

static void versions_of_both_nodes_are_noted_and_a_pair_that_cannot_work_is_rejected(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    s.b->facts.libvirt_version = 11003000;
    s.b->facts.hypervisor_version = 10000000;
    ask(&s, "");
    says(&s, "nodes.0.notes", NULL);
    says(&s, "nodes.1.fits", "true");
    says(&s, "nodes.1.notes.0.name", "postcopy-resume-kills-target");
    says(&s, "nodes.1.notes.1", NULL);
    s.a->facts = s.b->facts; /* of a source that does not matter */
    ask(&s, "");
    says(&s, "nodes.0.notes", NULL);
    s.a->facts.hypervisor_version = 11000000;
    ask(&s, "");
    says(&s, "nodes.0.notes.0.name", "statistics-fail-in-new-states");
    says(&s, "nodes.1.reason", "versions");
    says(&s, "nodes.2.reason", "versions");
    says(&s, "nodes.2.forEver", "false");
    end(&s);
}

static void a_disk_that_no_target_is_asked_for_is_noted(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    ask(&s, "");
    says(&s, "notes", NULL);
    static struct host_requirements requirements = {
        .facts = {.n_disks = 2,
                  .disks = {{.target = "vda", .flags = REQUIREMENTS_DISK_SHARED},
                            {.target = "vdb",
                             .flags = REQUIREMENTS_DISK_SHARED | REQUIREMENTS_DISK_BY_NAME}}}};
    s.guest->owner->requirements = &requirements;
    ask(&s, "");
    says(&s, "nodes.1.fits", "true"); /* a note, no refusal */
    says(&s, "notes.0.name", "storage-not-checked");
    says(&s, "notes.0.why",
         "1 disk of the guest, the first is vdb: declared shared by storage.sharedPaths, and not "
         "looked for on the target");
    says(&s, "notes.1", NULL);
    s.f->config.migration.unsafe = true;
    ask(&s, "");
    says(&s, "notes.0.instead",
         "at hand-off the target is asked for name and size, which do not prove equal bytes");
    s.guest->owner->requirements = NULL;
    end(&s);
}

static void what_admission_would_refuse_is_said_and_a_wait_is_no_refusal(void **state)
{
    (void)state;
    struct stage s;
    begin(&s);
    quota_is_used(&s);
    ask(&s, "");
    says(&s, "refusal", NULL);
    ask(&s, "a");
    says(&s, "refusal", "the guest is already on node a");
    s.f->store_ok = false;
    ask(&s, "");
    says(&s, "refusal", "the store is not writable; no new objects are accepted");
    s.f->store_ok = true;
    world_state(s.f, s.guest->owner, HV_STATE_SHUTOFF);
    ask(&s, "");
    says(&s, "refusal", "Cannot migrate VMI in finalized state.");
    end(&s);
}

TEST_FILE(test_check)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_can_move_is_told_where_to),
        cmocka_unit_test(a_question_changes_nothing),
        cmocka_unit_test(check_of_an_unknown_guest_or_node_is_not_found),
        cmocka_unit_test(a_named_node_is_the_only_choice),
        cmocka_unit_test(what_its_definition_forbids_is_all_listed),
        cmocka_unit_test(its_own_strategy_and_its_active_migration_are_shown),
        cmocka_unit_test(the_policy_that_applies_is_named_and_the_others_say_why_not),
        cmocka_unit_test(each_wait_is_named_alone),
        cmocka_unit_test(waits_that_are_over_are_not_named),
        cmocka_unit_test(check_reports_a_guest_that_is_on_no_node),
        cmocka_unit_test(a_disk_that_no_target_is_asked_for_is_noted),
        cmocka_unit_test(what_admission_would_refuse_is_said_and_a_wait_is_no_refusal),
        cmocka_unit_test(versions_of_both_nodes_are_noted_and_a_pair_that_cannot_work_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
