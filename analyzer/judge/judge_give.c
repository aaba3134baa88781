/* judge_give.c - scores the rules that fired: one cause, its confidence, and the evidence for and
 * against it.
 *
 * As docs/rules.md says: the highest rank decides, within it the weights of a cause's rules add up
 * as independent hints, and between near rivals the one with the earlier first message wins.
 * Wrappers never win. A cause whose confidence stays below VERDICT_KNOWN_FROM is not given as one:
 * the verdict is unknown and names what it resembles. The family is scored on its own: causes that
 * contradict each other often agree on it. A word statistic (likeness.h) is compared with the
 * result: a different cause lowers the confidence, and where no rule fired similar cases are
 * listed.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/judge_inside.h"
#include "base/text.h"

/* Strengths that differ by less: the earlier message wins. By time more than by its place in a log:
 * the first error on the first side to break is the cause, what follows is fallout. */
static const double NEAR = 0.06, NEAR_IN_TIME = 0.2;
static const double LATER_RIVAL = 0.5; /* what a rival counts that came after the cause */
/* What a rival takes away. Among hints less: of 60 verdicts of cases that no rule knew, which
 * hints gave against other hints, 41 were right. */
static const double RIVAL = 0.6, RIVAL_OF_HINT = 0.3;
/* A rule that names the part, with symptoms or hints alone against it: right more often than not.
 */
static const double NAMED_FROM = 0.66, NAMED_ALONE = 0.52;

struct candidate {
    double
        miss[RANK_COUNT]; /* probability that all hints of the rank are wrong; 1: there is none */
    const struct rule *of[RANK_COUNT]; /* the strongest of the rank */
    const struct judge_hit *first;     /* message */
};
struct scores {
    struct candidate of[CAUSE_COUNT];
    enum rank rank; /* the rank that decides; WRAPPER: none */
};

/* ---- scores ---- */

static bool is_earlier(const struct judge_hit *a, const struct judge_hit *b)
{
    if (a == NULL || b == NULL)
        return b == NULL && a != NULL;
    if (a->at_ms != 0 && b->at_ms != 0 && a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms;
    return a->seq != b->seq ? a->seq < b->seq : a->end < b->end;
}

static void put(struct scores *scores, const struct judge *judge, const struct rule *rule)
{
    struct candidate *candidate = &scores->of[rule->cause];
    const struct judge_hit *hit = judge_first_hit(judge, rule);
    candidate->miss[rule->rank] *= 1 - rule->weight / 100.0;
    if (candidate->of[rule->rank] == NULL || candidate->of[rule->rank]->weight < rule->weight)
        candidate->of[rule->rank] = rule;
    if (rule->rank > RANK_HINT && hit != NULL && is_earlier(hit, candidate->first))
        candidate->first = hit;
    if (rule->rank > scores->rank && rule->cause != CAUSE_UNKNOWN)
        scores->rank = rule->rank;
}

static void weigh(const struct judge *judge, struct scores *out_scores)
{
    for (enum cause cause = 0; cause < CAUSE_COUNT; cause++) {
        out_scores->of[cause] = (struct candidate){0};
        for (enum rank rank = 0; rank < RANK_COUNT; rank++)
            out_scores->of[cause].miss[rank] = 1;
    }
    out_scores->rank = RANK_WRAPPER;
    for (unsigned i = 0; i < judge->rules->n_rules; i++)
        if (judge->fired[i] == FIRED && judge->rules->rules[i].cause != CAUSE_COUNT)
            put(out_scores, judge, &judge->rules->rules[i]);
}

static double strength(const struct scores *scores, enum cause cause, enum rank rank)
{
    return 1 - scores->of[cause].miss[rank];
}

static bool is_timed(const struct judge_hit *a, const struct judge_hit *b)
{
    return a != NULL && b != NULL && a->at_ms != 0 && b->at_ms != 0 && a->at_ms != b->at_ms;
}

static double near_of(const struct judge_hit *a, const struct judge_hit *b)
{
    return is_timed(a, b) ? NEAR_IN_TIME : NEAR;
}

static enum cause choose(const struct scores *scores)
{
    enum cause best = CAUSE_UNKNOWN, chosen;
    if (scores->rank == RANK_WRAPPER)
        return CAUSE_UNKNOWN;
    for (enum cause cause = 1; cause < CAUSE_COUNT; cause++)
        if (cause != CAUSE_UNKNOWN &&
            (best == CAUSE_UNKNOWN ||
             strength(scores, cause, scores->rank) > strength(scores, best, scores->rank)))
            best = cause;
    chosen = best;
    for (enum cause cause = 1; cause < CAUSE_COUNT; cause++)
        if (cause != CAUSE_UNKNOWN && scores->of[cause].of[scores->rank] != NULL &&
            strength(scores, cause, scores->rank) +
                    near_of(scores->of[cause].first, scores->of[best].first) >=
                strength(scores, best, scores->rank) &&
            is_earlier(scores->of[cause].first, scores->of[chosen].first))
            chosen = cause;
    return chosen;
}

/* ---- confidence ---- */

/* Strength of a cause over all ranks; lower ranks count less. */
static double total(const struct scores *scores, enum cause cause)
{
    static const double worth[RANK_COUNT] = {1, 0.75, 0.4,
                                             0.15}; /* by distance from the deciding rank */
    enum rank lowest = scores->rank > RANK_HINT ? RANK_GENERAL : RANK_HINT;
    double miss = 1;
    for (enum rank rank = lowest; rank <= scores->rank; rank++)
        miss *= 1 - worth[scores->rank - rank] * (1 - scores->of[cause].miss[rank]);
    return 1 - miss;
}

/* Maps the score to how often such verdicts were right on real cases that no rule had seen
 * (docs/analyser-first-score.md): one specific message is right in seven cases of eight; a second,
 * independent one or a proven rule is nearly always right; a symptom of several causes is right
 * more often than not (19 of 29). */
static double calibrated(double raw)
{
    static const struct {
        double raw, right;
    } knots[] = {{0, 0.1},    {0.3, 0.25},  {0.45, 0.5},  {0.6, 0.58},  {0.7, 0.66}, {0.76, 0.74},
                 {0.8, 0.84}, {0.92, 0.88}, {0.935, 0.9}, {0.97, 0.95}, {1, 0.98}};
    size_t i = 1;
    while (i + 1 < COUNT(knots) && knots[i].raw < raw)
        i++;
    double share = (raw - knots[i - 1].raw) / (knots[i].raw - knots[i - 1].raw);
    return knots[i - 1].right + share * (knots[i].right - knots[i - 1].right);
}

static double confidence_of(const struct scores *scores, enum cause chosen)
{
    double rival = 0;
    if (scores->rank == RANK_WRAPPER)
        return scores->of[chosen].of[RANK_WRAPPER] != NULL ? 0.4 : 0.15;
    for (enum cause cause = 1; cause < CAUSE_COUNT; cause++) {
        double against =
            scores->rank == RANK_PROOF ? strength(scores, cause, RANK_PROOF) : total(scores, cause);
        const struct judge_hit *first = scores->of[chosen].first;
        if (is_timed(scores->of[cause].first, first) && is_earlier(first, scores->of[cause].first))
            against *= LATER_RIVAL;
        if (cause != chosen && cause != CAUSE_UNKNOWN && against > rival)
            rival = against;
    }
    double share = scores->rank == RANK_HINT ? RIVAL_OF_HINT : RIVAL;
    double raw = total(scores, chosen) * (1 - share * rival);
    return scores->rank == RANK_PROOF ? raw : calibrated(raw); /* a proof keeps its weight */
}

static bool is_named_alone(const struct scores *scores, enum cause chosen)
{
    for (enum cause cause = 1; cause < CAUSE_COUNT; cause++)
        if (cause != chosen && scores->of[cause].of[RANK_SPECIFIC] != NULL)
            return false;
    return scores->rank == RANK_SPECIFIC && strength(scores, chosen, RANK_SPECIFIC) >= NAMED_FROM;
}

/* The emitter that fired with the most weight; NULL: none. Of equal ones the first in the file. */
static const struct rule *emitter_of(const struct judge *judge)
{
    const struct rule *best = NULL;
    for (unsigned i = 0; i < judge->rules->n_rules; i++) {
        const struct rule *rule = &judge->rules->rules[i];
        if (judge->fired[i] == FIRED && rule->family < FAMILY_COUNT &&
            (best == NULL || rule->weight > best->weight))
            best = rule;
    }
    return best;
}

/* The family that the emitter and the causes of the deciding rank and below speak for. */
static enum family family_of(const struct scores *scores, const struct rule *emitter,
                             double *out_confidence)
{
    double miss[FAMILY_COUNT], rival = 0;
    enum family best = FAMILY_UNKNOWN;
    for (enum family family = 0; family < FAMILY_COUNT; family++)
        miss[family] =
            emitter != NULL && emitter->family == family ? 1 - emitter->weight / 100.0 : 1;
    for (enum cause cause = 1; cause < CAUSE_COUNT; cause++)
        if (cause != CAUSE_UNKNOWN)
            miss[cause_row(cause)->family] *= 1 - total(scores, cause);
    for (enum family family = 0; family < FAMILY_COUNT; family++)
        if (miss[family] < miss[best])
            best = family;
    for (enum family family = 0; family < FAMILY_COUNT; family++)
        if (family != best && 1 - miss[family] > rival)
            rival = 1 - miss[family];
    *out_confidence = best == FAMILY_UNKNOWN ? 0 : calibrated((1 - miss[best]) * (1 - 0.6 * rival));
    return best;
}

/* ---- the verdict ---- */

/* A cause of either plane: by the rule, else by how far the migration had come. */
static enum plane plane_of(const struct judge *judge, enum cause cause, const struct rule *rule)
{
    static const char *const moved[] = {"mode", "iteration", "remaining", "progress_pct"};
    enum plane plane = cause_row(cause)->plane;
    if (plane < PLANE_COUNT)
        return plane;
    if (rule != NULL && rule->plane < PLANE_COUNT && cause_has_plane(cause, rule->plane))
        return rule->plane;
    if (plane == PLANE_NONE_OR_CONTROL)
        return PLANE_NONE;
    if (judge_find_fact(judge, "handed_off") != NULL)
        return judge_fact_is_true(judge, "handed_off") ? PLANE_DATA : PLANE_CONTROL;
    for (size_t i = 0; i < COUNT(moved); i++)
        if (judge_find_fact(judge, moved[i]) != NULL)
            return PLANE_DATA;
    return PLANE_CONTROL;
}

static enum failed_at failed_at_of(const struct judge *judge, const struct verdict *verdict)
{
    enum cause_group group = cause_row(verdict->cause)->group;
    if (verdict->cause == CAUSE_NONE)
        return FAILED_AT_NONE;
    if (judge_find_fact(judge, "handed_off") != NULL)
        return judge_fact_is_true(judge, "handed_off") ? FAILED_AT_AFTER : FAILED_AT_BEFORE;
    if (verdict->plane == PLANE_DATA)
        return FAILED_AT_AFTER;
    return group == GROUP_PLACEMENT || group == GROUP_ELIGIBILITY ? FAILED_AT_BEFORE
                                                                  : FAILED_AT_UNKNOWN;
}

/* The outcome as the engine or the evidence has it; never derived from a cause. */
static void copy_outcome(const struct judge *judge, struct verdict *verdict)
{
    const struct judge_fact *outcome = judge_find_fact(judge, "outcome");
    const struct judge_fact *guest = judge_find_fact(judge, "guest");
    if (outcome != NULL) {
        enum outcome known = outcome_from_name(outcome->value);
        verdict->outcome = known < OUTCOME_COUNT ? known : OUTCOME_NONE;
    }
    if (guest != NULL) {
        enum guest_at known = guest_at_from_name(guest->value);
        verdict->guest = known < GUEST_AT_COUNT ? known : GUEST_AT_UNKNOWN;
    }
    verdict->irrecoverable = verdict_is_irrecoverable(verdict->outcome, verdict->guest);
}

/* ---- evidence of the verdict ---- */

/* The fact that made a rule without patterns fire. */
static const struct judge_fact *fact_of(const struct judge *judge, const struct rule *rule)
{
    const struct span spans[] = {rule->facts, rule->facts_any};
    for (size_t s = 0; s < COUNT(spans); s++)
        for (unsigned i = 0; i < spans[s].n; i++) {
            const struct judge_fact *fact;
            if (judge_condition_holds(judge, &judge->rules->conditions[spans[s].first + i],
                                      &fact) &&
                fact != NULL)
                return fact;
        }
    return NULL;
}

static void add_point(const struct judge *judge, const struct rule *rule, enum point_role role,
                      struct verdict *verdict)
{
    if (verdict->n_points == VERDICT_POINTS_MAX)
        return;
    struct verdict_point *point = &verdict->points[verdict->n_points++];
    const struct judge_hit *hit = judge_first_hit(judge, rule);
    const struct judge_fact *fact = hit == NULL ? fact_of(judge, rule) : NULL;
    *point = (struct verdict_point){
        .role = role, .cause = rule->cause != CAUSE_COUNT ? rule->cause : CAUSE_UNKNOWN};
    TEXT_SET(point->rule, rule->id);
    TEXT_SET(point->proves, rule->proves);
    if (hit != NULL) {
        memcpy(point->quote, hit->quote, sizeof point->quote);
        memcpy(point->origin, hit->origin, sizeof point->origin);
        point->side = hit->side;
        point->at_ms = hit->at_ms;
    } else if (fact != NULL) {
        (void)snprintf(point->quote, sizeof point->quote, "%s=%s", fact->key, fact->value);
        TEXT_SET(point->origin, fact->origin[0] != '\0' ? fact->origin : "facts");
        point->at_ms = fact->at_ms;
    }
}

static enum point_role role_of(const struct judge *judge, unsigned rule, enum cause winner)
{
    const struct rule *row = &judge->rules->rules[rule];
    bool is_emitter = row->family < FAMILY_COUNT && winner == CAUSE_UNKNOWN;
    if ((row->cause == winner || is_emitter) && judge->fired[rule] == FIRED)
        return POINT_FOR;
    return judge->fired[rule] == FIRED_BEATEN || row->rank <= RANK_HINT || row->cause == CAUSE_COUNT
               ? POINT_FALLOUT
               : POINT_AGAINST;
}

static void add_points(const struct judge *judge, enum cause winner, struct verdict *verdict)
{
    const struct rule *emitter = verdict->cause == CAUSE_UNKNOWN ? emitter_of(judge) : NULL;
    for (enum point_role role = 0; role < POINT_ROLE_COUNT; role++)
        for (enum rank up = 0; up < RANK_COUNT; up++)
            for (unsigned i = 0; i < judge->rules->n_rules; i++) {
                const struct rule *rule = &judge->rules->rules[i];
                bool is_shown = rule->cause != CAUSE_COUNT || rule == emitter;
                if (judge->fired[i] != FIRED_NOT && rule->rank == RANK_COUNT - 1 - up && is_shown &&
                    role_of(judge, i, winner) == role)
                    add_point(judge, rule, role, verdict);
            }
}

/* ---- comparison with the word statistic ---- */

/* A verdict of 0.8 and more was right in 25 of 31 cases that no rule had seen where the words name
 * the same cause, in 35 of 57 where they name another: docs/rules.md. */
static const double DOUBT = 0.86;

/* Not for Ferry's own record, whose facts are complete: what they do not show is unknown. */
static bool find_similar(const struct judge *judge, const struct verdict *verdict,
                         struct likeness_guess *out_similar)
{
    return judge->likeness != NULL && verdict->cause != CAUSE_NONE &&
           judge_find_fact(judge, "ended_by") == NULL &&
           likeness_guess(judge->likeness, &judge->words, out_similar) &&
           (out_similar->cause != CAUSE_USER_CANCELLED ||
            judge_fact_is_true(judge, "abort_requested"));
}

/* Similar words are evidence against another cause, and a hint where there is no cause. */
static void compare_with_words(const struct judge *judge, const struct scores *scores,
                               struct verdict *verdict)
{
    struct likeness_guess similar;
    if (scores->rank == RANK_PROOF || !find_similar(judge, verdict, &similar) ||
        similar.cause == verdict->cause)
        return;
    if (scores->rank == RANK_SPECIFIC)
        verdict->confidence *= DOUBT;
    bool is_silent =
        scores->rank == RANK_WRAPPER && scores->of[CAUSE_UNKNOWN].of[RANK_WRAPPER] == NULL;
    if (!is_silent)
        return;
    struct verdict_point *point = &verdict->points[verdict->n_points++];
    *point = (struct verdict_point){.role = POINT_AGAINST, .cause = similar.cause};
    TEXT_SET(point->rule, "similar-cases");
    TEXT_SET(point->proves,
             "Similar cases: known failures with these words mostly had this cause.");
    TEXT_SET(point->origin, "words");
    TEXT_SET(point->quote, similar.words);
}

/* ---- the verdict as a whole ---- */

/* As it is shown and stored: a confidence of 0.496 must not be 0.50 on one page and unknown on
 * another. */
static double rounded(double confidence)
{
    return (int)(confidence * 100 + 0.5) / 100.0;
}

/* A cause that is wrong as often as right is not given. */
static void drop_uncertain(struct verdict *verdict)
{
    if (verdict->cause == CAUSE_NONE || verdict->cause == CAUSE_UNKNOWN ||
        verdict->confidence >= VERDICT_KNOWN_FROM)
        return;
    verdict->resembles = verdict->cause;
    verdict->cause = CAUSE_UNKNOWN;
}

static void give_cause(const struct judge *judge, const struct scores *scores, enum cause cause,
                       struct verdict *verdict)
{
    const struct rule *rule = scores->of[cause].of[scores->rank];
    bool is_fine = verdict->outcome == OUTCOME_SUCCEEDED && scores->rank == RANK_WRAPPER;
    verdict->cause = is_fine ? CAUSE_NONE : cause;
    verdict->plane = plane_of(judge, verdict->cause, rule);
    verdict->confidence = confidence_of(scores, cause);
    if (rule != NULL)
        TEXT_SET(verdict->rule, rule->id);
    compare_with_words(judge, scores, verdict);
    if (is_named_alone(scores, cause) && verdict->confidence < NAMED_ALONE)
        verdict->confidence = NAMED_ALONE;
    verdict->confidence = rounded(verdict->confidence);
    judge_numbers(judge, rule, verdict);
}

/* Who printed it shows plane and family where no cause is known. */
static void give_family(const struct judge *judge, const struct scores *scores,
                        struct verdict *verdict)
{
    double confidence = 0;
    bool is_wrapped =
        scores->of[CAUSE_UNKNOWN].of[RANK_WRAPPER] != NULL; /* no reason was printed */
    const struct rule *emitter = is_wrapped ? NULL : emitter_of(judge);
    enum family family = family_of(scores, emitter, &confidence);
    bool is_known = verdict->cause != CAUSE_UNKNOWN;
    verdict->family = is_known ? cause_row(verdict->cause)->family : family;
    bool differs = is_known && (verdict->family != family || confidence < verdict->confidence);
    verdict->family_confidence = rounded(differs ? verdict->confidence : confidence);
    bool is_near = verdict->resembles != CAUSE_NONE &&
                   cause_row(verdict->resembles)->family == family; /* its plane is better */
    if (is_known || emitter == NULL || emitter->family != family || is_near)
        return;
    verdict->plane = emitter->plane;
    if (verdict->rule[0] == '\0')
        TEXT_SET(verdict->rule, emitter->id);
}

static enum recoverable recoverable_of(const struct verdict *verdict)
{
    bool is_lost = verdict->guest == GUEST_AT_LOST && verdict->outcome != OUTCOME_SUCCEEDED;
    return verdict->irrecoverable || is_lost ? RECOVERABLE_NO
                                             : cause_row(verdict->cause)->recoverable;
}

void judge_give(struct judge *judge, struct verdict *out_verdict)
{
    struct scores scores;
    unsigned n_facts = judge->n_facts;
    memset(out_verdict, 0, sizeof *out_verdict);
    judge_derive(judge);
    judge_fire(judge);
    weigh(judge, &scores);
    copy_outcome(judge, out_verdict);
    give_cause(judge, &scores, choose(&scores), out_verdict);
    out_verdict->failed_at = failed_at_of(judge, out_verdict);
    judge->winner = out_verdict->cause;
    drop_uncertain(out_verdict);
    give_family(judge, &scores, out_verdict);
    out_verdict->recoverable = recoverable_of(out_verdict);
    out_verdict->action =
        out_verdict->cause != CAUSE_UNKNOWN ? cause_row(out_verdict->cause)->action : "";
    TEXT_SET(out_verdict->rules_version, judge->rules->version);
    add_points(judge, judge->winner, out_verdict);
    judge->n_facts = n_facts; /* drops the facts that rules gave: more evidence may follow */
}

void judge_fired(const struct judge *judge, judge_fired_fn *fn, void *ctx)
{
    for (unsigned i = 0; i < judge->rules->n_rules; i++)
        if (judge->fired[i] != FIRED_NOT)
            fn(ctx, judge->rules->rules[i].id, judge->rules->rules[i].cause,
               role_of(judge, i, judge->winner));
}
