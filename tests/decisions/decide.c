/* decide.c - golden decisions: every tests/decisions/NAME.in is played and what the core decided is
 * compared with NAME.out. README.md says how to read and add one.
 *
 * decide [--accept] [NAME...]: without names all of them; --accept writes the .out files anew.
 * Prints as cmocka does, so that tests/run counts each case as a test. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/decisions/case.h"
#include "tests/decisions/report.h"

#define ALL_CASES "decisions"
#define FOLDER "tests/decisions/"
enum { OUT_MAX = 4 << 20, NAME_BYTES = 128, FILE_BYTES = 256 };

char *case_play(const char *file, struct err *err)
{
    OWNED(world) w = calloc(1, sizeof *w);
    if (w == NULL)
        return err_set(err, ERR_NOMEM, "a case"), NULL;
    buf_init(&w->out, OUT_MAX);
    w->headed_ms = -1;
    w->yaml = yaml_read_file(file, err);
    if (w->yaml == NULL || yaml_document_count(w->yaml) != 1)
        return err->code == ERR_NONE ? (err_set(err, ERR_INVALID, "%s: one document", file), NULL)
                                     : NULL;
    const struct yaml_node *document = yaml_document(w->yaml, 0);
    const struct yaml_node *steps = yaml_child(document, "steps");
    if (!case_set_up(w, document, err))
        return NULL;
    world_settle(w);
    for (const struct yaml_node *step = steps != NULL ? steps->child : NULL; step != NULL;
         step = step->next)
        if (!case_step(w, step, err))
            return NULL;
    report_state(w);
    return buf_take(&w->out);
}

static bool write_file(const char *file, const char *text)
{
    FILE *out = fopen(file, "w");
    if (out == NULL)
        return false;
    bool done = fputs(text, out) >= 0;
    return fclose(out) == 0 && done;
}

/* The file's text, malloc'ed; "" when there is none. */
static char *read_file(const char *file)
{
    struct buf text;
    char part[4096];
    size_t n;
    buf_init(&text, OUT_MAX);
    FILE *in = fopen(file, "r");
    while (in != NULL && (n = fread(part, 1, sizeof part, in)) > 0)
        buf_add_bytes(&text, part, n);
    if (in != NULL)
        (void)fclose(in);
    return buf_take(&text);
}

static void show_difference(const char *file, const char *text)
{
    char got[] = "/tmp/decided.XXXXXX";
    int fd = mkstemp(got);
    if (fd < 0 || close(fd) != 0 || !write_file(got, text))
        return;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execlp("diff", "diff", "-u", "--label", file, "--label", "decided now", file, got,
               (char *)NULL);
        _exit(2);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    (void)unlink(got);
}

static bool check(const char *name, bool accept)
{
    char in[FILE_BYTES], out[FILE_BYTES];
    struct err err = {0};
    (void)snprintf(in, sizeof in, FOLDER "%.100s.in", name);
    (void)snprintf(out, sizeof out, FOLDER "%.100s.out", name);
    OWNED_TEXT decided = case_play(in, &err);
    if (decided == NULL) {
        printf("%s\n", err.text);
        return false;
    }
    if (accept)
        return write_file(out, decided);
    OWNED_TEXT expected = read_file(out);
    if (expected != NULL && strcmp(decided, expected) == 0)
        return true;
    show_difference(out, decided);
    return false;
}

static bool is_asked_for(const char *name, int argc, char **argv, int first)
{
    for (int i = first; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return first >= argc;
}

/* Decisions of a case that is gone. */
static unsigned count_orphans(void)
{
    unsigned n = 0;
    glob_t found = {0};
    if (glob(FOLDER "*.out", 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char in[FILE_BYTES];
        int stem = (int)(strlen(found.gl_pathv[i]) - strlen(".out"));
        (void)snprintf(in, sizeof in, "%.*s.in", stem, found.gl_pathv[i]);
        if (access(in, F_OK) == 0)
            continue;
        printf("[  FAILED  ] %s has no .in\n", found.gl_pathv[i]);
        n++;
    }
    globfree(&found);
    return n;
}

int main(int argc, char **argv)
{
    bool accept = argc > 1 && strcmp(argv[1], "--accept") == 0;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) { /* tests/run: one entry, all cases */
        (void)puts(ALL_CASES);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], ALL_CASES) == 0)
        argc = 1;
    unsigned passed = 0, failed = count_orphans();
    glob_t found = {0};
    if (glob(FOLDER "*.in", 0, NULL, &found) != 0) {
        printf("no cases below " FOLDER "\n");
        return 1;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char name[NAME_BYTES];
        TEXT_SET(name, found.gl_pathv[i] + strlen(FOLDER));
        name[strlen(name) - strlen(".in")] = '\0';
        if (!is_asked_for(name, argc, argv, accept ? 2 : 1))
            continue;
        bool good = check(name, accept);
        printf("[%s] %s\n", good ? "       OK " : "  FAILED  ", name);
        *(good ? &passed : &failed) += 1;
    }
    globfree(&found);
    printf("[  PASSED  ] %u test(s).\n", passed);
    if (failed > 0)
        printf("[  FAILED  ] %u test(s)\n", failed);
    return failed > 0 || passed == 0;
}
