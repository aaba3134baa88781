/* http_self_signed.c - see http_tls.h: the certificate of an appliance that was given none. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "exporter/http/http_tls.h"

enum { YEARS = 10, DAY_S = 86400, SERIAL_BYTES = 16 };

static bool write_new(const char *file, const gnutls_datum_t *text, struct err *err)
{
    char part[HTTP_TLS_PATH_MAX + 8];
    (void)snprintf(part, sizeof part, "%s.new", file);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_written = fd >= 0 && fchmod(fd, 0600) == 0 &&
                      write(fd, text->data, text->size) == (ssize_t)text->size && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    return (is_written && rename(part, file) == 0) ||
           err_set(err, ERR_IO, "cannot write %s: %s", file, strerror(errno));
}

static int add_name(gnutls_x509_crt_t crt, const char *name)
{
    unsigned char bytes[16];
    unsigned n = inet_pton(AF_INET, name, bytes) == 1    ? 4
                 : inet_pton(AF_INET6, name, bytes) == 1 ? 16
                                                         : 0;
    return n > 0 ? gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, bytes, n,
                                                        GNUTLS_FSAN_APPEND)
                 : gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name,
                                                        (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

/* It is its own CA: clients are given it as the one to trust. */
static int fill(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, enum http_tls_purpose purpose,
                const char *const *names, size_t n)
{
    const char *usage =
        purpose == HTTP_TLS_CLIENT ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER;
    unsigned char serial[SERIAL_BYTES];
    time_t now = time(NULL);
    int failure = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] &= 0x7f;
    serial[0] |= 1;
    if (failure >= 0)
        failure = gnutls_x509_crt_set_version(crt, 3);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "ferry", 5);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_activation_time(crt, now - DAY_S);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_expiration_time(crt, now + (time_t)YEARS * 365 * DAY_S);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_key(crt, key);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_basic_constraints(crt, 1, 0);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE |
                                                         GNUTLS_KEY_KEY_CERT_SIGN);
    if (failure >= 0)
        failure = gnutls_x509_crt_set_key_purpose_oid(crt, usage, 0);
    for (size_t i = 0; failure >= 0 && i < n; i++)
        failure = add_name(crt, names[i]);
    return failure < 0 ? failure : gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

static bool make(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const char *cert_file,
                 const char *key_file, struct err *err)
{
    gnutls_datum_t key_text = {0}, cert_text = {0};
    bool is_written = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_text) == 0 &&
                      gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &cert_text) == 0;
    if (!is_written)
        err_set(err, ERR_NOMEM, "no memory for a certificate");
    is_written =
        is_written && write_new(key_file, &key_text, err) && write_new(cert_file, &cert_text, err);
    if (key_text.data != NULL)
        explicit_bzero(key_text.data, key_text.size);
    gnutls_free(key_text.data);
    gnutls_free(cert_text.data);
    return is_written;
}

bool http_tls_make(const char *cert_file, const char *key_file, enum http_tls_purpose purpose,
                   const char *const *names, size_t n, struct err *err)
{
    if (access(cert_file, F_OK) == 0 && access(key_file, F_OK) == 0)
        return true;
    gnutls_x509_crt_t crt = NULL;
    gnutls_x509_privkey_t key = NULL;
    int failure = gnutls_x509_crt_init(&crt);
    if (failure == 0)
        failure = gnutls_x509_privkey_init(&key);
    if (failure == 0)
        failure = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (failure == 0)
        failure = fill(crt, key, purpose, names, n);
    bool is_made = failure == 0 ? make(crt, key, cert_file, key_file, err)
                                : err_set(err, ERR_INTERNAL, "cannot make a certificate: %s",
                                          gnutls_strerror(failure));
    if (crt != NULL)
        gnutls_x509_crt_deinit(crt);
    if (key != NULL)
        gnutls_x509_privkey_deinit(key);
    return is_made;
}
