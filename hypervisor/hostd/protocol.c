/* protocol.c - see protocol.h: lines and signatures. transport.c sends and receives them. */
#include "hypervisor/hostd/protocol.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"

#define GREETING "ferry-hostd/1 "
enum { MAC_BYTES = 32, ARGUMENTS_MAX = 2, HEX = HOSTD_HEX_MAX - 1 };

static const struct {
    const char *word;
    size_t arguments;
} verbs[] = {
#define REQUEST(id, word, arguments, help) [HOSTD_##id] = {word, arguments},
#include "hypervisor/hostd/requests.def"
#undef REQUEST
};

const char *hostd_verb_name(enum hostd_verb verb)
{
    return verb < HOSTD_VERBS ? verbs[verb].word : "unknown";
}

/* --- addresses --- */

bool hostd_address_make(const char *ip, unsigned port, struct hostd_address *out_address,
                        struct err *err)
{
    struct hostd_address made = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&made.at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&made.at;
    if (port > UINT16_MAX)
        return err_set(err, ERR_INVALID, "%u is not a port", port);
    if (inet_pton(AF_INET, ip, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        made.length = sizeof *v4;
    } else if (inet_pton(AF_INET6, ip, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        made.length = sizeof *v6;
    } else {
        return err_set(err, ERR_INVALID, "'%s' is not an IP address", ip);
    }
    *out_address = made;
    return true;
}

static bool local_address(const char *path, struct hostd_address *out_address, struct err *err)
{
    struct hostd_address made = {.length = sizeof(struct sockaddr_un)};
    struct sockaddr_un *local = (struct sockaddr_un *)&made.at;
    local->sun_family = AF_UNIX;
    if (!text_copy(local->sun_path, sizeof local->sun_path, path))
        return err_set(err, ERR_INVALID, "the path of a socket has at most %zu bytes",
                       sizeof local->sun_path - 1);
    *out_address = made;
    return true;
}

bool hostd_address_parse(const char *text, struct hostd_address *out_address, struct err *err)
{
    char ip[INET6_ADDRSTRLEN + 2];
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (text[0] == '/')
        return local_address(text, out_address, err);
    if (colon == NULL || (size_t)(colon - text) >= sizeof ip ||
        !text_to_i64(colon + 1, 0, UINT16_MAX, &port))
        return err_set(err, ERR_INVALID,
                       "'%s' is neither ADDRESS:PORT, like 10.0.0.1:7011, nor a path", text);
    size_t n = (size_t)(colon - text);
    bool bracketed = text[0] == '[' && n > 2 && colon[-1] == ']';
    bool is_v6 = memchr(text, ':', n) != NULL;
    if (bracketed != is_v6) /* without brackets the end of an IPv6 address is ambiguous */
        return err_set(err, ERR_INVALID, "'%s': an IPv6 address is written [fd00::1]:7011", text);
    (void)snprintf(ip, sizeof ip, "%.*s", (int)(bracketed ? n - 2 : n), text + bracketed);
    return hostd_address_make(ip, (unsigned)port, out_address, err);
}

bool hostd_ports_parse(const char *text, unsigned *out_min, unsigned *out_max)
{
    char low[8];
    int64_t min, max;
    const char *dash = strchr(text, '-');
    if (dash == NULL || (size_t)(dash - text) >= sizeof low)
        return false;
    (void)snprintf(low, sizeof low, "%.*s", (int)(dash - text), text);
    if (!text_to_i64(low, 1024, UINT16_MAX, &min) || !text_to_i64(dash + 1, min, UINT16_MAX, &max))
        return false;
    *out_min = (unsigned)min;
    *out_max = (unsigned)max;
    return true;
}

/* --- secrets and signatures --- */

static bool take_secret(const char *file, char *text, size_t n, char *out_secret, struct err *err)
{
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (n < HOSTD_SECRET_MIN || n >= HV_SECRET_MAX)
        return err_set(err, ERR_INVALID, "%s: a secret has %d to %d bytes, this one has %s", file,
                       HOSTD_SECRET_MIN, HV_SECRET_MAX - 1, n < HOSTD_SECRET_MIN ? "less" : "more");
    for (size_t i = 0; i < n; i++)
        if (!isprint((unsigned char)text[i]))
            return err_set(err, ERR_INVALID, "%s: a secret is one line of plain characters", file);
    memcpy(out_secret, text, n);
    out_secret[n] = '\0';
    return true;
}

bool hostd_secret_read(const char *file, char *out_secret, struct err *err)
{
    char text[HV_SECRET_MAX + 2]; /* a longer one fills it */
    struct stat about;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s: %s", file, strerror(errno));
    bool known = fstat(fd, &about) == 0;
    ssize_t n = known && S_ISREG(about.st_mode) ? read(fd, text, sizeof text) : -1;
    (void)close(fd);
    if (n < 0)
        return err_set(err, ERR_IO, "%s: cannot be read as a file", file);
    if ((about.st_mode & S_IRWXO) != 0)
        return err_set(err, ERR_FORBIDDEN, "%s: readable or writable by others (run: chmod o= %s)",
                       file, file);
    bool taken = take_secret(file, text, (size_t)n, out_secret, err);
    explicit_bzero(text, sizeof text);
    return taken;
}

static void to_hex(const unsigned char *bytes, size_t n, char *out_hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out_hex[2 * i] = digits[bytes[i] >> 4];
        out_hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    out_hex[2 * n] = '\0';
}

bool hostd_nonce(char *out_nonce, struct err *err)
{
    unsigned char bytes[MAC_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_set(err, ERR_INTERNAL, "no random bytes: %s", strerror(errno));
    to_hex(bytes, sizeof bytes, out_nonce);
    return true;
}

bool hostd_sign(const char *secret, struct hostd_message message, char *out_mac, struct err *err)
{
    /* Nonces have a fixed length and text has no newline, so the encoding is unambiguous. */
    struct buf buf;
    unsigned char mac[MAC_BYTES];
    buf_init(&buf, HOSTD_ANSWER_MAX + 4 * HOSTD_HEX_MAX);
    buf_addf(&buf, GREETING "%s\n%s\n%s\n%s", message.role == HOSTD_ASKS ? "asks" : "answers",
             message.helper_nonce, message.client_nonce, message.text);
    int failed = buf.failed ? GNUTLS_E_MEMORY_ERROR
                            : gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret, strlen(secret), buf.data,
                                               buf.length, mac);
    buf_fini(&buf);
    if (failed != 0)
        return err_set(err, ERR_INTERNAL, "cannot sign: %s", gnutls_strerror(failed));
    to_hex(mac, sizeof mac, out_mac);
    return true;
}

/* --- lines --- */

static bool take_hex(const char **line, char *out_hex)
{
    if (strspn(*line, "0123456789abcdef") != HEX || (*line)[HEX] != ' ')
        return false;
    memcpy(out_hex, *line, HEX);
    out_hex[HEX] = '\0';
    *line += HEX + 1;
    return true;
}

void hostd_write_greeting(const char *nonce, char *out_line)
{
    (void)snprintf(out_line, HOSTD_REQUEST_MAX, GREETING "%s", nonce);
}

bool hostd_read_greeting(const char *line, char *out_nonce, struct err *err)
{
    const char *nonce = line + strlen(GREETING);
    if (!text_has_prefix(line, GREETING) || strspn(nonce, "0123456789abcdef") != HEX ||
        nonce[HEX] != '\0')
        return err_set(err, ERR_CORRUPT, "the peer is not a ferry hostd of this version");
    memcpy(out_nonce, nonce, HOSTD_HEX_MAX);
    return true;
}

bool hostd_write_request(const char *secret, const char *helper_nonce, const char *client_nonce,
                         const char *text, char *out_line, struct err *err)
{
    char mac[HOSTD_HEX_MAX];
    struct hostd_message message = {HOSTD_ASKS, helper_nonce, client_nonce, text};
    if (!hostd_sign(secret, message, mac, err))
        return false;
    int n = snprintf(out_line, HOSTD_REQUEST_MAX, "%s %s %s", client_nonce, mac, text);
    if (n < 0 || n >= HOSTD_REQUEST_MAX)
        return err_set(err, ERR_INVALID, "a request has at most %d bytes", HOSTD_REQUEST_MAX - 1);
    return true;
}

static bool is_signed(const char *secret, struct hostd_message message, const char *mac,
                      struct err *err)
{
    char expected[HOSTD_HEX_MAX];
    if (!hostd_sign(secret, message, expected, err))
        return false;
    if (gnutls_memcmp(expected, mac, HEX) != 0)
        return err_set(err, ERR_FORBIDDEN, "not signed with this secret for this connection");
    return true;
}

static bool read_uuid(const char *text, char *out_uuid, struct err *err)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool fits = strlen(text) == sizeof form - 1;
    for (size_t i = 0; fits && form[i] != '\0'; i++) {
        fits = form[i] == '-' ? text[i] == '-' : isxdigit((unsigned char)text[i]) != 0;
        out_uuid[i] = (char)tolower((unsigned char)text[i]);
    }
    out_uuid[sizeof form - 1] = '\0';
    return fits ? true : err_set(err, ERR_INVALID, "'%.64s' is not a UUID", text);
}

static bool read_arguments(struct hostd_request *request, char *const *arguments, struct err *err)
{
    int64_t port;
    switch (request->verb) {
    case HOSTD_KILL_STREAM: return read_uuid(arguments[0], request->uuid, err);
    case HOSTD_PATH_PROBE:
        if (!text_to_i64(arguments[1], 1, UINT16_MAX, &port))
            return err_set(err, ERR_INVALID, "'%.64s' is not a port", arguments[1]);
        return hostd_address_make(arguments[0], (unsigned)port, &request->to, err);
    case HOSTD_RESOLVE:
    case HOSTD_DIRECTORY:
        if (!text_copy(request->word, sizeof request->word, arguments[0]) || !*request->word)
            return err_set(err, ERR_INVALID, "an argument has 1 to %zu bytes",
                           sizeof request->word - 1);
        if (request->verb == HOSTD_DIRECTORY && request->word[0] != '/')
            return err_set(err, ERR_INVALID, "'%.64s' does not begin with /", request->word);
        return true;
    case HOSTD_ASK_FACTS:
    case HOSTD_PING:
    case HOSTD_VERBS: break;
    }
    return true;
}

/* `text` is cut into words in place. */
static bool read_words(char *text, struct hostd_request *request, struct err *err)
{
    char *arguments[ARGUMENTS_MAX + 1] = {NULL}, *rest = text;
    size_t n = 0;
    const char *word = strsep(&rest, " ");
    while (rest != NULL && n < COUNT(arguments))
        arguments[n++] = strsep(&rest, " ");
    for (size_t i = 0; i < COUNT(verbs); i++) {
        if (!text_equal(verbs[i].word, word))
            continue;
        if (verbs[i].arguments != n)
            return err_set(err, ERR_INVALID, "%s takes %zu arguments", word, verbs[i].arguments);
        request->verb = (enum hostd_verb)i;
        return read_arguments(request, arguments, err);
    }
    return err_set(err, ERR_INVALID, "unknown request '%.64s'", word);
}

bool hostd_read_request(const char *secret, const char *helper_nonce, const char *line,
                        struct hostd_request *out_request, struct err *err)
{
    struct hostd_request request = {0};
    char mac[HOSTD_HEX_MAX], text[HOSTD_REQUEST_MAX];
    if (!take_hex(&line, request.client_nonce) || !take_hex(&line, mac))
        return err_set(err, ERR_FORBIDDEN, "not a request");
    struct hostd_message message = {HOSTD_ASKS, helper_nonce, request.client_nonce, line};
    if (!is_signed(secret, message, mac, err))
        return false;
    TEXT_SET(text, line);
    memcpy(out_request->client_nonce, request.client_nonce, HOSTD_HEX_MAX); /* to sign a refusal */
    if (!read_words(text, &request, err))
        return false;
    *out_request = request;
    return true;
}

bool hostd_write_answer(const char *secret, const char *helper_nonce, const char *client_nonce,
                        const char *text, char *out_line, struct err *err)
{
    char mac[HOSTD_HEX_MAX];
    struct hostd_message message = {HOSTD_ANSWERS, helper_nonce, client_nonce, text};
    if (!hostd_sign(secret, message, mac, err))
        return false;
    int n = snprintf(out_line, HOSTD_ANSWER_MAX, "%s %s", mac, text);
    if (n < 0 || n >= HOSTD_ANSWER_MAX)
        return err_set(err, ERR_LIMIT, "an answer has at most %d bytes", HOSTD_ANSWER_MAX - 1);
    return true;
}

bool hostd_read_answer(const char *secret, const char *helper_nonce, const char *client_nonce,
                       const char *line, char *out_text, struct err *err)
{
    char mac[HOSTD_HEX_MAX];
    if (text_equal(line, "no"))
        return err_set(err, ERR_FORBIDDEN, "the helper rejects the secret");
    if (!take_hex(&line, mac))
        return err_set(err, ERR_CORRUPT, "malformed answer");
    struct hostd_message message = {HOSTD_ANSWERS, helper_nonce, client_nonce, line};
    if (!is_signed(secret, message, mac, err))
        return false;
    (void)text_copy(out_text, HOSTD_ANSWER_MAX, line);
    return true;
}
