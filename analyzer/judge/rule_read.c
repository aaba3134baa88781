/* rule_read.c - rules from YAML: every mistake is reported with file and line. See rule.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/rule.h"
#include "base/hash.h"
#include "base/text.h"

/* ---- the lists ---- */

/* The address of the list is of any pointer type, so it is read and written as bytes. */
void *rule_grow(void *list_address, unsigned *n, size_t element_bytes, struct err *err)
{
    char *list = NULL;
    memcpy(&list, list_address, sizeof list);
    if (*n >= RULE_ITEMS_MAX) {
        err_set(err, ERR_LIMIT, "too many rules: more than %d of a kind", RULE_ITEMS_MAX);
        return NULL;
    }
    if (*n == 0 || (*n >= 16 && (*n & (*n - 1)) == 0)) { /* full at 16, 32, 64, ... */
        list = realloc(list, (*n < 16 ? 16 : (size_t)*n * 2) * element_bytes);
        if (list == NULL) {
            err_set(err, ERR_NOMEM, "no memory for rules");
            return NULL;
        }
        memcpy(list_address, &list, sizeof list);
    }
    void *element = list + (size_t)*n * element_bytes;
    memset(element, 0, element_bytes);
    (*n)++;
    return element;
}

const char *rule_keep(struct ruleset *rules, const char *text, size_t n)
{
    struct err err = {0};
    char *copy = strndup(text, n);
    const char **slot = NULL;
    if (copy != NULL)
        slot = rule_grow(&rules->texts, &rules->n_texts, sizeof *slot, &err);
    if (slot == NULL) {
        free(copy);
        return NULL;
    }
    *slot = copy;
    return copy;
}

static bool keep(struct ruleset *rules, const char *text, const char **out_text, struct err *err)
{
    const char *kept = rule_keep(rules, text, strlen(text));
    if (kept == NULL)
        return err_set(err, ERR_NOMEM, "no memory for rules");
    *out_text = kept;
    return true;
}

bool rule_same_word(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '-' || *a == '_' || *a == ' ')
            a++;
        while (*b == '-' || *b == '_' || *b == ' ')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

bool rule_add_pattern(struct ruleset *rules, const struct yaml *yaml, const struct yaml_node *node,
                      const struct rule_pattern *wanted, unsigned *out_pattern, struct err *err)
{
    const char *text = wanted->text;
    char seen[RULE_PATTERN_MAX]; /* normalise quotation marks as in the searched text */
    struct err why = {0};
    if (strlen(text) >= sizeof seen)
        return yaml_fail(yaml, node, err, "a pattern of more than %d bytes", RULE_PATTERN_MAX - 1);
    for (size_t i = 0, end = strlen(text); i <= end; i++)
        seen[i] = text[i] == '`' ? '\'' : text[i];
    if (!rules->trusted && !matcher_check(seen, &why))
        return yaml_fail(yaml, node, err, "pattern '%s': %s", text, why.text);
    const uint64_t hash = hash_text(HASH_START, seen);
    for (unsigned i = 0; i < rules->n_patterns; i++)
        if (rules->patterns[i].hash == hash && rules->patterns[i].of_values == wanted->of_values &&
            strcmp(rules->patterns[i].text, seen) == 0) {
            *out_pattern = i;
            return true;
        }
    struct rule_pattern *pattern =
        rule_grow(&rules->patterns, &rules->n_patterns, sizeof *pattern, err);
    if (pattern == NULL)
        return false;
    pattern->of_values = wanted->of_values;
    pattern->hash = hash;
    pattern->file = rules->n_files;
    pattern->line = node->line;
    *out_pattern = rules->n_patterns - 1;
    return keep(rules, seen, &pattern->text, err);
}

/* ---- the parts of a rule ---- */

struct reader {
    struct ruleset *rules;
    const struct yaml *yaml;
    struct err *err;
};

static bool is_list(const struct reader *r, const struct yaml_node *node)
{
    return node->kind == YAML_LIST ||
           yaml_fail(r->yaml, node, r->err, "%s: expected a list", node->key);
}

static bool read_patterns(struct reader *r, const struct yaml_node *node, struct span *out_span)
{
    struct span span = {r->rules->n_uses, 0};
    if (!is_list(r, node))
        return false;
    for (const struct yaml_node *item = node->child; item != NULL; item = item->next) {
        struct rule_pattern wanted = {.of_values = false};
        unsigned pattern = 0;
        unsigned *use;
        if (!yaml_text(r->yaml, item, &wanted.text, r->err) ||
            !rule_add_pattern(r->rules, r->yaml, item, &wanted, &pattern, r->err) ||
            (use = rule_grow(&r->rules->uses, &r->rules->n_uses, sizeof *use, r->err)) == NULL)
            return false;
        *use = pattern;
        span.n++;
    }
    *out_span = span;
    return true;
}

static bool read_conditions(struct reader *r, const struct yaml_node *node, struct span *out_span)
{
    struct span span = {r->rules->n_conditions, 0};
    if (!is_list(r, node))
        return false;
    for (const struct yaml_node *item = node->child; item != NULL; item = item->next, span.n++)
        if (!rule_read_condition(r->rules, r->yaml, item, r->err))
            return false;
    *out_span = span;
    return true;
}

/* Facts that the rule adds when it fires: conditions of the form key=value or key. */
static bool read_gives(struct reader *r, const struct yaml_node *node, struct span *out_span)
{
    if (!read_conditions(r, node, out_span))
        return false;
    for (unsigned i = 0; i < out_span->n; i++) {
        enum condition_op op = r->rules->conditions[out_span->first + i].op;
        if (op != CONDITION_TRUE && op != CONDITION_EQUAL)
            return yaml_fail(r->yaml, node, r->err, "gives: only 'key' or 'key=value'");
    }
    return true;
}

/* Texts that are stored next to each other. */
static bool read_systems(struct reader *r, const struct yaml_node *node, struct span *out_span)
{
    struct span span = {r->rules->n_texts, 0};
    if (!is_list(r, node))
        return false;
    for (const struct yaml_node *item = node->child; item != NULL; item = item->next, span.n++) {
        const char *text = NULL;
        if (!yaml_text(r->yaml, item, &text, r->err) || !keep(r->rules, text, &text, r->err))
            return false;
    }
    *out_span = span;
    return true;
}

static bool read_beats(struct reader *r, const struct yaml_node *node, struct span *out_span)
{
    struct span span = {r->rules->n_beats, 0};
    if (!is_list(r, node))
        return false;
    for (const struct yaml_node *item = node->child; item != NULL; item = item->next, span.n++) {
        const char *text = NULL;
        struct rule_beat *beat;
        if (!yaml_text(r->yaml, item, &text, r->err) ||
            (beat = rule_grow(&r->rules->beats, &r->rules->n_beats, sizeof *beat, r->err)) ==
                NULL ||
            !keep(r->rules, text, &beat->name, r->err))
            return false;
        beat->cause = cause_from_name(text);
        beat->line = item->line;
    }
    *out_span = span;
    return true;
}

/* ---- words ---- */

static bool fail_word(const struct reader *r, const struct yaml_node *node, const char *word,
                      const char *const *names, size_t n)
{
    const char *near = text_nearest(word, names, n);
    return yaml_fail(r->yaml, node, r->err, "%s: there is no '%s'%s%s%s", node->key, word,
                     near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                     near != NULL ? "'?" : "");
}

/* The index of the word in the list. */
static bool read_word(struct reader *r, const struct yaml_node *node, const char *const *names,
                      size_t n, unsigned *out_index)
{
    const char *word = NULL;
    if (!yaml_text(r->yaml, node, &word, r->err))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0) {
            *out_index = i;
            return true;
        }
    return fail_word(r, node, word, names, n);
}

static bool read_cause(struct reader *r, const struct yaml_node *node, enum cause *out_cause)
{
    const char *names[CAUSE_COUNT];
    unsigned index = 0;
    for (enum cause cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++)
        names[cause - 1] = cause_row(cause)->name;
    if (!read_word(r, node, names, CAUSE_COUNT - 1, &index))
        return false;
    *out_cause = (enum cause)(index + 1);
    return true;
}

static bool read_rank(struct reader *r, const struct yaml_node *node, enum rank *out_rank)
{
    static const char *const names[RANK_COUNT] = {
#define RANK(id, name, help) [RANK_##id] = name,
#include "analyzer/judge/rule.def"
#undef RANK
    };
    unsigned index = 0;
    if (!read_word(r, node, names, RANK_COUNT, &index))
        return false;
    *out_rank = (enum rank)index;
    return true;
}

static bool read_side(struct reader *r, const struct yaml_node *node, enum side *out_side)
{
    const char *names[SIDES];
    unsigned index = 0;
    for (enum side side = 0; side < SIDES; side++)
        names[side] = side_name(side);
    if (!read_word(r, node, names, SIDES, &index))
        return false;
    *out_side = (enum side)index;
    return true;
}

static bool read_plane(struct reader *r, const struct yaml_node *node, struct rule *rule)
{
    static const char *const names[PLANE_COUNT] = {
#define PLANE(id, name, help) [PLANE_##id] = name,
#include "analyzer/judge/cause.def"
#undef PLANE
    };
    unsigned index = 0;
    if (!read_word(r, node, names, PLANE_COUNT, &index))
        return false;
    rule->plane = (enum plane)index;
    if (rule->cause != CAUSE_COUNT && !cause_has_plane(rule->cause, rule->plane))
        return yaml_fail(r->yaml, node, r->err, "plane: %s is never of the plane %s",
                         cause_row(rule->cause)->name, plane_name(rule->plane));
    return true;
}

static bool read_family(struct reader *r, const struct yaml_node *map, const struct yaml_node *node,
                        struct rule *rule)
{
    const char *names[FAMILY_COUNT];
    unsigned index = 0;
    for (enum family family = 0; family < FAMILY_COUNT; family++)
        names[family] = family_name(family);
    if (!read_word(r, node, names, FAMILY_COUNT, &index))
        return false;
    rule->family = (enum family)index;
    if (rule->cause != CAUSE_COUNT || yaml_child(map, "plane") == NULL)
        return yaml_fail(r->yaml, node, r->err,
                         "family: of an emitter, which has a plane and no cause");
    return true;
}

static bool read_id(struct reader *r, const struct yaml_node *node, struct rule *rule)
{
    const char *id = NULL;
    if (!yaml_text(r->yaml, node, &id, r->err))
        return false;
    if (id[0] == '\0' || strlen(id) >= VERDICT_RULE_MAX ||
        strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(id))
        return yaml_fail(r->yaml, node, r->err,
                         "id: '%s': lower case letters, digits and '-', at most %d", id,
                         VERDICT_RULE_MAX - 1);
    for (unsigned i = 0; i < r->rules->n_rules; i++)
        if (r->rules->rules[i].id != NULL && strcmp(r->rules->rules[i].id, id) == 0)
            return yaml_fail(r->yaml, node, r->err, "id: there is a rule '%s' already", id);
    return keep(r->rules, id, &rule->id, r->err);
}

/* ---- a rule ---- */

static bool read_words(struct reader *r, const struct yaml_node *map, struct rule *rule)
{
    const struct yaml_node *node;
    const char *proves = "";
    int64_t weight = 50;
    if ((node = yaml_child(map, "id")) == NULL)
        return yaml_fail(r->yaml, map, r->err, "a rule needs an id");
    if (!read_id(r, node, rule))
        return false;
    if ((node = yaml_child(map, "cause")) != NULL && !read_cause(r, node, &rule->cause))
        return false;
    if (node == NULL && yaml_child(map, "gives") == NULL && yaml_child(map, "family") == NULL)
        return yaml_fail(r->yaml, map, r->err, "rule %s needs a cause", rule->id);
    if ((node = yaml_child(map, "family")) != NULL && !read_family(r, map, node, rule))
        return false;
    if ((node = yaml_child(map, "weight")) != NULL &&
        !yaml_i64(r->yaml, node, 1, 99, &weight, r->err))
        return false;
    rule->weight = (unsigned)weight;
    if ((node = yaml_child(map, "rank")) != NULL && !read_rank(r, node, &rule->rank))
        return false;
    if ((node = yaml_child(map, "side")) != NULL && !read_side(r, node, &rule->side))
        return false;
    if ((node = yaml_child(map, "plane")) != NULL && !read_plane(r, node, rule))
        return false;
    if ((node = yaml_child(map, "proves")) != NULL && !yaml_text(r->yaml, node, &proves, r->err))
        return false;
    return keep(r->rules, proves, &rule->proves, r->err);
}

static bool read_lists(struct reader *r, const struct yaml_node *map, struct rule *rule)
{
    const struct {
        const char *key;
        bool (*read)(struct reader *r, const struct yaml_node *node, struct span *out_span);
        struct span *span;
    } rows[] = {
        {"any", read_patterns, &rule->any},
        {"all", read_patterns, &rule->all},
        {"none", read_patterns, &rule->none},
        {"facts", read_conditions, &rule->facts},
        {"facts_any", read_conditions, &rule->facts_any},
        {"gives", read_gives, &rule->gives},
        {"systems", read_systems, &rule->systems},
        {"beats", read_beats, &rule->beats},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct yaml_node *node = yaml_child(map, rows[i].key);
        if (node != NULL && !rows[i].read(r, node, rows[i].span))
            return false;
    }
    if (rule->any.n + rule->all.n + rule->facts.n + rule->facts_any.n > 0)
        return true;
    return yaml_fail(r->yaml, map, r->err, "rule %s needs any, all, facts or facts_any", rule->id);
}

static bool read_one(struct reader *r, const struct yaml_node *map)
{
    static const char *const keys[] = {
        "id",        "cause", "weight",  "rank",  "any",   "all",    "none",  "facts",  "gives",
        "facts_any", "side",  "systems", "beats", "plane", "proves", "since", "family",
    };
    if (map->kind != YAML_MAP)
        return yaml_fail(r->yaml, map, r->err, "expected a rule: id, cause, weight, ...");
    struct rule *slot = rule_grow(&r->rules->rules, &r->rules->n_rules, sizeof *slot, r->err);
    if (slot == NULL || !yaml_only_keys(r->yaml, map, keys, COUNT(keys), r->err))
        return false;
    struct rule rule = {.cause = CAUSE_COUNT,
                        .plane = PLANE_COUNT,
                        .family = FAMILY_COUNT,
                        .rank = RANK_SPECIFIC,
                        .file = r->rules->n_files,
                        .line = map->line};
    if (!read_words(r, map, &rule) || !read_lists(r, map, &rule))
        return false;
    r->rules->rules[r->rules->n_rules - 1] = rule;
    return true;
}

static bool link_beat(struct ruleset *rules, const struct rule *rule, struct rule_beat *beat,
                      struct err *err)
{
    for (unsigned i = 0; beat->cause == CAUSE_COUNT && i < rules->n_rules; i++)
        if (strcmp(rules->rules[i].id, beat->name) == 0) {
            beat->rule = i;
            return true;
        }
    return beat->cause != CAUSE_COUNT ||
           err_set(err, ERR_INVALID, "%s:%d: beats: there is no cause and no rule '%s'",
                   rules->files[rule->file], beat->line, beat->name);
}

bool rule_link(struct ruleset *rules, unsigned first_rule, struct err *err)
{
    for (unsigned i = first_rule; i < rules->n_rules; i++)
        for (unsigned b = 0; b < rules->rules[i].beats.n; b++)
            if (!link_beat(rules, &rules->rules[i], &rules->beats[rules->rules[i].beats.first + b],
                           err))
                return false;
    return true;
}

static uint64_t hash_part(uint64_t hash, const char *text)
{
    return hash_step(hash_text(hash, text != NULL ? text : ""), 0xff);
}

static uint64_t hash_tree(uint64_t hash, const struct yaml_node *node)
{
    hash = hash_part(hash, node->key);
    hash = hash_part(hash, node->text);
    for (const struct yaml_node *child = node->child; child != NULL; child = child->next)
        hash = hash_tree(hash, child); /* as deep as YAML_DEPTH_MAX */
    return hash;
}

bool rule_read(struct ruleset *rules, const struct yaml *yaml, struct err *err)
{
    static const char *const keys[] = {"rules"};
    struct reader r = {rules, yaml, err};
    const struct yaml_node *top = NULL, *list = NULL;
    if (yaml_document_count(yaml) != 1 || (top = yaml_document(yaml, 0))->kind != YAML_MAP)
        return err_set(err, ERR_INVALID, "%s:1: expected one document, rules: [...]",
                       yaml_file(yaml));
    if (!yaml_only_keys(yaml, top, keys, COUNT(keys), err))
        return false;
    if ((list = yaml_child(top, "rules")) == NULL || list->kind != YAML_LIST)
        return yaml_fail(yaml, list != NULL ? list : top, err, "rules: expected a list");
    for (const struct yaml_node *node = list->child; node != NULL; node = node->next)
        if (!read_one(&r, node))
            return false;
    rules->hash = hash_tree(rules->hash, top);
    return true;
}
