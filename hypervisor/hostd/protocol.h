/* protocol.h - the protocol between Ferry and a host's helper, with authentication of both.
 *
 *     helper   ferry-hostd/1 NONCE
 *     Ferry    NONCE MAC kill-stream 6f1b...
 *     helper   MAC ok 1 10.0.0.1:41234>10.0.0.2:49152      or   MAC failed CODE TEXT
 *              no                                          (unsigned: wrong secret or no request)
 *
 * One request per connection, one line each time. MAC is HMAC-SHA256 with the shared secret over
 * the role, both nonces and the text, all hexadecimal. Not TLS, because the helper must work when
 * it is needed: no certificates to distribute, renew and let expire on every host, no handshake of
 * several rounds. The content is not secret; what matters is that a request is Ferry's and fresh
 * (the helper's nonce) and that an answer is the helper's and belongs to this request (Ferry's
 * nonce). The primitives are GnuTLS's.
 */
#ifndef HYPERVISOR_HOSTD_PROTOCOL_H
#define HYPERVISOR_HOSTD_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "hypervisor/types.h"

enum {
    HOSTD_HEX_MAX = 65, /* a nonce or a MAC, with terminator */
    HOSTD_REQUEST_MAX = 512,
    HOSTD_ANSWER_MAX = 16384,
    HOSTD_SECRET_MIN = 16,
};

enum hostd_verb {
#define REQUEST(id, word, arguments, help) HOSTD_##id,
#include "hypervisor/hostd/requests.def"
#undef REQUEST
    HOSTD_VERBS
};
const char *hostd_verb_name(enum hostd_verb verb);

/* "10.0.0.1:7011", "[fd00::1]:7011" or the path of a local socket, from the root. */
struct hostd_address {
    struct sockaddr_storage at;
    socklen_t length;
};
bool hostd_address_parse(const char *text, struct hostd_address *out_address, struct err *err);
/* An address and a port that were given apart. */
bool hostd_address_make(const char *ip, unsigned port, struct hostd_address *out_address,
                        struct err *err);

/* "49152-49215"; false: it is none. */
bool hostd_ports_parse(const char *text, unsigned *out_min, unsigned *out_max);

/* The secret is the file's only line, 16 to 128 bytes. A file that others can read is refused.
 */
bool hostd_secret_read(const char *file, char *out_secret, struct err *err); /* HV_SECRET_MAX */

enum hostd_role { HOSTD_ASKS, HOSTD_ANSWERS };
bool hostd_nonce(char *out_nonce, struct err *err); /* HOSTD_HEX_MAX, as are all below */
struct hostd_message {
    enum hostd_role role;
    const char *helper_nonce, *client_nonce, *text;
};
bool hostd_sign(const char *secret, struct hostd_message message, char *out_mac, struct err *err);

/* --- lines, as either side writes and reads them; no newline in or out --- */

struct hostd_request {
    enum hostd_verb verb;
    char client_nonce[HOSTD_HEX_MAX];
    char uuid[HV_UUID_MAX];  /* KILL_STREAM, lower case */
    struct hostd_address to; /* PATH_PROBE */
    char word[HV_URI_MAX];   /* RESOLVE: a name; DIRECTORY: a path */
};

/* The helper's first line into out_line (HOSTD_REQUEST_MAX), and the nonce back out of it. */
void hostd_write_greeting(const char *nonce, char *out_line);
bool hostd_read_greeting(const char *line, char *out_nonce, struct err *err);

bool hostd_write_request(const char *secret, const char *helper_nonce, const char *client_nonce,
                         const char *text, char *out_line, struct err *err); /* HOSTD_REQUEST_MAX */
/* FORBIDDEN unless it is signed for this nonce; only then is it parsed. */
bool hostd_read_request(const char *secret, const char *helper_nonce, const char *line,
                        struct hostd_request *out_request, struct err *err);

/* The signed answer into out_line (HOSTD_ANSWER_MAX), and the signed text back out of it. */
bool hostd_write_answer(const char *secret, const char *helper_nonce, const char *client_nonce,
                        const char *text, char *out_line, struct err *err);
bool hostd_read_answer(const char *secret, const char *helper_nonce, const char *client_nonce,
                       const char *line, char *out_text, struct err *err);

/* --- transport, on a non-blocking socket, until a deadline on the monotonic clock --- */

bool hostd_connect(const struct hostd_address *to, int64_t until_ms, int *out_fd, struct err *err);
bool hostd_send_line(int fd, const char *line, int64_t until_ms, struct err *err);
/* Exactly one line; what does not fit, or comes after it, is CORRUPT. */
bool hostd_receive_line(int fd, char *out_line, size_t out_bytes, int64_t until_ms,
                        struct err *err);

#endif
