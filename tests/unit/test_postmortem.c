/* test_postmortem.c - the page of a migration: both hosts on one clock, nothing that came from
 * outside leaves it unescaped, the same rows give the same page. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/postmortem.h"
#include "base/json.h"
#include "store/sqlite/sqlite.h"
#include "tests/unit/golden.h"

enum { ZERO_MS = 1000000, SAMPLES = 50 };
#define EVIL "<script>alert('x')</script> | `#` \x1b[31m \xff\xfe \"&"

/* A failed one, with a row of each kind, and texts that want out of the page. */
static void put_story(struct store *s)
{
    s->ops->put_job(s, &(struct store_job){.uid = "job-1",
                                           .ns = "default",
                                           .name = "mig",
                                           .guest_name = "web" EVIL,
                                           .guest_uuid = "u",
                                           .source = "a",
                                           .target = "b",
                                           .phase = "Failed",
                                           .mode = "PreCopy",
                                           .result.outcome = "failed",
                                           .resolution.guest_at = "running-on-source",
                                           .result.failure_reason = EVIL,
                                           .call.config_json = "{\"maxDowntimeMs\":77}",
                                           .times.created_ms = ZERO_MS - 5000,
                                           .times.handed_off_ms = ZERO_MS,
                                           .times.ended_ms = ZERO_MS + 20000,
                                           .forecast.percent = -1});
    static const char *const phases[] = {"", "Pending", "Running", "Failed"};
    for (int i = 0; i < 3; i++)
        s->ops->put_transition(s, &(struct store_transition){.job_uid = "job-1",
                                                             .seq = i + 1,
                                                             .from = phases[i],
                                                             .to = phases[i + 1],
                                                             .why = "so",
                                                             .at_ms = ZERO_MS + i * 10000,
                                                             .spent_ms = i * 10000});
    s->ops->put_intent(s, &(struct store_intent){.job_uid = "job-1",
                                                 .epoch = 1,
                                                 .seq = 1,
                                                 .action = "migrate",
                                                 .node = "a",
                                                 .status = "done",
                                                 .asked_ms = ZERO_MS + 100,
                                                 .done_ms = ZERO_MS + 19000,
                                                 .err = "hypervisor",
                                                 .text = EVIL});
    s->ops->put_observation(s, &(struct store_observation){.job_uid = "job-1",
                                                           .node = "b",
                                                           .role = "target",
                                                           .presence = "unreachable",
                                                           .moment = "outcome",
                                                           .at_ms = ZERO_MS + 19500});
    s->ops->put_error(s, &(struct store_error){.job_uid = "job-1",
                                               .node = "a",
                                               .call = "migrate",
                                               .hv_code = 9,
                                               .at_ms = ZERO_MS + 19000,
                                               .text = EVIL});
}

static void put_verdict_rows(struct store *s)
{
    s->ops->put_mode(
        s, &(struct store_mode){.job_uid = "job-1", .mode = "PreCopy", .at_ms = ZERO_MS + 400});
    s->ops->put_decision(s, &(struct store_decision){.job_uid = "job-1",
                                                     .seq = 1,
                                                     .at_ms = ZERO_MS + 500,
                                                     .monitor = "stall",
                                                     .decision = "goes-on",
                                                     .action = "nothing",
                                                     .text = EVIL});
    s->ops->put_event(s, &(struct store_event){.uid = "job-1",
                                               .type = "Warning",
                                               .reason = EVIL,
                                               .message = EVIL,
                                               .at_ms = ZERO_MS + 600});
    s->ops->put_rejection(s, &(struct store_rejection){
                                 .job_uid = "job-1", .node = "c", .reason = EVIL, .detail = EVIL});
    s->ops->put_verdict(s, &(struct store_verdict){.job_uid = "job-1",
                                                   .outcome = "failed",
                                                   .plane = "data",
                                                   .cause = "network-connection-lost",
                                                   .guest_at = "running-on-source",
                                                   .confidence_percent = 93,
                                                   .action = EVIL});
    s->ops->put_point(s, &(struct store_point){.job_uid = "job-1",
                                               .seq = 1,
                                               .standing = "for",
                                               .origin = EVIL,
                                               .quote = EVIL,
                                               .note = EVIL});
    s->ops->put_evidence(s, &(struct store_evidence){.job_uid = "job-1",
                                                     .seq = 1,
                                                     .side = "target",
                                                     .origin = "qemu.log",
                                                     .at_ms = ZERO_MS + 18000,
                                                     .key = "",
                                                     .text = EVIL});
}

static void put_samples(struct store *s)
{
    for (int i = 0; i < SAMPLES; i++) {
        struct store_sample row = {.job_uid = "job-1",
                                   .source = "poll",
                                   .seq = i,
                                   .at_ms = ZERO_MS + 400 * (i + 1),
                                   .memory_total = 1 << 30,
                                   .memory_remaining = (1 << 30) / (i + 1),
                                   .memory_page_size = 4096,
                                   .memory_dirty_rate = 100,
                                   .bandwidth_bps = 50 << 20};
        assert_true(s->ops->append_samples(s, &row, 1));
    }
}

struct world {
    struct store *store;
    struct archive *archive;
    struct postmortem *pm;
};

static int setup(void **state)
{
    struct err err = {0};
    struct world *w = calloc(1, sizeof *w);
    w->store = store_sqlite_open(NULL, &err);
    w->store->ops->begin(w->store);
    put_story(w->store);
    put_verdict_rows(w->store);
    assert_true(w->store->ops->commit(w->store, &err));
    put_samples(w->store);
    w->archive = archive_load(w->store, "default", "mig", &err);
    assert_non_null(w->archive);
    w->pm = postmortem_new(w->archive, &err);
    assert_non_null(w->pm);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    postmortem_free(w->pm);
    archive_free(w->archive);
    store_free(w->store);
    free(w);
    return 0;
}

static char *render(void **state, enum pm_format format)
{
    struct buf out;
    buf_init(&out, POSTMORTEM_PAGE_MAX);
    postmortem_render(((struct world *)*state)->pm, format, 100, &out);
    assert_false(out.failed);
    return buf_take(&out);
}

static void the_timeline_has_both_hosts_on_one_clock(void **state)
{
    const struct postmortem *pm = ((struct world *)*state)->pm;
    bool source = false, target = false;
    for (size_t i = 1; i < pm->n_lines; i++)
        assert_true(pm->lines[i - 1].at_ms <= pm->lines[i].at_ms);
    for (size_t i = 0; i < pm->n_lines; i++) {
        source = source || pm->lines[i].side == PM_SOURCE;
        target = target || pm->lines[i].side == PM_TARGET;
    }
    assert_true(source && target);
    assert_int_equal(pm->n_lines, 3 + 2 + 1 + 1 + 1 + 1 + 1 + 1);
    assert_int_equal(pm->n_settings, 1);
    assert_string_equal(pm->settings[0].name, "maxDowntimeMs");
    assert_int_equal(pm->n_helps, 0); /* no decision of ours ended it: nothing is guessed */
}

static void what_came_from_outside_is_escaped(void **state)
{
    for (enum pm_format format = 0; format < PM_FORMAT_COUNT; format++) {
        OWNED_TEXT page = render(state, format);
        for (const char *c = page; *c != '\0'; c += text_utf8_bytes(c)) {
            assert_true(text_utf8_bytes(c) > 0);
            assert_true((unsigned char)*c >= ' ' || *c == '\n');
        }
        if (format == PM_HTML || format == PM_MARKDOWN)
            assert_null(strstr(page, "<script"));
        assert_non_null(strstr(page, "network-connection-lost") != NULL
                            ? page
                            : strstr(page, "network\\-connection\\-lost"));
    }
    OWNED_TEXT html = render(state, PM_HTML);
    assert_non_null(strstr(html, "&lt;script&gt;alert(&#39;x&#39;)"));
    assert_null(strstr(html, "http://")); /* stands alone */
    assert_null(strstr(html, "https://"));
    assert_non_null(strstr(html, "<polyline class=\"left\""));
    OWNED_TEXT markdown = render(state, PM_MARKDOWN);
    assert_non_null(strstr(markdown, "\\| \\`\\#\\`")); /* a table stays a table */
}

/* Every element that is opened is closed, in order. */
static void the_html_is_well_formed(void **state)
{
    static const char *const empty[] = {"meta", "!DOCTYPE", "br"};
    OWNED_TEXT html = render(state, PM_HTML);
    char stack[64][16];
    size_t depth = 0;
    for (char *c = strchr(html, '<'); c != NULL; c = strchr(c + 1, '<')) {
        char name[16] = "";
        bool closes = c[1] == '/';
        (void)sscanf(c + 1 + closes, "%15[A-Za-z0-9!]", name);
        char *end = strchr(c, '>');
        assert_non_null(end);
        bool alone = end[-1] == '/';
        for (size_t i = 0; i < COUNT(empty); i++)
            alone = alone || strcmp(name, empty[i]) == 0;
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(stack[--depth], name);
        } else if (!alone) {
            assert_true(depth < COUNT(stack));
            TEXT_SET(stack[depth++], name);
        }
    }
    assert_int_equal(depth, 0);
}

static void the_json_can_be_read_back(void **state)
{
    struct err err = {0};
    OWNED_TEXT text = render(state, PM_JSON);
    OWNED(json_object) page = json_parse(text, strlen(text), "page", &err);
    assert_non_null(page);
    assert_string_equal(json_object_get_string(json_at(page, "verdict.cause")),
                        "network-connection-lost");
    assert_int_equal(json_object_array_length(json_at(page, "timeline")), 11);
    assert_int_equal(json_object_array_length(json_at(page, "phases")), 2);
    assert_int_equal(json_object_get_int64(json_at(page, "configuration.maxDowntimeMs")), 77);
    assert_in_range(json_object_array_length(json_at(page, "samples")), 2, SAMPLES);
}

/* What people read, byte by byte. */
static void the_pages_are_the_golden_ones(void **state)
{
    static const char *const names[PM_FORMAT_COUNT] = {
        [PM_TEXT] = "txt", [PM_MARKDOWN] = "md", [PM_JSON] = "json", [PM_HTML] = "html"};
    for (enum pm_format format = 0; format < PM_FORMAT_COUNT; format++) {
        OWNED_TEXT page = render(state, format);
        char path[64];
        (void)snprintf(path, sizeof path, "tests/golden/postmortem.%s", names[format]);
        assert_golden(page, path);
    }
}

static void the_same_rows_give_the_same_page(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    for (enum pm_format format = 0; format < PM_FORMAT_COUNT; format++) {
        OWNED_TEXT first = render(state, format);
        postmortem_free(w->pm);
        archive_free(w->archive);
        w->archive = archive_load(w->store, "", "job-1", &err); /* by its uid this time */
        w->pm = postmortem_new(w->archive, &err);
        OWNED_TEXT second = render(state, format);
        assert_string_equal(first, second);
    }
}

static void a_migration_of_which_little_is_left_has_a_page_too(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(store) s = store_sqlite_open(NULL, &err);
    s->ops->begin(s);
    s->ops->put_job(s, &(struct store_job){.uid = "job-2", .ns = "x", .name = "y"});
    assert_true(s->ops->commit(s, &err));
    OWNED(archive) archive = archive_load(s, "x", "y", &err);
    OWNED(postmortem) pm = postmortem_new(archive, &err);
    assert_non_null(pm);
    for (enum pm_format format = 0; format < PM_FORMAT_COUNT; format++) {
        struct buf out;
        buf_init(&out, POSTMORTEM_PAGE_MAX);
        postmortem_render(pm, format, 20, &out);
        assert_false(out.failed);
        buf_fini(&out);
    }
    assert_null(archive_load(s, "x", "z", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void a_long_timeline_is_cut_and_counted(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    w->store->ops->begin(w->store);
    for (int i = 0; i < POSTMORTEM_LINES_MAX; i++)
        w->store->ops->put_error(w->store, &(struct store_error){.job_uid = "job-1",
                                                                 .node = "a",
                                                                 .call = "look",
                                                                 .at_ms = ZERO_MS + i,
                                                                 .text = "no"});
    assert_true(w->store->ops->commit(w->store, &err));
    OWNED(archive) archive = archive_load(w->store, "default", "mig", &err);
    OWNED(postmortem) pm = postmortem_new(archive, &err);
    assert_int_equal(pm->n_lines, POSTMORTEM_LINES_MAX);
    assert_int_equal(pm->n_left_out, 11);
}

TEST_FILE(test_postmortem)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_timeline_has_both_hosts_on_one_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(what_came_from_outside_is_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(the_html_is_well_formed, setup, teardown),
        cmocka_unit_test_setup_teardown(the_json_can_be_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(the_pages_are_the_golden_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(the_same_rows_give_the_same_page, setup, teardown),
        cmocka_unit_test(a_migration_of_which_little_is_left_has_a_page_too),
        cmocka_unit_test_setup_teardown(a_long_timeline_is_cut_and_counted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
