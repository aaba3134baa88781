/* matcher.c - how fast evidence is matched and judged.
 *
 *   matcher log LINES       a log to search, made from the known cases and from what daemons write
 *                           when nothing is wrong; the same every time
 *   matcher patterns        the built-in patterns as `grep -E` understands them, one a line;
 *                           those that it does not are left out and counted on stderr
 *   matcher scan LOG        CPU seconds to look at every line of the log, best of 3
 *   matcher verdicts CASES  verdicts a second over the cases, best of 3
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyzer/judge/judge.h"
#include "analyzer/judge/rule.h"
#include "base/json.h"
#include "base/text.h"

/* CPU time: others may use the machine too. */
static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the log ---- */

/* A '#' is any digit. */
static const char *const quiet[] = {
    "########.###+0000: ####: debug : virThreadJobSet:93 : Thread #### is now running rpc job",
    "2026-11-16T10:##:##.###Z qemu-system-x86_64: info: iteration ## of memory sent",
    "{\"level\":\"info\",\"msg\":\"resyncing virt-launcher\",\"pos\":\"vm.go:####\"}",
    "Nov 16 10:##:## node## systemd[####]: Started Session of user root.",
    "2026-11-16 10:##:##.### #### INFO nova.compute.manager [-] VM Resumed (Lifecycle Event)",
    "I1116 10:##:##.###       1 controller.go:###] enqueueing object default/testvm for sync",
};

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static char **read_messages(const char *file, size_t *out_n)
{
    FILE *in = fopen(file, "re");
    char **list = calloc(4096, sizeof *list), *line = NULL;
    size_t room = 0, n = 0;
    ssize_t bytes;
    while (in != NULL && list != NULL && (bytes = getline(&line, &room, in)) > 0) {
        struct err err = {0};
        OWNED(json_object) one = json_parse(line, (size_t)bytes, file, &err);
        struct json_object *messages = json_at(one, "messages");
        size_t count = messages != NULL ? json_object_array_length(messages) : 0;
        for (size_t i = 0; i < count && n < 4096; i++)
            list[n++] = strdup(json_object_get_string(json_object_array_get_idx(messages, i)));
    }
    free(line);
    if (in != NULL)
        (void)fclose(in);
    *out_n = n;
    return list;
}

static void print_line(const char *text, unsigned *state)
{
    for (; *text != '\0'; text++) {
        char c = *text == '\n' ? ' ' : *text;
        (void)putchar(c == '#' ? (int)('0' + next_random(state) % 10) : c);
    }
    (void)putchar('\n');
}

/* One line in a hundred is of a failure. */
static int make_log(unsigned long lines)
{
    size_t n = 0;
    char **failures = read_messages("tests/cases/known.jsonl", &n);
    unsigned state = 7;
    for (unsigned long i = 0; n > 0 && i < lines; i++) {
        unsigned r = next_random(&state);
        print_line(r % 100 == 0 ? failures[r / 100 % n] : quiet[r % COUNT(quiet)], &state);
    }
    for (size_t i = 0; i < n; i++)
        free(failures[i]);
    free(failures);
    return n > 0 ? 0 : 1;
}

/* ---- patterns for grep ---- */

/* grep -E has neither \d nor (?:...) nor lazy repeats. */
static bool to_grep(const char *pattern, char *out, size_t room)
{
    size_t n = 0;
    for (const char *c = pattern; *c != '\0' && n + 8 < room; c++) {
        if (c[0] == '(' && c[1] == '?' && c[2] == ':') {
            out[n++] = '(';
            c += 2;
        } else if (c[0] == '\\' && c[1] == 'd') {
            n += (size_t)snprintf(out + n, room - n, "[0-9]");
            c++;
        } else if (c[0] == '\\' && c[1] != '\0') {
            out[n++] = *c++;
            out[n++] = *c;
        } else if ((c[0] == '(' && c[1] == '?') || (strchr("*+?}", c[0]) != NULL && c[1] == '?')) {
            return false;
        } else {
            out[n++] = *c;
        }
    }
    out[n] = '\0';
    return true;
}

static int print_patterns(const struct ruleset *rules)
{
    unsigned left_out = 0, n = 0;
    for (unsigned i = 0; i < rules->n_patterns; i++) {
        char text[RULE_PATTERN_MAX * 2];
        if (rules->patterns[i].of_values)
            continue;
        n++;
        if (to_grep(rules->patterns[i].text, text, sizeof text))
            (void)printf("%s\n", text);
        else
            left_out++;
    }
    (void)fprintf(stderr, "%u patterns, %u of them not for grep\n", n, left_out);
    return 0;
}

/* ---- measuring ---- */

static char *read_all(const char *file, size_t *out_n)
{
    FILE *in = fopen(file, "re");
    struct buf text;
    char piece[65536];
    size_t n;
    buf_init(&text, (size_t)4 << 30);
    while (in != NULL && (n = fread(piece, 1, sizeof piece, in)) > 0)
        buf_add_bytes(&text, piece, n);
    if (in != NULL)
        (void)fclose(in);
    *out_n = text.length;
    return buf_take(&text);
}

static int scan(const struct ruleset *rules, const char *file)
{
    struct err err = {0};
    size_t n = 0, lines = 0;
    OWNED_TEXT text = read_all(file, &n);
    OWNED(judge) judge = judge_new(rules, &err);
    struct evidence_sink sink = judge_sink(judge);
    double best = 1e9;
    for (int round = 0; text != NULL && round < 3; round++) {
        double from = now_s();
        lines = 0;
        judge_reset(judge);
        for (const char *at = text, *end; at < text + n; at = end + 1, lines++) {
            end = memchr(at, '\n', (size_t)(text + n - at));
            if (end == NULL)
                end = text + n;
            struct evidence_message message = {
                .text = at, .length = (size_t)(end - at), .origin = file};
            sink.message(sink.ctx, &message);
        }
        double took = now_s() - from;
        best = took < best ? took : best;
    }
    (void)printf("%.4f %zu %zu\n", best, n, lines);
    return 0;
}

static void give(struct json_object *one, const struct evidence_sink *sink)
{
    struct json_object *messages = json_at(one, "messages"), *facts = json_at(one, "facts");
    for (size_t i = 0; messages != NULL && i < json_object_array_length(messages); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(messages, i));
        struct evidence_message message = {.text = text, .length = strlen(text), .origin = "m"};
        sink->message(sink->ctx, &message);
    }
    if (facts != NULL) {
        json_object_object_foreach(facts, key, value)
        {
            struct evidence_fact fact = {
                .key = key, .value = json_object_get_string(value), .origin = "f"};
            sink->fact(sink->ctx, &fact);
        }
    }
}

static int verdicts(const struct ruleset *rules, const char *file)
{
    enum { CASES = 1024, ROUNDS = 20 };
    struct err err = {0};
    struct json_object *cases[CASES];
    struct verdict verdict;
    size_t n = 0, room = 0;
    double best = 1e9;
    OWNED_TEXT line = NULL;
    OWNED(judge) judge = judge_new(rules, &err);
    struct evidence_sink sink = judge_sink(judge);
    FILE *in = fopen(file, "re");
    for (ssize_t bytes; in != NULL && n < CASES && (bytes = getline(&line, &room, in)) > 0; n++)
        cases[n] = json_parse(line, (size_t)bytes, file, &err);
    if (in != NULL)
        (void)fclose(in);
    for (int tries = 0; tries < 3; tries++) {
        double from = now_s();
        for (int round = 0; round < ROUNDS; round++)
            for (size_t i = 0; i < n; i++) {
                judge_reset(judge);
                give(cases[i], &sink);
                judge_give(judge, &verdict);
            }
        double took = now_s() - from;
        best = took < best ? took : best;
    }
    for (size_t i = 0; i < n; i++)
        json_object_free(cases[i]);
    (void)printf("%.0f %zu\n", ROUNDS * (double)n / best, n);
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    OWNED(ruleset) rules = ruleset_new(NULL, NULL, NULL, &err);
    if (rules == NULL) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (argc == 3 && strcmp(argv[1], "log") == 0)
        return make_log(strtoul(argv[2], NULL, 10));
    if (argc == 2 && strcmp(argv[1], "patterns") == 0)
        return print_patterns(rules);
    if (argc == 3 && strcmp(argv[1], "scan") == 0)
        return scan(rules, argv[2]);
    if (argc == 3 && strcmp(argv[1], "verdicts") == 0)
        return verdicts(rules, argv[2]);
    (void)fprintf(stderr, "usage: matcher log LINES | patterns | scan LOG | verdicts CASES\n");
    return 2;
}
