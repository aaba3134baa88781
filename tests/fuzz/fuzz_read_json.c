/* fuzz_read_json.c - JSON values found in a stream, as lines and not. */
#include <string.h>
#include <unistd.h>

#include "analyzer/read/read_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_laws.h"

struct seen {
    unsigned values;
    int line;
};

static void count_value(void *ctx, const struct value *value)
{
    struct seen *seen = ctx;
    FUZZ_LAW(value->object != NULL, "a value that is none");
    FUZZ_LAW(value->line >= seen->line, "lines go backwards");
    FUZZ_LAW(value->list_kind != NULL && strlen(value->list_kind) < 64, "a kind without bounds");
    seen->line = value->line;
    seen->values++;
}

/* What one parser takes for a document is one value for the scanner, unless it is a list. */
static void law_of_a_whole_document(const uint8_t *data, size_t n, const struct seen *seen,
                                    bool is_fine)
{
    struct err err = {0};
    OWNED(json_object) whole = json_parse((const char *)data, n, "whole", &err);
    if (whole == NULL)
        return;
    FUZZ_LAW(is_fine, "a document that cannot be scanned");
    if (!json_object_is_type(whole, json_type_array) && json_at(whole, "items") == NULL)
        FUZZ_LAW(seen->values == 1, "%u values in one document", seen->values);
}

static bool scan(const uint8_t *data, size_t n, bool is_by_line, struct seen *out_seen)
{
    struct read_laws laws;
    struct read_visitor visitor = read_laws_visitor(&laws);
    struct read_out out;
    struct input in;
    struct err err = {0};
    struct values_taker taker = {.ctx = out_seen, .take = count_value};
    int fd = read_laws_fd(data, n);
    bool is_fine = read_out_init(&out, &visitor, &err) && input_open(&in, fd, "f", &out, &err);
    FUZZ_LAW(is_fine, "no memory");
    is_fine = values_read(&in, is_by_line, &taker, &err);
    FUZZ_LAW(is_fine == (err.code == ERR_NONE), "failing without a reason, or with both");
    FUZZ_LAW(is_fine || !is_by_line, "a broken line is the end: %s", err.text);
    FUZZ_LAW(is_fine || strncmp(err.text, "f: line ", 8) == 0, "no place in: %s", err.text);
    input_close(&in);
    read_out_fini(&out);
    (void)close(fd);
    return is_fine;
}

FUZZ_TARGET(read_json)
{
    struct seen whole = {0}, lines = {0};
    bool is_fine = scan(data, n, false, &whole);
    law_of_a_whole_document(data, n, &whole, is_fine);
    (void)scan(data, n, true, &lines);
    (void)values_are_lines((const char *)data, n);
    return 0;
}
