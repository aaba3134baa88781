/* client.c - see client.h. */
#include "cli/common/client.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/text.h"
#include "cli/common/view.h"
#include "engine/snapshot.h"

struct client {
    char url[CLIENT_URL_MAX];
    CURL *curl;
    struct curl_slist *headers, *patch_headers; /* a patch has a content type of its own */
    struct buf answer;                          /* of the call in progress */
};

/* "cli:LOGIN", recorded by the appliance as requester. */
static void requester_name(char *out_text, size_t n)
{
    struct passwd entry, *found = NULL;
    char names[4096];
    if (getpwuid_r(geteuid(), &entry, names, sizeof names, &found) == 0 && found != NULL)
        (void)snprintf(out_text, n, "cli:%s", found->pw_name);
    else
        (void)snprintf(out_text, n, "cli:%u", (unsigned)geteuid());
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
    struct buf *answer = ctx;
    buf_add_bytes(answer, bytes, size * n);
    return answer->failed ? 0 : size * n; /* 0 ends the transfer */
}

static bool read_url(struct client *client, const char *server, struct err *err)
{
    if (server == NULL)
        server = getenv("FERRY_SERVER");
    if (server == NULL || *server == '\0')
        server = CLIENT_SERVER_DEFAULT;
    if (!text_has_prefix(server, "http://") && !text_has_prefix(server, "https://"))
        return err_set(err, ERR_INVALID, "server '%s' is not a URL like %s", server,
                       CLIENT_SERVER_DEFAULT);
    if (!text_copy(client->url, sizeof client->url, server))
        return err_set(err, ERR_INVALID, "the server's URL is too long");
    for (size_t n = strlen(client->url); client->url[n - 1] == '/'; n--)
        client->url[n - 1] = '\0';
    return true;
}

static bool add_header(struct curl_slist **list, const char *line, struct err *err)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer == NULL)
        return err_set(err, ERR_NOMEM, "no memory for a request");
    *list = longer;
    return true;
}

static bool add_headers(struct curl_slist **list, const char *content_type, struct err *err)
{
    char who[SNAPSHOT_WHO_MAX], header[SNAPSHOT_WHO_MAX + 16];
    requester_name(who, sizeof who);
    (void)snprintf(header, sizeof header, "X-Ferry-User: %s", who);
    return add_header(list, header, err) && add_header(list, "Accept: application/json", err) &&
           add_header(list, content_type, err);
}

static bool set_up(struct client *client, struct err *err)
{
    client->curl = curl_easy_init();
    if (client->curl == NULL)
        return err_set(err, ERR_NOMEM, "no memory for the HTTP client");
    if (!add_headers(&client->headers, "Content-Type: application/json", err) ||
        !add_headers(&client->patch_headers, "Content-Type: application/merge-patch+json", err))
        return false;
    (void)curl_easy_setopt(client->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(client->curl, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(client->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(client->curl, CURLOPT_USERAGENT, "ferry/" FERRY_VERSION);
    (void)curl_easy_setopt(client->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_MS);
    (void)curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, (long)CLIENT_ANSWER_MS);
    (void)curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &client->answer);
    return true;
}

struct client *client_new(const char *server, struct err *err)
{
    OWNED(client) client = calloc(1, sizeof *client);
    if (client == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the HTTP client");
        return NULL;
    }
    if (!read_url(client, server, err) || !set_up(client, err))
        return NULL;
    return TAKE(client);
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    curl_slist_free_all(client->headers);
    curl_slist_free_all(client->patch_headers);
    curl_easy_cleanup(client->curl);
    buf_fini(&client->answer);
    free(client);
}

const char *client_url(const struct client *client)
{
    return client->url;
}

static enum err_code code_from_http(long http, const char *reason)
{
    static const struct {
        long http;
        const char *reason; /* NULL: any */
        enum err_code code;
    } rows[] = {
        {409, "AlreadyExists", ERR_EXISTS}, {409, NULL, ERR_REFUSED},   {400, NULL, ERR_INVALID},
        {403, NULL, ERR_FORBIDDEN},         {404, NULL, ERR_NOT_FOUND}, {405, NULL, ERR_INVALID},
        {422, NULL, ERR_UNPROCESSABLE},     {429, NULL, ERR_LIMIT},     {502, NULL, ERR_HYPERVISOR},
        {503, NULL, ERR_UNREACHABLE},       {504, NULL, ERR_TIMEOUT},   {507, NULL, ERR_FULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].http == http && (rows[i].reason == NULL || text_equal(rows[i].reason, reason)))
            return rows[i].code;
    return ERR_INTERNAL;
}

bool client_fail_from_status(long http, struct json_object *body, struct err *err)
{
    const char *message = view_text(body, "message");
    enum err_code code = code_from_http(http, view_text(body, "reason"));
    if (*message != '\0')
        return err_set(err, code, "%s", message);
    return err_set(err, code, "the appliance answered with HTTP status %ld", http);
}

void client_set_timeout(struct client *client, int64_t ms)
{
    long limit = ms < CLIENT_ANSWER_MS ? (long)ms : CLIENT_ANSWER_MS;
    (void)curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, limit > 0 ? limit : 1);
}

/* A change that was sent and not answered may have been made. */
static bool is_change_in_doubt(const struct client *client, const char *method)
{
    long sent = 0;
    (void)curl_easy_getinfo(client->curl, CURLINFO_REQUEST_SIZE, &sent);
    return sent > 0 && !text_equal(method, "GET");
}

static bool fail_from_curl(const struct client *client, CURLcode code, const char *method,
                           struct err *err)
{
    if (client->answer.failed)
        return err_set(err, ERR_LIMIT, "the appliance's answer is larger than %d MiB",
                       CLIENT_BYTES_MAX >> 20);
    if (is_change_in_doubt(client, method))
        return err_set(err, ERR_TIMEOUT,
                       "%s did not answer the request; whether it was accepted is not "
                       "known",
                       client->url);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_UNREACHABLE, "%s did not answer in time", client->url);
    if (code == CURLE_COULDNT_CONNECT)
        return err_set(err, ERR_UNREACHABLE, "no appliance at %s", client->url);
    return err_set(err, ERR_UNREACHABLE, "cannot connect to %s: %s", client->url,
                   curl_easy_strerror(code));
}

/* Sends and waits; fills client->answer. */
static bool exchange(struct client *client, const char *method, const char *path, const char *body,
                     long *out_http, struct err *err)
{
    struct buf url;
    buf_init(&url, 8192);
    buf_addf(&url, "%s%s", client->url, path);
    if (url.failed) {
        buf_fini(&url);
        return err_set(err, ERR_INVALID, "the request's path is too long");
    }
    (void)curl_easy_setopt(client->curl, CURLOPT_URL, url.data);
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER,
                           text_equal(method, "PATCH") ? client->patch_headers : client->headers);
    (void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, body);
    if (body == NULL)
        (void)curl_easy_setopt(client->curl, CURLOPT_HTTPGET, 1L);
    (void)curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, method);
    CURLcode code = curl_easy_perform(client->curl);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, out_http);
    buf_fini(&url);
    return code == CURLE_OK ? true : fail_from_curl(client, code, method, err);
}

struct json_object *client_call(struct client *client, const char *method, const char *path,
                                struct json_object *body, struct err *err)
{
    const char *text =
        body != NULL ? json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN) : NULL;
    long http = 0;
    buf_fini(&client->answer);
    buf_init(&client->answer, CLIENT_BYTES_MAX);
    if (!exchange(client, method, path, text, &http, err))
        return NULL;
    struct err unreadable = {0};
    OWNED(json_object) answer = json_parse(client->answer.data != NULL ? client->answer.data : "",
                                           client->answer.length, client->url, &unreadable);
    if (http < 200 || http > 299) {
        (void)client_fail_from_status(http, answer, err);
        return NULL;
    }
    if (answer == NULL) {
        (void)err_set(err, ERR_UNREACHABLE, "the server at %s is not a Ferry appliance",
                      client->url);
        return NULL;
    }
    return TAKE(answer);
}
