/* certificate.c - see certificate.h. */
#include "hypervisor/certificate.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static bool end_of(const gnutls_datum_t *data, gnutls_x509_crt_fmt_t format, int64_t *out_end_s,
                   struct err *err)
{
    gnutls_x509_crt_t certificate;
    if (gnutls_x509_crt_init(&certificate) != 0)
        return err_set(err, ERR_NOMEM, "no memory for a certificate");
    int failed = gnutls_x509_crt_import(certificate, data, format);
    time_t end = failed == 0 ? gnutls_x509_crt_get_expiration_time(certificate) : -1;
    gnutls_x509_crt_deinit(certificate);
    if (end == (time_t)-1)
        return err_set(err, ERR_CORRUPT, "not a certificate");
    *out_end_s = (int64_t)end;
    return true;
}

bool certificate_file_end(const char *file, int64_t *out_end_s, struct err *err)
{
    FILE *stream = fopen(file, "re");
    if (stream == NULL)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", file,
                       strerror(errno));
    unsigned char *bytes = malloc(CERTIFICATE_FILE_MAX);
    gnutls_datum_t data = {.data = bytes};
    if (bytes != NULL)
        data.size = (unsigned)fread(bytes, 1, CERTIFICATE_FILE_MAX, stream);
    (void)fclose(stream);
    bool read = bytes != NULL ? end_of(&data, GNUTLS_X509_FMT_PEM, out_end_s, err)
                              : err_set(err, ERR_NOMEM, "no memory for a certificate");
    free(bytes);
    return read ? true : err_wrap(err, "%s", file);
}

/* --- of a server --- */

/* The certificate is all that is wanted: any result but 0 ends the handshake. */
static int on_certificate(gnutls_session_t session)
{
    int64_t *end_s = gnutls_session_get_ptr(session);
    unsigned n = 0;
    struct err err = {0};
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
    if (n > 0)
        (void)end_of(&chain[0], GNUTLS_X509_FMT_DER, end_s, &err);
    return GNUTLS_E_CERTIFICATE_ERROR;
}

static bool wait_for(gnutls_session_t session, int fd, int64_t until_ms)
{
    int64_t left = until_ms - clock_mono_ms(clock_system());
    short events = gnutls_record_get_direction(session) == 1 ? POLLOUT : POLLIN;
    struct pollfd wait = {.fd = fd, .events = events};
    return left > 0 && poll(&wait, 1, (int)left) > 0;
}

static int shake_hands(gnutls_session_t session, int fd, int64_t until_ms)
{
    for (;;) {
        int status = gnutls_handshake(session);
        if (status == 0 || gnutls_error_is_fatal(status) != 0)
            return status;
        if (!wait_for(session, fd, until_ms))
            return GNUTLS_E_TIMEDOUT;
    }
}

bool certificate_peer_end(int fd, int64_t until_ms, int64_t *out_end_s, struct err *err)
{
    gnutls_session_t session = NULL;
    gnutls_certificate_credentials_t nobody = NULL;
    int64_t end_s = -1;
    int status = gnutls_certificate_allocate_credentials(&nobody);
    if (status == 0)
        status = gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
    if (status == 0)
        status = gnutls_set_default_priority(session);
    if (status == 0)
        status = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, nobody);
    if (status == 0) {
        gnutls_session_set_ptr(session, &end_s);
        gnutls_session_set_verify_function(session, on_certificate);
        gnutls_transport_set_int(session, fd);
        status = shake_hands(session, fd, until_ms);
    }
    if (session != NULL)
        gnutls_deinit(session);
    if (nobody != NULL)
        gnutls_certificate_free_credentials(nobody);
    if (end_s < 0)
        return err_set(err, status == GNUTLS_E_TIMEDOUT ? ERR_TIMEOUT : ERR_IO,
                       "no certificate: %s", gnutls_strerror(status));
    *out_end_s = end_s;
    return true;
}
