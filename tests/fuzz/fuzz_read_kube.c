/* fuzz_read_kube.c - objects of Kubernetes, as JSON or YAML, one per paragraph, in any order. */
#include <string.h>

#include "analyzer/read/read_kube.h"
#include "base/yaml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_laws.h"

static void read_object(struct pieces *pieces, const char *text, size_t n)
{
    struct err err = {0};
    OWNED(json_object) object = json_parse(text, n, "object", &err);
    if (object == NULL) {
        err = (struct err){0};
        OWNED(yaml) yaml = yaml_parse(text, n, "object", &err);
        if (yaml != NULL && yaml_document_count(yaml) > 0)
            object = yaml_to_json(yaml_document(yaml, 0));
    }
    if (kube_is_object(object, "PodList"))
        kube_read(pieces, object, "PodList", "fuzz");
}

/* Every document is begun and ended, and each has a name. */
static void law_of_documents(struct pieces *pieces, struct read_out *out)
{
    size_t n = pieces_documents(pieces);
    FUZZ_LAW(n <= PIECES_MIGRATIONS_MAX, "too many documents");
    for (size_t i = 0; i < n; i++) {
        pieces_begin(pieces, i, "fuzz");
        read_out_end(out);
    }
}

FUZZ_TARGET(read_kube)
{
    struct read_laws laws;
    struct read_visitor visitor = read_laws_visitor(&laws);
    struct read_out out;
    struct err err = {0};
    struct tags tags;
    OWNED_TEXT text = fuzz_text(data, n);
    if (!read_out_init(&out, &visitor, &err))
        return 0;
    OWNED(pieces) pieces = pieces_new(&out, &err);
    FUZZ_LAW(pieces != NULL, "no memory");
    for (const char *at = text, *end; *at != '\0'; at = *end == '\0' ? end : end + 2) {
        end = strstr(at, "\n\n");
        if (end == NULL)
            end = at + strlen(at);
        read_object(pieces, at, (size_t)(end - at));
    }
    law_of_documents(pieces, &out);
    read_laws_check(&laws, &out.report, laws.documents > 0,
                    &(struct err){.code = laws.documents > 0 ? ERR_NONE : ERR_INVALID});
    (void)kube_tags_of_path(text, &tags);
    read_out_fini(&out);
    return 0;
}
