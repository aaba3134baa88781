/* test_api_volumes.c - a guest whose disks move to other storage, as KubeVirt shows one:
 * status.migratedVolumes and the condition VolumesChange, from the request to what comes after. */
#include "tests/test.h"

#include "exporter/api/api.h"
#include "hypervisor/volume.h"
#include "tests/unit/test_api_world.h"

#define ASKED                                                     \
    "[{\"name\":\"vda\",\"destination\":{\"path\":\"/new/a\"}}, " \
    "{\"name\":\"vdb\",\"destination\":{\"pool\":\"fast\",\"volume\":\"b.img\"}}]"
/* ... and as the hosts told it: vda becomes a part of something bigger. */
#define KNOWN                                                                         \
    "[{\"name\":\"vda\",\"destination\":{\"path\":\"/new/a\"},"                       \
    "\"source\":{\"path\":\"/old/a\"},\"capacity\":1073741824,\"slice\":1073741824}," \
    "{\"name\":\"vdb\",\"destination\":{\"pool\":\"fast\",\"volume\":\"b.img\"},"     \
    "\"source\":{\"pool\":\"slow\",\"volume\":\"b.img\"},\"capacity\":4096}]"

#define SHOWN_ASKED                                                                \
    "[{\"volumeName\":\"vda\",\"destinationPVCInfo\":{\"claimName\":\"/new/a\"}}," \
    "{\"volumeName\":\"vdb\",\"destinationPVCInfo\":{\"claimName\":\"fast/b.img\"}}]"
#define SHOWN_KNOWN                                         \
    "[{\"volumeName\":\"vda\","                             \
    "\"sourcePVCInfo\":{\"claimName\":\"/old/a\","          \
    "\"capacity\":{\"storage\":\"1073741824\"}},"           \
    "\"destinationPVCInfo\":{\"claimName\":\"/new/a\","     \
    "\"requests\":{\"storage\":\"1073741824\"}}},"          \
    "{\"volumeName\":\"vdb\","                              \
    "\"sourcePVCInfo\":{\"claimName\":\"slow/b.img\","      \
    "\"capacity\":{\"storage\":\"4096\"}},"                 \
    "\"destinationPVCInfo\":{\"claimName\":\"fast/b.img\"," \
    "\"requests\":{\"storage\":\"4096\"}}}]"

static const struct story {
    const char *volumes;
    enum phase phase;
    enum outcome outcome;
    enum pending pending;
    const char *shown; /* NULL: not there */
    const char *status, *reason, *message;
} stories[] = {
    {NULL, PHASE_RUNNING, OUTCOME_NONE, PENDING_NONE, NULL, NULL, NULL, NULL},
    {ASKED, PHASE_PENDING, OUTCOME_NONE, PENDING_SLOT_FLEET, SHOWN_ASKED, "True", NULL,
     "migrate volumes"},
    {KNOWN, PHASE_SCHEDULED, OUTCOME_NONE, PENDING_STORAGE, SHOWN_KNOWN, "False", NULL,
     "One of the destination volumes doesn't exist: /new/a"},
    {KNOWN, PHASE_RUNNING, OUTCOME_NONE, PENDING_NONE, SHOWN_KNOWN, "True", NULL,
     "migrate volumes"},
    {KNOWN, PHASE_SUCCEEDED, OUTCOME_SUCCEEDED, PENDING_NONE, NULL, NULL, NULL, NULL},
    {KNOWN, PHASE_FAILED, OUTCOME_FAILED, PENDING_NONE, SHOWN_KNOWN, "True", NULL,
     "migrate volumes; the last attempt failed: no space"},
    {KNOWN, PHASE_FAILED, OUTCOME_LOST, PENDING_NONE, SHOWN_KNOWN, "True", NULL,
     "migrate volumes; the last attempt failed: no space"},
    {KNOWN, PHASE_FAILED, OUTCOME_ABORTED, PENDING_NONE, NULL, "False", "VolumesChangeCancellation",
     NULL},
    {"damaged", PHASE_RUNNING, OUTCOME_NONE, PENDING_NONE, NULL, "True", NULL, "migrate volumes"},
};

static struct world *world_of(const struct story *story)
{
    struct world *w = world_new(1);
    struct snapshot_job *job = &w->jobs[1]; /* the newest of guest 1 */
    job->request.volumes_json = story->volumes;
    job->phase = story->phase;
    job->result.outcome = story->outcome;
    job->wait.pending = story->pending;
    TEXT_SET(job->wait.reason, "One of the destination volumes doesn't exist: /new/a");
    TEXT_SET(job->result.failure_reason, phase_is_final(story->phase) ? "no space" : "");
    return w;
}

static struct json_object *condition_of(struct json_object *object)
{
    struct json_object *list = json_at(object, "status.conditions");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (strcmp(json_object_get_string(json_at(one, "type")), "VolumesChange") == 0)
            return one;
    }
    return NULL;
}

static void assert_text(size_t i, struct json_object *value, const char *want)
{
    const char *found = value == NULL
                            ? NULL
                            : json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE);
    if (value != NULL && json_object_is_type(value, json_type_string))
        found = json_object_get_string(value);
    if ((found == NULL) != (want == NULL) || (want != NULL && strcmp(found, want) != 0))
        fail_msg("story %zu: '%s' in place of '%s'", i, found, want);
}

static void volumes_are_shown_until_success_or_cancellation(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct world *w = world_of(&stories[i]);
        OWNED(json_object) object = api_instances.object(&w->snapshot, 1);
        assert_text(i, json_at(object, "status.migratedVolumes"), stories[i].shown);
        struct json_object *condition = condition_of(object);
        assert_text(i, json_at(condition, "status"), stories[i].status);
        assert_text(i, json_at(condition, "reason"), stories[i].reason);
        assert_text(i, json_at(condition, "message"), stories[i].message);
        snapshot_unref(&w->snapshot);
    }
}

static void volumes_are_those_of_the_newest_migration(void **state)
{
    (void)state;
    static const struct story moving = {.volumes = KNOWN, .phase = PHASE_RUNNING};
    struct world *w = world_of(&moving);
    for (size_t i = 0; i < WORLD_GUESTS; i++) {
        OWNED(json_object) object = api_instances.object(&w->snapshot, i);
        assert_int_equal(json_at(object, "status.migratedVolumes") != NULL, i == 1);
        assert_int_equal(condition_of(object) != NULL, i == 1);
    }
    world_newest(w, 1, w->jobs[3].uid); /* it was asked to move once more */
    OWNED(json_object) object = api_instances.object(&w->snapshot, 1);
    assert_null(json_at(object, "status.migratedVolumes"));
    assert_null(condition_of(object));
    snapshot_unref(&w->snapshot);
}

/* The longest names there are, as many disks as there may be: nothing is cut. */
static void names_at_their_limit_are_not_truncated(void **state)
{
    (void)state;
    char pool[64], name[256], text[16384];
    size_t n = 0;
    memset(pool, 'p', sizeof pool);
    memset(name, 'v', sizeof name);
    pool[sizeof pool - 1] = name[sizeof name - 1] = '\0';
    for (unsigned i = 0; i < HV_VOLUMES_MAX; i++) {
        name[0] = (char)('a' + i);
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "%c{\"name\":\"vd%c\",\"destination\":{\"pool\":\"%s\","
                              "\"volume\":\"%s\"}}",
                              i == 0 ? '[' : ',', 'a' + (int)i, pool, name);
    }
    (void)snprintf(text + n, sizeof text - n, "]");
    struct story story = {.volumes = text, .phase = PHASE_RUNNING};
    struct world *w = world_of(&story);
    OWNED(json_object) object = api_instances.object(&w->snapshot, 1);
    struct json_object *list = json_at(object, "status.migratedVolumes");
    assert_int_equal(json_object_array_length(list), HV_VOLUMES_MAX);
    struct json_object *last = json_object_array_get_idx(list, HV_VOLUMES_MAX - 1);
    const char *claim = json_object_get_string(json_at(last, "destinationPVCInfo.claimName"));
    assert_int_equal(strlen(claim), strlen(pool) + 1 + strlen(name));
    assert_memory_equal(claim, pool, strlen(pool));
    assert_string_equal(claim + strlen(pool) + 1, name);
    snapshot_unref(&w->snapshot);
}

TEST_FILE(test_api_volumes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_shown_until_success_or_cancellation),
        cmocka_unit_test(volumes_are_those_of_the_newest_migration),
        cmocka_unit_test(names_at_their_limit_are_not_truncated),
    };
    return cmocka_run_group_tests_name("api-volumes", tests, NULL, NULL);
}
