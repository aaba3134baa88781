/* http_tls.h - the certificate of the server and how certificates of clients are checked, by
 * GnuTLS. Loading again replaces both for connections that begin later; running ones keep theirs.
 *
 * Any thread. A material is counted: each connection holds one. */
#ifndef EXPORTER_HTTP_HTTP_TLS_H
#define EXPORTER_HTTP_HTTP_TLS_H

#include "base/err.h"
#include "base/own.h"
#include "exporter/http/http_peer.h"

/* Go's names, as exporter-toolkit has them. */
enum http_client_auth {
#define CLIENT_AUTH(id, name, asks, requires, verifies) CLIENT_AUTH_##id,
#include "exporter/access/client_auth.def"
#undef CLIENT_AUTH
    CLIENT_AUTH_COUNT
};
bool http_client_auth_from_name(const char *name, enum http_client_auth *out_auth);
bool http_client_auth_verifies(enum http_client_auth auth);

enum { HTTP_TLS_PATH_MAX = 4096, HTTP_TLS_PRIORITY_MAX = 512 };
struct http_tls_files {
    char cert[HTTP_TLS_PATH_MAX], key[HTTP_TLS_PATH_MAX];
    char client_ca[HTTP_TLS_PATH_MAX]; /* "": none */
    enum http_client_auth client_auth;
    char priority[HTTP_TLS_PRIORITY_MAX]; /* GnuTLS' priority string */
};

struct http_tls;
struct http_tls *http_tls_new(const struct http_tls_files *files, struct err *err);
void http_tls_free(struct http_tls *tls); /* NULL is fine; connections keep their material */
DEFINE_OWNED(http_tls)
/* Reads the files again (NULL: the same ones). On failure the old ones stay in use. */
bool http_tls_load(struct http_tls *tls, const struct http_tls_files *files, struct err *err);
bool http_tls_has_changed(struct http_tls *tls); /* a file is another one since it was loaded */
/* The certificate as PEM text, the caller's to free; NULL: no memory. */
char *http_tls_certificate(struct http_tls *tls);

/* For http.c. The session is libmicrohttpd's (gnutls_session_t), before its handshake. NULL: the
 * session cannot be used. */
struct tls_material;
struct tls_material *http_tls_attach(struct http_tls *tls, void *session);
void tls_material_unref(struct tls_material *material); /* NULL is fine */
/* Key and certificate as PEM, borrowed from the material. */
struct tls_material *http_tls_material(struct http_tls *tls);
void tls_material_pem(const struct tls_material *material, const char **out_cert,
                      const char **out_key);
/* The names of the client's certificate, if it is verified; after the handshake. */
void tls_material_names(const struct tls_material *material, void *session, struct http_peer *peer);

/* Makes a self-signed certificate for the names (DNS names and IP addresses) if there is none;
 * the key has mode 0600. */
enum http_tls_purpose { HTTP_TLS_SERVER, HTTP_TLS_CLIENT };
bool http_tls_make(const char *cert_file, const char *key_file, enum http_tls_purpose purpose,
                   const char *const *names, size_t n, struct err *err);

#endif
