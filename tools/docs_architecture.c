/* docs_architecture.c - the regions of docs/architecture.md that come from tables.
 *
 * A region is the text between the lines "<!-- begin NAME: ... -->" and "<!-- end NAME -->". The
 * tool rewrites regions; everything else is written by hand. No region may be missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "tools/docs.h"

/* ---- phases: the state diagram of a migration ---- */

enum phase_id {
#define PHASE(id, name, kind, help) PHASE_##id,
#include "engine/model/job/phase.def"
#undef PHASE
    PHASE_COUNT
};

static const char *const phase_names[PHASE_COUNT] = {
#define PHASE(id, name, kind, help) name,
#include "engine/model/job/phase.def"
#undef PHASE
};

static const struct {
    enum phase_id from, to;
    const char *why;
} steps[] = {
#define STEP(from, why, to) {PHASE_##from, PHASE_##to, #why},
#include "engine/model/job/phase.def"
#undef STEP
};

static const struct {
    const char *id, *name;
} triggers[] = {
#define TRIGGER(id, name, help) {#id, name},
#include "engine/model/job/phase.def"
#undef TRIGGER
};

static const char *trigger_name(const char *id)
{
    for (size_t i = 0; i < COUNT(triggers); i++)
        if (strcmp(triggers[i].id, id) == 0)
            return triggers[i].name;
    return id;
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

static void phases(FILE *out)
{
    (void)fprintf(out, "```mermaid\nstateDiagram-v2\n    [*] --> %s\n", phase_names[0]);
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

/* ---- lanes: which calls share threads and connections ---- */

static const struct {
    const char *name, *lane;
} calls[] = {
#define CALL(id, name, access, lane, help) {name, #lane},
#include "hypervisor/call.def"
#undef CALL
};

static void lane(FILE *out, const char *name)
{
    const char *comma = "";
    (void)fprintf(out, "| `%s` | ", name);
    for (size_t i = 0; i < COUNT(calls); i++)
        if (strcmp(calls[i].lane, name) == 0) {
            (void)fprintf(out, "%s%s", comma, calls[i].name);
            comma = ", ";
        }
    (void)fprintf(out, " |\n");
}

static void lanes(FILE *out)
{
    (void)fprintf(out, "| lane | calls |\n|---|---|\n");
    for (size_t i = 0; i < COUNT(calls); i++) {
        size_t first = 0;
        while (strcmp(calls[first].lane, calls[i].lane) != 0)
            first++;
        if (first == i)
            lane(out, calls[i].lane);
    }
}

/* ---- outage: which actions are dispatched while commits fail ---- */

static void outage(FILE *out)
{
    (void)fprintf(out, "| action | when | meaning |\n|---|---|---|\n");
#define WAITS NULL
#define GOES "always"
#define STOPS "unless its migrate call waits for the commit too"
#define MAY_STOP "only if it stops a migration, and then the same"
#define EFFECT(id, is, commit, call, answer, help) \
    if ((commit) != NULL)                          \
        (void)fprintf(out, "| `%s` | %s | %s |\n", #id, (const char *)(commit), help);
#include "engine/model/turn/effect.def"
#undef EFFECT
#undef WAITS
#undef GOES
#undef STOPS
#undef MAY_STOP
}

/* ---- crash-points: where the kill tests end the process ---- */

static void crash_points(FILE *out)
{
    (void)fprintf(out, "| `FERRY_FAULT` | state at that moment |\n|---|---|\n");
#define FAULT(id, name, help) (void)fprintf(out, "| `%s` | %s |\n", name, help);
#include "base/fault.def"
#undef FAULT
}

static const struct {
    const char *name;
    void (*write)(FILE *out);
} regions[] = {
    {"phases", phases}, {"lanes", lanes}, {"outage", outage}, {"crash-points", crash_points}};

/* Copies the text up to the region and its first line, writes the region, and returns where its
 * last line begins; NULL when there is no such region at or after `text`. */
static const char *region(const char *text, size_t i, FILE *out)
{
    char begin[64], end[64];
    (void)snprintf(begin, sizeof begin, "<!-- begin %s:", regions[i].name);
    (void)snprintf(end, sizeof end, "<!-- end %s -->", regions[i].name);
    const char *first = strstr(text, begin);
    const char *inside = first == NULL ? NULL : strchr(first, '\n');
    const char *last = inside == NULL ? NULL : strstr(inside, end);
    if (last == NULL)
        return NULL;
    (void)fwrite(text, 1, (size_t)(inside - text) + 1, out);
    (void)fprintf(out, "\n");
    regions[i].write(out);
    (void)fprintf(out, "\n");
    return last;
}

static char *read_file(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = fopen(path, "re"), *out = open_memstream(&text, &n);
    char part[4096];
    size_t got;
    while (file != NULL && out != NULL && (got = fread(part, 1, sizeof part, file)) > 0)
        (void)fwrite(part, 1, got, out);
    if (out != NULL)
        (void)fclose(out);
    if (file != NULL)
        (void)fclose(file);
    return text;
}

int docs_architecture(const char *path, bool is_check)
{
    char *before = read_file(path), *after = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&after, &n);
    const char *rest = before;
    if (before == NULL || out == NULL)
        return 1;
    for (size_t i = 0; i < COUNT(regions) && rest != NULL; i++) {
        rest = region(rest, i, out);
        if (rest == NULL)
            (void)fprintf(stderr, "%s: no region '%s' after the one before it\n", path,
                          regions[i].name);
    }
    if (rest != NULL)
        (void)fputs(rest, out);
    (void)fclose(out);
    int status = rest == NULL ? 1 : docs_put(path, after, n, is_check);
    free(before);
    free(after);
    return status;
}
