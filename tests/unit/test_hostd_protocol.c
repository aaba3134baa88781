/* test_hostd_protocol.c - who may ask a helper, and whose answer counts. */
#include "tests/test.h"

#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "hypervisor/hostd/protocol.h"

#define SECRET "correct horse battery staple"
#define UUID "6F1B0000-0000-4000-8000-00000000000A"

struct talk {
    char helper[HOSTD_HEX_MAX], client[HOSTD_HEX_MAX], line[HOSTD_REQUEST_MAX];
};

/* A request as Ferry would write it. */
static struct talk talk_about(const char *text)
{
    struct talk t;
    struct err err = {0};
    assert_true(hostd_nonce(t.helper, &err) && hostd_nonce(t.client, &err));
    assert_true(hostd_write_request(SECRET, t.helper, t.client, text, t.line, &err));
    return t;
}

static void a_signature_is_hmac_sha256_of_role_nonces_and_text(void **state)
{
    (void)state;
    char nonce[HOSTD_HEX_MAX], other[HOSTD_HEX_MAX], mac[HOSTD_HEX_MAX], again[HOSTD_HEX_MAX];
    struct err err = {0};
    memset(nonce, 'a', sizeof nonce - 1);
    memset(other, 'b', sizeof other - 1);
    nonce[HOSTD_HEX_MAX - 1] = other[HOSTD_HEX_MAX - 1] = '\0';
    assert_true(
        hostd_sign(SECRET, (struct hostd_message){HOSTD_ASKS, nonce, other, "ping"}, mac, &err));
    /* printf 'ferry-hostd/1 asks\n%s\n%s\nping' a*64 b*64 | openssl dgst -sha256 -hmac SECRET */
    assert_string_equal(mac, "a7cabd5452e4180f1e963b54b8940fcdfd134a592add0c6d5c9924f583c16d90");
    static const struct {
        const char *secret, *text;
        enum hostd_role role;
        bool swapped;
    } others[] = {
        {"correct horse battery stapl", "ping", HOSTD_ASKS, false},
        {SECRET, "pong", HOSTD_ASKS, false},
        {SECRET, "ping", HOSTD_ANSWERS, false},
        {SECRET, "ping", HOSTD_ASKS, true},
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        bool swapped = others[i].swapped;
        struct hostd_message message = {.role = others[i].role,
                                        .helper_nonce = swapped ? other : nonce,
                                        .client_nonce = swapped ? nonce : other,
                                        .text = others[i].text};
        assert_true(hostd_sign(others[i].secret, message, again, &err));
        assert_string_not_equal(mac, again);
    }
}

static void two_nonces_are_never_the_same(void **state)
{
    (void)state;
    char a[HOSTD_HEX_MAX], b[HOSTD_HEX_MAX];
    struct err err = {0};
    assert_true(hostd_nonce(a, &err) && hostd_nonce(b, &err));
    assert_int_equal(strlen(a), HOSTD_HEX_MAX - 1);
    assert_string_not_equal(a, b);
}

static void every_request_arrives_as_it_was_meant(void **state)
{
    (void)state;
    struct hostd_request request;
    struct err err = {0};
    struct talk t = talk_about("ping");
    assert_true(hostd_read_request(SECRET, t.helper, t.line, &request, &err));
    assert_int_equal(request.verb, HOSTD_PING);
    assert_string_equal(request.client_nonce, t.client);
    t = talk_about("kill-stream " UUID);
    assert_true(hostd_read_request(SECRET, t.helper, t.line, &request, &err));
    assert_int_equal(request.verb, HOSTD_KILL_STREAM);
    assert_string_equal(request.uuid, "6f1b0000-0000-4000-8000-00000000000a");
    t = talk_about("path-probe fd00::1 49152");
    assert_true(hostd_read_request(SECRET, t.helper, t.line, &request, &err));
    assert_int_equal(request.verb, HOSTD_PATH_PROBE);
    assert_int_equal(request.to.at.ss_family, AF_INET6);
    assert_int_equal(((struct sockaddr_in6 *)&request.to.at)->sin6_port, htons(49152));
}

/* Signed and yet no request: the helper says what is wrong, and does nothing. */
static const char *const senseless[] = {
    "",
    "kill",
    "pings",
    "ping 1",
    "kill-stream",
    ("kill-stream " UUID " " UUID),
    "kill-stream 6f1b0000-0000-4000-8000-00000000000",
    "kill-stream 6f1b0000-0000-4000-8000-00000000000g",
    "kill-stream 6f1b0000+0000-4000-8000-00000000000a",
    ("kill-stream  " UUID),
    "path-probe 10.0.0.1",
    "path-probe 10.0.0.1 0",
    "path-probe 10.0.0.1 65536",
    "path-probe host1 22",
    "path-probe 10.0.0.1 22 22",
    "path-probe 10.0.0.1 22 22 22 22 22 22",
};

static void a_signed_malformed_request_is_invalid(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(senseless); i++) {
        struct hostd_request request = {0};
        struct err err = {0};
        struct talk t = talk_about(senseless[i]);
        if (hostd_read_request(SECRET, t.helper, t.line, &request, &err) || err.code != ERR_INVALID)
            fail_msg("'%s': %s", senseless[i], err.text);
        assert_string_equal(request.client_nonce, t.client); /* for the signed answer */
    }
}

static void only_the_secret_opens_and_only_for_the_nonce_it_was_signed_for(void **state)
{
    (void)state;
    struct hostd_request request;
    struct talk t = talk_about("ping"), later = talk_about("ping");
    struct err wrong = {0}, replayed = {0};
    assert_false(
        hostd_read_request("correct horse battery stable", t.helper, t.line, &request, &wrong));
    assert_int_equal(wrong.code, ERR_FORBIDDEN);
    assert_false(hostd_read_request(SECRET, later.helper, t.line, &request, &replayed));
    assert_int_equal(replayed.code, ERR_FORBIDDEN);
}

/* A law: whichever byte of a request is changed, it is refused. */
static void no_byte_of_a_request_can_be_changed(void **state)
{
    (void)state;
    struct talk t = talk_about("kill-stream " UUID);
    for (size_t i = 0; t.line[i] != '\0'; i++) {
        struct hostd_request request;
        struct err err = {0};
        char line[HOSTD_REQUEST_MAX];
        TEXT_SET(line, t.line);
        line[i] = line[i] == '1' ? '2' : '1';
        assert_false(hostd_read_request(SECRET, t.helper, line, &request, &err));
        assert_int_equal(err.code, ERR_FORBIDDEN);
        line[i] = '\0';
        struct err cut = {0};
        assert_false(hostd_read_request(SECRET, t.helper, line, &request, &cut));
        assert_int_equal(cut.code, ERR_FORBIDDEN);
    }
}

static void an_answer_counts_only_signed_and_for_this_request(void **state)
{
    (void)state;
    struct talk t = talk_about("ping"), other = talk_about("ping");
    char line[HOSTD_ANSWER_MAX], text[HOSTD_ANSWER_MAX];
    struct err err = {0}, wrong = {0}, old = {0}, no = {0}, garbage = {0}, mirror = {0};
    assert_true(hostd_write_answer(SECRET, t.helper, t.client, "ok 1 a>b", line, &err));
    assert_true(hostd_read_answer(SECRET, t.helper, t.client, line, text, &err));
    assert_string_equal(text, "ok 1 a>b");
    assert_false(
        hostd_read_answer("another secret of ours", t.helper, t.client, line, text, &wrong));
    assert_int_equal(wrong.code, ERR_FORBIDDEN);
    assert_false(hostd_read_answer(SECRET, t.helper, other.client, line, text, &old));
    assert_int_equal(old.code, ERR_FORBIDDEN);
    assert_false(hostd_read_answer(SECRET, t.helper, t.client, "no", text, &no));
    assert_int_equal(no.code, ERR_FORBIDDEN);
    assert_false(hostd_read_answer(SECRET, t.helper, t.client, "ok 1", text, &garbage));
    assert_int_equal(garbage.code, ERR_CORRUPT);
    /* Our own words sent back are no answer. */
    char mac[HOSTD_HEX_MAX];
    assert_true(hostd_sign(SECRET, (struct hostd_message){HOSTD_ASKS, t.helper, t.client, "ping"},
                           mac, &err));
    (void)snprintf(line, sizeof line, "%s ping", mac);
    assert_false(hostd_read_answer(SECRET, t.helper, t.client, line, text, &mirror));
    assert_int_equal(mirror.code, ERR_FORBIDDEN);
}

static void a_greeting_of_another_version_is_refused(void **state)
{
    (void)state;
    char nonce[HOSTD_HEX_MAX], read[HOSTD_HEX_MAX], line[HOSTD_REQUEST_MAX];
    struct err err = {0};
    assert_true(hostd_nonce(nonce, &err));
    hostd_write_greeting(nonce, line);
    assert_true(hostd_read_greeting(line, read, &err));
    assert_string_equal(nonce, read);
    static const char *const strangers[] = {"", "SSH-2.0-OpenSSH_9.2", "ferry-hostd/1 ",
                                            "ferry-hostd/1 abc", "ferry-hostd/2 "};
    for (size_t i = 0; i < COUNT(strangers); i++) {
        struct err bad = {0};
        assert_false(hostd_read_greeting(strangers[i], read, &bad));
        assert_int_equal(bad.code, ERR_CORRUPT);
    }
    line[12] = '2';
    struct err newer = {0};
    assert_false(hostd_read_greeting(line, read, &newer));
}

static void a_request_that_does_not_fit_is_not_sent(void **state)
{
    (void)state;
    struct talk t = talk_about("ping");
    char text[HOSTD_REQUEST_MAX];
    size_t most =
        HOSTD_REQUEST_MAX - 2 * HOSTD_HEX_MAX - 1; /* a space is as long as a terminator */
    struct err err = {0};
    memset(text, 'x', sizeof text);
    text[most] = '\0';
    assert_true(hostd_write_request(SECRET, t.helper, t.client, text, t.line, &err));
    text[most] = 'x';
    text[most + 1] = '\0';
    assert_false(hostd_write_request(SECRET, t.helper, t.client, text, t.line, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static const struct {
    const char *text;
    int family; /* 0: refused */
    unsigned port;
} addresses[] = {
    {"10.0.0.1:7011", AF_INET, 7011},
    {"127.0.0.1:0", AF_INET, 0},
    {"[fd00::1]:7011", AF_INET6, 7011},
    {"/run/ferry/hostd.sock", AF_UNIX, 0},
    {"10.0.0.1", 0, 0},
    {"10.0.0.1:", 0, 0},
    {":7011", 0, 0},
    {"10.0.0.1:65536", 0, 0},
    {"10.0.0.1:-1", 0, 0},
    {"host1:7011", 0, 0},
    {"fd00::1:7011", 0, 0},
    {"[10.0.0.1]:7011", 0, 0},
    {"[]:7011", 0, 0},
    {"", 0, 0},
    {"[fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:1", 0, 0},
    {"/a/path/that/is/longer/than/any/socket/may/have/because/the/kernel/has/room/for/one/hundred/"
     "and/eight/bytes/all/in/all",
     0, 0},
};

static void an_address_has_a_number_and_a_port_or_is_a_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(addresses); i++) {
        struct hostd_address address = {0};
        struct err err = {0};
        bool read = hostd_address_parse(addresses[i].text, &address, &err);
        if (read != (addresses[i].family != 0) || address.at.ss_family != addresses[i].family)
            fail_msg("'%s': family %d, %s", addresses[i].text, address.at.ss_family, err.text);
        if (read && addresses[i].family != AF_UNIX) /* the port is at the same place in both */
            assert_int_equal(ntohs(((struct sockaddr_in *)&address.at)->sin_port),
                             addresses[i].port);
    }
}

static const struct {
    const char *text;
    mode_t mode;
    enum err_code code;
} secrets[] = {
    {"0123456789abcdef", 0600, ERR_NONE},
    {"0123456789abcdef\n", 0640, ERR_NONE},
    {"0123456789abcdef\r\n", 0400, ERR_NONE},
    {"0123456789abcde\n", 0600, ERR_INVALID},
    {"", 0600, ERR_INVALID},
    {"0123456789abcdef", 0604, ERR_FORBIDDEN},
    {"0123456789abcdef", 0602, ERR_FORBIDDEN},
    {"0123456789\nabcdefghi", 0600, ERR_INVALID},
    {"0123456789abcdef\x01", 0600, ERR_INVALID},
};

static enum err_code read_secret(const char *text, mode_t mode, char *out_secret)
{
    char path[] = "/tmp/ferry-test-XXXXXX";
    struct err err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
    bool read = hostd_secret_read(path, out_secret, &err);
    assert_int_equal(read, err.code == ERR_NONE);
    (void)unlink(path);
    return err.code;
}

static void a_secret_is_one_line_that_not_everybody_can_read(void **state)
{
    (void)state;
    char secret[HV_SECRET_MAX], longest[HV_SECRET_MAX + 1];
    for (size_t i = 0; i < COUNT(secrets); i++) {
        if (read_secret(secrets[i].text, secrets[i].mode, secret) != secrets[i].code)
            fail_msg("secret %zu", i);
        if (secrets[i].code == ERR_NONE)
            assert_string_equal(secret, "0123456789abcdef");
    }
    memset(longest, 's', sizeof longest);
    longest[HV_SECRET_MAX - 1] = '\0';
    assert_int_equal(read_secret(longest, 0600, secret), ERR_NONE);
    assert_string_equal(secret, longest);
    longest[HV_SECRET_MAX - 1] = 's';
    longest[HV_SECRET_MAX] = '\0';
    assert_int_equal(read_secret(longest, 0600, secret), ERR_INVALID);
}

TEST_FILE(test_hostd_protocol)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_is_hmac_sha256_of_role_nonces_and_text),
        cmocka_unit_test(two_nonces_are_never_the_same),
        cmocka_unit_test(every_request_arrives_as_it_was_meant),
        cmocka_unit_test(a_signed_malformed_request_is_invalid),
        cmocka_unit_test(only_the_secret_opens_and_only_for_the_nonce_it_was_signed_for),
        cmocka_unit_test(no_byte_of_a_request_can_be_changed),
        cmocka_unit_test(an_answer_counts_only_signed_and_for_this_request),
        cmocka_unit_test(a_greeting_of_another_version_is_refused),
        cmocka_unit_test(a_request_that_does_not_fit_is_not_sent),
        cmocka_unit_test(an_address_has_a_number_and_a_port_or_is_a_path),
        cmocka_unit_test(a_secret_is_one_line_that_not_everybody_can_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
