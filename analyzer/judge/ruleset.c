/* ruleset.c - built-in and site rules: loaded, linked and compiled. See judge.h. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/judge/judge.h"
#include "analyzer/judge/rule.h"
#include "base/hash.h"
#include "base/text.h"

/* Lengths of the lists: what a bad file appended is removed again. */
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
    for (unsigned i = 0; i < RULE_MATCHERS; i++)
        matcher_free(rules->matchers[i]);
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

/* ---- built in ---- */

static bool add_builtin(struct ruleset *rules, struct err *err)
{
    rules->trusted = rules_packed_bytes > RULE_PACK_HEAD;
    for (const struct rule_file *file = rules_builtin; file->text != NULL; file++) {
        OWNED(yaml) yaml = yaml_parse(file->text, strlen(file->text), file->name, err);
        if (yaml == NULL || !add_file(rules, yaml, err))
            return false;
    }
    rules->trusted = false;
    return rule_link(rules, 0, err);
}

static void set_version(struct ruleset *rules)
{
    (void)snprintf(rules->version, sizeof rules->version, "%016" PRIx64, rules->hash);
}

/* Compiles the patterns from `first` on. An error is "file:line: what", and out_file is its
 * file. */
static bool compile(struct ruleset *rules, unsigned which, unsigned *out_file, struct err *err)
{
    unsigned first = rules->first[which], n = rules->n_patterns - first;
    size_t bad = 0;
    struct err why = {0};
    if (n == 0)
        return true;
    const char **patterns = calloc(n, sizeof *patterns);
    if (patterns == NULL)
        return err_set(err, ERR_NOMEM, "no memory for patterns");
    for (unsigned i = 0; i < n; i++)
        patterns[i] = rules->patterns[first + i].text;
    rules->matchers[which] = matcher_new(patterns, n, &bad, &why);
    free(patterns);
    if (rules->matchers[which] != NULL)
        return true;
    if (bad == n)
        return err_set(err, why.code, "%s", why.text);
    const struct rule_pattern *pattern = &rules->patterns[first + bad];
    *out_file = pattern->file;
    return err_set(err, ERR_INVALID, "%s:%d: pattern '%s': %s", rules->files[pattern->file],
                   pattern->line, pattern->text, why.text);
}

static bool make_builtin_ready(struct ruleset *rules, struct err *err)
{
    unsigned file = 0;
    struct err ignored = {0};
    set_version(rules);
    if (rules_packed_bytes > RULE_PACK_HEAD &&
        memcmp(rules_packed, rules->version, RULE_PACK_HEAD) == 0)
        rules->matchers[0] = matcher_unpack(rules_packed + RULE_PACK_HEAD,
                                            rules_packed_bytes - RULE_PACK_HEAD, &ignored);
    return rules->matchers[0] != NULL || compile(rules, 0, &file, err);
}

/* ---- a site's directory ---- */

struct site {
    const char *dir;
    struct dirent **entries;
    int n;
    bool *refused;                /* each: reported already, skip it */
    int entry_of[RULE_FILES_MAX]; /* by the number of the file */
    ruleset_problem_fn *problem;
    void *ctx;
};

static int is_rule_file(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && ((n > 5 && strcmp(entry->d_name + n - 5, ".yaml") == 0) ||
                                       (n > 4 && strcmp(entry->d_name + n - 4, ".yml") == 0));
}

static bool add_site_file(struct ruleset *rules, const char *path, struct err *err)
{
    OWNED(yaml) yaml = yaml_read_file(path, err);
    unsigned first = rules->n_rules;
    return yaml != NULL && add_file(rules, yaml, err) && rule_link(rules, first, err);
}

static void add_site_files(struct ruleset *rules, struct site *site)
{
    for (int i = 0; i < site->n; i++) {
        struct mark before = mark_here(rules);
        struct err err = {0};
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", site->dir, site->entries[i]->d_name);
        if (site->refused[i])
            continue;
        if (add_site_file(rules, path, &err)) {
            site->entry_of[rules->n_files - 1] = i;
            continue;
        }
        cut_to(rules, &before);
        site->refused[i] = true;
        site->problem(site->ctx, &err);
    }
}

/* A valid pattern can still be too large: its file is skipped, and the others are loaded again. */
static void add_site(struct ruleset *rules, struct site *site)
{
    struct mark before = mark_here(rules);
    rules->first[1] = rules->n_patterns;
    for (;;) {
        struct err err = {0};
        unsigned file = RULE_FILES_MAX;
        add_site_files(rules, site);
        if (compile(rules, 1, &file, &err))
            return;
        cut_to(rules, &before);
        site->problem(site->ctx, &err);
        if (file == RULE_FILES_MAX)
            return;
        site->refused[site->entry_of[file]] = true;
    }
}

static void add_site_dir(struct ruleset *rules, const char *dir, ruleset_problem_fn *problem,
                         void *ctx)
{
    struct site site = {.dir = dir, .problem = problem, .ctx = ctx};
    struct err err = {0};
    site.n = scandir(dir, &site.entries, is_rule_file, alphasort);
    site.refused = calloc(site.n > 0 ? (size_t)site.n : 1, sizeof *site.refused);
    if (site.n < 0 || site.refused == NULL)
        err_set(&err, ERR_INVALID, "%s: the directory of rules cannot be read: %m", dir);
    if (err.code == ERR_NONE)
        add_site(rules, &site);
    else
        problem(ctx, &err);
    for (int i = 0; i < site.n; i++)
        free(site.entries[i]);
    free(site.entries);
    free(site.refused);
}

static struct ruleset *empty(struct err *err)
{
    struct ruleset *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        err_set(err, ERR_NOMEM, "no memory for rules");
    else
        rules->hash = HASH_START;
    return rules;
}

struct ruleset *ruleset_of_text(const char *file, const char *text, struct err *err)
{
    OWNED(ruleset) rules = empty(err);
    OWNED(yaml) yaml = rules != NULL ? yaml_parse(text, strlen(text), file, err) : NULL;
    unsigned bad_file = 0;
    if (yaml == NULL || !add_file(rules, yaml, err) || !rule_link(rules, 0, err) ||
        !compile(rules, 0, &bad_file, err))
        return NULL;
    set_version(rules);
    return TAKE(rules);
}

struct ruleset *ruleset_new(const char *site_dir, ruleset_problem_fn *problem, void *ctx,
                            struct err *err)
{
    OWNED(ruleset) rules = empty(err);
    if (rules == NULL || !add_builtin(rules, err) || !make_builtin_ready(rules, err))
        return NULL;
    if (site_dir != NULL)
        add_site_dir(rules, site_dir, problem, ctx);
    set_version(rules);
    rules->is_built_in = true;
    return TAKE(rules);
}
