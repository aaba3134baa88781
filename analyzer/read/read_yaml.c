/* read_yaml.c - objects written as YAML, see read_json.h.
 *
 * A must-gather has lists of events that are too large for one parse. They are machine-written in
 * one form: "items:", then "- " at the beginning of a line for each. So they are split there, and
 * each part is parsed separately.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/read/read_json.h"
#include "analyzer/read/read_kube.h"
#include "base/text.h"
#include "base/yaml.h"

struct parts {
    struct json_reading *reading;
    struct values_taker taker;
    struct buf text; /* the part so far */
    uint64_t line;   /* where it begins */
    bool in_items;
};

static void take_document(struct parts *p, struct json_object *object)
{
    struct value value = {.object = object, .list_kind = "", .line = (int)p->line};
    if (kube_is_object(object, ""))
        p->taker.take(p->taker.ctx, &value);
}

/* A part is a document, or a list of one item. */
static void take_part(struct parts *p, const struct yaml *yaml)
{
    for (size_t i = 0; i < yaml_document_count(yaml); i++) {
        const struct yaml_node *node = yaml_document(yaml, i);
        if (node->kind == YAML_LIST)
            node = node->child;
        OWNED(json_object) object = node == NULL ? NULL : yaml_to_json(node);
        take_document(p, object);
    }
}

static void end_part(struct parts *p)
{
    struct err err = {0};
    char place[EVIDENCE_ORIGIN_MAX];
    (void)snprintf(place, sizeof place, "%.120s (object at line %llu)", p->reading->name,
                   (unsigned long long)p->line);
    if (p->text.failed)
        err_set(&err, ERR_LIMIT, "%s: more than 4 MiB", place);
    else if (p->text.length > 0) {
        OWNED(yaml) yaml = yaml_parse(p->text.data, p->text.length, place, &err);
        if (yaml != NULL)
            take_part(p, yaml);
    }
    if (err.code != ERR_NONE)
        read_out_problem(p->reading->out, &err);
    buf_fini(&p->text);
    buf_init(&p->text, YAML_BYTES_MAX);
}

static bool is_line(const struct line *line, const char *text)
{
    size_t n = line->length;
    while (n > 0 && line->text[n - 1] == ' ')
        n--;
    return n == strlen(text) && memcmp(line->text, text, n) == 0;
}

static void add_line(struct parts *p, const struct line *line)
{
    bool is_item = line->length > 1 && memcmp(line->text, "- ", 2) == 0;
    bool is_break = is_line(line, "---");
    bool leaves = p->in_items && !is_item && line->length > 0 && line->text[0] != ' ';
    if (is_break || leaves || (p->in_items && is_item) || is_line(line, "items:")) {
        end_part(p);
        p->line = line->number;
    }
    if (is_break || leaves)
        p->in_items = false;
    if (is_line(line, "items:")) {
        p->in_items = true;
        return;
    }
    if (is_break)
        return;
    buf_add_bytes(&p->text, line->text, line->length);
    buf_add(&p->text, "\n");
}

bool yaml_objects_read(struct input *in, struct json_reading *reading, struct err *err)
{
    struct parts p = {.reading = reading, .taker = json_taker(reading), .line = 1};
    buf_init(&p.text, YAML_BYTES_MAX);
    struct line line;
    while (input_line(in, &line))
        add_line(&p, &line);
    end_part(&p);
    buf_fini(&p.text);
    return input_is_fine(in, err);
}
