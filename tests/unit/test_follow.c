/* test_follow.c - a watch that is opened again: what it asks for, what it tells, how long it waits;
 * and what `-w` prints of a list that is told again. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/common/follow.h"
#include "cli/common/seen.h"
#include "cli/common/view.h"

#define LINE(type, name, version)                                       \
    "{\"type\":\"" type "\",\"object\":{\"metadata\":{\"name\":\"" name \
    "\",\"resourceVersion\":\"" version "\"}}}\n"
#define END_OF_LIST(version)                                                          \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define GONE                                                                                   \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"," \
    "\"message\":\"too old\"}}\n"

struct heard {
    char text[2000];
    struct clock_fake clock;
    struct follow *follow;
};

static void on_event(void *ctx, enum follow_event event, struct json_object *object)
{
    static const char *const words[] = {"begin", "+", "~", "-", "synced"};
    struct heard *heard = ctx;
    size_t n = strlen(heard->text);
    (void)snprintf(heard->text + n, sizeof heard->text - n, "%s%s ", words[event],
                   object != NULL ? view_text(object, "metadata.name") : "");
}

static void begin(struct heard *heard, const char *version)
{
    struct err err = {0};
    const struct follow_spec spec = {.path = "/x",
                                     .labels = "app=web,!old",
                                     .fields = "status.phase!=Failed",
                                     .version = version};
    const struct follow_sink sink = {heard, on_event};
    memset(heard, 0, sizeof *heard);
    clock_fake_init(&heard->clock, 0);
    heard->follow = follow_new(NULL, &heard->clock.clock, &spec, &sink, &err);
    assert_non_null(heard->follow);
}

static void asks_for(struct heard *heard, const char *wanted)
{
    char path[FOLLOW_PATH_MAX];
    struct err err = {0};
    assert_true(follow_path(heard->follow, path, &err));
    if (strstr(path, wanted) == NULL)
        fail_msg("%s asks not for %s", path, wanted);
}

static bool tell(struct heard *heard, const char *bytes, struct err *err)
{
    *err = (struct err){0};
    return follow_bytes(heard->follow, bytes, strlen(bytes), err);
}

static int64_t pause_ms(struct heard *heard)
{
    return follow_link(heard->follow).retry_ms - heard->clock.now_ms;
}

static void it_begins_with_everything_and_goes_on_from_there(void **state)
{
    (void)state;
    struct heard heard;
    struct err err;
    begin(&heard, NULL);
    asks_for(&heard, "&sendInitialEvents=true");
    asks_for(&heard, "&labelSelector=app%3Dweb%2C%21old");
    asks_for(&heard, "&fieldSelector=status.phase%21%3DFailed");
    assert_true(tell(&heard, LINE("ADDED", "b", "90") LINE("ADDED", "a", "10"), &err));
    assert_true(tell(&heard, END_OF_LIST("95") LINE("MODIFIED", "a", "97"), &err));
    assert_string_equal(heard.text, "begin +b +a synced ~a ");
    follow_ended(heard.follow, NULL);
    asks_for(&heard, "resourceVersion=97");
    assert_int_equal(pause_ms(&heard), 0); /* an hour was over */
    follow_free(heard.follow);
}

/* The versions of the first objects are in no order: from one of them changes would be missed. */
static void a_list_that_is_cut_off_is_begun_again(void **state)
{
    (void)state;
    struct heard heard;
    struct err err, lost = {0};
    begin(&heard, NULL);
    assert_true(tell(&heard, LINE("ADDED", "b", "90"), &err));
    (void)err_set(&lost, ERR_UNREACHABLE, "lost");
    follow_ended(heard.follow, &lost);
    asks_for(&heard, "sendInitialEvents=true");
    assert_false(follow_link(heard.follow).is_connected);
    assert_true(tell(&heard, LINE("ADDED", "b", "91") END_OF_LIST("92"), &err));
    assert_string_equal(heard.text, "begin +b begin +b synced ");
    follow_free(heard.follow);
}

/* Nor from that of a bookmark in their middle; and a version is a number, not more of the query. */
static void only_a_version_that_stands_for_a_whole_list_is_kept(void **state)
{
    (void)state;
    struct heard heard;
    struct err err, lost = {0};
    begin(&heard, NULL);
    assert_true(tell(&heard, LINE("ADDED", "b", "90") LINE("BOOKMARK", "", "91"), &err));
    (void)err_set(&lost, ERR_UNREACHABLE, "lost");
    follow_ended(heard.follow, &lost);
    asks_for(&heard, "sendInitialEvents=true");
    assert_true(tell(&heard, END_OF_LIST("92") LINE("ADDED", "c", "93&watch=0"), &err));
    follow_ended(heard.follow, &lost);
    asks_for(&heard, "resourceVersion=92&label");
    follow_free(heard.follow);
}

static void a_version_that_is_gone_is_not_asked_for_again(void **state)
{
    (void)state;
    struct heard heard;
    struct err err;
    for (int as_status = 0; as_status < 2; as_status++) {
        begin(&heard, "50");
        asks_for(&heard, "resourceVersion=50");
        err = (struct err){0};
        if (as_status == 1)
            (void)err_set(&err, ERR_EXPIRED, "too old");
        else
            assert_false(tell(&heard, GONE, &err));
        assert_int_equal(err.code, ERR_EXPIRED);
        follow_ended(heard.follow, &err);
        asks_for(&heard, "sendInitialEvents=true");
        assert_int_equal(pause_ms(&heard), 0);
        follow_ended(heard.follow, &err); /* again, for everything: not in a hurry */
        assert_true(pause_ms(&heard) > 0);
        follow_free(heard.follow);
    }
}

static void lines_may_come_in_any_pieces(void **state)
{
    (void)state;
    static const char all[] =
        LINE("ADDED", "a", "1") "\n" END_OF_LIST("2") LINE("DELETED", "a", "3");
    for (size_t piece = 1; piece < sizeof all; piece += 7) {
        struct heard heard;
        struct err err = {0};
        begin(&heard, NULL);
        for (size_t at = 0; at < sizeof all - 1; at += piece) {
            size_t n = sizeof all - 1 - at < piece ? sizeof all - 1 - at : piece;
            assert_true(follow_bytes(heard.follow, all + at, n, &err));
        }
        assert_string_equal(heard.text, "begin +a synced -a ");
        follow_free(heard.follow);
    }
}

static void what_is_no_watch_ends_it(void **state)
{
    (void)state;
    static const char *const wrong[] = {"<html>\n", "{\"type\":\"ADDED\"}\n", "[]\n", "\"x\"\n"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct heard heard;
        struct err err;
        begin(&heard, "1");
        assert_false(tell(&heard, wrong[i], &err));
        assert_int_equal(err.code, ERR_INTERNAL);
        follow_free(heard.follow);
    }
}

static void an_object_without_an_end_is_refused_at_the_bound(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20 };
    struct heard heard;
    struct err err = {0};
    OWNED_TEXT piece = malloc(PIECE);
    assert_non_null(piece);
    memset(piece, 'x', PIECE);
    begin(&heard, "1");
    bool goes_on = true;
    size_t taken = 0;
    for (; goes_on && taken < (size_t)FOLLOW_LINE_MAX * 2; taken += PIECE)
        goes_on = follow_bytes(heard.follow, piece, PIECE, &err);
    assert_false(goes_on);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(taken <= (size_t)FOLLOW_LINE_MAX + PIECE);
    follow_ended(heard.follow, &err); /* and the next connection begins afresh */
    assert_true(tell(&heard, LINE("ADDED", "a", "2"), &err));
    follow_free(heard.follow);
}

static void pauses_grow_to_a_bound_and_differ(void **state)
{
    (void)state;
    int64_t before = 0;
    assert_int_equal(follow_pause_ms(0, 7), 0);
    for (unsigned tries = 1; tries < 100; tries++) {
        int64_t least = follow_pause_ms(tries, 0);
        assert_true(least >= before && least > 0);
        for (uint32_t random = 0; random < 5000; random += 37)
            assert_in_range(follow_pause_ms(tries, random), least, FOLLOW_PAUSE_MAX_MS);
        before = least;
    }
    assert_true(follow_pause_ms(50, 0) >= FOLLOW_PAUSE_MAX_MS / 2);
    assert_int_not_equal(follow_pause_ms(9, 1), follow_pause_ms(9, 1000));
}

/* ---- seen ---- */

static struct json_object *object(const char *name, int version)
{
    struct json_object *out = json_object_new_object();
    struct json_object *metadata = json_add_object(out, "metadata");
    char text[16];
    (void)snprintf(text, sizeof text, "%d", version);
    json_add_text(metadata, "name", name);
    json_add_text(metadata, "resourceVersion", text);
    return out;
}

static bool is_new(struct seen *seen, const char *name, int version)
{
    OWNED(json_object) one = object(name, version);
    bool fresh = false;
    assert_true(seen_add(seen, one, &fresh));
    return fresh;
}

static void only_what_has_changed_is_new(void **state)
{
    (void)state;
    struct seen seen = {0};
    char name[16];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "o%d", i);
        assert_true(is_new(&seen, name, i));
    }
    seen_begin(&seen);
    for (int i = 0; i < 990; i++) {
        (void)snprintf(name, sizeof name, "o%d", i);
        assert_int_equal(is_new(&seen, name, i == 500 ? 5000 : i), i == 500);
    }
    assert_int_equal(seen_end(&seen), 10);
    assert_int_equal(seen.n, 990);
    assert_true(is_new(&seen, "o995", 995)); /* it was forgotten */
    OWNED(json_object) gone = object("o1", 1);
    seen_remove(&seen, gone);
    assert_true(is_new(&seen, "o1", 1));
    assert_false(is_new(&seen, "o2", 2));
    seen_fini(&seen);
}

TEST_FILE(test_follow)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_with_everything_and_goes_on_from_there),
        cmocka_unit_test(a_list_that_is_cut_off_is_begun_again),
        cmocka_unit_test(only_a_version_that_stands_for_a_whole_list_is_kept),
        cmocka_unit_test(a_version_that_is_gone_is_not_asked_for_again),
        cmocka_unit_test(lines_may_come_in_any_pieces),
        cmocka_unit_test(what_is_no_watch_ends_it),
        cmocka_unit_test(an_object_without_an_end_is_refused_at_the_bound),
        cmocka_unit_test(pauses_grow_to_a_bound_and_differ),
        cmocka_unit_test(only_what_has_changed_is_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
