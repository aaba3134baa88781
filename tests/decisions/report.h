/* report.h - what the core decided, as text for a reviewer: one line for each record and order, as
 * they come; questions only when the answer is news; at the end the state of everything.
 * Times are seconds since the beginning of the case; words come from the tables of the engine. */
#ifndef TESTS_DECISIONS_REPORT_H
#define TESTS_DECISIONS_REPORT_H

#include "tests/decisions/world.h"

/* A new input: "at 2 s: TEXT". */
void report_input(struct world *w, const struct yaml_node *step);
void report_refusal(struct world *w, const struct err *err);
void report_effect(struct world *w, const struct effect *effect);

/* What each job waits for, where that is news; the same with other numbers is none. */
void report_waits(struct world *w);

void report_monitor_input(struct world *w, const struct effect *effect,
                          const struct hv_observation *observation);
void report_job(struct world *w, const struct effect *effect, int operation); /* -1: not asked */
void report_volumes(struct world *w, const struct effect *effect, const struct input *answer);
void report_answer(struct world *w, const struct effect *effect, const char *question,
                   const char *answer);

void report_state(struct world *w); /* state.c */
/* "2.4 s" */
void report_time(int64_t ms, char out_text[static 32]);

#endif
