/* protobuf.c - see protobuf.h. */
#include "exporter/api/protobuf.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"

enum message {
#define MESSAGE(id, kind) MESSAGE_##id,
#include "exporter/api/protobuf.def"
#undef MESSAGE
    MESSAGE_COUNT
};
static const char *const kinds[MESSAGE_COUNT] = {
#define MESSAGE(id, kind) [MESSAGE_##id] = kind,
#include "exporter/api/protobuf.def"
#undef MESSAGE
};

enum field_type {
    FIELD_TEXT_ONE,
    FIELD_TEXTS,
    FIELD_NUMBER,
    FIELD_BOOL,
    FIELD_OBJECT,
    FIELD_MAP,
    FIELD_AMOUNTS,
};
#define FIELD_TEXT FIELD_TEXT_ONE
static const struct field {
    enum message of;
    unsigned number;
    enum field_type type;
    const char *name;
    enum message part;
} fields[] = {
#define FIELD(of, number, type, name, part) \
    {MESSAGE_##of, number, FIELD_##type, name, MESSAGE_##part},
#include "exporter/api/protobuf.def"
#undef FIELD
};

/* ---- bytes ---- */

struct bytes {
    const unsigned char *at;
    size_t n;
};

static bool take_number(struct bytes *from, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && from->n > 0; shift += 7) {
        unsigned char byte = *from->at++;
        from->n--;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* One field: a number, or bytes. */
struct wire {
    unsigned number;
    bool is_bytes;
    uint64_t value;
    struct bytes bytes;
};

static bool take_field(struct bytes *from, struct wire *out, struct err *err)
{
    enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };
    uint64_t tag, n;
    *out = (struct wire){0};
    if (!take_number(from, &tag) || tag >> 3 > UINT32_MAX)
        return err_set(err, ERR_INVALID, "body: the protobuf is cut");
    out->number = (unsigned)(tag >> 3);
    out->is_bytes = (tag & 7) == WIRE_BYTES;
    if ((tag & 7) != WIRE_NUMBER && !out->is_bytes)
        return err_set(err, ERR_INVALID, "body: the protobuf has a field of an unknown form");
    if (!take_number(from, &n) || (out->is_bytes && n > from->n))
        return err_set(err, ERR_INVALID, "body: the protobuf is cut");
    out->value = n;
    if (!out->is_bytes)
        return true;
    out->bytes = (struct bytes){from->at, (size_t)n};
    from->at += n;
    from->n -= (size_t)n;
    return true;
}

/* The bytes of one field of a message; empty when there is none. */
static bool find_bytes(struct bytes message, unsigned number, struct bytes *out, struct err *err)
{
    struct wire wire;
    *out = (struct bytes){0};
    while (message.n > 0) {
        if (!take_field(&message, &wire, err))
            return false;
        if (wire.number == number && wire.is_bytes)
            *out = wire.bytes;
    }
    return true;
}

/* ---- fields ---- */

/* A text of its own; NULL with an error when the bytes are none. */
static char *text_of(struct bytes bytes, const char *name, struct err *err)
{
    OWNED_TEXT text = strndup(bytes.n == 0 ? "" : (const char *)bytes.at, bytes.n);
    if (text == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for the body");
        return NULL;
    }
    const char *at = text;
    for (size_t n; *at != '\0' && (n = text_utf8_bytes(at)) > 0;)
        at += n;
    if (at == text + bytes.n)
        return TAKE(text);
    (void)err_set(err, ERR_INVALID, "%s: is not UTF-8 text", name);
    return NULL;
}

static bool add_text(struct json_object *into, const char *key, struct bytes bytes,
                     const char *name, struct err *err)
{
    OWNED_TEXT text = text_of(bytes, name, err);
    json_add_text(into, key, text);
    return text != NULL;
}

/* The member, created when it is the first. */
static struct json_object *member_of(struct json_object *object, const char *key, bool is_list)
{
    struct json_object *found = json_object_object_get(object, key);
    if (found != NULL)
        return found;
    return is_list ? json_add_array(object, key) : json_add_object(object, key);
}

/* {1: key, 2: value}; an amount's value is {1: text}. */
static bool add_entry(struct json_object *into, const struct field *field, struct bytes entry,
                      struct err *err)
{
    struct bytes key, value;
    if (!find_bytes(entry, 1, &key, err) || !find_bytes(entry, 2, &value, err) ||
        (field->type == FIELD_AMOUNTS && !find_bytes(value, 1, &value, err)))
        return false;
    OWNED_TEXT word = text_of(key, field->name, err);
    if (word == NULL)
        return false;
    return add_text(member_of(into, field->name, false), word, value, field->name, err);
}

static const struct field *field_of(enum message message, unsigned number)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].of == message && fields[i].number == number)
            return &fields[i];
    return NULL;
}

static struct json_object *read_message(enum message message, struct bytes bytes, struct err *err);

static bool add_field(struct json_object *into, const struct field *field, const struct wire *wire,
                      struct err *err)
{
    bool wants_bytes = field->type != FIELD_NUMBER && field->type != FIELD_BOOL;
    if (wire->is_bytes != wants_bytes)
        return err_set(err, ERR_INVALID, "%s: has the wrong form in the protobuf", field->name);
    switch (field->type) {
    case FIELD_TEXT_ONE:
        return wire->bytes.n == 0 || add_text(into, field->name, wire->bytes, field->name, err);
    case FIELD_TEXTS:
        return add_text(member_of(into, field->name, true), "", wire->bytes, field->name, err);
    case FIELD_NUMBER: json_add_i64(into, field->name, (int64_t)wire->value); return true;
    case FIELD_BOOL: json_add_bool(into, field->name, wire->value != 0); return true;
    case FIELD_MAP:
    case FIELD_AMOUNTS: return add_entry(into, field, wire->bytes, err);
    case FIELD_OBJECT: break;
    }
    if (json_object_object_get_ex(into, field->name, NULL)) /* one of them would be lost */
        return err_set(err, ERR_INVALID, "%s: is there twice", field->name);
    struct json_object *part = read_message(field->part, wire->bytes, err);
    if (part != NULL && json_object_object_length(part) > 0)
        json_add(into, field->name, part);
    else
        json_object_free(part);
    return part != NULL;
}

enum { EMPTY_DEPTH = 8 };

/* Clients write a field that is not set as an empty one. */
static bool is_empty(struct bytes bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        if (bytes.at[i] != 0)
            return false;
    return true;
}

static bool is_unset(const struct wire *wire, unsigned depth)
{
    struct wire inside;
    struct err ignored = {0};
    if (!wire->is_bytes)
        return wire->value == 0;
    if (is_empty(wire->bytes))
        return true;
    for (struct bytes rest = wire->bytes; rest.n > 0;)
        if (depth == 0 || !take_field(&rest, &inside, &ignored) || !is_unset(&inside, depth - 1))
            return false;
    return true;
}

/* Parts are at most as deep as the table, which has no cycle. */
static struct json_object *read_message(enum message message, struct bytes bytes, struct err *err)
{
    OWNED(json_object) out = json_object_new_object();
    struct wire wire;
    while (bytes.n > 0) {
        if (!take_field(&bytes, &wire, err))
            return NULL;
        const struct field *field = field_of(message, wire.number);
        if (field != NULL && !add_field(out, field, &wire, err))
            return NULL;
        if (field == NULL && !is_unset(&wire, EMPTY_DEPTH)) {
            (void)err_set(err, ERR_UNPROCESSABLE,
                          "body: field %u of the protobuf is not supported; send JSON to see its "
                          "name",
                          wire.number);
            return NULL;
        }
    }
    return TAKE(out);
}

/* ---- the envelope ---- */

static enum message message_of(const char *kind)
{
    enum message message = 0;
    while (message < MESSAGE_COUNT && !text_equal(kinds[message], kind))
        message++;
    return message;
}

static bool read_envelope(struct bytes whole, struct json_object *type, struct bytes *out_raw,
                          struct err *err)
{
    struct bytes meta, version, kind;
    return find_bytes(whole, 1, &meta, err) && find_bytes(whole, 2, out_raw, err) &&
           find_bytes(meta, 1, &version, err) && find_bytes(meta, 2, &kind, err) &&
           add_text(type, "apiVersion", version, "apiVersion", err) &&
           add_text(type, "kind", kind, "kind", err);
}

struct json_object *protobuf_read(const char *body, size_t n, struct err *err)
{
    static const char magic[4] = "k8s";
    struct bytes raw;
    if (n < sizeof magic || memcmp(body, magic, sizeof magic) != 0) {
        (void)err_set(err, ERR_INVALID, "body: expected protobuf as Kubernetes' clients write it");
        return NULL;
    }
    struct bytes whole = {(const unsigned char *)body + sizeof magic, n - sizeof magic};
    OWNED(json_object) type = json_object_new_object();
    if (!read_envelope(whole, type, &raw, err))
        return NULL;
    const char *kind = json_object_get_string(json_object_object_get(type, "kind"));
    enum message message = message_of(kind);
    if (message == MESSAGE_COUNT) {
        (void)err_set(err, ERR_INVALID, "body: a %.60s cannot be sent as protobuf; send JSON",
                      *kind == '\0' ? "body without a kind" : kind);
        return NULL;
    }
    OWNED(json_object) object = read_message(message, raw, err);
    if (object == NULL)
        return NULL;
    json_object_object_foreach(type, key, value)
    {
        json_add(object, key, json_object_get(value));
    }
    return TAKE(object);
}
