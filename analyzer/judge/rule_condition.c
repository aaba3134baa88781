/* rule_condition.c - conditions on facts: "key=value", "key!=value", "key~regex", "key>5",
 * "key<5", "key", "!key". See rule.h. */
#include <string.h>

#include "analyzer/judge/rule.h"

/* Splits at the first sign; the key may hold anything else. */
static enum condition_op split(const char *text, size_t *out_key_bytes, const char **out_rest)
{
    size_t n = strcspn(text, "=!~<>");
    *out_key_bytes = n;
    *out_rest = text + n + (text[n] != '\0');
    switch (text[n]) {
    case '=': return CONDITION_EQUAL;
    case '~': return CONDITION_MATCHES;
    case '>': return CONDITION_ABOVE;
    case '<': return CONDITION_BELOW;
    case '!':
        if (text[n + 1] == '=') {
            *out_rest = text + n + 2;
            return CONDITION_DIFFERS;
        }
        return CONDITION_NOT; /* with a sign in the middle: refused by the caller */
    default: return CONDITION_TRUE;
    }
}

static bool read_number(const char *text, double *out_number)
{
    char *end = NULL;
    *out_number = strtod(text, &end);
    return text[0] != '\0' && *end == '\0' && *out_number >= -1e300 && *out_number <= 1e300;
}

static bool read_right(struct ruleset *rules, const struct yaml *yaml, const struct yaml_node *node,
                       struct rule_condition *made, struct err *err)
{
    const struct rule_pattern wanted = {.text = made->text, .of_values = true};
    if (made->op == CONDITION_MATCHES)
        return rule_add_pattern(rules, yaml, node, &wanted, &made->pattern, err);
    bool is_numeric = made->op == CONDITION_ABOVE || made->op == CONDITION_BELOW;
    return !is_numeric || read_number(made->text, &made->number) ||
           yaml_fail(yaml, node, err, "'%s' is not a number", made->text);
}

bool rule_read_condition(struct ruleset *rules, const struct yaml *yaml,
                         const struct yaml_node *node, struct err *err)
{
    const char *text = NULL, *rest = NULL;
    size_t key_bytes = 0;
    struct rule_condition made = {0};
    if (!yaml_text(yaml, node, &text, err))
        return false;
    bool is_not = text[0] == '!' && text[1] != '=';
    made.op = split(text + is_not, &key_bytes, &rest);
    if (key_bytes == 0 || key_bytes >= EVIDENCE_KEY_MAX || made.op == CONDITION_NOT ||
        (is_not && made.op != CONDITION_TRUE))
        return yaml_fail(yaml, node, err,
                         "'%s' is no condition: key, !key, key=value, key!=value, key~regex, "
                         "key>number or key<number",
                         text);
    if (is_not)
        made.op = CONDITION_NOT;
    made.key = rule_keep(rules, text + is_not, key_bytes);
    made.text = rule_keep(rules, rest, strlen(rest));
    if (made.key == NULL || made.text == NULL)
        return err_set(err, ERR_NOMEM, "no memory for rules");
    if (!read_right(rules, yaml, node, &made, err))
        return false;
    struct rule_condition *slot =
        rule_grow(&rules->conditions, &rules->n_conditions, sizeof *slot, err);
    if (slot != NULL)
        *slot = made;
    return slot != NULL;
}
