/* access_place.c - see access_place.h. */
#include "tests/unit/access_place.h"

#include <crypt.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "exporter/access/tokens.h"
#include "exporter/api/routes.h"
#include "exporter/exporter.h"
#include "exporter/http/http_tls.h"
#include "tests/unit/test_access.h"
#include "tests/unit/test_api_client.h"
#include "tests/unit/test_api_world.h"

/* ---- an engine that says no to everything that gets so far ---- */

static bool no_create(void *ctx, const struct migration_request *r, struct migration_ref *out,
                      struct err *err)
{
    (void)ctx, (void)r, (void)out;
    return err_set(err, ERR_REFUSED, "not now");
}
static bool no_cancel(void *ctx, const char *ns, const char *name, const char *who, bool remove,
                      struct err *err)
{
    (void)ctx, (void)ns, (void)name, (void)who, (void)remove;
    return err_set(err, ERR_REFUSED, "not now");
}
static bool no_put(void *ctx, const struct object_request *r, struct migration_ref *out,
                   struct err *err)
{
    (void)ctx, (void)r, (void)out;
    return err_set(err, ERR_UNPROCESSABLE, "spec: not now");
}
static bool no_remove(void *ctx, const struct object_ref *ref, struct err *err)
{
    (void)ctx, (void)ref;
    return err_set(err, ERR_REFUSED, "not now");
}
static bool no_evict(void *ctx, const struct eviction_request *r, struct err *err)
{
    (void)ctx, (void)r;
    return err_set(err, ERR_REFUSED, "not now");
}
static bool no_ask(void *ctx, const struct question *q, char **out, struct err *err)
{
    (void)ctx, (void)q, (void)out;
    return err_set(err, ERR_REFUSED, "not now");
}
static bool no_resolve(void *ctx, const struct resolve_request *r, struct err *err)
{
    (void)ctx, (void)r;
    return err_set(err, ERR_REFUSED, "not now");
}

/* ---- the place ---- */

/* An address that is not loopback, on a loopback device of our own. */
static bool make_network(void)
{
    struct ifreq up = {.ifr_name = "lo"}, other = {.ifr_name = "lo:1"};
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&other.ifr_addr;
    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address->sin_family = AF_INET;
    (void)inet_pton(AF_INET, AWAY, &address->sin_addr);
    up.ifr_flags = IFF_UP | IFF_RUNNING;
    bool done = ioctl(fd, SIOCSIFFLAGS, &up) == 0 && ioctl(fd, SIOCSIFADDR, &other) == 0;
    (void)close(fd);
    return done;
}

static void add_hash(struct buf *out, const char *user, const char *password)
{
    struct crypt_data data = {0};
    buf_addf(out, "  %s: %s\n", user, crypt_r(password, "$2b$04$abcdefghijklmnopqrstuu", &data));
}

void place_write_web(const struct place *p, bool with_users)
{
    place_write_tls(p, with_users, "");
}

void place_write_tls(const struct place *p, bool with_users, const char *more)
{
    struct buf text;
    buf_init(&text, 8192);
    buf_addf(&text,
             "tls_server_config:\n  cert_file: %s\n  key_file: key.pem\n  client_ca_file: %s\n"
             "  client_auth_type: VerifyClientCertIfGiven\n%s",
             p->file[CERT], p->file[CLIENT_CA], more);
    if (with_users) {
        buf_add(&text, "basic_auth_users:\n");
        add_hash(&text, "vera", "see");
        add_hash(&text, "otto", "do");
        add_hash(&text, "anna", "all");
        add_hash(&text, "nils", "web");
        add_hash(&text, "ops.example", "not a certificate");
    }
    FILE *file = fopen(p->file[WEB], "we");
    assert_non_null(file);
    (void)fputs(text.data, file);
    (void)fclose(file);
    buf_fini(&text);
}

static void publish_tokens(struct place *p)
{
    static const struct {
        const char *name, *role, *ns;
    } rows[] = {
        {"v", "viewer", ""},     {"o", "operator", ""},        {"a", "admin", ""},
        {"n", "admin", "other"}, {"d", "operator", "default"},
    };
    static struct snapshot_object objects[PLACE_TOKENS];
    static char specs[PLACE_TOKENS][256];
    static const struct snapshot_object *list[PLACE_TOKENS];
    struct world *world = world_new(7);
    struct err err = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char hash[TOKEN_HASH_MAX];
        assert_true(token_make(p->secrets[i], hash, &err));
        (void)snprintf(specs[i], sizeof specs[i],
                       "{\"role\":\"%s\",\"namespace\":\"%s\",\"sha256\":\"%s\"}", rows[i].role,
                       rows[i].ns, hash);
        objects[i] = (struct snapshot_object){
            .kind = OBJECT_TOKEN, .spec_json = specs[i], .resource_version = i + 1};
        TEXT_SET(objects[i].name, rows[i].name);
        list[i] = &objects[i];
    }
    world->snapshot.objects = list;
    world->snapshot.n_objects = COUNT(rows);
    exporter_on_snapshot(p->x, &world->snapshot);
    snapshot_unref(&world->snapshot);
}

static void grant(struct access_config *access, enum access_source source, const char *name,
                  enum access_role role, const char *ns)
{
    struct access_grant *row = &access->grants[access->n_grants++];
    row->source = source;
    row->role = role;
    TEXT_SET(row->name, name);
    TEXT_SET(row->ns, ns);
}

struct access_config place_access(const struct place *p)
{
    struct access_config access = test_access();
    access.n_listen = p->is_away ? 3 : 2;
    TEXT_SET(access.listen[0], "http://127.0.0.1:0");
    TEXT_SET(access.listen[1], "https://127.0.0.1:0");
    TEXT_SET(access.listen[2], "https://" AWAY ":0");
    TEXT_SET(access.socket, p->file[SOCK]);
    TEXT_SET(access.group, "daemon");
    TEXT_SET(access.web_file, p->file[WEB]);
    grant(&access, SOURCE_PASSWORD, "otto", ROLE_OPERATOR, "");
    grant(&access, SOURCE_PASSWORD, "anna", ROLE_ADMIN, "");
    grant(&access, SOURCE_PASSWORD, "nils", ROLE_ADMIN, "other");
    grant(&access, SOURCE_CERTIFICATE, "ops.example", ROLE_OPERATOR, "");
    grant(&access, SOURCE_CERTIFICATE, "all.example", ROLE_ADMIN, "");
    grant(&access, SOURCE_CERTIFICATE, "nils", ROLE_ADMIN, "other");
    return access;
}

void place_open(struct place *p, const struct access_config *access)
{
    struct err err = {0};
    const struct exporter_config config = {.access = access, .version = "0.1.0"};
    const struct exporter_parts parts = {
        clock_system(),
        {NULL, no_create, no_cancel, no_put, no_remove, no_evict, no_ask, no_resolve},
        NULL,
        NULL,
        {NULL, NULL},
        {NULL, NULL},
        {NULL, NULL}};
    p->x = exporter_new(&config, &parts, &err);
    if (p->x == NULL)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT(p->ports); i++)
        p->ports[i] = exporter_port(p->x, i);
    publish_tokens(p);
}

int place_close(void **state)
{
    struct place *p = *state;
    exporter_free(p->x);
    p->x = NULL;
    return 0;
}

static void append(const char *from, FILE *to)
{
    FILE *file = fopen(from, "re");
    char bytes[8192];
    assert_non_null(file);
    (void)fwrite(bytes, 1, fread(bytes, 1, sizeof bytes, file), to);
    (void)fclose(file);
}

/* Each is its own CA; anna's has no grant, though a user of that name has. */
static void make_clients(struct place *p)
{
    static const char *const names[PLACE_CERTIFICATES] = {"ops.example", "anna", "all.example",
                                                          "nils"};
    struct err err = {0};
    FILE *ca = fopen(p->file[CLIENT_CA], "we");
    assert_non_null(ca);
    for (size_t i = 0; i < PLACE_CERTIFICATES; i++) {
        (void)snprintf(p->client[i][0], sizeof p->client[i][0], "%s/c%zu.pem", p->dir, i);
        (void)snprintf(p->client[i][1], sizeof p->client[i][1], "%s/k%zu.pem", p->dir, i);
        assert_true(
            http_tls_make(p->client[i][0], p->client[i][1], HTTP_TLS_CLIENT, &names[i], 1, &err));
        append(p->client[i][0], ca);
    }
    (void)fclose(ca);
}

static void make_files(struct place *p)
{
    static const char *const names[] = {"cert.pem", "key.pem",   "web.yml", "client.pem",
                                        "s",        "cert2.pem", "key2.pem"};
    static const char *const server[] = {"localhost", "127.0.0.1", AWAY};
    struct err err = {0};
    TEXT_SET(p->dir, "/tmp/ferry-access-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    assert_int_equal(chmod(p->dir, 0755), 0);
    for (size_t i = 0; i < COUNT(names); i++)
        (void)snprintf(p->file[i], sizeof p->file[i], "%s/%s", p->dir, names[i]);
    assert_true(
        http_tls_make(p->file[CERT], p->file[KEY], HTTP_TLS_SERVER, server, COUNT(server), &err));
    assert_true(
        http_tls_make(p->file[CERT2], p->file[KEY2], HTTP_TLS_SERVER, server, COUNT(server), &err));
    make_clients(p);
}

int place_up(void **state)
{
    static struct place place;
    place.is_away = make_network(); /* before the first thread */
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    make_files(&place);
    *state = &place;
    return 0;
}

int place_down(void **state)
{
    struct place *p = *state;
    for (size_t i = 0; i < COUNT(p->file); i++)
        (void)unlink(p->file[i]);
    for (size_t i = 0; i < PLACE_CERTIFICATES; i++) {
        (void)unlink(p->client[i][0]);
        (void)unlink(p->client[i][1]);
    }
    (void)rmdir(p->dir);
    return 0;
}

/* ---- clients ---- */

size_t place_keep_text(char *bytes, size_t size, size_t n, void *ctx)
{
    char *text = ctx;
    size_t length = strlen(text), more = size * n;
    if (length + more < 2047) {
        memcpy(text + length, bytes, more);
        text[length + more] = '\0';
    }
    return size * n;
}

CURL *place_client(const struct place *p, const struct someone *who)
{
    CURL *curl = curl_easy_init();
    (void)curl_easy_setopt(curl, CURLOPT_CAINFO, p->file[CERT]);
    (void)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    if (who->listener == SOCKET)
        (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, p->file[SOCK]);
    if (who->proof == BY_TOKEN || who->proof == BY_WRONG_TOKEN) {
        (void)curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        (void)curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER,
                               who->proof == BY_TOKEN ? p->secrets[who->which] : "ferry_wrong");
    }
    if (who->proof == BY_PASSWORD || who->proof == BY_WRONG_PASSWORD)
        (void)curl_easy_setopt(curl, CURLOPT_USERPWD, who->password);
    if (who->proof == BY_CERTIFICATE) {
        (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, p->client[who->which][0]);
        (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, p->client[who->which][1]);
    }
    return curl;
}

struct reply place_send(const struct place *p, const struct someone *who, CURL *curl,
                        const char *method, const char *path)
{
    struct reply reply = {0};
    char url[512];
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    (void)snprintf(url, sizeof url, "%s://%s:%u%s", who->listener >= TLS ? "https" : "http",
                   who->listener == AWAY_TLS ? AWAY : "127.0.0.1",
                   who->listener == SOCKET ? 1 : p->ports[who->listener], path);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (strcmp(method, "GET") == 0)
        (void)curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    else
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "{}");
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, place_keep_text);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply.text);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, place_keep_text);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, reply.head);
    CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK)
        fail_msg("%s: %s %s: %s", who->what, method, path, curl_easy_strerror(code));
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
    curl_slist_free_all(headers);
    return reply;
}

struct reply place_send_once(const struct place *p, const struct someone *who, const char *method,
                             const char *path)
{
    CURL *curl = place_client(p, who);
    struct reply reply = place_send(p, who, curl, method, path);
    curl_easy_cleanup(curl);
    return reply;
}

/* "/a/{ns}/b/{name}" in namespace default. */
void route_path(const struct http_route *route, char *out, size_t n)
{
    out[0] = '\0';
    for (const char *at = route->pattern; *at != '\0';) {
        size_t length = strlen(out);
        if (text_has_prefix(at, "{ns}") || text_has_prefix(at, "{name}")) {
            (void)snprintf(out + length, n - length, "%s", at[2] == 's' ? "default" : "thing");
            at = strchr(at, '}') + 1;
        } else {
            (void)snprintf(out + length, n - length, "%c", *at++);
        }
    }
}
