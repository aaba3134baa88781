/* fuzz_read_yaml.c - objects written as YAML, cut into documents and items. */
#include <string.h>
#include <unistd.h>

#include "analyzer/read/read_json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_laws.h"

FUZZ_TARGET(read_yaml)
{
    struct read_laws laws;
    struct read_visitor visitor = read_laws_visitor(&laws);
    struct read_out out;
    struct input in;
    struct err err = {0};
    int fd = read_laws_fd(data, n);
    bool is_open = read_out_init(&out, &visitor, &err) && input_open(&in, fd, "f", &out, &err);
    FUZZ_LAW(is_open, "no memory");
    OWNED(pieces) pieces = pieces_new(&out, &err);
    struct json_reading reading = {.out = &out, .pieces = pieces, .name = "f"};
    FUZZ_LAW(pieces != NULL, "no memory");
    FUZZ_LAW(yaml_objects_read(&in, &reading, &err), "broken YAML is the end: %s", err.text);
    for (size_t i = 0; i < pieces_documents(pieces); i++) {
        pieces_begin(pieces, i, "f");
        read_out_end(&out);
    }
    FUZZ_LAW(laws.documents == out.report.documents, "documents are miscounted");
    input_close(&in);
    read_out_fini(&out);
    (void)close(fd);
    return 0;
}
