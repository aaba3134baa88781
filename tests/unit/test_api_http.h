/* test_api_http.h - an exporter on a free loopback port with a fake engine that writes down
 * what it is asked, and a fake store. */
#ifndef TESTS_UNIT_TEST_API_HTTP_H
#define TESTS_UNIT_TEST_API_HTTP_H

#include "tests/test.h"

#include <pthread.h>
#include <pwd.h>

#include "exporter/api/routes.h"
#include "exporter/exporter.h"
#include "exporter/exporter_impl.h"
#include "tests/unit/test_access.h"
#include "tests/unit/test_api_client.h"
#include "tests/unit/test_api_fake.h"

#define VMIM_PATH "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"
#define VMI_PATH "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances"

/* A store that only has events. */
static inline bool fake_each_event(struct store *s, const char *uid, size_t limit,
                                   store_event_fn *fn, void *ctx, struct err *err)
{
    static const struct store_event rows[] = {
        {"VirtualMachineInstanceMigration", "default", "moving",
         "20000000-0000-4000-8000-000000000001", "Normal", "Running", "memory moves", 1763269650000,
         1763269650000, 1},
        {"VirtualMachineInstance", "default", "vm2", "10000000-0000-4000-8000-000000000001",
         "Warning", "Migrated", "it \"failed\"", 1763269651000, 1763269641000, 3},
        {"Drain", "", "b-now", "40000000-0000-4000-8000-000000000005", "Normal", "Draining",
         "5 guests", 1763269651500, 1763269651500, 1},
        {"Node", "", "c", "c", "Warning", "Lost", "connection refused", 1763269652000, 0, 0},
    };
    (void)s;
    (void)err;
    for (size_t i = 0; i < COUNT(rows) && i < limit; i++)
        if ((uid == NULL || strcmp(uid, rows[i].uid) == 0) && !fn(ctx, &rows[i]))
            break;
    return true;
}

struct rig {
    struct fake_engine engine;
    struct store store;
    struct exporter *x;
    unsigned port;
    char folder[32], socket[48]; /* where changes are asked for */
    char user[64];               /* who asks there, as the engine hears it */
};

/* One migration that left the view, judged long ago: "gone". */
static inline bool fake_find_job(struct store *s, const char *ns, const char *name,
                                 store_job_fn *fn, void *ctx, struct err *err)
{
    (void)s, (void)err;
    static const struct store_job gone = {.uid = "u-gone",
                                          .ns = "default",
                                          .name = "gone",
                                          .guest_name = "vm1",
                                          .result.outcome = "failed"};
    if (strcmp(ns, "default") == 0 && strcmp(name, "gone") == 0)
        (void)fn(ctx, &gone);
    return true;
}
static inline bool fake_each_verdict(struct store *s, const char *job_uid, store_verdict_fn *fn,
                                     void *ctx, struct err *err)
{
    (void)s, (void)err;
    assert_string_equal(job_uid, "u-gone");
    (void)fn(ctx, &(struct store_verdict){.job_uid = job_uid, .cause = "guest-stopped"});
    return true;
}
static inline bool fake_each_point(struct store *s, const char *job_uid, store_point_fn *fn,
                                   void *ctx, struct err *err)
{
    (void)s, (void)job_uid, (void)err;
    (void)fn(ctx, &(struct store_point){.standing = "for", .quote = "q"});
    return true;
}
static inline bool fake_each_number(struct store *s, const char *job_uid, store_number_fn *fn,
                                    void *ctx, struct err *err)
{
    (void)s, (void)job_uid, (void)fn, (void)ctx, (void)err;
    return true;
}

static inline bool fake_reload(void *ctx, char **out_json, struct err *err)
{
    (void)ctx;
    *out_json = strdup("{\"kind\":\"Reload\"}");
    return *out_json != NULL || err_set(err, ERR_NOMEM, "no memory");
}

static inline bool fake_log(void *ctx, const char *node, const char *guest, struct buf *out,
                            struct err *err)
{
    (void)ctx;
    if (strcmp(node, "a") != 0)
        return err_set(err, ERR_NOT_FOUND, "the host has no qemuLogDir");
    for (unsigned line = 1; line <= 3; line++)
        buf_addf(out, "%s: line %u\n", guest, line);
    return true;
}

/* Publishes a snapshot, and waits until it is shown. */
static inline void show_snapshot(struct exporter *x, const struct snapshot *snapshot)
{
    exporter_on_snapshot(x, snapshot);
    feed_settle(x->feed);
}

static inline int rig_up_at(void **state, const struct clock *clock)
{
    static const struct store_ops ops = {.each_event = fake_each_event,
                                         .find_job = fake_find_job,
                                         .each_verdict = fake_each_verdict,
                                         .each_point = fake_each_point,
                                         .each_number = fake_each_number};
    struct rig *rig = calloc(1, sizeof *rig);
    struct err err = {0};
    (void)pthread_mutex_init(&rig->engine.lock, NULL);
    (void)pthread_cond_init(&rig->engine.changed, NULL);
    rig->engine.generation = 100;
    rig->store.ops = &ops;
    struct access_config access = test_access();
    TEXT_SET(rig->folder, "/tmp/ferry-api-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->socket, sizeof rig->socket, "%s/s", rig->folder);
    TEXT_SET(access.socket, rig->socket);
    const struct passwd *login = getpwuid(geteuid());
    (void)snprintf(rig->user, sizeof rig->user, "socket:%s", login == NULL ? "" : login->pw_name);
    const struct exporter_config config = {.access = &access, .version = "0.1.0"};
    const struct exporter_parts parts = {clock,
                                         {&rig->engine, fake_create, fake_cancel, fake_put,
                                          fake_remove, fake_evict, fake_ask, fake_resolve},
                                         &rig->store,
                                         NULL,
                                         {NULL, fake_reload},
                                         {NULL, fake_log},
                                         {NULL, NULL}};
    rig->x = exporter_new(&config, &parts, &err);
    if (rig->x == NULL)
        fail_msg("%s", err.text);
    rig->engine.x = rig->x;
    rig->port = exporter_port(rig->x, 1);
    struct world *world = world_new(42);
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    *state = rig;
    return 0;
}

static inline int rig_up(void **state)
{
    return rig_up_at(state, clock_system());
}

static inline int rig_down(void **state)
{
    struct rig *rig = *state;
    fake_set_blocking(&rig->engine, false);
    exporter_free(rig->x);
    (void)rmdir(rig->folder);
    (void)pthread_cond_destroy(&rig->engine.changed);
    (void)pthread_mutex_destroy(&rig->engine.lock);
    free(rig);
    return 0;
}

/* headers: whole lines with CRLF, or "". */
static inline struct answer ask(const struct rig *rig, const char *method, const char *path,
                                const char *headers, const char *body)
{
    return ask_fd(dial_socket(rig->socket), method, path, headers, body);
}

static inline struct answer get(const struct rig *rig, const char *path)
{
    return ask(rig, "GET", path, "", NULL);
}

/* With a body of that type ("merge-patch+json", ...). */
static inline struct answer patch(const struct rig *rig, const char *path, const char *type,
                                  const char *body)
{
    char header[128];
    (void)snprintf(header, sizeof header, "Content-Type: application/%s\r\n", type);
    return ask(rig, "PATCH", path, header, body);
}

static inline struct answer post(const struct rig *rig, const char *path, const char *body)
{
    return ask(rig, "POST", path, "Content-Type: application/json\r\n", body);
}

#endif
