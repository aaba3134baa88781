/* verdict_json.c - a verdict as a JSON document. See verdict.h. */
#include <stdio.h>

#include "analyzer/judge/verdict.h"

/* Shortest exact form: 0.89, not 0.8899999999999999. */
static void add_double(struct json_object *out, const char *key, double value, int digits)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    json_add(out, key, json_object_new_double_s(value, text));
}

static void add_recoverable(struct json_object *out, enum recoverable recoverable)
{
    if (recoverable == RECOVERABLE_UNKNOWN)
        json_add_text(out, "recoverable", recoverable_name(recoverable));
    else
        json_add_bool(out, "recoverable", recoverable == RECOVERABLE_YES);
}

static void add_point(struct json_object *list, const struct verdict_point *point)
{
    struct json_object *out = json_add_object(list, "");
    json_add_text(out, "rule", point->rule);
    json_add_text(out, "role", point_role_name(point->role));
    json_add_text(out, "cause", cause_row(point->cause)->name);
    json_add_text(out, "quote", point->quote);
    json_add_text(out, "origin", point->origin);
    json_add_text(out, "side", side_name(point->side));
    json_add_time(out, "at", point->at_ms);
    json_add_text(out, "proves", point->proves);
}

static void add_points(struct json_object *out, const char *key, const struct verdict *verdict,
                       bool is_for)
{
    struct json_object *list = json_add_array(out, key);
    for (unsigned i = 0; i < verdict->n_points; i++)
        if ((verdict->points[i].role == POINT_FOR) == is_for)
            add_point(list, &verdict->points[i]);
}

static void add_numbers(struct json_object *out, const struct verdict *verdict)
{
    struct json_object *numbers = json_add_object(out, "numbers");
    for (unsigned i = 0; i < verdict->n_numbers; i++) {
        const struct verdict_number *number = &verdict->numbers[i];
        struct json_object *one = json_add_object(numbers, number->name);
        add_double(one, "value", number->value, 15);
        if (number->unit[0] != '\0')
            json_add_text(one, "unit", number->unit);
    }
}

struct json_object *verdict_json(const struct verdict *verdict, const char *id)
{
    struct json_object *out = json_object_new_object();
    json_add_text(out, "id", id);
    json_add_text(out, "outcome",
                  verdict->outcome == OUTCOME_NONE ? "unknown" : outcome_name(verdict->outcome));
    json_add_text(out, "plane", plane_name(verdict->plane));
    json_add_text(out, "family", family_name(verdict->family));
    json_add_text(out, "cause", cause_row(verdict->cause)->name);
    if (verdict->resembles != CAUSE_NONE)
        json_add_text(out, "resembles", cause_row(verdict->resembles)->name);
    json_add_text(out, "failed_at", failed_at_name(verdict->failed_at));
    add_double(out, "confidence", verdict->confidence, 2);
    add_double(out, "family_confidence", verdict->family_confidence, 2);
    add_recoverable(out, verdict->recoverable);
    json_add_text(out, "guest", guest_at_name(verdict->guest));
    json_add_bool(out, "irrecoverable", verdict->irrecoverable);
    add_points(out, "evidence", verdict, true);
    add_points(out, "counter_evidence", verdict, false);
    add_numbers(out, verdict);
    json_add_text(out, "action", verdict->action);
    json_add_text(out, "runbook", cause_row(verdict->cause)->runbook);
    json_add_text(out, "rule", verdict->rule);
    json_add_text(out, "rules_version", verdict->rules_version);
    return out;
}
