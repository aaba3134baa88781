/* fuzz_http.c - requests as handlers see them: routes, names in paths, queries, headers.
 *
 * Input: "METHOD /path?key=value&key=value", lines "Key: value", an empty line, a body. Taking a
 * request apart is libmicrohttpd's work; here it is done only as far as handlers need it.
 */
#include <string.h>

#include "base/own.h"
#include "tests/fuzz/api.h"
#include "tests/fuzz/fuzz.h"

/* Cuts the text at the first `end`; what comes after, or NULL. */
static char *cut(char *text, char end)
{
    char *at = text == NULL ? NULL : strchr(text, end);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + 1;
}

static void read_query(char *text, struct api_fields *fields)
{
    for (char *next; text != NULL && fields->n_query < API_FIELDS_MAX; text = next) {
        next = cut(text, '&');
        const char *value = cut(text, '=');
        fields->query[fields->n_query++] = (struct api_field){text, value == NULL ? "" : value};
    }
}

/* Up to the empty line; returns the body. */
static char *read_headers(char *line, struct api_fields *fields)
{
    while (line != NULL && *line != '\n' && *line != '\0') {
        char *next = cut(line, '\n');
        char *value = cut(line, ':');
        if (value != NULL && fields->n_headers < API_FIELDS_MAX)
            fields->headers[fields->n_headers++] =
                (struct api_field){line, value + (*value == ' ')};
        line = next;
    }
    return line != NULL && *line == '\n' ? line + 1 : line;
}

/* Only spellings of a loopback address get in; a name never does. */
static void law_of_the_host(const char *host)
{
    char name[256];
    if (host == NULL || !http_host_name(host, name, sizeof name) || !http_name_is_loopback(name))
        return;
    bool is_name = strncmp(host, "localhost", 9) == 0;
    const char *rest = is_name ? host + 9 : host;
    FUZZ_LAW(rest[strspn(rest, "[]:.0123456789abcdefABCDEF")] == '\0', "let in: '%s'", host);
}

FUZZ_TARGET(http)
{
    OWNED_TEXT text = fuzz_text(data, n);
    struct api_fields fields = {0};
    char *method = text, *rest = cut(text, '\n'), *path = cut(method, ' ');
    read_query(cut(path, '?'), &fields);
    const char *body = read_headers(rest, &fields);
    struct http_request request = {.method = method,
                                   .path = path == NULL ? "" : path,
                                   .body = body == NULL ? "" : body,
                                   .body_bytes = body == NULL ? 0 : strlen(body),
                                   .connection = &fields};
    for (size_t i = 0; i < fields.n_headers; i++)
        law_of_the_host(fields.headers[i].value);
    struct api_asked asked = {0};
    unsigned status = api_serve(&request, &asked);
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    unsigned changes = api_asked_changes(&asked);
    FUZZ_LAW(!reads || changes + asked.questions == 0, "a reader changed something");
    FUZZ_LAW(changes <= 1, "one request asked the engine twice");
    FUZZ_LAW(status != 201 || changes + asked.questions > 0, "created without the engine");
    return 0;
}
