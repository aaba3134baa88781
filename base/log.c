/* log.c - see log.h.
 *
 * A line is built in one buffer on the stack and written with one write(2) (long ones in pieces).
 * Nothing that comes from a host can break a line, forge a second one, or send escape codes to a
 * terminal: in both formats a value is printable UTF-8, everything else is escaped.
 */
#include "base/log.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

/* A value's escaped form is cut at VALUE_MAX. Fields are dropped when a full one might not fit. */
enum { LINE_BYTES = 16384, VALUE_MAX = 2048, FIELD_ROOM = VALUE_MAX + 64, REST_OF_LINE_MS = 100 };

static _Atomic enum log_level threshold = LOG_LEVEL_INFO;
static _Atomic enum log_format chosen_format = LOG_FORMAT_TEXT;
static int output = STDERR_FILENO;
static atomic_uint_fast64_t dropped; /* lines that were dropped */

static const char *const level_names[LOG_LEVEL_COUNT] = {"debug", "info", "warn", "error"};

static const char *const field_names[LOG_FIELD_IDS] = {
#define LOG_FIELD(id, name) [LOG_FIELD_##id] = name,
#include "base/log.def"
#undef LOG_FIELD
};

struct line {
    char bytes[LINE_BYTES];
    size_t length;
};

void log_setup(enum log_level level, enum log_format format, int fd)
{
    threshold = level;
    chosen_format = format;
    output = fd;
}

void log_set_level(enum log_level level)
{
    threshold = level;
}

bool log_level_from_name(const char *name, enum log_level *out_level)
{
    for (enum log_level level = 0; level < LOG_LEVEL_COUNT; level++) {
        if (text_equal(level_names[level], name)) {
            *out_level = level;
            return true;
        }
    }
    return false;
}

bool log_enabled(enum log_level level)
{
    return level >= threshold;
}

static void add(struct line *line, const char *text, size_t n)
{
    assert(n < sizeof line->bytes - line->length); /* FIELD_ROOM was checked */
    memcpy(line->bytes + line->length, text, n);
    line->length += n;
}

static void add_text(struct line *line, const char *text)
{
    add(line, text, strlen(text));
}

/* How one character is written; n is 0 when the character is fine as it is. */
struct escaped {
    char text[8];
    size_t n;
};

static struct escaped escape(const char *at, size_t bytes, enum log_format format)
{
    struct escaped out = {.n = 0};
    unsigned char c = (unsigned char)at[0];
    bool is_c1 = bytes == 2 && c == 0xC2 && (unsigned char)at[1] < 0xA0;
    int n = 0;
    if (c == '"' || c == '\\')
        n = snprintf(out.text, sizeof out.text, "\\%c", c);
    else if (c == '\n')
        n = snprintf(out.text, sizeof out.text, "\\n");
    else if (c == '\t')
        n = snprintf(out.text, sizeof out.text, "\\t");
    else if (format == LOG_FORMAT_JSON && bytes == 0)
        n = snprintf(out.text, sizeof out.text, "\\ufffd"); /* JSON cannot represent a byte */
    else if (bytes == 0)
        n = snprintf(out.text, sizeof out.text, "\\x%02x", c);
    else if (c < 0x20 || c == 0x7F || is_c1)
        n = snprintf(out.text, sizeof out.text, "\\u%04x", is_c1 ? (unsigned char)at[1] : c);
    out.n = (size_t)n;
    return out;
}

static void add_quoted(struct line *line, const char *text, enum log_format format)
{
    add(line, "\"", 1);
    size_t used = 0;
    while (*text != '\0') {
        size_t bytes = text_utf8_bytes(text);
        struct escaped escaped = escape(text, bytes, format);
        size_t n = escaped.n > 0 ? escaped.n : bytes;
        if (used + n > VALUE_MAX - 3) {
            add(line, "...", 3);
            break;
        }
        add(line, escaped.n > 0 ? escaped.text : text, n);
        used += n;
        text += bytes > 0 ? bytes : 1;
    }
    add(line, "\"", 1);
}

static bool is_plain_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_.:/@+,%()[]";
    size_t length = strlen(text);
    return length > 0 && length < VALUE_MAX && strspn(text, plain) == length;
}

static void add_number(struct line *line, int64_t number)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRId64, number);
    add_text(line, digits);
}

static void add_field(struct line *line, const struct log_field *field)
{
    assert(field->id < LOG_FIELD_IDS);
    const char *name = field_names[field->id];
    const char *text = field->text == NULL ? "" : field->text;
    bool is_json = chosen_format == LOG_FORMAT_JSON;

    add_text(line, is_json ? ",\"" : " ");
    add_text(line, name);
    add_text(line, is_json ? "\":" : "=");
    if (field->is_number)
        add_number(line, field->number);
    else if (!is_json && is_plain_word(text))
        add_text(line, text);
    else
        add_quoted(line, text, chosen_format);
}

/* "2026-11-16T05:07:39.123Z": the clock's text with milliseconds put in. */
static void add_time(struct line *line)
{
    char seconds[CLOCK_TEXT_MAX], millis[8];
    int64_t now_ms = clock_wall_ms(clock_system());
    clock_format_wall(now_ms, seconds);
    (void)snprintf(millis, sizeof millis, ".%03dZ", (int)(now_ms % 1000));
    add(line, seconds, strcspn(seconds, "Z"));
    add_text(line, millis);
}

/* ---- journald ---- */

/* NAME=value, on one line: what is not printable is escaped as in text. */
static void add_journal_value(struct line *line, const char *name, const char *text)
{
    struct line quoted;
    quoted.length = 0;
    add_quoted(&quoted, text, LOG_FORMAT_TEXT);
    add_text(line, name);
    add(line, quoted.bytes + 1, quoted.length - 2); /* without the quotes */
    add_text(line, "\n");
}

static void add_journal_field(struct line *line, const struct log_field *field)
{
    char name[48], digits[24];
    int n = snprintf(name, sizeof name, "FERRY_%s=", field_names[field->id]);
    for (int i = 0; i < n; i++)
        name[i] = (char)toupper((unsigned char)name[i]);
    (void)snprintf(digits, sizeof digits, "%" PRId64, field->number);
    add_journal_value(line, name,
                      field->is_number      ? digits
                      : field->text == NULL ? ""
                                            : field->text);
}

/* Fields first, as many as fit; then the same as one message for people, cut if need be. */
static void write_journal(enum log_level level, const char *event, const struct log_field *fields,
                          unsigned n)
{
    static const char *const priorities[LOG_LEVEL_COUNT] = {"PRIORITY=7\n", "PRIORITY=6\n",
                                                            "PRIORITY=4\n", "PRIORITY=3\n"};
    struct line entry, message;
    entry.length = message.length = 0;
    add_text(&entry, priorities[level]);
    add_text(&entry, "SYSLOG_IDENTIFIER=ferry\n");
    add_journal_value(&entry, "FERRY_EVENT=", event);
    add_text(&message, "MESSAGE=");
    add_text(&message, event);
    for (unsigned i = 0; i < n; i++) {
        if (sizeof entry.bytes - entry.length > FIELD_ROOM + sizeof entry.bytes / 2)
            add_journal_field(&entry, &fields[i]);
        if (sizeof message.bytes / 2 - message.length > FIELD_ROOM)
            add_field(&message, &fields[i]);
    }
    add_text(&message, "\n");
    add(&entry, message.bytes, message.length);
    if (send(output, entry.bytes, entry.length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        (void)atomic_fetch_add(&dropped, 1);
}

int log_open_journal(void)
{
    static const struct sockaddr_un address = {.sun_family = AF_UNIX,
                                               .sun_path = "/run/systemd/journal/socket"};
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat at;
    char ours[64];
    if (stream == NULL || fstat(STDERR_FILENO, &at) != 0)
        return -1;
    (void)snprintf(ours, sizeof ours, "%ju:%ju", (uintmax_t)at.st_dev, (uintmax_t)at.st_ino);
    if (!text_equal(ours, stream))
        return -1; /* somebody redirected it */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static void add_head(struct line *line, enum log_level level, const char *event)
{
    if (chosen_format == LOG_FORMAT_JSON) {
        add_text(line, "{\"time\":\"");
        add_time(line);
        add_text(line, "\",\"level\":\"");
        add_text(line, level_names[level]);
        add_text(line, "\",\"event\":");
        add_quoted(line, event, LOG_FORMAT_JSON);
        return;
    }
    add_time(line);
    add_text(line, " ");
    add_text(line, level_names[level]);
    add_text(line, " ");
    if (is_plain_word(event))
        add_text(line, event);
    else
        add_quoted(line, event, LOG_FORMAT_TEXT);
}

/* A reader that stopped (a pipe into a hung program) must not block the threads that log: when the
 * pipe is full the line is dropped and counted. A pipe with room takes PIPE_BUF whole. */
static bool has_room(int timeout_ms)
{
    struct pollfd at = {.fd = output, .events = POLLOUT};
    return poll(&at, 1, timeout_ms) > 0;
}

static bool write_all(const char *bytes, size_t n)
{
    for (bool first = true; n > 0; first = false) {
        if (!has_room(first ? 0 : REST_OF_LINE_MS))
            return !first; /* the beginning is written: the line is cut, not lost */
        ssize_t wrote = write(output, bytes, n < PIPE_BUF ? n : PIPE_BUF);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return true; /* no place left to report an error */
        bytes += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

static void write_line(const struct line *line)
{
    if (!write_all(line->bytes, line->length))
        (void)atomic_fetch_add(&dropped, 1);
}

static void write_event(enum log_level level, const char *event, const struct log_field *fields,
                        unsigned n)
{
    if (chosen_format == LOG_FORMAT_JOURNAL) {
        write_journal(level, event, fields, n);
        return;
    }
    struct line line;
    line.length = 0;
    add_head(&line, level, event);
    for (unsigned i = 0; i < n && sizeof line.bytes - line.length > FIELD_ROOM; i++)
        add_field(&line, &fields[i]);
    add_text(&line, chosen_format == LOG_FORMAT_JSON ? "}\n" : "\n");
    write_line(&line);
}

/* Once lines are taken again. If this one is not, it is counted for the next try. */
static void tell_losses(void)
{
    if (atomic_load(&dropped) == 0 || !has_room(0) || !log_enabled(LOG_LEVEL_WARN))
        return;
    int64_t lost = (int64_t)atomic_exchange(&dropped, 0);
    const struct log_field count = FIELD_I64(COUNT, lost);
    if (lost > 0) /* no other thread told it */
        write_event(LOG_LEVEL_WARN, "log_lines_dropped", &count, 1);
}

void log_line(enum log_level level, const char *event, const struct log_field *fields, unsigned n)
{
    assert(level < LOG_LEVEL_COUNT);
    if (!log_enabled(level))
        return;
    int saved = errno; /* a log line must not change the caller's errno */
    write_event(level, event, fields, n);
    tell_losses();
    errno = saved;
}
