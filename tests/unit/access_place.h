/* access_place.h - an exporter with every kind of listener and every kind of client, for the tests
 * of access: a socket, plain http, https on loopback and, in a network namespace of the test's own,
 * off it; tokens, users and certificates of every role. The engine refuses all that gets so far. */
#ifndef TESTS_UNIT_ACCESS_PLACE_H
#define TESTS_UNIT_ACCESS_PLACE_H

#include "tests/test.h"

#include <curl/curl.h>
#include <stdbool.h>

#include "exporter/access/tokens.h"
#include "exporter/api/routes.h"
#include "exporter/exporter.h"

#define VMIM_PATH "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstancemigrations"
#define AWAY "10.77.0.1" /* not loopback, in the test's own network namespace */
enum { NOBODY = 65534, GROUP = 1 /* daemon */, SOCKET = 0, PLAIN = 1, TLS = 2, AWAY_TLS = 3 };

enum { PLACE_TOKENS = 5, PLACE_CERTIFICATES = 4 }; /* rows of access_place.c */
struct place {
    char dir[32], file[7][64];
    struct exporter *x;
    unsigned ports[8];
    bool is_away; /* the network namespace was made */
    char secrets[PLACE_TOKENS][TOKEN_SECRET_MAX];
    char client[PLACE_CERTIFICATES][2][64]; /* certificate and key */
};

enum { CERT, KEY, WEB, CLIENT_CA, SOCK, CERT2, KEY2 };

enum proof {
    BY_SOCKET,
    BY_NOTHING,
    BY_TOKEN,
    BY_PASSWORD,
    BY_CERTIFICATE,
    BY_WRONG_TOKEN,
    BY_WRONG_PASSWORD
};

struct someone {
    const char *what;
    enum proof proof;
    int listener;
    size_t which; /* token or certificate */
    const char *password;
    enum access_role role; /* NONE: 401 */
    const char *ns;
};

struct reply {
    long status;
    char text[4096];
    char head[2048];
};

/* Group setup and teardown; place_close after each test. */
struct access_config place_access(const struct place *p);
void place_write_web(const struct place *p, bool with_users);
/* With more keys of tls_server_config. */
void place_write_tls(const struct place *p, bool with_users, const char *more);
void place_open(struct place *p, const struct access_config *access);
int place_close(void **state);
CURL *place_client(const struct place *p, const struct someone *who);
struct reply place_send(const struct place *p, const struct someone *who, CURL *curl,
                        const char *method, const char *path);
struct reply place_send_once(const struct place *p, const struct someone *who, const char *method,
                             const char *path);
void route_path(const struct http_route *route, char *out, size_t n);
size_t place_keep_text(char *bytes, size_t size, size_t n, void *ctx);
int place_up(void **state);
int place_down(void **state);

#endif
