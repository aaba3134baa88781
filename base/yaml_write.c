/* yaml_write.c - JSON as YAML, by libyaml's emitter. See yaml.h. What is plain and what is quoted
 * is decided here: libyaml knows only which characters need quotes. */
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/own.h"
#include "base/text.h"
#include "base/yaml.h"

enum { LINE_ENDS = 1 << 20 }; /* no folding: a long text is one line */

static int on_bytes(void *ctx, unsigned char *bytes, size_t n)
{
    struct buf *out = ctx;
    buf_add_bytes(out, (const char *)bytes, n);
    return !out->failed;
}

/* Would a reader of YAML 1.1 or 1.2 take it for a number, a boolean, a time, null or a key of its
 * own? Rather too often than too rarely. */
static bool needs_quotes(const char *text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on",
                                        "off",  "y",    "n",     "~",   "<<", "="};
    if (*text == '\0' || strchr("0123456789+-.", *text) != NULL)
        return true;
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

static bool emit_text(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                        (int)strlen(text), 1, 1, style) == 1 &&
           yaml_emitter_emit(emitter, &event) == 1;
}

static bool emit_string(yaml_emitter_t *emitter, const char *text)
{
    return emit_text(emitter, text,
                     strchr(text, '\n') != NULL ? YAML_LITERAL_SCALAR_STYLE
                     : needs_quotes(text)       ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                : YAML_ANY_SCALAR_STYLE);
}

static bool emit(yaml_emitter_t *emitter, struct json_object *value);

static bool emit_map(yaml_emitter_t *emitter, struct json_object *map)
{
    yaml_event_t event;
    yaml_mapping_style_t style =
        json_object_object_length(map) == 0 ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
    if (yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style) != 1 ||
        yaml_emitter_emit(emitter, &event) != 1)
        return false;
    json_object_object_foreach(map, key, value)
    {
        if (!emit_string(emitter, key) || !emit(emitter, value))
            return false;
    }
    return yaml_mapping_end_event_initialize(&event) == 1 &&
           yaml_emitter_emit(emitter, &event) == 1;
}

static bool emit_list(yaml_emitter_t *emitter, struct json_object *list)
{
    yaml_event_t event;
    size_t n = json_object_array_length(list);
    yaml_sequence_style_t style = n == 0 ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
    if (yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style) != 1 ||
        yaml_emitter_emit(emitter, &event) != 1)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!emit(emitter, json_object_array_get_idx(list, i)))
            return false;
    return yaml_sequence_end_event_initialize(&event) == 1 &&
           yaml_emitter_emit(emitter, &event) == 1;
}

static bool emit(yaml_emitter_t *emitter, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_object: return emit_map(emitter, value);
    case json_type_array: return emit_list(emitter, value);
    case json_type_string: return emit_string(emitter, json_object_get_string(value));
    case json_type_null: return emit_text(emitter, "null", YAML_PLAIN_SCALAR_STYLE);
    case json_type_boolean:
    case json_type_int:
    case json_type_double: break;
    }
    return emit_text(emitter, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN),
                     YAML_PLAIN_SCALAR_STYLE);
}

static bool begin(yaml_emitter_t *emitter)
{
    yaml_event_t event;
    return yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1 &&
           yaml_emitter_emit(emitter, &event) == 1 &&
           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) == 1 &&
           yaml_emitter_emit(emitter, &event) == 1;
}

static bool end(yaml_emitter_t *emitter)
{
    yaml_event_t event;
    return yaml_document_end_event_initialize(&event, 1) == 1 &&
           yaml_emitter_emit(emitter, &event) == 1 &&
           yaml_stream_end_event_initialize(&event) == 1 && yaml_emitter_emit(emitter, &event) == 1;
}

void yaml_write(struct json_object *value, struct buf *out)
{
    yaml_emitter_t emitter;
    if (yaml_emitter_initialize(&emitter) != 1) {
        out->failed = true;
        return;
    }
    yaml_emitter_set_output(&emitter, on_bytes, out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, LINE_ENDS);
    if (!begin(&emitter) || !emit(&emitter, value) || !end(&emitter))
        out->failed = true;
    yaml_emitter_delete(&emitter);
}
