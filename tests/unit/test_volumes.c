/* test_volumes.c - disks that move along: what is refused and why, what is asked of the target,
 * what a job waits for and what it is told; see engine/model/definition/volumes.h. */
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/core_world.h"

#define TO_B "[{\"name\":\"vda\",\"destination\":{\"path\":\"/srv/b/g.img\"}}]"
#define WHERE "spec.ferry.volumes: "
#define LONG_60 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"
#define LONG_300 LONG_60 LONG_60 LONG_60 LONG_60 LONG_60
#define PATH(name, path) "{\"name\":\"" name "\",\"destination\":{\"path\":\"" path "\"}}"
#define POOL(name, pool, volume) \
    "{\"name\":\"" name "\",\"destination\":{\"pool\":\"" pool "\",\"volume\":\"" volume "\"}}"
#define NOT_BOTH WHERE "destination: needs either a path or a pool and a volume"

/* ---- the request by itself ---- */

static const struct {
    const char *text;
    enum err_code code;
    const char *says;
} malformed[] = {
    {"{}", ERR_INVALID, WHERE "expected a list"},
    {"[1]", ERR_INVALID, WHERE "the list must contain objects"},
    {"[{\"name\":1}]", ERR_INVALID, "name"},
    {"[]", ERR_UNPROCESSABLE, WHERE "must name at least one disk"},
    {"[{}]", ERR_UNPROCESSABLE, WHERE "name: '' is not a disk name"},
    {"[" PATH("a/b", "/x") "]", ERR_UNPROCESSABLE, WHERE "name: 'a/b' is not a disk name"},
    {"[" PATH(LONG_60, "/x") "]", ERR_UNPROCESSABLE, "is not a disk name"},
    {"[{\"name\":\"vda\"}]", ERR_UNPROCESSABLE, NOT_BOTH},
    {"[{\"name\":\"vda\",\"destination\":{}}]", ERR_UNPROCESSABLE, NOT_BOTH},
    {"[{\"name\":\"vda\",\"destination\":[]}]", ERR_INVALID,
     WHERE "destination: expected an object"},
    {"[{\"name\":\"vda\",\"destination\":{\"path\":\"/x\",\"pool\":\"p\"}}]", ERR_UNPROCESSABLE,
     NOT_BOTH},
    {"[" PATH("vda", "x") "]", ERR_UNPROCESSABLE, WHERE "'x' is not an absolute path"},
    {"[" PATH("vda", "/") "]", ERR_UNPROCESSABLE, WHERE "'/' is not an absolute path"},
    {"[" PATH("vda", "/x/") "]", ERR_UNPROCESSABLE, WHERE "'/x/' is not an absolute path"},
    {"[" PATH("vda", "/x/../y") "]", ERR_UNPROCESSABLE, "is not an absolute path"},
    {"[" PATH("vda", "/x/..") "]", ERR_UNPROCESSABLE, "is not an absolute path"},
    {"[" PATH("vda", "/x//y") "]", ERR_UNPROCESSABLE, "is not an absolute path"},
    {"[" PATH("vda", "/x\\ny") "]", ERR_UNPROCESSABLE, "is not an absolute path"},
    {"[" PATH("vda", "/" LONG_300) "]", ERR_UNPROCESSABLE, "is too long"},
    {"[" POOL("vda", "p", "") "]", ERR_UNPROCESSABLE, "must be plain names"},
    {"[" POOL("vda", "", "v") "]", ERR_UNPROCESSABLE, "must be plain names"},
    {"[" POOL("vda", "p", "a/b") "]", ERR_UNPROCESSABLE, "must be plain names"},
    {"[" POOL("vda", "..", "v") "]", ERR_UNPROCESSABLE, "must be plain names"},
    {"[" PATH("vda", "/x") "," PATH("vda", "/y") "]", ERR_UNPROCESSABLE,
     WHERE "disk vda is named twice"},
    {"[" PATH("vda", "/x") "," PATH("vdb", "/x") "]", ERR_UNPROCESSABLE,
     WHERE "disks vda and vdb cannot both go to /x"},
    {"[{\"name\":\"vda\",\"slice\":1,\"destination\":{\"path\":\"/x\"}}]", ERR_UNPROCESSABLE,
     WHERE "unknown field 'slice'"},
    {"[{\"name\":\"vda\",\"destination\":{\"path\":\"/x\",\"host\":\"h\"}}]", ERR_UNPROCESSABLE,
     WHERE "unknown field 'host'"},
};

static void malformed_volume_requests_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(malformed); i++) {
        struct volumes volumes;
        struct err err = {0};
        print_message("%.70s\n", malformed[i].text);
        assert_false(volumes_parse(malformed[i].text, false, &volumes, &err));
        assert_int_equal(err.code, malformed[i].code);
        assert_non_null(strstr(err.text, malformed[i].says));
    }
}

static void at_most_sixteen_disks_move(void **state)
{
    (void)state;
    for (int n = HV_VOLUMES_MAX; n <= HV_VOLUMES_MAX + 1; n++) {
        struct volumes volumes;
        struct err err = {0};
        struct buf text;
        buf_init(&text, 8192);
        buf_add(&text, "[");
        for (int i = 0; i < n; i++)
            buf_addf(&text, "%s{\"name\":\"vd%d\",\"destination\":{\"path\":\"/x/%d\"}}",
                     i > 0 ? "," : "", i, i);
        buf_add(&text, "]");
        assert_int_equal(volumes_parse(text.data, false, &volumes, &err), n == HV_VOLUMES_MAX);
        buf_fini(&text);
    }
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct volumes volumes, again;
    struct err err = {0};
    assert_true(volumes_parse("[" PATH("vda", "/srv/b/g.img") "," POOL("vdb", "p", "v") "]", false,
                              &volumes, &err));
    assert_string_equal(volumes.list[1].is.to.pool, "p");
    assert_string_equal(volumes.list[1].is.to.name, "v");
    volumes.list[0].is.slice = volumes.list[0].capacity = UINT64_C(1) << 40;
    TEXT_SET(volumes.list[0].from.name, "/srv/a/g.img");
    char *text = volumes_text(&volumes);
    assert_true(volumes_parse(text, true, &again, &err));
    assert_false(volumes_parse(text, false, &again, &err)); /* a request may not say it */
    char *second = volumes_text(&again);
    assert_string_equal(text, second);
    assert_non_null(strstr(text, "\"source\":{\"path\":\"/srv/a/g.img\"}"));
    free(text);
    free(second);
}

/* ---- the request and the guest ---- */

static void add_disk(struct core_world *w, const char *target, unsigned flags)
{
    struct host_requirements_facts *requirements = &core_guest(w, "g1")->facts.requirements;
    TEXT_SET(requirements->disks[requirements->n_disks].target, target);
    requirements->disks[requirements->n_disks++].flags = (unsigned char)flags;
}

static struct core_world *world_with_disk(unsigned flags, uint32_t rows)
{
    struct core_world *w = core_new();
    core_guest(w, "g1")->facts.migratable = (struct migratable){.known = true, .rows = rows};
    add_disk(w, "vda", flags);
    add_disk(w, "vdb", REQUIREMENTS_DISK_SHARED);
    core_define(w, "g1");
    return w;
}

static void disk_kinds_and_guests_that_cannot_are_refused_in_kubevirts_words(void **state)
{
    (void)state;
    static const char *const invalid = "invalid volumes to update with migration: ";
    const struct {
        unsigned flags;
        uint32_t rows;
        const char *volumes;
        enum err_code code;
        const char *says;
    } stories[] = {
        {REQUIREMENTS_DISK_SHAREABLE, 0, TO_B, ERR_REFUSED, "shareable: [vda]"},
        {REQUIREMENTS_DISK_LUN, 0, TO_B, ERR_REFUSED, "luns: [vda]"},
        {REQUIREMENTS_DISK_FILESYSTEM, 0, TO_B, ERR_REFUSED, "filesystems: [vda]"},
        {REQUIREMENTS_DISK_REMOVABLE, 0, TO_B, ERR_REFUSED, "removable: [vda]"},
        {REQUIREMENTS_DISK_READONLY, 0, TO_B, ERR_REFUSED, "readonly: [vda]"},
        {0, 0, "[" PATH("vdz", "/x") "]", ERR_UNPROCESSABLE, "the guest has no disk vdz"},
        {0, 1U << UNMOVABLE_RESERVATIONS, TO_B, ERR_REFUSED,
         "cannot migrate the volumes as the VMI isn't migratable: VMI uses SCSI persistent "
         "reservation"},
        {0, 1U << UNMOVABLE_HOST_DEVICE | 1U << UNMOVABLE_DISKS, TO_B, ERR_REFUSED,
         "cannot migrate the volumes as the VMI isn't migratable: VMI specifies non-migratable"},
        {0, 1U << UNMOVABLE_HOTPLUG, TO_B, ERR_NONE, ""}, /* it moves along */
        {0, 1U << UNMOVABLE_SECURE_EXECUTION, TO_B, ERR_REFUSED,
         "Cannot migrate VMI, Reason: SecureExecutionNotLiveMigratable, Message: VMI uses Secure"},
        {0, 1U << UNMOVABLE_DISKS, "[" PATH("vdb", "/x") "]", ERR_REFUSED,
         "cannot migrate the VM. The volume vda is RWO and not included in the migration volumes"},
        {0, 1U << UNMOVABLE_DISKS, NULL, ERR_REFUSED, "Reason: DisksNotLiveMigratable"},
        {0, 0, "[]", ERR_UNPROCESSABLE, "must name at least one disk"},
        /* and these are not */
        {0, 1U << UNMOVABLE_DISKS, TO_B, ERR_NONE, ""},
        {REQUIREMENTS_DISK_SHARED, 0, TO_B, ERR_NONE, ""},
        {REQUIREMENTS_DISK_SHARED, 1U << UNMOVABLE_HOST_CPU, "[" PATH("vdb", "/x") "]", ERR_NONE,
         ""},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct core_world *w = world_with_disk(stories[i].flags, stories[i].rows);
        struct job *job = core_ask(w, "g1", &(struct core_request){.volumes = stories[i].volumes});
        print_message("%s\n", stories[i].says);
        assert_int_equal(job != NULL, stories[i].code == ERR_NONE);
        if (job == NULL) {
            assert_int_equal(w->err.code, stories[i].code);
            assert_non_null(strstr(w->err.text, stories[i].says));
            assert_int_equal(strstr(w->err.text, invalid) != NULL, i < 5);
        } else {
            assert_int_equal(job->request.origin, ORIGIN_VOLUMES);
        }
        core_free(w);
    }
}

static void every_wrong_disk_of_a_kind_is_named(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(REQUIREMENTS_DISK_LUN, 0);
    add_disk(w, "vdc", REQUIREMENTS_DISK_LUN);
    core_define(w, "g1");
    assert_null(core_ask(
        w, "g1",
        &(struct core_request){.volumes = "[" PATH("vda", "/x") "," PATH("vdc", "/y") "]"}));
    assert_string_equal(w->err.text, "invalid volumes to update with migration: luns: [vda vdc]");
    core_free(w);
}

static void a_guest_whose_definition_was_not_read_is_not_refused(void **state)
{
    (void)state;
    struct core_world *w = core_new();
    assert_non_null(core_ask(w, "g1", &(struct core_request){.volumes = TO_B}));
    core_free(w);
}

/* ---- the places ---- */

enum { MIB = 1 << 20 };

static const struct {
    struct hv_block_info block;
    struct hv_volume_info at;
    enum volumes_result verdict;
    uint64_t slice;
    const char *says;
} places[] = {
    {{.capacity = 64 * MIB, .raw = true}, {0}, VOLUMES_FIT, 0, ""}, /* could not tell */
    {{.capacity = 64 * MIB, .raw = true},
     {.known = true},
     VOLUMES_MISSING,
     0,
     "One of the destination volumes doesn't exist: /srv/b/g.img"},
    {{.capacity = 64 * MIB, .raw = true},
     {.known = true, .creatable = true, .free = 64 * MIB},
     VOLUMES_FIT,
     0,
     ""},
    {{.capacity = 64 * MIB, .raw = true},
     {.known = true, .creatable = true, .free = 64 * MIB - 1},
     VOLUMES_SMALL,
     0,
     "vda needs 67108864 bytes, its destination has 67108863 bytes free"},
    {{.capacity = 64 * MIB, .allocation = MIB},
     {.known = true, .creatable = true, .free = MIB},
     VOLUMES_FIT,
     0,
     ""},
    {{.capacity = 64 * MIB, .allocation = MIB},
     {.known = true, .creatable = true, .free = MIB - 1},
     VOLUMES_SMALL,
     0,
     "vda needs"},
    {{.capacity = 64 * MIB, .raw = true},
     {.known = true, .exists = true, .capacity = 64 * MIB},
     VOLUMES_FIT,
     0,
     ""},
    {{.capacity = 64 * MIB, .raw = true},
     {.known = true, .exists = true, .capacity = 32 * MIB},
     VOLUMES_SMALL,
     0,
     "Volume migration cannot be performed because the destination volume is smaller than the "
     "source volume: vda has 67108864 bytes, its destination 33554432"},
    {{.capacity = 64 * MIB, .raw = true},
     {.known = true, .exists = true, .capacity = 65 * MIB},
     VOLUMES_FIT,
     64 * MIB,
     ""},
    {{.capacity = 64 * MIB},
     {.known = true, .exists = true, .capacity = 65 * MIB},
     VOLUMES_SMALL,
     0,
     "only raw images may be bigger"},
    {{0}, {.known = true, .exists = true, .capacity = 1}, VOLUMES_FIT, 0, ""},
    {{0}, {.known = true}, VOLUMES_MISSING, 0, "doesn't exist"},
};

static void sizes_are_judged_before_anything_moves(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(places); i++) {
        struct volumes volumes;
        struct err err = {0};
        char text[VOLUMES_TEXT_MAX];
        struct volume_facts facts = {.n = 1};
        facts.list[0].block = places[i].block;
        facts.list[0].at = places[i].at;
        assert_true(volumes_parse(TO_B, false, &volumes, &err));
        print_message("%zu %s\n", i, places[i].says);
        assert_int_equal(volumes_check_facts(&volumes, &facts, text), places[i].verdict);
        assert_non_null(strstr(text, places[i].says));
        if (places[i].verdict == VOLUMES_FIT) {
            assert_string_equal(text, "");
            assert_int_equal(volumes.list[0].is.slice, places[i].slice);
        }
    }
}

static struct job *ask_to_move(struct core_world *w, struct hv_volume_info at)
{
    w->volumes.n = 1;
    w->volumes.list[0].block =
        (struct hv_block_info){.capacity = 64 * MIB, .raw = true, .location.name = "/srv/a/g.img"};
    w->volumes.list[0].at = at;
    struct job *job = core_ask(w, "g1", &(struct core_request){.volumes = TO_B, .target = "h2"});
    assert_non_null(job);
    core_settle(w);
    core_advance(w, 200);
    return job;
}

static void a_job_with_places_is_handed_off_and_copies_its_disks(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    struct job *job = ask_to_move(
        w, (struct hv_volume_info){.known = true, .exists = true, .capacity = 100 * MIB});
    core_advance(w, 1000);
    assert_int_equal(w->migrates, 1);
    assert_int_equal(w->asks.volumes, 1);
    assert_true((w->last.flags & HV_MIGRATE_NON_SHARED_DISK) != 0);
    assert_string_equal(job->request.volumes_json,
                        "[{\"name\":\"vda\",\"destination\":{\"path\":\"/srv/b/g.img\"},"
                        "\"source\":{\"path\":\"/srv/a/g.img\"},\"capacity\":67108864,"
                        "\"slice\":67108864}]");
    core_free(w);
}

/* unsafeMigrationOverride: libvirt would start whatever has the disk's name on the target. */
static void with_the_override_a_disk_must_be_found_on_the_target(void **state)
{
    (void)state;
    static const struct {
        struct hv_volume_info at;
        bool moves;
        const char *says;
    } rows[] = {
        {{.known = true, .exists = true, .capacity = 64 * MIB}, true, ""},
        {{.known = true, .exists = true, .capacity = 65 * MIB}, false, "is another one"},
        {{.known = true}, false, "it has no /srv/a/g.img"},
        {{.known = true, .creatable = true, .free = 64 * MIB}, false, "it has no /srv/a/g.img"},
        {{0}, false, "could not be checked"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int override = 0; override < 2; override++) {
            struct core_world *w =
                world_with_disk(REQUIREMENTS_DISK_SHARED | REQUIREMENTS_DISK_BY_NAME, 0);
            w->fleet->config.migration.unsafe = override != 0;
            w->volumes.n = 1;
            w->volumes.list[0].block =
                (struct hv_block_info){.capacity = 64 * MIB, .location.name = "/srv/a/g.img"};
            w->volumes.list[0].at = rows[i].at;
            assert_non_null(core_ask(w, "g1", &(struct core_request){.target = "h2"}));
            core_advance(w, 3000);
            assert_int_equal(w->migrates > 0, rows[i].moves || !override);
            assert_int_equal(w->asks.volumes > 0, override);
            assert_int_equal(core_count_events(w, "StorageNotChecked", NULL), !override);
            if (override && !rows[i].moves)
                assert_true(core_count_events(w, "TargetRejected", rows[i].says) > 0);
            core_free(w);
        }
}

static void other_jobs_copy_no_disk_and_ask_nothing(void **state)
{
    (void)state;
    struct core_world *w = core_moving();
    assert_int_equal(w->asks.volumes, 0);
    assert_int_equal(w->last.flags & (HV_MIGRATE_NON_SHARED_DISK | HV_MIGRATE_NON_SHARED_INC), 0);
    core_free(w);
}

static void a_missing_place_is_waited_for_and_used_when_it_comes(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    struct job *job = ask_to_move(w, (struct hv_volume_info){.known = true});
    core_advance(w, 10000);
    assert_int_equal(w->migrates, 0);
    assert_int_equal(job->phase, PHASE_SCHEDULING);
    assert_int_equal(job->wait.pending, PENDING_STORAGE);
    assert_string_equal(job->wait.reason,
                        "One of the destination volumes doesn't exist: /srv/b/g.img");
    assert_true(job->wait.until_ms > w->now.wall_ms);
    assert_true(w->asks.volumes >= 3 && w->asks.volumes <= 5); /* every few seconds */
    assert_int_equal(core_count_events(w, "VolumesPending", NULL), 1);
    w->volumes.list[0].at =
        (struct hv_volume_info){.known = true, .exists = true, .capacity = 64 * MIB};
    core_advance(w, 6000);
    assert_int_equal(w->migrates, 1);
    core_free(w);
}

static void a_place_that_never_comes_ends_the_job_in_time(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    (void)ask_to_move(w, (struct hv_volume_info){.known = true});
    int64_t limit_ms =
        w->fleet->config.pending_timeout_ms > 0 ? w->fleet->config.pending_timeout_ms : 900 * 1000;
    core_advance(w, limit_ms + 10000);
    struct job *job = core_job_of(w, "g1");
    assert_int_equal(job->phase, PHASE_FAILED);
    assert_non_null(strstr(job->result.failure_reason, "doesn't exist: /srv/b/g.img"));
    assert_int_equal(w->migrates, 0);
    core_clean(w);
    core_free(w);
}

static void a_node_that_is_too_small_is_rejected_with_both_sizes_and_asked_again_later(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    struct job *job = ask_to_move(
        w, (struct hv_volume_info){.known = true, .exists = true, .capacity = 32 * MIB});
    core_advance(w, 2000);
    assert_int_equal(w->asks.volumes, 1);
    assert_int_equal(job->wait.pending, PENDING_UNSCHEDULABLE);
    assert_int_equal(job->placement.rejections->counts[REJECT_VOLUME_SIZE], 1);
    assert_int_equal(
        core_count_events(w, "TargetRejected", "67108864 bytes, its destination 33554432"), 1);
    w->volumes.list[0].at.capacity = 64 * MIB; /* somebody made it bigger */
    core_advance(w, 40000);
    assert_int_equal(w->migrates, 1);
    core_free(w);
}

static void another_node_is_taken_when_one_is_too_small(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    core_add_host(w, "h3");
    w->volumes.n = 1;
    w->volumes.list[0].block.capacity = 64 * MIB;
    w->volumes.list[0].at = (struct hv_volume_info){.known = true, .exists = true, .capacity = MIB};
    struct job *job = core_ask(w, "g1", &(struct core_request){.volumes = TO_B});
    assert_non_null(job);
    core_settle(w);
    core_advance(w, 3000);
    assert_true(volumes_small_at(job->request.volumes, "h2") != NULL);
    assert_true(volumes_small_at(job->request.volumes, "h3") != NULL);
    assert_true(w->asks.volumes >= 2);
    core_free(w);
}

static void hosts_that_cannot_be_asked_are_asked_again_until_time_is_up(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    w->volumes_unasked = ERR_UNREACHABLE;
    struct job *job = ask_to_move(w, (struct hv_volume_info){.known = true, .creatable = true});
    core_advance(w, 7000);
    assert_int_equal(job->wait.pending, PENDING_PREPARING);
    assert_true(w->asks.volumes >= 2);
    w->volumes_unasked = ERR_NONE;
    w->volumes.list[0].at.free = UINT64_MAX;
    core_advance(w, 4000);
    assert_int_equal(w->migrates, 1);
    core_free(w);
}

static void lost_answers_do_not_hold_a_job_for_ever(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    w->loses.volumes = true;
    (void)ask_to_move(w, (struct hv_volume_info){.known = true});
    core_advance(w, 3 * 60 * 1000);
    assert_true(w->asks.volumes >= 2);
    assert_int_equal(core_job_of(w, "g1")->phase, PHASE_FAILED);
    core_clean(w);
    core_free(w);
}

static void a_waiting_job_can_be_cancelled(void **state)
{
    (void)state;
    struct core_world *w = world_with_disk(0, 1U << UNMOVABLE_DISKS);
    (void)ask_to_move(w, (struct hv_volume_info){.known = true});
    core_abort_asked(w, "g1");
    core_advance(w, 500);
    struct job *job = core_job_of(w, "g1");
    assert_int_equal(job->phase, PHASE_FAILED);
    assert_int_equal(job->result.outcome, OUTCOME_ABORTED);
    assert_int_equal(w->migrates, 0);
    core_clean(w);
    core_free(w);
}

static void the_list_of_small_nodes_is_bounded_and_forgets(void **state)
{
    (void)state;
    struct volumes_report report = {.text = "too small"};
    char node[HV_HOST_MAX];
    for (int i = 0; i <= VOLUMES_SMALL_MAX; i++) {
        (void)snprintf(node, sizeof node, "h%d", i);
        volumes_note_small(&report, node, i);
    }
    assert_int_equal(report.n_small, VOLUMES_SMALL_MAX);
    assert_null(volumes_small_at(&report, "h0"));
    assert_string_equal(volumes_small_at(&report, "h1"), "too small");
    volumes_forget_small(&report, 4);
    assert_null(volumes_small_at(&report, "h4"));
    assert_non_null(volumes_small_at(&report, "h5"));
    assert_null(volumes_small_at(NULL, "h5"));
    volumes_forget_small(NULL, 0);
}

TEST_FILE(test_volumes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_volume_requests_are_refused),
        cmocka_unit_test(at_most_sixteen_disks_move),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(disk_kinds_and_guests_that_cannot_are_refused_in_kubevirts_words),
        cmocka_unit_test(every_wrong_disk_of_a_kind_is_named),
        cmocka_unit_test(a_guest_whose_definition_was_not_read_is_not_refused),
        cmocka_unit_test(sizes_are_judged_before_anything_moves),
        cmocka_unit_test(a_job_with_places_is_handed_off_and_copies_its_disks),
        cmocka_unit_test(with_the_override_a_disk_must_be_found_on_the_target),
        cmocka_unit_test(other_jobs_copy_no_disk_and_ask_nothing),
        cmocka_unit_test(a_missing_place_is_waited_for_and_used_when_it_comes),
        cmocka_unit_test(a_place_that_never_comes_ends_the_job_in_time),
        cmocka_unit_test(
            a_node_that_is_too_small_is_rejected_with_both_sizes_and_asked_again_later),
        cmocka_unit_test(another_node_is_taken_when_one_is_too_small),
        cmocka_unit_test(hosts_that_cannot_be_asked_are_asked_again_until_time_is_up),
        cmocka_unit_test(lost_answers_do_not_hold_a_job_for_ever),
        cmocka_unit_test(a_waiting_job_can_be_cancelled),
        cmocka_unit_test(the_list_of_small_nodes_is_bounded_and_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
