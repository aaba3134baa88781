/* test_reload.c - what a reload hands on and answers. Taking it on real parts:
 * tests/lab/t_reload.sh. */
#include "tests/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "appliance/reload.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

static void the_engine_gets_every_setting(void **state)
{
    (void)state;
    static char path[] = "/a", pool[] = "p";
    static struct hv_host hosts[2];
    struct config config = {.hosts = hosts,
                            .n_hosts = 2,
                            .parallel_per_fleet = 3,
                            .parallel_outbound_per_node = 4,
                            .parallel_inbound_per_node = 5,
                            .bandwidth_per_node = 6,
                            .memory_overcommit_percent = 107,
                            .vcpus_per_cpu = 8,
                            .eviction_strategy = STRATEGY_EXTERNAL,
                            .shared_paths = {path, path},
                            .n_shared_paths = 2,
                            .shared_pools = {pool, pool, pool},
                            .n_shared_pools = 3,
                            .allow_managed = true};
    config.migration.max_downtime_ms = 9;
    const struct engine_config engine = reload_engine_config(&config);
    assert_ptr_equal(engine.hosts, hosts);
    assert_int_equal(engine.n_hosts, 2);
    assert_int_equal(engine.parallel_per_fleet, 3);
    assert_int_equal(engine.parallel_outbound_per_node, 4);
    assert_int_equal(engine.parallel_inbound_per_node, 5);
    assert_int_equal(engine.bandwidth_per_node, 6);
    assert_int_equal(engine.memory_overcommit_percent, 107);
    assert_true(engine.vcpus_per_cpu > 7 && engine.vcpus_per_cpu < 9);
    assert_int_equal(engine.eviction_strategy, STRATEGY_EXTERNAL);
    assert_int_equal(engine.migration.max_downtime_ms, 9);
    assert_string_equal(engine.storage.shared_paths[1], "/a");
    assert_int_equal(engine.storage.n_shared_paths, 2);
    assert_string_equal(engine.storage.shared_pools[2], "p");
    assert_int_equal(engine.storage.n_shared_pools, 3);
    assert_true(engine.storage.allow_managed);
}

static void the_answer_names_each_line(void **state)
{
    (void)state;
    struct reload_result result = {
        .changed = "host a: added\nlog.level", .restart = "listen", .trouble = ""};
    OWNED(json_object) answer = reload_json(&result);
    assert_string_equal(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN),
                        "{\"apiVersion\":\"ferry.internal\\/v1\",\"kind\":\"Reload\","
                        "\"changed\":[\"host a: added\",\"log.level\"],"
                        "\"requiresRestart\":[\"listen\"],\"failed\":[]}");
    TEXT_SET(result.trouble, "host a: no memory");
    OWNED(json_object) failed = reload_json(&result);
    assert_string_equal(json_object_get_string(json_at(failed, "failed.0")), "host a: no memory");
}

/* ---- between threads ---- */

struct asking {
    struct reload_answers answers;
    struct err err;
    char *json;
    bool done;
    atomic_bool has_ended;
};

static void *ask(void *ctx)
{
    struct asking *asking = ctx;
    asking->done = reload_ask(&asking->answers, &asking->json, &asking->err);
    atomic_store(&asking->has_ended, true);
    return NULL;
}

/* Waits until it has asked; the number of its question. */
static uint64_t asked(struct asking *asking)
{
    for (int i = 0; i < 5000 && reload_begin(&asking->answers) == 0; i++)
        clock_sleep_ms(1);
    return reload_begin(&asking->answers);
}

/* A reload that had begun before may have read the file as it was. */
static void who_asks_gets_the_answer_of_a_reload_that_began_afterwards(void **state)
{
    (void)state;
    static const struct {
        struct reload_result result;
        const char *holds; /* NULL: refused */
    } rows[] = {
        {{.changed = "log.level"}, "log.level"},
        {{.err = {.code = ERR_INVALID, .text = "line 3"}}, NULL},
    };
    (void)signal(SIGHUP, SIG_IGN);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asking asking = {.json = NULL};
        pthread_t thread;
        reload_answers_init(&asking.answers);
        uint64_t earlier = reload_begin(&asking.answers);
        assert_int_equal(pthread_create(&thread, NULL, ask, &asking), 0);
        uint64_t number = asked(&asking);
        assert_int_equal(number, 1);
        reload_answer(&asking.answers, earlier, &(struct reload_result){.changed = "an old one"});
        clock_sleep_ms(20);
        assert_false(atomic_load(&asking.has_ended));
        reload_answer(&asking.answers, number, &rows[i].result);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(asking.done, rows[i].holds != NULL);
        assert_int_equal(asking.err.code, rows[i].result.err.code);
        if (rows[i].holds != NULL)
            assert_non_null(strstr(asking.json, rows[i].holds));
        else
            assert_null(asking.json);
        free(asking.json);
        reload_answers_fini(&asking.answers);
    }
    (void)signal(SIGHUP, SIG_DFL);
}

TEST_FILE(test_reload)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engine_gets_every_setting),
        cmocka_unit_test(the_answer_names_each_line),
        cmocka_unit_test(who_asks_gets_the_answer_of_a_reload_that_began_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
