/* read_line.c - see read_line.h.
 *
 * A line is parsed from the left: a time, then the known prefixes. What is not recognised stays
 * part of the message, so nothing is lost.
 */
#include "analyzer/read/read_line.h"

#include <string.h>
#include <strings.h>

#include "analyzer/read/read_time.h"
#include "base/own.h"
#include "base/text.h"

struct cut {
    const char *at, *end;
};

static bool starts_with(const struct cut *c, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(c->end - c->at) >= n && memcmp(c->at, word, n) == 0;
}

static bool take(struct cut *c, const char *word)
{
    if (!starts_with(c, word))
        return false;
    c->at += strlen(word);
    return true;
}

static void take_blanks(struct cut *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

static bool take_digits(struct cut *c)
{
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > start;
}

static enum level level_from(const char *word, size_t n)
{
    static const struct {
        const char *word;
        enum level level;
    } words[] = {
        {"error", LEVEL_ERROR},  {"err", LEVEL_ERROR},       {"critical", LEVEL_ERROR},
        {"fatal", LEVEL_ERROR},  {"panic", LEVEL_ERROR},     {"trace", LEVEL_ERROR},
        {"severe", LEVEL_ERROR}, {"warning", LEVEL_WARNING}, {"warn", LEVEL_WARNING},
        {"info", LEVEL_INFO},    {"notice", LEVEL_INFO},     {"debug", LEVEL_DEBUG},
    };
    for (size_t i = 0; i < COUNT(words); i++)
        if (strlen(words[i].word) == n && strncasecmp(words[i].word, word, n) == 0)
            return words[i].level;
    return LEVEL_UNKNOWN;
}

/* A word that is a level, and the colon and the blanks behind it. */
static bool take_level(struct cut *c, struct log_line *line)
{
    const char *at = c->at;
    while (at < c->end && ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'))
        at++;
    enum level level = level_from(c->at, (size_t)(at - c->at));
    if (level == LEVEL_UNKNOWN || at == c->end || (*at != ' ' && *at != ':'))
        return false;
    line->level = level;
    c->at = at + (*at == ':');
    take_blanks(c);
    return true;
}

/* libvirt's own: ": 1234: error : virNetSocketReadWire:1831 : End of file while reading data", and
 * ": shutting down, reason=failed" of a domain's log. */
static bool take_libvirt(struct cut *c, struct log_line *line)
{
    if (!take(c, ": "))
        return false;
    struct cut ahead = *c;
    if (!take_digits(&ahead) || !take(&ahead, ": ") || !take_level(&ahead, line) ||
        !take(&ahead, ": "))
        return true; /* a domain's log: the message begins here */
    *c = ahead;
    const char *place = memmem(c->at, (size_t)(c->end - c->at), " : ", 3);
    size_t n = place == NULL ? 0 : (size_t)(place - c->at);
    if (n > 0 && memchr(c->at, ' ', n) == NULL && memchr(c->at, ':', n) != NULL) {
        line->logger = c->at;
        line->logger_length = n;
        c->at = place + 3;
    }
    return true;
}

/* A pair of brackets at the front, and the blanks behind it. */
static bool take_brackets(struct cut *c, char open, char close, struct cut *out_inside)
{
    const char *end = NULL;
    if (c->at < c->end && *c->at == open)
        end = memchr(c->at, close, (size_t)(c->end - c->at));
    if (end == NULL)
        return false;
    *out_inside = (struct cut){c->at + 1, end};
    c->at = end + 1;
    if (c->at < c->end && *c->at == ' ')
        c->at++;
    return true;
}

/* OpenStack's: " 7 ERROR nova.virt.libvirt.driver [req-... - - - -] [instance: ...] text" */
static bool take_oslo(struct cut *c, struct log_line *line)
{
    struct cut ahead = *c, inside;
    take_blanks(&ahead);
    if (!take_digits(&ahead) || !take(&ahead, " ") || !take_level(&ahead, line))
        return false;
    const char *blank = memchr(ahead.at, ' ', (size_t)(ahead.end - ahead.at));
    size_t n = (size_t)((blank == NULL ? ahead.end : blank) - ahead.at);
    if (memchr(ahead.at, '.', n) == NULL && memchr(ahead.at, '_', n) == NULL && blank == NULL)
        return false;
    line->logger = ahead.at;
    line->logger_length = n;
    ahead.at += n + (blank != NULL);
    while (starts_with(&ahead, "[req-") || starts_with(&ahead, "[-]") ||
           starts_with(&ahead, "[None ") || starts_with(&ahead, "[instance: "))
        if (!take_brackets(&ahead, '[', ']', &inside))
            break;
    *c = ahead;
    return true;
}

/* " E0102 ...   12345 file.go:123] text": what follows the time of klog. */
static bool take_klog(struct cut *c, struct log_line *line, char letter)
{
    struct cut ahead = *c;
    take_blanks(&ahead);
    if (!take_digits(&ahead) || !take(&ahead, " "))
        return false;
    const char *end = memchr(ahead.at, ']', (size_t)(ahead.end - ahead.at));
    if (end == NULL || end + 1 >= ahead.end || end[1] != ' ')
        return false;
    line->logger = ahead.at;
    line->logger_length = (size_t)(end - ahead.at);
    line->level = letter == 'I' ? LEVEL_INFO : letter == 'W' ? LEVEL_WARNING : LEVEL_ERROR;
    c->at = end + 2;
    return true;
}

/* " host program[123]: text" of syslog and the journal. */
static bool take_syslog(struct cut *c, struct log_line *line)
{
    enum { NAME_MAX_BYTES = 80 };
    struct cut ahead = *c;
    take_blanks(&ahead);
    size_t left = (size_t)(ahead.end - ahead.at);
    const char *host_end = memchr(ahead.at, ' ', left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES);
    if (host_end == NULL || host_end == ahead.at || host_end[-1] == ':')
        return false;
    ahead.at = host_end + 1;
    const char *program = ahead.at;
    while (ahead.at < ahead.end && ahead.at - program < NAME_MAX_BYTES &&
           memchr(" [:", *ahead.at, 3) == NULL)
        ahead.at++;
    size_t n = (size_t)(ahead.at - program);
    struct cut inside;
    bool has_pid =
        take_brackets(&ahead, '[', ']', &inside) && take_digits(&inside) && inside.at == inside.end;
    bool is_kernel = n == 6 && memcmp(program, "kernel", n) == 0;
    if (n == 0 || !(has_pid || is_kernel) || !take(&ahead, ": "))
        return false;
    line->logger = program;
    line->logger_length = n;
    *c = ahead;
    return true;
}

/* Proxmox marks the other node's output: " [pve2] kvm: ..." */
static void take_node(struct cut *c, struct log_line *line)
{
    struct cut ahead = *c, inside;
    if (!take_brackets(&ahead, '[', ']', &inside) || inside.at == inside.end)
        return;
    for (const char *at = inside.at; at < inside.end; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '-'))
            return;
    line->side = SIDE_TARGET;
    *c = ahead;
}

/* vdsm and log4j: "ERROR (migsrc/4e8d9f3c) [virt.vm] (vmId='...') text". */
static void take_threads(struct cut *c, struct log_line *line)
{
    struct cut inside;
    if (starts_with(c, "(migsrc/") || starts_with(c, "(migmon/"))
        line->side = SIDE_SOURCE;
    if (*c->at == '(' && take_brackets(c, '(', ')', &inside))
        take_blanks(c);
    if (c->at < c->end && *c->at == '[' && take_brackets(c, '[', ']', &inside)) {
        line->logger = inside.at;
        line->logger_length = (size_t)(inside.end - inside.at);
        take_blanks(c);
    }
    if (starts_with(c, "(vmId=") || (c->at < c->end && *c->at == '(' && line->logger_length > 0))
        (void)take_brackets(c, '(', ')', &inside);
}

/* The prefix between time and message. */
static void take_prefix(struct cut *c, struct log_line *line, char letter)
{
    if (line->at_ms == 0 && take_klog(c, line, letter))
        return;
    if (take_libvirt(c, line) || take_oslo(c, line) || take_syslog(c, line))
        return;
    if (c->at < c->end && memchr(":,;", *c->at, 3) != NULL)
        c->at++;
    take_blanks(c);
    (void)(take(c, "stderr F ") || take(c, "stdout F ") || take(c, "stderr P ") ||
           take(c, "stdout P "));
    if (take_level(c, line)) {
        if (c->at < c->end)
            take_threads(c, line);
        return;
    }
    take_node(c, line);
}

static void parse(struct cut *c, struct log_line *line)
{
    int64_t at_ms = 0;
    size_t used = read_time(c->at, (size_t)(c->end - c->at), &at_ms);
    char letter = c->at < c->end ? *c->at : '\0';
    if (used == 0) {
        struct cut ahead = *c;
        if (take(&ahead, "error: ") || take(&ahead, "TASK ERROR: "))
            line->level = LEVEL_ERROR;
        return;
    }
    c->at += used;
    line->has_time = true;
    if (at_ms != 0)
        line->at_ms = at_ms;
    take_prefix(c, line, letter);
}

void log_line_parse(const char *text, size_t n, struct log_line *out_line)
{
    struct cut c = {text, text + n};
    *out_line = (struct log_line){.logger = ""};
    parse(&c, out_line);
    /* The message of a pod's or the journal's line is a log line again. */
    if (out_line->has_time && c.at < c.end)
        parse(&c, out_line);
    out_line->text = c.at;
    out_line->length = (size_t)(c.end - c.at);
    out_line->is_json = c.at < c.end && *c.at == '{' && c.end[-1] == '}';
}

bool log_line_is_continued(const char *line, size_t n)
{
    struct cut c = {line, line + n};
    return n > 0 && (*line == ' ' || *line == '\t' || starts_with(&c, "Caused by: "));
}

static const char *first_text(struct json_object *object, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct json_object *member = NULL;
        if (json_object_object_get_ex(object, keys[i], &member) &&
            json_object_is_type(member, json_type_string))
            return json_object_get_string(member);
    }
    return "";
}
#define FIRST_TEXT(object, ...)                            \
    first_text(object, (const char *const[]){__VA_ARGS__}, \
               COUNT(((const char *const[]){__VA_ARGS__})))

/* The journal has microseconds as text. */
static int64_t time_of_record(struct json_object *object)
{
    int64_t us;
    const char *text = FIRST_TEXT(object, "__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP");
    if (text_to_i64(text, 0, INT64_MAX, &us))
        return us / 1000;
    return read_time_of(FIRST_TEXT(object, "timestamp", "time", "ts", "@timestamp", "datetime"));
}

bool log_json_parse(struct json_object *object, struct log_json *out_record)
{
    if (!json_object_is_type(object, json_type_object))
        return false;
    struct log_json record = {
        .message = FIRST_TEXT(object, "msg", "message", "MESSAGE", "log"),
        .reason = FIRST_TEXT(object, "reason", "error", "err", "exception", "stack_trace"),
        .component = FIRST_TEXT(object, "component", "logger", "SYSLOG_IDENTIFIER", "name"),
        .name = FIRST_TEXT(object, "name"),
        .ns = FIRST_TEXT(object, "namespace"),
        .uid = FIRST_TEXT(object, "uid"),
    };
    const char *level = FIRST_TEXT(object, "level", "severity", "levelname", "lvl");
    record.level = level_from(level, strlen(level));
    record.at_ms = time_of_record(object);
    bool has_kind = json_object_object_get_ex(object, "apiVersion", NULL) ||
                    json_object_object_get_ex(object, "messages", NULL) ||
                    json_object_object_get_ex(object, "facts", NULL);
    bool is_record = level[0] != '\0' || record.component[0] != '\0' || record.at_ms != 0;
    if (record.message[0] == '\0' || has_kind || !is_record)
        return false;
    *out_record = record;
    return true;
}

static bool is_word_end(char c)
{
    return !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

enum side side_of_path(const char *name)
{
    static const struct {
        const char *word;
        enum side side;
    } words[] = {
        {"source", SIDE_SOURCE},        {"src", SIDE_SOURCE},
        {"target", SIDE_TARGET},        {"destination", SIDE_TARGET},
        {"dest", SIDE_TARGET},          {"dst", SIDE_TARGET},
        {"virt-handler", SIDE_MANAGER}, {"virt-controller", SIDE_MANAGER},
        {"virt-api", SIDE_MANAGER},
    };
    for (const char *at = name; *at != '\0'; at++) {
        if (at > name && !is_word_end(at[-1]))
            continue;
        for (size_t i = 0; i < COUNT(words); i++) {
            size_t n = strlen(words[i].word);
            if (strncasecmp(at, words[i].word, n) == 0 && is_word_end(at[n]))
                return words[i].side;
        }
    }
    return SIDE_UNKNOWN;
}

const char *system_from_words(const char *text, size_t n)
{
    static const struct {
        const char *word, *system;
    } rows[] = {
#define WORDS(word, system) {word, system},
#include "analyzer/read/read_system.def"
#undef WORDS
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (memmem(text, n, rows[i].word, strlen(rows[i].word)) != NULL)
            return rows[i].system;
    return "";
}
