/* read_input.c - see read_input.h. */
#include "analyzer/read/read_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRESS_STEP = 4 * 1024 * 1024 };

bool input_open(struct input *in, int fd, const char *name, struct read_out *out, struct err *err)
{
    *in = (struct input){.fd = fd, .name = name, .out = out};
    in->data = malloc(INPUT_CAPACITY + 1);
    if (in->data == NULL)
        return err_set(err, ERR_NOMEM, "%s: no memory to read it", name);
    while (in->end < INPUT_PEEK && input_fill(in))
        ;
    return true;
}

void input_close(struct input *in)
{
    free(in->data);
    in->data = NULL;
}

static void count_bytes(struct input *in, size_t n)
{
    struct read_report *report = &in->out->report;
    const struct read_visitor *visitor = in->out->visitor;
    bool is_step = report->bytes / PROGRESS_STEP != (report->bytes + n) / PROGRESS_STEP;
    report->bytes += n;
    if (is_step && visitor->progress != NULL)
        visitor->progress(visitor->ctx, report->bytes);
}

bool input_fill(struct input *in)
{
    if (in->start > 0 && in->end == INPUT_CAPACITY) {
        memmove(in->data, in->data + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    size_t room = INPUT_CAPACITY - in->end;
    if (in->at_eof || room == 0)
        return false;
    ssize_t n;
    do
        n = read(in->fd, in->data + in->end, room < INPUT_PEEK ? room : INPUT_PEEK);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        in->at_eof = true;
        in->error = n < 0 ? errno : 0;
        return false;
    }
    in->end += (size_t)n;
    count_bytes(in, (size_t)n);
    return true;
}

/* The line fills the buffer: keeps its first and its latest bytes, so that a line of any length
 * fits the same memory. */
static void drop_middle(struct input *in)
{
    size_t n = in->end - in->start;
    in->end = read_cut(in->data + in->start, n, in->data, EVIDENCE_TEXT_MAX);
    in->start = 0;
}

static void give_line(struct input *in, size_t length, size_t used, bool is_cut,
                      struct line *out_line)
{
    const char *text = in->data + in->start;
    in->start += used;
    in->line++;
    in->out->report.cut += is_cut;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    *out_line = (struct line){.text = text, .length = length, .number = in->line, .cut = is_cut};
}

bool input_line(struct input *in, struct line *out_line)
{
    bool is_cut = false;
    size_t looked = 0; /* no byte is scanned twice */
    for (;;) {
        size_t there = in->end - in->start;
        const char *line = in->data + in->start;
        const char *end = memchr(line + looked, '\n', there - looked);
        if (end != NULL) {
            size_t length = (size_t)(end - line);
            give_line(in, length, length + 1, is_cut, out_line);
            return true;
        }
        looked = there;
        if (input_fill(in))
            continue;
        if (in->at_eof)
            break;
        drop_middle(in);
        is_cut = true;
        looked = in->end;
    }
    if (in->end == in->start)
        return false;
    give_line(in, in->end - in->start, in->end - in->start, is_cut, out_line);
    return true;
}

bool input_is_fine(const struct input *in, struct err *err)
{
    return in->error == 0 || err_set(err, ERR_IO, "%s: %s", in->name, strerror(in->error));
}
