/* test_api_page.c - the page at /: a browser gets all of it, may run it, and nothing else. What
 * it shows and does is tried in a browser (tests/page/). */
#include "base/log.h"
#include "exporter/api/files.h"
#include "tests/unit/test_api_http.h"

static const char folder[] = "exporter/page/";

static const struct served_file *page_file(const char *name)
{
    return served_file_find("exporter/page", name);
}

static bool is_whole(void) /* built with npm */
{
    return page_file("missing.html") == NULL;
}

static void the_page_may_run_its_own_scripts_and_no_others(void **state)
{
    struct answer a = get(*state, "/");
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Type: text/html"));
    assert_non_null(strstr(a.head, "Content-Security-Policy: default-src 'none'; "));
    assert_non_null(strstr(a.head, "; script-src 'self'; "));
    assert_non_null(strstr(a.head, "frame-ancestors 'none'"));
    assert_null(strstr(a.head, "unsafe"));
    assert_non_null(strstr(a.body, is_whole() ? "page/app.js" : "make page"));
    answer_fini(&a);
}

/* Law: what the policy forbids is not written: no script, style or handler in the markup. */
static void nothing_is_inline(void **state)
{
    (void)state;
    static const char *const forbidden[] = {"<style", "style=", "onclick", "onload", "javascript:"};
    const struct served_file *file = page_file("index.html");
    for (size_t i = 0; i < COUNT(forbidden); i++)
        assert_null(strstr(file->text, forbidden[i]));
    for (const char *at = file->text; (at = strstr(at, "<script")) != NULL; at++)
        assert_non_null(strstr(at, "src=\"page/"));
}

static size_t check_imports(void **state, const struct served_file *file)
{
    size_t n = 0;
    for (const char *at = file->text; (at = strstr(at, "from './")) != NULL; n++) {
        char path[128];
        at += strlen("from './");
        (void)snprintf(path, sizeof path, "/page/%.*s", (int)strcspn(at, "'"), at);
        struct answer a = get(*state, path);
        if (a.status != 200)
            fail_msg("%s imports %s, which is not served", file->path, path);
        assert_non_null(strstr(a.head, "Content-Type: text/javascript"));
        answer_fini(&a);
    }
    return n;
}

/* Law: every module that one imports is served, under the whole name of a file only. */
static void every_import_is_served(void **state)
{
    size_t n = 0;
    if (!is_whole())
        skip();
    for (const struct served_file *file = served_files; file->path != NULL; file++)
        if (strncmp(file->path, folder, strlen(folder)) == 0 && strstr(file->path, ".js") != NULL)
            n += check_imports(state, file);
    assert_true(n > 20);
}

static void only_whole_names_are_files_of_the_page(void **state)
{
    static const char *const paths[] = {"/page/app",          "/page/app.j",
                                        "/page/package.json", "/page/..%2Fpage%2Fapp.js",
                                        "/page/README.md",    "/docs/STATUS"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct answer a = get(*state, paths[i]);
        if (a.status != 404)
            fail_msg("%s: %d", paths[i], a.status);
        answer_fini(&a);
    }
    struct answer a = get(*state, "/page/page.css");
    assert_non_null(strstr(a.head, "Content-Type: text/css"));
    answer_fini(&a);
}

/* Law: the first view is smaller than 300 KB. */
static void the_page_is_small(void **state)
{
    (void)state;
    size_t bytes = 0;
    for (const struct served_file *file = served_files; file->path != NULL; file++)
        if (strncmp(file->path, folder, strlen(folder)) == 0)
            bytes += file->bytes;
    assert_in_range(bytes, 10000, 300000);
}

static void documents_are_named(void **state)
{
    struct answer a = get(*state, "/page");
    assert_int_equal(a.status, 200);
    assert_string_equal(at(&a, "docs.0"), "access");
    assert_string_equal(at(&a, "runbooks.0"), "FerryAbortFailed");
    assert_string_equal(at(&a, "version"), "0.1.0");
    answer_fini(&a);
}

/* A link of an alert opens the view of a runbook; curl and the page itself read its text. */
static void a_browser_is_led_to_the_view_of_a_document(void **state)
{
    static const char browser[] = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    if (!is_whole())
        skip();
    struct answer a = ask(*state, "GET", "/runbooks/FerryDown.md", browser, NULL);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Type: text/html"));
    assert_non_null(strstr(a.body, "content=\"0;url=../#/runbook/FerryDown\""));
    answer_fini(&a);
    a = ask(*state, "GET", "/docs/operations", browser, NULL);
    assert_non_null(strstr(a.body, "content=\"0;url=../#/doc/operations\""));
    answer_fini(&a);
    a = ask(*state, "GET", "/runbooks/%22%3E%3Cb%3E", browser, NULL);
    assert_int_equal(a.status, 404);
    assert_null(strstr(a.head, "text/html"));
    answer_fini(&a);
    a = ask(*state, "GET", "/migration/prod/m1.x-2", "", NULL); /* of an alert; need not exist */
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "content=\"0;url=../../#/migration/prod/m1.x-2\""));
    answer_fini(&a);
    a = ask(*state, "GET", "/migration/prod/%22%3E%3Cb%3E", browser, NULL);
    assert_int_equal(a.status, 404);
    assert_null(strstr(a.head, "text/html"));
    answer_fini(&a);
    a = ask(*state, "GET", "/runbooks/FerryDown", "Accept: */*\r\n", NULL);
    assert_memory_equal(a.body, "# FerryDown", 11);
    answer_fini(&a);
}

/* A browser asks its user for a password where it opens a page, not where a script was refused. */
static void a_script_with_a_wrong_token_makes_no_password_prompt(void **state)
{
    static const struct {
        const char *headers;
        bool asks;
    } rows[] = {
        {"Authorization: Bearer ferry_wrong\r\nSec-Fetch-Mode: cors\r\n", false},
        {"Authorization: Bearer ferry_wrong\r\nSec-Fetch-Mode: navigate\r\n", true},
        {"Authorization: Bearer ferry_wrong\r\n", true},
    };
    struct rig *rig = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask_port(rig->port, "GET", "/access", rows[i].headers, NULL);
        assert_int_equal(a.status, 401);
        assert_non_null(strstr(a.head, "WWW-Authenticate: Bearer"));
        assert_int_equal(strstr(a.head, "WWW-Authenticate: Basic") != NULL, rows[i].asks);
        answer_fini(&a);
    }
}

/* What the page watches: migrations that have not ended. */
static void migrations_are_selected_by_phase_and_guest(void **state)
{
    struct answer all = get(*state, VMIM_PATH);
    size_t n = json_object_array_length(json_at(all.json, "items"));
    struct answer active = get(
        *state, VMIM_PATH "?fieldSelector=status.phase%21%3DSucceeded,status.phase%21%3DFailed");
    struct json_object *items = json_at(active.json, "items");
    assert_in_range(json_object_array_length(items), 1, n - 1);
    for (size_t i = 0; i < json_object_array_length(items); i++) {
        const char *phase =
            json_object_get_string(json_at(json_object_array_get_idx(items, i), "status.phase"));
        assert_string_not_equal(phase, "Succeeded");
        assert_string_not_equal(phase, "Failed");
    }
    answer_fini(&active);
    struct answer one = get(*state, VMIM_PATH "?fieldSelector=spec.vmiName%3Dvm1");
    items = json_at(one.json, "items");
    assert_true(json_object_array_length(items) >= 1);
    for (size_t i = 0; i < json_object_array_length(items); i++)
        assert_string_equal(
            json_object_get_string(json_at(json_object_array_get_idx(items, i), "spec.vmiName")),
            "vm1");
    answer_fini(&one);
    answer_fini(&all);
}

/* No button where a change would be refused whatever the role is. */
static void plain_http_is_said_to_be_read_only(void **state)
{
    struct rig *rig = *state;
    struct answer plain = ask_port(rig->port, "GET", "/access", "", NULL);
    assert_string_equal(at(&plain, "readOnly"), "true");
    answer_fini(&plain);
    struct answer socket = ask(rig, "GET", "/access", "", NULL);
    assert_null(json_at(socket.json, "readOnly"));
    answer_fini(&socket);
}

#define WIRE_TEST(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

TEST_FILE(test_api_page)
{
    const struct CMUnitTest tests[] = {
        WIRE_TEST(the_page_may_run_its_own_scripts_and_no_others),
        cmocka_unit_test(nothing_is_inline),
        WIRE_TEST(every_import_is_served),
        WIRE_TEST(only_whole_names_are_files_of_the_page),
        cmocka_unit_test(the_page_is_small),
        WIRE_TEST(documents_are_named),
        WIRE_TEST(a_browser_is_led_to_the_view_of_a_document),
        WIRE_TEST(a_script_with_a_wrong_token_makes_no_password_prompt),
        WIRE_TEST(migrations_are_selected_by_phase_and_guest),
        WIRE_TEST(plain_http_is_said_to_be_read_only),
    };
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
