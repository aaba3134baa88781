/* test_hostd_sockets.c - which sockets are a guest's migration: from /proc, from the kernel's list,
 * by the rule. */
#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "hypervisor/hostd/ownerless.h"
#include "hypervisor/hostd/sockets.h"

#define UUID "6f1b0000-0000-4000-8000-00000000000a"

/* --- /proc --- */

struct world {
    char dir[64];
    struct process_sockets found;
    struct identity identity; /* empty: nobody is asked */
};

static void path_of(const struct world *w, const char *name, char *out)
{
    (void)snprintf(out, 256, "%s/%s", w->dir, name);
}

static void make_dir(const struct world *w, const char *name)
{
    char path[256];
    path_of(w, name, path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void make_file(const struct world *w, const char *name, const void *bytes, size_t n)
{
    char path[256];
    path_of(w, name, path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void make_link(const struct world *w, const char *name, const char *to)
{
    char path[256];
    path_of(w, name, path);
    assert_int_equal(symlink(to, path), 0);
}

/* A process: its words, separated by '|', its network and its files. */
static void make_process(const struct world *w, const char *pid, const char *words,
                         const char *network, const char *const *links, size_t n)
{
    char name[64], line[512], to[128];
    TEXT_SET(line, words);
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++)
        line[i] = line[i] == '|' ? '\0' : line[i];
    make_dir(w, pid);
    (void)snprintf(name, sizeof name, "%s/cmdline", pid);
    make_file(w, name, line, length + 1);
    (void)snprintf(name, sizeof name, "%s/ns", pid);
    make_dir(w, name);
    (void)snprintf(name, sizeof name, "%s/ns/net", pid);
    (void)snprintf(to, sizeof to, "%s/%s", w->dir, network);
    make_link(w, name, to);
    (void)snprintf(name, sizeof name, "%s/fd", pid);
    make_dir(w, name);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s/fd/%zu", pid, i);
        make_link(w, name, links[i]);
    }
}

static int make_world(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    TEXT_SET(w->dir, "/tmp/ferry-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    make_file(w, "net-ours", "", 0);
    make_file(w, "net-other", "", 0);
    static const char *const none[] = {"socket:[1]"};
    make_process(w, "7", "ferry|hostd", "net-ours", none, 1);
    make_link(w, "self", "7");
    make_file(w, "uptime", "1", 1);
    *state = w;
    return 0;
}

static int drop_world(void **state)
{
    struct world *w = *state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", w->dir);
    int status = system(command);
    free(w);
    return status;
}

static bool find(struct world *w, struct err *err)
{
    return process_sockets_of(&(struct process_search){w->dir, w->identity}, UUID, INT64_MAX,
                              &w->found, err);
}

static void a_guest_is_found_by_its_uuid_with_all_its_sockets(void **state)
{
    struct world *w = *state;
    static const char *const files[] = {"/dev/null",   "socket:[900]", "anon_inode:[eventfd]",
                                        "socket:[30]", "pipe:[31]",    "socket:[]",
                                        "socket:[5"};
    make_process(w, "100", "/usr/bin/qemu-system-x86_64|-name|guest=a|-uuid|" UUID "|-m|1",
                 "net-ours", files, COUNT(files));
    struct err err = {0};
    assert_true(find(w, &err));
    assert_int_equal(w->found.processes, 1);
    assert_false(w->found.incoming);
    assert_int_equal(w->found.n, 2);
    assert_true(process_has_socket(&w->found, 30) && process_has_socket(&w->found, 900));
    assert_false(process_has_socket(&w->found, 31) || process_has_socket(&w->found, 1));
}

static void uuids_ignore_case_and_incoming_is_detected(void **state)
{
    struct world *w = *state;
    static const char *const files[] = {"socket:[30]"};
    make_process(w, "100", "qemu|-uuid|6F1B0000-0000-4000-8000-00000000000A|-incoming|defer",
                 "net-ours", files, 1);
    struct err err = {0};
    assert_true(find(w, &err));
    assert_int_equal(w->found.processes, 1);
    assert_true(w->found.incoming);
}

/* Everything that looks like it and is not. */
static void no_other_process_matches_the_guest(void **state)
{
    struct world *w = *state;
    static const char *const files[] = {"socket:[30]"};
    make_process(w, "100", "qemu|-uuid|6f1b0000-0000-4000-8000-00000000000b", "net-ours", files, 1);
    make_process(w, "101", "qemu|-uuid|" UUID, "net-other", files, 1); /* another host's */
    make_process(w, "102", "qemu|-uuid|x|" UUID, "net-ours", files, 1);
    make_process(w, "103", "less|guest-" UUID ".log", "net-ours", files, 1);
    make_process(w, "104", "qemu|-uuid", "net-ours", files, 1);
    make_process(w, "105", "grep|-uuid " UUID, "net-ours", files, 1);
    make_process(w, "106x", "", "net-ours", files, 1);
    struct err err = {0};
    assert_true(find(w, &err));
    assert_int_equal(w->found.processes, 0);
    assert_int_equal(w->found.n, 0);
}

/* Any local user can run something with these words, and with more sockets than are read. */
static void a_process_that_only_claims_to_be_the_guest_does_not_count(void **state)
{
    struct world *w = *state;
    static const char *const files[] = {"socket:[30]"};
    static const char ours[] = "Name:\tq\nUid:\t64055\t64055\t64055\t64055\n";
    static const char theirs[] = "Name:\tq\nUid:\t1000\t1000\t1000\t1000\n";
    char pids[256];
    make_process(w, "100", "qemu|-uuid|" UUID, "net-ours", files, 1);
    make_file(w, "100/status", ours, sizeof ours - 1);
    make_process(w, "101", "qemu|-uuid|" UUID, "net-ours", files, 1);
    make_file(w, "101/status", theirs, sizeof theirs - 1);
    make_process(w, "102", "qemu|-uuid|" UUID, "net-ours", files, 1);
    make_file(w, "102/status", ours, sizeof ours - 1);
    make_dir(w, "pids");
    make_file(w, "pids/g.pid", "100\n", 4);
    make_file(w, "pids/other.pid", "101\n", 4); /* another user's, though the number is known */
    path_of(w, "pids", pids);
    assert_int_equal(chmod(pids, 0755), 0);
    w->identity = (struct identity){pids, 64055};
    struct err err = {0};
    assert_true(find(w, &err));
    assert_int_equal(w->found.processes, 1);
    assert_int_equal(chmod(pids, 0777), 0); /* anybody could have written them */
    assert_true(find(w, &err));
    assert_int_equal(w->found.processes, 0);
}

static void too_many_sockets_are_refused_at_the_bound(void **state)
{
    struct world *w = *state;
    make_process(w, "100", "qemu|-uuid|" UUID, "net-ours", NULL, 0);
    for (int i = 0; i < PROCESS_SOCKETS_MAX; i++) {
        char name[64], to[64];
        (void)snprintf(name, sizeof name, "100/fd/%d", i);
        (void)snprintf(to, sizeof to, "socket:[%d]", 10 + i);
        make_link(w, name, to);
    }
    struct err err = {0};
    assert_true(find(w, &err));
    assert_int_equal(w->found.n, PROCESS_SOCKETS_MAX);
    make_link(w, "100/fd/one-more", "socket:[5]");
    assert_false(find(w, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void a_search_times_out(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 130; i++) {
        char pid[16];
        (void)snprintf(pid, sizeof pid, "%d", 200 + i);
        make_dir(w, pid);
    }
    struct err err = {0};
    assert_false(process_sockets_of(&(struct process_search){w->dir, w->identity}, UUID,
                                    clock_mono_ms(clock_system()), &w->found, &err));
    assert_int_equal(err.code, ERR_TIMEOUT);
}

/* --- the kernel's list --- */

struct datagram {
    size_t n;
    char bytes[1024];
};

static void add_message(struct datagram *d, int type, const void *body, size_t n)
{
    struct nlmsghdr header = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(n), .nlmsg_type = (uint16_t)type};
    memcpy(d->bytes + d->n, &header, sizeof header);
    memcpy(d->bytes + d->n + NLMSG_HDRLEN, body, n);
    d->n += NLMSG_SPACE(n);
}

static void add_socket(struct datagram *d, uint32_t inode, unsigned local, unsigned remote)
{
    struct inet_diag_msg body = {.idiag_family = AF_INET, .idiag_state = TCP_ESTABLISHED};
    body.idiag_inode = inode;
    body.id.idiag_sport = htons((uint16_t)local);
    body.id.idiag_dport = htons((uint16_t)remote);
    body.id.idiag_src[0] = htonl(0x0a000001);
    body.id.idiag_dst[0] = htonl(0x0a000002);
    body.id.idiag_cookie[0] = inode;
    add_message(d, SOCK_DIAG_BY_FAMILY, &body, sizeof body);
}

static void of_the_kernels_list_only_the_guests_sockets_are_taken(void **state)
{
    (void)state;
    struct process_sockets guest = {.n = 2, .inodes = {30, 900}};
    OWNED_TEXT room = calloc(1, sizeof(struct socket_list));
    struct socket_list *list = (struct socket_list *)(void *)room;
    struct datagram d = {0};
    struct err err = {0};
    bool end = true;
    add_socket(&d, 29, 40000, 49152);
    add_socket(&d, 30, 40001, 49152);
    add_socket(&d, 31, 40002, 49152);
    assert_true(sockets_read(d.bytes, d.n, &guest, list, &end, &err));
    assert_false(end);
    add_socket(&d, 900, 40003, 49153);
    add_message(&d, NLMSG_DONE, &(int){0}, sizeof(int));
    list->n = 0;
    assert_true(sockets_read(d.bytes, d.n, &guest, list, &end, &err));
    assert_true(end);
    assert_int_equal(list->n, 2);
    assert_int_equal(list->at[1].inode, 900);
    char text[SOCKETS_TEXT_MAX];
    sockets_text(&list->at[1], text);
    assert_string_equal(text, "10.0.0.1:40003>10.0.0.2:49153");
}

/* A law: wherever the list is cut, it is not read beyond its end, and a message in halves is told.
 */
static void a_truncated_list_is_an_error(void **state)
{
    (void)state;
    struct process_sockets guest = {.n = 1, .inodes = {30}};
    OWNED_TEXT room = calloc(1, sizeof(struct socket_list));
    struct socket_list *list = (struct socket_list *)(void *)room;
    struct datagram d = {0};
    add_socket(&d, 30, 40001, 49152);
    size_t one = d.n;
    add_socket(&d, 30, 40002, 49152);
    for (size_t n = 0; n < d.n; n++) {
        struct err err = {0};
        bool end;
        OWNED_TEXT exact = malloc(n + 1); /* the sanitizer watches its end */
        memcpy(exact + 1, d.bytes, n);
        assert_int_equal(sockets_read(exact + 1, n, &guest, list, &end, &err), n % one == 0);
    }
}

static const struct {
    int number;
    enum err_code code;
    const char *word;
} refusals[] = {
    {EPERM, ERR_FORBIDDEN, "CAP_NET_ADMIN"},
    {EOPNOTSUPP, ERR_REFUSED, "CONFIG_INET_DIAG_DESTROY"},
    {ENOENT, ERR_REFUSED, "CONFIG_INET_TCP_DIAG"},
    {EINVAL, ERR_IO, "Invalid argument"},
};

static void a_kernel_refusal_names_what_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct nlmsgerr body = {.error = -refusals[i].number};
        struct datagram d = {0};
        struct err err = {0};
        bool end;
        add_message(&d, NLMSG_ERROR, &body, sizeof body);
        assert_false(sockets_read(d.bytes, d.n, NULL, NULL, &end, &err));
        assert_int_equal(err.code, refusals[i].code);
        assert_non_null(strstr(err.text, refusals[i].word));
    }
}

/* --- the rule --- */

struct port_pair {
    unsigned ours, theirs;
    bool listens, chosen;
};
static const struct story {
    const char *name;
    bool incoming;
    struct port_pair sockets[6];
} stories[] = {
    {"a source has one stream", false, {{40000, 49152, false, true}, {16509, 41000, false, false}}},
    {"a source has parallel streams and a disk",
     false,
     {{40000, 49152, false, true}, {40001, 49152, false, true}, {40002, 49153, false, true}}},
    {"the range has two ends",
     false,
     {{40000, 49151, false, false},
      {40001, 49215, false, true},
      {40002, 49216, false, false},
      {40003, 49152, false, true}}},
    {"a target takes streams in",
     true,
     {{49152, 40000, false, true}, {49152, 40001, false, true}, {5900, 40002, false, false}}},
    {"a target still listens", true, {{49152, 0, true, false}, {49152, 40000, false, true}}},
    {"one that never took a migration in is no target",
     false,
     {{49160, 40000, false, false}, {49152, 40001, false, false}}},
    {"a console whose client has a port of the range",
     false,
     {{5900, 49152, false, false}, {5900, 0, true, false}}},
    {"the same on a high port", false, {{45900, 49152, false, false}, {45900, 0, true, false}}},
    {"storage from a port of the range", true, {{49160, 3260, false, false}}},
    {"storage beside a stream, on the target",
     true,
     {{49160, 6789, false, false}, {49152, 40000, false, true}}},
    {"one that came in once and leaves now",
     true,
     {{40000, 49152, false, true}, {49160, 40001, false, false}}},
    {"a source whose own port is of the range", false, {{49200, 49152, false, true}}},
    {"a target whose peer's port is of the range too",
     true,
     {{49152, 49200, false, true}, {49152, 40001, false, true}}},
    {"gluster from a small port", false, {{1021, 49152, false, false}}},
};

static void only_sockets_of_a_migration_stream_are_chosen(void **state)
{
    (void)state;
    OWNED_TEXT room = calloc(1, sizeof(struct socket_list));
    struct socket_list *list = (struct socket_list *)(void *)room;
    for (size_t i = 0; i < COUNT(stories); i++) {
        const struct socket_rule rule = {SOCKETS_PORT_MIN, SOCKETS_PORT_MAX, 32768,
                                         stories[i].incoming};
        bool chosen[COUNT(stories[i].sockets)];
        size_t expected = 0;
        list->n = 0;
        for (const struct port_pair *p = stories[i].sockets; p->ours != 0; p++) {
            struct socket_seen *socket = &list->at[list->n++];
            *socket = (struct socket_seen){.state = p->listens ? TCP_LISTEN : TCP_ESTABLISHED};
            socket->id.idiag_sport = htons((uint16_t)p->ours);
            socket->id.idiag_dport = htons((uint16_t)p->theirs);
            expected += p->chosen;
        }
        assert_int_equal(sockets_choose(list, &rule, chosen), expected);
        for (size_t s = 0; s < list->n; s++)
            if (chosen[s] != stories[i].sockets[s].chosen)
                fail_msg("%s: socket %zu", stories[i].name, s);
    }
}

static void addresses_are_written_as_people_do(void **state)
{
    (void)state;
    struct socket_seen socket = {.family = AF_INET6};
    char text[SOCKETS_TEXT_MAX];
    socket.id.idiag_sport = htons(49152);
    socket.id.idiag_dport = htons(40000);
    assert_int_equal(inet_pton(AF_INET6, "fd00::1", socket.id.idiag_src), 1);
    assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.2", socket.id.idiag_dst), 1);
    sockets_text(&socket, text);
    assert_string_equal(text, "[fd00::1]:49152>10.0.0.2:40000");
    memset(socket.id.idiag_src, 0xff, sizeof socket.id.idiag_src);
    memset(socket.id.idiag_dst, 0xff, sizeof socket.id.idiag_dst);
    sockets_text(&socket, text); /* the longest there is */
    assert_non_null(strstr(text, "ffff]:40000"));
}

/* --- a socket that no process holds any more --- */

static void a_thread_that_sends_on_a_closed_descriptor_is_noticed(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *call;
        bool is;
    } rows[] = {
        {"46 0x9 0x7f00 0x0 0x0 0x0 0x0 0x7ffd 0x7f01\n", true}, /* sendmsg; there is no fd 9 */
        {"46 0x0 0x7f00 0x0\n", false},                          /* there is a fd 0 */
        {"0 0x9 0x7f00 0x0\n", false},                           /* read */
        {"running\n", false},
        {"-1 0x7ffd 0x7f01\n", false},
        {"", false},
    };
    static const char *const files[] = {"socket:[900]"};
    struct err err = {0};
    make_process(w, "100", "/usr/bin/qemu-system-x86_64|-uuid|" UUID "|-m|1", "net-ours", files, 1);
    make_dir(w, "100/task");
    make_dir(w, "100/task/100");
    for (size_t i = 0; i < COUNT(rows); i++) {
        make_file(w, "100/task/100/syscall", rows[i].call, strlen(rows[i].call));
        assert_true(find(w, &err));
        assert_int_equal(w->found.sends_on_closed, rows[i].is);
    }
}

static struct socket_seen half_closed(uint32_t inode, unsigned ours, unsigned theirs, int state)
{
    return (struct socket_seen){.family = AF_INET,
                                .state = state,
                                .inode = inode,
                                .id = {.idiag_sport = htons((uint16_t)ours),
                                       .idiag_dport = htons((uint16_t)theirs)}};
}

static void only_a_half_closed_stream_that_nobody_holds_is_chosen(void **state)
{
    struct world *w = *state;
    static const char *const files[] = {"socket:[21]", "/dev/null"};
    const struct socket_rule rule = {.port_min = 49152, .port_max = 49215, .given_from = 32768};
    make_process(w, "100", "anything", "net-other", files, 2); /* whatever its network */
    struct socket_list *list = calloc(1, sizeof *list);
    assert_non_null(list);
    const struct socket_seen all[] = {
        half_closed(20, 40000, 49152, TCP_CLOSE_WAIT), /* the one */
        half_closed(21, 40001, 49152, TCP_CLOSE_WAIT), /* held */
        half_closed(0, 40002, 49152, TCP_CLOSE_WAIT),  /* freed by its process */
        half_closed(22, 40003, 49152, TCP_ESTABLISHED),
        half_closed(23, 40004, 3260, TCP_CLOSE_WAIT),
        half_closed(24, 22, 49152, TCP_CLOSE_WAIT),
        half_closed(25, 49152, 40005, TCP_CLOSE_WAIT),
    };
    memcpy(list->at, all, sizeof all);
    list->n = COUNT(all);
    struct err err = {0};
    assert_true(ownerless_choose(w->dir, &rule, list, INT64_MAX, &err));
    assert_int_equal(list->n, 1);
    assert_int_equal(list->at[0].inode, 20);
    assert_true(ownerless_choose(w->dir, &rule, list, INT64_MAX, &err)); /* and again */
    assert_int_equal(list->n, 1);
    for (list->n = 0; list->n <= OWNERLESS_MAX; list->n++)
        list->at[list->n] = all[0];
    assert_false(ownerless_choose(w->dir, &rule, list, INT64_MAX, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    free(list);
}

TEST_FILE(test_hostd_sockets)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_guest_is_found_by_its_uuid_with_all_its_sockets),
        IN_WORLD(uuids_ignore_case_and_incoming_is_detected),
        IN_WORLD(no_other_process_matches_the_guest),
        IN_WORLD(a_process_that_only_claims_to_be_the_guest_does_not_count),
        IN_WORLD(too_many_sockets_are_refused_at_the_bound),
        IN_WORLD(a_search_times_out),
        cmocka_unit_test(of_the_kernels_list_only_the_guests_sockets_are_taken),
        cmocka_unit_test(a_truncated_list_is_an_error),
        cmocka_unit_test(a_kernel_refusal_names_what_is_missing),
        cmocka_unit_test(only_sockets_of_a_migration_stream_are_chosen),
        cmocka_unit_test(addresses_are_written_as_people_do),
        IN_WORLD(a_thread_that_sends_on_a_closed_descriptor_is_noticed),
        IN_WORLD(only_a_half_closed_stream_that_nobody_holds_is_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
