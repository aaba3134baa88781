/* docs_causes.c - the chapters about causes of docs/vocabulary.md. */
#include <stdio.h>

#include "tools/docs.h"

enum {
#define GROUP(id, name, help) GROUP_##id,
#include "analyzer/judge/cause.def"
#undef GROUP
};

#define FAMILY(id, name, help) static const char family_of_##id[] = name;
#include "analyzer/judge/cause.def"
#undef FAMILY

/* One chapter per group: verdicts link to it. */
static void cause_group(FILE *out, const char *name, const char *help, int group)
{
    char title[64];
    (void)snprintf(title, sizeof title, "Causes: %s", name);
    docs_head(out, title, help, "cause | family | plane | recoverable | meaning | what to do");
#define CAUSE(id, name, own, family, plane, recoverable, meaning, action)                   \
    if (GROUP_##own == group)                                                               \
        (void)fprintf(out, "| `%s` | %s | %s | %s | %s | %s |\n", name, family_of_##family, \
                      #plane, #recoverable, meaning, action);
#include "analyzer/judge/cause.def"
#undef CAUSE
}

void docs_causes(FILE *out)
{
    docs_head(out, "Planes", "Where the root cause of a failure lies.", "plane | meaning");
#define PLANE(id, name, help) docs_row(out, name, help);
#include "analyzer/judge/cause.def"
#undef PLANE
    docs_head(out, "Families", "Who has to look where; named when the evidence carries no cause.",
              "family | meaning");
#define FAMILY(id, name, help) docs_row(out, name, help);
#include "analyzer/judge/cause.def"
#undef FAMILY
    docs_head(out, "Causes that overlap", "Which one it is, for rules and for labels of cases.",
              "causes | which");
#define TIE(causes, which) (void)fprintf(out, "| %s | %s |\n", causes, which);
#include "analyzer/judge/cause.def"
#undef TIE
#define GROUP(id, name, help) cause_group(out, name, help, GROUP_##id);
#include "analyzer/judge/cause.def"
#undef GROUP
}
