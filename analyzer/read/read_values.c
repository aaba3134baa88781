/* read_values.c - see read_values.h.
 *
 * The scanner only finds where a value begins and ends: it counts brackets outside of texts. The
 * parser reads the inside and reports its errors.
 */
#include "analyzer/read/read_values.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"

enum { LIST_START_MAX = 64 * 1024, NEVER = INT_MAX / 2 };
enum {
    ITEMS_NONE,  /* values stand for themselves */
    ITEMS_ARRAY, /* elements of a top-level array */
    ITEMS_LIST   /* of a Kubernetes list */
};

struct scanner {
    struct input *in;
    const struct values_taker *taker;
    struct err *err;
    bool is_by_line;
    struct buf value; /* the value so far */
    bool is_inside, in_text, is_escaped, is_word;
    int depth; /* of brackets within the value */
    int list;  /* ITEMS_ */
    bool wants_comma;
    bool was_asked;   /* whether this object is a list */
    bool is_skipping; /* behind the items, up to the end of the list; or a line that is broken */
    char kind[64];    /* of the list */
    int line, column; /* of the next byte */
    int value_line, value_column;
};

static void forget_value(struct scanner *s)
{
    s->value.length = 0;
    s->is_inside = s->in_text = s->is_escaped = s->is_word = s->was_asked = false;
    s->depth = 0;
}

/* By line, a broken value is reported and its line skipped; otherwise reading ends. */
static bool fail_with(struct scanner *s, const struct err *err)
{
    if (!s->is_by_line) {
        *s->err = *err;
        return false;
    }
    read_out_problem(s->in->out, err);
    forget_value(s);
    s->is_skipping = true;
    s->depth = NEVER;
    return true;
}

static bool fail(struct scanner *s, int line, int column, const char *what)
{
    struct err err = {0};
    err_set(&err, ERR_INVALID, "%s: line %d column %d: %s", s->in->name, line, column, what);
    return fail_with(s, &err);
}

/* The value is complete, or the input has ended. */
static bool give_value(struct scanner *s)
{
    struct err err = {0};
    if (s->value.failed)
        return err_set(s->err, ERR_NOMEM, "%s: no memory for a value", s->in->name);
    if (s->list != ITEMS_NONE && strcmp(s->value.data, "null") == 0) {
        forget_value(s); /* an empty element */
        return true;
    }
    OWNED(json_object)
    object = json_parse_part(s->value.data, s->value.length, s->in->name, s->value_line,
                             s->value_column, &err);
    forget_value(s);
    if (object == NULL)
        return fail_with(s, &err);
    struct value value = {.object = object, .list_kind = s->kind, .line = s->value_line};
    s->taker->take(s->taker->ctx, &value);
    return true;
}

/* The members of the list before its items, as an object. */
static struct json_object *parse_start(const struct buf *value)
{
    struct err err = {0};
    struct buf whole;
    buf_init(&whole, LIST_START_MAX + 16);
    buf_add_bytes(&whole, value->data, value->length);
    buf_add(&whole, "0}");
    struct json_object *list =
        whole.failed ? NULL : json_parse(whole.data, whole.length, "list", &err);
    buf_fini(&whole);
    return list;
}

/* At '[': do the items of a Kubernetes list begin here? Checked once per object. */
static bool is_items(struct scanner *s)
{
    static const char key[] = "\"items\"";
    enum { KEY = sizeof key - 1 };
    size_t n = s->value.length;
    if (s->depth != 1 || s->list != ITEMS_NONE || s->was_asked || n > LIST_START_MAX)
        return false;
    while (n > 0 && memchr(" \t\r\n:", s->value.data[n - 1], 5) != NULL)
        n--;
    if (n < KEY || memcmp(s->value.data + n - KEY, key, KEY) != 0)
        return false;
    s->was_asked = true;
    struct err err = {0};
    OWNED(json_object) list = parse_start(&s->value);
    const char *kind = "";
    if (list == NULL || (json_at(list, "kind") == NULL && json_at(list, "apiVersion") == NULL))
        return false;
    if (json_get_text(list, "kind", "", &kind, &err))
        TEXT_SET(s->kind, kind);
    return true;
}

static void end_list(struct scanner *s)
{
    s->is_skipping = s->list == ITEMS_LIST;
    s->depth = s->is_skipping ? 1 : 0;
    s->list = ITEMS_NONE;
    s->kind[0] = '\0';
}

/* A byte outside of values. True with *out_begins when it is the first of one. */
static bool step_outside(struct scanner *s, char c, bool *out_begins)
{
    *out_begins = false;
    if (memchr(" \t\r\n", c, 4) != NULL)
        return true;
    if (s->list != ITEMS_NONE && c == ']') {
        end_list(s);
        return true;
    }
    if (s->list != ITEMS_NONE && c == ',' && s->wants_comma) {
        s->wants_comma = false;
        return true;
    }
    if (s->list != ITEMS_NONE && s->wants_comma)
        return fail(s, s->line, s->column, "expected ',' or ']'");
    if (s->list == ITEMS_NONE && c == '[') {
        s->list = ITEMS_ARRAY;
        s->wants_comma = false;
        return true;
    }
    *out_begins = true;
    s->value_line = s->line;
    s->value_column = s->column;
    s->is_word = strchr("{[\"", c) == NULL || c == '\0';
    s->wants_comma = true;
    return true;
}

/* Brackets and quotes of a byte; true when the value ends with it. */
static bool step_inside(struct scanner *s, char c)
{
    if (s->in_text) {
        if (s->is_escaped)
            s->is_escaped = false;
        else if (c == '\\')
            s->is_escaped = true;
        else if (c == '"')
            s->in_text = false;
        return !s->in_text && s->depth == 0;
    }
    if (c == '"')
        s->in_text = true;
    else if (c == '{' || c == '[')
        s->depth++;
    else if (c == '}' || c == ']')
        return --s->depth <= 0;
    return false;
}

/* After the items, and in a broken line: skips to the end. */
static void step_skipping(struct scanner *s, char c)
{
    if (step_inside(s, c)) {
        s->is_skipping = false;
        forget_value(s);
    }
}

/* By line, an incomplete value ends with its line. */
static bool step_line(struct scanner *s)
{
    bool is_fine = !s->is_inside || give_value(s);
    bool was_told = s->is_skipping && s->depth > NEVER / 2;
    if (is_fine && !was_told && (s->list != ITEMS_NONE || s->is_skipping))
        is_fine = fail(s, s->line, s->column, "the text ends too early");
    forget_value(s);
    s->list = ITEMS_NONE;
    s->is_skipping = false;
    s->kind[0] = '\0';
    return is_fine;
}

static void move_place(struct scanner *s, char c)
{
    if (c == '\n') {
        s->line += s->line < INT_MAX;
        s->column = 1;
    } else if (((unsigned char)c & 0xC0) != 0x80)
        s->column += s->column < INT_MAX;
}

/* One byte of a value. */
static bool step_value(struct scanner *s, char c)
{
    if (c == '[' && !s->in_text && is_items(s)) {
        forget_value(s);
        s->list = ITEMS_LIST;
        s->wants_comma = false;
        return true;
    }
    if (s->value.length >= READ_VALUE_MAX)
        return fail(s, s->value_line, s->value_column, "a value of more than 16 MiB");
    buf_add_bytes(&s->value, &c, 1);
    return s->is_word || !step_inside(s, c) || give_value(s);
}

/* A number or a word has no closing character. */
static bool ends_word(const struct scanner *s, char c)
{
    return s->is_word && s->value.length > 0 && memchr(" \t\r\n,]}", c, 7) != NULL;
}

static bool step(struct scanner *s, char c)
{
    if (c == '\n' && s->is_by_line && !step_line(s))
        return false;
    if (s->is_inside && ends_word(s, c) && !give_value(s))
        return false;
    if (s->is_skipping)
        step_skipping(s, c);
    else if (!s->is_inside && !step_outside(s, c, &s->is_inside))
        return false;
    else if (s->is_inside && !step_value(s, c))
        return false;
    move_place(s, c);
    return true;
}

/* Bytes from here on that belong to the value and do not change the state: copied at once. */
static size_t plain_run(const struct scanner *s, const char *text, size_t n)
{
    if (!s->is_inside || s->is_word || s->is_skipping || s->is_escaped)
        return 0;
    size_t room = READ_VALUE_MAX - s->value.length, i = 0;
    if (n > room)
        n = room;
    while (i < n &&
           !(s->in_text ? text[i] == '"' || text[i] == '\\' : strchr("\"{}[]", text[i]) != NULL) &&
           text[i] != '\n' && text[i] > 0)
        i++;
    return i;
}

static bool finish(struct scanner *s)
{
    if (!input_is_fine(s->in, s->err))
        return false;
    if (s->is_by_line)
        return step_line(s);
    if (s->is_inside && !give_value(s))
        return false;
    return (s->list == ITEMS_NONE && !s->is_skipping) ||
           fail(s, s->line, s->column, "the text ends too early");
}

bool values_read(struct input *in, bool is_by_line, const struct values_taker *taker,
                 struct err *err)
{
    struct scanner s = {
        .in = in, .taker = taker, .err = err, .is_by_line = is_by_line, .line = 1, .column = 1};
    buf_init(&s.value, READ_VALUE_MAX + 1);
    bool is_fine = true;
    do {
        while (is_fine && in->start < in->end) {
            size_t run = plain_run(&s, in->data + in->start, in->end - in->start);
            buf_add_bytes(&s.value, in->data + in->start, run);
            s.column = s.column < INT_MAX / 2 ? s.column + (int)run : s.column;
            in->start += run;
            if (in->start < in->end)
                is_fine = step(&s, in->data[in->start++]);
        }
        if (in->start == in->end)
            in->start = in->end = 0;
    } while (is_fine && input_fill(in));
    is_fine = is_fine && finish(&s);
    buf_fini(&s.value);
    return is_fine;
}

static bool is_whole(const char *text, size_t n)
{
    struct err err = {0};
    OWNED(json_object) object = json_parse(text, n, "line", &err);
    return object != NULL;
}

/* The first line is a complete value, or it is broken and the second is. */
bool values_are_lines(const char *text, size_t n)
{
    static const char items[] = "\"items\""; /* a list, wherever its lines end */
    if (n == 0 || *text == '[')
        return false;
    const char *end = memchr(text, '\n', n);
    if (end == NULL || is_whole(text, (size_t)(end - text)))
        return true;
    if (memmem(text, (size_t)(end - text), items, sizeof items - 1) != NULL)
        return false;
    const char *second = end + 1, *stop = text + n;
    const char *second_end = memchr(second, '\n', (size_t)(stop - second));
    return second < stop && *second == '{' &&
           is_whole(second, (size_t)((second_end == NULL ? stop : second_end) - second));
}
