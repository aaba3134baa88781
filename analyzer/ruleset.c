/* ruleset.c - built-in and site rules, loaded, linked and made ready for matching. See judge.h. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge.h"
#include "analyzer/rule.h"
#include "base/text.h"

/* How long the lists are: what a bad file appended is cut off again. */
struct mark {
    unsigned n_rules, n_patterns, n_uses, n_conditions, n_beats, n_texts, n_files;
    uint64_t hash;
};

static struct mark mark_here(const struct ruleset *rules)
{
    return (struct mark){rules->n_rules, rules->n_patterns, rules->n_uses,  rules->n_conditions,
                         rules->n_beats, rules->n_texts,    rules->n_files, rules->hash};
}

static void cut_to(struct ruleset *rules, const struct mark *mark)
{
    while (rules->n_texts > mark->n_texts)
        free((void *)(uintptr_t)rules->texts[--rules->n_texts]);
    rules->n_rules = mark->n_rules;
    rules->n_patterns = mark->n_patterns;
    rules->n_uses = mark->n_uses;
    rules->n_conditions = mark->n_conditions;
    rules->n_beats = mark->n_beats;
    rules->n_files = mark->n_files;
    rules->hash = mark->hash;
}

void ruleset_free(struct ruleset *rules)
{
    if (rules == NULL)
        return;
    cut_to(rules, &(struct mark){0});
    matcher_free(rules->matcher);
    free(rules->rules);
    free(rules->patterns);
    free(rules->uses);
    free(rules->conditions);
    free(rules->beats);
    free(rules->texts);
    free(rules);
}

size_t ruleset_count(const struct ruleset *rules)
{
    return rules->n_rules;
}

const char *ruleset_version(const struct ruleset *rules)
{
    return rules->version;
}

static bool add_file(struct ruleset *rules, const struct yaml *yaml, struct err *err)
{
    const char *name = yaml_file(yaml);
    if (rules->n_files == RULE_FILES_MAX)
        return err_set(err, ERR_LIMIT, "%s: more than %d files of rules", name, RULE_FILES_MAX);
    name = rule_keep(rules, name, strlen(name));
    if (name == NULL)
        return err_set(err, ERR_NOMEM, "no memory for rules");
    rules->files[rules->n_files] = name;
    if (!rule_read(rules, yaml, err))
        return false;
    rules->n_files++;
    return rules->n_rules <= RULES_MAX ||
           err_set(err, ERR_LIMIT, "%s: more than %d rules", name, RULES_MAX);
}

static bool add_builtin(struct ruleset *rules, struct err *err)
{
    for (const struct rule_file *file = rules_builtin; file->text != NULL; file++) {
        OWNED(yaml) yaml = yaml_parse(file->text, strlen(file->text), file->name, err);
        if (yaml == NULL || !add_file(rules, yaml, err))
            return false;
    }
    return rule_link(rules, 0, err);
}

/* ---- making ready ---- */

/* Gives the place of a pattern that cannot be used, as "file:line: what". */
static bool compile(struct ruleset *rules, struct err *err)
{
    size_t bad = 0, n = rules->n_patterns;
    struct err why = {0};
    if (n == 0)
        return true;
    const char **patterns = calloc(n, sizeof *patterns);
    if (patterns == NULL)
        return err_set(err, ERR_NOMEM, "no memory for patterns");
    for (size_t i = 0; i < n; i++)
        patterns[i] = rules->patterns[i].text;
    rules->matcher = matcher_new(patterns, n, &bad, &why);
    free(patterns);
    if (rules->matcher != NULL)
        return true;
    if (bad == n)
        return err_set(err, why.code, "%s", why.text);
    const struct rule_pattern *pattern = &rules->patterns[bad];
    return err_set(err, ERR_INVALID, "%s:%d: pattern '%s': %s", rules->files[pattern->file],
                   pattern->line, pattern->text, why.text);
}

/* ---- a site's directory ---- */

static bool add_site_file(struct ruleset *rules, const char *path, struct err *err)
{
    OWNED(yaml) yaml = yaml_read_file(path, err);
    unsigned first = rules->n_rules;
    return yaml != NULL && add_file(rules, yaml, err) && rule_link(rules, first, err);
}

static int is_rule_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && ((n > 5 && strcmp(entry->d_name + n - 5, ".yaml") == 0) ||
                                       (n > 4 && strcmp(entry->d_name + n - 4, ".yml") == 0));
}

/* Alone with the built-in rules: a pattern that is well formed can still be refused as too large.
 */
static bool can_compile(struct ruleset *rules, const struct mark *before, struct err *err)
{
    for (unsigned i = before->n_patterns; i < rules->n_patterns; i++) {
        const struct rule_pattern *pattern = &rules->patterns[i];
        struct err why = {0};
        size_t bad = 0;
        OWNED(matcher) alone = matcher_new(&pattern->text, 1, &bad, &why);
        if (alone == NULL)
            return err_set(err, ERR_INVALID, "%s:%d: pattern '%s': %s", rules->files[pattern->file],
                           pattern->line, pattern->text, why.text);
    }
    return true;
}

static void add_site(struct ruleset *rules, const char *dir, ruleset_complain_fn *complain,
                     void *ctx)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_rule_file, alphasort);
    if (n < 0) {
        struct err err = {0};
        err_set(&err, ERR_INVALID, "%s: the directory of rules cannot be read: %m", dir);
        complain(ctx, &err);
        return;
    }
    for (int i = 0; i < n; i++) {
        struct mark before = mark_here(rules);
        struct err err = {0};
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        if (!add_site_file(rules, path, &err) || !can_compile(rules, &before, &err)) {
            cut_to(rules, &before);
            complain(ctx, &err);
        }
        free(entries[i]);
    }
    free(entries);
}

struct ruleset *ruleset_new(const char *site_dir, ruleset_complain_fn *complain, void *ctx,
                            struct err *err)
{
    OWNED(ruleset) rules = calloc(1, sizeof *rules);
    if (rules == NULL) {
        err_set(err, ERR_NOMEM, "no memory for rules");
        return NULL;
    }
    rules->hash = 0xcbf29ce484222325u;
    if (!add_builtin(rules, err))
        return NULL;
    if (site_dir != NULL)
        add_site(rules, site_dir, complain, ctx);
    if (!compile(rules, err))
        return NULL;
    (void)snprintf(rules->version, sizeof rules->version, "%016" PRIx64, rules->hash);
    return TAKE(rules);
}
