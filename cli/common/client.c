/* client.c - see client.h. */
#include "cli/common/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/common/client_easy.h"
#include "cli/common/view.h"

struct client {
    char url[CLIENT_URL_MAX];
    CURL *curl;
    struct curl_slist *headers, *patch_headers; /* a patch has a content type of its own */
    struct buf answer;                          /* of the call in progress */
};

static size_t on_bytes(char *bytes, size_t size, size_t n, void *ctx)
{
    struct buf *answer = ctx;
    buf_add_bytes(answer, bytes, size * n);
    return answer->failed ? 0 : size * n; /* 0 ends the transfer */
}

/* The appliance's socket, else the one of a user's own appliance, else loopback. */
static void find_server(char *out, size_t n)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char own[CLIENT_URL_MAX] = "";
    if (runtime != NULL)
        (void)snprintf(own, sizeof own, "%.200s/ferry.sock", runtime);
    const char *const sockets[] = {CLIENT_SOCKET_DEFAULT, own};
    for (size_t i = 0; i < COUNT(sockets); i++)
        if (sockets[i][0] != '\0' && access(sockets[i], W_OK) == 0) {
            (void)snprintf(out, n, "unix:%s", sockets[i]);
            return;
        }
    (void)text_copy(out, n, CLIENT_SERVER_DEFAULT);
}

static bool read_url(struct client *client, const char *server, struct err *err)
{
    char found[CLIENT_URL_MAX];
    if (server == NULL)
        server = getenv("FERRY_SERVER");
    if (server == NULL || *server == '\0') {
        find_server(found, sizeof found);
        server = found;
    }
    if (!text_has_prefix(server, "http://") && !text_has_prefix(server, "https://") &&
        !text_has_prefix(server, "unix:/"))
        return err_set(err, ERR_INVALID,
                       "server '%s' is none of unix:PATH, https://ADDRESS:PORT and %s", server,
                       CLIENT_SERVER_DEFAULT);
    if (!text_copy(client->url, sizeof client->url, server))
        return err_set(err, ERR_INVALID, "the server's URL is too long");
    for (size_t n = strlen(client->url); client->url[n - 1] == '/'; n--)
        client->url[n - 1] = '\0';
    return true;
}

/* ---- credentials ---- */

/* The first line of the file. */
static bool read_token_file(const char *file, char *out, size_t n, struct err *err)
{
    FILE *from = fopen(file, "re");
    bool is_read = from != NULL && fgets(out, (int)n, from) != NULL;
    if (from != NULL)
        (void)fclose(from);
    out[is_read ? strcspn(out, "\r\n") : 0] = '\0';
    return is_read || err_set(err, ERR_INVALID, "token file %s cannot be read", file);
}

static bool read_token(char *out, size_t n, struct err *err)
{
    const char *file = getenv("FERRY_TOKEN_FILE"), *token = getenv("FERRY_TOKEN");
    out[0] = '\0';
    if (file != NULL && *file != '\0')
        return read_token_file(file, out, n, err);
    return token == NULL || text_copy(out, n, token) ||
           err_set(err, ERR_INVALID, "FERRY_TOKEN is longer than a token");
}

static bool is_loopback_url(const char *url)
{
    static const char *const prefixes[] = {"http://127.", "http://localhost", "http://[::1]"};
    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (text_has_prefix(url, prefixes[i]))
            return true;
    return false;
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
    return add_header(list, "Accept: application/json", err) && add_header(list, content_type, err);
}

static bool set_up_credentials(struct client *client, struct err *err)
{
    char token[CLIENT_TOKEN_MAX];
    const char *ca_file = getenv("FERRY_CA_FILE");
    if (text_has_prefix(client->url, "unix:"))
        (void)curl_easy_setopt(client->curl, CURLOPT_UNIX_SOCKET_PATH, client->url + 5);
    if (ca_file != NULL && *ca_file != '\0') {
        if (access(ca_file, R_OK) != 0)
            return err_set(err, ERR_INVALID, "CA file %s cannot be read", ca_file);
        (void)curl_easy_setopt(client->curl, CURLOPT_CAINFO, ca_file);
        (void)curl_easy_setopt(client->curl, CURLOPT_CAPATH, NULL); /* and no CA of the system */
    }
    if (!read_token(token, sizeof token, err))
        return false;
    if (token[0] == '\0')
        return true;
    if (text_has_prefix(client->url, "http://") && !is_loopback_url(client->url))
        return err_set(err, ERR_INVALID,
                       "a token is not sent over plain http to %s: it could be read on the way; "
                       "use https://",
                       client->url);
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    (void)curl_easy_setopt(client->curl, CURLOPT_XOAUTH2_BEARER, token);
    explicit_bzero(token, sizeof token);
    return true;
}

static bool set_up(struct client *client, struct err *err)
{
    client->curl = curl_easy_init();
    if (client->curl == NULL)
        return err_set(err, ERR_NOMEM, "no memory for the HTTP client");
    if (!add_headers(&client->headers, "Content-Type: application/json", err) ||
        !add_headers(&client->patch_headers, "Content-Type: application/merge-patch+json", err))
        return false;
    if (!set_up_credentials(client, err))
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
        {409, "AlreadyExists", ERR_EXISTS}, {409, NULL, ERR_REFUSED},
        {400, NULL, ERR_INVALID},           {401, NULL, ERR_FORBIDDEN},
        {403, NULL, ERR_FORBIDDEN},         {404, NULL, ERR_NOT_FOUND},
        {405, NULL, ERR_INVALID},           {410, NULL, ERR_EXPIRED},
        {422, NULL, ERR_UNPROCESSABLE},     {429, NULL, ERR_LIMIT},
        {502, NULL, ERR_HYPERVISOR},        {503, NULL, ERR_UNREACHABLE},
        {504, NULL, ERR_TIMEOUT},           {507, NULL, ERR_FULL},
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
static bool is_change_in_doubt(CURL *easy, const char *method)
{
    long sent = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    return sent > 0 && !text_equal(method, "GET");
}

static bool is_forbidden_socket(const struct client *client)
{
    return text_has_prefix(client->url, "unix:") && access(client->url + 5, F_OK) == 0 &&
           access(client->url + 5, W_OK) != 0 && errno == EACCES;
}

bool client_fail_from_curl(const struct client *client, CURL *easy, CURLcode code,
                           const char *method, struct err *err)
{
    if (is_change_in_doubt(easy, method))
        return err_set(err, ERR_TIMEOUT,
                       "%s did not answer the request; whether it was accepted is not "
                       "known",
                       client->url);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, ERR_UNREACHABLE, "%s did not answer in time", client->url);
    if (code == CURLE_COULDNT_CONNECT && is_forbidden_socket(client))
        return err_set(err, ERR_FORBIDDEN,
                       "the socket %s may be used by root and group ferry, not by this user",
                       client->url + 5);
    if (code == CURLE_COULDNT_CONNECT)
        return err_set(err, ERR_UNREACHABLE, "no appliance at %s", client->url);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return err_set(err, ERR_UNREACHABLE,
                       "the certificate of %s is not trusted: name its CA with --ca-file or "
                       "FERRY_CA_FILE",
                       client->url);
    return err_set(err, ERR_UNREACHABLE, "cannot connect to %s: %s", client->url,
                   curl_easy_strerror(code));
}

static bool set_request(const struct client *client, CURL *easy, const char *method,
                        const char *path, const char *body, struct err *err)
{
    struct buf url;
    buf_init(&url, 8192);
    buf_addf(&url, "%s%s", text_has_prefix(client->url, "unix:") ? "http://localhost" : client->url,
             path);
    if (url.failed) {
        buf_fini(&url);
        return err_set(err, ERR_INVALID, "the request's path is too long");
    }
    (void)curl_easy_setopt(easy, CURLOPT_URL, url.data);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER,
                           text_equal(method, "PATCH") ? client->patch_headers : client->headers);
    (void)curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
    if (body == NULL)
        (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    buf_fini(&url);
    return true;
}

CURL *client_easy(const struct client *client, const char *method, const char *path,
                  const char *body, struct err *err)
{
    CURL *easy = curl_easy_duphandle(client->curl);
    if (easy == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for a request");
        return NULL;
    }
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 0L);
    if (set_request(client, easy, method, path, body, err))
        return easy;
    curl_easy_cleanup(easy);
    return NULL;
}

/* Sends and waits; fills client->answer. */
static bool exchange(struct client *client, const char *method, const char *path, const char *body,
                     long *out_http, struct err *err)
{
    if (!set_request(client, client->curl, method, path, body, err))
        return false;
    CURLcode code = curl_easy_perform(client->curl);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, out_http);
    if (code == CURLE_OK)
        return true;
    if (client->answer.failed)
        return err_set(err, ERR_LIMIT, "the appliance's answer is larger than %d MiB",
                       CLIENT_BYTES_MAX >> 20);
    return client_fail_from_curl(client, client->curl, code, method, err);
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

static struct json_object *get_page(struct client *client, const char *path, const char *token,
                                    struct err *err)
{
    struct buf full;
    buf_init(&full, 8192);
    buf_addf(&full, "%s%slimit=%d%s%s", path, strchr(path, '?') == NULL ? "?" : "&", CLIENT_PAGE,
             *token == '\0' ? "" : "&continue=", token);
    struct json_object *page = NULL;
    if (full.failed)
        (void)err_set(err, ERR_INVALID, "the request's path is too long");
    else
        page = client_call(client, "GET", full.data, NULL, err);
    buf_fini(&full);
    return page;
}

/* Moves the objects of a page to the end of the list. */
static bool append_items(struct json_object *list, struct json_object *page, struct err *err)
{
    struct json_object *to = json_at(list, "items"), *from = json_at(page, "items");
    for (size_t i = 0; from != NULL && i < json_object_array_length(from); i++)
        if (to == NULL ||
            json_object_array_add(to, json_object_get(json_object_array_get_idx(from, i))) != 0)
            return err_set(err, ERR_NOMEM, "no memory for a list");
    return true;
}

static struct json_object *list_once(struct client *client, const char *path, struct err *err)
{
    OWNED(json_object) list = get_page(client, path, "", err);
    OWNED(json_object) page = json_object_get(list);
    for (int pages = 1; page != NULL; pages++) {
        const char *token = view_text(page, "metadata.continue");
        if (*token == '\0') {
            json_object_object_del(json_at(list, "metadata"), "continue");
            json_object_object_del(json_at(list, "metadata"), "remainingItemCount");
            return TAKE(list);
        }
        if (pages == CLIENT_PAGES_MAX) {
            (void)err_set(err, ERR_LIMIT, "the list has more than %d objects",
                          CLIENT_PAGE * CLIENT_PAGES_MAX);
            return NULL;
        }
        struct json_object *next = get_page(client, path, token, err);
        json_object_free(page);
        page = next;
        if (page != NULL && !append_items(list, page, err))
            return NULL;
    }
    return NULL;
}

struct json_object *client_list(struct client *client, const char *path, struct err *err)
{
    struct json_object *list = NULL;
    for (int tries = 0; list == NULL && tries < CLIENT_LIST_TRIES; tries++) {
        *err = (struct err){0};
        list = list_once(client, path, err);
        if (list == NULL && err->code != ERR_EXPIRED)
            return NULL;
    }
    return list;
}
