/* abuse.c - one attack on a running appliance, and whether it still answers meanwhile.
 *
 *   abuse ATTACK PORT SOCKET PID [SECONDS]
 *
 * For ten seconds the attack goes on; /healthz and /metrics are asked five times a second over a
 * new connection each, and must answer within a second. The process may not grow beyond 300 MiB.
 * Ten seconds after the end no answer may take longer than half a second. SECONDS in place of the
 * ten. Exit status 1: one of these did not hold. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"

enum {
    LAST_S = 10,
    ASK_EVERY_MS = 200,
    ANSWER_MS = 1000,
    NORMAL_MS = 500,
    RSS_KIB = 300 * 1024,
    FDS_MAX = 5200,
    ASKED_MAX = 10000,
    READERS = 16,
};

struct target {
    unsigned port;
    const char *socket;
    long pid;
};

static int fds[FDS_MAX];
static size_t n_fds;
static pid_t readers[READERS];

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int dial(const struct target *to, bool local)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)to->port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)snprintf(path.sun_path, sizeof path.sun_path, "%s", to->socket);
    int rc = fd < 0  ? -1
             : local ? connect(fd, (const struct sockaddr *)&path, sizeof path)
                     : connect(fd, (const struct sockaddr *)&at, sizeof at);
    if (fd >= 0 && rc != 0 && errno != EINPROGRESS && errno != EAGAIN) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool put(int fd, const char *text)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    return fd >= 0 && poll(&wait, 1, 100) == 1 &&
           send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

/* Milliseconds until the whole answer was there; -1: not in time, or not 200. */
static int64_t ask(const struct target *to, const char *path)
{
    char text[256], piece[65536] = "";
    int64_t began = now_ms();
    int fd = dial(to, false);
    bool good = false, first = true;
    (void)snprintf(text, sizeof text,
                   "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    if (fd < 0 || !put(fd, text)) {
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left = began + ANSWER_MS - now_ms();
        if (left <= 0 || poll(&wait, 1, (int)left) != 1) {
            good = false;
            break;
        }
        ssize_t n = recv(fd, piece, sizeof piece - 1, 0);
        if (n <= 0)
            break;
        piece[n] = '\0';
        good = first ? strncmp(piece, "HTTP/1.1 200", 12) == 0 : good;
        first = false;
    }
    (void)close(fd);
    return good ? now_ms() - began : -1;
}

static long rss_kib(const struct target *to)
{
    char path[64], line[256];
    long kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", to->pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    return kib;
}

/* ---- attacks: called again and again, until the time is over ---- */

static void keep(int fd)
{
    if (fd >= 0 && n_fds < FDS_MAX)
        fds[n_fds++] = fd;
    else if (fd >= 0)
        (void)close(fd);
}

static void fill(const struct target *to, size_t n, const char *text)
{
    for (int i = 0; n_fds < n && i < 200; i++) {
        int fd = dial(to, false);
        if (fd < 0)
            return;
        if (text != NULL)
            (void)put(fd, text);
        keep(fd);
    }
}

static void slow_headers(const struct target *to)
{
    fill(to, 600, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ");
    for (size_t i = 0; i < n_fds; i++)
        (void)send(fds[i], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void connections(const struct target *to)
{
    fill(to, 5000, NULL);
}

static void stopped_readers(const struct target *to)
{
    fill(to, 400,
         "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
         "GET /apis/kubevirt.io/v1/virtualmachineinstances HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
}

static void query_bombs(const struct target *to)
{
    static const char bomb[] =
        "GET "
        "/query?sql=WITH+RECURSIVE+n(i)+AS+(SELECT+1+UNION+ALL+SELECT+i%2B1+FROM+n)+SELECT+sum(i)"
        "+FROM+n HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    for (int i = 0; i < 20; i++) {
        int fd = dial(to, false);
        (void)put(fd, bomb);
        keep(fd);
    }
}

static void documents(const struct target *to)
{
    static unsigned number;
    char text[1024], body[256];
    for (int i = 0; i < 40; i++) {
        int fd = dial(to, true);
        (void)snprintf(
            body, sizeof body,
            "{\"apiVersion\":\"migrations.kubevirt.io/v1alpha1\",\"kind\":"
            "\"MigrationPolicy\",\"metadata\":{\"name\":\"p%u\"},\"spec\":{\"selectors\":{}}}",
            number++);
        (void)snprintf(text, sizeof text,
                       "POST /apis/migrations.kubevirt.io/v1alpha1/migrationpolicies HTTP/1.1\r\n"
                       "Host: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       strlen(body), body);
        (void)put(fd, text);
        keep(fd);
    }
}

/* Lists as a script asks for them, whole and one after the other, for ever. */
static void read_lists(const struct target *to)
{
    static const char *const paths[] = {"/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
                                        "/apis/kubevirt.io/v1/virtualmachineinstances"};
    static char piece[1 << 20];
    char text[256];
    for (size_t i = 0;; i++) {
        struct pollfd wait = {.fd = dial(to, false), .events = POLLIN};
        (void)snprintf(text, sizeof text,
                       "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                       paths[i % COUNT(paths)]);
        if (put(wait.fd, text))
            while (poll(&wait, 1, 10000) == 1 && recv(wait.fd, piece, sizeof piece, 0) > 0)
                ;
        if (wait.fd >= 0)
            (void)close(wait.fd);
    }
}

/* Sixteen readers, while the fleet changes: each list is of another moment. */
static void long_lists(const struct target *to)
{
    static unsigned number;
    char text[512], body[128];
    for (size_t i = 0; i < READERS && readers[i] == 0; i++) {
        readers[i] = fork();
        if (readers[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            read_lists(to);
        }
    }
    int fd = dial(to, true);
    (void)snprintf(body, sizeof body, "{\"spec\":{\"vmiName\":\"g%05u\"}}", number++ % 1000);
    (void)snprintf(text, sizeof text,
                   "POST /apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations "
                   "HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    (void)put(fd, text);
    keep(fd);
}

static const struct {
    const char *name;
    void (*run)(const struct target *to);
} attacks[] = {{"slow-headers", slow_headers},
               {"connections", connections},
               {"stopped-readers", stopped_readers},
               {"query-bombs", query_bombs},
               {"documents", documents},
               {"long-lists", long_lists}};

struct seen {
    unsigned asked, failed;
    int64_t took_ms[ASKED_MAX], slowest_ms;
    long rss_kib;
};

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t p90_ms(struct seen *seen)
{
    size_t n = seen->asked < ASKED_MAX ? seen->asked : ASKED_MAX;
    qsort(seen->took_ms, n, sizeof seen->took_ms[0], by_time);
    return n == 0 ? 0 : seen->took_ms[n * 9 / 10];
}

static void watch(const struct target *to, struct seen *seen)
{
    static const char *const paths[] = {"/healthz", "/metrics"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        int64_t took = ask(to, paths[i]);
        if (seen->asked < ASKED_MAX)
            seen->took_ms[seen->asked] = took < 0 ? ANSWER_MS : took;
        seen->asked++;
        seen->failed += took < 0;
        if (took > seen->slowest_ms)
            seen->slowest_ms = took;
    }
    long rss = rss_kib(to);
    seen->rss_kib = rss > seen->rss_kib ? rss : seen->rss_kib;
}

static void attack(size_t which, const struct target *to, int64_t last_ms, struct seen *seen)
{
    int64_t until = now_ms() + last_ms;
    while (now_ms() < until) {
        attacks[which].run(to);
        watch(to, seen);
        (void)poll(NULL, 0, ASK_EVERY_MS);
    }
    for (size_t i = 0; i < READERS && readers[i] > 0; i++) {
        (void)kill(readers[i], SIGKILL);
        (void)waitpid(readers[i], NULL, 0);
    }
    for (size_t i = 0; i < n_fds; i++)
        (void)close(fds[i]);
}

int main(int argc, char **argv)
{
    const struct rlimit files = {FDS_MAX + 100, FDS_MAX + 100};
    (void)setrlimit(RLIMIT_NOFILE, &files);
    int64_t last_ms = 1000 * (argc == 6 ? strtol(argv[5], NULL, 10) : LAST_S);
    for (size_t i = 0; argc >= 5 && argc <= 6 && i < COUNT(attacks); i++) {
        if (strcmp(argv[1], attacks[i].name) != 0)
            continue;
        const struct target to = {(unsigned)strtoul(argv[2], NULL, 10), argv[3],
                                  strtol(argv[4], NULL, 10)};
        static struct seen seen, after;
        attack(i, &to, last_ms, &seen);
        (void)poll(NULL, 0, (int)last_ms);
        watch(&to, &after);
        bool good = seen.failed == 0 && seen.rss_kib < RSS_KIB && after.failed == 0 &&
                    after.slowest_ms < NORMAL_MS;
        (void)printf("%-16s %s: %u of %u answers late or missing, p90 %lld ms, slowest %lld ms, "
                     "RSS %ld MiB; %lld s later %lld ms\n",
                     argv[1], good ? "ok" : "FAILED", seen.failed, seen.asked,
                     (long long)p90_ms(&seen), (long long)seen.slowest_ms, seen.rss_kib / 1024,
                     (long long)last_ms / 1000, (long long)after.slowest_ms);
        return good ? 0 : 1;
    }
    (void)fprintf(stderr, "usage: abuse ATTACK PORT SOCKET PID [SECONDS]\n");
    return 2;
}
