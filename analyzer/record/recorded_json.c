/* recorded_json.c - a stored verdict as a document. See recorded.h. */
#include <string.h>

#include "analyzer/record/recorded.h"
#include "base/json.h"

static void add_recoverable(struct json_object *out, const char *recoverable)
{
    bool yes = strcmp(recoverable, recoverable_name(RECOVERABLE_YES)) == 0;
    if (yes || strcmp(recoverable, recoverable_name(RECOVERABLE_NO)) == 0)
        json_add_bool(out, "recoverable", yes);
    else
        json_add_text(out, "recoverable", recoverable);
}

static void add_points(struct json_object *out, const char *key,
                       const struct verdict_rows *verdict_rows, bool is_for)
{
    struct json_object *list = json_add_array(out, key);
    for (size_t i = 0; i < verdict_rows->n_points; i++) {
        const struct store_point *point = &verdict_rows->points[i];
        if ((strcmp(point->standing, point_role_name(POINT_FOR)) == 0) != is_for)
            continue;
        struct json_object *one = json_add_object(list, "");
        json_add_text(one, "rule", point->rule);
        json_add_text(one, "role", point->standing);
        json_add_text(one, "quote", point->quote);
        json_add_text(one, "origin", point->origin);
        json_add_text(one, "side", point->side);
        json_add_time(one, "at", point->at_ms);
        json_add_text(one, "proves", point->note);
    }
}

static void add_numbers(struct json_object *out, const struct verdict_rows *verdict_rows)
{
    struct json_object *numbers = json_add_object(out, "numbers");
    for (size_t i = 0; i < verdict_rows->n_numbers; i++) {
        const struct store_number *number = &verdict_rows->numbers[i];
        struct json_object *one = json_add_object(numbers, number->name);
        json_add(one, "value", json_object_new_double(number->value));
        if (number->unit[0] != '\0')
            json_add_text(one, "unit", number->unit);
    }
}

struct json_object *recorded_json(const struct verdict_rows *verdict_rows, const char *id)
{
    const struct store_verdict *verdict = &verdict_rows->verdict;
    struct json_object *out = json_object_new_object();
    json_add_text(out, "id", id);
    json_add_text(out, "outcome", verdict->outcome);
    json_add_text(out, "plane", verdict->plane);
    json_add_text(out, "family", verdict->family);
    json_add_text(out, "cause", verdict->cause);
    if (verdict->resembles[0] != '\0')
        json_add_text(out, "resembles", verdict->resembles);
    json_add_text(out, "failed_at", verdict->failed_at);
    json_add(out, "confidence", json_object_new_double((double)verdict->confidence_percent / 100));
    json_add(out, "family_confidence",
             json_object_new_double((double)verdict->family_percent / 100));
    add_recoverable(out, verdict->recoverable);
    json_add_text(out, "guest", verdict->guest_at);
    json_add_bool(out, "irrecoverable", verdict->irrecoverable);
    add_points(out, "evidence", verdict_rows, true);
    add_points(out, "counter_evidence", verdict_rows, false);
    add_numbers(out, verdict_rows);
    json_add_text(out, "action", verdict->action);
    json_add_text(out, "runbook", verdict->runbook);
    json_add_text(out, "rule", verdict->rule);
    json_add_text(out, "rules_version", verdict->rules_version);
    json_add_time(out, "ended", verdict->at_ms);
    json_add_time(out, "judged", verdict->judged_ms);
    return out;
}
