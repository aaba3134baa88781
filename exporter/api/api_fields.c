/* api_fields.c - the fields of a job that the API shows as they are stored: store/job_fields.def.
 */
#include "exporter/api/api.h"

enum show { ALWAYS, UNLESS_EMPTY, UNLESS_NEGATIVE };

static void add_text(struct json_object *out, const char *key, enum show show, const char *text)
{
    if (show == ALWAYS || text[0] != '\0')
        json_add_text(out, key, text);
}

static void add_number(struct json_object *out, const char *key, enum show show, int64_t value)
{
    if ((show != UNLESS_NEGATIVE || value >= 0) && (show != UNLESS_EMPTY || value != 0))
        json_add_i64(out, key, value);
}

static void add_bool(struct json_object *out, const char *key, enum show show, bool value)
{
    if (show == ALWAYS || value)
        json_add_bool(out, key, value);
}

#define ADD_TEXT(detail, key, show, value) add_text(out, key, show, value)
#define ADD_WORD(word, key, show, value) add_text(out, key, show, JOB_WORD_TEXT word(value))
#define ADD_I64(detail, key, show, value) add_number(out, key, show, value)
#define ADD_U64(detail, key, show, value) add_number(out, key, show, (int64_t)value)
#define ADD_UINT(detail, key, show, value) add_number(out, key, show, value)
#define ADD_TIME(detail, key, show, value) json_add_time(out, key, value) /* 0: left out */
#define ADD_BOOL(detail, key, show, value) add_bool(out, key, show, value)

#define IN(object, add)               \
    if (where == JOB_OBJECT_##object) \
        add;
#define SHOW_HIDDEN(object, add)
#define SHOW_ALWAYS(object, add) IN(object, add)
#define SHOW_UNLESS_EMPTY(object, add) IN(object, add)
#define SHOW_UNLESS_NEGATIVE(object, add) IN(object, add)

void api_add_fields(struct json_object *out, enum job_object where, const struct snapshot_job *job)
{
#define JOB_FIELD(at, kind, detail, member, column, api, object, key, help) \
    SHOW_##api(object, ADD_##kind(detail, key, api, job->at member))
#include "store/job_fields.def"
#undef JOB_FIELD
}
