/* web_config.h - exporter-toolkit's web configuration file (--web.config.file): certificate, TLS
 * versions and ciphers, users with bcrypt hashes. Relative paths are relative to the file. A key
 * that Ferry cannot honour is an error with file and line. */
#ifndef EXPORTER_ACCESS_WEB_CONFIG_H
#define EXPORTER_ACCESS_WEB_CONFIG_H

#include <stddef.h>

#include "base/err.h"
#include "base/own.h"

enum {
    WEB_USERS_MAX = 256,
    WEB_USER_MAX = 64,
    WEB_HASH_MAX = 64, /* bcrypt has 60 */
    WEB_PATH_MAX = 4096,
    WEB_PRIORITY_MAX = 512,
    WEB_SANS_MAX = 32,
    WEB_SAN_MAX = 128,
};

struct web_config {
    char cert_file[WEB_PATH_MAX], key_file[WEB_PATH_MAX]; /* "": no tls_server_config */
    char client_ca_file[WEB_PATH_MAX];
    char client_auth_type[32];                    /* "": NoClientCert */
    char priority[WEB_PRIORITY_MAX];              /* versions, ciphers and curves */
    char allowed_sans[WEB_SANS_MAX][WEB_SAN_MAX]; /* of clients; any of them */
    size_t n_allowed_sans;
    struct web_user {
        char name[WEB_USER_MAX], hash[WEB_HASH_MAX];
    } users[WEB_USERS_MAX];
    size_t n_users;
};

struct web_config *web_config_read(const char *file, struct err *err);
struct web_config *web_config_parse(const char *text, size_t n, const char *file, struct err *err);
void web_config_free(struct web_config *web);
DEFINE_OWNED(web_config)
/* GnuTLS' priority string of a server without such a file. */
#define WEB_PRIORITY_DEFAULT "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#endif
