/* http_tls.c - see http_tls.h.
 *
 * libmicrohttpd has one certificate per daemon, for its whole life. Each new session therefore gets
 * the credentials of the newest material before its handshake (http_tls_attach); those that
 * libmicrohttpd was started with are never used. */
#include "exporter/http/http_tls.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

static const struct {
    const char *name;
    bool asks, requires, verifies;
} auths[CLIENT_AUTH_COUNT] = {
#define CLIENT_AUTH(id, name, asks, requires, verifies) \
    [CLIENT_AUTH_##id] = {name, asks, requires, verifies},
#include "exporter/access/client_auth.def"
#undef CLIENT_AUTH
};

/* When a file was loaded: which file it was. */
struct stamp {
    ino_t inode;
    off_t bytes;
    struct timespec changed;
};
enum { FILE_CERT, FILE_KEY, FILE_CA, FILE_COUNT };

struct tls_material {
    atomic_int references;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    enum http_client_auth client_auth;
    gnutls_datum_t cert, key;
};

struct http_tls {
    pthread_mutex_t lock; /* the rest */
    struct http_tls_files files;
    struct stamp stamps[FILE_COUNT]; /* of the last load, also of one that failed */
    struct tls_material *material;
};

bool http_client_auth_from_name(const char *name, enum http_client_auth *out_auth)
{
    for (enum http_client_auth auth = 0; auth < CLIENT_AUTH_COUNT; auth++)
        if (text_equal(auths[auth].name, name)) {
            *out_auth = auth;
            return true;
        }
    return false;
}

bool http_client_auth_verifies(enum http_client_auth auth)
{
    return auths[auth].verifies;
}

/* ---- one material ---- */

static void free_datum(gnutls_datum_t *datum)
{
    if (datum->data != NULL)
        explicit_bzero(datum->data, datum->size);
    gnutls_free(datum->data);
}

void tls_material_unref(struct tls_material *material)
{
    if (material == NULL || atomic_fetch_sub(&material->references, 1) != 1)
        return;
    if (material->credentials != NULL)
        gnutls_certificate_free_credentials(material->credentials);
    if (material->priority != NULL)
        gnutls_priority_deinit(material->priority);
    free_datum(&material->cert);
    free_datum(&material->key);
    free(material);
}

/* In the handshake: 0 accepts the client's certificate. */
static int verify_client(gnutls_session_t session)
{
    unsigned status = 0, n = 0;
    const gnutls_datum_t *given = gnutls_certificate_get_peers(session, &n);
    if (given == NULL || n == 0)
        return 0; /* whether one is required was negotiated */
    /* A host's or a web server's certificate of the same authority is no client's. */
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0
               ? 0
               : GNUTLS_E_CERTIFICATE_ERROR;
}

static bool read_stamp(const char *file, struct stamp *out_stamp)
{
    struct stat found;
    *out_stamp = (struct stamp){0};
    if (file[0] == '\0')
        return true;
    if (stat(file, &found) != 0)
        return false;
    *out_stamp = (struct stamp){found.st_ino, found.st_size, found.st_mtim};
    return true;
}

static void stamp_files(const struct http_tls_files *files, struct stamp *out_stamps)
{
    (void)read_stamp(files->cert, &out_stamps[FILE_CERT]);
    (void)read_stamp(files->key, &out_stamps[FILE_KEY]);
    (void)read_stamp(files->client_ca, &out_stamps[FILE_CA]);
}

static bool load_file(const char *what, const char *file, gnutls_datum_t *out, struct err *err)
{
    int failure = gnutls_load_file(file, out);
    return failure == 0 || err_set(err, ERR_IO, "%s %s: cannot be read", what, file);
}

static bool load_certificate(struct tls_material *material, const struct http_tls_files *files,
                             struct err *err)
{
    if (!load_file("cert_file", files->cert, &material->cert, err) ||
        !load_file("key_file", files->key, &material->key, err))
        return false;
    int failure = gnutls_certificate_set_x509_key_mem(material->credentials, &material->cert,
                                                      &material->key, GNUTLS_X509_FMT_PEM);
    return failure >= 0 || err_set(err, ERR_INVALID, "cert_file %s with key_file %s: %s",
                                   files->cert, files->key, gnutls_strerror(failure));
}

static bool load_clients(struct tls_material *material, const struct http_tls_files *files,
                         struct err *err)
{
    if (auths[files->client_auth].verifies)
        gnutls_certificate_set_verify_function(material->credentials, verify_client);
    if (files->client_ca[0] == '\0')
        return true;
    int n = gnutls_certificate_set_x509_trust_file(material->credentials, files->client_ca,
                                                   GNUTLS_X509_FMT_PEM);
    return n > 0 || err_set(err, ERR_INVALID, "client_ca_file %s: %s", files->client_ca,
                            n == 0 ? "has no certificate in it" : gnutls_strerror(n));
}

static struct tls_material *material_new(const struct http_tls_files *files, struct err *err)
{
    struct tls_material *material = calloc(1, sizeof *material);
    if (material == NULL) {
        err_set(err, ERR_NOMEM, "no memory for certificates");
        return NULL;
    }
    atomic_init(&material->references, 1);
    material->client_auth = files->client_auth;
    const char *wrong = NULL;
    int failure = gnutls_priority_init(&material->priority, files->priority, &wrong);
    if (failure != 0)
        err_set(err, ERR_INVALID, "TLS versions and ciphers '%s': %s", files->priority,
                gnutls_strerror(failure));
    else if (gnutls_certificate_allocate_credentials(&material->credentials) != 0)
        err_set(err, ERR_NOMEM, "no memory for certificates");
    else if (load_certificate(material, files, err) && load_clients(material, files, err))
        return material;
    tls_material_unref(material);
    return NULL;
}

void tls_material_pem(const struct tls_material *material, const char **out_cert,
                      const char **out_key)
{
    *out_cert = (const char *)material->cert.data; /* gnutls_load_file terminates them */
    *out_key = (const char *)material->key.data;
}

/* ---- the names of a client ---- */

static void add_name(struct http_peer *peer, const char *name, size_t n)
{
    if (n == 0 || n >= HTTP_PEER_NAME_MAX || peer->n_names == HTTP_PEER_NAMES_MAX ||
        memchr(name, '\0', n) != NULL)
        return;
    memcpy(peer->names[peer->n_names], name, n);
    peer->names[peer->n_names][n] = '\0';
    peer->n_names++;
}

static void add_names(gnutls_x509_crt_t certificate, struct http_peer *peer)
{
    char name[HTTP_PEER_NAME_MAX];
    size_t n = sizeof name;
    if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &n) ==
        0)
        add_name(peer, name, strnlen(name, n));
    for (unsigned i = 0; i < HTTP_PEER_NAMES_MAX; i++) {
        unsigned critical;
        n = sizeof name;
        int type = gnutls_x509_crt_get_subject_alt_name(certificate, i, name, &n, &critical);
        if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            return;
        if (type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_RFC822NAME || type == GNUTLS_SAN_URI)
            add_name(peer, name, strnlen(name, n));
    }
}

void tls_material_names(const struct tls_material *material, void *session, struct http_peer *peer)
{
    unsigned n = 0;
    gnutls_x509_crt_t certificate;
    peer->n_names = 0;
    const gnutls_datum_t *given = gnutls_certificate_get_peers(session, &n);
    if (!auths[material->client_auth].verifies || given == NULL || n == 0)
        return; /* a certificate that nobody verified proves nothing */
    if (gnutls_x509_crt_init(&certificate) != 0)
        return;
    if (gnutls_x509_crt_import(certificate, &given[0], GNUTLS_X509_FMT_DER) == 0)
        add_names(certificate, peer);
    gnutls_x509_crt_deinit(certificate);
}

/* ---- the newest material ---- */

struct http_tls *http_tls_new(const struct http_tls_files *files, struct err *err)
{
    struct http_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) {
        err_set(err, ERR_NOMEM, "no memory for certificates");
        return NULL;
    }
    (void)pthread_mutex_init(&tls->lock, NULL);
    tls->files = *files;
    stamp_files(files, tls->stamps); /* before reading: a change meanwhile is noticed */
    tls->material = material_new(files, err);
    if (tls->material != NULL)
        return tls;
    http_tls_free(tls);
    return NULL;
}

void http_tls_free(struct http_tls *tls)
{
    if (tls == NULL)
        return;
    tls_material_unref(tls->material);
    (void)pthread_mutex_destroy(&tls->lock);
    free(tls);
}

bool http_tls_load(struct http_tls *tls, const struct http_tls_files *files, struct err *err)
{
    (void)pthread_mutex_lock(&tls->lock);
    const struct http_tls_files wanted = files == NULL ? tls->files : *files;
    stamp_files(&wanted, tls->stamps);
    (void)pthread_mutex_unlock(&tls->lock);
    struct tls_material *next = material_new(&wanted, err);
    if (next == NULL)
        return false;
    (void)pthread_mutex_lock(&tls->lock);
    struct tls_material *before = tls->material;
    tls->material = next;
    tls->files = wanted;
    (void)pthread_mutex_unlock(&tls->lock);
    tls_material_unref(before);
    return true;
}

static bool is_other(const struct stamp *a, const struct stamp *b)
{
    return a->inode != b->inode || a->bytes != b->bytes || a->changed.tv_sec != b->changed.tv_sec ||
           a->changed.tv_nsec != b->changed.tv_nsec;
}

bool http_tls_has_changed(struct http_tls *tls)
{
    struct stamp now[FILE_COUNT];
    (void)pthread_mutex_lock(&tls->lock);
    stamp_files(&tls->files, now);
    bool changed = false;
    for (size_t i = 0; i < FILE_COUNT; i++)
        changed = changed || is_other(&now[i], &tls->stamps[i]);
    (void)pthread_mutex_unlock(&tls->lock);
    return changed;
}

struct tls_material *http_tls_material(struct http_tls *tls)
{
    (void)pthread_mutex_lock(&tls->lock);
    struct tls_material *material = tls->material;
    (void)atomic_fetch_add(&material->references, 1);
    (void)pthread_mutex_unlock(&tls->lock);
    return material;
}

char *http_tls_certificate(struct http_tls *tls)
{
    struct tls_material *material = http_tls_material(tls);
    char *text = strndup((const char *)material->cert.data, material->cert.size);
    tls_material_unref(material);
    return text;
}

struct tls_material *http_tls_attach(struct http_tls *tls, void *session)
{
    struct tls_material *material = http_tls_material(tls);
    bool asks = auths[material->client_auth].asks, must = auths[material->client_auth].requires;
    if (session == NULL ||
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, material->credentials) != 0 ||
        gnutls_priority_set(session, material->priority) != 0) {
        tls_material_unref(material);
        return NULL;
    }
    gnutls_certificate_server_set_request(session, must   ? GNUTLS_CERT_REQUIRE
                                                   : asks ? GNUTLS_CERT_REQUEST
                                                          : GNUTLS_CERT_IGNORE);
    return material;
}
