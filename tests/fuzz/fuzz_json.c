/* fuzz_json.c - the JSON parser, readers and writers. The first line is a path to read at. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

static const char *write_plain(struct json_object *value)
{
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
    FUZZ_LAW(text != NULL, "a parsed document cannot be written");
    return text;
}

/* What was parsed and written parses again to the same. */
static void law_of_the_round_trip(struct json_object *value)
{
    struct err err = {0};
    const char *text = write_plain(value);
    OWNED(json_object) again = json_parse(text, strlen(text), "again", &err);
    FUZZ_LAW(again != NULL, "our own text is refused: %s", err.text);
    FUZZ_LAW(json_object_equal(value, again) != 0, "another document after a round trip: %s", text);
}

/* A reader gives a value, a fallback, or one error that names a place. */
static void law_of_the_readers(struct json_object *value, const char *path)
{
    struct json_object *at = json_at(value, path);
    struct err text_err = {0}, number_err = {0}, bool_err = {0};
    const char *text = NULL;
    int64_t number = 0;
    bool flag = false;
    bool is_text = json_get_text(value, path, "fallback", &text, &text_err);
    bool is_number = json_get_i64(value, path, 7, &number, &number_err);
    bool is_flag = json_get_bool(value, path, true, &flag, &bool_err);
    FUZZ_LAW(is_text == (text_err.code == ERR_NONE), "a reader's word and its error differ");
    FUZZ_LAW(is_number == (number_err.code == ERR_NONE), "a reader's word and its error differ");
    FUZZ_LAW(is_flag == (bool_err.code == ERR_NONE), "a reader's word and its error differ");
    if (at != NULL)
        FUZZ_LAW(is_text + is_number + is_flag <= 1, "one value of two types");
    if (is_text)
        FUZZ_LAW(at == NULL ? strcmp(text, "fallback") == 0
                            : strcmp(text, json_object_get_string(at)) == 0,
                 "another text than the one that is there");
    if (is_number && at == NULL)
        FUZZ_LAW(number == 7, "no fallback");
}

/* Any text can be put into a document, and comes out as it was if it was UTF-8. */
static void law_of_any_text(const char *text)
{
    OWNED(json_object) object = json_object_new_object();
    json_add_text(object, "text", text);
    const char *written = write_plain(object), *read = NULL;
    struct err err = {0};
    OWNED(json_object) again = json_parse(written, strlen(written), "again", &err);
    FUZZ_LAW(again != NULL, "text that was made UTF-8 is refused: %s", err.text);
    FUZZ_LAW(json_get_text(again, "text", NULL, &read, &err) && read != NULL, "no text came out");
    const char *end = text;
    for (size_t bytes; (bytes = text_utf8_bytes(end)) > 0;)
        end += bytes;
    if (*end == '\0')
        FUZZ_LAW(strcmp(read, text) == 0, "UTF-8 text came out changed");
}

FUZZ_TARGET(json)
{
    const uint8_t *line = n > 0 ? memchr(data, '\n', n) : NULL;
    size_t path_bytes = line == NULL ? 0 : (size_t)(line - data);
    size_t used = line == NULL ? 0 : path_bytes + 1;
    OWNED_TEXT path = fuzz_text(data, path_bytes);
    OWNED_TEXT text = fuzz_text(data + used, n - used);
    struct err err = {0};
    OWNED(json_object) value = json_parse((const char *)data + used, n - used, "doc", &err);
    FUZZ_LAW((value == NULL) == (err.code != ERR_NONE), "failing without a reason, or with both");
    if (value == NULL) {
        FUZZ_LAW(strncmp(err.text, "doc: line ", 10) == 0, "no place in: %s", err.text);
    } else {
        law_of_the_round_trip(value);
        law_of_the_readers(value, path);
    }
    law_of_any_text(text);
    return 0;
}
