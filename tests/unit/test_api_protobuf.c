/* test_api_protobuf.c - bodies as newer kubectl sends them: what they say as JSON, and what is
 * refused. */
#include "tests/test.h"

#include <string.h>

#include "exporter/api/protobuf.h"

/* A message being written, byte by byte as the format has it. */
struct text {
    unsigned char bytes[1024];
    size_t n;
};

static void put(struct text *t, const void *bytes, size_t n)
{
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

static void put_number(struct text *t, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        t->bytes[t->n++] = (unsigned char)(number | 0x80);
    t->bytes[t->n++] = (unsigned char)number;
}

static void put_field(struct text *t, unsigned number, const void *bytes, size_t n)
{
    put_number(t, number << 3 | 2);
    put_number(t, n);
    put(t, bytes, n);
}

static void put_text(struct text *t, unsigned number, const char *text)
{
    put_field(t, number, text, strlen(text));
}

static void put_part(struct text *t, unsigned number, const struct text *part)
{
    put_field(t, number, part->bytes, part->n);
}

static struct text envelope(const char *version, const char *kind, const struct text *raw)
{
    struct text out = {.n = 0}, type = {.n = 0};
    put_text(&type, 1, version);
    put_text(&type, 2, kind);
    put(&out, "k8s", 4);
    put_part(&out, 1, &type);
    put_part(&out, 2, raw);
    put_text(&out, 3, ""); /* contentEncoding, contentType */
    put_text(&out, 4, "");
    return out;
}

static struct text metadata(const char *name)
{
    struct text out = {.n = 0}, entry = {.n = 0}, time = {.n = 0};
    put_text(&out, 1, name);
    for (unsigned unset = 2; unset <= 6; unset++)
        put_text(&out, unset, "");
    put_number(&out, 7 << 3); /* generation: 0 */
    put_number(&out, 0);
    put_part(&out, 8, &time); /* creationTimestamp: not set */
    put_text(&entry, 1, "example.org/tier");
    put_text(&entry, 2, "front");
    put_part(&out, 11, &entry);
    return out;
}

static struct text namespace_body(void)
{
    struct text raw = {.n = 0}, meta = metadata("shop"), spec = {.n = 0}, status = {.n = 0};
    put_part(&raw, 1, &meta);
    put_part(&raw, 2, &spec);
    put_text(&status, 1, "");
    put_part(&raw, 3, &status);
    return envelope("v1", "Namespace", &raw);
}

static struct text quota_body(void)
{
    struct text raw = {.n = 0}, meta = metadata("few"), spec = {.n = 0}, entry = {.n = 0},
                amount = {.n = 0};
    put_part(&raw, 1, &meta);
    put_text(&amount, 1, "8Gi");
    put_text(&entry, 1, "memory");
    put_part(&entry, 2, &amount);
    put_part(&spec, 1, &entry);
    put_part(&raw, 2, &spec);
    return envelope("v1", "ResourceQuota", &raw);
}

static struct text eviction_body(void)
{
    struct text raw = {.n = 0}, meta = metadata("pod"), options = {.n = 0};
    put_part(&raw, 1, &meta);
    put_number(&options, 1 << 3);
    put_number(&options, 30);
    put_text(&options, 5, "All");
    put_part(&raw, 2, &options);
    return envelope("policy/v1", "Eviction", &raw);
}

static struct text review_body(void)
{
    struct text raw = {.n = 0}, spec = {.n = 0}, resource = {.n = 0}, status = {.n = 0};
    put_text(&resource, 1, "default");
    put_text(&resource, 2, "create");
    put_text(&resource, 3, "kubevirt.io");
    put_text(&resource, 5, "virtualmachineinstancemigrations");
    put_part(&spec, 1, &resource);
    put_part(&raw, 2, &spec);
    put_number(&status, 1 << 3); /* allowed: false */
    put_number(&status, 0);
    put_part(&raw, 3, &status);
    return envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", &raw);
}

static const struct {
    struct text (*body)(void);
    const char *json;
} stories[] = {
    {namespace_body,
     "{\"metadata\":{\"name\":\"shop\",\"labels\":{\"example.org/tier\":\"front\"}},"
     "\"apiVersion\":\"v1\",\"kind\":\"Namespace\"}"},
    {quota_body, "{\"metadata\":{\"name\":\"few\",\"labels\":{\"example.org/"
                 "tier\":\"front\"}},\"spec\":{\"hard\":{"
                 "\"memory\":\"8Gi\"}},\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\"}"},
    {eviction_body,
     "{\"metadata\":{\"name\":\"pod\",\"labels\":{\"example.org/"
     "tier\":\"front\"}},\"deleteOptions\":{"
     "\"gracePeriodSeconds\":30,\"dryRun\":[\"All\"]},\"apiVersion\":\"policy/v1\",\"kind\":"
     "\"Eviction\"}"},
    {review_body,
     "{\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\",\"verb\":\"create\",\"group\":"
     "\"kubevirt.io\",\"resource\":\"virtualmachineinstancemigrations\"}},\"apiVersion\":"
     "\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\"}"},
};

static void a_body_says_what_it_would_say_as_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct err err = {0};
        struct text body = stories[i].body();
        OWNED(json_object) read = protobuf_read((const char *)body.bytes, body.n, &err);
        if (read == NULL)
            fail_msg("%zu: %s", i, err.text);
        assert_string_equal(json_object_to_json_string_ext(
                                read, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                            stories[i].json);
    }
}

/* Each prefix, each byte turned: an object or an error, never more than the body (ASan). */
static void a_cut_or_broken_body_is_refused_or_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        struct text body = stories[i].body();
        for (size_t n = 0; n < body.n; n++) {
            struct err err = {0};
            char *copy = malloc(n + 1); /* of that size: what is read behind it is seen */
            memcpy(copy, body.bytes, n);
            OWNED(json_object) read = protobuf_read(copy, n, &err);
            assert_true((read == NULL) == (err.code != ERR_NONE));
            free(copy);
        }
        for (size_t n = 0; n < body.n; n++)
            for (unsigned turned = 1; turned < 256; turned = turned * 2 + 1) {
                struct err err = {0};
                struct text bad = body;
                bad.bytes[n] = (unsigned char)(bad.bytes[n] ^ turned);
                OWNED(json_object) read = protobuf_read((const char *)bad.bytes, bad.n, &err);
                assert_true((read == NULL) == (err.code != ERR_NONE));
            }
    }
}

static void refused(const struct text *body, enum err_code code, const char *says)
{
    struct err err = {0};
    OWNED(json_object) read = protobuf_read((const char *)body->bytes, body->n, &err);
    assert_null(read);
    if (err.code != code || strstr(err.text, says) == NULL)
        fail_msg("%s; '%s' was expected", err.text, says);
}

static void what_is_not_known_is_refused_by_number_or_kind(void **state)
{
    (void)state;
    struct text raw = {.n = 0}, meta = metadata("shop"), odd = {.n = 0};
    put_part(&raw, 1, &meta);
    put_text(&odd, 1, "x");
    put_part(&raw, 9, &odd);
    struct text body = envelope("v1", "Namespace", &raw);
    refused(&body, ERR_UNPROCESSABLE, "field 9 of the protobuf is not supported");
    body = envelope("apps/v1", "Deployment", &raw);
    refused(&body, ERR_INVALID, "a Deployment cannot be sent as protobuf; send JSON");
    body = (struct text){.bytes = "{}  ", .n = 4};
    refused(&body, ERR_INVALID, "expected protobuf");
    struct text bad = metadata("sh\xff"
                               "op");
    raw.n = 0;
    put_part(&raw, 1, &bad);
    body = envelope("v1", "Namespace", &raw);
    refused(&body, ERR_INVALID, "name: is not UTF-8 text");
    raw.n = 0;
    put_number(&raw, 1 << 3); /* metadata as a number */
    put_number(&raw, 7);
    body = envelope("v1", "Namespace", &raw);
    refused(&body, ERR_INVALID, "metadata: has the wrong form");
    raw.n = 0;
    put_part(&raw, 1, &meta);
    put_part(&raw, 1, &odd);
    body = envelope("v1", "Namespace", &raw);
    refused(&body, ERR_INVALID, "metadata: is there twice");
}

/* Numbers of more than one byte: a length and a value. */
static void long_texts_and_large_numbers_are_read_whole(void **state)
{
    (void)state;
    struct text raw = {.n = 0}, meta = {.n = 0}, options = {.n = 0};
    struct err err = {0};
    char name[201];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    put_text(&meta, 1, name);
    put_part(&raw, 1, &meta);
    put_number(&options, 1 << 3);
    put_number(&options, (UINT64_C(1) << 40) + 300);
    put_part(&raw, 2, &options);
    struct text body = envelope("policy/v1", "Eviction", &raw);
    OWNED(json_object) read = protobuf_read((const char *)body.bytes, body.n, &err);
    assert_string_equal(json_object_get_string(json_at(read, "metadata.name")), name);
    assert_int_equal(json_object_get_int64(json_at(read, "deleteOptions.gracePeriodSeconds")),
                     (INT64_C(1) << 40) + 300);
}

/* Fields in fields, deeper than any stack: refused, not followed. */
static void a_deep_body_is_refused(void **state)
{
    (void)state;
    enum { BOMB = 2 << 20 };
    OWNED_TEXT bomb = malloc(BOMB);
    struct text head = {.n = 0}, type = {.n = 0};
    struct err err = {0};
    size_t at = BOMB, n = 0;
    assert_non_null(bomb);
    for (bool is_first = true; at > 1024; is_first = false) {
        struct text tag = {.n = 0};
        put_number(&tag, 9 << 3 | (is_first ? 0 : 2));
        put_number(&tag, is_first ? 1 : n);
        at -= tag.n;
        memcpy(bomb + at, tag.bytes, tag.n);
        n = BOMB - at;
    }
    put_text(&type, 2, "Namespace");
    put(&head, "k8s", 4);
    put_part(&head, 1, &type);
    put_number(&head, 2 << 3 | 2);
    put_number(&head, n);
    at -= head.n;
    memcpy(bomb + at, head.bytes, head.n);
    OWNED(json_object) read = protobuf_read(bomb + at, BOMB - at, &err);
    assert_null(read);
    assert_int_equal(err.code, ERR_UNPROCESSABLE);
}

TEST_FILE(test_api_protobuf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_says_what_it_would_say_as_json),
        cmocka_unit_test(a_cut_or_broken_body_is_refused_or_read),
        cmocka_unit_test(long_texts_and_large_numbers_are_read_whole),
        cmocka_unit_test(a_deep_body_is_refused),
        cmocka_unit_test(what_is_not_known_is_refused_by_number_or_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
