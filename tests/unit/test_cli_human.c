/* test_cli_human.c - numbers and times for people, tables, kinds, and answers of the appliance. */
#include "tests/test.h"

#include "base/human.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/common/client.h"
#include "cli/common/kinds.h"
#include "cli/common/table.h"
#include "cli/common/wait.h"

static void sizes_are_short_and_binary(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {10240, "10 KiB"},
        {1 << 20, "1.0 MiB"},
        {115343360, "110 MiB"},
        {(1 << 30) - 1, "1.0 GiB"},
        {UINT64_MAX, "16 EiB"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[HUMAN_TEXT_MAX];
        human_bytes(rows[i].bytes, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void durations_and_ages_are_short(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *duration, *age;
    } rows[] = {
        {-5, "0 ms", "0s"},
        {450, "450 ms", "0s"},
        {999, "999 ms", "0s"},
        {7790, "7.8 s", "7s"},
        {12345, "12.3 s", "12s"},
        {119949, "119.9 s", "119s"},
        {119950, "2 min 00 s", "119s"},
        {125000, "2 min 05 s", "2m5s"},
        {300000, "5 min 00 s", "5m"},
        {11 * 60000 + 30000, "11 min 30 s", "11m"},
        {3 * 3600000 + 7 * 60000, "3 h 07 min", "3h7m"},
        {9 * 3600000 + 7 * 60000, "9 h 07 min", "9h"},
        {49 * INT64_C(3600000), "2 d 01 h", "2d1h"},
        {20 * INT64_C(86400000), "20 d 00 h", "20d"},
        {800 * INT64_C(86400000), "800 d 00 h", "2y70d"},
        {4000 * INT64_C(86400000), "4000 d 00 h", "10y"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[HUMAN_TEXT_MAX];
        human_duration(rows[i].ms, text);
        assert_string_equal(text, rows[i].duration);
        human_age(rows[i].ms, text);
        assert_string_equal(text, rows[i].age);
    }
}

static void durations_are_read_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } rows[] = {
        {"30", -1}, /* seconds? minutes? */
        {"30s", 30000},
        {"5m", 300000},
        {"1h30m", 5400000},
        {"250ms", 250},
        {"1d", 86400000},
        {"0", 0},
        {"", -1},
        {"s", -1},
        {"5x", -1},
        {"-5s", -1},
        {"5m3", -1},
        {"1.5s", -1},
        {"99999999999999999999s", -1},
        {"9999999999d", -1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t ms = -1;
        bool read = human_read_duration(rows[i].text, &ms);
        assert_int_equal(read, rows[i].ms >= 0);
        assert_int_equal(ms, rows[i].ms);
    }
}

static void quantities_are_read_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes; /* -1: refused */
    } rows[] = {
        {"64Mi", 64 << 20},
        {"1.5Gi", 1610612736},
        {"1k", 1000},
        {"1048576", 1048576},
        {"0", 0},
        {"", -1},
        {"Mi", -1},
        {"-1Mi", -1},
        {"1Mib", -1},
        {"1 Mi", -1},
        {".5Gi", -1},
        {"1.2.3", -1},
        {"99999999999Ti", -1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t bytes = 7;
        bool read = human_read_quantity(rows[i].text, &bytes);
        assert_int_equal(read, rows[i].bytes >= 0);
        assert_int_equal(bytes, read ? (uint64_t)rows[i].bytes : 7);
    }
}

static void times_are_read_or_refused(void **state)
{
    (void)state;
    int64_t ms = 0;
    assert_true(human_read_time("2026-11-16T05:07:39Z", &ms));
    assert_int_equal(ms, INT64_C(1794805659000));
    assert_true(human_read_time("2026-11-16T05:07:39.250Z", &ms));
    assert_int_equal(ms, INT64_C(1794805659250));
    assert_true(human_read_time("2026-11-16T05:07:39.123456789Z", &ms));
    assert_int_equal(ms, INT64_C(1794805659123));
    assert_false(human_read_time("", &ms));
    assert_false(human_read_time("2026-11-16", &ms));
    assert_false(human_read_time("2026-11-16T05:07:39+01:00", &ms));
}

/* --- tables --- */

/* A name that is cut cannot be copied: what is less needed goes first, the last column first. */
static void a_table_drops_optional_columns_before_it_cuts(void **state)
{
    (void)state;
    const char *const titles[] = {"NAME", "MODE", "DONE", "AGE"};
    const struct {
        size_t width;
        const char *head, *row;
    } stories[] = {
        {0, "NAME                 MODE     DONE  AGE\n",
         "migration-with-name  PreCopy  100%  5s\n"},
        {39, "NAME                 MODE     DONE  AGE\n",
         "migration-with-name  PreCopy  100%  5s\n"},
        {38, "NAME                 MODE     AGE\n", "migration-with-name  PreCopy  5s\n"},
        {24, "NAME                 AGE\n", "migration-with-name  5s\n"},
        {20, "NAME             AGE\n", "migration-with~  5s\n"},
    };
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct table table;
        struct buf out;
        buf_init(&out, 4096);
        table_init(&table, titles, COUNT(titles));
        table.optional[1] = table.optional[2] = true;
        table_add_row(&table);
        table_set(&table, 0, "migration-with-name");
        table_set(&table, 1, "PreCopy");
        table_set(&table, 2, "100%");
        table_set(&table, 3, "5s");
        assert_true(table_render(&table, stories[i].width, false, &out));
        char want[128];
        (void)snprintf(want, sizeof want, "%s%s", stories[i].head, stories[i].row);
        assert_string_equal(out.data, want);
        buf_fini(&out);
        table_fini(&table);
    }
}

static void a_table_fits_the_width_by_cutting_the_widest(void **state)
{
    (void)state;
    static const char *const titles[] = {"NAME", "PHASE", "REASON"};
    struct table table;
    table_init(&table, titles, COUNT(titles));
    table_add_row(&table);
    table_set(&table, 0, "migration-with-quite-a-long-name-abcdef");
    table_set(&table, 1, "Failed");
    table_set(&table, 2, "a reason that goes on and on until nobody reads it any more, surely");
    for (size_t width = 30; width < 160; width++) {
        struct buf out;
        buf_init(&out, 4096);
        assert_true(table_render(&table, width, false, &out));
        for (const char *line = out.data; *line != '\0'; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= width);
        assert_non_null(strstr(out.data, "Failed")); /* the short column is not the one cut */
        buf_fini(&out);
    }
    struct buf out;
    buf_init(&out, 4096);
    assert_true(table_render(&table, 0, false, &out));
    assert_non_null(strstr(out.data, "surely")); /* no width: nothing is cut */
    assert_null(strchr(out.data, '~'));
    buf_fini(&out);
    table_fini(&table);
}

static void cells_have_no_control_bytes(void **state)
{
    (void)state;
    static const char *const titles[] = {"A", "B"};
    struct table table;
    struct buf out;
    table_init(&table, titles, COUNT(titles));
    table_add_row(&table);
    table_set(&table, 0, "x\033[2J\n\r\ty");
    table_set(&table, 1, "");
    buf_init(&out, 4096);
    assert_true(table_render(&table, 80, false, &out));
    assert_string_equal(out.data, "A          B\nx?[2J???y  -\n");
    buf_fini(&out);
    table_fini(&table);
}

static void colour_appears_only_when_asked(void **state)
{
    (void)state;
    static const char *const titles[] = {"PHASE"};
    struct table table;
    table_init(&table, titles, COUNT(titles));
    table_add_row(&table);
    table_set(&table, 0, "Failed");
    table_colour(&table, 0, colour_of_phase("Failed"));
    for (int coloured = 0; coloured < 2; coloured++) {
        struct buf out;
        buf_init(&out, 4096);
        assert_true(table_render(&table, 80, coloured, &out));
        assert_int_equal(strchr(out.data, '\033') != NULL, coloured);
        buf_fini(&out);
    }
    table_fini(&table);
}

/* --- kinds --- */

static void every_word_for_a_kind_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum kind kind;
    } rows[] = {
        {"vmim", KIND_MIGRATION},
        {"migration", KIND_MIGRATION},
        {"migrations", KIND_MIGRATION},
        {"virtualmachineinstancemigrations", KIND_MIGRATION},
        {"vmi", KIND_GUEST},
        {"guest", KIND_GUEST},
        {"guests", KIND_GUEST},
        {"nodes", KIND_NODE},
        {"node", KIND_NODE},
        {"no", KIND_NODE},
        {"mp", KIND_POLICY},
        {"policies", KIND_POLICY},
        {"policy", KIND_POLICY},
        {"quota", KIND_QUOTA},
        {"quotas", KIND_QUOTA},
        {"resourcequotas", KIND_QUOTA},
        {"ns", KIND_NAMESPACE},
        {"namespaces", KIND_NAMESPACE},
        {"drains", KIND_DRAIN},
        {"drain", KIND_DRAIN},
        {"dr", KIND_DRAIN},
        {"incidents", KIND_INCIDENT},
        {"incident", KIND_INCIDENT},
        {"inc", KIND_INCIDENT},
        {"po", KIND_POD},
        {"pods", KIND_POD},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum kind kind = KIND_COUNT;
        struct err err = {0};
        assert_true(kind_from_word(rows[i].word, &kind, &err));
        assert_int_equal(kind, rows[i].kind);
    }
    static const char *const strangers[] = {"migr", "", "vm i", "gues t", "mig"};
    for (size_t i = 0; i < COUNT(strangers); i++) {
        enum kind kind;
        struct err err = {0};
        assert_false(kind_from_word(strangers[i], &kind, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
    enum kind kind;
    struct err err = {0};
    assert_false(kind_from_word("migratoins", &kind, &err));
    assert_non_null(strstr(err.text, "migrations"));
}

static void paths_are_encoded_and_bounded(void **state)
{
    (void)state;
    char path[KINDS_PATH_MAX], name[KINDS_PATH_MAX];
    struct err err = {0};
    assert_true(kind_path(KIND_MIGRATION, "default", "a/b c?", path, &err));
    assert_string_equal(path, "/apis/kubevirt.io/v1/namespaces/default/"
                              "virtualmachineinstancemigrations/a%2Fb%20c%3F");
    assert_true(kind_path(KIND_GUEST, NULL, NULL, path, &err));
    assert_string_equal(path, "/apis/kubevirt.io/v1/virtualmachineinstances");
    assert_true(kind_path(KIND_NODE, "ignored", "h1", path, &err));
    assert_string_equal(path, "/api/v1/nodes/h1");
    assert_true(kind_path(KIND_POLICY, "ignored", "p", path, &err));
    assert_string_equal(path, "/apis/migrations.kubevirt.io/v1alpha1/migrationpolicies/p");
    assert_true(kind_path(KIND_QUOTA, "shop", NULL, path, &err));
    assert_string_equal(path, "/api/v1/namespaces/shop/resourcequotas");
    assert_true(kind_path(KIND_NAMESPACE, NULL, "shop", path, &err));
    assert_string_equal(path, "/api/v1/namespaces/shop");
    assert_true(kind_path(KIND_DRAIN, NULL, NULL, path, &err));
    assert_string_equal(path, "/apis/ferry.internal/v1/drains");
    assert_true(kind_check_path("a b", path, &err));
    assert_string_equal(path, "/apis/ferry.internal/v1/namespaces/a%20b/checks");
    assert_string_equal(kind_api_version(KIND_POLICY), "migrations.kubevirt.io/v1alpha1");
    assert_string_equal(kind_api_version(KIND_POD), "v1");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(kind_path(KIND_NODE, NULL, name, path, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

/* --- answers --- */

static void a_status_becomes_an_error_with_its_message(void **state)
{
    (void)state;
    static const struct {
        long http;
        const char *body;
        enum err_code code;
        int exit;
    } rows[] = {
        {404, "{\"message\":\"m\",\"reason\":\"NotFound\"}", ERR_NOT_FOUND, 1},
        {409, "{\"message\":\"m\",\"reason\":\"AlreadyExists\"}", ERR_EXISTS, 1},
        {409, "{\"message\":\"m\",\"reason\":\"Conflict\"}", ERR_REFUSED, 1},
        {400, "{\"message\":\"m\"}", ERR_INVALID, 2},
        {422, "{\"message\":\"m\"}", ERR_UNPROCESSABLE, 2},
        {429, "{\"message\":\"m\"}", ERR_LIMIT, 1},
        {503, "{\"message\":\"m\"}", ERR_UNREACHABLE, 3},
        {504, "{\"message\":\"m\"}", ERR_TIMEOUT, 4},
        {500, "{\"message\":\"m\"}", ERR_INTERNAL, 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        OWNED(json_object) body = json_parse(rows[i].body, strlen(rows[i].body), "t", &err);
        assert_non_null(body);
        assert_false(client_fail_from_status(rows[i].http, body, &err));
        assert_int_equal(err.code, rows[i].code);
        assert_int_equal(err_exit_status(err.code), rows[i].exit);
        assert_string_equal(err.text, "m");
    }
    struct err err = {0};
    assert_false(client_fail_from_status(500, NULL, &err));
    assert_non_null(strstr(err.text, "500"));
}

static void a_closed_port_is_unreachable(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(client) client = client_new("http://127.0.0.1:1/", &err);
    assert_non_null(client);
    assert_string_equal(client_url(client), "http://127.0.0.1:1");
    assert_null(client_call(client, "GET", "/healthz", NULL, &err));
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_string_equal(err.text, "no appliance at http://127.0.0.1:1");
    struct err bad = {0};
    assert_null(client_new("ftp://x", &bad));
    assert_int_equal(bad.code, ERR_INVALID);
}

static struct json_object *parse(const char *text)
{
    struct err err = {0};
    struct json_object *object = json_parse(text, strlen(text), "t", &err);
    assert_non_null(object);
    return object;
}

static void a_migration_object_becomes_progress(void **state)
{
    (void)state;
    OWNED(json_object) object = parse(
        "{\"status\":{\"phase\":\"Running\",\"migrationState\":{\"mode\":\"PreCopy\","
        "\"abortStatus\":\"Aborting\"},\"ferry\":{\"pendingReason\":\"r\",\"resolving\":true,"
        "\"etaMs\":1500,\"sample\":{\"iteration\":3,\"remainingBytes\":25,\"processedBytes\":80,"
        "\"totalBytes\":100,\"dirtyRateBytesPerSecond\":5,\"transferRateBytesPerSecond\":6,"
        "\"throttlePercent\":20}}}}");
    struct progress p;
    wait_read(object, 99, &p);
    assert_string_equal(p.phase, "Running");
    assert_string_equal(p.mode, "PreCopy");
    assert_string_equal(p.abort_status, "Aborting");
    assert_string_equal(p.reason, "r");
    assert_true(p.resolving && p.has_sample);
    assert_int_equal(p.remaining, 25);
    assert_int_equal(p.processed, 80);
    assert_int_equal(p.total, 100);
    assert_int_equal(p.dirty_bps, 5);
    assert_int_equal(p.rate_bps, 6);
    assert_int_equal(p.iteration, 3);
    assert_int_equal(p.throttle_percent, 20);
    assert_int_equal(p.eta_ms, 1500);
    assert_int_equal(progress_percent(&p), 75);
    OWNED(json_object) young = parse("{\"status\":{\"phase\":\"Pending\"}}");
    wait_read(young, 1, &p);
    assert_false(p.has_sample);
    assert_int_equal(p.eta_ms, -1);
}

static const struct ending {
    const char *status, *text;
    bool moved;
} endings[] = {
    {"\"phase\":\"Succeeded\",\"ferry\":{\"outcome\":\"succeeded\",\"downtimeMs\":35,"
     "\"sample\":{\"processedBytes\":1048576}}",
     "m1: 'web' migrated from a to b in 4.2 s, 1.0 MiB sent, downtime 35 ms\n", true},
    {"\"phase\":\"Succeeded\",\"ferry\":{\"outcome\":\"succeeded\",\"downtimeMs\":35,"
     "\"final\":{\"downtimeMs\":40,\"bytes\":2097152},\"sample\":{\"processedBytes\":1048576}}",
     "m1: 'web' migrated from a to b in 4.2 s, 2.0 MiB sent, downtime 40 ms\n", true},
    {"\"phase\":\"Failed\",\"ferry\":{\"outcome\":\"failed\",\"guestAt\":\"running-on-source\"}",
     "ferry: m1 failed: no failure reason\n  guest 'web' is on its source a\n", false},
    {"\"phase\":\"Failed\",\"ferry\":{\"outcome\":\"aborted\",\"guestAt\":\"running-on-source\"}",
     "ferry: m1 was aborted: no failure reason\n  guest 'web' is on its source a\n", false},
    {"\"phase\":\"Failed\",\"ferry\":{\"outcome\":\"lost\",\"guestAt\":\"lost\"}",
     "ferry: m1 failed: no failure reason\n  guest 'web' is neither on a nor on b\n", false},
    {"\"phase\":\"Failed\",\"ferry\":{}",
     "ferry: m1 failed: no failure reason\n"
     "  location of guest 'web' is not proven; check both hosts\n",
     false},
};

static void every_summary_has_the_location_of_the_guest(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(endings); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"vmiName\":\"web\"},"
                       "\"status\":{\"migrationState\":{\"sourceNode\":\"a\",\"targetNode\":\"b\"},"
                       "%s}}",
                       endings[i].status);
        OWNED(json_object) object = parse(text);
        struct buf out;
        buf_init(&out, 4096);
        assert_int_equal(wait_summary(object, 4200, &out), endings[i].moved);
        assert_string_equal(out.data, endings[i].text);
        buf_fini(&out);
    }
}

TEST_FILE(test_cli_human)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_short_and_binary),
        cmocka_unit_test(durations_and_ages_are_short),
        cmocka_unit_test(durations_are_read_or_refused),
        cmocka_unit_test(quantities_are_read_or_refused),
        cmocka_unit_test(times_are_read_or_refused),
        cmocka_unit_test(a_table_drops_optional_columns_before_it_cuts),
        cmocka_unit_test(a_table_fits_the_width_by_cutting_the_widest),
        cmocka_unit_test(cells_have_no_control_bytes),
        cmocka_unit_test(colour_appears_only_when_asked),
        cmocka_unit_test(every_word_for_a_kind_is_known),
        cmocka_unit_test(paths_are_encoded_and_bounded),
        cmocka_unit_test(a_status_becomes_an_error_with_its_message),
        cmocka_unit_test(a_closed_port_is_unreachable),
        cmocka_unit_test(a_migration_object_becomes_progress),
        cmocka_unit_test(every_summary_has_the_location_of_the_guest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
