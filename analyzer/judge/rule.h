/* rule.h - the inside of a ruleset: rules as they were read, checked and linked.
 *
 * Everything is in a few growing lists; a rule has spans of them. Reading a file only appends, so
 * that a bad file is undone by truncating the lists.
 */
#ifndef ANALYZER_JUDGE_RULE_H
#define ANALYZER_JUDGE_RULE_H

#include "analyzer/judge/match.h"
#include "analyzer/judge/verdict.h"
#include "base/yaml.h"

enum {
    RULE_MATCHERS = 2,
    RULES_MAX = 8192,
    RULE_ITEMS_MAX = 32768, /* of any of the lists */
    RULE_PATTERN_MAX = 1024,
    RULE_FILES_MAX = 256,
};

enum rank {
#define RANK(id, name, help) RANK_##id,
#include "analyzer/judge/rule.def"
#undef RANK
    RANK_COUNT
};

struct span {
    unsigned first, n;
};

enum condition_op {
    CONDITION_TRUE, /* there, and not false, no, 0 or empty */
    CONDITION_NOT,
    CONDITION_EQUAL,
    CONDITION_DIFFERS, /* there, and no value is equal */
    CONDITION_MATCHES,
    CONDITION_ABOVE,
    CONDITION_BELOW,
};
struct rule_condition {
    const char *key, *text; /* text: the value that it is compared with */
    enum condition_op op;
    double number;
    unsigned pattern; /* of CONDITION_MATCHES */
};
struct rule_beat {
    const char *name;
    enum cause cause; /* CAUSE_COUNT: it is a rule */
    unsigned rule;
    int line;
};
struct rule_pattern {
    const char *text;
    bool of_values; /* matched against the values of facts only */
    uint64_t hash;  /* of the text: there are more than a thousand, and each is looked for once */
    unsigned file;  /* that brought it first */
    int line;
};

struct rule {
    const char *id, *proves;
    enum cause cause; /* CAUSE_COUNT: it only gives facts to other rules */
    enum rank rank;
    enum side side;                      /* SIDE_UNKNOWN: any */
    enum plane plane;                    /* PLANE_COUNT: that of the cause */
    enum family family;                  /* FAMILY_COUNT: that of the cause; set: an emitter */
    unsigned weight;                     /* 1..99 */
    struct span any, all, none;          /* in uses */
    struct span facts, facts_any, gives; /* in conditions */
    struct span systems;                 /* in texts */
    struct span beats;
    unsigned file;
    int line;
};

struct rule_file {
    const char *name, *text; /* text NULL: the end of the list */
};
/* Made from analyzer/rules/ by the build: the texts, and their patterns packed (RULE_PACK_HEAD
 * bytes of version first), since compiling them takes seconds. May be empty. */
extern const struct rule_file rules_builtin[];
extern const char rules_packed[];
extern const size_t rules_packed_bytes;
enum { RULE_PACK_HEAD = 16 };

struct ruleset {
    struct rule *rules;
    struct rule_pattern *patterns;
    unsigned *uses; /* numbers of patterns */
    struct rule_condition *conditions;
    struct rule_beat *beats;
    const char **texts; /* owns each; everything above points here */
    unsigned n_rules, n_patterns, n_uses, n_conditions, n_beats, n_texts;
    const char *files[RULE_FILES_MAX]; /* names, kept in texts */
    unsigned n_files;
    uint64_t hash;
    char version[VERDICT_VERSION_MAX];
    bool is_built_in; /* the build's own rules are among them */
    bool trusted;     /* patterns come from the build and were checked there */
    /* The built-in patterns and the site's; NULL: there are none. */
    struct matcher *matchers[RULE_MATCHERS];
    unsigned first[RULE_MATCHERS]; /* number of the first pattern */
};

/* Only the rules of this text: without the built-in ones. */
struct ruleset *ruleset_of_text(const char *file, const char *text, struct err *err);
/* Appends the rules of one file. After a failure the lists must be truncated. */
bool rule_read(struct ruleset *rules, const struct yaml *yaml, struct err *err);
/* Resolves the `beats` of the rules from `first_rule` on. */
bool rule_link(struct ruleset *rules, unsigned first_rule, struct err *err);
/* One condition: "key=value", "key>5", "!key", ... */
bool rule_read_condition(struct ruleset *rules, const struct yaml *yaml,
                         const struct yaml_node *node, struct err *err);
/* wanted: its text, and whether values or messages are matched. node: where it is written. */
bool rule_add_pattern(struct ruleset *rules, const struct yaml *yaml, const struct yaml_node *node,
                      const struct rule_pattern *wanted, unsigned *out_pattern, struct err *err);
/* Keeps a copy; NULL without memory or room. */
const char *rule_keep(struct ruleset *rules, const char *text, size_t n);

/* One more element in a list of the ruleset; NULL without memory or room, with err set. */
void *rule_grow(void *list_address, unsigned *n, size_t element_bytes, struct err *err);

/* Compares words ignoring case, '-', '_' and spaces. */
bool rule_same_word(const char *a, const char *b);

#endif
