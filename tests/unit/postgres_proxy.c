/* postgres_proxy.c - see postgres_proxy.h. One thread; PostgreSQL's messages are a letter and a
 * length, so a COMMIT is found wherever it is in the stream. */
#include "tests/unit/postgres_proxy.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/postgres_server.h"

enum { PAIRS_MAX = 16, PIECE = 65536 };

struct pair {
    int client, database; /* -1: free */
    bool answer_is_lost;
};

struct proxy {
    char dir[64], target[108];
    int listener;
    pthread_t thread;
    atomic_int fault;
    atomic_bool is_over;
    struct pair pairs[PAIRS_MAX];
};

static void end_pair(struct pair *pair)
{
    if (pair->client >= 0)
        (void)close(pair->client);
    if (pair->database >= 0)
        (void)close(pair->database);
    *pair = (struct pair){.client = -1, .database = -1};
}

static int connect_database(const struct proxy *proxy)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, proxy->target, sizeof name.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void accept_one(struct proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    for (size_t i = 0; client >= 0 && i < PAIRS_MAX; i++) {
        struct pair *pair = &proxy->pairs[i];
        if (pair->client >= 0)
            continue;
        *pair = (struct pair){.client = client, .database = connect_database(proxy)};
        if (pair->database < 0 || atomic_load(&proxy->fault) == PROXY_REFUSE)
            end_pair(pair);
        return;
    }
    (void)close(client);
}

static void move(int from, int to, struct pair *pair)
{
    static _Thread_local char bytes[PIECE];
    ssize_t n = read(from, bytes, sizeof bytes);
    if (n <= 0 || write(to, bytes, (size_t)n) != n)
        end_pair(pair);
}

static void from_client(struct proxy *proxy, struct pair *pair)
{
    static _Thread_local char bytes[PIECE];
    ssize_t n = read(pair->client, bytes, sizeof bytes);
    int fault = atomic_load(&proxy->fault);
    bool is_commit = n > 0 && fault != PROXY_NONE && memmem(bytes, (size_t)n, "COMMIT", 6) != NULL;
    if (n <= 0 || (is_commit && fault == PROXY_COMMIT_LOST)) {
        if (is_commit)
            atomic_store(&proxy->fault, PROXY_REFUSE);
        end_pair(pair);
        return;
    }
    pair->answer_is_lost = is_commit && fault == PROXY_COMMIT_ANSWER_LOST;
    if (write(pair->database, bytes, (size_t)n) != n)
        end_pair(pair);
}

static void from_database(struct proxy *proxy, struct pair *pair)
{
    if (!pair->answer_is_lost) {
        move(pair->database, pair->client, pair);
        return;
    }
    atomic_store(&proxy->fault, PROXY_REFUSE); /* it was answered: it is stored */
    end_pair(pair);
}

static void *serve(void *ctx)
{
    struct proxy *proxy = ctx;
    while (!atomic_load(&proxy->is_over)) {
        struct pollfd fds[1 + 2 * PAIRS_MAX] = {{.fd = proxy->listener, .events = POLLIN}};
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            fds[1 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = proxy->pairs[i].database, .events = POLLIN};
        }
        if (poll(fds, 1 + 2 * PAIRS_MAX, 50) <= 0)
            continue;
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            struct pair *pair = &proxy->pairs[i];
            if (pair->client >= 0 && fds[1 + 2 * i].revents != 0)
                from_client(proxy, pair);
            if (pair->client >= 0 && fds[2 + 2 * i].revents != 0)
                from_database(proxy, pair);
        }
        if (fds[0].revents != 0)
            accept_one(proxy);
    }
    return NULL;
}

struct proxy *proxy_start(const char *url, char *out_url)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    assert_non_null(proxy);
    const char *host = strstr(url, "host=") + 5;
    int n = (int)strcspn(host, "&");
    (void)snprintf(proxy->target, sizeof proxy->target, "%.*s/.s.PGSQL.5432", n, host);
    (void)snprintf(proxy->dir, sizeof proxy->dir, "/tmp/ferry-proxy-XXXXXX");
    assert_non_null(mkdtemp(proxy->dir));
    (void)snprintf(out_url, POSTGRES_URL_MAX, "%.*s%s%s", (int)(host - url), url, proxy->dir,
                   host + n);
    assert_true(snprintf(name.sun_path, sizeof name.sun_path, "%s/.s.PGSQL.5432", proxy->dir) <
                (int)sizeof name.sun_path);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(proxy->listener, 16), 0);
    for (size_t i = 0; i < PAIRS_MAX; i++)
        proxy->pairs[i] = (struct pair){.client = -1, .database = -1};
    assert_int_equal(pthread_create(&proxy->thread, NULL, serve, proxy), 0);
    return proxy;
}

void proxy_set(struct proxy *proxy, enum proxy_fault fault)
{
    atomic_store(&proxy->fault, (int)fault);
}

enum proxy_fault proxy_now(struct proxy *proxy)
{
    return (enum proxy_fault)atomic_load(&proxy->fault);
}

void proxy_stop(struct proxy *proxy)
{
    char command[256];
    atomic_store(&proxy->is_over, true);
    (void)pthread_join(proxy->thread, NULL);
    for (size_t i = 0; i < PAIRS_MAX; i++)
        end_pair(&proxy->pairs[i]);
    (void)close(proxy->listener);
    (void)snprintf(command, sizeof command, "rm -rf %s", proxy->dir);
    (void)!system(command);
    free(proxy);
}
