/* test_notify.c - what systemd is told, on a socket of the test's own. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "appliance/notify.h"
#include "base/clock.h"
#include "base/own.h"

static char path[64];
static int listener;

static int set_up(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(path, sizeof path, "/tmp/ferry-notify-%d", (int)getpid());
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    (void)unlink(path);
    listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    return setenv("NOTIFY_SOCKET", path, 1);
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(listener);
    return unlink(path);
}

/* What came next; "": nothing. */
static const char *heard(void)
{
    static char text[512];
    ssize_t n = recv(listener, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void ready_is_said_once_and_then_only_a_new_status(void **state)
{
    (void)state;
    struct notify notify;
    notify_open(&notify);
    assert_null(getenv("NOTIFY_SOCKET")); /* not for children */
    notify_ready(&notify, "serving");
    assert_string_equal(heard(), "READY=1\nSTATUS=serving");
    notify_ready(&notify, "serving");
    assert_string_equal(heard(), "");
    notify_ready(&notify, "the store cannot commit");
    assert_string_equal(heard(), "STATUS=the store cannot commit");
    notify_stopping(&notify);
    assert_memory_equal(heard(), "STOPPING=1\n", 11);
    notify_close(&notify);
}

static void a_reload_begins_and_ends(void **state)
{
    (void)state;
    struct notify notify;
    notify_open(&notify);
    notify_reloading(&notify);
    assert_memory_equal(heard(), "RELOADING=1\nMONOTONIC_USEC=", 27);
    notify_reloaded(&notify);
    assert_string_equal(heard(), "READY=1");
    notify_close(&notify);
}

/* Others have filled systemd's queue (net.unix.max_dgram_qlen): a new sender gets nothing in. Each
 * sender has a limit of its own. */
static void fill_the_queue(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    for (int sent = 1; sent > 0;) {
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
        for (sent = 0; send(fd, "OTHER", 5, 0) == 5; sent++)
            ;
        (void)close(fd);
    }
}

static void empty_the_queue(void)
{
    while (heard()[0] != '\0')
        ;
}

static void what_a_full_queue_refused_is_said_again(void **state)
{
    (void)state;
    struct notify notify;
    (void)setenv("WATCHDOG_USEC", "60000000", 1);
    notify_open(&notify);
    fill_the_queue();
    notify_ready(&notify, "serving");
    empty_the_queue();
    notify_ready(&notify, "serving");
    assert_string_equal(heard(), "READY=1\nSTATUS=serving");

    fill_the_queue();
    notify_reloaded(&notify);
    notify_alive(&notify, true);
    empty_the_queue();
    notify_alive(&notify, true);
    assert_string_equal(heard(), "WATCHDOG=1");
    notify_ready(&notify, "serving");
    assert_string_equal(heard(), "READY=1\nSTATUS=serving");
    notify_ready(&notify, "serving");
    assert_string_equal(heard(), "");
    notify_close(&notify);
}

static void the_watchdog_is_fed_while_it_is_alive_and_not_too_often(void **state)
{
    (void)state;
    struct notify notify;
    (void)setenv("WATCHDOG_USEC", "400000", 1);
    notify_open(&notify);
    assert_int_equal(notify.watchdog_ms, 200);
    notify_alive(&notify, false);
    assert_string_equal(heard(), "");
    notify_alive(&notify, true);
    assert_string_equal(heard(), "WATCHDOG=1");
    notify_alive(&notify, true);
    assert_string_equal(heard(), "");
    clock_sleep_ms(150);
    notify_alive(&notify, true);
    assert_string_equal(heard(), "WATCHDOG=1");
    notify_close(&notify);
}

static void the_watchdog_of_another_process_is_not_ours(void **state)
{
    (void)state;
    struct notify notify;
    (void)setenv("WATCHDOG_USEC", "400000", 1);
    (void)setenv("WATCHDOG_PID", "1", 1);
    notify_open(&notify);
    assert_int_equal(notify.watchdog_ms, 0);
    notify_close(&notify);
}

static void nobody_listens_and_nothing_happens(void **state)
{
    (void)state;
    static const char *const places[] = {"/nonexistent/socket", "relative", ""};
    for (size_t i = 0; i < COUNT(places); i++) {
        struct notify notify;
        (void)setenv("NOTIFY_SOCKET", places[i], 1);
        notify_open(&notify);
        assert_int_equal(notify.fd, -1);
        notify_ready(&notify, "serving");
        notify_close(&notify);
    }
}

TEST_FILE(test_notify)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(ready_is_said_once_and_then_only_a_new_status),
        TEST(a_reload_begins_and_ends),
        TEST(the_watchdog_is_fed_while_it_is_alive_and_not_too_often),
        TEST(the_watchdog_of_another_process_is_not_ours),
        TEST(nobody_listens_and_nothing_happens),
        TEST(what_a_full_queue_refused_is_said_again),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
