/* read.c - see read.h. Detects the format and runs the reader. */
#include "analyzer/read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/read_folder.h"
#include "analyzer/read/read_session.h"
#include "base/own.h"

enum { TAR_MAGIC_AT = 257 };

static bool starts_with(const char *text, size_t n, const char *word, size_t length)
{
    return n >= length && memcmp(text, word, length) == 0;
}

static bool fail_packed(const struct input *in, const char *what, const char *advice,
                        struct err *err)
{
    return err_set(err, ERR_INVALID, "%s: %s is not read; try: %s", in->name, what, advice);
}

/* True when it is readable as it is. */
static bool check_magic(const struct input *in, struct err *err)
{
    const char *text = in->data + in->start;
    size_t n = in->end - in->start;
#define MAGIC(bytes, what, advice)                      \
    if (starts_with(text, n, bytes, sizeof(bytes) - 1)) \
        return fail_packed(in, what, advice, err);
#include "analyzer/read/read_format.def"
#undef MAGIC
    if (n > TAR_MAGIC_AT + 5 && memcmp(text + TAR_MAGIC_AT, "ustar", 5) == 0)
        return fail_packed(in, "tar", "tar -xf it and pass the folder", err);
    return true;
}

/* The first bytes that are not blank. */
static const char *first_word(const struct input *in, size_t *out_n)
{
    const char *at = in->data + in->start, *end = in->data + in->end;
    while (at < end && memchr(" \t\r\n", *at, 4) != NULL)
        at++;
    *out_n = (size_t)(end - at);
    return at;
}

/* "[2024-01-02 ..." and "{guest} said" are text. */
static bool is_json(const char *text, size_t n)
{
    if (n == 0 || (text[0] != '{' && text[0] != '['))
        return false;
    size_t i = 1;
    while (i < n && memchr(" \t\r\n", text[i], 4) != NULL)
        i++;
    return i < n && (text[0] == '{' ? strchr("\"}", text[i]) : strchr("{[\"]", text[i])) != NULL &&
           text[i] != '\0';
}

/* Objects in YAML begin with these. */
static bool is_yaml(const char *text, size_t n)
{
    bool begins = starts_with(text, n, "---", 3) || starts_with(text, n, "apiVersion:", 11) ||
                  starts_with(text, n, "kind:", 5) || starts_with(text, n, "items:", 6);
    size_t looked = n < 4096 ? n : 4096;
    return begins && (memmem(text, looked, "apiVersion:", 11) != NULL);
}

/* The first line is a record of a log: so is the file. */
static bool is_json_log(const char *text, size_t n)
{
    const char *end = memchr(text, '\n', n);
    struct err err = {0};
    struct log_json record;
    OWNED(json_object) object =
        json_parse(text, end == NULL ? n : (size_t)(end - text), "line", &err);
    return object != NULL && log_json_parse(object, &record);
}

static enum format detect(struct input *in)
{
    size_t n;
    if (starts_with(in->data + in->start, in->end - in->start, "\xEF\xBB\xBF", 3))
        in->start += 3;
    const char *text = first_word(in, &n);
    if (n == 0) /* text may follow after many blanks */
        return in->at_eof ? FORMAT_EMPTY : FORMAT_LOG;
    if (is_json(text, n)) {
        if (text[0] == '{' && is_json_log(text, n))
            return FORMAT_LOG;
        return values_are_lines(text, n) ? FORMAT_JSON_LINES : FORMAT_JSON;
    }
    return is_yaml(text, n) ? FORMAT_YAML : FORMAT_LOG;
}

bool session_open(struct session *s, const struct read_visitor *visitor, struct err *err)
{
    *s = (struct session){0};
    if (!read_out_init(&s->out, visitor, err))
        return false;
    s->pieces = pieces_new(&s->out, err);
    return s->pieces != NULL;
}

void session_close(struct session *s, struct read_report *out_report)
{
    read_out_fini(&s->out);
    pieces_free(s->pieces);
    *out_report = s->out.report;
}

bool session_input(struct session *s, struct input *in, enum format *out_format, struct err *err)
{
    struct json_reading reading = {.out = &s->out, .pieces = s->pieces, .name = in->name};
    struct values_taker taker = json_taker(&reading);
    if (!check_magic(in, err))
        return false;
    *out_format = detect(in);
    switch (*out_format) {
    case FORMAT_JSON: return values_read(in, false, &taker, err);
    case FORMAT_JSON_LINES: return values_read(in, true, &taker, err);
    case FORMAT_YAML: return yaml_objects_read(in, &reading, err);
    case FORMAT_EMPTY: return input_is_fine(in, err);
    case FORMAT_LOG: break;
    }
    return true;
}

void session_deliver(struct session *s, const char *name)
{
    for (size_t i = 0; i < pieces_documents(s->pieces); i++) {
        pieces_begin(s->pieces, i, name);
        read_out_end(&s->out);
    }
}

/* A log is a document. */
static bool read_log_document(struct session *s, struct input *in, struct err *err)
{
    struct log_taker taker = log_to_document(&s->out);
    read_out_begin(&s->out, in->name, system_from_words(in->data, in->end));
    bool is_fine = log_read(in, side_of_path(in->name), &taker, err);
    read_out_end(&s->out);
    return is_fine;
}

bool session_check(const struct session *s, const char *name, struct err *err)
{
    const struct read_report *report = &s->out.report;
    if (report->documents > 0)
        return true;
    if (report->problems == 0)
        return err_set(err, ERR_INVALID, "%s: it contains nothing about a migration", name);
    *err = s->out.first_problem;
    if (report->problems > 1)
        err_wrap(err, "nothing could be read (%u problems), the first", report->problems);
    return false;
}

static bool read_input(struct session *s, struct input *in, struct err *err)
{
    enum format format;
    bool is_fine = session_input(s, in, &format, err);
    if (is_fine && format == FORMAT_LOG)
        return read_log_document(s, in, err);
    session_deliver(s, in->name);
    return is_fine && session_check(s, in->name, err);
}

bool read_evidence(int fd, const char *name, const struct read_visitor *visitor,
                   struct read_report *out_report, struct err *err)
{
    struct session s;
    struct input in = {0};
    bool is_fine = session_open(&s, visitor, err) && input_open(&in, fd, name, &s.out, err);
    s.out.report.files = 1;
    is_fine = is_fine && read_input(&s, &in, err);
    input_close(&in);
    session_close(&s, out_report);
    return is_fine;
}

/* An endless device such as /dev/zero is none. A terminal and /dev/null are. */
static bool is_finite(int fd, struct err *err)
{
    struct stat about, null;
    if (fstat(fd, &about) != 0 || !S_ISCHR(about.st_mode) || isatty(fd) == 1 ||
        (stat("/dev/null", &null) == 0 && null.st_rdev == about.st_rdev))
        return true;
    return err_set(err, ERR_INVALID, "stdin: a device");
}

/* The shell's <(COMMAND): it has a writer. A named one may never get one. */
static bool is_unnamed_pipe(int fd, const struct stat *about)
{
    char link[32], target[16];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = S_ISFIFO(about->st_mode) ? readlink(link, target, sizeof target - 1) : -1;
    if (n < 0)
        return false;
    target[n] = '\0';
    return strncmp(target, "pipe:", 5) == 0 && fcntl(fd, F_SETFL, 0) == 0;
}

bool read_evidence_path(const char *path, const struct read_visitor *visitor,
                        struct read_report *out_report, struct err *err)
{
    *out_report = (struct read_report){0};
    struct stat about;
    if (strcmp(path, "-") == 0)
        return is_finite(STDIN_FILENO, err) &&
               read_evidence(STDIN_FILENO, "stdin", visitor, out_report, err);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0) {
        int error = errno;
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, error == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path,
                       strerror(error));
    }
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode) && !is_unnamed_pipe(fd, &about)) {
        (void)close(fd);
        return err_set(err, ERR_INVALID,
                       "%s: not a regular file; give a stream by: ferry explain --file - < FILE",
                       path);
    }
    bool is_fine = S_ISDIR(about.st_mode) ? folder_read(fd, path, visitor, out_report, err)
                                          : read_evidence(fd, path, visitor, out_report, err);
    (void)close(fd);
    return is_fine;
}
