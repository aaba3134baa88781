/* read_log.c - see read_log.h. */
#include "analyzer/read/read_log.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

/* Where in a traceback the record is. */
enum trace { TRACE_NONE, TRACE_FRAMES, TRACE_RAISED };

struct log {
    const struct input *in;
    const struct log_taker *taker;
    enum side file_side, run_side; /* run: since QEMU was started, if it is its log */
    bool is_open;
    char origin[EVIDENCE_ORIGIN_MAX]; /* "name:", and the number of the record's first line */
    size_t origin_name;               /* bytes of "name:" */
    char *text;                       /* LOG_RECORD_MAX; the record so far */
    size_t length;
    unsigned lines;
    uint64_t first_line;
    struct log_line head; /* of its first line; text is not valid */
    char logger[LOG_NAME_MAX];
    char ns[LOG_NAME_MAX], name[LOG_NAME_MAX], uid[LOG_NAME_MAX];
    enum trace trace;
    bool is_escaped; /* its last line ended in a backslash */
};

enum { NUMBER_MAX = 20 }; /* digits of a number of 64 bits */

/* For every line of a log: printf would take a tenth of all the time. */
static void set_origin(struct log *log, uint64_t line)
{
    char digits[NUMBER_MAX];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + line % 10);
    while ((line /= 10) > 0);
    memcpy(log->origin + log->origin_name, digits + n, sizeof digits - n);
    log->origin[log->origin_name + sizeof digits - n] = '\0';
}

static void flush(struct log *log)
{
    if (!log->is_open)
        return;
    log->is_open = false;
    set_origin(log, log->first_line);
    struct evidence_message message = {
        .text = log->text,
        .length = log->length,
        .origin = log->origin,
        .side = log->head.side,
        .at_ms = log->head.at_ms,
    };
    struct log_about about = {
        .ns = log->ns, .name = log->name, .uid = log->uid, .level = log->head.level};
    log->taker->take(log->taker->ctx, &message, &about);
}

/* A full record loses its middle: the exception is at its end. */
static void append(struct log *log, const char *text, size_t n, const char *before)
{
    struct read_out *out = log->in->out;
    size_t between = log->length > 0 ? strlen(before) : 0;
    if (n > EVIDENCE_TEXT_MAX) {
        n = read_cut(text, n, out->scratch, EVIDENCE_TEXT_MAX);
        text = out->scratch;
        out->report.cut++;
    }
    if (log->length + between + n > LOG_RECORD_MAX) {
        log->length = read_cut(log->text, log->length, log->text, EVIDENCE_TEXT_MAX);
        out->report.cut++;
    }
    memcpy(log->text + log->length, before, between);
    memcpy(log->text + log->length + between, text, n);
    log->length += between + n;
    log->lines++;
}

static bool has(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* All that note_side() looks for contains "ing ": most lines are passed by with that. */
static bool has_ing(const char *text, size_t n)
{
    const char *at = text, *end = text + n;
    while ((at = memchr(at, 'g', (size_t)(end - at))) != NULL) {
        if (at - text >= 2 && end - at >= 2 && memcmp(at - 2, "ing ", 4) == 0)
            return true;
        at++;
    }
    return false;
}

static bool begins(const char *text, size_t n, const char *word)
{
    size_t length = strlen(word);
    return n >= length && memcmp(text, word, length) == 0;
}

/* QEMU's own log shows its arguments and the start of an outgoing migration. */
static void note_side(struct log *log, const struct line *line)
{
    if (!has_ing(line->text, line->length))
        return;
    if (has(line->text, line->length, ": starting up libvirt version"))
        log->run_side = SIDE_UNKNOWN;
    else if (begins(line->text, line->length, "-incoming ") ||
             has(line->text, line->length, " -incoming "))
        log->run_side = SIDE_TARGET;
    else if (has(line->text, line->length, ": initiating migration"))
        log->run_side = SIDE_SOURCE;
}

static void note_trace(struct log *log, const char *text, size_t n)
{
    if (begins(text, n, "Traceback (most recent call last)"))
        log->trace = TRACE_FRAMES;
    else if (log->trace == TRACE_FRAMES && n > 0 && *text != ' ' && *text != '\t')
        log->trace = TRACE_RAISED;
}

/* Whether a line without a time continues the record. */
static bool goes_on(const struct log *log, const char *text, size_t n)
{
    if (log->is_escaped || log_line_is_continued(text, n) || log->trace == TRACE_FRAMES ||
        begins(text, n, "Traceback (most "))
        return true;
    return log->trace == TRACE_RAISED && (n == 0 || begins(text, n, "During handling of the ") ||
                                          begins(text, n, "The above exception was "));
}

/* OpenStack writes time and logger before every line of a traceback. */
static bool is_same_record(const struct log *log, const struct log_line *line)
{
    bool is_trace =
        log->trace != TRACE_NONE || begins(line->text, line->length, "Traceback (most ");
    return is_trace && line->level == LEVEL_ERROR && line->logger_length > 0 &&
           line->logger_length < sizeof log->logger && line->at_ms == log->head.at_ms &&
           strlen(log->logger) == line->logger_length &&
           memcmp(log->logger, line->logger, line->logger_length) == 0;
}

static void open_record(struct log *log, const struct log_line *line, uint64_t number)
{
    flush(log);
    log->is_open = true;
    log->length = 0;
    log->lines = 0;
    log->first_line = number;
    log->head = *line;
    log->trace = TRACE_NONE;
    log->ns[0] = log->name[0] = log->uid[0] = '\0';
    if (log->head.side == SIDE_UNKNOWN)
        log->head.side = log->run_side != SIDE_UNKNOWN ? log->run_side : log->file_side;
    size_t n = line->logger_length;
    if (n >= sizeof log->logger)
        n = sizeof log->logger - 1;
    memcpy(log->logger, line->logger, n);
    log->logger[n] = '\0';
}

static enum side side_of_component(const char *component)
{
    return text_has_prefix(component, "virt-launcher") ? SIDE_UNKNOWN : side_of_path(component);
}

/* A structured record: its message may be a line of a log in turn. */
static bool add_json(struct log *log, const struct log_line *line, uint64_t number)
{
    struct err err = {0};
    OWNED(json_object) object = json_parse(line->text, line->length, "", &err);
    struct log_json record;
    if (object == NULL || !log_json_parse(object, &record))
        return false;
    struct log_line inner;
    log_line_parse(record.message, strlen(record.message), &inner);
    if (!inner.has_time)
        inner.text = record.message;
    size_t n = strlen(inner.text);
    if (record.at_ms != 0)
        inner.at_ms = record.at_ms;
    else if (inner.at_ms == 0)
        inner.at_ms = line->at_ms;
    bool is_qemu = begins(inner.text, n, "qemu-") || begins(inner.text, n, "kvm: ");
    if (record.level != LEVEL_UNKNOWN && !is_qemu) /* launchers log QEMU's messages as "info" */
        inner.level = record.level;
    if (inner.side == SIDE_UNKNOWN)
        inner.side = side_of_component(record.component);
    open_record(log, &inner, number);
    TEXT_SET(log->ns, record.ns);
    TEXT_SET(log->name, record.name);
    TEXT_SET(log->uid, record.uid);
    append(log, inner.text, n, "");
    if (record.reason[0] != '\0' && strstr(record.message, record.reason) == NULL)
        append(log, record.reason, strlen(record.reason), ": ");
    return true;
}

static void add_line(struct log *log, const struct line *raw)
{
    struct log_line line;
    note_side(log, raw);
    log_line_parse(raw->text, raw->length, &line);
    if (line.is_json && !raw->cut && add_json(log, &line, raw->number))
        return;
    bool may_join = log->is_open && log->lines < LOG_JOINED_MAX;
    bool joins = may_join && (line.has_time ? is_same_record(log, &line)
                                            : goes_on(log, raw->text, raw->length));
    if (!joins)
        open_record(log, &line, raw->number);
    append(log, line.text, line.length, "\n");
    note_trace(log, line.text, line.length);
    log->is_escaped = raw->length > 0 && raw->text[raw->length - 1] == '\\';
}

bool log_read(struct input *in, enum side side, const struct log_taker *taker, struct err *err)
{
    OWNED_TEXT text = malloc(LOG_RECORD_MAX);
    if (text == NULL)
        return err_set(err, ERR_NOMEM, "%s: no memory to read it", in->name);
    struct log log = {.in = in, .taker = taker, .file_side = side, .text = text};
    (void)snprintf(log.origin, sizeof log.origin, "%.*s:", EVIDENCE_ORIGIN_MAX - NUMBER_MAX - 4,
                   in->name);
    log.origin_name = strlen(log.origin);
    struct line line;
    while (input_line(in, &line))
        add_line(&log, &line);
    flush(&log);
    return input_is_fine(in, err);
}

static void give_to_document(void *ctx, const struct evidence_message *message,
                             const struct log_about *about)
{
    (void)about;
    read_out_message(ctx, message);
}

struct log_taker log_to_document(struct read_out *out)
{
    return (struct log_taker){.ctx = out, .take = give_to_document};
}
