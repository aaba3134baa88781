/* test_api_fake.h - an engine as the exporter sees it: writes down what it is asked, says yes or
 * what the test wants it to say, and publishes a world in which it was done. */
#ifndef TESTS_UNIT_TEST_API_FAKE_H
#define TESTS_UNIT_TEST_API_FAKE_H

#include <pthread.h>

#include "exporter/exporter.h"
#include "tests/unit/test_api_world.h"

/* The engine as the exporter sees it. */
struct fake_engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct exporter *x;
    enum err_code fail_with; /* NONE: say yes */
    bool blocks;             /* create waits until released */
    unsigned created, cancelled, waiting;
    struct migration_request last;
    char last_metadata[REQUEST_METADATA_MAX];
    char last_cancel[SNAPSHOT_NAME_MAX], last_requester[SNAPSHOT_WHO_MAX];
    bool last_remove;
    unsigned puts, removed, evicted, asked, resolved;
    unsigned clashes; /* puts that find the document changed by somebody else */
    struct object_request last_put;
    char last_spec[8192], last_put_metadata[REQUEST_METADATA_MAX];
    char last_selector[1024], last_volumes[1024];
    struct object_ref last_ref;
    struct eviction_request last_eviction;
    struct resolve_request last_override;
    struct question last_question;
    uint64_t generation;
};

static inline bool fake_create(void *ctx, const struct migration_request *request,
                               struct migration_ref *out_ref, struct err *err)
{
    struct fake_engine *fake = ctx;
    (void)pthread_mutex_lock(&fake->lock);
    fake->created++;
    fake->waiting++;
    (void)pthread_cond_broadcast(&fake->changed);
    while (fake->blocks)
        (void)pthread_cond_wait(&fake->changed, &fake->lock);
    fake->waiting--;
    fake->last = *request;
    TEXT_SET(fake->last_metadata, request->metadata_json);
    TEXT_SET(fake->last_selector, request->selector_json);
    TEXT_SET(fake->last_volumes, request->volumes_json);
    enum err_code code = fake->fail_with;
    uint64_t generation = ++fake->generation;
    (void)pthread_mutex_unlock(&fake->lock);
    if (code != ERR_NONE)
        return err_set(err, code, "the engine says %s", err_name(code));

    TEXT_SET(out_ref->uid, "30000000-0000-4000-8000-000000000000");
    TEXT_SET(out_ref->ns, request->ns);
    TEXT_SET(out_ref->name, request->name[0] != '\0' ? request->name : "migration-x7k2p");
    if (request->dry_run)
        return true;
    struct world *world = world_new(generation);
    struct snapshot_job *job = &world->jobs[3];
    TEXT_SET(job->name, out_ref->name);
    TEXT_SET(job->uid, out_ref->uid);
    TEXT_SET(job->guest_name, request->guest_name);
    exporter_on_snapshot(fake->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    return true;
}

static inline bool fake_cancel(void *ctx, const char *ns, const char *name, const char *requester,
                               bool remove, struct err *err)
{
    struct fake_engine *fake = ctx;
    (void)ns;
    (void)pthread_mutex_lock(&fake->lock);
    fake->cancelled++;
    TEXT_SET(fake->last_cancel, name);
    TEXT_SET(fake->last_requester, requester);
    fake->last_remove = remove;
    enum err_code code = fake->fail_with;
    (void)pthread_mutex_unlock(&fake->lock);
    return code == ERR_NONE || err_set(err, code, "the engine says %s", err_name(code));
}

/* The world after somebody else, or this request, wrote a document. */
static inline void fake_publish(struct fake_engine *fake, const struct object_request *request)
{
    struct world *world = world_new(++fake->generation);
    struct snapshot_object *object = world_put(world, request->kind, request->ns, request->name,
                                               request->spec_json, request->metadata_json);
    object->resource_version = fake->generation;
    exporter_on_snapshot(fake->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
}

static inline bool fake_put(void *ctx, const struct object_request *request,
                            struct migration_ref *out_ref, struct err *err)
{
    struct fake_engine *fake = ctx;
    fake->puts++;
    fake->last_put = *request;
    TEXT_SET(fake->last_spec, request->spec_json);
    TEXT_SET(fake->last_put_metadata, request->metadata_json);
    if (fake->fail_with != ERR_NONE)
        return err_set(err, fake->fail_with, "spec.zz: the engine says %s",
                       err_name(fake->fail_with));
    TEXT_SET(out_ref->uid, "40000000-0000-4000-8000-0000000000ff");
    if (request->dry_run)
        return true;
    if (fake->clashes > 0) {
        struct object_request theirs = *request;
        fake->clashes--;
        theirs.spec_json = "{\"labels\":{\"theirs\":\"1\"}}";
        fake_publish(fake, &theirs);
        return err_set(err, ERR_REFUSED, "was changed by somebody else");
    }
    fake_publish(fake, request);
    return true;
}

static inline bool fake_remove(void *ctx, const struct object_ref *ref, struct err *err)
{
    struct fake_engine *fake = ctx;
    fake->removed++;
    fake->last_ref = *ref;
    return fake->fail_with == ERR_NONE ||
           err_set(err, fake->fail_with, "the engine says %s", err_name(fake->fail_with));
}

static inline bool fake_resolve(void *ctx, const struct resolve_request *request, struct err *err)
{
    struct fake_engine *fake = ctx;
    fake->resolved++;
    fake->last_override = *request;
    return fake->fail_with == ERR_NONE || err_set(err, fake->fail_with, "nothing is in doubt");
}

static inline bool fake_evict(void *ctx, const struct eviction_request *request, struct err *err)
{
    struct fake_engine *fake = ctx;
    fake->evicted++;
    fake->last_eviction = *request;
    return fake->fail_with == ERR_NONE ||
           err_set(err, fake->fail_with, "Eviction triggered evacuation of VMI \"default/vm2\"");
}

static inline bool fake_ask(void *ctx, const struct question *question, char **out_json,
                            struct err *err)
{
    struct fake_engine *fake = ctx;
    fake->asked++;
    fake->last_question = *question;
    if (fake->fail_with != ERR_NONE)
        return err_set(err, fake->fail_with, "the engine says %s", err_name(fake->fail_with));
    *out_json = strdup(question->kind == QUESTION_CHECK
                           ? "{\"migratable\":true,\"best\":\"b\"}"
                           : "{\"state\":\"Draining\",\"total\":3,\"blocked\":1}");
    return true;
}

static inline void fake_set_blocking(struct fake_engine *fake, bool blocks)
{
    (void)pthread_mutex_lock(&fake->lock);
    fake->blocks = blocks;
    (void)pthread_cond_broadcast(&fake->changed);
    (void)pthread_mutex_unlock(&fake->lock);
}

static inline void fake_wait_for(struct fake_engine *fake, unsigned waiting)
{
    (void)pthread_mutex_lock(&fake->lock);
    while (fake->waiting < waiting)
        (void)pthread_cond_wait(&fake->changed, &fake->lock);
    (void)pthread_mutex_unlock(&fake->lock);
}

#endif
