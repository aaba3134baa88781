/* test_ruleset.c - rule files: what is refused, with which words; a site's directory. */
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/judge/judge.h"
#include "analyzer/judge/rule.h"
#include "base/own.h"
#include "base/text.h"

#define RULE(more) "rules:\n  - id: a\n    cause: quota-exceeded\n" more

/* ---- mistakes ---- */

static const struct {
    const char *what, *text, *said;
} mistakes[] = {
    {"not YAML", "rules: [", "site.yaml:"},
    {"nothing", "", "site.yaml:1: expected one document"},
    {"another document", "a: 1\n", "site.yaml:1: "},
    {"not a list", "rules: 5\n", "site.yaml:1: rules: expected a list"},
    {"not a rule", "rules:\n  - 5\n", "site.yaml:2: expected a rule"},
    {"no id", "rules:\n  - cause: quota-exceeded\n    any: [x]\n",
     "site.yaml:2: a rule needs an id"},
    {"an id with spaces", "rules:\n  - id: 'a b'\n", "site.yaml:2: id: 'a b'"},
    {"no cause", "rules:\n  - id: a\n    any: [x]\n", "site.yaml:2: rule a needs a cause"},
    {"an unknown cause", "rules:\n  - id: a\n    cause: quota-exceded\n    any: [x]\n",
     "site.yaml:3: cause: there is no 'quota-exceded', did you mean 'quota-exceeded'?"},
    {"an unknown key", RULE("    any: [x]\n    wieght: 5\n"), "site.yaml:5: "},
    {"the nearest key", RULE("    any: [x]\n    wieght: 5\n"), "weight"},
    {"a weight of 0", RULE("    any: [x]\n    weight: 0\n"), "site.yaml:5: "},
    {"a weight of 100", RULE("    any: [x]\n    weight: 100\n"), "site.yaml:5: "},
    {"a weight in words", RULE("    any: [x]\n    weight: much\n"), "site.yaml:5: "},
    {"an unknown rank", RULE("    any: [x]\n    rank: specifc\n"),
     "site.yaml:5: rank: there is no 'specifc', did you mean 'specific'?"},
    {"an unknown side", RULE("    any: [x]\n    side: left\n"), "site.yaml:5: side: there is no"},
    {"a plane that the cause never has", RULE("    any: [x]\n    plane: data\n"),
     "site.yaml:5: plane: quota-exceeded is never of the plane data"},
    {"an emitter with a cause", RULE("    any: [x]\n    family: storage\n    plane: control\n"),
     "site.yaml:5: family: of an emitter"},
    {"an emitter without a plane", "rules:\n  - id: a\n    any: [x]\n    family: storage\n",
     "site.yaml:4: family: of an emitter"},
    {"an unknown family", "rules:\n  - id: a\n    any: [x]\n    plane: data\n    family: storag\n",
     "site.yaml:5: family: there is no 'storag', did you mean 'storage'?"},
    {"no condition", RULE("    weight: 5\n"), "site.yaml:2: rule a needs any, all, facts"},
    {"any without a list", RULE("    any: x\n"), "site.yaml:4: any: expected a list"},
    {"an open bracket", RULE("    any:\n      - fine\n      - 'ab(c'\n"),
     "site.yaml:6: pattern 'ab(c': Missing close parenthesis"},
    {"its place", RULE("    any: ['ab(c']\n"), "at index 2"},
    {"a look-ahead", RULE("    any: ['a(?=b)']\n"), "site.yaml:4: pattern 'a(?=b)':"},
    {"a back-reference", RULE("    any: ['(a)\\1']\n"), "site.yaml:4: pattern"},
    {"a pattern of nothing", RULE("    any: ['a*']\n"), "it matches the empty text"},
    {"a fact without a key", RULE("    facts: ['=5']\n"), "site.yaml:4: '=5' is no condition"},
    {"a fact with two signs", RULE("    facts: ['!a=5']\n"), "is no condition"},
    {"a number in words", RULE("    facts: ['a>much']\n"), "site.yaml:4: 'much' is not a number"},
    {"a pattern of a fact", RULE("    facts: ['a~(']\n"), "site.yaml:4: pattern '('"},
    {"a gift with a question", RULE("    any: [x]\n    gives: ['a>5']\n"), "site.yaml:5: gives:"},
    {"beats nobody known", RULE("    any: [x]\n    beats:\n      - nobody\n"),
     "site.yaml:6: beats: there is no cause and no rule 'nobody'"},
    {"one id twice", RULE("    any: [x]\n  - id: a\n    cause: quota-exceeded\n    any: [y]\n"),
     "site.yaml:5: id: there is a rule 'a' already"},
};

static void each_mistake_is_reported_with_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        struct err err = {0};
        OWNED(ruleset) rules = ruleset_of_text("site.yaml", mistakes[i].text, &err);
        if (rules != NULL || strstr(err.text, mistakes[i].said) == NULL)
            fail_msg("%s: %s", mistakes[i].what, rules != NULL ? "taken" : err.text);
    }
}

static void every_key_can_be_used(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_of_text(
        "f",
        "rules:\n  - id: a\n    cause: state-change-lock\n    weight: 99\n    rank: general\n"
        "    any: ['x', 'y']\n    all: ['z']\n    none: ['n']\n    facts: ['a', '!b', 'c=d', "
        "'e!=f', 'g~h', 'i>5', 'j<-1.5']\n    facts_any: ['k']\n    side: target\n"
        "    systems: [qemu]\n    beats: [quota-exceeded, b]\n    plane: control\n"
        "    proves: 'It.'\n    since: 'QEMU 1.0'\n"
        "  - id: b\n    gives: ['k', 'l=m']\n    any: ['q']\n",
        &err);
    assert_string_equal(err.text, "");
    assert_int_equal(ruleset_count(rules), 2);
}

static void the_same_rules_have_the_same_version(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(ruleset) a = ruleset_of_text("f", RULE("    any: ['x']\n"), &err);
    OWNED(ruleset) b = ruleset_of_text("g", "# a remark\n" RULE("    any:\n      - x\n"), &err);
    OWNED(ruleset) c = ruleset_of_text("f", RULE("    any: ['y']\n"), &err);
    assert_string_equal(ruleset_version(a), ruleset_version(b));
    assert_string_not_equal(ruleset_version(a), ruleset_version(c));
    assert_int_equal(strlen(ruleset_version(a)), 16);
}

/* ---- a site's directory ---- */

struct site {
    char dir[64];
    char said[4096];
    unsigned n_said;
};

static void hear(void *ctx, const struct err *err)
{
    struct site *site = ctx;
    size_t n = strlen(site->said);
    site->n_said++;
    (void)snprintf(site->said + n, sizeof site->said - n, "%s\n", err->text);
}

static void put(const struct site *site, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", site->dir, name);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void clear(const struct site *site, const char *const *names)
{
    char path[256];
    for (; *names != NULL; names++) {
        (void)snprintf(path, sizeof path, "%s/%s", site->dir, *names);
        (void)unlink(path);
    }
    (void)rmdir(site->dir);
}

static void a_bad_file_is_skipped_and_the_rest_loads(void **state)
{
    (void)state;
    struct site site = {.dir = "/tmp/ferry-rules-XXXXXX"};
    struct err err = {0};
    assert_non_null(mkdtemp(site.dir));
    OWNED(ruleset) builtin = ruleset_new(NULL, NULL, NULL, &err);
    put(&site, "a.yaml", "rules:\n  - id: site-a\n    cause: quota-exceeded\n    any: [aaa]\n");
    put(&site, "b.yaml",
        "rules:\n  - id: site-b\n    cause: quota-exceeded\n    any: [bbb]\n"
        "  - id: site-c\n    cause: nothing-such\n    any: [ccc]\n");
    put(&site, "c.yml",
        "rules:\n  - id: site-d\n    cause: quota-exceeded\n    any: [ddd]\n    beats: [site-a]\n");
    put(&site, "d.yaml", "rules:\n  - id: site-a\n    cause: quota-exceeded\n    any: [eee]\n");
    put(&site, "notes.txt", "not a rule");
    OWNED(ruleset) rules = ruleset_new(site.dir, hear, &site, &err);
    static const char *const names[] = {"a.yaml", "b.yaml", "c.yml", "d.yaml", "notes.txt", NULL};
    clear(&site, names);
    assert_non_null(rules);
    assert_int_equal(ruleset_count(rules), ruleset_count(builtin) + 2);
    assert_int_equal(site.n_said, 2);
    assert_non_null(strstr(site.said, "/b.yaml:6: cause: there is no 'nothing-such'"));
    assert_non_null(strstr(site.said, "/d.yaml:2: id: there is a rule 'site-a' already"));
    assert_string_not_equal(ruleset_version(rules), ruleset_version(builtin));
}

static void a_pattern_too_large_costs_only_its_file(void **state)
{
    (void)state;
    struct site site = {.dir = "/tmp/ferry-rules-XXXXXX"};
    struct err err = {0};
    assert_non_null(mkdtemp(site.dir));
    OWNED(ruleset) builtin = ruleset_new(NULL, NULL, NULL, &err);
    put(&site, "a.yaml", "rules:\n  - id: site-a\n    cause: quota-exceeded\n    any: [aaa]\n");
    put(&site, "b.yaml",
        "rules:\n  - id: site-b\n    cause: quota-exceeded\n"
        "    any:\n      - '((a.{1,3000}b){1,300}c.{1,3000}){1,300}'\n");
    OWNED(ruleset) rules = ruleset_new(site.dir, hear, &site, &err);
    static const char *const names[] = {"a.yaml", "b.yaml", NULL};
    clear(&site, names);
    assert_non_null(rules);
    assert_int_equal(ruleset_count(rules), ruleset_count(builtin) + 1);
    assert_int_equal(site.n_said, 1);
    assert_non_null(strstr(site.said, "/b.yaml:5: pattern"));
}

static void a_missing_directory_is_reported_and_the_built_in_rules_work(void **state)
{
    (void)state;
    struct site site = {0};
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_new("/no/such/directory", hear, &site, &err);
    assert_non_null(rules);
    assert_int_equal(site.n_said, 1);
    assert_non_null(strstr(site.said, "/no/such/directory: the directory of rules cannot be read"));
}

/* ---- what is built in ---- */

static void every_built_in_rule_says_what_it_proves(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    assert_string_equal(err.text, "");
    assert_true(ruleset_count(rules) > 100);
    for (unsigned i = 0; i < rules->n_rules; i++)
        if (rules->rules[i].cause != CAUSE_COUNT && rules->rules[i].proves[0] == '\0')
            fail_msg("%s proves nothing", rules->rules[i].id);
}

static void the_built_in_patterns_come_packed(void **state)
{
    (void)state;
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    assert_true(rules_packed_bytes > RULE_PACK_HEAD);
    assert_memory_equal(rules_packed, ruleset_version(rules), RULE_PACK_HEAD);
}

static void every_cause_has_a_rule(void **state)
{
    (void)state;
    struct err err = {0};
    bool has[CAUSE_COUNT + 1] = {[CAUSE_NONE] = true, [CAUSE_UNKNOWN] = true};
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    for (unsigned i = 0; i < rules->n_rules; i++)
        has[rules->rules[i].cause] = true;
    for (enum cause cause = 0; cause < CAUSE_COUNT; cause++)
        if (!has[cause])
            fail_msg("no rule leads to %s", cause_row(cause)->name);
}

TEST_FILE(test_ruleset)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_reported_with_file_and_line),
        cmocka_unit_test(every_key_can_be_used),
        cmocka_unit_test(the_same_rules_have_the_same_version),
        cmocka_unit_test(a_bad_file_is_skipped_and_the_rest_loads),
        cmocka_unit_test(a_pattern_too_large_costs_only_its_file),
        cmocka_unit_test(a_missing_directory_is_reported_and_the_built_in_rules_work),
        cmocka_unit_test(every_built_in_rule_says_what_it_proves),
        cmocka_unit_test(the_built_in_patterns_come_packed),
        cmocka_unit_test(every_cause_has_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
