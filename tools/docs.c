/* docs.c - writes docs/vocabulary.md and docs/metrics.md, and the tables and diagrams of
 * docs/architecture.md, from the tables (.def) that the program itself is made of.
 *
 *     docs VOCABULARY METRICS ARCHITECTURE           writes them
 *     docs --check VOCABULARY METRICS ARCHITECTURE   exit status 1 when one is not up to date
 *
 * Includes only tables of Ferry, so that it builds while the rest does not.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "tools/docs.h"

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

static const char *const ownerships[SIDE_COUNT][SIDE_COUNT] = {
#define OWNERSHIP(source, target, result) [SIDE_##source][SIDE_##target] = #result,
#include "engine/data/ownership.def"
#undef OWNERSHIP
};

void docs_head(FILE *out, const char *title, const char *why, const char *columns)
{
    (void)fprintf(out, "\n## %s\n\n%s\n\n| %s |\n|", title, why, columns);
    for (const char *c = columns; c != NULL; c = strchr(c + 1, '|'))
        (void)fprintf(out, "---|");
    (void)fprintf(out, "\n");
}

static void phases(FILE *out)
{
    docs_head(
        out, "Phases",
        "Of a migration. Waiting: holds no slot. Busy: counts against the limits. Final: does "
        "not change any more. The steps are drawn in "
        "[architecture.md](architecture.md#phases).",
        "phase | kind | meaning");
#define WAITING "waiting"
#define BUSY "busy"
#define FINAL "final"
#define PHASE(id, name, kind, help) (void)fprintf(out, "| `%s` | %s | %s |\n", name, kind, help);
#include "engine/model/job/phase.def"
#undef PHASE
#undef WAITING
#undef BUSY
#undef FINAL
    docs_head(out, "Triggers", "Reasons for a step from one phase to another.",
              "trigger | meaning");
#define TRIGGER(id, name, help) (void)fprintf(out, "| `%s` | %s |\n", name, help);
#include "engine/model/job/phase.def"
#undef TRIGGER
}

void docs_row(FILE *out, const char *name, const char *help)
{
    (void)fprintf(out, "| %s%s%s | %s |\n", *name == '\0' ? "" : "`", *name == '\0' ? "-" : name,
                  *name == '\0' ? "" : "`", help);
}

static void job_words(FILE *out)
{
    docs_head(out, "Pending reasons",
              "Why a migration waits. Limit: seconds after which a migration that waits for this "
              "reason fails; 0: the wait ends in another way.",
              "reason | limit | meaning");
#define PENDING(id, name, limit_s, help) \
    (void)fprintf(out, "| `%s` | %d | %s |\n", name, limit_s, help);
#include "engine/model/job/pending.def"
#undef PENDING
    docs_head(out, "Priority classes",
              "Highest first; within a class the oldest migration goes first.", "class | meaning");
#define PRIORITY(id, name, weight, help) docs_row(out, name, help);
#include "engine/model/settings/priority.def"
#undef PRIORITY
    docs_head(out, "Modes", "How memory is transferred.", "mode | meaning");
#define MODE(id, name, help) docs_row(out, name, help);
#include "engine/model/job/mode.def"
#undef MODE
    docs_head(out, "Abort states", "State of an abort request.", "state | meaning");
#define ABORT(id, name, help) docs_row(out, name, help);
#include "engine/model/job/abort.def"
#undef ABORT
    docs_head(out, "Abort causes", "Who or what requested the abort.", "cause | meaning");
#define ABORT_CAUSE(id, name, help) docs_row(out, name, help);
#include "engine/model/job/abort_cause.def"
#undef ABORT_CAUSE
    docs_head(out, "Recovery", "State of the recovery of a broken post-copy.", "state | meaning");
#define RECOVERY(id, name, help) docs_row(out, name, help);
#include "engine/model/job/recovery.def"
#undef RECOVERY
    docs_head(out, "Outcomes", "How a migration ended.", "outcome | meaning");
#define OUTCOME(id, name, help) docs_row(out, name, help);
#include "engine/model/job/outcome.def"
#undef OUTCOME
    docs_head(out, "Location of the guest", "Decided from the domain states on both hosts.",
              "place | meaning");
#define GUEST_AT(id, name, help) docs_row(out, name, help);
#include "engine/model/job/outcome.def"
#undef GUEST_AT
}

static void unmovables(FILE *out)
{
    docs_head(out, "Why a guest is not live-migratable",
              "From its definition, in this order; the first is the reason of the condition. Live: "
              "`LiveMigratable` is False. Storage: `StorageLiveMigratable` is False. Neither: a "
              "note.",
              "reason | live | storage | message | what to do");
#define UNMOVABLE(id, name, live, storage, message, help) \
    (void)fprintf(out, "| `%s` | %s | %s | %s | %s |\n", name, #live, #storage, message, help);
#include "engine/model/definition/migratable.def"
#undef UNMOVABLE
}

static void version(FILE *out, unsigned long number)
{
    if (number != 0 && number != ULONG_MAX)
        (void)fprintf(out, "%lu.%lu", number / 1000000, number / 1000 % 1000);
}

static void versions_between(FILE *out, unsigned long from, unsigned long to)
{
    const char *word = from == 0 && to == ULONG_MAX ? "any"
                       : to == ULONG_MAX            ? " and later"
                       : from == 0                  ? "up to "
                                                    : " to ";
    version(out, from);
    (void)fprintf(out, "%s", word);
    version(out, to);
    (void)fprintf(out, " | ");
}

static void quirks(FILE *out)
{
#define ANY ULONG_MAX
#define NEWEST(libvirt, qemu)
#define QUIRK(id, name, side, shown, libvirt_from, libvirt_to, qemu_from, qemu_to, why, instead) \
    (void)fprintf(out, "| `%s` | %s | ", name, #side);                                           \
    versions_between(out, libvirt_from, libvirt_to);                                             \
    versions_between(out, qemu_from, qemu_to);                                                   \
    (void)fprintf(out, "%s | %s | %s |\n", #shown, why, instead);
#include "hypervisor/versions.def"
#undef QUIRK
#undef NEWEST
#undef ANY
}

static void places(FILE *out)
{
    docs_head(out, "Placement rejections",
              "Why a node cannot accept a guest. Checked in this order, the first that applies is "
              "kept per node. EVER: the rejection lasts as long as guest and migration do not "
              "change; if all nodes reject so, the migration fails at once.",
              "reason | when | meaning");
#define REJECT(id, name, when, help) \
    if (*(name) != '\0')             \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, #when, help);
#include "engine/model/fleet/rejection.def"
#undef REJECT
    docs_head(
        out, "Versions",
        "What versions of libvirt and QEMU cannot do, and what Ferry does instead. `source`, "
        "`target`: the host's part in the migration. Refuses: placement rejects the pair "
        "(`versions`) and doctor fails; note: doctor and check name it; quiet: nothing is lost. "
        "Versions newer than any that Ferry was tried with are used; doctor notes it.",
        "name | host | libvirt | QEMU | shown | why | instead");
    quirks(out);
    docs_head(out, "Launchers", "A guest on a node, or the reservation for it; shown as a Pod.",
              "state | pod phase | meaning");
#define LAUNCHER(id, name, pod_phase, help) \
    if (*(name) != '\0')                    \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, pod_phase, help);
#include "engine/model/job/launcher.def"
#undef LAUNCHER
    docs_head(out, "Origins",
              "Who created the migration. Automatic migrations back off after a failure.",
              "origin | automatic | meaning");
#define ORIGIN(id, name, automatic, help) \
    (void)fprintf(out, "| `%s` | %s | %s |\n", name, #automatic, help);
#include "engine/model/job/origin.def"
#undef ORIGIN
}

static void monitor(FILE *out)
{
    docs_head(out, "Decisions of the monitor",
              "Recorded with their numbers when they change. NOTHING: the monitor could have acted "
              "and did not.",
              "decision | action | meaning");
#define DECISION(id, name, action, by, help) \
    (void)fprintf(out, "| `%s` | %s | %s |\n", name, #action, help);
#include "engine/model/job/decision.def"
#undef DECISION
}

static void orders(FILE *out)
{
    docs_head(out, "Orders",
              "Orders that change a guest. Each is stored before it is given, and again with its "
              "answer.",
              "action | meaning");
#define INTENT(id, name, help) docs_row(out, name, help);
#include "engine/model/job/intent.def"
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
    docs_head(
        out, "Columns of a migration",
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
    docs_head(out, "Forecasts", "How a migration is expected to end: `ferry check`.",
              "end | meaning");
#define ENDING(id, name, help) docs_row(out, name, help);
#include "engine/model/forecast/forecast.def"
#undef ENDING
    (void)fprintf(out, "\nWhat a forecast rests on: the dirty rate and the bandwidth:\n\n");
#define DIRTY(id, name, help) (void)fprintf(out, "- dirty rate `%s`: %s\n", name, help);
#include "engine/model/forecast/forecast.def"
#undef DIRTY
#define BANDWIDTH(id, name, help) (void)fprintf(out, "- bandwidth `%s`: %s\n", name, help);
#include "engine/model/forecast/forecast.def"
#undef BANDWIDTH
}

static void flags(FILE *out)
{
    docs_head(out, "Flags of a migration",
              "Flags of the migrate call: `status.ferry.flags` and `ferry describe`.",
              "flag | meaning");
#define FLAG(id, bit, name, words) docs_row(out, name, words);
#include "engine/data/flags.def"
#undef FLAG
    (void)fprintf(out, "\nCombinations that are not possible; `status.ferry.flagsLeftOut` names "
                       "what was left out:\n\n");
#define RULE(id, flag, when, other, text) (void)fprintf(out, "- %s\n", text);
#include "engine/data/flags.def"
#undef RULE
}

static void documents(FILE *out)
{
    docs_head(
        out, "Documents",
        "Objects that users write and Ferry stores: at most so many, 32 KiB each, 64 MiB in all.",
        "kind | at most | meaning");
#define OBJECT(id, kind, spaced, max, help) \
    (void)fprintf(out, "| `%s` | %u | %s |\n", kind, (unsigned)max, help);
#include "engine/model/objects/object.def"
#undef OBJECT
    docs_head(
        out, "Migration settings",
        "In `migrations:` of the configuration and, where policy says YES, in a MigrationPolicy.",
        "setting | default | policy | meaning");
#define SETTING(id, type, json, fallback, low, high, policy, help) \
    (void)fprintf(out, "| `%s` | %s | %s | %s |\n", json, #fallback, #policy, help);
#include "engine/model/settings/migration_config.def"
#undef SETTING
    docs_head(out, "Eviction strategies", "What happens to a guest when its node is drained.",
              "strategy | moved | meaning");
#define STRATEGY(id, name, moves, marks, help) \
    if (*(name) != '\0')                       \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, #moves, help);
#include "engine/model/settings/eviction.def"
#undef STRATEGY
    docs_head(out, "Drains", "States of a Drain.", "state | meaning");
#define DRAIN(id, name, final, help) docs_row(out, name, help);
#include "engine/model/objects/drain.def"
#undef DRAIN
    docs_head(out, "Guests of a drain", "One state each.", "state | meaning");
#define DRAIN_GUEST(id, name, help) docs_row(out, name, help);
#include "engine/model/objects/drain.def"
#undef DRAIN_GUEST
    docs_head(out, "What blocks a guest of a drain", "With what would unblock the guest.",
              "reason | meaning | what to do");
#define BLOCK(id, name, help, unblock) \
    if (*(name) != '\0')               \
        (void)fprintf(out, "| `%s` | %s | %s |\n", name, help, unblock);
#include "engine/model/objects/drain.def"
#undef BLOCK
}

static void ownership(FILE *out)
{
    docs_head(out, "Ownership", "How the domain state on one host is read.", "side | meaning");
#define SIDE(id, name, help) docs_row(out, name, help);
#include "engine/data/ownership.def"
#undef SIDE
    (void)fprintf(
        out,
        "\nWho owns the guest: rows are states on the source, columns states on the target.\n\n"
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
            const char *result = ownerships[source][target];
            (void)fprintf(out, " %s |", result == NULL ? "?" : result);
        }
        (void)fprintf(out, "\n");
    }
}

static void errors(FILE *out)
{
    docs_head(out, "Error codes", "With the HTTP status and the exit status of the command line.",
              "code | HTTP | exit | meaning");
#define ERR(id, name, http, exit, help) \
    (void)fprintf(out, "| `%s` | %d | %d | %s |\n", name, http, exit, help);
#include "base/err.def"
#undef ERR
}

static void exits(FILE *out)
{
    docs_head(out, "Exit status", "Of every verb of `ferry`.", "status | meaning");
#define EXIT_STATUS(id, number, help) (void)fprintf(out, "| %d | %s |\n", number, help);
#include "cli/common/exit.def"
#undef EXIT_STATUS
}

static void calls(FILE *out)
{
    docs_head(out, "Calls", "Calls to a hypervisor.", "call | access | lane | meaning");
#define CALL(id, name, access, lane, help) \
    (void)fprintf(out, "| `%s` | %s | %s | %s |\n", name, #access, #lane, help);
#include "hypervisor/call.def"
#undef CALL
}

static void faults(FILE *out)
{
    docs_head(
        out, "Crash points",
        "For tests: `FERRY_FAULT=name` (or `name:3`, the third time) kills the process there.",
        "point | where");
#define FAULT(id, name, help) docs_row(out, name, help);
#include "base/fault.def"
#undef FAULT
    docs_head(out, "Simulated faults", "What a script can break in the simulated fleet.",
              "fault | meaning");
#define SIM_FAULT(id, name, help) docs_row(out, name, help);
#include "hypervisor/sim/fault.def"
#undef SIM_FAULT
}

static void incidents(FILE *out)
{
    docs_head(out, "Incidents", "What needs an operator, by kind (`ferry_incident`).",
              "kind | until | meaning");
#define FADES "15 minutes, an acknowledgement or override, or a later migration of the guest"
#define LASTS "an acknowledgement or override"
#define INCIDENT_KIND(id, name, lasts, help) \
    (void)fprintf(out, "| `%s` | %s | %s |\n", name, lasts, help);
#include "engine/model/job/incident.def"
#undef INCIDENT_KIND
#undef FADES
#undef LASTS
    docs_head(out, "Ends of incidents", "What closed an incident.", "by | meaning");
#define INCIDENT_END(id, name, help) docs_row(out, name, help);
#include "engine/model/job/incident.def"
#undef INCIDENT_END
}

static void log_fields(FILE *out)
{
    docs_head(out, "Log fields", "All names of fields in log lines.", "field");
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
         "The series end with the migration. Labels: `namespace`, `name` (of the guest), "
         "`source`, `target`, `migration`. Their number is limited by the slots of the fleet; "
         "of pending migrations the oldest 1,000 have the `pending` series."},
    [PLANE_COUNT] =
        {"Counters and histograms",
         "Counters and histograms since start, with bounded labels and zero values from the "
         "first scrape on; exemplars (OpenMetrics) name the migration. Series of a policy, a "
         "target or a pair of hosts begin with their first use."},
    [PLANE_INCIDENT] =
        {"Open incidents",
         "One series per incident, from the verdict until the incident is closed; they survive "
         "a restart. At most 1,000."},
    [PLANE_FLEET] = {"The fleet", "Current state of nodes, guests and objects."},
    [PLANE_SELF] = {"Ferry itself", "Sampled once a second."},
    [PLANE_KUBEVIRT] = {"KubeVirt's names",
                        "Only with `ferry serve --kubevirt-metrics`; types are corrected."},
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
             "changed (but once: schema 8 changed names, glossary.md).\n");
    for (enum plane_id plane = 0; plane < PLANES; plane++) {
        docs_head(out, planes[plane].title, planes[plane].why, "metric | type | labels | meaning");
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
                       "added, never changed. They changed once, with schema 8, to the words of "
                       "libvirt, KubeVirt and Prometheus: glossary.md has the old ones.\n");
    phases(out);
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
    docs_causes(out);
    errors(out);
    exits(out);
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

int docs_put(const char *path, const char *text, size_t n, bool is_check)
{
    return is_check ? check(path, text, n) : save(path, text, n);
}

/* 0 when the file matches the tables, or was written. */
static int write_or_check(const char *path, void (*page)(FILE *out), bool is_check)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL)
        return 1;
    page(out);
    (void)fclose(out);
    int status = docs_put(path, text, n, is_check);
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    bool is_check = argc == 5 && strcmp(argv[1], "--check") == 0;
    if (argc != 4 && !is_check) {
        (void)fprintf(stderr, "usage: docs [--check] VOCABULARY METRICS ARCHITECTURE\n");
        return 2;
    }
    char **files = argv + argc - 3;
    int vocabulary = write_or_check(files[0], vocabulary_page, is_check);
    int metrics = write_or_check(files[1], metrics_page, is_check);
    int architecture = docs_architecture(files[2], is_check);
    return vocabulary != 0 || metrics != 0 || architecture != 0 ? 1 : 0;
}
