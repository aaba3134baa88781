/* replay.c - see replay.h. Mirrors monitor_driver.c step by step: what it does between two monitor
 * inputs is done here with the record. */
#include "analyzer/report/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

struct run {
    const struct archive *archive;
    const struct replay_question *question;
    struct replay *out;
    struct migration_config config;
    struct monitor acting, shadow, kept;
    bool has_begun, has_kept, has_shadow;
    bool order_out;
    struct monitor_decision ordered;
    size_t next_sample, next_stored;
    struct err *err;
};

bool replay_policy(const struct archive *archive, struct json_object *spec,
                   struct replay_question *question, struct err *err)
{
    static const char *const ignored[] = {"selectors", NULL};
    struct migration_config config;
    uint64_t set = 0;
    migration_config_restore(archive->job.call.config_json, &config);
    if (!migration_config_read(spec, true, ignored, &config, &set, err))
        return false;
    bool says_postcopy = (set & (UINT64_C(1) << SETTING_post_copy)) != 0;
    bool says_disruption = (set & (UINT64_C(1) << SETTING_disruption)) != 0;
    if (says_postcopy && !says_disruption)
        config.disruption = config.post_copy; /* as when policies are merged */
    question->config = config;
    question->has_config = true;
    return true;
}

void replay_fini(struct replay *replay)
{
    free(replay->lines);
    *replay = (struct replay){0};
}

/* --- comparing with what was stored ---------------------------------------------------------- */

static bool is_monitors(const struct store_decision *row)
{
    return strcmp(row->monitor, "stall") == 0 || strcmp(row->monitor, "legacy") == 0;
}

static const struct store_decision *next_stored(struct run *run)
{
    const struct archive *a = run->archive;
    while (run->next_stored < a->decisions.n && !is_monitors(&a->decisions.rows[run->next_stored]))
        run->next_stored++; /* a stall remedy's, or an operator's */
    return run->next_stored < a->decisions.n ? &a->decisions.rows[run->next_stored] : NULL;
}

static bool same_numbers(const struct store_decision *row, const struct monitor_decision *is)
{
    return row->downtime_ms == is->downtime_ms && row->elapsed_ms == is->elapsed_ms &&
           row->budget_ms == is->budget_ms && row->estimate_ms == is->estimate_ms &&
           row->remaining == (int64_t)is->remaining && row->low_water == (int64_t)is->low_water &&
           row->bandwidth_bps == (int64_t)is->bandwidth_bps &&
           row->dirty_bps == (int64_t)is->dirty_bps && row->iteration == (int64_t)is->iteration;
}

static const char *kind_name(enum monitor_kind kind)
{
    return kind == MONITOR_LEGACY ? "legacy" : "stall";
}

static bool is_same(const struct store_decision *row, const struct replay_line *line)
{
    return row->at_ms == line->at_ms && row->shadow == line->shadow &&
           strcmp(row->monitor, kind_name(line->monitor)) == 0 &&
           strcmp(row->decision, decision_name(line->is.why)) == 0 &&
           strcmp(row->action, monitor_action_name(line->is.action)) == 0 &&
           strcmp(row->text, line->is.text) == 0 && same_numbers(row, &line->is);
}

static void differ(struct run *run, const struct replay_line *line,
                   const struct store_decision *row)
{
    struct replay *out = run->out;
    out->is_same = false;
    if (line == NULL)
        (void)snprintf(out->difference, sizeof out->difference,
                       "stored at %" PRId64 " ms, but not computed: %s (%s)", row->elapsed_ms,
                       row->decision, row->text);
    else if (row == NULL)
        (void)snprintf(out->difference, sizeof out->difference,
                       "computed at %" PRId64 " ms, but not stored: %s (%s)", line->is.elapsed_ms,
                       decision_name(line->is.why), line->is.text);
    else
        (void)snprintf(out->difference, sizeof out->difference,
                       "stored at %" PRId64 " ms: %s (%.160s); computed at %" PRId64
                       " ms: %s (%.160s)",
                       row->elapsed_ms, row->decision, row->text, line->is.elapsed_ms,
                       decision_name(line->is.why), line->is.text);
}

/* True when the line is stored too, or the comparison has ended. */
static bool compare(struct run *run, const struct replay_line *line)
{
    if (run->out->is_other || !run->out->is_same)
        return true;
    const struct store_decision *row = next_stored(run);
    if (row != NULL && is_same(row, line)) {
        run->next_stored++;
        return true;
    }
    differ(run, line, row);
    return row != NULL;
}

/* --- one monitor input ----------------------------------------------------------------------- */

static bool record(struct run *run, const struct monitor *m, const struct monitor_decision *is,
                   bool shadow, int64_t at_ms)
{
    struct replay *out = run->out;
    if (out->n_lines == REPLAY_LINES_MAX)
        return err_set(run->err, ERR_LIMIT, "more than %d decisions", REPLAY_LINES_MAX);
    if (out->n_lines == out->max_lines) {
        size_t more = out->max_lines == 0 ? 64 : out->max_lines * 2;
        struct replay_line *lines = reallocarray(out->lines, more, sizeof *lines);
        if (lines == NULL)
            return err_set(run->err, ERR_NOMEM, "no memory for %zu decisions", more);
        out->lines = lines;
        out->max_lines = more;
    }
    struct replay_line *line = &out->lines[out->n_lines++];
    *line = (struct replay_line){.at_ms = at_ms, .monitor = m->kind, .shadow = shadow, .is = *is};
    bool stored = compare(run, line);
    if (!shadow && stored) { /* the state that a restart would continue from */
        run->kept = *m;
        run->has_kept = true;
    }
    return true;
}

/* A shadow monitor starts anew with each process, unlike the acting one. */
static void begin_shadow(struct run *run, const struct monitor_facts *facts)
{
    run->has_shadow = !run->out->is_other && run->config.shadow != SHADOW_NONE;
    if (run->has_shadow)
        monitor_begin(&run->shadow,
                      run->config.shadow == SHADOW_LEGACY ? MONITOR_LEGACY : MONITOR_STALL,
                      &run->config, facts);
}

static bool resume(struct run *run, const struct store_monitor_input *stored)
{
    OWNED_TEXT json = run->has_kept ? monitor_save(&run->kept) : NULL;
    if (json == NULL || !monitor_load(json, &run->acting))
        return err_set(run->err, ERR_REFUSED,
                       "the trace continues after a restart from a state that it does not contain");
    monitor_continue(&run->acting, stored->elapsed_ms);
    return true;
}

static bool begin(struct run *run, const struct store_monitor_input *stored)
{
    struct monitor_facts facts = {
        .memory_bytes = (uint64_t)stored->memory_bytes,
        .disk_bytes = (uint64_t)stored->disk_bytes,
        .vfio = stored->vfio,
        .tuning = stored->tuning,
    };
    const struct replay_question *q = run->question;
    run->order_out = false;
    if (run->out->is_other && run->has_begun)
        return true; /* it would not have been interrupted */
    run->has_begun = true;
    if (!q->has_config) /* as allowed then, not only as configured */
        run->config.post_copy = stored->post_copy;
    else
        facts.tuning = monitor_wants_ramp(&run->config);
    begin_shadow(run, &facts);
    if (stored->resumed && !run->out->is_other)
        return resume(run, stored);
    enum monitor_kind kind = q->has_kind ? q->kind : (enum monitor_kind)run->config.monitor;
    monitor_begin(&run->acting, kind, &run->config, &facts);
    return true;
}

static void fill_stats(struct hv_job_stats *out, const struct store_sample *row)
{
    *out = (struct hv_job_stats){
        .time_elapsed_ms = (uint64_t)row->time_elapsed_ms,
        .downtime_ms = (uint64_t)row->downtime_ms,
        .setup_ms = (uint64_t)row->setup_ms,
        .data_total = (uint64_t)row->data_total,
        .data_processed = (uint64_t)row->data_processed,
        .data_remaining = (uint64_t)row->data_remaining,
        .memory_total = (uint64_t)row->memory_total,
        .memory_processed = (uint64_t)row->memory_processed,
        .memory_remaining = (uint64_t)row->memory_remaining,
        .memory_bps = (uint64_t)row->memory_bps,
        .memory_constant = (uint64_t)row->memory_constant,
        .memory_normal_bytes = (uint64_t)row->memory_normal_bytes,
        .memory_dirty_rate = (uint64_t)row->memory_dirty_rate,
        .memory_page_size = (uint64_t)row->memory_page_size,
        .memory_iteration = (uint64_t)row->memory_iteration,
        .memory_postcopy_requests = (uint64_t)row->memory_postcopy_requests,
        .disk_total = (uint64_t)row->disk_total,
        .disk_processed = (uint64_t)row->disk_processed,
        .disk_remaining = (uint64_t)row->disk_remaining,
        .disk_bps = (uint64_t)row->disk_bps,
        .auto_converge_throttle = (uint64_t)row->throttle_percent,
    };
}

static bool fill_input(struct run *run, const struct store_monitor_input *stored,
                       struct monitor_input *input)
{
    const struct archive *a = run->archive;
    *input = (struct monitor_input){
        .elapsed_ms = stored->elapsed_ms,
        .mode = mode_from_name(stored->mode),
        .stopped_by_migration = stored->stopped,
        .abort_under_way = stored->aborting,
    };
    if (stored->sample_seq < 0)
        return true;
    while (run->next_sample < a->samples.n &&
           a->samples.rows[run->next_sample].seq < stored->sample_seq)
        run->next_sample++;
    if (run->next_sample == a->samples.n ||
        a->samples.rows[run->next_sample].seq != stored->sample_seq)
        return err_set(run->err, ERR_REFUSED,
                       "sample %" PRId64
                       " is no longer in the store, or was never written; the replay needs it",
                       stored->sample_seq);
    const struct store_sample *sample = &a->samples.rows[run->next_sample];
    fill_stats(&input->stats, sample);
    input->has_stats = strcmp(sample->source, "completed") != 0;
    input->at_iteration = strcmp(sample->source, "iteration") == 0;
    return true;
}

/* The decision would have ended pre-copy. */
static bool is_switch(enum decision why)
{
    return why == DECISION_STALLED_SOFT || why == DECISION_STALLED_HARD ||
           why == DECISION_LATE_HARD || why == DECISION_LATE_VFIO;
}

/* Another policy: its orders count as carried out, until one would have changed the samples. */
static void act_otherwise(struct run *run, const struct monitor_decision *is)
{
    monitor_done(&run->acting, is, true, is->elapsed_ms);
    if (is->action != MONITOR_SET_DOWNTIME || is_switch(is->why))
        run->out->end = REPLAY_ACTED;
}

static void act(struct run *run, const struct monitor_decision *is)
{
    if (is->action == MONITOR_NOTHING)
        return;
    if (run->out->is_other)
        act_otherwise(run, is);
    else if (run->order_out)
        return;
    else if (is->action == MONITOR_ABORT)
        monitor_done(&run->acting, is, true, is->elapsed_ms);
    else {
        run->ordered = *is;
        run->order_out = true;
    }
}

static bool run_again(struct run *run, const struct store_monitor_input *stored)
{
    struct monitor_input input;
    struct monitor_decision is;
    if (!fill_input(run, stored, &input))
        return false;
    bool changed =
        input.mode == MODE_POSTCOPY || input.mode == MODE_PAUSED || input.abort_under_way;
    if (run->out->is_other && changed) {
        run->out->end = REPLAY_STOPPED;
        return true;
    }
    run->out->n_monitor_inputs++;
    run->out->seen_ms = stored->elapsed_ms;
    if (run->has_shadow) {
        monitor_step(&run->shadow, &input, &is);
        if (monitor_decision_changed(&run->shadow, &is) &&
            !record(run, &run->shadow, &is, true, stored->at_ms))
            return false;
        if (is.action != MONITOR_NOTHING)
            monitor_done(&run->shadow, &is, true, input.elapsed_ms);
    }
    monitor_step(&run->acting, &input, &is);
    if (monitor_decision_changed(&run->acting, &is) &&
        !record(run, &run->acting, &is, false, stored->at_ms))
        return false;
    act(run, &is);
    return true;
}

static void answer(struct run *run, const struct store_monitor_input *stored)
{
    if (run->out->is_other || !run->order_out)
        return;
    run->order_out = false;
    monitor_done(&run->acting, &run->ordered, strcmp(stored->kind, "accepted") == 0,
                 stored->elapsed_ms);
}

static bool follow(struct run *run)
{
    const struct archive *a = run->archive;
    for (size_t i = 0; i < a->monitor_inputs.n && run->out->end == REPLAY_SAW_ALL; i++) {
        const struct store_monitor_input *stored = &a->monitor_inputs.rows[i];
        bool is_begin = strcmp(stored->kind, "begin") == 0;
        if (is_begin ? !begin(run, stored)
                     : !run->has_begun &&
                           err_set(run->err, ERR_REFUSED, "the beginning of the trace is missing"))
            return false;
        if (strcmp(stored->kind, "look") == 0) {
            if (!run_again(run, stored))
                return false;
        } else if (!is_begin)
            answer(run, stored);
    }
    return true;
}

bool replay_run(const struct archive *archive, const struct replay_question *question,
                struct replay *out_replay, struct err *err)
{
    struct replay replay = {.is_other = question->has_kind || question->has_config,
                            .is_same = true};
    struct run *run = calloc(1, sizeof *run); /* two monitors and a copy: large */
    if (run == NULL)
        return err_set(err, ERR_NOMEM, "no memory to replay");
    *run = (struct run){.archive = archive, .question = question, .out = &replay, .err = err};
    if (question->has_config)
        run->config = question->config;
    else
        migration_config_restore(archive->job.call.config_json, &run->config);
    bool done = archive->monitor_inputs.n > 0 && !archive->is_cut
                    ? follow(run)
                    : err_set(err, ERR_REFUSED,
                              archive->is_cut ? "its record is too long for a replay"
                                              : "it has no trace: no monitor ran, or its samples "
                                                "are past their retention");
    for (size_t i = 0; i < archive->decisions.n; i++)
        replay.n_stored += is_monitors(&archive->decisions.rows[i]);
    const struct store_decision *left = next_stored(run);
    if (done && !replay.is_other && replay.is_same && left != NULL)
        differ(run, NULL, left);
    free(run);
    if (!done) {
        replay_fini(&replay);
        return false;
    }
    *out_replay = replay;
    return true;
}
