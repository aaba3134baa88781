/* webhook.c - webhook PORT FILE: takes what Alertmanager sends and appends each body to FILE, one
 * line each, with the path and the time it came: "PATH MILLISECONDS JSON".
 *
 * A receiver of its own, because a shell cannot read a request body and the tests need nothing
 * else. One request at a time; a request that does not come to an end is dropped after a second.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 20 };

static char request[REQUEST_MAX];

/* The whole request; how long it is, 0: it did not come. */
static size_t take(int fd)
{
    size_t have = 0, want = 0;
    for (;;) {
        ssize_t n = read(fd, request + have, sizeof request - 1 - have);
        if (n <= 0)
            return 0;
        have += (size_t)n;
        request[have] = '\0';
        char *body = strstr(request, "\r\n\r\n");
        char *length = strcasestr(request, "content-length:");
        if (body == NULL)
            continue;
        want = (size_t)(body + 4 - request) + (length != NULL ? strtoul(length + 15, NULL, 10) : 0);
        if (have >= want || want >= sizeof request)
            return have;
    }
}

static void note(FILE *out)
{
    struct timespec now;
    char path[256] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)sscanf(request, "%*s %255s", path);
    char *body = strstr(request, "\r\n\r\n") + 4;
    for (char *c = body; *c != '\0'; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    fprintf(out, "%s %lld %s\n", path, (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, body);
    fflush(out);
}

int main(int argc, char **argv)
{
    FILE *out = argc == 3 ? fopen(argv[2], "ae") : NULL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (out == NULL || fd < 0) {
        fprintf(stderr, "usage: webhook PORT FILE\n");
        return 2;
    }
    at.sin_port = htons((unsigned short)atoi(argv[1]));
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 16) != 0) {
        perror("webhook");
        return 1;
    }
    for (;;) {
        int client = accept(fd, NULL, NULL);
        struct timeval second = {.tv_sec = 1};
        static const char yes[] =
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        if (client < 0)
            continue;
        (void)setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
        if (take(client) > 0) {
            note(out);
            (void)!write(client, yes, sizeof yes - 1);
        }
        close(client);
    }
}
