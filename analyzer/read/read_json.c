/* read_json.c - see read_json.h.
 *
 * {"id", "system", "messages": [...], "facts": {...}} is a document; every member is optional. Of a
 * document with neither messages nor facts, texts become messages and other values become facts.
 */
#include "analyzer/read/read_json.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/read/read_kube.h"
#include "analyzer/read/read_line.h"
#include "analyzer/read/read_time.h"
#include "base/text.h"

/* A document while it is handed on. */
struct document {
    struct read_out *out;
    char id[READ_ID_MAX];
    bool is_free; /* without messages and facts: every text is a message */
};

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    if (json_object_is_type(object, json_type_object))
        (void)json_object_object_get_ex(object, key, &value);
    return value;
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value = member(object, key);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static const char *first_of(struct json_object *object, const char *a, const char *b, const char *c)
{
    const char *text = text_of(object, a);
    if (text[0] == '\0')
        text = text_of(object, b);
    return text[0] == '\0' ? text_of(object, c) : text;
}

/* "target", "destination", "manager", ... */
static enum side side_of(const char *word)
{
    bool is_manager = strcmp(word, "manager") == 0 || strcmp(word, "controller") == 0;
    return is_manager ? SIDE_MANAGER : side_of_path(word);
}

/* A message is a text, or an object with text and origin. */
static void give_message(struct document *d, struct json_object *value, size_t number)
{
    char origin[EVIDENCE_ORIGIN_MAX];
    (void)snprintf(origin, sizeof origin, "message %zu", number);
    struct evidence_message message = {.origin = origin};
    if (json_object_is_type(value, json_type_object)) {
        const char *from = first_of(value, "origin", "from", "source");
        message.text = first_of(value, "text", "message", "msg");
        message.length = strlen(message.text);
        message.side = side_of(text_of(value, "side"));
        message.at_ms = read_time_of(first_of(value, "at", "time", "timestamp"));
        if (from[0] != '\0')
            (void)snprintf(origin, sizeof origin, "%.150s", from);
    } else if (value != NULL && !json_object_is_type(value, json_type_array)) {
        message.text = json_object_get_string(value);
        message.length = strlen(message.text);
    } else
        return;
    read_out_message(d->out, &message);
}

static void give_messages(struct document *d, struct json_object *list)
{
    if (!json_object_is_type(list, json_type_array)) {
        give_message(d, list, 1);
        return;
    }
    for (size_t i = 0; i < json_object_array_length(list); i++)
        give_message(d, json_object_array_get_idx(list, i), i + 1);
}

/* Other systems' names of Ferry's facts. */
static const char *own_key(const char *key)
{
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"abortRequested", "abort_requested"},
        {"abortStatus", "abort_status"},
        {"failureReason", "failure_reason"},
        {"migration_mode", "mode"},
        {"migrationMode", "mode"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(key, rows[i].theirs) == 0)
            return rows[i].ours;
    return key;
}

static void join_key(const char *outer, const char *inner, char out_key[EVIDENCE_KEY_MAX])
{
    char whole[2 * EVIDENCE_KEY_MAX];
    (void)snprintf(whole, sizeof whole, "%.63s%s%.63s", outer, outer[0] != '\0' ? "." : "", inner);
    (void)text_copy(out_key, EVIDENCE_KEY_MAX, whole);
}

/* One value; of lists and objects every value in them, the keys joined by dots. The parser bounds
 * the depth. */
static void give_fact(struct document *d, const char *key, struct json_object *value)
{
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, name, child)
        {
            char path[EVIDENCE_KEY_MAX];
            join_key(key, name, path);
            give_fact(d, path, child);
        }
        return;
    }
    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++)
            give_fact(d, key, json_object_array_get_idx(value, i));
        return;
    }
    if (value == NULL)
        return;
    const char *text = json_object_get_string(value);
    if (d->is_free && json_object_is_type(value, json_type_string)) {
        struct evidence_message message = {.text = text, .length = strlen(text), .origin = key};
        read_out_message(d->out, &message);
        return;
    }
    struct evidence_fact fact = {.key = own_key(key), .value = text, .origin = "facts"};
    read_out_fact(d->out, &fact);
}

/* Members that hold a verdict of others are no evidence. */
static bool is_aside(const char *key)
{
    static const char *const keys[] = {"id",  "system",     "source", "kind",     "label",
                                       "why", "confidence", "url",    "messages", "facts"};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static void set_id(struct document *d, struct json_object *object, const char *name, int line)
{
    struct json_object *id = member(object, "id");
    bool is_plain = id != NULL && !json_object_is_type(id, json_type_object) &&
                    !json_object_is_type(id, json_type_array);
    if (is_plain)
        TEXT_SET(d->id, json_object_get_string(id));
    else
        (void)snprintf(d->id, sizeof d->id, "%.300s:%d", name, line);
}

static void give_document(struct json_reading *reading, struct json_object *object, int line)
{
    struct json_object *messages = member(object, "messages"), *facts = member(object, "facts");
    struct document d = {.out = reading->out, .is_free = messages == NULL && facts == NULL};
    set_id(&d, object, reading->name, line);
    read_out_begin(d.out, d.id, text_of(object, "system"));
    give_messages(&d, messages);
    if (json_object_is_type(facts, json_type_object))
        give_fact(&d, "", facts);
    else if (json_object_is_type(facts, json_type_array))
        give_fact(&d, "fact", facts);
    json_object_object_foreach(object, key, value)
    {
        char bounded[EVIDENCE_KEY_MAX];
        join_key("", key, bounded);
        if (d.is_free && !is_aside(key))
            give_fact(&d, bounded, value);
    }
    read_out_end(d.out);
}

/* A record or a text without an object is tagged by the input. */
static void keep_text(struct json_reading *reading, const char *text, const struct log_json *record,
                      int line)
{
    char origin[EVIDENCE_ORIGIN_MAX];
    struct tags tags = {0};
    (void)snprintf(origin, sizeof origin, "%.140s:%d", reading->name, line);
    struct evidence_message message = {.text = text, .length = strlen(text), .origin = origin};
    if (record != NULL) {
        message.at_ms = record->at_ms;
        message.side = side_of_path(record->component);
    }
    pieces_message(reading->pieces, &tags, &message);
}

static void take_value(void *ctx, const struct value *value)
{
    struct json_reading *reading = ctx;
    struct log_json record;
    if (kube_is_object(value->object, value->list_kind))
        kube_read(reading->pieces, value->object, value->list_kind, reading->name);
    else if (log_json_parse(value->object, &record)) {
        keep_text(reading, record.message, &record, value->line);
        if (record.reason[0] != '\0')
            keep_text(reading, record.reason, &record, value->line);
    } else if (json_object_is_type(value->object, json_type_object))
        give_document(reading, value->object, value->line);
    else if (json_object_is_type(value->object, json_type_string))
        keep_text(reading, json_object_get_string(value->object), NULL, value->line);
}

struct values_taker json_taker(struct json_reading *reading)
{
    return (struct values_taker){.ctx = reading, .take = take_value};
}
