/* rows.c - see rows.h. Column names are the field names, except where SQL has the word. */
#include "store/rows.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEXT_AS(row, field, name) name, COLUMN_TEXT, offsetof(struct row, field), 0
#define TEXT(row, field) TEXT_AS(row, field, #field)
#define BYTES(row, field) sizeof(((struct row *)NULL)->field)
#define ARRAY(row, field) #field, COLUMN_ARRAY, offsetof(struct row, field), BYTES(row, field)
#define INT(row, field) #field, COLUMN_INT, offsetof(struct row, field), 0
#define REAL(row, field) #field, COLUMN_REAL, offsetof(struct row, field), 0
#define BOOL(row, field) #field, COLUMN_BOOL, offsetof(struct row, field), 0

#define TYPE_TEXT(detail) COLUMN_TEXT
#define TYPE_WORD(detail) COLUMN_TEXT
#define TYPE_I64(detail) COLUMN_INT
#define TYPE_U64(detail) COLUMN_INT
#define TYPE_UINT(detail) COLUMN_INT
#define TYPE_TIME(detail) COLUMN_INT
#define TYPE_BOOL(detail) COLUMN_BOOL
#define TYPE_HAND(as) TYPE_##as()
static const struct column job_columns[] = {
#define JOB_FIELD(at, kind, detail, member, column, ...) \
    {column, TYPE_##kind(detail), offsetof(struct store_job, at member), 0},
#include "store/job_fields.def"
#undef JOB_FIELD
};
static const struct column transition_columns[] = {
    {TEXT(store_transition, job_uid)},
    {INT(store_transition, seq)},
    {TEXT_AS(store_transition, from, "from_phase")},
    {TEXT_AS(store_transition, to, "to_phase")},
    {TEXT(store_transition, why)},
    {INT(store_transition, at_ms)},
    {INT(store_transition, spent_ms)},
};
static const struct column intent_columns[] = {
    {TEXT(store_intent, job_uid)}, {INT(store_intent, epoch)},    {INT(store_intent, seq)},
    {TEXT(store_intent, action)},  {TEXT(store_intent, node)},    {TEXT(store_intent, argument)},
    {TEXT(store_intent, status)},  {INT(store_intent, asked_ms)}, {INT(store_intent, done_ms)},
    {TEXT(store_intent, err)},     {INT(store_intent, hv_code)},  {INT(store_intent, hv_domain)},
    {TEXT(store_intent, text)},    {INT(store_intent, times)},    {INT(store_intent, first_ms)},
};
static const struct column observation_columns[] = {
    {TEXT(store_observation, job_uid)}, {TEXT(store_observation, node)},
    {TEXT(store_observation, role)},    {TEXT(store_observation, presence)},
    {TEXT(store_observation, state)},   {TEXT(store_observation, reason)},
    {TEXT(store_observation, moment)},  {INT(store_observation, at_ms)},
};
static const struct column error_columns[] = {
    {TEXT(store_error, job_uid)}, {TEXT(store_error, node)},     {TEXT(store_error, call)},
    {INT(store_error, hv_code)},  {INT(store_error, hv_domain)}, {INT(store_error, at_ms)},
    {TEXT(store_error, text)},
};
static const struct column mode_columns[] = {
    {TEXT(store_mode, job_uid)},
    {TEXT(store_mode, mode)},
    {TEXT(store_mode, cause)},
    {INT(store_mode, at_ms)},
};
static const struct column decision_columns[] = {
    {TEXT(store_decision, job_uid)},      {INT(store_decision, seq)},
    {INT(store_decision, at_ms)},         {TEXT(store_decision, monitor)},
    {BOOL(store_decision, shadow)},       {TEXT(store_decision, decision)},
    {TEXT(store_decision, action)},       {TEXT(store_decision, text)},
    {INT(store_decision, downtime_ms)},   {INT(store_decision, elapsed_ms)},
    {INT(store_decision, budget_ms)},     {INT(store_decision, estimate_ms)},
    {INT(store_decision, remaining)},     {INT(store_decision, low_water)},
    {INT(store_decision, bandwidth_bps)}, {INT(store_decision, dirty_bps)},
    {INT(store_decision, iteration)},
};
static const struct column event_columns[] = {
    {TEXT(store_event, kind)},    {TEXT(store_event, ns)},   {TEXT(store_event, name)},
    {TEXT(store_event, uid)},     {TEXT(store_event, type)}, {TEXT(store_event, reason)},
    {TEXT(store_event, message)}, {INT(store_event, at_ms)}, {INT(store_event, first_ms)},
    {INT(store_event, count)},
};
static const struct column object_columns[] = {
    {TEXT(store_object, kind)},
    {TEXT(store_object, ns)},
    {TEXT(store_object, name)},
    {TEXT(store_object, uid)},
    {TEXT(store_object, requester)},
    {TEXT(store_object, spec_json)},
    {TEXT(store_object, metadata_json)},
    {TEXT(store_object, status_json)},
    {INT(store_object, created_ms)},
    {INT(store_object, changed_ms)},
    {INT(store_object, resource_version)},
    {BOOL(store_object, removed)},
};
static const struct column rejection_columns[] = {
    {TEXT(store_rejection, job_uid)},  {TEXT(store_rejection, node)},
    {TEXT(store_rejection, reason)},   {TEXT(store_rejection, detail)},
    {BOOL(store_rejection, for_ever)}, {INT(store_rejection, at_ms)},
};
static const struct column verdict_columns[] = {
    {TEXT(store_verdict, job_uid)},       {INT(store_verdict, at_ms)},
    {TEXT(store_verdict, outcome)},       {TEXT(store_verdict, plane)},
    {TEXT(store_verdict, cause)},         {TEXT(store_verdict, failed_at)},
    {TEXT(store_verdict, recoverable)},   {TEXT(store_verdict, guest_at)},
    {BOOL(store_verdict, irrecoverable)}, {INT(store_verdict, confidence_percent)},
    {TEXT(store_verdict, rule)},          {TEXT(store_verdict, rules_version)},
    {TEXT(store_verdict, action)},        {TEXT(store_verdict, runbook)},
    {INT(store_verdict, judged_ms)},      {TEXT(store_verdict, family)},
    {TEXT(store_verdict, resembles)},     {INT(store_verdict, family_percent)},
};
static const struct column point_columns[] = {
    {TEXT(store_point, job_uid)}, {INT(store_point, seq)},    {TEXT(store_point, standing)},
    {TEXT(store_point, rule)},    {TEXT(store_point, side)},  {TEXT(store_point, origin)},
    {INT(store_point, at_ms)},    {TEXT(store_point, quote)}, {TEXT(store_point, note)},
};
static const struct column number_columns[] = {
    {TEXT(store_number, job_uid)}, {INT(store_number, seq)},   {TEXT(store_number, name)},
    {REAL(store_number, value)},   {TEXT(store_number, unit)},
};
static const struct column evidence_columns[] = {
    {TEXT(store_evidence, job_uid)}, {INT(store_evidence, seq)},   {TEXT(store_evidence, side)},
    {TEXT(store_evidence, origin)},  {INT(store_evidence, at_ms)}, {TEXT(store_evidence, key)},
    {TEXT(store_evidence, text)},
};
static const struct column incident_columns[] = {
    {TEXT(store_incident, job_uid)},     {TEXT(store_incident, ns)},
    {TEXT(store_incident, name)},        {TEXT(store_incident, node)},
    {TEXT(store_incident, plane)},       {TEXT(store_incident, cause)},
    {TEXT(store_incident, kind)},        {INT(store_incident, opened_ms)},
    {INT(store_incident, closed_ms)},    {TEXT(store_incident, closed_by)},
    {TEXT(store_incident, closed_why)},  {TEXT(store_incident, migration)},
    {TEXT(store_incident, source_node)}, {TEXT(store_incident, target_node)},
    {TEXT(store_incident, guest_at)},    {INT(store_incident, ended_ms)},
};
static const struct column sample_columns[] = {
    {ARRAY(store_sample, job_uid)},
    {INT(store_sample, seq)},
    {ARRAY(store_sample, source)},
    {INT(store_sample, at_ms)},
    {INT(store_sample, mono_ms)},
    {INT(store_sample, time_elapsed_ms)},
    {INT(store_sample, downtime_ms)},
    {INT(store_sample, setup_ms)},
    {INT(store_sample, data_total)},
    {INT(store_sample, data_processed)},
    {INT(store_sample, data_remaining)},
    {INT(store_sample, memory_total)},
    {INT(store_sample, memory_processed)},
    {INT(store_sample, memory_remaining)},
    {INT(store_sample, memory_bps)},
    {INT(store_sample, memory_dirty_rate)},
    {INT(store_sample, memory_page_size)},
    {INT(store_sample, memory_iteration)},
    {INT(store_sample, memory_postcopy_requests)},
    {INT(store_sample, memory_constant)},
    {INT(store_sample, memory_normal_bytes)},
    {INT(store_sample, disk_total)},
    {INT(store_sample, disk_processed)},
    {INT(store_sample, disk_remaining)},
    {INT(store_sample, disk_bps)},
    {INT(store_sample, throttle_percent)},
    {INT(store_sample, bandwidth_bps)},
};
static const struct column monitor_input_columns[] = {
    {ARRAY(store_monitor_input, job_uid)},  {INT(store_monitor_input, seq)},
    {ARRAY(store_monitor_input, kind)},     {INT(store_monitor_input, at_ms)},
    {INT(store_monitor_input, elapsed_ms)}, {INT(store_monitor_input, sample_seq)},
    {ARRAY(store_monitor_input, mode)},     {BOOL(store_monitor_input, stopped)},
    {BOOL(store_monitor_input, aborting)},  {BOOL(store_monitor_input, resumed)},
    {BOOL(store_monitor_input, vfio)},      {BOOL(store_monitor_input, tuning)},
    {BOOL(store_monitor_input, post_copy)}, {INT(store_monitor_input, memory_bytes)},
    {INT(store_monitor_input, disk_bytes)},
};

static const struct column audit_columns[] = {
    {INT(store_audit, at_ms)},     {ARRAY(store_audit, identity)}, {ARRAY(store_audit, role)},
    {ARRAY(store_audit, address)}, {ARRAY(store_audit, verb)},     {ARRAY(store_audit, resource)},
    {ARRAY(store_audit, ns)},      {ARRAY(store_audit, name)},     {BOOL(store_audit, accepted)},
    {INT(store_audit, status)},    {INT(store_audit, count)},
};

#undef TYPE_TEXT
#undef TYPE_WORD
#undef TYPE_I64
#undef TYPE_U64
#undef TYPE_UINT
#undef TYPE_TIME
#undef TYPE_BOOL
#undef TYPE_HAND
#undef TEXT_AS
#undef TEXT
#undef BYTES
#undef ARRAY
#undef INT
#undef REAL
#undef BOOL

const struct row_type *rows_type(enum row kind)
{
    static const struct row_type types[ROW_COUNT] = {
#define ROW(id, name, table, lane, key, again, order) \
    [ROW_##id] = {table, key, again, order, LANE_##lane, name##_columns, COUNT(name##_columns)},
#include "store/rows.def"
#undef ROW
    };
    assert(kind < ROW_COUNT);
    return &types[kind];
}

/* Appends to SQL under construction; the longest is far below the limit, a test says so. */
static size_t add(char *sql, size_t used, const char *text)
{
    int n = snprintf(sql + used, ROWS_SQL_MAX - used, "%s", text);
    assert(n >= 0 && used + (size_t)n < ROWS_SQL_MAX);
    return used + (size_t)n;
}

static size_t add_names(char *sql, size_t used, const struct row_type *type)
{
    for (size_t i = 0; i < type->column_count; i++) {
        used = add(sql, used, i == 0 ? "" : ", ");
        used = add(sql, used, type->columns[i].name);
    }
    return used;
}

static bool is_key(const struct row_type *type, const char *column)
{
    char list[64], word[64];
    (void)snprintf(list, sizeof list, ", %s,", type->key);
    (void)snprintf(word, sizeof word, ", %s,", column);
    return strstr(list, word) != NULL;
}

/* Every column but the key's, from the row that was to be inserted. */
static size_t add_replacement(char *sql, size_t used, const struct row_type *type)
{
    const char *between = ") DO UPDATE SET ";
    used = add(sql, used, "ON CONFLICT (");
    used = add(sql, used, type->key);
    for (size_t i = 0; i < type->column_count; i++) {
        if (is_key(type, type->columns[i].name))
            continue;
        used = add(sql, used, between);
        used = add(sql, used, type->columns[i].name);
        used = add(sql, used, " = excluded.");
        used = add(sql, used, type->columns[i].name);
        between = ", ";
    }
    return used;
}

void rows_insert_sql(enum row kind, const char *fence, char *out_sql)
{
    bool is_fenced = fence[0] != '\0';
    const struct row_type *type = rows_type(kind);
    size_t used = add(out_sql, 0, "INSERT INTO ");
    used = add(out_sql, used, type->table);
    used = add(out_sql, used, "(");
    used = add_names(out_sql, used, type);
    used = add(out_sql, used, is_fenced ? ") SELECT " : ") VALUES (");
    for (size_t i = 0; i < type->column_count; i++) {
        char parameter[16];
        (void)snprintf(parameter, sizeof parameter, i == 0 ? "$%zu" : ", $%zu", i + 1);
        used = add(out_sql, used, parameter);
    }
    used = add(out_sql, used, is_fenced ? " WHERE " : ")");
    used = add(out_sql, used, fence);
    used = add(out_sql, used, " ");
    if (type->key[0] != '\0')
        used = add_replacement(out_sql, used, type);
    (void)add(out_sql, used, type->again);
}

void rows_select_sql(enum row kind, const char *source, const char *tail, char *out_sql)
{
    const struct row_type *type = rows_type(kind);
    size_t used = add(out_sql, 0, "SELECT ");
    used = add_names(out_sql, used, type);
    used = add(out_sql, used, " FROM ");
    used = add(out_sql, used, source != NULL ? source : type->table);
    used = add(out_sql, used, " ");
    (void)add(out_sql, used, tail);
}

static struct sql_value value_of(const struct column *column, const void *field)
{
    struct sql_value value = {.type = SQL_INT};
    switch (column->type) {
    case COLUMN_TEXT:
        value.type = SQL_TEXT;
        value.text = *(const char *const *)field;
        value.text = value.text != NULL ? value.text : "";
        value.bytes = strlen(value.text);
        break;
    case COLUMN_ARRAY:
        value.type = SQL_TEXT;
        value.text = field;
        value.bytes = strnlen(value.text, column->bytes);
        break;
    case COLUMN_INT: value.number = *(const int64_t *)field; break;
    case COLUMN_REAL:
        value.type = SQL_REAL;
        value.real = *(const double *)field;
        break;
    case COLUMN_BOOL: value.number = *(const bool *)field; break;
    }
    return value;
}

size_t rows_values(enum row kind, const void *row, struct sql_value *out_values)
{
    const struct row_type *type = rows_type(kind);
    for (size_t i = 0; i < type->column_count; i++)
        out_values[i] = value_of(&type->columns[i], (const char *)row + type->columns[i].offset);
    return type->column_count;
}

static bool read_one(struct sql_cells *cells, int at, const struct column *column, void *field)
{
    const char *text = NULL;
    switch (column->type) {
    case COLUMN_TEXT:
        text = cells->text(cells, at);
        *(const char **)field = text;
        return text != NULL;
    case COLUMN_ARRAY:
        text = cells->text(cells, at);
        (void)snprintf(field, column->bytes, "%s", text != NULL ? text : "");
        return text != NULL;
    case COLUMN_INT: *(int64_t *)field = cells->number(cells, at); return true;
    case COLUMN_REAL: *(double *)field = cells->real(cells, at); return true;
    case COLUMN_BOOL: *(bool *)field = cells->number(cells, at) != 0; return true;
    }
    return false;
}

bool rows_read(struct sql_cells *cells, enum row kind, union any_row *out_row)
{
    const struct row_type *type = rows_type(kind);
    for (size_t i = 0; i < type->column_count && !cells->failed; i++)
        cells->failed =
            !read_one(cells, (int)i, &type->columns[i], (char *)out_row + type->columns[i].offset);
    return !cells->failed;
}
