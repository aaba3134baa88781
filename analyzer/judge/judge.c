/* judge.c - collects the evidence of a case: only what matches a pattern is kept. See judge.h. */
#include "analyzer/judge/judge.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/judge_inside.h"
#include "base/text.h"

enum {
    QUOTE_BEFORE = 230, /* bytes of a quote before the end of the match */
    WINDOW = EVIDENCE_TEXT_MAX - 1,
    OVERLAP = 1024,
};

struct judge *judge_new(const struct ruleset *rules, struct err *err)
{
    OWNED(judge) judge = calloc(1, sizeof *judge);
    if (judge == NULL)
        goto no_memory;
    judge->rules = rules;
    repeats_init(&judge->repeats);
    judge->hit_of = calloc((size_t)rules->n_patterns * JUDGE_SLOTS + 1, sizeof *judge->hit_of);
    judge->fired = calloc((size_t)rules->n_rules + 1, sizeof *judge->fired);
    if (judge->hit_of == NULL || judge->fired == NULL)
        goto no_memory;
    if ((judge->scratch = match_scratch_new(err)) == NULL)
        return NULL;
    if (rules->is_built_in && (judge->likeness = likeness_new(err)) == NULL)
        return NULL;
    for (unsigned i = 0; i < RULE_MATCHERS; i++)
        if (rules->matchers[i] != NULL &&
            !match_scratch_fit(judge->scratch, rules->matchers[i], err))
            return NULL;
    return TAKE(judge);
no_memory:
    err_set(err, ERR_NOMEM, "no memory for a case");
    return NULL;
}

void judge_free(struct judge *judge)
{
    if (judge == NULL)
        return;
    match_scratch_free(judge->scratch);
    likeness_free(judge->likeness);
    free(judge->hit_of);
    free(judge->hits);
    free(judge->fired);
    repeats_fini(&judge->repeats);
    free(judge);
}

void judge_reset(struct judge *judge)
{
    memset(judge->hit_of, 0,
           (size_t)judge->rules->n_patterns * JUDGE_SLOTS * sizeof *judge->hit_of);
    memset(judge->fired, 0, judge->rules->n_rules);
    judge->n_messages = judge->n_hits = judge->n_facts = judge->n_value_hits = 0;
    judge->stuck = (struct verdict_number){0};
    judge->typed = (struct typed){0};
    judge->words = (struct likeness_case){0};
    judge->winner = CAUSE_NONE;
    judge->case_number++;
}

/* ---- quotes ---- */

static size_t char_start(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* The piece of the text around `end`, as well-formed UTF-8. */
static void quote(const char *text, size_t n, size_t end, char *out, size_t out_bytes)
{
    size_t from = 0, made = 0;
    if (n >= out_bytes && end > QUOTE_BEFORE)
        from = char_start(text, end - QUOTE_BEFORE);
    if (from > 0)
        made = (size_t)snprintf(out, out_bytes, "...");
    for (size_t i = from, bytes; i < n; i += bytes) {
        bytes = text_utf8_bytes(text + i);
        bool is_bad = bytes == 0;
        if (is_bad)
            bytes = 1;
        if (made + bytes + 4 > out_bytes) {
            made += (size_t)snprintf(out + made, out_bytes - made, "...");
            break;
        }
        memcpy(out + made, is_bad ? "?" : text + i, bytes);
        made += bytes;
    }
    out[made] = '\0';
}

/* ---- what is found ---- */

static struct judge_hit *new_hit(struct judge *judge)
{
    unsigned n = judge->n_hits;
    if ((n & (n - 1)) == 0 && (n == 0 || n >= 16)) {
        size_t room = n < 16 ? 16 : (size_t)n * 2;
        struct judge_hit *more = realloc(judge->hits, room * sizeof *more);
        if (more == NULL)
            return NULL; /* continues without it */
        judge->hits = more;
    }
    return &judge->hits[judge->n_hits++];
}

/* When full, the older half stays and the newer half is overwritten in turn. */
static void add_place(struct judge_hit *hit, unsigned seq)
{
    enum { KEPT = JUDGE_POSITIONS / 2 };
    unsigned newest =
        hit->n_positions <= JUDGE_POSITIONS
            ? hit->n_positions - 1
            : KEPT + (hit->n_positions - 1 - JUDGE_POSITIONS) % (JUDGE_POSITIONS - KEPT);
    if (hit->n_positions > 0 && hit->positions[newest] == seq)
        return;
    unsigned at = hit->n_positions < JUDGE_POSITIONS
                      ? hit->n_positions
                      : KEPT + (hit->n_positions - JUDGE_POSITIONS) % (JUDGE_POSITIONS - KEPT);
    hit->positions[at] = seq;
    hit->n_positions++;
}

static void note(struct judge *judge, unsigned pattern, size_t end)
{
    uint32_t *position = &judge->hit_of[(size_t)pattern * JUDGE_SLOTS + judge->slot];
    if (*position != 0) {
        add_place(&judge->hits[*position - 1], judge->n_messages);
        return;
    }
    struct judge_hit *hit = new_hit(judge);
    if (hit == NULL)
        return;
    *position = judge->n_hits;
    hit->seq = judge->n_messages;
    hit->n_positions = 0;
    add_place(hit, hit->seq);
    hit->end = judge->before + end;
    hit->at_ms = judge->at_ms;
    hit->side = judge->side;
    quote(judge->text, judge->length, end, hit->quote, sizeof hit->quote);
    TEXT_SET(hit->origin, judge->origin);
}

static void on_text(void *ctx, unsigned pattern, size_t end)
{
    struct judge *judge = ctx;
    pattern += judge->first_pattern;
    if (judge->rules->patterns[pattern].of_values)
        return;
    judge->n_matches++;
    note(judge, pattern, end);
    repeats_note(&judge->repeats, pattern, end);
}

static void on_value(void *ctx, unsigned pattern, size_t end)
{
    struct judge *judge = ctx;
    (void)end;
    pattern += judge->first_pattern;
    if (judge->rules->patterns[pattern].of_values && judge->n_value_hits < JUDGE_VALUE_HITS_MAX)
        judge->value_hits[judge->n_value_hits++] =
            (struct judge_value_hit){judge->n_facts - 1, pattern};
}

static void match(struct judge *judge, const char *text, size_t n, match_fn *fn)
{
    for (unsigned i = 0; n > 0 && i < RULE_MATCHERS; i++)
        if (judge->rules->matchers[i] != NULL) {
            judge->first_pattern = judge->rules->first[i];
            match_scan(judge->rules->matchers[i], judge->scratch, text, n, fn, judge);
        }
}

/* Binary data would match the shortest patterns by chance. Escapes are colours. */
static bool is_text(const char *bytes, size_t n)
{
    size_t odd = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        odd += c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != 0x1b;
    }
    return odd * 32 <= n;
}

static void add_words(struct judge *judge)
{
    if (judge->likeness != NULL)
        likeness_add(judge->likeness, &judge->words, judge->seen, judge->length);
}

/* Searches the text, unless the very same one was searched before: then its matches are known. */
static void search(struct judge *judge)
{
    struct repeat_entry *known = repeats_find(&judge->repeats, judge->seen, judge->length);
    if (known == NULL) {
        unsigned before = judge->n_hits;
        judge->n_matches = 0;
        match(judge, judge->seen, judge->length, on_text);
        repeats_end(&judge->repeats, judge->seen, judge->length, judge->case_number);
        if (judge->n_matches > 0) /* what no pattern knows is not read for numbers either */
            judge_see_stuck(judge);
        if (judge->n_hits > before)
            typed_see(&judge->typed, judge->seen);
        return;
    }
    for (uint32_t i = 0; i < known->n_matches; i++)
        note(judge, known->matches[i].pattern, known->matches[i].end);
    if (known->n_matches > 0 && known->of_case != judge->case_number)
        judge_see_stuck(judge);
    known->of_case = judge->case_number;
}

/* A long text is searched in overlapping windows, so that no match is cut. */
static void on_message(void *ctx, const struct evidence_message *message)
{
    struct judge *judge = ctx;
    judge->n_messages++;
    judge->text = judge->seen;
    judge->side = message->side < SIDES ? message->side : SIDE_UNKNOWN;
    judge->slot = judge->side;
    judge->at_ms = message->at_ms;
    judge->origin = message->origin != NULL ? message->origin : "";
    for (size_t from = 0; from < message->length; from += WINDOW - OVERLAP) {
        size_t left = message->length - from;
        size_t n = left < WINDOW ? left : WINDOW;
        judge->before = from;
        if (is_text(message->text + from, n)) {
            judge->length =
                match_normalise(message->text + from, n, judge->seen, sizeof judge->seen);
            search(judge);
            add_words(judge);
        }
        if (left <= WINDOW)
            return;
    }
}

/* ---- facts ---- */

static bool is_wanted(const struct judge *judge, const struct evidence_fact *fact)
{
    unsigned same = 0;
    for (unsigned i = 0; i < judge->n_facts; i++)
        same += rule_same_word(judge->facts[i].key, fact->key);
    return judge->n_facts < JUDGE_FACTS_MAX && same < JUDGE_SAME_KEY_MAX;
}

/* Keeps as much of the value as conditions compare; searches all of it. */
static void on_fact(void *ctx, const struct evidence_fact *fact)
{
    struct judge *judge = ctx;
    if (!is_wanted(judge, fact))
        return;
    struct judge_fact *kept = &judge->facts[judge->n_facts++];
    TEXT_SET(kept->key, fact->key);
    TEXT_SET(kept->origin, fact->origin);
    kept->at_ms = fact->at_ms;
    size_t from = (size_t)snprintf(judge->seen, sizeof judge->seen, "%s=", kept->key);
    size_t n = match_normalise(fact->value, strlen(fact->value), judge->seen + from,
                               sizeof judge->seen - from);
    TEXT_SET(kept->value, judge->seen + from);
    typed_see_fact(&judge->typed, kept->key, kept->value);
    judge->text = judge->seen;
    judge->before = 0;
    judge->length = from + n;
    judge->side = SIDE_UNKNOWN;
    judge->slot = JUDGE_SLOT_FACT;
    judge->at_ms = fact->at_ms;
    judge->origin = kept->origin[0] != '\0' ? kept->origin : "facts";
    if (!fact->is_own) {
        match(judge, judge->seen, judge->length, on_text);
        add_words(judge);
    }
    match(judge, judge->seen + from, n, on_value);
}

struct evidence_sink judge_sink(struct judge *judge)
{
    return (struct evidence_sink){.ctx = judge, .message = on_message, .fact = on_fact};
}
