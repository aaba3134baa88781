/* read_transcript.c - see read_transcript.h. */
#include "tests/unit/read_transcript.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

enum { TRANSCRIPT_MAX = 64 * 1024 * 1024 };

static void add_escaped(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            buf_add(out, "\\n");
        else if (c < 0x20 || c >= 0x7f)
            buf_addf(out, "\\x%02x", c);
        else
            buf_add_bytes(out, text + i, 1);
    }
}

static void note_message(void *ctx, const struct evidence_message *message)
{
    static const char *const sides[SIDES] = {"?", "source", "target", "manager"};
    struct transcript *t = ctx;
    char time[CLOCK_TEXT_MAX] = "-";
    if (message->at_ms != 0)
        clock_format_wall(message->at_ms, time);
    assert(message->side < SIDES && message->origin != NULL);
    buf_addf(&t->text, "%s %s %s: ", sides[message->side], time, message->origin);
    add_escaped(&t->text, message->text, message->length);
    buf_add(&t->text, "\n");
    if (message->length > t->longest)
        t->longest = (unsigned)message->length;
}

static void note_fact(void *ctx, const struct evidence_fact *fact)
{
    struct transcript *t = ctx;
    buf_addf(&t->text, "fact %s=%s\n", fact->key, fact->value);
}

/* The sink lives as long as the transcript. */
struct session_of_test {
    struct transcript *transcript;
    struct evidence_sink sink;
};

static const struct evidence_sink *note_begin(void *ctx, const struct read_case *of)
{
    struct session_of_test *s = ctx;
    assert(s->transcript->open == 0);
    s->transcript->open++;
    buf_addf(&s->transcript->text, "begin %s (%s)\n", of->id, of->system);
    return &s->sink;
}

static void note_end(void *ctx)
{
    struct session_of_test *s = ctx;
    assert(s->transcript->open == 1);
    s->transcript->open--;
    buf_add(&s->transcript->text, "end\n");
}

static void note_problem(void *ctx, const struct err *problem)
{
    struct session_of_test *s = ctx;
    buf_addf(&s->transcript->text, "problem %s\n", problem->text);
}

static struct read_visitor prepare(struct session_of_test *s, struct transcript *t)
{
    *t = (struct transcript){0};
    buf_init(&t->text, TRANSCRIPT_MAX);
    buf_add(&t->text, "");
    *s = (struct session_of_test){.transcript = t,
                                  .sink = {.ctx = t, .message = note_message, .fact = note_fact}};
    return (struct read_visitor){
        .ctx = s, .begin = note_begin, .end = note_end, .problem = note_problem};
}

void transcript_of_path(const char *path, struct transcript *out_transcript)
{
    struct session_of_test s;
    struct read_visitor visitor = prepare(&s, out_transcript);
    out_transcript->is_fine =
        read_evidence_path(path, &visitor, &out_transcript->report, &out_transcript->err);
}

void transcript_of_bytes(const char *bytes, size_t n, const char *name,
                         struct transcript *out_transcript)
{
    struct session_of_test s;
    struct read_visitor visitor = prepare(&s, out_transcript);
    int fd = memfd_create("evidence", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    out_transcript->is_fine =
        read_evidence(fd, name, &visitor, &out_transcript->report, &out_transcript->err);
    (void)close(fd);
}

void transcript_fini(struct transcript *transcript)
{
    buf_fini(&transcript->text);
}
