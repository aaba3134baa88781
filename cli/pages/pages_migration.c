/* pages_migration.c - a migration as a page: state, pending reason, rejections by node,
 * observations, last sample. See pages.h. */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "engine/data/flags.h"
#include "engine/model/settings/migration_config.h"

static const struct {
    const char *label, *path;
} facts[] = {
    {"Name", "metadata.name"},
    {"Namespace", "metadata.namespace"},
    {"UID", "metadata.uid"},
    {"Guest", "spec.vmiName"},
    {"Created", "metadata.creationTimestamp"},
    {"Requester", "status.ferry.requester"},
    {"Origin", "status.ferry.origin"},
    {"Monitor", "status.ferry.monitor.text"},
    {"Priority", "spec.priority"},
    {"From", "status.migrationState.sourceNode"},
    {"To", "status.migrationState.targetNode"},
    {"Address", "status.migrationState.targetNodeAddress"},
    {"Phase", "status.phase"},
    {"Mode", "status.migrationState.mode"},
    {NULL, "status.ferry.pendingReason"}, /* wait_label() */
    {"Since", "status.ferry.pending.since"},
    {"Deadline", "status.ferry.pending.deadline"},
    {"Launcher", "status.ferry.launcher.state"},
    {"Source pod", "status.migrationState.sourcePod"},
    {"Target pod", "status.migrationState.targetPod"},
    {"Policy", "status.ferry.policy"},
    {"Abort", "status.migrationState.abortStatus"},
    {"Abort cause", "status.ferry.abortCause"},
    {"Aborted by", "status.ferry.abortRequester"},
    {"Outcome", "status.ferry.outcome"},
    {"Guest at", "status.ferry.guestAt"},
    {"Failure", "status.migrationState.failureReason"},
    {"Started", "status.migrationState.startTimestamp"},
    {"Ended", "status.migrationState.endTimestamp"},
    {"Epoch", "status.ferry.epoch"},
    {"Adopted", "status.ferry.adopted"},
};

static void add_error(struct buf *out, struct json_object *object)
{
    struct json_object *error = json_at(object, "status.ferry.error");
    char text[PAGE_TEXT_MAX * 2], message[PAGE_TEXT_MAX];
    table_clean(message, sizeof message, view_text(error, "text"));
    if (message[0] == '\0')
        return;
    (void)snprintf(text, sizeof text, "code %lld, domain %lld: %s",
                   (long long)view_i64(error, "code", 0), (long long)view_i64(error, "domain", 0),
                   message);
    page_fact(out, "Libvirt error", text);
}

/* Somebody else's migration in trouble. */
static void add_advice(struct buf *out, struct json_object *object)
{
    struct json_object *advice = json_at(object, "status.ferry.advice");
    const char *node = view_text(advice, "node"), *command = view_text(advice, "command");
    char text[PAGE_TEXT_MAX];
    if (advice == NULL)
        return;
    page_fact(out, "Trouble", view_text(advice, "text"));
    page_fact(out, "Ferry would", view_text(advice, "help"));
    if (command[0] == '\0')
        return;
    (void)snprintf(text, sizeof text, "%s    (on %s)", command, node);
    page_fact(out, "Command", text);
}

static void add_verdict(struct buf *out, struct json_object *object)
{
    struct json_object *verdict = json_at(object, "status.ferry.verdict");
    if (verdict == NULL || text_equal(view_text(verdict, "outcome"), "succeeded"))
        return;
    char text[PAGE_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s (plane: %s, %s)%s", view_text(verdict, "cause"),
                   view_text(verdict, "plane"), view_text(verdict, "failedAt"),
                   view_bool(verdict, "irrecoverable") ? ", the guest is IRRECOVERABLE" : "");
    page_fact(out, "Verdict", text);
    page_fact(out, "What to do", view_text(verdict, "action"));
}

static void add_history(struct buf *out, struct json_object *object)
{
    const char *path = "status.phaseTransitionTimestamps";
    size_t n = view_count(object, path);
    if (n == 0)
        return;
    buf_add(out, "Phases:\n");
    int64_t first = view_time(view_element(object, path, 0), "phaseTransitionTimestamp");
    for (size_t i = 0; i < n; i++) {
        struct json_object *step = view_element(object, path, i);
        char phase[TABLE_CELL_MAX], at[TABLE_CELL_MAX], since[HUMAN_TEXT_MAX];
        table_clean(phase, sizeof phase, view_text(step, "phase"));
        table_clean(at, sizeof at, view_text(step, "phaseTransitionTimestamp"));
        human_duration(view_time(step, "phaseTransitionTimestamp") - first, since);
        buf_addf(out, "  %-16s %s  +%s\n", phase, at, since);
    }
}

static void add_observation(struct buf *out, struct json_object *object, const char *role,
                            const char *node_path)
{
    char path[TABLE_CELL_MAX], node[TABLE_CELL_MAX], presence[TABLE_CELL_MAX];
    char state[TABLE_CELL_MAX], reason[TABLE_CELL_MAX], at[TABLE_CELL_MAX];
    (void)snprintf(path, sizeof path, "status.ferry.%s", role);
    struct json_object *observation = json_at(object, path);
    if (observation == NULL)
        return;
    table_clean(node, sizeof node, view_text(object, node_path));
    table_clean(presence, sizeof presence, view_text(observation, "presence"));
    table_clean(state, sizeof state, view_text(observation, "state"));
    table_clean(reason, sizeof reason, view_text(observation, "reason"));
    table_clean(at, sizeof at, view_text(observation, "at"));
    buf_addf(out, "  %-7s %-16s %s", role, node[0] != '\0' ? node : "-", presence);
    if (state[0] != '\0')
        buf_addf(out, " %s%s%s%s", state, reason[0] != '\0' ? "(" : "", reason,
                 reason[0] != '\0' ? ")" : "");
    if (at[0] != '\0')
        buf_addf(out, ", %s", at);
    buf_add(out, "\n");
}

void page_observations(struct json_object *object, struct buf *out)
{
    if (json_at(object, "status.ferry.source") == NULL &&
        json_at(object, "status.ferry.target") == NULL)
        return;
    buf_add(out, "Observations:\n");
    add_observation(out, object, "source", "status.migrationState.sourceNode");
    add_observation(out, object, "target", "status.migrationState.targetNode");
}

static void add_duration(struct buf *out, const char *label, int64_t ms)
{
    char text[HUMAN_TEXT_MAX];
    human_duration(ms, text);
    if (ms >= 0)
        buf_addf(out, "  %-18s %s\n", label, text);
}

static void add_numbers(struct buf *out, struct json_object *object)
{
    struct json_object *sample = json_at(object, "status.ferry.sample");
    if (sample == NULL)
        return;
    static const struct {
        const char *label, *key;
        void (*format)(uint64_t value, char *out_text);
    } sizes[] = {
        {"remaining", "remainingBytes", human_bytes},
        {"sent", "processedBytes", human_bytes},
        {"total", "totalBytes", human_bytes},
        {"rate", "transferRateBytesPerSecond", human_rate},
        {"dirty rate", "dirtyRateBytesPerSecond", human_rate},
    };
    buf_add(out, "Last sample:\n");
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char text[HUMAN_TEXT_MAX];
        sizes[i].format((uint64_t)view_i64(sample, sizes[i].key, 0), text);
        buf_addf(out, "  %-18s %s\n", sizes[i].label, text);
    }
    add_duration(out, "elapsed", view_i64(sample, "elapsedMs", 0));
    buf_addf(out, "  %-18s %lld\n", "iteration", (long long)view_i64(sample, "iteration", 0));
    buf_addf(out, "  %-18s %lld%%\n", "throttle",
             (long long)view_i64(sample, "throttlePercent", 0));
    add_duration(out, "expected downtime", view_i64(sample, "expectedDowntimeMs", 0));
    add_duration(out, "downtime", view_i64(object, "status.ferry.downtimeMs", -1));
}

static void add_map(struct json_object *object, const char *label, const char *path,
                    struct buf *out)
{
    char text[PAGE_TEXT_MAX];
    page_pairs(json_at(object, path), text, sizeof text);
    page_fact(out, label, text);
}

/* Why each node was rejected, by the last scheduling attempt. */
static void add_rejections(struct json_object *object, const struct page_style *style,
                           struct buf *out)
{
    static const char *const titles[] = {"NODE", "REASON", "PERMANENT", "DETAIL"};
    const char *path = "status.ferry.rejections";
    size_t n = view_count(object, path);
    struct table table;
    if (n == 0)
        return;
    table_init(&table, titles, COUNT(titles));
    for (size_t i = 0; i < n; i++) {
        struct json_object *row = view_element(object, path, i);
        bool for_ever = view_bool(row, "forEver");
        table_add_row(&table);
        table_set(&table, 0, view_text(row, "node"));
        table_set(&table, 1, view_text(row, "reason"));
        table_set(&table, 2, for_ever ? "yes" : "no");
        table_set(&table, 3, view_text(row, "detail"));
        table_colour(&table, 1, for_ever ? COLOUR_BAD : COLOUR_BUSY);
    }
    buf_add(out, "Rejected nodes:\n");
    page_table(&table, style, out);
}

/* KubeVirt's path for it, then Ferry's. */
static struct json_object *frozen(struct json_object *object)
{
    struct json_object *settings = json_at(object, "status.migrationState.migrationConfiguration");
    return settings != NULL ? settings : json_at(object, "status.ferry.configuration");
}

static void add_limit(struct buf *out, int64_t bps, const char *what)
{
    char text[HUMAN_TEXT_MAX];
    human_rate((uint64_t)bps, text);
    if (bps > 0)
        buf_addf(out, "  %s: %s\n", what, text);
    else
        buf_addf(out, "  %s: no limit\n", what);
}

static void add_seconds(struct buf *out, int64_t seconds, const char *what, const char *per)
{
    if (seconds > 0)
        buf_addf(out, "  %s: %lld s%s\n", what, (long long)seconds, per);
    else
        buf_addf(out, "  %s: none\n", what);
}

void page_settings(struct json_object *settings, struct buf *out)
{
    static const char *const packings[] = {"no", "zstd", "xbzrle", "mt"};
    struct migration_config c;
    if (!json_object_is_type(settings, json_type_object))
        return;
    migration_config_restore(json_object_to_json_string_ext(settings, JSON_C_TO_STRING_PLAIN), &c);
    add_limit(out, c.bandwidth, "bandwidth");
    buf_addf(out, "  max downtime: %lld ms\n", (long long)c.max_downtime_ms);
    add_seconds(out, c.completion_timeout, "completion timeout", " per GiB");
    add_seconds(out, c.progress_timeout, "progress timeout", "");
    buf_addf(out, "  auto-converge: %s, post-copy: %s, workload disruption: %s\n",
             c.auto_converge ? "yes" : "no", c.post_copy ? "yes" : "no",
             c.disruption ? "yes" : "no");
    buf_addf(
        out, "  streams: %lld, compression: %s, TLS: %s, monitor: %s\n",
        (long long)(c.channels > 0 ? c.channels : 1),
        packings[c.compression >= 0 && c.compression < (int)COUNT(packings) ? c.compression : 0],
        c.require_tls ? "required"
        : c.no_tls    ? "off"
                      : "where both hosts can",
        c.monitor == MONITOR_LEGACY ? "legacy" : "stall");
    if (c.tunnelled)
        buf_add(out, "  tunnelled through libvirt's connection\n");
    if (c.unsafe)
        buf_add(out, "  libvirt's safety checks: off\n");
    if (c.backup_abort)
        buf_add(out, "  a system-critical migration may abort a backup\n");
}

/* Flags of the migrate call. An unknown name (of a newer appliance) is shown as it is. */
static void add_flags(struct buf *out, struct json_object *object)
{
    static const char flags[] = "status.ferry.flags", left_out[] = "status.ferry.flagsLeftOut";
    if (view_count(object, flags) == 0)
        return;
    buf_add(out, "Flags:\n");
    for (size_t i = 0; i < view_count(object, flags); i++) {
        const char *name = json_object_get_string(view_element(object, flags, i));
        const char *words = flag_help(flag_from_name(name));
        buf_addf(out, words[0] != '\0' ? "  %-18s %s\n" : "  %s%s\n", name, words);
    }
    for (size_t i = 0; i < view_count(object, left_out); i++)
        buf_addf(out, "  %s\n", json_object_get_string(view_element(object, left_out, i)));
}

/* What the reason of a wait is about. */
static const char *wait_label(struct json_object *object)
{
    return view_bool(object, "status.ferry.recovering")  ? "Recovering"
           : view_bool(object, "status.ferry.resolving") ? "Resolving"
                                                         : "Pending";
}

void page_migration(struct json_object *object, const struct page_style *style, struct buf *out)
{
    for (size_t i = 0; i < COUNT(facts); i++)
        page_fact(out, facts[i].label != NULL ? facts[i].label : wait_label(object),
                  view_text(object, facts[i].path));
    add_map(object, "Selector", "spec.addedNodeSelector", out);
    add_map(object, "Annotations", "metadata.annotations", out);
    add_error(out, object);
    add_advice(out, object);
    add_verdict(out, object);
    if (frozen(object) != NULL) {
        buf_add(out, "Settings at hand-off:\n");
        page_settings(frozen(object), out);
    }
    add_flags(out, object);
    add_rejections(object, style, out);
    page_move(object, out);
    add_history(out, object);
    page_observations(object, out);
    add_numbers(out, object);
}
