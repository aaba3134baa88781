/* postmortem.h - one migration on one page: outcome and cause, a timeline of both hosts, phases,
 * modes, decisions with their inputs, plots, the policy, and what would have helped.
 *
 * Made from the rows of the store alone (store/archive.h); the same rows give the same page. What
 * would have helped is computed: by replaying the recorded samples under another policy, or from
 * numbers in the record. Pure.
 */
#ifndef ANALYZER_REPORT_POSTMORTEM_H
#define ANALYZER_REPORT_POSTMORTEM_H

#include "base/text.h"
#include "store/archive.h"

struct json_object;

enum {
    POSTMORTEM_LINES_MAX = 5000, /* of the timeline; the rest is counted */
    POSTMORTEM_HELPS_MAX = 8,
    POSTMORTEM_FACTS_MAX = 32,
    POSTMORTEM_SETTINGS_MAX = 64,
    POSTMORTEM_TEXT_MAX = 512,
    POSTMORTEM_WORD_MAX = 96,
    POSTMORTEM_PAGE_MAX = 16 * 1024 * 1024,
};

enum pm_kind {
#define PM_KIND(id, name) PM_##id,
#include "analyzer/report/postmortem.def"
#undef PM_KIND
    PM_KIND_COUNT
};
const char *pm_kind_name(enum pm_kind kind);

enum pm_side { PM_FERRY, PM_SOURCE, PM_TARGET, PM_SIDE_COUNT };
const char *pm_side_name(enum pm_side side);

struct pm_line { /* texts are cleaned: UTF-8 without control characters */
    int64_t at_ms;
    size_t order; /* among equal times */
    enum pm_kind kind;
    enum pm_side side;
    bool is_bad; /* an error, a refusal, a warning */
    char what[POSTMORTEM_WORD_MAX], detail[POSTMORTEM_TEXT_MAX];
};
struct pm_fact {
    char name[POSTMORTEM_WORD_MAX], value[POSTMORTEM_TEXT_MAX];
};

struct postmortem {
    const struct archive *archive; /* borrowed */
    int64_t zero_ms;               /* origin of times: hand-off, else creation */
    struct pm_line *lines;         /* by time; owned */
    size_t n_lines, max_lines, n_left_out;
    struct pm_fact facts[POSTMORTEM_FACTS_MAX]; /* guest, source, target, duration, ... */
    size_t n_facts;
    struct pm_fact settings[POSTMORTEM_SETTINGS_MAX]; /* frozen settings that are not the default */
    size_t n_settings;
    char helps[POSTMORTEM_HELPS_MAX][POSTMORTEM_TEXT_MAX];
    size_t n_helps;
};

struct postmortem *postmortem_new(const struct archive *archive, struct err *err);
void postmortem_free(struct postmortem *pm);
DEFINE_OWNED(postmortem)

enum pm_format { PM_TEXT, PM_MARKDOWN, PM_JSON, PM_HTML, PM_FORMAT_COUNT };
bool pm_format_from_name(const char *name, enum pm_format *out_format); /* text md json html */
/* The page, at most POSTMORTEM_PAGE_MAX; out->failed when that was not enough. width: of a
 * terminal, for PM_TEXT only. */
void postmortem_render(const struct postmortem *pm, enum pm_format format, size_t width,
                       struct buf *out);

#endif
