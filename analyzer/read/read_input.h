/* read_input.h - a descriptor as bytes and lines, through one buffer of fixed size. */
#ifndef ANALYZER_READ_READ_INPUT_H
#define ANALYZER_READ_READ_INPUT_H

#include "analyzer/read/read_out.h"

enum {
    INPUT_PEEK = 64 * 1024, /* bytes that decide the format */
    INPUT_CAPACITY = READ_LINE_MAX + INPUT_PEEK,
};

struct input {
    int fd;
    const char *name;
    struct read_out *out; /* bytes and cuts are counted there */
    char *data;           /* INPUT_CAPACITY + 1 */
    size_t start, end;    /* bytes that are not consumed yet */
    uint64_t line;        /* lines that were consumed by input_line */
    bool at_eof;
    int error; /* errno of a failed read */
};

struct line {
    const char *text; /* without the line's end; valid until the next call; may hold any byte */
    size_t length;
    uint64_t number; /* from 1 */
    bool cut;        /* it was longer than READ_LINE_MAX */
};

/* Borrows descriptor, name and out, and reads the first INPUT_PEEK bytes. False: no memory. */
bool input_open(struct input *in, int fd, const char *name, struct read_out *out, struct err *err);
void input_close(struct input *in); /* the descriptor stays open */

/* Reads more into the buffer; false at the end or when it is full. */
bool input_fill(struct input *in);
bool input_line(struct input *in, struct line *out_line);
/* True when no read failed; to be called at the end. */
bool input_is_fine(const struct input *in, struct err *err);

#endif
