/* feed_change.c - see feed_change.h. */
#include "exporter/api/feed_change.h"

#include <string.h>

enum { CHANGE_BYTES_MAX = 2 * 1024 * 1024 };

static struct change_block *block_of(const struct feed_change *change)
{
    return (struct change_block *)(uintptr_t)change; /* its first member */
}

const struct feed_change *feed_change_ref(const struct feed_change *change)
{
    if (change != NULL)
        (void)atomic_fetch_add(&block_of(change)->references, 1);
    return change;
}

void feed_change_unref(const struct feed_change *change)
{
    if (change != NULL && atomic_fetch_sub(&block_of(change)->references, 1) == 1)
        free(block_of(change));
}

/* The texts of a change in the making: one after the other in a buffer, which may still move. */
enum part {
    PART_NS,
    PART_NAME,
    PART_OBJECT,
    PART_METADATA,
    PART_CELLS,
    PART_WAS, /* labels and fields of struct feed_traits */
    PART_IS = PART_WAS + 1 + FEED_FIELDS_MAX,
    PART_COUNT = PART_IS + 1 + FEED_FIELDS_MAX,
};
struct texts {
    struct buf buf;
    size_t after[PART_COUNT]; /* 1 more than where it begins; 0: there is none */
};

static void begin_part(struct texts *texts, unsigned part)
{
    texts->after[part] = texts->buf.length + 1;
}

static void end_text(struct texts *texts)
{
    buf_add_bytes(&texts->buf, "", 1);
}

static void add_text(struct texts *texts, unsigned part, const char *text)
{
    if (text == NULL)
        return;
    begin_part(texts, part);
    buf_add(&texts->buf, text);
    end_text(texts);
}

static void add_json(struct texts *texts, unsigned part, struct json_object *value)
{
    begin_part(texts, part);
    api_add_json(&texts->buf, value);
    end_text(texts);
}

/* No selector names an empty key. */
static void add_labels(struct texts *texts, unsigned part, struct json_object *labels)
{
    if (labels == NULL)
        return;
    begin_part(texts, part);
    json_object_object_foreach(labels, key, value)
    {
        const char *text = json_object_get_string(value);
        if (key[0] == '\0' || text == NULL)
            continue;
        buf_add(&texts->buf, key);
        end_text(texts);
        buf_add(&texts->buf, text);
        end_text(texts);
    }
    end_text(texts);
}

static void add_traits(struct texts *texts, unsigned part, const struct snapshot *s, size_t i,
                       const struct api_view *view)
{
    OWNED(json_object) labels = view->labels(s, i);
    add_labels(texts, part, labels);
    unsigned n = 0;
    for (const char *at = view->fields; at != NULL && *at != '\0' && n < FEED_FIELDS_MAX;) {
        char key[API_TERM_TEXT_MAX];
        size_t length = strcspn(at, " ");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, at);
        add_text(texts, part + 1 + n++, view->field(s, i, key));
        at += length;
        at += strspn(at, " ");
    }
}

/* As it is, or as it was with the version of its end. */
static bool add_all(struct texts *texts, const struct version_change *change, int64_t now_ms)
{
    const struct api_view *view = api_view_of(change->kind);
    bool is_gone = change->type == CHANGE_DELETED;
    const struct snapshot *s = is_gone ? change->before : change->after;
    size_t i = is_gone ? change->was : change->is;
    OWNED(json_object) object = view->object(s, i);
    OWNED(json_object) cells = json_object_new_array();
    if (object == NULL || cells == NULL)
        return false;
    api_set_version(object, change->version);
    json_add_text(cells, "", view->name(s, i));
    view->add_cells(s, i, now_ms, cells);
    add_text(texts, PART_NS, view->ns == NULL ? "" : view->ns(s, i));
    add_text(texts, PART_NAME, view->name(s, i));
    add_json(texts, PART_OBJECT, object);
    add_json(texts, PART_METADATA, json_at(object, "metadata"));
    add_json(texts, PART_CELLS, cells);
    if (change->type != CHANGE_ADDED)
        add_traits(texts, PART_WAS, change->before, change->was, view);
    if (change->type != CHANGE_DELETED)
        add_traits(texts, PART_IS, change->after, change->is, view);
    return !texts->buf.failed;
}

static const char *text_at(const struct change_block *block, const struct texts *texts,
                           unsigned part)
{
    return texts->after[part] == 0 ? NULL : block->text + texts->after[part] - 1;
}

static struct feed_traits traits_at(const struct change_block *block, const struct texts *texts,
                                    unsigned part)
{
    struct feed_traits out = {.labels = text_at(block, texts, part)};
    for (unsigned n = 0; n < FEED_FIELDS_MAX; n++)
        out.fields[n] = text_at(block, texts, part + 1 + n);
    return out;
}

struct head {
    enum api_kind kind;
    enum change_type type;
    uint64_t version;
};

static struct change_block *block_new(const struct head *change, const struct texts *texts)
{
    size_t bytes = sizeof(struct change_block) + texts->buf.length;
    struct change_block *block = malloc(bytes);
    if (block == NULL)
        return NULL;
    *block = (struct change_block){.kind = change->kind, .bytes = bytes};
    atomic_init(&block->references, 1);
    memcpy(block->text, texts->buf.data, texts->buf.length);
    block->change = (struct feed_change){.type = change->type,
                                         .version = change->version,
                                         .ns = text_at(block, texts, PART_NS),
                                         .name = text_at(block, texts, PART_NAME),
                                         .object = text_at(block, texts, PART_OBJECT),
                                         .metadata = text_at(block, texts, PART_METADATA),
                                         .cells = text_at(block, texts, PART_CELLS),
                                         .was = traits_at(block, texts, PART_WAS),
                                         .is = traits_at(block, texts, PART_IS)};
    return block;
}

struct change_block *feed_change_new(const struct version_change *change, int64_t now_ms)
{
    struct texts texts = {.after = {0}};
    buf_init(&texts.buf, CHANGE_BYTES_MAX);
    const struct head head = {change->kind, change->type, change->version};
    struct change_block *block = add_all(&texts, change, now_ms) ? block_new(&head, &texts) : NULL;
    buf_fini(&texts.buf);
    return block;
}

struct change_block *feed_change_of_event(const struct store_event *event, enum change_type type,
                                          uint64_t version, int64_t now_ms)
{
    struct texts texts = {.after = {0}};
    buf_init(&texts.buf, CHANGE_BYTES_MAX);
    OWNED(json_object) object = api_event_object(event, version);
    OWNED(json_object) cells = api_event_cells(event, now_ms);
    struct json_object *metadata = json_at(object, "metadata");
    add_text(&texts, PART_NS, event->ns); /* of the object: "" is only in lists of all */
    add_text(&texts, PART_NAME, json_object_get_string(json_at(metadata, "name")));
    add_json(&texts, PART_OBJECT, object);
    add_json(&texts, PART_METADATA, metadata);
    add_json(&texts, PART_CELLS, cells);
    for (unsigned n = 0; n < FEED_FIELDS_MAX; n++) {
        add_text(&texts, PART_WAS + 1 + n, api_event_field(event, n));
        add_text(&texts, PART_IS + 1 + n, api_event_field(event, n));
    }
    const struct head head = {KIND_EVENT, type, version};
    struct change_block *block =
        object != NULL && cells != NULL && !texts.buf.failed ? block_new(&head, &texts) : NULL;
    buf_fini(&texts.buf);
    return block;
}

const char *feed_label(const struct feed_traits *traits, const char *key)
{
    const char *at = traits->labels;
    while (at != NULL && at[0] != '\0') {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}
