/* qemu_log.c - see qemu_log.h. */
#include "collector/qemu_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- time ---- */

/* n digits at *at, and moves past them; -1 when they are not there. */
static int digits(const char **at, const char *end, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++, (*at)++) {
        if (*at >= end || !isdigit((unsigned char)**at))
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool skip(const char **at, const char *end, const char *any_of)
{
    if (*at >= end || **at == '\0' || strchr(any_of, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

/* ".123" or ".123456" or nothing, in ms. */
static int fraction_ms(const char **at, const char *end)
{
    int ms = 0, weight = 100;
    if (!skip(at, end, ".,"))
        return 0;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++, weight /= 10)
        ms += (**at - '0') * weight;
    return ms;
}

/* "Z", "+0000", "-05:30" or nothing, in minutes east. */
static int zone_minutes(const char **at, const char *end)
{
    if (*at >= end || (**at != '+' && **at != '-'))
        return 0;
    int sign = *(*at)++ == '-' ? -1 : 1;
    int hours = digits(at, end, 2);
    (void)skip(at, end, ":");
    int minutes = digits(at, end, 2);
    return hours < 0 || minutes < 0 ? 0 : sign * (hours * 60 + minutes);
}

int64_t qemu_log_time(const char *line, size_t length)
{
    const char *at = line, *end = line + length;
    struct tm tm = {0};
    tm.tm_year = digits(&at, end, 4) - 1900;
    bool ok = tm.tm_year >= 70 && skip(&at, end, "-");
    tm.tm_mon = ok ? digits(&at, end, 2) - 1 : -1;
    ok = tm.tm_mon >= 0 && tm.tm_mon < 12 && skip(&at, end, "-");
    tm.tm_mday = ok ? digits(&at, end, 2) : -1;
    ok = tm.tm_mday >= 1 && tm.tm_mday <= 31 && skip(&at, end, "T ");
    tm.tm_hour = ok ? digits(&at, end, 2) : -1;
    ok = tm.tm_hour >= 0 && skip(&at, end, ":");
    tm.tm_min = ok ? digits(&at, end, 2) : -1;
    ok = tm.tm_min >= 0 && skip(&at, end, ":");
    tm.tm_sec = ok ? digits(&at, end, 2) : -1;
    if (tm.tm_sec < 0)
        return 0;
    int ms = fraction_ms(&at, end);
    int minutes = zone_minutes(&at, end);
    return ((int64_t)timegm(&tm) - (int64_t)minutes * 60) * 1000 + ms;
}

/* ---- lines ---- */

struct line {
    const char *text;
    size_t length;
    int64_t at_ms;
};

static bool holds(const struct line *line, const char *words)
{
    return memmem(line->text, line->length, words, strlen(words)) != NULL;
}

static bool goes_on(const struct line *line)
{
    return line->length >= 2 && memcmp(line->text + line->length - 2, " \\", 2) == 0;
}

/* Walks over the lines; those of interest go into a ring, which keeps the newest. */
struct walk {
    struct line ring[QEMU_LOG_LINES_MAX];
    size_t n;
    int64_t at_ms;   /* of the newest line that had a time */
    bool in_command; /* libvirt's, several lines long */
};

static void take_line(struct walk *walk, const struct line *line, int64_t since_ms)
{
    int64_t at_ms = qemu_log_time(line->text, line->length);
    if (at_ms != 0) {
        walk->at_ms = at_ms;
        walk->in_command = false;
    }
    bool is_command = walk->in_command || goes_on(line);
    if (is_command)
        walk->in_command = goes_on(line);
    if (holds(line, "starting up libvirt version")) {
        walk->n = 0; /* the lines above are from an earlier QEMU process */
        return;
    }
    if (is_command || line->length == 0 || walk->at_ms < since_ms)
        return;
    struct line *kept = &walk->ring[walk->n++ % QEMU_LOG_LINES_MAX];
    *kept = *line;
    kept->at_ms = walk->at_ms;
}

void qemu_log_lines(const char *text, size_t n, bool whole, int64_t since_ms, qemu_log_fn *fn,
                    void *ctx)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL)
        return; /* treated as no log */
    const char *at = text, *end = text + n;
    for (bool cut = !whole; at < end; cut = false) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        struct line line = {at, (size_t)(stop - at), 0};
        while (line.length > 0 && (line.text[line.length - 1] == '\r'))
            line.length--;
        if (!cut)
            take_line(walk, &line, since_ms);
        at = newline != NULL ? newline + 1 : end;
    }
    size_t first = walk->n > QEMU_LOG_LINES_MAX ? walk->n - QEMU_LOG_LINES_MAX : 0;
    for (size_t i = first; i < walk->n; i++) {
        const struct line *line = &walk->ring[i % QEMU_LOG_LINES_MAX];
        fn(ctx, line->text, line->length, line->at_ms);
    }
    free(walk);
}

/* ---- the file ---- */

/* Refuses links, names with a path, and pipes, which would block. */
static int open_log(const char *dir, const char *guest, off_t *out_bytes, struct err *err)
{
    char name[NAME_MAX + 1];
    struct stat is;
    if (guest[0] == '\0' || guest[0] == '.' || strchr(guest, '/') != NULL ||
        (size_t)snprintf(name, sizeof name, "%s.log", guest) >= sizeof name) {
        (void)err_set(err, ERR_INVALID, "'%s' is not a file name", guest);
        return -1;
    }
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
    if (dir_fd >= 0)
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        (void)err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s/%s: %s", dir, name,
                      strerror(errno));
    if (dir_fd >= 0)
        (void)close(dir_fd);
    if (fd < 0)
        return -1;
    if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode)) {
        *out_bytes = is.st_size;
        return fd;
    }
    (void)close(fd);
    (void)err_set(err, ERR_INVALID, "%s/%s is not a regular file", dir, name);
    return -1;
}

/* Bytes read into text (QEMU_LOG_TAIL_MAX), -1 when it cannot be read. */
static ssize_t read_from(int fd, off_t from, char *text)
{
    size_t n = 0;
    while (n < QEMU_LOG_TAIL_MAX) {
        ssize_t got = pread(fd, text + n, QEMU_LOG_TAIL_MAX - n, from + (off_t)n);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    for (char *zero; (zero = memchr(text, '\0', n)) != NULL;)
        *zero = ' '; /* text ends at a zero byte */
    return (ssize_t)n;
}

bool qemu_log_tail(const char *dir, const char *guest, int64_t since_ms, qemu_log_fn *fn, void *ctx,
                   struct err *err)
{
    off_t bytes = 0;
    OWNED_TEXT text = malloc(QEMU_LOG_TAIL_MAX);
    if (text == NULL)
        return err_set(err, ERR_NOMEM, "a log's tail");
    int fd = open_log(dir, guest, &bytes, err);
    if (fd < 0)
        return false;
    off_t from = bytes > QEMU_LOG_TAIL_MAX ? bytes - QEMU_LOG_TAIL_MAX : 0;
    ssize_t n = read_from(fd, from, text);
    if (n < 0)
        (void)err_set(err, ERR_IO, "%s/%s.log: %s", dir, guest, strerror(errno));
    (void)close(fd);
    if (n >= 0)
        qemu_log_lines(text, (size_t)n, from == 0, since_ms, fn, ctx);
    return n >= 0;
}
