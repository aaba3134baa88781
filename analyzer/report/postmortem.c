/* postmortem.c - see postmortem.h: rows become lines, facts and settings. */
#include "analyzer/report/postmortem.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyzer/judge/verdict.h"
#include "analyzer/report/postmortem_inside.h"
#include "base/clock.h"
#include "base/human.h"
#include "base/json.h"
#include "engine/model/settings/migration_config.h"

const char *pm_kind_name(enum pm_kind kind)
{
    static const char *const names[] = {
#define PM_KIND(id, name) name,
#include "analyzer/report/postmortem.def"
#undef PM_KIND
    };
    assert(kind < PM_KIND_COUNT);
    return names[kind];
}

const char *pm_side_name(enum pm_side side)
{
    static const char *const names[PM_SIDE_COUNT] = {"ferry", "source", "target"};
    assert(side < PM_SIDE_COUNT);
    return names[side];
}

/* ---- words ---- */

void pm_clean(char *out, size_t n, const char *text)
{
    size_t used = 0;
    while (*text != '\0' && used + 5 < n) {
        size_t bytes = text_utf8_bytes(text);
        bool is_control = (unsigned char)*text < ' ' || *text == 0x7f ||
                          ((unsigned char)*text == 0xc2 && (unsigned char)text[1] < 0xa0);
        if (bytes == 0 || is_control) {
            out[used++] = bytes == 0 ? '?' : ' ';
            text += bytes == 0 ? 1 : bytes;
            continue;
        }
        memcpy(out + used, text, bytes);
        used += bytes;
        text += bytes;
    }
    if (*text != '\0' && used + 4 <= n) {
        memcpy(out + used, "\xe2\x80\xa6", 3); /* an ellipsis */
        used += 3;
    }
    out[used] = '\0';
}

void pm_cause(const struct store_verdict *verdict, char *out, size_t out_bytes)
{
    bool is_known = strcmp(verdict->cause, cause_row(CAUSE_UNKNOWN)->name) != 0;
    (void)snprintf(out, out_bytes, "%s%s%s", is_known ? verdict->cause : "not known",
                   is_known || verdict->resembles[0] == '\0' ? "" : "; it resembles ",
                   is_known ? "" : verdict->resembles);
}

void pm_bytes(int64_t bytes, char *out)
{
    human_bytes(bytes > 0 ? (uint64_t)bytes : 0, out);
}

void pm_number(double value, const char *unit, char *out)
{
    bool fits = value >= 0 && value < 1e18;
    if (fits && strcmp(unit, "bytes") == 0)
        pm_bytes((int64_t)value, out);
    else if (fits && strcmp(unit, "bytes/s") == 0)
        human_rate((uint64_t)value, out);
    else if (fits && strcmp(unit, "ms") == 0)
        human_duration((int64_t)value, out);
    else
        (void)snprintf(out, PM_NUMBER_MAX, "%.15g %.16s", value, unit);
}

void pm_clock(int64_t wall_ms, char *out)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    char text[16] = "?";
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(text, sizeof text, "%H:%M:%S", &parts);
    (void)snprintf(out, PM_NUMBER_MAX, "%s.%03d", text, (int)(wall_ms % 1000));
}

void pm_after(const struct postmortem *pm, int64_t at_ms, char *out)
{
    (void)snprintf(out, PM_NUMBER_MAX, "%+.3f s", (double)(at_ms - pm->zero_ms) / 1000);
}

/* ---- the timeline ---- */

static enum pm_side side_of(const struct archive *a, const char *node)
{
    if (node[0] != '\0' && strcmp(node, a->job.source) == 0)
        return PM_SOURCE;
    return node[0] != '\0' && strcmp(node, a->job.target) == 0 ? PM_TARGET : PM_FERRY;
}

static enum pm_side side_named(const char *name)
{
    return strcmp(name, "source") == 0   ? PM_SOURCE
           : strcmp(name, "target") == 0 ? PM_TARGET
                                         : PM_FERRY;
}

/* A line to be filled in; NULL when there are too many, or no memory. */
static struct pm_line *add(struct postmortem *pm, int64_t at_ms, enum pm_kind kind,
                           enum pm_side side)
{
    if (pm->n_lines == POSTMORTEM_LINES_MAX || at_ms <= 0) {
        pm->n_left_out += at_ms > 0;
        return NULL;
    }
    if (pm->n_lines == pm->max_lines) {
        size_t more = pm->max_lines == 0 ? 64 : pm->max_lines * 2;
        struct pm_line *lines = reallocarray(pm->lines, more, sizeof *lines);
        if (lines == NULL) {
            pm->n_left_out++;
            return NULL;
        }
        pm->lines = lines;
        pm->max_lines = more;
    }
    struct pm_line *line = &pm->lines[pm->n_lines];
    *line = (struct pm_line){.at_ms = at_ms, .order = pm->n_lines++, .kind = kind, .side = side};
    return line;
}

static void fill_line(struct pm_line *line, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fill_line(struct pm_line *line, const char *what, const char *fmt, ...)
{
    char text[2 * POSTMORTEM_TEXT_MAX];
    if (line == NULL)
        return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pm_clean(line->what, sizeof line->what, what);
    pm_clean(line->detail, sizeof line->detail, text);
}

static void mark_bad(struct pm_line *line, bool is_bad)
{
    if (line != NULL)
        line->is_bad = is_bad;
}

static void add_phases(struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    for (size_t i = 0; i < a->transitions.n; i++) {
        const struct store_transition *row = &a->transitions.rows[i];
        char spent[PM_NUMBER_MAX];
        human_duration(row->spent_ms, spent);
        struct pm_line *line = add(pm, row->at_ms, PM_PHASE, PM_FERRY);
        if (row->from[0] == '\0')
            fill_line(line, row->to, "%s", row->why);
        else
            fill_line(line, row->to, "%s, after %s in %s", row->why, spent, row->from);
        mark_bad(line, strcmp(row->to, "Failed") == 0);
    }
}

static void add_intents(struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    for (size_t i = 0; i < a->intents.n; i++) {
        const struct store_intent *row = &a->intents.rows[i];
        enum pm_side side = side_of(a, row->node);
        bool worked = strcmp(row->err, "none") == 0;
        char spent[PM_NUMBER_MAX], times[40] = "";
        if (row->times > 1)
            (void)snprintf(times, sizeof times, " (%lld times)", (long long)row->times);
        fill_line(add(pm, row->first_ms > 0 ? row->first_ms : row->asked_ms, PM_ASKED, side),
                  row->action, "%s%s%s", row->node, row->argument[0] != '\0' ? ": " : "",
                  row->argument);
        if (row->done_ms <= 0)
            continue;
        human_duration(row->done_ms - row->asked_ms, spent);
        struct pm_line *line = add(pm, row->done_ms, PM_ANSWERED, side);
        if (worked)
            fill_line(line, row->action, "done, after %s%s", spent, times);
        else
            fill_line(line, row->action, "%s after %s%s: %s", row->err, spent, times, row->text);
        mark_bad(line, !worked);
    }
}

static void add_observations(struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    for (size_t i = 0; i < a->observations.n; i++) {
        const struct store_observation *row = &a->observations.rows[i];
        struct pm_line *line = add(pm, row->at_ms, PM_SEEN, side_named(row->role));
        if (row->state[0] != '\0')
            fill_line(line, row->presence, "%s(%s) on %s, %s", row->state, row->reason, row->node,
                      row->moment);
        else
            fill_line(line, row->presence, "on %s, %s", row->node, row->moment);
        mark_bad(line, strcmp(row->presence, "unreachable") == 0);
    }
}

static void add_rest(struct postmortem *pm)
{
    const struct archive *a = pm->archive;
    for (size_t i = 0; i < a->errors.n; i++) {
        const struct store_error *row = &a->errors.rows[i];
        struct pm_line *line = add(pm, row->at_ms, PM_ERROR, side_of(a, row->node));
        fill_line(line, row->call, "libvirt error %" PRId64 " of domain %" PRId64 ": %s",
                  row->hv_code, row->hv_domain, row->text);
        mark_bad(line, true);
    }
    for (size_t i = 0; i < a->modes.n; i++)
        fill_line(add(pm, a->modes.rows[i].at_ms, PM_MODE, PM_FERRY), a->modes.rows[i].mode, "%s",
                  a->modes.rows[i].cause);
    for (size_t i = 0; i < a->decisions.n; i++) {
        const struct store_decision *row = &a->decisions.rows[i];
        if (row->shadow)
            continue;
        struct pm_line *line = add(pm, row->at_ms, PM_DECISION, PM_FERRY);
        fill_line(line, row->decision, "%s%s%s", row->text,
                  strcmp(row->action, "nothing") == 0 ? "" : " -> ",
                  strcmp(row->action, "nothing") == 0 ? "" : row->action);
        mark_bad(line, strcmp(row->action, "abort") == 0);
    }
    for (size_t i = 0; i < a->evidence.n; i++)
        fill_line(add(pm, a->evidence.rows[i].at_ms, PM_EVIDENCE,
                      side_named(a->evidence.rows[i].side)),
                  a->evidence.rows[i].origin, "%s%s%s", a->evidence.rows[i].key,
                  a->evidence.rows[i].key[0] != '\0' ? " = " : "", a->evidence.rows[i].text);
    for (size_t i = 0; i < a->events.n; i++) {
        struct pm_line *line = add(pm, a->events.rows[i].at_ms, PM_EVENT, PM_FERRY);
        fill_line(line, a->events.rows[i].reason, "%s", a->events.rows[i].message);
        mark_bad(line, strcmp(a->events.rows[i].type, "Warning") == 0);
    }
}

static int by_time(const void *x, const void *y)
{
    const struct pm_line *a = x, *b = y;
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* ---- facts and settings ---- */

static void fact(struct postmortem *pm, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void fact(struct postmortem *pm, const char *name, const char *fmt, ...)
{
    char text[2 * POSTMORTEM_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (text[0] == '\0' || pm->n_facts == POSTMORTEM_FACTS_MAX)
        return;
    struct pm_fact *one = &pm->facts[pm->n_facts++];
    TEXT_SET(one->name, name);
    pm_clean(one->value, sizeof one->value, text);
}

static void fact_time(struct postmortem *pm, const char *name, int64_t wall_ms)
{
    char text[CLOCK_TEXT_MAX];
    if (wall_ms <= 0)
        return;
    clock_format_wall(wall_ms, text);
    fact(pm, name, "%s", text);
}

static void fact_final(struct postmortem *pm)
{
    const struct store_job *job = &pm->archive->job;
    char total[PM_NUMBER_MAX], down[PM_NUMBER_MAX], sent[PM_NUMBER_MAX], low[PM_NUMBER_MAX],
        high[PM_NUMBER_MAX];
    if (job->final.from[0] != '\0') {
        human_duration(job->final.total_ms, total);
        human_duration(job->final.downtime_ms, down);
        pm_bytes(job->final.bytes, sent);
        fact(pm, "Transferred", "%s in %s, %" PRId64 " iterations", sent, total,
             job->final.iterations);
        fact(pm, "Downtime", "%s", down);
    }
    if (job->forecast.percent < 0)
        return;
    human_duration(job->forecast.total_ms, total);
    human_duration(job->forecast.low_ms, low);
    human_duration(job->forecast.high_ms, high);
    fact(pm, "Forecast", "%s (%s to %s), converges with a probability of %" PRId64 " %%", total,
         low, high, job->forecast.percent);
}

static void add_facts(struct postmortem *pm)
{
    const struct store_job *job = &pm->archive->job;
    char took[PM_NUMBER_MAX];
    fact(pm, "Guest", "%s/%s (%s)", job->ns, job->guest_name, job->guest_uuid);
    fact(pm, "From", "%s", job->source);
    fact(pm, "To", "%s", job->target[0] != '\0' ? job->target : "none chosen");
    fact(pm, "Outcome", "%s", job->result.outcome[0] != '\0' ? job->result.outcome : "in progress");
    fact(pm, "Guest is", "%s", job->resolution.guest_at);
    fact(pm, "Mode", "%s", job->mode);
    fact(pm, "Reason", "%s", job->result.failure_reason);
    fact(pm, "Requested by", "%s%s%s", job->request.requester,
         job->request.origin[0] != '\0' ? ", " : "", job->request.origin);
    if (job->abort.requester[0] != '\0' &&
        strstr(job->result.failure_reason, job->abort.why) == NULL)
        fact(pm, "Aborted by", "%s: %s", job->abort.requester, job->abort.why);
    fact(pm, "Policy", "%s", job->request.policy);
    fact_time(pm, "Accepted", job->times.created_ms);
    fact_time(pm, "Handed off", job->times.handed_off_ms);
    fact_time(pm, "Ended", job->times.ended_ms);
    if (job->times.ended_ms > 0 && job->times.handed_off_ms > 0) {
        human_duration(job->times.ended_ms - job->times.handed_off_ms, took);
        fact(pm, "Duration", "%s from hand-off to the end", took);
    }
    fact_final(pm);
    fact(pm, "Remedy", "%s", job->stream.remedy);
    fact(pm, "Recovery", "%s", job->recovery.state);
    fact(pm, "Identity", "%s", job->uid);
}

static void add_settings(struct postmortem *pm)
{
    struct migration_config plain;
    struct err ignored = {0};
    migration_config_default(&plain);
    OWNED(json_object) usual = migration_config_json(&plain);
    const char *text = pm->archive->job.call.config_json;
    OWNED(json_object)
    frozen = text[0] != '\0' ? json_parse(text, strlen(text), "configuration", &ignored) : NULL;
    for (enum setting s = 0; s < SETTING_COUNT && frozen != NULL; s++) {
        struct json_object *value = json_at(frozen, setting_name(s));
        struct json_object *was = json_at(usual, setting_name(s));
        if (value == NULL || pm->n_settings == POSTMORTEM_SETTINGS_MAX ||
            text_equal(json_object_to_json_string(value), json_object_to_json_string(was)))
            continue;
        struct pm_fact *one = &pm->settings[pm->n_settings++];
        TEXT_SET(one->name, setting_name(s));
        pm_clean(one->value, sizeof one->value, json_object_get_string(value));
    }
}

/* ---- creation and end ---- */

struct postmortem *postmortem_new(const struct archive *archive, struct err *err)
{
    OWNED(postmortem) pm = calloc(1, sizeof *pm);
    if (pm == NULL) {
        (void)err_set(err, ERR_NOMEM, "no memory for a post-mortem");
        return NULL;
    }
    const struct store_job *job = &archive->job;
    pm->archive = archive;
    pm->zero_ms = job->times.handed_off_ms > 0 ? job->times.handed_off_ms : job->times.created_ms;
    add_phases(pm);
    add_intents(pm);
    add_observations(pm);
    add_rest(pm);
    if (pm->n_lines > 0)
        qsort(pm->lines, pm->n_lines, sizeof *pm->lines, by_time);
    add_facts(pm);
    add_settings(pm);
    return pm_add_helps(pm, err) ? TAKE(pm) : NULL;
}

void postmortem_free(struct postmortem *pm)
{
    if (pm == NULL)
        return;
    free(pm->lines);
    free(pm);
}

bool pm_format_from_name(const char *name, enum pm_format *out_format)
{
    static const char *const names[PM_FORMAT_COUNT] = {"text", "md", "json", "html"};
    for (enum pm_format i = 0; i < PM_FORMAT_COUNT; i++)
        if (text_equal(names[i], name)) {
            *out_format = i;
            return true;
        }
    return false;
}

void postmortem_render(const struct postmortem *pm, enum pm_format format, size_t width,
                       struct buf *out)
{
    switch (format) {
    case PM_TEXT: pm_render_text(pm, width, out); return;
    case PM_MARKDOWN: pm_render_markdown(pm, out); return;
    case PM_HTML: pm_render_html(pm, out); return;
    default: break;
    }
    OWNED(json_object) page = pm_json(pm);
    buf_add(out, json_object_to_json_string_ext(page, JSON_C_TO_STRING_PRETTY |
                                                          JSON_C_TO_STRING_NOSLASHESCAPE));
    buf_add(out, "\n");
}
