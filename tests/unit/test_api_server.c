/* test_api_server.c - the server around the API and /metrics: what it refuses, what it bounds,
 * and that nobody who waits makes a scrape wait. */
#include <stdatomic.h>

#include "base/log.h"
#include "exporter/request_log.h"
#include "tests/unit/test_api_http.h"

#define SUCCEEDED                                                                           \
    "ferry_migrations_total{outcome=\"succeeded\",trigger=\"user\",policy=\"\",managed_by=" \
    "\"ferry\"}"

static const struct exporter_lane lanes[] = {{"a", "look", 1, 250, 100, 2, 1500, 0, 0}};

static void set_self(struct rig *rig, uint64_t samples)
{
    struct exporter_self self = {
        .samples = samples, .store_ok = true, .n_lanes = 1, .lanes = lanes};
    exporter_set_self(rig->x, &self);
}

static void publish(struct rig *rig, uint64_t generation)
{
    struct world *world = world_new(generation);
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
}

/* ---- /metrics ---- */

static void two_scrapes_of_one_snapshot_are_equal(void **state)
{
    struct rig *rig = *state;
    set_self(rig, 1);
    struct answer first = get(rig, "/metrics");
    exporter_on_step(rig->x, &(struct snapshot_job){.phase = PHASE_RUNNING}, PHASE_TARGET_READY,
                     TRIGGER_MOVING, 20);
    struct answer second = get(rig, "/metrics");
    assert_int_equal(first.status, 200);
    assert_non_null(strstr(first.head, "Content-Type: text/plain; version=0.0.4"));
    assert_string_equal(first.body, second.body);

    publish(rig, 43); /* a new snapshot is a new page, with what was counted meanwhile */
    struct answer third = get(rig, "/metrics");
    assert_string_not_equal(first.body, third.body);
    assert_non_null(strstr(third.body, "{from=\"TargetReady\",to=\"Running\"} 1\n"));
    set_self(rig, 2);
    struct answer fourth = get(rig, "/metrics");
    assert_non_null(strstr(fourth.body, "\nferry_samples_total 2\n"));
    assert_non_null(strstr(fourth.body, "node=\"a\",lane=\"look\"} 100\n"));
    answer_fini(&first);
    answer_fini(&second);
    answer_fini(&third);
    answer_fini(&fourth);
}

static void an_ending_is_counted_through_the_sink(void **state)
{
    struct rig *rig = *state;
    struct world *world = world_new(50);
    exporter_on_finished(rig->x, &world->jobs[0]);
    show_snapshot(rig->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
    struct answer a = get(rig, "/metrics");
    assert_non_null(strstr(a.body, SUCCEEDED " 1\n"));
    assert_non_null(
        strstr(a.body, "ferry_migration_duration_seconds_sum{outcome=\"succeeded\"} 30\n"));
    answer_fini(&a);
}

static void an_exporter_without_a_snapshot_still_answers(void **state)
{
    (void)state;
    struct err err = {0};
    struct rig rig = {0};
    const struct access_config access = test_access();
    const struct exporter_config config = {.access = &access, .version = "0.1.0"};
    const struct exporter_parts parts = {.clock = clock_system()};
    OWNED(exporter) x = exporter_new(&config, &parts, &err);
    assert_non_null(x);
    rig.port = exporter_port(x, 0);
    struct answer a = ask_port(rig.port, "GET", "/metrics", "", NULL);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "ferry_build_info{version=\"0.1.0\"} 1\n"));
    answer_fini(&a);
    a = ask_port(rig.port, "GET", "/api/v1/nodes", "", NULL);
    assert_refused(&a, 503, "ServiceUnavailable");
    answer_fini(&a);
    a = ask_port(rig.port, "GET", VMIM_PATH "/x", "", NULL);
    assert_refused(&a, 503, "ServiceUnavailable");
    answer_fini(&a);
    a = ask_port(rig.port, "GET", "/api/v1/events", "", NULL); /* no store either */
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

static void readiness_follows_main(void **state)
{
    struct rig *rig = *state;
    struct answer a = get(rig, "/readyz");
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "not ready: starting\n");
    answer_fini(&a);
    exporter_set_ready(rig->x, true, NULL);
    a = get(rig, "/readyz");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    exporter_set_ready(rig->x, false, "the store is full");
    a = get(rig, "/readyz");
    assert_string_equal(a.body, "not ready: the store is full\n");
    answer_fini(&a);
    a = get(rig, "/healthz");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

/* ---- refusals ---- */

static void unknown_paths_and_methods_are_a_status(void **state)
{
    static const struct {
        const char *method, *path;
        int status;
        const char *allow;
    } rows[] = {
        {"POST", "/", 405, "GET, HEAD"},
        {"GET", "/nothing", 404, NULL},
        {"GET", VMIM_PATH "/a/b", 404, NULL},
        {"GET", VMIM_PATH "//", 404, NULL},
        {"GET", "/apis/kubevirt.io/v1/namespaces//virtualmachineinstances", 404, NULL},
        {"GET", "/apis/kubevirt.io/v2/virtualmachineinstances", 404, NULL},
        {"POST", "/metrics", 405, "GET, HEAD"},
        {"PUT", VMIM_PATH, 405, "GET, HEAD, POST"},
        {"POST", VMIM_PATH "/moving", 405, "GET, HEAD, PUT, PATCH, DELETE"},
        {"GET", VMIM_PATH "/moving/abort", 405, "PUT"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(*state, rows[i].method, rows[i].path, "", NULL);
        assert_refused(&a, rows[i].status, rows[i].status == 404 ? "NotFound" : "MethodNotAllowed");
        if (rows[i].allow != NULL) {
            char header[128];
            (void)snprintf(header, sizeof header, "Allow: %s\r\n", rows[i].allow);
            assert_non_null(strstr(a.head, header));
        }
        answer_fini(&a);
    }
}

/* What is decoded to an end of text or a line's end would be another path for whoever reads it. */
static void a_path_with_control_characters_is_refused(void **state)
{
    static const struct {
        const char *method, *path;
    } rows[] = {
        {"GET", "/metrics%00"},
        {"GET", "/metrics%00.html"},
        {"GET", VMI_PATH "/vm1%00x"},
        {"GET", VMI_PATH "/vm1%0a"},
        {"DELETE", VMIM_PATH "/moving%00x"},
        {"PUT", VMIM_PATH "/moving%00/abort"},
        {"PUT", VMIM_PATH "/moving/abort%00x"},
    };
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(rig, rows[i].method, rows[i].path, "", NULL);
        assert_refused(&a, 400, "BadRequest");
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.cancelled, 0);
    struct answer a = ask(rig, "DELETE", VMIM_PATH "/moving?dryRun=All%00", "", NULL);
    assert_refused(&a, 422, "Invalid"); /* not a dry run, and not a real one either */
    answer_fini(&a);
    assert_int_equal(rig->engine.cancelled, 0);
}

static void a_method_nobody_knows_still_names_its_path(void **state)
{
    struct answer a = ask(*state, "AMETHODLONGERTHANANY", "/metrics", "", NULL);
    assert_refused(&a, 404, "NotFound");
    assert_non_null(strstr(at(&a, "message"), "/metrics"));
    answer_fini(&a);
}

static size_t count_lines(int fd, const char *word)
{
    size_t n = 0;
    char text[4096];
    FILE *lines = fdopen(fd, "r");
    rewind(lines);
    while (fgets(text, sizeof text, lines) != NULL)
        n += strstr(text, word) != NULL;
    (void)fclose(lines);
    return n;
}

static void refused_changes_do_not_flood_the_log(void **state)
{
    struct rig *rig = *state;
    FILE *log = tmpfile();
    assert_non_null(log);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, fileno(log));
    for (size_t i = 0; i < 3 * REQUEST_LOG_REFUSALS_MAX; i++) {
        struct answer a = ask(rig, "POST", "/metrics", "", "");
        assert_int_equal(a.status, 405);
        answer_fini(&a);
    }
    struct answer a = ask(rig, "PUT", VMIM_PATH "/moving/abort", "", "");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    assert_int_equal(count_lines(dup(fileno(log)), "status=405"), REQUEST_LOG_REFUSALS_MAX);
    assert_int_equal(count_lines(dup(fileno(log)), "status=200"), 1); /* what was done is told */
    (void)fclose(log);
}

static void head_is_get_without_a_body(void **state)
{
    static const char *const paths[] = {"/metrics", "/healthz", VMIM_PATH, "/nothing"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct answer a = get(*state, paths[i]);
        struct answer h = ask(*state, "HEAD", paths[i], "", NULL);
        char length[64];
        (void)snprintf(length, sizeof length, "Content-Length: %zu\r\n", a.body_bytes);
        assert_int_equal(h.status, a.status);
        assert_int_equal(h.body_bytes, 0);
        assert_non_null(strstr(h.head, length));
        answer_fini(&a);
        answer_fini(&h);
    }
}

/* A request whose body is `bytes` long, of which `sent` are sent. */
static struct answer post_bytes(const struct rig *rig, size_t bytes, size_t sent,
                                const char *headers)
{
    int fd = dial_socket(rig->socket);
    char head[512];
    (void)snprintf(head, sizeof head,
                   "POST " VMIM_PATH " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n",
                   bytes, headers);
    send_all(fd, head, strlen(head));
    char *body = malloc(sent + 1);
    memset(body, ' ', sent);
    send_all(fd, body, sent);
    free(body);
    return receive(fd);
}

static void a_body_over_the_limit_is_413(void **state)
{
    struct rig *rig = *state;
    struct answer a = post_bytes(rig, EXPORTER_BODY_MAX, EXPORTER_BODY_MAX, "");
    assert_int_equal(a.status, 400); /* read whole, and it is only spaces */
    answer_fini(&a);
    a = post_bytes(rig, EXPORTER_BODY_MAX + 1, EXPORTER_BODY_MAX + 1, "");
    assert_refused(&a, 413, "RequestEntityTooLarge");
    answer_fini(&a);
    a = post_bytes(rig, 100000000, 0, ""); /* too long to be read and thrown away */
    assert_refused(&a, 413, "RequestEntityTooLarge");
    answer_fini(&a);
    a = post_bytes(rig, EXPORTER_BODY_MAX + 1, 0, "Expect: 100-continue\r\n");
    assert_refused(&a, 413, "RequestEntityTooLarge"); /* before it was sent */
    answer_fini(&a);
    assert_int_equal(rig->engine.created, 0);
}

static void an_endless_body_is_cut_off(void **state)
{
    struct rig *rig = *state;
    int fd = dial_socket(rig->socket);
    static const char head[] = "POST " VMIM_PATH " HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    send_all(fd, head, strlen(head));
    enum { CHUNK = 1 << 20 };
    char *chunk = malloc(CHUNK + 16);
    (void)snprintf(chunk, 16, "%x\r\n", CHUNK);
    size_t start = strlen(chunk);
    memset(chunk + start, ' ', CHUNK);
    memcpy(chunk + start + CHUNK, "\r\n", 2);
    size_t sent = 0;
    while (sent < 40 && send(fd, chunk, start + CHUNK + 2, MSG_NOSIGNAL) > 0)
        sent++;
    assert_true(sent < 40); /* 40 MiB; the connection was closed long before */
    free(chunk);
    (void)close(fd);
    assert_int_equal(rig->engine.created, 0);
}

static void only_json_may_create(void **state)
{
    static const char *const types[] = {"", "Content-Type: text/plain\r\n",
                                        "Content-Type: application/x-www-form-urlencoded\r\n",
                                        "Content-Type: application/jsonp\r\n"};
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(types); i++) {
        struct answer a = ask(rig, "POST", VMIM_PATH, types[i], "{\"spec\":{\"vmiName\":\"vm3\"}}");
        assert_refused(&a, 415, "UnsupportedMediaType");
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.created, 0);
}

static void a_foreign_host_header_is_refused(void **state)
{
    static const struct {
        const char *host;
        int status;
    } rows[] = {{"127.0.0.1", 200},
                {"127.0.0.1:9178", 200},
                {"localhost:1", 200},
                {"[::1]:9178", 200},
                {"[::1]", 200},
                {"evil.example:9178", 421},
                {"127.0.0.1.evil.example", 421},
                {"10.0.0.1", 421},
                {"[::2]:1", 421}};
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256];
        int fd = dial(rig->port);
        (void)snprintf(text, sizeof text,
                       "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
                       rows[i].host);
        send_all(fd, text, strlen(text));
        struct answer a = receive(fd);
        if (a.status != rows[i].status)
            fail_msg("Host %s: %d", rows[i].host, a.status);
        answer_fini(&a);
    }
}

static void off_loopback_only_tls_is_listened_on(void **state)
{
    struct rig *rig = *state;
    char taken[64];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", rig->port);
    const struct {
        const char *listen;
        enum err_code code;
        const char *says;
    } rows[] = {
        {"http://0.0.0.0:0", ERR_INVALID, "not loopback and not https"},
        {"http://[::]:0", ERR_INVALID, "https://[::]:0"},
        {"0.0.0.0:0", ERR_INVALID, "https needs a certificate"},
        {"", ERR_INVALID, "ADDRESS:PORT"},
        {"127.0.0.1", ERR_INVALID, "ADDRESS:PORT"},
        {"127.0.0.1:70000", ERR_INVALID, "70000"},
        {"example.org:80", ERR_INVALID, "example"},
        {":9178", ERR_INVALID, ":9178"},
        {taken, ERR_IO, taken},
        {"localhost:0", ERR_NONE, ""},
        {"127.9.9.9:0", ERR_NONE, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct access_config access = test_access();
        TEXT_SET(access.listen[0], rows[i].listen);
        const struct exporter_config config = {.access = &access, .version = "0.1.0"};
        const struct exporter_parts parts = {.clock = clock_system()};
        OWNED(exporter) x = exporter_new(&config, &parts, &err);
        assert_int_equal(err.code, rows[i].code);
        assert_int_equal(x != NULL, rows[i].code == ERR_NONE);
        assert_non_null(strstr(err.text, rows[i].says));
        if (x != NULL)
            assert_true(exporter_port(x, 0) > 0);
    }
}

/* ---- who waits makes nobody wait ---- */

static void half_a_request_holds_up_nobody(void **state)
{
    struct rig *rig = *state;
    int slow[32];
    static const char half[] = "GET /metrics HTTP/1.1\r\nHost: loc";
    for (size_t i = 0; i < COUNT(slow); i++) {
        slow[i] = dial(rig->port);
        send_all(slow[i], half, strlen(half));
    }
    int64_t before = clock_mono_ms(clock_system());
    struct answer a = get(rig, "/metrics");
    assert_int_equal(a.status, 200);
    assert_true(clock_mono_ms(clock_system()) - before < 2000);
    answer_fini(&a);
    static const char rest[] = "alhost\r\nConnection: close\r\n\r\n";
    send_all(slow[0], rest, strlen(rest)); /* and the slow one is served when it is done */
    a = receive(slow[0]);
    assert_int_equal(a.status, 200);
    answer_fini(&a);
    for (size_t i = 1; i < COUNT(slow); i++)
        (void)close(slow[i]);
}

static void a_request_that_could_be_read_in_two_ways_is_refused(void **state)
{
    const struct rig *rig = *state;
    static const char *const texts[] = {
        "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n",
        ("POST /query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
         "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int fd = dial(rig->port);
        send_all(fd, texts[i], strlen(texts[i]));
        struct answer a = receive(fd);
        assert_int_equal(a.status, 400);
        answer_fini(&a);
    }
}

static int post_without_reading(const struct rig *rig)
{
    int fd = dial_socket(rig->socket);
    static const char text[] = "POST " VMIM_PATH " HTTP/1.1\r\nHost: localhost\r\n"
                               "Connection: close\r\nContent-Type: application/json\r\n"
                               "Content-Length: 26\r\n\r\n{\"spec\":{\"vmiName\":\"vm3\"}}";
    send_all(fd, text, strlen(text));
    return fd;
}

static void a_stuck_engine_does_not_stop_a_scrape(void **state)
{
    enum { WORKERS = HTTP_WORKERS, WAITING = HTTP_WORK_MAX, OVER = 4 };
    struct rig *rig = *state;
    int fds[WORKERS + WAITING + OVER];
    fake_set_blocking(&rig->engine, true);
    for (size_t i = 0; i < WORKERS; i++)
        fds[i] = post_without_reading(rig);
    fake_wait_for(&rig->engine, WORKERS); /* every worker stands in the engine */
    for (size_t i = WORKERS; i < COUNT(fds); i++)
        fds[i] = post_without_reading(rig);

    for (int i = 0; i < 20; i++) {
        int64_t before = clock_mono_ms(clock_system());
        struct answer a = get(rig, i % 2 == 0 ? "/metrics" : VMIM_PATH);
        assert_int_equal(a.status, 200);
        assert_true(clock_mono_ms(clock_system()) - before < 1000);
        answer_fini(&a);
    }
    fake_set_blocking(&rig->engine, false);
    unsigned created = 0, refused = 0;
    for (size_t i = 0; i < COUNT(fds); i++) {
        struct answer a = receive(fds[i]);
        created += a.status == 201;
        refused += a.status == 429;
        answer_fini(&a);
    }
    assert_int_equal(created, WORKERS + WAITING);
    assert_int_equal(refused, OVER);
}

static void a_client_that_left_while_it_waited_is_forgotten(void **state)
{
    struct rig *rig = *state;
    fake_set_blocking(&rig->engine, true);
    int fd = post_without_reading(rig);
    fake_wait_for(&rig->engine, 1);
    (void)close(fd);
    fake_set_blocking(&rig->engine, false);
    struct answer a = get(rig, "/healthz");
    assert_int_equal(a.status, 200);
    answer_fini(&a);
}

static void *release_soon(void *arg)
{
    clock_sleep_ms(50);
    fake_set_blocking(arg, false);
    return NULL;
}

static void stopping_answers_waiting_requests(void **state)
{
    (void)state;
    void *inner = NULL;
    assert_int_equal(rig_up(&inner), 0);
    struct rig *rig = inner;
    int fds[HTTP_WORKERS + 3];
    fake_set_blocking(&rig->engine, true);
    for (size_t i = 0; i < HTTP_WORKERS; i++)
        fds[i] = post_without_reading(rig);
    fake_wait_for(&rig->engine, HTTP_WORKERS);
    for (size_t i = HTTP_WORKERS; i < COUNT(fds); i++)
        fds[i] = post_without_reading(rig);
    struct answer ping = get(rig, "/healthz"); /* the others have been read by now, or never */
    answer_fini(&ping);
    clock_sleep_ms(50);
    pthread_t releaser;
    assert_int_equal(pthread_create(&releaser, NULL, release_soon, &rig->engine), 0);
    exporter_free(rig->x);
    (void)rmdir(rig->folder);
    (void)pthread_join(releaser, NULL);
    for (size_t i = 0; i < COUNT(fds); i++) {
        struct answer a = receive(fds[i]);
        /* Those that were inside may have got their answer out before the door closed. */
        assert_true(a.status == 0 || a.status == 201 || a.status == 503);
        answer_fini(&a);
    }
    assert_int_equal(rig->engine.created, HTTP_WORKERS); /* who only waited was not let in */
    (void)pthread_cond_destroy(&rig->engine.changed);
    (void)pthread_mutex_destroy(&rig->engine.lock);
    free(rig);
}

/* ---- races; the point is to run this under the thread sanitizer ---- */

struct race {
    struct rig *rig;
    atomic_bool stop;
    atomic_uint bad;
};

static void *scrape_until_stopped(void *arg)
{
    struct race *race = arg;
    static const char *const paths[] = {"/metrics", VMIM_PATH, "/readyz", "/api/v1/events"};
    for (unsigned i = 0; !atomic_load(&race->stop); i++) {
        struct answer a = get(race->rig, paths[i % COUNT(paths)]);
        if (a.status != 200)
            atomic_fetch_add(&race->bad, 1);
        answer_fini(&a);
    }
    return NULL;
}

static void scrapes_and_new_snapshots_may_meet(void **state)
{
    struct rig *rig = *state;
    struct race race = {.rig = rig};
    pthread_t threads[4];
    exporter_set_ready(rig->x, true, NULL);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, scrape_until_stopped, &race), 0);
    struct world *world = world_new(1);
    for (uint64_t i = 0; i < 300; i++) {
        publish(rig, 1000 + i);
        set_self(rig, i);
        exporter_on_step(rig->x, &world->jobs[1], PHASE_TARGET_READY, TRIGGER_MOVING, 5);
        exporter_on_finished(rig->x, &world->jobs[0]);
        exporter_set_ready(rig->x, true, "still");
        if (i % 10 == 0)
            clock_sleep_ms(2);
    }
    atomic_store(&race.stop, true);
    for (size_t i = 0; i < COUNT(threads); i++)
        (void)pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&race.bad), 0);
    publish(rig, 5000);
    struct answer a = get(rig, "/metrics");
    assert_non_null(strstr(a.body, SUCCEEDED " 300\n"));
    answer_fini(&a);
    snapshot_unref(&world->snapshot);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_server)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(two_scrapes_of_one_snapshot_are_equal),
        WIRE_TEST(an_ending_is_counted_through_the_sink),
        cmocka_unit_test(an_exporter_without_a_snapshot_still_answers),
        WIRE_TEST(readiness_follows_main),
        WIRE_TEST(unknown_paths_and_methods_are_a_status),
        WIRE_TEST(a_path_with_control_characters_is_refused),
        WIRE_TEST(a_method_nobody_knows_still_names_its_path),
        WIRE_TEST(refused_changes_do_not_flood_the_log),
        WIRE_TEST(head_is_get_without_a_body),
        WIRE_TEST(a_body_over_the_limit_is_413),
        WIRE_TEST(an_endless_body_is_cut_off),
        WIRE_TEST(only_json_may_create),
        WIRE_TEST(a_foreign_host_header_is_refused),
        WIRE_TEST(off_loopback_only_tls_is_listened_on),
        WIRE_TEST(half_a_request_holds_up_nobody),
        WIRE_TEST(a_request_that_could_be_read_in_two_ways_is_refused),
        WIRE_TEST(a_stuck_engine_does_not_stop_a_scrape),
        WIRE_TEST(a_client_that_left_while_it_waited_is_forgotten),
        cmocka_unit_test(stopping_answers_waiting_requests),
        WIRE_TEST(scrapes_and_new_snapshots_may_meet),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("api server", tests, NULL, NULL);
}
