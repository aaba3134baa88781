/* certificate.h - when does an X.509 certificate end? Of a file, or of a TLS server.
 *
 * Nothing is verified: an expired certificate is what the caller looks for. Keys are never read.
 * Any thread.
 */
#ifndef HYPERVISOR_CERTIFICATE_H
#define HYPERVISOR_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { CERTIFICATE_FILE_MAX = 256 * 1024 };

/* End of the first certificate of a PEM file, in seconds since 1970. NOT_FOUND: no such file. */
bool certificate_file_end(const char *file, int64_t *out_end_s, struct err *err);
/* End of the certificate that a TLS server shows on a connected, non-blocking socket; the handshake
 * is given up once it is seen. */
bool certificate_peer_end(int fd, int64_t until_ms, int64_t *out_end_s, struct err *err);

#endif
