/* pages_move.c - the data plane of a migration: modes, recovery and what to do about it, remedies,
 * final statistics, the forecast. See pages.h. */
#include <stdio.h>

#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "engine/model/job/phase.h"

/* What an operator can do in each state of a recovery; %s is the migration. */
static const char *const next_steps[RECOVERY_COUNT] = {
    [RECOVERY_WATCHING] = "none: Ferry observes both hosts",
    [RECOVERY_PAUSING] = "none: Ferry recovers it",
    [RECOVERY_RESUMING] = "none: Ferry recovers it",
    [RECOVERY_WAITING] = "repair the path between the nodes: Ferry retries",
    [RECOVERY_BLIND] =
        "bring back the unreachable node; if that is impossible, find the guest and state where it "
        "is: ferry resolve %s --guest-on source|target|nowhere --because TEXT",
    [RECOVERY_EXHAUSTED] =
        "repair the path between the nodes, then: ferry recover %s (or, if you know where the "
        "guest is: ferry resolve %s --guest-on source|target|nowhere --because TEXT)",
    [RECOVERY_IRRECOVERABLE] = "irrecoverable: save what you need from the half that is left, "
                               "destroy it, and start the guest from its disks",
};

static const char *help_of(enum recovery recovery)
{
    static const char *const helps[RECOVERY_COUNT] = {
#define RECOVERY(id, name, help) [RECOVERY_##id] = help,
#include "engine/model/job/recovery.def"
#undef RECOVERY
    };
    return recovery < RECOVERY_COUNT ? helps[recovery] : "";
}

/* A step; each %s is replaced by the migration's name. */
static void add_step(const char *step, const char *name, struct buf *out)
{
    buf_addf(out, "  %-18s ", "what to do");
    for (const char *c = step; *c != '\0'; c++) {
        if (c[0] == '%' && c[1] == 's') {
            buf_add(out, name);
            c++;
        } else {
            buf_add_bytes(out, c, 1);
        }
    }
    buf_add(out, "\n");
}

static void add_word(struct buf *out, const char *label, const char *text)
{
    char clean[PAGE_TEXT_MAX];
    table_clean(clean, sizeof clean, text);
    if (clean[0] != '\0')
        buf_addf(out, "  %-18s %s\n", label, clean);
}

static void add_time(struct buf *out, const char *label, struct json_object *from, const char *key)
{
    char text[HUMAN_TEXT_MAX];
    int64_t ms = view_i64(from, key, -1);
    if (ms < 0)
        return;
    human_duration(ms, text);
    buf_addf(out, "  %-18s %s\n", label, text);
}

static void add_modes(struct json_object *object, struct buf *out)
{
    const char *path = "status.ferry.modeHistory";
    size_t n = view_count(object, path);
    int64_t first = view_time(view_element(object, path, 0), "at");
    if (n > 0)
        buf_add(out, "Modes:\n");
    for (size_t i = 0; i < n; i++) {
        struct json_object *change = view_element(object, path, i);
        char mode[TABLE_CELL_MAX], at[TABLE_CELL_MAX], cause[TABLE_CELL_MAX], since[HUMAN_TEXT_MAX];
        table_clean(mode, sizeof mode, view_text(change, "mode"));
        table_clean(at, sizeof at, view_text(change, "at"));
        table_clean(cause, sizeof cause, view_text(change, "cause"));
        human_duration(view_time(change, "at") - first, since);
        buf_addf(out, "  %-16s %s  +%s%s%s\n", mode, at, since, cause[0] != '\0' ? "  " : "",
                 cause);
    }
}

static void add_recovery(struct json_object *object, struct buf *out)
{
    struct json_object *recovery = json_at(object, "status.ferry.recovery");
    char name[TABLE_CELL_MAX];
    if (recovery == NULL)
        return;
    enum recovery state = recovery_from_name(view_text(recovery, "state"));
    const char *of_guest = view_text(object, "status.ferry.migration");
    table_clean(name, sizeof name,
                *of_guest != '\0' ? of_guest : view_text(object, "metadata.name"));
    buf_add(out, "Post-copy recovery:\n");
    add_word(out, "state", view_text(recovery, "state"));
    add_word(out, "", help_of(state));
    add_word(out, "attempts", view_text(recovery, "tries"));
    add_word(out, "path", view_text(recovery, "path"));
    add_word(out, "since", view_text(recovery, "since"));
    add_word(out, "until", view_text(recovery, "until"));
    if (state < RECOVERY_COUNT && next_steps[state] != NULL)
        add_step(next_steps[state], name, out);
}

static void add_userpause(struct json_object *object, struct buf *out)
{
    char ran[HUMAN_TEXT_MAX], text[PAGE_TEXT_MAX];
    int64_t ms = view_i64(object, "status.ferry.ranDespitePauseMs", 0);
    if (!view_bool(object, "status.ferry.pausedByUser"))
        return;
    human_duration(ms, ran);
    (void)snprintf(text, sizeof text, "during the migration; %s%s",
                   ms > 0 ? "ran on the target for " : "did not run on the target",
                   ms > 0 ? ran : "");
    page_fact(out, "User pause", text);
}

static void add_forecast(struct json_object *object, struct buf *out)
{
    struct json_object *forecast = json_at(object, "status.ferry.forecast");
    if (forecast == NULL)
        return;
    buf_add(out, "Forecast at hand-off:\n");
    add_time(out, "total time", forecast, "totalMs");
    add_time(out, "minimum", forecast, "lowMs");
    add_time(out, "maximum", forecast, "highMs");
    add_time(out, "downtime", forecast, "downtimeMs");
    int64_t percent = view_i64(forecast, "convergesPercent", -1);
    if (percent >= 0)
        buf_addf(out, "  %-18s %lld%%\n", "convergence", (long long)percent);
}

static void add_final(struct json_object *object, struct buf *out)
{
    struct json_object *final = json_at(object, "status.ferry.final");
    char bytes[HUMAN_TEXT_MAX];
    if (final == NULL)
        return;
    buf_addf(out, "Final statistics, from the %s:\n",
             text_equal(view_text(final, "from"), "event") ? "source's last event" : "target");
    add_time(out, "total time", final, "totalMs");
    add_time(out, "downtime", final, "downtimeMs");
    add_time(out, "setup", final, "setupMs");
    human_bytes((uint64_t)view_i64(final, "bytes", 0), bytes);
    buf_addf(out, "  %-18s %s\n", "sent", bytes);
    add_word(out, "iterations", view_text(final, "iterations"));
}

static void add_stream(struct json_object *object, struct buf *out)
{
    struct json_object *stream = json_at(object, "status.ferry.stream");
    char text[PAGE_TEXT_MAX];
    if (stream == NULL)
        return;
    page_fact(out, "Source address", view_text(stream, "sourceAddress"));
    const char *port = view_text(stream, "port");
    page_fact(out, "Target port", port);
    (void)snprintf(text, sizeof text, "one of %lld-%lld",
                   (long long)view_i64(stream, "targetPorts.min", 0),
                   (long long)view_i64(stream, "targetPorts.max", 0));
    if (*port == '\0' && json_at(stream, "targetPorts") != NULL)
        page_fact(out, "Target ports", text);
}

void page_move(struct json_object *object, struct buf *out)
{
    add_stream(object, out);
    page_fact(out, "Remedy", view_text(object, "status.ferry.remedy"));
    add_userpause(object, out);
    add_recovery(object, out);
    add_modes(object, out);
    add_forecast(object, out);
    add_final(object, out);
}
