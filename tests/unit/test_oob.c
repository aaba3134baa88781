/* test_oob.c - guests' second monitors over real sockets: the test plays QEMU. */
#include "tests/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "hypervisor/oob/oob.h"
#include "hypervisor/oob/qmp.h"

#define GUEST "2f6b1f5e-0000-4000-8000-00000000000a"
#define OTHER "2f6b1f5e-0000-4000-8000-00000000000b"
#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": [\"oob\"]}}\r\n"
enum { PATIENCE_MS = 10000 };

struct world {
    struct oob *oob;
    unsigned port;
};

static int set_up(void **state)
{
    static struct world w;
    char address[32];
    struct err err = {0};
    for (unsigned i = 0; i < 64 && w.oob == NULL; i++) {
        w.port = 30000 + ((unsigned)getpid() + i * 977) % 10000;
        (void)snprintf(address, sizeof address, "127.0.0.1:%u", w.port);
        w.oob = oob_new(address, &err);
    }
    *state = &w;
    return w.oob == NULL;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    oob_free(w->oob);
    w->oob = NULL;
    return 0;
}

static int dial(const struct world *w)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void says(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* One line of Ferry's; "" when it hung up. */
static const char *hears(int fd)
{
    static char line[4096];
    size_t n = 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (n + 1 < sizeof line) {
        if (poll(&wait, 1, PATIENCE_MS) != 1)
            fail_msg("silence");
        if (read(fd, line + n, 1) != 1)
            break;
        if (line[n++] == '\n')
            break;
    }
    line[n] = '\0';
    return line;
}

static void expects(int fd, const char *text)
{
    const char *line = hears(fd);
    if (strstr(line, text) == NULL)
        fail_msg("'%s' is not '%s'", line, text);
}

static int introduce(const struct world *w, const char *uuid)
{
    char text[128];
    int fd = dial(w);
    says(fd, GREETING);
    expects(fd, "\"enable\":[\"oob\"]");
    says(fd, "{\"return\": {}, \"id\": \"negotiate\"}\r\n");
    expects(fd, "query-uuid");
    (void)snprintf(text, sizeof text, "{\"return\": {\"UUID\": \"%s\"}, \"id\": \"who\"}\r\n",
                   uuid);
    says(fd, text);
    return fd;
}

static void wait_monitors(struct world *w, const char *guest, unsigned n)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (oob_monitors(w->oob, guest) != n)
        if (clock_mono_ms(clock_system()) > until)
            fail_msg("%u monitors, not %u", oob_monitors(w->oob, guest), n);
}

/* Answers one yank: what query-yank says, then what yank says (NULL: it is not asked). */
struct qemu {
    int fd;
    const char *instances, *expected, *answer;
    pthread_t thread;
};

static void reply_to(int fd, const char *line, const char *what)
{
    char text[512];
    const char *id = strstr(line, "\"id\"");
    assert_non_null(id);
    id = strchr(id, ':') + 1;
    id += strspn(id, " ");
    int n = (int)strcspn(id + 1, "\"") + 2;
    (void)snprintf(text, sizeof text, "{%.300s, \"id\": %.*s}\r\n", what, n > 100 ? 100 : n, id);
    says(fd, text);
}

static void *play(void *arg)
{
    struct qemu *qemu = arg;
    char line[4096], what[512];
    char copy[4096];
    size_t n = 0;
    for (int stage = 0; stage < (qemu->answer != NULL ? 2 : 1); stage++) {
        for (n = 0; n + 1 < sizeof line && read(qemu->fd, line + n, 1) == 1; n++)
            if (line[n] == '\n')
                break;
        line[n] = '\0';
        (void)snprintf(copy, sizeof copy, "%s", line);
        assert_non_null(strstr(copy, "\"exec-oob\""));
        assert_non_null(strstr(copy, stage == 0 ? "query-yank" : qemu->expected));
        (void)snprintf(what, sizeof what, "\"return\": %s", qemu->instances);
        says(qemu->fd, "{\"event\": \"STOP\", \"data\": {}}\r\n"); /* in between */
        reply_to(qemu->fd, copy, stage == 0 ? what : qemu->answer);
    }
    return NULL;
}

static void begin(struct qemu *qemu)
{
    assert_int_equal(pthread_create(&qemu->thread, NULL, play, qemu), 0);
}

#define MEMORY "{\"type\": \"migration\"}"
#define DISK "{\"type\": \"block-node\", \"node-name\": \"migration-vda-storage\"}"
#define OURS "{\"type\": \"chardev\", \"id\": \"charmonitor\"}"
#define FILES "{\"type\": \"block-node\", \"node-name\": \"libvirt-1-storage\"}"

static void a_yank_breaks_disks_and_memory_and_nothing_else(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    struct qemu qemu = {.fd = introduce(w, "2F6B1F5E-0000-4000-8000-00000000000A"),
                        .instances = "[" MEMORY "," OURS "," FILES "," DISK "]",
                        .expected = "[ { \"type\": \"block-node\", \"node-name\": "
                                    "\"migration-vda-storage\" }, { \"type\": \"migration\" } ]",
                        .answer = "\"return\": {}"};
    wait_monitors(w, GUEST, 1);
    begin(&qemu);
    if (!oob_yank(w->oob, GUEST, &err))
        fail_msg("%s", err.text);
    (void)pthread_join(qemu.thread, NULL);
    (void)close(qemu.fd);
    wait_monitors(w, GUEST, 0);
}

static void what_went_wrong_is_said(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *instances, *answer;
        enum err_code code;
        const char *says;
    } rows[] = {
        {"[" OURS "," FILES "]", NULL, ERR_REFUSED, "no stream"},
        {"[]", NULL, ERR_REFUSED, "no stream"},
        {"{\"no\": \"list\"}", NULL, ERR_REFUSED, "no stream"},
        {"[" MEMORY "]", "\"error\": {\"class\": \"X\", \"desc\": \"not today\"}", ERR_REFUSED,
         "not today"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err = {0};
        struct qemu qemu = {.fd = introduce(w, GUEST),
                            .instances = rows[i].instances,
                            .expected = "migration",
                            .answer = rows[i].answer};
        wait_monitors(w, GUEST, 1);
        begin(&qemu);
        assert_false(oob_yank(w->oob, GUEST, &err));
        assert_int_equal(err.code, rows[i].code);
        assert_non_null(strstr(err.text, rows[i].says));
        (void)pthread_join(qemu.thread, NULL);
        (void)close(qemu.fd);
        wait_monitors(w, GUEST, 0);
    }
}

static void a_guest_without_a_monitor_has_none(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    int fd = introduce(w, OTHER);
    wait_monitors(w, OTHER, 1);
    assert_false(oob_yank(w->oob, GUEST, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    (void)close(fd);
}

static void both_ends_are_told_and_one_that_obeys_is_enough(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    struct qemu source = {.fd = introduce(w, GUEST),
                          .instances = "[" MEMORY "]",
                          .expected = "migration",
                          .answer = "\"return\": {}"};
    struct qemu target = {.fd = introduce(w, GUEST), .instances = "[]"};
    wait_monitors(w, GUEST, 2);
    begin(&source);
    begin(&target);
    assert_true(oob_yank(w->oob, GUEST, &err));
    (void)pthread_join(source.thread, NULL);
    (void)pthread_join(target.thread, NULL);
    (void)close(source.fd);
    (void)close(target.fd);
}

/* It is behind the very path that is dead. */
static void the_silence_of_one_end_does_not_delay_the_other(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    struct qemu source = {.fd = introduce(w, GUEST),
                          .instances = "[" MEMORY "]",
                          .expected = "migration",
                          .answer = "\"return\": {}"};
    int target = introduce(w, GUEST);
    wait_monitors(w, GUEST, 2);
    begin(&source);
    int64_t began = clock_mono_ms(clock_system());
    assert_true(oob_yank(w->oob, GUEST, &err));
    assert_true(clock_mono_ms(clock_system()) - began < OOB_ANSWER_MS / 2);
    (void)pthread_join(source.thread, NULL);
    (void)close(source.fd);
    (void)close(target);
}

static void one_that_does_not_answer_is_not_awaited_for_long(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    int fd = introduce(w, GUEST);
    wait_monitors(w, GUEST, 1);
    int64_t began = clock_mono_ms(clock_system());
    assert_false(oob_yank(w->oob, GUEST, &err));
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_in_range(clock_mono_ms(clock_system()) - began, OOB_ANSWER_MS / 2, 3 * OOB_ANSWER_MS);
    (void)close(fd);
}

static void who_is_no_monitor_of_that_kind_is_let_go(void **state)
{
    struct world *w = *state;
    static const char *const first[] = {
        "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n",
        "{\"QMP\": {}}\r\n",
        "GET / HTTP/1.1\r\n",
        "{\"return\": {}}\r\n",
        "[1]\r\n",
    };
    for (size_t i = 0; i < COUNT(first); i++) {
        int fd = dial(w);
        says(fd, first[i]);
        assert_string_equal(hears(fd), "");
        (void)close(fd);
    }
    int fd = introduce(w, ""); /* nobody */
    assert_string_equal(hears(fd), "");
    (void)close(fd);
}

static void a_line_without_end_is_not_read_for_ever(void **state)
{
    struct world *w = *state;
    int fd = introduce(w, GUEST);
    wait_monitors(w, GUEST, 1);
    char *text = malloc(OOB_LINE_MAX + 2);
    assert_non_null(text);
    memset(text, ' ', OOB_LINE_MAX + 1);
    text[OOB_LINE_MAX + 1] = '\0';
    (void)send(fd, text, OOB_LINE_MAX + 1, MSG_NOSIGNAL);
    wait_monitors(w, GUEST, 0);
    free(text);
    (void)close(fd);
}

static void a_place_that_is_taken_is_said(void **state)
{
    struct world *w = *state;
    char address[32];
    struct err err = {0}, bad = {0};
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", w->port);
    assert_null(oob_new(address, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_null(oob_new("ferry:4555", &bad));
    assert_int_equal(bad.code, ERR_INVALID);
}

TEST_FILE(test_oob)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_yank_breaks_disks_and_memory_and_nothing_else),
        TEST(what_went_wrong_is_said),
        TEST(a_guest_without_a_monitor_has_none),
        TEST(both_ends_are_told_and_one_that_obeys_is_enough),
        TEST(the_silence_of_one_end_does_not_delay_the_other),
        TEST(one_that_does_not_answer_is_not_awaited_for_long),
        TEST(who_is_no_monitor_of_that_kind_is_let_go),
        TEST(a_line_without_end_is_not_read_for_ever),
        TEST(a_place_that_is_taken_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
