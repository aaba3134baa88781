/* yaml.c - see yaml.h.
 *
 * libyaml's events become a tree at once. Each node is one allocation that carries its key and
 * text; all nodes of a file hang on one chain, so freeing needs no walk of the tree.
 */
#include "base/yaml.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/text.h"

struct holder {
    struct holder *older;
    struct yaml_node node;
    char texts[];
};

struct yaml {
    char *file;
    struct holder *newest;
    size_t node_count;
    const struct yaml_node **documents; /* their roots */
    size_t document_count, document_capacity;
};

struct loader {
    yaml_parser_t parser;
    struct yaml *yaml;
    const char *text;
    size_t n;
    int depth;
    struct err *err;
};

static bool load_node(struct loader *l, const yaml_event_t *event, const char *key,
                      struct yaml_node **out_node);

static bool fail_line(struct loader *l, enum err_code code, size_t line, const char *what)
{
    return err_set(l->err, code, "%s:%zu: %s", l->yaml->file, line, what);
}

static bool no_memory(struct loader *l)
{
    return err_set(l->err, ERR_NOMEM, "%s: no memory for the document", l->yaml->file);
}

static size_t line_of_offset(const struct loader *l, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < l->n; i++)
        line += l->text[i] == '\n';
    return line;
}

/* Reports libyaml's error, with a hint about tabs. */
static bool fail_syntax(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return no_memory(l);
    const char *problem = p->problem == NULL ? "not YAML" : p->problem;
    if (p->error == YAML_READER_ERROR)
        return fail_line(l, ERR_INVALID, line_of_offset(l, p->problem_offset), problem);
    char what[256];
    size_t at = p->problem_mark.index;
    bool has_tab = at < l->n && l->text[at] == '\t';
    (void)snprintf(what, sizeof what, "%s%s%s%s", problem, p->context == NULL ? "" : " ",
                   p->context == NULL ? "" : p->context,
                   has_tab ? " (a tab; YAML indents with spaces)" : "");
    return fail_line(l, ERR_INVALID, p->problem_mark.line + 1, what);
}

/* The next event; the caller deletes it. */
static bool next_event(struct loader *l, yaml_event_t *out_event)
{
    return yaml_parser_parse(&l->parser, out_event) != 0 || fail_syntax(l);
}

static bool is_null_word(const char *text)
{
    return *text == '\0' || text_equal(text, "~") || text_equal(text, "null") ||
           text_equal(text, "Null") || text_equal(text, "NULL");
}

static struct yaml_node *add_node(struct loader *l, const yaml_event_t *event, const char *key,
                                  const char *text)
{
    size_t line = event->start_mark.line + 1;
    if (l->yaml->node_count >= YAML_NODES_MAX) {
        fail_line(l, ERR_INVALID, line, "too many values in one file");
        return NULL;
    }
    size_t key_bytes = key == NULL ? 0 : strlen(key) + 1;
    size_t text_bytes = text == NULL ? 0 : strlen(text) + 1;
    struct holder *holder = calloc(1, sizeof *holder + key_bytes + text_bytes);
    if (holder == NULL) {
        no_memory(l);
        return NULL;
    }
    struct yaml_node *node = &holder->node;
    if (key != NULL)
        node->key = memcpy(holder->texts, key, key_bytes);
    if (text != NULL)
        node->text = memcpy(holder->texts + key_bytes, text, text_bytes);
    node->line = (int)line;
    node->column = (int)event->start_mark.column + 1;
    holder->older = l->yaml->newest;
    l->yaml->newest = holder;
    l->yaml->node_count++;
    return node;
}

static bool check_extras(struct loader *l, const yaml_event_t *event, const yaml_char_t *anchor,
                         const yaml_char_t *tag)
{
    size_t line = event->start_mark.line + 1;
    if (anchor != NULL)
        return fail_line(l, ERR_INVALID, line, "anchors (&name) are not supported");
    if (tag != NULL)
        return fail_line(l, ERR_INVALID, line, "tags (!name) are not supported");
    return true;
}

/* The text of a scalar event, borrowed from it. */
static bool scalar_text(struct loader *l, const yaml_event_t *event, const char **out_text)
{
    const char *text = (const char *)event->data.scalar.value;
    if (!check_extras(l, event, event->data.scalar.anchor, event->data.scalar.tag))
        return false;
    if (strlen(text) != event->data.scalar.length)
        return fail_line(l, ERR_INVALID, event->start_mark.line + 1,
                         "a zero character is not allowed in text");
    *out_text = text;
    return true;
}

static bool load_scalar(struct loader *l, const yaml_event_t *event, const char *key,
                        struct yaml_node **out_node)
{
    const char *text;
    if (!scalar_text(l, event, &text))
        return false;
    struct yaml_node *node = add_node(l, event, key, text);
    if (node == NULL)
        return false;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->kind = !node->quoted && is_null_word(text) ? YAML_NULL : YAML_SCALAR;
    *out_node = node;
    return true;
}

static int by_key_and_line(const void *a, const void *b)
{
    const struct yaml_node *x = *(const struct yaml_node *const *)a;
    const struct yaml_node *y = *(const struct yaml_node *const *)b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* Sorts a copy, so that a map of n keys does not cost n squared. */
static bool check_unique(struct loader *l, const struct yaml_node *map, size_t n)
{
    if (n < 2)
        return true;
    const struct yaml_node **sorted = calloc(n, sizeof *sorted);
    if (sorted == NULL)
        return no_memory(l);
    size_t i = 0;
    for (const struct yaml_node *child = map->child; child != NULL; child = child->next)
        sorted[i++] = child;
    qsort(sorted, n, sizeof *sorted, by_key_and_line);
    bool is_fine = true;
    for (i = 1; i < n && is_fine; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            is_fine = err_set(l->err, ERR_INVALID, "%s:%d: \"%s\" is a duplicate of line %d",
                              l->yaml->file, sorted[i]->line, sorted[i]->key, sorted[i - 1]->line);
    free(sorted);
    return is_fine;
}

/* Reads the value of a map's key event and appends it to *tail. */
static bool load_pair(struct loader *l, const yaml_event_t *key_event, struct yaml_node **tail)
{
    const char *key;
    if (key_event->type != YAML_SCALAR_EVENT)
        return fail_line(l, ERR_INVALID, key_event->start_mark.line + 1, "a key must be text");
    if (!scalar_text(l, key_event, &key))
        return false;
    yaml_event_t event;
    if (!next_event(l, &event))
        return false;
    bool is_fine = load_node(l, &event, key, tail);
    yaml_event_delete(&event);
    if (is_fine) { /* an error about a key belongs to the key's line */
        (*tail)->line = (int)key_event->start_mark.line + 1;
        (*tail)->column = (int)key_event->start_mark.column + 1;
    }
    return is_fine;
}

/* The children of a map or a list, up to its end event. */
static bool load_children(struct loader *l, struct yaml_node *parent)
{
    bool is_map = parent->kind == YAML_MAP;
    struct yaml_node **tail = &parent->child;
    for (size_t n = 0;; n++) {
        yaml_event_t event;
        if (!next_event(l, &event))
            return false;
        bool is_end = event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
        bool is_fine =
            is_end || (is_map ? load_pair(l, &event, tail) : load_node(l, &event, NULL, tail));
        yaml_event_delete(&event);
        if (!is_fine)
            return false;
        if (is_end)
            return !is_map || check_unique(l, parent, n);
        tail = &(*tail)->next;
    }
}

static bool load_container(struct loader *l, const yaml_event_t *event, const char *key,
                           struct yaml_node **out_node)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor =
        is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag =
        is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    if (!check_extras(l, event, anchor, tag))
        return false;
    if (l->depth >= YAML_DEPTH_MAX)
        return fail_line(l, ERR_INVALID, event->start_mark.line + 1, "nested too deep");
    struct yaml_node *node = add_node(l, event, key, NULL);
    if (node == NULL)
        return false;
    node->kind = is_map ? YAML_MAP : YAML_LIST;
    *out_node = node;
    l->depth++;
    bool is_fine = load_children(l, node);
    l->depth--;
    return is_fine;
}

static bool load_node(struct loader *l, const yaml_event_t *event, const char *key,
                      struct yaml_node **out_node)
{
    if (event->type == YAML_SCALAR_EVENT)
        return load_scalar(l, event, key, out_node);
    if (event->type == YAML_ALIAS_EVENT)
        return fail_line(l, ERR_INVALID, event->start_mark.line + 1,
                         "aliases (*name) are not supported");
    return load_container(l, event, key, out_node);
}

static bool add_document(struct loader *l, const struct yaml_node *root)
{
    struct yaml *yaml = l->yaml;
    if (yaml->document_count == yaml->document_capacity) {
        size_t capacity = yaml->document_capacity * 2 + 4;
        const struct yaml_node **more =
            realloc(yaml->documents, capacity * sizeof *yaml->documents);
        if (more == NULL)
            return no_memory(l);
        yaml->documents = more;
        yaml->document_capacity = capacity;
    }
    yaml->documents[yaml->document_count++] = root;
    return true;
}

/* Everything between the start and the end of the stream: only roots are handled here. */
static bool load_stream(struct loader *l)
{
    for (;;) {
        yaml_event_t event;
        if (!next_event(l, &event))
            return false;
        bool is_end = event.type == YAML_STREAM_END_EVENT;
        bool is_root = event.type == YAML_SCALAR_EVENT || event.type == YAML_ALIAS_EVENT ||
                       event.type == YAML_MAPPING_START_EVENT ||
                       event.type == YAML_SEQUENCE_START_EVENT;
        struct yaml_node *root = NULL;
        bool is_fine = !is_root || (load_node(l, &event, NULL, &root) && add_document(l, root));
        yaml_event_delete(&event);
        if (!is_fine || is_end)
            return is_fine;
    }
}

struct yaml *yaml_parse(const char *text, size_t n, const char *file, struct err *err)
{
    if (n > YAML_BYTES_MAX) {
        err_set(err, ERR_INVALID, "%s:1: %zu bytes, more than %d", file, n, YAML_BYTES_MAX);
        return NULL;
    }
    OWNED(yaml) yaml = calloc(1, sizeof *yaml);
    if (yaml != NULL)
        yaml->file = strdup(file);
    struct loader l = {.yaml = yaml, .text = text, .n = n, .err = err};
    if (yaml == NULL || yaml->file == NULL || yaml_parser_initialize(&l.parser) == 0) {
        err_set(err, ERR_NOMEM, "%s: no memory for the document", file);
        return NULL;
    }
    yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, n);
    bool is_fine = load_stream(&l);
    yaml_parser_delete(&l.parser);
    return is_fine ? TAKE(yaml) : NULL;
}

/* The whole file, at most YAML_BYTES_MAX; the caller frees it. */
static char *read_all(FILE *stream, const char *file, size_t *out_n, struct err *err)
{
    struct buf content;
    buf_init(&content, YAML_BYTES_MAX);
    char chunk[16384];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, stream)) > 0 && !content.failed)
        buf_add_bytes(&content, chunk, got);
    *out_n = content.length;
    if (ferror(stream))
        err_set(err, ERR_IO, "%s: %s", file, strerror(errno));
    else if (content.failed)
        err_set(err, ERR_INVALID, "%s: larger than %d bytes", file, YAML_BYTES_MAX);
    char *text = err->code == ERR_NONE ? buf_take(&content) : NULL;
    buf_fini(&content);
    if (text == NULL && err->code == ERR_NONE)
        err_set(err, ERR_NOMEM, "%s: no memory for its text", file);
    return text;
}

struct yaml *yaml_read_file(const char *file, struct err *err)
{
    FILE *stream = fopen(file, "re");
    if (stream == NULL) {
        err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", file, strerror(errno));
        return NULL;
    }
    size_t n = 0;
    OWNED_TEXT text = read_all(stream, file, &n, err);
    (void)fclose(stream);
    return text == NULL ? NULL : yaml_parse(text, n, file, err);
}

void yaml_discard(struct yaml *yaml)
{
    if (yaml == NULL)
        return;
    while (yaml->newest != NULL) {
        struct holder *older = yaml->newest->older;
        free(yaml->newest);
        yaml->newest = older;
    }
    free(yaml->documents);
    free(yaml->file);
    free(yaml);
}

size_t yaml_document_count(const struct yaml *yaml)
{
    return yaml->document_count;
}

const struct yaml_node *yaml_document(const struct yaml *yaml, size_t index)
{
    assert(index < yaml->document_count);
    return yaml->documents[index];
}

const char *yaml_file(const struct yaml *yaml)
{
    return yaml->file;
}

const struct yaml_node *yaml_child(const struct yaml_node *map, const char *key)
{
    if (map == NULL || map->kind != YAML_MAP)
        return NULL;
    const struct yaml_node *child = map->child;
    while (child != NULL && strcmp(child->key, key) != 0)
        child = child->next;
    return child;
}

bool yaml_fail(const struct yaml *yaml, const struct yaml_node *node, struct err *err,
               const char *fmt, ...)
{
    char what[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return err_set(err, ERR_INVALID, "%s:%d: %s", yaml->file, node->line, what);
}
