/* docs.c - writes docs/vocabulary.md and docs/metrics.md from the tables (.def) that the program
 * itself is made of.
 *
 *     docs VOCABULARY METRICS           writes them
 *     docs --check VOCABULARY METRICS   exit status 1 when they are not what would be written
 *
 * Includes the tables and nothing else of Ferry, so that it builds while the rest does not.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

enum phase_id {
#define PHASE(id, name, kind, help) PHASE_##id,
#include "engine/model/phase.def"
#undef PHASE
    PHASE_COUNT
};

static const char *const phase_names[PHASE_COUNT] = {
#define PHASE(id, name, kind, help) name,
#include "engine/model/phase.def"
#undef PHASE
};

static const struct {
    enum phase_id from, to;
    const char *why;
} steps[] = {
#define STEP(from, why, to) {PHASE_##from, PHASE_##to, #why},
#include "engine/model/phase.def"
#undef STEP
};

static const struct {
    const char *id, *name;
} triggers[] = {
#define TRIGGER(id, name, help) {#id, name},
#include "engine/model/phase.def"
#undef TRIGGER
};

enum side_id {
#define SIDE(id, name, help) SIDE_##id,
#include "engine/data/ownership.def"
#undef SIDE
    SIDE_COUNT
};

static const char *const side_names[SIDE_COUNT] = {
#define SIDE(id, name, help) name,
#include "engine/data/ownership.def"
#undef SIDE
};

static const char *const judgements[SIDE_COUNT][SIDE_COUNT] = {
#define JUDGE(source, target, verdict) [SIDE_##source][SIDE_##target] = #verdict,
#include "engine/data/ownership.def"
#undef JUDGE
};

static const char *trigger_name(const char *id)
{
    for (size_t i = 0; i < COUNT(triggers); i++)
        if (strcmp(triggers[i].id, id) == 0)
            return triggers[i].name;
    return id;
}

static void head(FILE *out, const char *title, const char *why, const char *columns)
{
    (void)fprintf(out, "\n## %s\n\n%s\n\n| %s |\n|", title, why, columns);
    for (const char *c = columns; c != NULL; c = strchr(c + 1, '|'))
        (void)fprintf(out, "---|");
    (void)fprintf(out, "\n");
}

static void phases(FILE *out)
{
    head(out, "Phases",
         "Of a migration job. Waiting holds nothing, busy counts against the limits, final never "
         "changes again.",
         "phase | kind | meaning");
#define WAITING "waiting"
#define BUSY "busy"
#define FINAL "final"
#define PHASE(id, name, kind, help) (void)fprintf(out, "| `%s` | %s | %s |\n", name, kind, help);
#include "engine/model/phase.def"
#undef PHASE
#undef WAITING
#undef BUSY
#undef FINAL
    head(out, "Triggers", "What moves a job from phase to phase.", "trigger | meaning");
#define TRIGGER(id, name, help) (void)fprintf(out, "| `%s` | %s |\n", name, help);
#include "engine/model/phase.def"
#undef TRIGGER
}

/* All triggers that lead from one phase to another share one arrow. */
static void arrow(FILE *out, enum phase_id from, enum phase_id to)
{
    bool is_first = true;
    for (size_t i = 0; i < COUNT(steps); i++) {
        if (steps[i].from != from || steps[i].to != to)
            continue;
        if (is_first)
            (void)fprintf(out, "    %s --> %s: ", phase_names[from], phase_names[to]);
        (void)fprintf(out, "%s%s", is_first ? "" : ", ", trigger_name(steps[i].why));
        is_first = false;
    }
    if (!is_first)
        (void)fprintf(out, "\n");
}

static void diagram(FILE *out)
{
    (void)fprintf(out,
                  "\n## Steps\n\nWhat is not drawn is refused.\n\n```mermaid\nstateDiagram-v2\n"
                  "    [*] --> %s\n",
                  phase_names[0]);
    for (enum phase_id from = 0; from < PHASE_COUNT; from++) {
        bool has_exit = false;
        for (enum phase_id to = 0; to < PHASE_COUNT; to++)
            arrow(out, from, to);
        for (size_t i = 0; i < COUNT(steps); i++)
            has_exit = has_exit || steps[i].from == from;
        if (!has_exit)
            (void)fprintf(out, "    %s --> [*]\n", phase_names[from]);
    }
    (void)fprintf(out, "```\n");
}

static void row(FILE *out, const char *name, const char *help)
{
    (void)fprintf(out, "| %s%s%s | %s |\n", *name == '\0' ? "" : "`", *name == '\0' ? "-" : name,
                  *name == '\0' ? "" : "`", help);
}

static void job_words(FILE *out)
{
    head(out, "Waits",
         "What a job can wait for; it says since and until when. Limit: seconds of that wait after "
         "which it gives up, 0: the wait has an end of its own.",
         "reason | limit | meaning");
#define PENDING(id, name, limit_s, help) \
    (void)fprintf(out, "| `%s` | %d | %s |\n", name, limit_s, help);
#include "engine/model/pending.def"
#undef PENDING
    head(out, "Priority classes", "Best first; within a class the oldest.", "class | meaning");
#define PRIORITY(id, name, weight, help) row(out, name, help);
#include "engine/model/priority.def"
#undef PRIORITY
    head(out, "Modes", "How memory moves.", "mode | meaning");
#define MODE(id, name, help) row(out, name, help);
#include "engine/model/mode.def"
#undef MODE
    head(out, "Abort states", "How far a request to stop has come.", "state | meaning");
#define ABORT(id, name, help) row(out, name, help);
#include "engine/model/abort.def"
#undef ABORT
    head(out, "Why it was stopped", "Who or what asked.", "cause | meaning");
#define ABORT_CAUSE(id, name, help) row(out, name, help);
#include "engine/model/abort_cause.def"
#undef ABORT_CAUSE
    head(out, "Recovery", "How far a broken post-copy was taken up again.", "state | meaning");
#define RECOVERY(id, name, help) row(out, name, help);
#include "engine/model/recovery.def"
#undef RECOVERY
    head(out, "Outcomes", "How a job ended.", "outcome | meaning");
#define OUTCOME(id, name, help) row(out, name, help);
#include "engine/model/outcome.def"
#undef OUTCOME
    head(out, "Where the guest is", "Decided from what both hosts say.", "place | meaning");
#define GUEST_AT(id, name, help) row(out, name, help);
#include "engine/model/outcome.def"
#undef GUEST_AT
}

static void unmovables(FILE *out)
{
    head(out, "Why a guest cannot move",
         "From its definition, in this order; the first gives the condition its reason. Live: "
         "`LiveMigratable` is False. Storage: `StorageLiveMigratable` is False. Neither: a note.",
         "reason | live | storage | message | what to do");
#define UNMOVABLE(id, name, live, storage, message, help) \
    (void)fprintf(out, "| `%s` | %s | %s | %s | %s |\n", name, #live, #storage, message, help);
#include "engine/model/migratable.def"
#undef UNMOVABLE
}

static void places(FILE *out)
{
    head(out, "Why a node cannot take a guest",
         "Asked in this order, the first that applies is kept per node. EVER: not as long as this "
         "guest runs as it runs, or this job asks what it asks; if all nodes say so the job fails "
         "at once.",
         "reason | when | meaning");
#define REJECT(id, name, when, help) \
    if (*(name) != '\0')             \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, #when, help);
#include "engine/model/rejection.def"
#undef REJECT
    head(out, "Launchers", "The place of a guest on a node; shown as a Pod.",
         "state | pod phase | meaning");
#define LAUNCHER(id, name, pod_phase, help) \
    if (*(name) != '\0')                    \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, pod_phase, help);
#include "engine/model/launcher.def"
#undef LAUNCHER
    head(out, "Origins", "Who asked. Automatic ones back off after a failure.",
         "origin | automatic | meaning");
#define ORIGIN(id, name, automatic, help) \
    (void)fprintf(out, "| `%s` | %s | %s |\n", name, #automatic, help);
#include "engine/model/origin.def"
#undef ORIGIN
}

static void monitor(FILE *out)
{
    head(out, "Decisions of the monitor",
         "Recorded with their numbers when they change; NOTHING: it could have acted and did not.",
         "decision | action | meaning");
#define DECISION(id, name, action, help) \
    (void)fprintf(out, "| `%s` | %s | %s |\n", name, #action, help);
#include "engine/model/decision.def"
#undef DECISION
}

static void orders(FILE *out)
{
    head(out, "Orders",
         "That change a guest. Each is recorded before it is given and when answered.",
         "action | meaning");
#define INTENT(id, name, help) row(out, name, help);
#include "engine/model/intent.def"
#undef INTENT
}

enum job_object {
#define JOB_OBJECT(id, path) JOB_OBJECT_##id,
#include "exporter/api/job_objects.def"
#undef JOB_OBJECT
    JOB_OBJECT_COUNT,
    JOB_OBJECT__ = JOB_OBJECT_COUNT /* not shown */
};

static void job_fields(FILE *out)
{
    static const char *const paths[] = {
#define JOB_OBJECT(id, path) path,
#include "exporter/api/job_objects.def"
#undef JOB_OBJECT
    };
    static const struct {
        const char *column, *key, *help;
        enum job_object object;
    } fields[] = {
#define JOB_FIELD(at, kind, detail, member, column, api, object, key, help) \
    {column, key, help, JOB_OBJECT_##object},
#include "store/job_fields.def"
#undef JOB_FIELD
    };
    head(out, "Columns of a migration",
         "Of table `jobs` (`ferry query`), and where a VirtualMachineInstanceMigration shows the "
         "same.",
         "column | shown as | meaning");
    for (size_t i = 0; i < COUNT(fields); i++) {
        fprintf(out, "| `%s` | ", fields[i].column);
        if (fields[i].object != JOB_OBJECT__)
            fprintf(out, "`%s.%s` ", paths[fields[i].object], fields[i].key);
        fprintf(out, "| %s |\n", fields[i].help);
    }
}

static void forecasts(FILE *out)
{
    head(out, "Forecasts", "How a migration is expected to end: `ferry check`.", "end | meaning");
#define ENDING(id, name, help) row(out, name, help);
#include "engine/model/forecast.def"
#undef ENDING
    (void)fprintf(out, "\nWhat it rests on: how the guest writes, and how fast the path is:\n\n");
#define DIRTY(id, name, help) (void)fprintf(out, "- dirty rate `%s`: %s\n", name, help);
#include "engine/model/forecast.def"
#undef DIRTY
#define BANDWIDTH(id, name, help) (void)fprintf(out, "- bandwidth `%s`: %s\n", name, help);
#include "engine/model/forecast.def"
#undef BANDWIDTH
}

static void flags(FILE *out)
{
    head(out, "Flags of a migration",
         "What the hypervisor is told: `status.ferry.flags` and `ferry describe`.",
         "flag | meaning");
#define FLAG(id, bit, name, words) row(out, name, words);
#include "engine/data/flags.def"
#undef FLAG
    (void)fprintf(out, "\nWhat does not go together; `status.ferry.flagsLeftOut` says it:\n\n");
#define RULE(id, flag, when, other, text) (void)fprintf(out, "- %s\n", text);
#include "engine/data/flags.def"
#undef RULE
}

static void documents(FILE *out)
{
    head(out, "Documents", "What people write and Ferry keeps.", "kind | meaning");
#define OBJECT(id, kind, spaced, help) row(out, kind, help);
#include "engine/model/object.def"
#undef OBJECT
    head(out, "Migration settings",
         "In `migrations:` of the configuration and, where policy says YES, in a MigrationPolicy.",
         "setting | default | policy | meaning");
#define SETTING(id, type, json, fallback, low, high, policy, help) \
    (void)fprintf(out, "| `%s` | %s | %s | %s |\n", json, #fallback, #policy, help);
#include "engine/model/migration_config.def"
#undef SETTING
    head(out, "Eviction strategies", "What happens to a guest when its node is emptied.",
         "strategy | moved | meaning");
#define STRATEGY(id, name, moves, marks, help) \
    if (*(name) != '\0')                       \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, #moves, help);
#include "engine/model/eviction.def"
#undef STRATEGY
    head(out, "Drains", "States of a Drain.", "state | meaning");
#define DRAIN(id, name, final, help) row(out, name, help);
#include "engine/model/drain.def"
#undef DRAIN
    head(out, "Guests of a drain", "One state each.", "state | meaning");
#define DRAIN_GUEST(id, name, help) row(out, name, help);
#include "engine/model/drain.def"
#undef DRAIN_GUEST
    head(out, "What blocks a guest of a drain", "Each with what would unblock it.",
         "reason | meaning | what to do");
#define BLOCK(id, name, help, unblock) \
    if (*(name) != '\0')               \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, help, unblock);
#include "engine/model/drain.def"
#undef BLOCK
}

static void ownership(FILE *out)
{
    head(out, "Ownership", "How one host's answer about a guest is read.", "side | meaning");
#define SIDE(id, name, help) row(out, name, help);
#include "engine/data/ownership.def"
#undef SIDE
    (void)fprintf(out, "\nWho owns the guest: the source's answer down, the target's across.\n\n"
                       "| source \\ target |");
    for (enum side_id target = 0; target < SIDE_COUNT; target++)
        (void)fprintf(out, " %s |", side_names[target]);
    (void)fprintf(out, "\n|---|");
    for (enum side_id target = 0; target < SIDE_COUNT; target++)
        (void)fprintf(out, "---|");
    (void)fprintf(out, "\n");
    for (enum side_id source = 0; source < SIDE_COUNT; source++) {
        (void)fprintf(out, "| **%s** |", side_names[source]);
        for (enum side_id target = 0; target < SIDE_COUNT; target++) {
            const char *verdict = judgements[source][target];
            (void)fprintf(out, " %s |", verdict == NULL ? "?" : verdict);
        }
        (void)fprintf(out, "\n");
    }
}

static void errors(FILE *out)
{
    head(out, "Error codes", "With the HTTP status and the exit status of the command line.",
         "code | HTTP | exit | meaning");
#define ERR(id, name, http, exit, help) \
    (void)fprintf(out, "| `%s` | %d | %d | %s |\n", name, http, exit, help);
#include "base/err.def"
#undef ERR
}

enum {
#define GROUP(id, name, help) GROUP_##id,
#include "analyzer/judge/cause.def"
#undef GROUP
};

/* A chapter of its own for each group: verdicts point there. */
static void cause_group(FILE *out, const char *name, const char *help, int group)
{
    char title[64];
    (void)snprintf(title, sizeof title, "Causes: %s", name);
    head(out, title, help, "cause | plane | recoverable | meaning | what to do");
#define CAUSE(id, name, own, plane, recoverable, meaning, action)                                 \
    if (GROUP_##own == group)                                                                     \
        (void)fprintf(out, "| `%s` | %s | %s | %s | %s |\n", name, #plane, #recoverable, meaning, \
                      action);
#include "analyzer/judge/cause.def"
#undef CAUSE
}

static void causes(FILE *out)
{
    head(out, "Planes", "Where the root of a failure lies.", "plane | meaning");
#define PLANE(id, name, help) row(out, name, help);
#include "analyzer/judge/cause.def"
#undef PLANE
#define GROUP(id, name, help) cause_group(out, name, help, GROUP_##id);
#include "analyzer/judge/cause.def"
#undef GROUP
}

static void calls(FILE *out)
{
    head(out, "Calls", "What Ferry asks or orders of a hypervisor.",
         "call | door | lane | meaning");
#define CALL(id, name, door, lane, help) \
    (void)fprintf(out, "| `%s` | %s | %s | %s |\n", name, #door, #lane, help);
#include "hypervisor/call.def"
#undef CALL
}

static void faults(FILE *out)
{
    head(out, "Crash points",
         "For tests: `FERRY_FAULT=name` (or `name:3`, the third time) kills the process there.",
         "point | where");
#define FAULT(id, name, help) row(out, name, help);
#include "base/fault.def"
#undef FAULT
    head(out, "Simulated faults", "What a script can break in the simulated world.",
         "fault | meaning");
#define SIM_FAULT(id, name, help) row(out, name, help);
#include "hypervisor/sim/fault.def"
#undef SIM_FAULT
}

static void incidents(FILE *out)
{
    head(out, "Incidents", "What somebody must look at, by kind (`ferry_incident`).",
         "kind | until | meaning");
#define FADES "15 minutes old, an operator's word, or a later migration of the guest"
#define LASTS "an operator's word"
#define INCIDENT_KIND(id, name, lasts, help) \
    (void)fprintf(out, "| `%s` | %s | %s |\n", name, lasts, help);
#include "engine/model/incident.def"
#undef INCIDENT_KIND
#undef FADES
#undef LASTS
    head(out, "Ends of incidents", "What closed one.", "by | meaning");
#define INCIDENT_END(id, name, help) row(out, name, help);
#include "engine/model/incident.def"
#undef INCIDENT_END
}

static void log_fields(FILE *out)
{
    head(out, "Log fields", "The only names a log line's fields have.", "field");
#define LOG_FIELD(id, name) (void)fprintf(out, "| `%s` |\n", name);
#include "base/log.def"
#undef LOG_FIELD
}

/* ---- docs/metrics.md ---- */

enum plane_id {
    PLANE_LIVE,
    PLANE_COUNT,
    PLANE_INCIDENT,
    PLANE_FLEET,
    PLANE_SELF,
    PLANE_KUBEVIRT,
    PLANES
};
static const struct {
    const char *title, *why;
} planes[PLANES] = {
    [PLANE_LIVE] =
        {"One active migration",
         "Gone with it at the next scrape. Labels `namespace`, `name` (the guest), `source`, "
         "`target`, `migration`. At most as many as may run at once; of those that wait for "
         "their turn the oldest 1,000 have the `pending` ones."},
    [PLANE_COUNT] = {"What happened",
                     "Counters and histograms since start, by bounded labels, with zero from the "
                     "first scrape on; exemplars (OpenMetrics) name the migration. A policy, a "
                     "target or a pair of hosts appears when it is first used."},
    [PLANE_INCIDENT] = {"Open incidents",
                        "By name, from the verdict until somebody has dealt with it; they outlive "
                        "a restart. At most 1,000."},
    [PLANE_FLEET] = {"The fleet", "As it is."},
    [PLANE_SELF] = {"Ferry itself", "Sampled once a second."},
    [PLANE_KUBEVIRT] = {"KubeVirt's names",
                        "Only with `ferry serve --kubevirt-metrics`; types as they should be."},
};

static void metric_row(FILE *out, const char *name, const char *type, const char *labels,
                       const char *help)
{
    (void)fprintf(out, "| `%s` | %s | %s | %s |\n", name, type, labels, help);
}

static void metrics_page(FILE *out)
{
    (void)fprintf(
        out, "<!-- written by `make docs` from exporter/metrics/metrics.def; change that -->\n"
             "# Metrics\n\nEverything under `/metrics`, as text 0.0.4 or OpenMetrics 1.0 (by "
             "`Accept`), gzip by `Accept-Encoding`. A scrape calls no host and waits for no disk; "
             "two scrapes of one snapshot are equal byte for byte. Bounds of buckets are written "
             "as floats in both formats (`le=\"1.0\"`). Names and labels are added, never "
             "changed.\n");
    for (enum plane_id plane = 0; plane < PLANES; plane++) {
        head(out, planes[plane].title, planes[plane].why, "metric | type | labels | meaning");
#define METRIC(id, name, type, in, unit, labels, help) \
    if (PLANE_##in == plane)                           \
        metric_row(out, name, #type, labels, help);
#include "exporter/metrics/metrics.def"
#undef METRIC
    }
}

static void vocabulary_page(FILE *out)
{
    (void)fprintf(out, "<!-- written by `make docs` from the .def files; change those -->\n"
                       "# Vocabulary\n\nEvery name that Ferry stores, exports or shows. Names are "
                       "added, never changed.\n");
    phases(out);
    diagram(out);
    job_words(out);
    unmovables(out);
    places(out);
    documents(out);
    monitor(out);
    orders(out);
    job_fields(out);
    forecasts(out);
    flags(out);
    ownership(out);
    causes(out);
    errors(out);
    calls(out);
    incidents(out);
    log_fields(out);
    faults(out);
}

/* 0 when the file holds exactly this text. */
static int check(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "re");
    char *found = calloc(1, n + 2);
    size_t got = file == NULL || found == NULL ? 0 : fread(found, 1, n + 1, file);
    bool is_same = got == n && memcmp(found, text, n) == 0;
    free(found);
    if (file != NULL)
        (void)fclose(file);
    if (!is_same)
        (void)fprintf(stderr, "%s is not up to date: run make docs\n", path);
    return is_same ? 0 : 1;
}

static int save(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "we");
    bool is_fine = file != NULL && fwrite(text, 1, n, file) == n;
    is_fine = file != NULL && fclose(file) == 0 && is_fine;
    if (!is_fine)
        perror(path);
    return is_fine ? 0 : 1;
}

/* 0 when the file is, or was made, what the tables say. */
static int write_or_check(const char *path, void (*page)(FILE *out), bool is_check)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL)
        return 1;
    page(out);
    (void)fclose(out);
    int status = is_check ? check(path, text, n) : save(path, text, n);
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    bool is_check = argc == 4 && strcmp(argv[1], "--check") == 0;
    if (argc != 3 && !is_check) {
        (void)fprintf(stderr, "usage: docs [--check] VOCABULARY METRICS\n");
        return 2;
    }
    char **files = argv + argc - 2;
    int vocabulary = write_or_check(files[0], vocabulary_page, is_check);
    int metrics = write_or_check(files[1], metrics_page, is_check);
    return vocabulary != 0 ? vocabulary : metrics;
}
