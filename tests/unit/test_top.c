/* test_top.c - `ferry top` without a terminal: frames, rows, keys. */
#include "tests/test.h"

#include <locale.h>
#include <stdlib.h>

#include "cli/top/draw.h"
#include "tests/unit/golden.h"
#include "tests/unit/test_top_stage.h"

static char *drawn(const struct top *top, int rows, int columns)
{
    struct frame frame;
    struct buf text;
    assert_true(frame_init(&frame, rows, columns));
    top_draw(top, &frame);
    buf_init(&text, 1 << 20);
    frame_text(&frame, rows, &text);
    frame_fini(&frame);
    return buf_take(&text);
}

static void press(struct top *top, const char *keys)
{
    for (; *keys != '\0'; keys++)
        assert_int_equal(top_press(top, *keys, 10), COMMAND_NOTHING);
}

static void allow(struct top *top)
{
    TEXT_SET(top->right_ns, "default");
    top->right = RIGHT_YES;
}

/* ---- frames ---- */

static void a_frame_has_its_golden_form(void **state)
{
    (void)state;
    static const struct {
        int rows, columns;
        const char *golden;
    } sizes[] = {{24, 80, "tests/golden/top-80x24.txt"},
                 {40, 120, "tests/golden/top-120x40.txt"},
                 {10, 40, "tests/golden/top-40x10.txt"}};
    struct top top;
    stage_fleet(&top);
    press(&top, "j"); /* web, in default: the right was asked for */
    allow(&top);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        OWNED_TEXT text = drawn(&top, sizes[i].rows, sizes[i].columns);
        assert_golden(text, sizes[i].golden);
    }
    top_fini(&top);
}

static void a_plain_frame_has_everything_and_no_keys(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    top.is_plain = true;
    OWNED_TEXT text = drawn(&top, top_plain_rows(&top), 80);
    assert_golden(text, "tests/golden/top-once.txt");
    top_fini(&top);
}

static void a_lost_connection_is_seen_and_rows_are_dim(void **state)
{
    (void)state;
    struct top top;
    struct frame frame;
    stage_fleet(&top);
    stage_link(&top, false);
    OWNED_TEXT text = drawn(&top, 24, 80);
    assert_non_null(strstr(text, "not connected, since 19:59:29 (31s); next try in 2s\n"));
    assert_non_null(strstr(text, "\nno appliance at unix:/run/ferry/ferry.sock\n"));
    assert_true(frame_init(&frame, 24, 80));
    top_draw(&top, &frame);
    for (int column = 0; column < 80; column++)
        if (frame_cell(&frame, 4, column)->code != ' ')
            assert_int_equal(frame_cell(&frame, 4, column)->style, STYLE_DIM);
    frame_fini(&frame);
    top_fini(&top);
}

/* db writes 180 MiB/s, web 32, and 110 are sent; till is in post-copy. */
static void rates_are_red_where_pre_copy_cannot_end(void **state)
{
    (void)state;
    static const bool is_red[] = {false, false, true};
    struct top top;
    struct frame frame;
    stage_fleet(&top);
    assert_true(frame_init(&frame, 24, 80));
    top_draw(&top, &frame);
    for (int i = 0; i < 3; i++) {
        bool red = false;
        for (int column = 0; column < 80; column++)
            red = red || frame_cell(&frame, 4 + i, column)->style == STYLE_BAD;
        assert_int_equal(red, is_red[i]);
    }
    frame_fini(&frame);
    top_fini(&top);
}

/* Every size draws inside of its frame (the cells assert), and a row is as wide as the frame. */
static void every_size_can_be_drawn(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    for (int rows = 1; rows <= 30; rows++)
        for (int columns = 1; columns <= 140; columns += rows % 3 + 1) {
            OWNED_TEXT text = drawn(&top, rows, columns);
            for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
                assert_true(strcspn(line, "\n") <= (size_t)columns);
        }
    top_fini(&top);
}

static void the_selected_row_is_among_those_that_are_shown(void **state)
{
    (void)state;
    char guest[32];
    struct top top;
    stage_fleet(&top);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(guest, sizeof guest, "guest%03d", i);
        stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED,
                   stage_waiting(guest, "slot-fleet", "x", "2026-11-19T20:00:00Z"));
    }
    top_settle(&top);
    for (size_t i = 0; i < top.now.n; i++) {
        struct frame frame;
        bool is_shown = false;
        assert_true(frame_init(&frame, 24, 80));
        top_draw(&top, &frame);
        for (int row = 0; row < 24; row++)
            is_shown = is_shown || frame_cell(&frame, row, 79)->reversed;
        assert_true(is_shown);
        frame_fini(&frame);
        (void)top_press(&top, TOP_KEY_DOWN, 10);
    }
    top_fini(&top);
}

static void what_a_terminal_would_obey_does_not_reach_it(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED,
               stage_waiting("a\\u001b[31mb\\u009bc\\u202e", "slot-fleet", "\\u0007bell\\n",
                             "2026-11-19T20:00:00Z"));
    OWNED_TEXT text = drawn(&top, 24, 80);
    assert_non_null(strstr(text, "a?[31mb?c?"));
    for (const char *c = text; *c != '\0'; c++)
        assert_true(*c == '\n' || (unsigned char)*c >= ' ');
    top_fini(&top);
}

/* Pages come to the frame as they are. */
static void nor_from_what_is_put_into_a_frame_at_once(void **state)
{
    (void)state;
    struct frame frame;
    struct buf text;
    assert_true(frame_init(&frame, 1, 20));
    (void)frame_put(&frame, 0, 0, 20, STYLE_PLAIN,
                    "a\033]0;x\a\x7f\xc2\x9b"
                    "b\xe2\x80\xae\xff");
    buf_init(&text, 100);
    frame_text(&frame, 1, &text);
    assert_string_equal(text.data, "a?]0;x???b??\n");
    buf_fini(&text);
    frame_fini(&frame);
}

static void wide_characters_take_two_cells(void **state)
{
    (void)state;
    struct frame frame;
    struct buf text;
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        skip();
    assert_true(frame_init(&frame, 1, 6));
    assert_int_equal(frame_width("\xE4\xB8\xAD\xC3\xA4"), 3);
    assert_int_equal(frame_put(&frame, 0, 0, 6, STYLE_PLAIN, "\xE4\xB8\xAD\xC3\xA4x"), 4);
    assert_int_equal(frame_put(&frame, 0, 5, 6, STYLE_PLAIN, "\xE4\xB8\xAD"), 0); /* no half */
    buf_init(&text, 100);
    frame_text(&frame, 1, &text);
    assert_string_equal(text.data, "\xE4\xB8\xAD\xC3\xA4x\n");
    buf_fini(&text);
    frame_fini(&frame);
    (void)setlocale(LC_CTYPE, "C");
}

/* ---- rows ---- */

static size_t rows_of(const struct top *top, enum now_section section)
{
    return now_count(&top->now, section);
}

static void what_has_ended_is_gone(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_DELETED,
               stage_waiting("ci", "slot-source", "", "2026-11-19T19:59:30Z"));
    stage_tell(&top, NOW_INCIDENTS, FOLLOW_MODIFIED, stage_incident("doomed", "acknowledged"));
    assert_int_equal(rows_of(&top, SECTION_WAITING), 1);
    assert_int_equal(rows_of(&top, SECTION_INCIDENTS), 0);
    top_fini(&top);
}

/* Rows are found by their keys, whichever went before. */
static void who_stays_is_still_found(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    while (top.now.n > 1) {
        const struct now_row *row = &top.now.rows[0];
        enum now_kind kind = row->section == SECTION_INCIDENTS ? NOW_INCIDENTS
                             : row->section == SECTION_DRAINS  ? NOW_DRAINS
                                                               : NOW_MIGRATIONS;
        size_t before = top.now.n;
        struct json_object *gone = stage_object(
            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"}}", row->name, row->ns);
        stage_tell(&top, kind, FOLLOW_DELETED, gone);
        assert_int_equal(top.now.n, before - 1);
        for (size_t i = 0; i < top.now.n; i++)
            assert_ptr_equal(now_find(&top.now, top.now.rows[i].key), &top.now.rows[i]);
    }
    top_fini(&top);
}

static void what_waited_and_now_moves_changes_its_section(void **state)
{
    (void)state;
    const struct stage_move move = {"default", "ci", "n1", "n3", "PreCopy", 10, 5, 1, 1, 1, 1000};
    struct top top;
    stage_fleet(&top);
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_MODIFIED, stage_moving(&move));
    assert_int_equal(rows_of(&top, SECTION_MOVING), 4);
    assert_int_equal(rows_of(&top, SECTION_WAITING), 1);
    top_fini(&top);
}

/* After a restart of the appliance. */
static void what_a_new_list_does_not_tell_is_gone(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    now_take(&top.now, NOW_MIGRATIONS, FOLLOW_BEGIN, NULL);
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED,
               stage_waiting("ci", "slot-source", "", "2026-11-19T19:59:30Z"));
    assert_int_equal(rows_of(&top, SECTION_MOVING), 3); /* until everything was told */
    now_take(&top.now, NOW_MIGRATIONS, FOLLOW_SYNCED, NULL);
    assert_int_equal(rows_of(&top, SECTION_MOVING), 0);
    assert_int_equal(rows_of(&top, SECTION_WAITING), 1);
    assert_int_equal(rows_of(&top, SECTION_INCIDENTS), 1);
    assert_int_equal(rows_of(&top, SECTION_DRAINS), 1);
    top_fini(&top);
}

static void at_the_bound_who_moves_is_kept_and_the_others_are_counted(void **state)
{
    (void)state;
    const struct stage_move move = {"default", "late", "n1", "n3", "PreCopy", 9, 5, 1, 1, 1, 1000};
    enum { MORE = 7 };
    struct top top;
    char guest[32];
    top_init(&top);
    for (int i = 0; i < NOW_ROWS_MAX + MORE; i++) {
        (void)snprintf(guest, sizeof guest, "w%d", i);
        stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED,
                   stage_waiting(guest, "slot-fleet", "", "2026-11-19T19:59:30Z"));
    }
    assert_int_equal(rows_of(&top, SECTION_WAITING), NOW_ROWS_MAX);
    assert_int_equal(top.now.omitted[NOW_MIGRATIONS], MORE);
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED, stage_moving(&move));
    assert_int_equal(rows_of(&top, SECTION_MOVING), 1);
    assert_int_equal(top.now.n, NOW_ROWS_MAX);
    assert_int_equal(top.now.omitted[NOW_MIGRATIONS], MORE + 1);
    assert_false(now_wants_list(&top.now, NOW_MIGRATIONS));
    for (int i = 0; i < NOW_ROWS_MAX / 2; i++) {
        (void)snprintf(guest, sizeof guest, "w%d", i);
        stage_tell(&top, NOW_MIGRATIONS, FOLLOW_DELETED,
                   stage_waiting(guest, "slot-fleet", "", "2026-11-19T19:59:30Z"));
    }
    assert_true(now_wants_list(&top.now, NOW_MIGRATIONS)); /* there is room again */
    top_fini(&top);
}

/* ---- keys ---- */

static const char *selected(const struct top *top)
{
    const struct now_row *row = top_selected(top);
    return row != NULL ? row->guest : "";
}

static void the_selection_stays_with_its_migration(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    assert_string_equal(selected(&top), "till"); /* the next one to end */
    press(&top, "j");
    assert_string_equal(selected(&top), "web");
    press(&top, "s"); /* by what remains: db, web, till */
    assert_string_equal(selected(&top), "web");
    press(&top, "k");
    assert_string_equal(selected(&top), "db");
    press(&top, "r"); /* till, web, db */
    press(&top, "k");
    assert_string_equal(selected(&top), "web");
    top_fini(&top);
}

static void the_first_row_is_selected_until_a_key_chooses(void **state)
{
    (void)state;
    const struct stage_move soon = {"default", "soon", "n1", "n3", "PreCopy", 9, 5, 1, 1, 1, 10};
    struct top top;
    stage_fleet(&top);
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED, stage_moving(&soon));
    top_settle(&top);
    assert_string_equal(selected(&top), "soon");
    press(&top, "g");
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_DELETED, stage_moving(&soon));
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_ADDED, stage_moving(&soon));
    top_settle(&top);
    assert_string_equal(selected(&top), "soon");
    top_fini(&top);
}

static void a_key_goes_through_every_order_in_turn(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    for (int i = 0; i <= SORT_COUNT; i++) {
        assert_int_equal(top.sort, i % SORT_COUNT);
        press(&top, "s");
    }
    top_fini(&top);
}

static void the_selection_goes_on_where_its_row_was(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    press(&top, "jjj"); /* mail waits for 42 s at most, ci for a day */
    assert_string_equal(selected(&top), "mail");
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_DELETED,
               stage_waiting("mail", "", "", "2026-11-19T19:59:30Z"));
    top_settle(&top);
    assert_string_equal(selected(&top), "ci");
    top_fini(&top);
}

static void an_abort_needs_a_role_a_connection_and_a_yes(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    press(&top, "j");
    assert_string_equal(top_right_wanted(&top), "default");
    press(&top, "a"); /* not known yet */
    assert_int_equal(top.view, VIEW_LIST);
    allow(&top);
    assert_null(top_right_wanted(&top));
    TEXT_SET(top.right_ns, "shop"); /* a role there is none here */
    press(&top, "a");
    assert_int_equal(top.view, VIEW_LIST);
    assert_string_equal(top_right_wanted(&top), "default");
    allow(&top);
    stage_link(&top, false);
    press(&top, "a");
    assert_int_equal(top.view, VIEW_LIST);
    stage_link(&top, true);
    press(&top, "a");
    assert_int_equal(top.view, VIEW_CONFIRM);
    OWNED_TEXT asks = drawn(&top, 24, 80);
    assert_non_null(strstr(asks, "Abort migration-web of guest web? y: yes, any other key: no"));
    assert_int_equal(top_press(&top, '\n', 10), COMMAND_NOTHING); /* Enter is no yes */
    press(&top, "a");
    assert_int_equal(top_press(&top, 'y', 10), COMMAND_ABORT);
    assert_string_equal(top.target.name, "migration-web");
    top.right = RIGHT_NO;
    press(&top, "a");
    assert_int_equal(top.view, VIEW_LIST);
    assert_non_null(strstr(top.message, "role"));
    top_fini(&top);
}

/* A migration that ends while its abort is asked about: the answer is about that one, not about
 * what is selected by then. */
static void a_confirmation_is_about_what_it_names(void **state)
{
    (void)state;
    const struct stage_move web = {"default", "web", "n1", "n3", "PreCopy", 9, 5, 1, 1, 1, 1000};
    struct top top;
    stage_fleet(&top);
    press(&top, "j");
    allow(&top);
    press(&top, "a");
    stage_tell(&top, NOW_MIGRATIONS, FOLLOW_DELETED, stage_moving(&web));
    top_settle(&top);
    assert_string_not_equal(selected(&top), "web");
    assert_int_equal(top_press(&top, 'y', 10), COMMAND_ABORT);
    assert_string_equal(top.target.name, "migration-web");
    top_fini(&top);
}

static void an_incident_cannot_be_aborted_but_described(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    allow(&top);
    press(&top, "jjjjja");
    assert_int_equal(top.view, VIEW_LIST);
    assert_null(top_right_wanted(&top));
    assert_int_equal(top_press(&top, 'd', 10), COMMAND_DESCRIBE);
    assert_int_equal(top.target.kind, KIND_INCIDENT);
    top_fini(&top);
}

static void a_page_scrolls_to_its_end_and_no_further(void **state)
{
    (void)state;
    struct top top;
    stage_fleet(&top);
    press(&top, "?");
    assert_int_equal(top.view, VIEW_PAGE);
    press(&top, "GGj");
    OWNED_TEXT text = drawn(&top, 12, 80);
    assert_non_null(strstr(text, "WAITING     for how long"));
    press(&top, "gjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj");
    assert_int_equal(top.page_first + 10, top.page_lines);
    press(&top, "q");
    assert_int_equal(top.view, VIEW_LIST);
    assert_int_equal(top_press(&top, 'q', 10), COMMAND_QUIT);
    top_fini(&top);
}

TEST_FILE(test_top)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_has_its_golden_form),
        cmocka_unit_test(a_plain_frame_has_everything_and_no_keys),
        cmocka_unit_test(a_lost_connection_is_seen_and_rows_are_dim),
        cmocka_unit_test(rates_are_red_where_pre_copy_cannot_end),
        cmocka_unit_test(every_size_can_be_drawn),
        cmocka_unit_test(the_selected_row_is_among_those_that_are_shown),
        cmocka_unit_test(what_a_terminal_would_obey_does_not_reach_it),
        cmocka_unit_test(nor_from_what_is_put_into_a_frame_at_once),
        cmocka_unit_test(wide_characters_take_two_cells),
        cmocka_unit_test(what_has_ended_is_gone),
        cmocka_unit_test(who_stays_is_still_found),
        cmocka_unit_test(what_waited_and_now_moves_changes_its_section),
        cmocka_unit_test(what_a_new_list_does_not_tell_is_gone),
        cmocka_unit_test(at_the_bound_who_moves_is_kept_and_the_others_are_counted),
        cmocka_unit_test(the_selection_stays_with_its_migration),
        cmocka_unit_test(the_first_row_is_selected_until_a_key_chooses),
        cmocka_unit_test(a_key_goes_through_every_order_in_turn),
        cmocka_unit_test(the_selection_goes_on_where_its_row_was),
        cmocka_unit_test(an_abort_needs_a_role_a_connection_and_a_yes),
        cmocka_unit_test(a_confirmation_is_about_what_it_names),
        cmocka_unit_test(an_incident_cannot_be_aborted_but_described),
        cmocka_unit_test(a_page_scrolls_to_its_end_and_no_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
