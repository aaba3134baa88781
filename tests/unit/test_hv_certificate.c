/* test_hv_certificate.c - what is no certificate has no end, and nobody waits for one. Real ones:
 * t_connections.sh. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "hypervisor/certificate.h"

static void a_file_that_is_none_has_no_end(void **state)
{
    (void)state;
    int64_t end_s;
    struct err err = {0};
    assert_false(certificate_file_end("/no/such/file.pem", &end_s, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    err = (struct err){0};
    assert_false(certificate_file_end("/proc/self/status", &end_s, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    err = (struct err){0};
    assert_false(certificate_file_end("/", &end_s, &err));
    assert_int_not_equal(err.code, ERR_NONE);
}

/* A peer that says nothing, and one that says something else. */
static void a_server_without_tls_has_no_end(void **state)
{
    (void)state;
    static const char *const replies[] = {"", "HTTP/1.1 400 Bad Request\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        int pair[2];
        int64_t end_s = 0, began = clock_mono_ms(clock_system());
        struct err err = {0};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        (void)write(pair[1], replies[i], strlen(replies[i]));
        assert_false(certificate_peer_end(pair[0], began + 300, &end_s, &err));
        assert_int_equal(err.code, i == 0 ? ERR_TIMEOUT : ERR_IO);
        assert_true(clock_mono_ms(clock_system()) - began < 5000);
        (void)close(pair[0]);
        (void)close(pair[1]);
    }
}

TEST_FILE(test_hv_certificate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_none_has_no_end),
        cmocka_unit_test(a_server_without_tls_has_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
