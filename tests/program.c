/* program.c - the main of every test program: its files, one after the other or one alone.
 *
 *   PROGRAM                    every file, each in a process of its own
 *   PROGRAM FILE [ARGUMENT...] one file, in this process: what tests/run and a debugger want
 *   PROGRAM --list             the names of its files
 *
 * No file sees what another one left: logging, environment, working directory, threads. The exit
 * status is 1 when a test failed.
 */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/any/query_process.h"

static struct test_file *files; /* by name */
static char *no_arguments[] = {NULL};
static char **arguments = no_arguments;

void test_file_register(struct test_file *file)
{
    struct test_file **at = &files;
    while (*at != NULL && strcmp((*at)->name, file->name) < 0)
        at = &(*at)->next;
    file->next = *at;
    *at = file;
}

char **test_arguments(void)
{
    return arguments;
}

size_t test_size(size_t fast, size_t usual, size_t full)
{
    const char *size = getenv("FERRY_TEST_SIZE");
    if (size == NULL || *size == '\0')
        return usual;
    if (strcmp(size, "fast") == 0)
        return fast;
    if (strcmp(size, "full") == 0)
        return full;
    (void)fprintf(stderr, "FERRY_TEST_SIZE is '%s': fast, full or unset\n", size);
    exit(2);
}

static int list_files(void)
{
    for (const struct test_file *file = files; file != NULL; file = file->next)
        (void)puts(file->name);
    return 0;
}

static int run_file(const char *name)
{
    for (const struct test_file *file = files; file != NULL; file = file->next)
        if (strcmp(file->name, name) == 0)
            return file->run() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    (void)fprintf(stderr, "no test file '%s' in this program; it has:\n", name);
    (void)list_files();
    return 2;
}

static int run_all(void)
{
    int failed = 0;
    for (const struct test_file *file = files; file != NULL; file = file->next) {
        (void)printf("== %s\n", file->name);
        (void)fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            exit(file->run() == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
            (void)printf("== %s FAILED, wait status %#x\n", file->name, (unsigned)status);
            failed = EXIT_FAILURE;
        }
    }
    return failed;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return run_all();
    if (strcmp(argv[1], "--list") == 0)
        return list_files();
    if (strcmp(argv[1], QUERY_WORKER) == 0) /* the API's queries have a process of their own */
        return query_process_main();
    arguments = argv + 2;
    return run_file(argv[1]);
}
