/* test_hostd.c - the helper and its client over real sockets; and, where the test has the rights,
 * a process that poses as a guest's QEMU and loses exactly one connection.
 *
 * That process is this program again, started as `qemu test_hostd -uuid UUID PORT PORT`.
 */
#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "hypervisor/hostd/client.h"
#include "hypervisor/hostd/inspect.h"
#include "hypervisor/hostd/server.h"

#define SECRET "correct horse battery staple"
#define UUID "6f1b0000-0000-4000-8000-0000000000ab"
enum { SHORT_MS = 300 };

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

struct rig {
    struct hostd_server *server;
    char address[HV_URI_MAX];
    unsigned port;
};

static int start(void **state)
{
    const struct hostd_config config = {
        .listen = "127.0.0.1:0",
        .secret = SECRET,
        .sockets = {.proc = "/proc", .port_min = SOCKETS_PORT_MIN, .port_max = SOCKETS_PORT_MAX},
        .ask_ms = SHORT_MS,
    };
    struct rig *rig = calloc(1, sizeof *rig);
    struct err err = {0};
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    rig->server = hostd_server_new(&config, &err);
    assert_string_equal(err.text, "");
    hostd_server_address(rig->server, rig->address);
    int64_t port;
    assert_true(text_to_i64(strrchr(rig->address, ':') + 1, 1, 65535, &port));
    rig->port = (unsigned)port;
    *state = rig;
    return 0;
}

static int stop(void **state)
{
    struct rig *rig = *state;
    hostd_server_free(rig->server);
    free(rig);
    return 0;
}

static bool probe_self(const struct rig *rig, const char *secret, struct err *err)
{
    enum hostd_path path;
    return hostd_probe(rig->address, secret, "127.0.0.1", rig->port, &path, err) &&
           path == HOSTD_PATH_OPEN;
}

/* A connection by hand, greeted. */
static int dial(const struct rig *rig, char *out_nonce)
{
    struct hostd_address to;
    struct err err = {0};
    char line[HOSTD_REQUEST_MAX];
    int fd = -1;
    assert_true(hostd_address_parse(rig->address, &to, &err));
    assert_true(hostd_connect(&to, now_ms() + 5000, &fd, &err));
    assert_true(hostd_receive_line(fd, line, sizeof line, now_ms() + 5000, &err));
    assert_true(hostd_read_greeting(line, out_nonce, &err));
    return fd;
}

/* What the helper says to some bytes: its line, or "" when it just closes. */
static void say(const struct rig *rig, const void *bytes, size_t n, char *out_line)
{
    char nonce[HOSTD_HEX_MAX];
    struct err err = {0};
    int fd = dial(rig, nonce);
    (void)send(fd, bytes, n, MSG_NOSIGNAL);
    if (!hostd_receive_line(fd, out_line, HOSTD_REQUEST_MAX, now_ms() + 5000, &err))
        out_line[0] = '\0';
    (void)close(fd);
}

static void a_path_is_open_refused_or_dead(void **state)
{
    const struct rig *rig = *state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    enum hostd_path path = HOSTD_PATH_DEAD;
    struct err err = {0};
    assert_true(hostd_probe(rig->address, SECRET, "127.0.0.1", rig->port, &path, &err));
    assert_int_equal(path, HOSTD_PATH_OPEN);
    int closed = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* has a port, does not listen */
    assert_int_equal(bind(closed, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(closed, (struct sockaddr *)&at, &length), 0);
    assert_true(hostd_probe(rig->address, SECRET, "127.0.0.1", ntohs(at.sin_port), &path, &err));
    assert_int_equal(path, HOSTD_PATH_REFUSED);
    (void)close(closed);
    assert_true(hostd_probe(rig->address, SECRET, "255.255.255.255", 1, &path, &err));
    assert_int_equal(path, HOSTD_PATH_DEAD);
}

static void names_are_looked_up_on_the_host(void **state)
{
    const struct rig *rig = *state;
    char ip[HV_TEXT_MAX] = "";
    struct err err = {0};
    assert_true(hostd_resolve(rig->address, SECRET, "10.1.2.3", ip, &err));
    assert_string_equal(ip, "10.1.2.3");
    assert_true(hostd_resolve(rig->address, SECRET, "[fd00::1]", ip, &err));
    assert_string_equal(ip, "fd00::1");
    assert_true(hostd_resolve(rig->address, SECRET, "localhost", ip, &err));
    assert_false(hostd_resolve(rig->address, SECRET, "no.such.name.invalid", ip, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    err = (struct err){0};
    assert_false(hostd_resolve(rig->address, SECRET, "two words", ip, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void facts_are_numbers_that_survive_the_line(void **state)
{
    const struct rig *rig = *state;
    struct hostd_facts facts, back;
    struct err err = {0};
    char text[HOSTD_REQUEST_MAX];
    int64_t now = clock_wall_ms(clock_system());
    assert_true(hostd_ask_facts(rig->address, SECRET, &facts, &err));
    assert_true(facts.at[HOSTD_FACT_CLOCK_MS] >= now &&
                facts.at[HOSTD_FACT_CLOCK_MS] < now + 60000);
    for (size_t i = 0; i < HOSTD_FACTS; i++) /* the longest line there can be */
        facts.at[i] = i % 2 == 0 ? INT64_MAX : HOSTD_FACT_UNKNOWN;
    inspect_write_facts(&facts, text, sizeof text);
    inspect_read_facts(text, &back);
    assert_memory_equal(&facts, &back, sizeof facts);
    inspect_read_facts("future-fact=1 clock-ms=x ca-end ca-end= qemu-ca-end=7", &back);
    assert_int_equal(back.at[HOSTD_FACT_QEMU_CA_END], 7);
    assert_true(back.at[HOSTD_FACT_CLOCK_MS] == HOSTD_FACT_UNKNOWN);
    assert_true(back.at[HOSTD_FACT_CA_END] == HOSTD_FACT_UNKNOWN);
}

static void a_directory_has_one_identity_and_a_file_none(void **state)
{
    const struct rig *rig = *state;
    char one[HV_TEXT_MAX], two[HV_TEXT_MAX];
    struct err err = {0};
    assert_true(hostd_directory(rig->address, SECRET, "/", one, &err));
    assert_true(inspect_directory("/../", two, &err));
    assert_string_equal(one, two);
    assert_true(inspect_directory("/proc", two, &err));
    assert_string_not_equal(one, two);
    assert_false(hostd_directory(rig->address, SECRET, "/proc/self/status", two, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    err = (struct err){0};
    assert_false(hostd_directory(rig->address, SECRET, "/no/such/directory", two, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    err = (struct err){0};
    assert_false(hostd_directory(rig->address, SECRET, "relative", two, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void a_wrong_secret_is_refused(void **state)
{
    const struct rig *rig = *state;
    struct err err = {0}, right = {0};
    assert_false(probe_self(rig, "correct horse battery stable", &err));
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_true(probe_self(rig, SECRET, &right));
}

static void a_request_cannot_be_replayed(void **state)
{
    const struct rig *rig = *state;
    char nonce[HOSTD_HEX_MAX], ours[HOSTD_HEX_MAX], line[HOSTD_REQUEST_MAX];
    char answer[HOSTD_ANSWER_MAX], text[HOSTD_ANSWER_MAX];
    struct err err = {0};
    int fd = dial(rig, nonce);
    assert_true(hostd_nonce(ours, &err));
    assert_true(hostd_write_request(SECRET, nonce, ours, "kill-stream " UUID, line, &err));
    assert_true(hostd_send_line(fd, line, now_ms() + 5000, &err));
    assert_true(hostd_receive_line(fd, answer, sizeof answer, now_ms() + 5000, &err));
    assert_true(hostd_read_answer(SECRET, nonce, ours, answer, text, &err));
    assert_true(text_has_prefix(text, "failed not-found "));
    (void)close(fd);
    size_t n = strlen(line);
    line[n] = '\n';
    say(rig, line, n + 1, answer);
    assert_string_equal(answer, "no");
}

static void malformed_and_oversized_requests_are_refused(void **state)
{
    const struct rig *rig = *state;
    char answer[HOSTD_REQUEST_MAX], much[HOSTD_REQUEST_MAX + 1];
    say(rig, "GET / HTTP/1.1\r\n", 16, answer);
    assert_string_equal(answer, "no");
    say(rig, "\n", 1, answer);
    assert_string_equal(answer, "no");
    say(rig, "a\0b\n", 4, answer);
    assert_string_equal(answer, "");
    say(rig, "a\nb\n", 4, answer); /* two requests */
    assert_string_equal(answer, "");
    memset(much, 'x', sizeof much);
    say(rig, much, sizeof much, answer);
    assert_string_equal(answer, "");
    struct err err = {0};
    assert_true(probe_self(rig, SECRET, &err));
}

static void a_slow_client_is_disconnected(void **state)
{
    const struct rig *rig = *state;
    char nonce[HOSTD_HEX_MAX], byte;
    int64_t began = now_ms();
    int fd = dial(rig, nonce);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (poll(&wait, 1, 20) == 0) /* a byte now and then buys no time */
        (void)send(fd, "a", 1, MSG_NOSIGNAL);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    int64_t took = now_ms() - began;
    assert_true(took >= SHORT_MS - 50 && took < 10 * SHORT_MS);
    (void)close(fd);
}

/* Forty of them once kept every request out. */
static void silent_clients_do_not_delay_a_request(void **state)
{
    const struct rig *rig = *state;
    char nonce[HOSTD_HEX_MAX];
    int fds[HOSTD_PER_ADDRESS_MAX + 10];
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = dial(rig, nonce);
    struct err err = {0};
    int64_t began = now_ms();
    assert_true(probe_self(rig, SECRET, &err));
    assert_true(now_ms() - began < 10 * SHORT_MS);
    size_t open = 0; /* the oldest were evicted */
    for (size_t i = 0; i < COUNT(fds); i++) {
        struct pollfd wait = {.fd = fds[i], .events = POLLIN};
        open += poll(&wait, 1, 0) == 0;
    }
    assert_true(open <= HOSTD_PER_ADDRESS_MAX);
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)close(fds[i]);
}

static void floods_leave_a_few_lines_in_the_log(void **state)
{
    const struct rig *rig = *state;
    char answer[HOSTD_REQUEST_MAX];
    int log = memfd_create("log", MFD_CLOEXEC);
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, log);
    for (int i = 0; i < 200; i++)
        say(rig, "nonsense\n", 9, answer);
    log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    struct stat about;
    assert_int_equal(fstat(log, &about), 0);
    assert_true(about.st_size > 0 && about.st_size < 8192);
    (void)close(log);
}

static void a_guest_that_is_not_here_is_not_found(void **state)
{
    const struct rig *rig = *state;
    unsigned killed = 7;
    struct err err = {0}, bad = {0};
    assert_false(hostd_kill(rig->address, SECRET, UUID, &killed, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, rig->address));
    assert_int_equal(killed, 7);
    assert_false(hostd_kill(rig->address, SECRET, "guest", &killed, &bad));
    assert_int_equal(bad.code, ERR_INVALID);
}

static void no_listener_is_unreachable(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    unsigned killed;
    hostd_server_free(TAKE(rig->server));
    assert_false(hostd_kill(rig->address, SECRET, UUID, &killed, &err));
    assert_int_equal(err.code, ERR_UNREACHABLE);
}

/* --- somebody else who listens there --- */

struct impostor {
    int fd;
    const char *answer; /* after its greeting; NULL: closes */
};

static void *pose(void *ctx)
{
    const struct impostor *impostor = ctx;
    static const char greeting[] =
        "ferry-hostd/1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n";
    char line[HOSTD_REQUEST_MAX];
    int fd = accept(impostor->fd, NULL, NULL);
    (void)send(fd, greeting, sizeof greeting - 1, MSG_NOSIGNAL);
    (void)recv(fd, line, sizeof line, 0);
    if (impostor->answer != NULL)
        (void)send(fd, impostor->answer, strlen(impostor->answer), MSG_NOSIGNAL);
    (void)close(fd);
    return NULL;
}

static int listen_on(unsigned port, unsigned *out_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    at.sin_port = htons((uint16_t)port);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &length) != 0) {
        (void)close(fd);
        return -1;
    }
    *out_port = ntohs(at.sin_port);
    return fd;
}

static void an_attacker_can_make_a_call_fail_but_not_succeed(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum err_code code;
    } rows[] = {
        {"ok 5\n", ERR_CORRUPT},
        {"no\n", ERR_FORBIDDEN},
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef ok 5\n", ERR_FORBIDDEN},
        {NULL, ERR_UNREACHABLE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned port, killed;
        struct impostor impostor = {listen_on(0, &port), rows[i].answer};
        char address[64];
        struct err err = {0};
        pthread_t thread;
        (void)snprintf(address, sizeof address, "127.0.0.1:%u", port);
        assert_int_equal(pthread_create(&thread, NULL, pose, &impostor), 0);
        assert_false(hostd_kill(address, SECRET, UUID, &killed, &err));
        assert_int_equal(err.code, rows[i].code);
        (void)pthread_join(thread, NULL);
        (void)close(impostor.fd);
    }
}

/* --- a local socket --- */

static void a_local_socket_is_its_owners_and_goes_with_the_helper(void **state)
{
    (void)state;
    char path[] = "/tmp/ferry-test-XXXXXX";
    const struct hostd_config config = {.listen = path,
                                        .secret = SECRET,
                                        .sockets = {.proc = "/proc", .port_min = 1, .port_max = 2}};
    struct err err = {0}, taken = {0};
    struct stat about;
    unsigned killed;
    int fd = mkstemp(path);
    assert_null(hostd_server_new(&config, &taken)); /* a file is not taken for an old socket */
    assert_int_equal(taken.code, ERR_IO);
    (void)close(fd);
    (void)unlink(path);
    OWNED(hostd_server) server = hostd_server_new(&config, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_false(hostd_kill(path, SECRET, UUID, &killed, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    hostd_server_free(TAKE(server));
    assert_int_equal(stat(path, &about), -1);
}

/* --- a guest --- */

static int connect_to(const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int64_t number = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)text_to_i64(port, 1, 65535, &number);
    at.sin_port = htons((uint16_t)number);
    return connect(fd, (struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

/* The guest's QEMU: says "r" when connected, then how its stream ended and that the other lives. */
static int pose_as_guest(char **ports)
{
    char byte;
    int stream = connect_to(ports[0]), other = connect_to(ports[1]);
    if (stream < 0 || other < 0 || write(STDOUT_FILENO, "r", 1) != 1)
        return 1;
    (void)alarm(20);
    bool aborted = recv(stream, &byte, 1, 0) < 0 && errno == ECONNABORTED;
    bool lives = send(other, "x", 1, MSG_NOSIGNAL) == 1;
    if (write(STDOUT_FILENO, aborted ? "a" : "?", 1) != 1)
        return 1;
    (void)recv(other, &byte, 1, 0); /* until the test has looked at it */
    return aborted && lives ? 0 : 1;
}

struct guest {
    pid_t pid;
    int words, stream_at, other_at, stream, other;
};

static void start_guest(struct guest *g)
{
    unsigned stream_port = 0, other_port = 0;
    char first[16], second[16], byte;
    int words[2];
    for (unsigned p = SOCKETS_PORT_MIN; p <= SOCKETS_PORT_MAX && stream_port == 0; p++)
        g->stream_at = listen_on(p, &stream_port);
    g->other_at = listen_on(0, &other_port);
    assert_true(stream_port != 0 && other_port != 0);
    (void)snprintf(first, sizeof first, "%u", stream_port);
    (void)snprintf(second, sizeof second, "%u", other_port);
    assert_int_equal(pipe(words), 0);
    g->pid = fork();
    if (g->pid == 0) {
        (void)dup2(words[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "qemu", "test_hostd", "-uuid", UUID, first, second,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(words[1]);
    g->words = words[0];
    assert_int_equal(read(g->words, &byte, 1), 1);
    assert_int_equal(byte, 'r');
    g->stream = accept(g->stream_at, NULL, NULL);
    g->other = accept(g->other_at, NULL, NULL);
}

static void end_guest(struct guest *g)
{
    int status;
    const int fds[] = {g->words, g->stream_at, g->other_at, g->stream, g->other};
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)close(fds[i]);
    assert_int_equal(waitpid(g->pid, &status, 0), g->pid);
    assert_int_equal(status, 0);
}

static void the_stream_of_a_guest_is_closed_and_nothing_else(void **state)
{
    const struct rig *rig = *state;
    struct err lacks = {0}, err = {0};
    char report[HOSTD_REPORT_MAX], version[HV_TEXT_MAX], byte;
    struct guest guest = {0};
    unsigned killed = 0;
    if (!sockets_self_test(&lacks)) {
        print_message("skipped: %s\n", lacks.text);
        assert_false(hostd_ping(rig->address, SECRET, version, &err)); /* and it says so */
        assert_int_equal(err.code, lacks.code);
        skip();
    }
    assert_true(hostd_ping(rig->address, SECRET, version, &err));
    assert_string_equal(version, FERRY_VERSION);
    start_guest(&guest);
    assert_true(hostd_kill_report(rig->address, SECRET, UUID, &killed, report, &err));
    assert_int_equal(killed, 1);
    assert_non_null(strstr(report, ">127.0.0.1:49"));
    assert_int_equal(read(guest.words, &byte, 1), 1);
    assert_int_equal(byte, 'a');
    assert_int_equal(recv(guest.other, &byte, 1, 0), 1); /* still there */
    assert_true(hostd_kill(rig->address, SECRET, UUID, &killed, &err));
    assert_int_equal(killed, 0); /* there is none left */
    end_guest(&guest);
}

TEST_FILE(test_hostd)
{
    char **arguments = test_arguments();
    if (arguments[0] != NULL && strcmp(arguments[0], "-uuid") == 0)
        return pose_as_guest(arguments + 2);
#define WITH_HELPER(test) cmocka_unit_test_setup_teardown(test, start, stop)
    const struct CMUnitTest tests[] = {
        WITH_HELPER(a_path_is_open_refused_or_dead),
        WITH_HELPER(names_are_looked_up_on_the_host),
        WITH_HELPER(facts_are_numbers_that_survive_the_line),
        WITH_HELPER(a_directory_has_one_identity_and_a_file_none),
        WITH_HELPER(a_wrong_secret_is_refused),
        WITH_HELPER(a_request_cannot_be_replayed),
        WITH_HELPER(malformed_and_oversized_requests_are_refused),
        WITH_HELPER(a_slow_client_is_disconnected),
        WITH_HELPER(silent_clients_do_not_delay_a_request),
        WITH_HELPER(floods_leave_a_few_lines_in_the_log),
        WITH_HELPER(a_guest_that_is_not_here_is_not_found),
        WITH_HELPER(no_listener_is_unreachable),
        cmocka_unit_test(an_attacker_can_make_a_call_fail_but_not_succeed),
        cmocka_unit_test(a_local_socket_is_its_owners_and_goes_with_the_helper),
        WITH_HELPER(the_stream_of_a_guest_is_closed_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
