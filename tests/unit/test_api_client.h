/* test_api_client.h - a plain-socket HTTP client, so that a test says what goes over the wire byte
 * by byte. */
#ifndef TESTS_UNIT_TEST_API_CLIENT_H
#define TESTS_UNIT_TEST_API_CLIENT_H

#include "tests/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

struct answer {
    int status;
    char head[4096];
    char *body;
    size_t body_bytes;
    struct json_object *json; /* NULL when it is none */
};

static inline void answer_fini(struct answer *answer)
{
    free(answer->body);
    json_object_free(answer->json);
}

static inline int dial(unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline int dial_socket(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 20};
    TEXT_SET(to.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the server may have said no already */
        bytes += sent;
        n -= (size_t)sent;
    }
}

/* Joins the chunks of a body in place; false: it does not end with the last chunk. */
static inline bool join_chunks(struct answer *answer)
{
    char *out = answer->body, *at = answer->body;
    const char *end = answer->body + answer->body_bytes;
    for (;;) {
        char *line = memchr(at, '\r', (size_t)(end - at)); /* strstr would look for the end */
        size_t n = line == NULL ? 0 : strtoul(at, NULL, 16);
        bool is_last = line != NULL && n == 0 && strncmp(at, "0\r\n", 3) == 0;
        if (n == 0 || line + 2 + n + 2 > end) {
            answer->body_bytes = (size_t)(out - answer->body);
            *out = '\0';
            return is_last;
        }
        memmove(out, line + 2, n);
        out += n;
        at = line + 2 + n + 2;
    }
}

/* Reads until the server closes. A chunked body that was cut off has the status 0. */
static inline struct answer receive(int fd)
{
    struct answer answer = {0};
    struct buf text;
    buf_init(&text, 64 << 20);
    char part[65536];
    for (ssize_t n; (n = recv(fd, part, sizeof part, 0)) > 0;)
        buf_add_bytes(&text, part, (size_t)n);
    (void)close(fd);
    const char *end = text.data == NULL ? NULL : strstr(text.data, "\r\n\r\n");
    if (end != NULL) {
        (void)snprintf(answer.head, sizeof answer.head, "%.*s", (int)(end + 2 - text.data),
                       text.data);
        (void)sscanf(answer.head, "HTTP/1.1 %d", &answer.status);
        answer.body_bytes = text.length - (size_t)(end + 4 - text.data);
        answer.body = calloc(1, answer.body_bytes + 1); /* it may be compressed */
        if (answer.body != NULL)
            memcpy(answer.body, end + 4, answer.body_bytes);
        if (answer.body != NULL && strstr(answer.head, "Transfer-Encoding: chunked") != NULL &&
            !join_chunks(&answer))
            answer.status = 0;
        struct err err = {0};
        answer.json = json_parse(answer.body, answer.body_bytes, "answer", &err);
    }
    buf_fini(&text);
    return answer;
}

/* headers: whole lines with CRLF, or "". */
static inline struct answer ask_fd(int fd, const char *method, const char *path,
                                   const char *headers, const char *body)
{
    struct buf text;
    buf_init(&text, 64 << 20);
    buf_addf(&text, "%s %s HTTP/1.1\r\n%sConnection: close\r\n%s", method, path,
             strstr(headers, "Host: ") == NULL ? "Host: localhost\r\n" : "", headers);
    if (body != NULL)
        buf_addf(&text, "Content-Length: %zu\r\n", strlen(body));
    buf_add(&text, "\r\n");
    buf_add(&text, body == NULL ? "" : body);
    send_all(fd, text.data, text.length);
    buf_fini(&text);
    return receive(fd);
}

static inline struct answer ask_port(unsigned port, const char *method, const char *path,
                                     const char *headers, const char *body)
{
    char all[2048];
    (void)snprintf(all, sizeof all, "Host: 127.0.0.1:%u\r\n%s", port, headers);
    return ask_fd(dial(port), method, path, strstr(headers, "Host: ") == NULL ? all : headers,
                  body);
}

/* The text at a dotted path of the answer, "" when there is none. */
static inline const char *at(const struct answer *answer, const char *path)
{
    struct json_object *found = answer->json == NULL ? NULL : json_at(answer->json, path);
    return found == NULL ? "" : json_object_get_string(found);
}

/* A Kubernetes Status of this code and reason. */
static inline void assert_refused(const struct answer *answer, int code, const char *reason)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", code);
    assert_int_equal(answer->status, code);
    assert_string_equal(at(answer, "kind"), "Status");
    assert_string_equal(at(answer, "status"), "Failure");
    assert_string_equal(at(answer, "code"), number);
    assert_string_equal(at(answer, "reason"), reason);
    assert_true(strlen(at(answer, "message")) > 0);
}

#endif
