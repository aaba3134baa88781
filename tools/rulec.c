/* rulec.c - packs the patterns of the built-in rules for the program: rulec OUT
 *
 * Run by the build. A mistake in a rule file stops it with file and line.
 */
#include <stdio.h>

#include "analyzer/judge/judge.h"
#include "analyzer/judge/rule.h"

const char rules_packed[] = ""; /* this program makes them */
const size_t rules_packed_bytes = 0;

static bool write_file(const char *name, const char *version, const char *packed, size_t n)
{
    FILE *out = fopen(name, "we");
    if (out == NULL)
        return false;
    bool wrote =
        fwrite(version, RULE_PACK_HEAD, 1, out) == 1 && (n == 0 || fwrite(packed, n, 1, out) == 1);
    return fclose(out) == 0 && wrote;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    OWNED_TEXT packed = NULL;
    size_t n = 0;
    if (rules != NULL && rules->matchers[0] != NULL)
        packed = matcher_pack(rules->matchers[0], &n, &err);
    if (err.code != ERR_NONE || argc != 2) {
        (void)fprintf(stderr, "%s\n", argc != 2 ? "usage: rulec OUT" : err.text);
        return 1;
    }
    if (write_file(argv[1], ruleset_version(rules), packed, n))
        return 0;
    (void)fprintf(stderr, "%s: %m\n", argv[1]);
    return 1;
}
