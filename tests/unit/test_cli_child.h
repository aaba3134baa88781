/* test_cli_child.h - a verb in a process of its own. */
#ifndef TESTS_UNIT_TEST_CLI_CHILD_H
#define TESTS_UNIT_TEST_CLI_CHILD_H

#include "tests/test.h"

#include <argp.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/common/cli.h"

/* `serve`, and any verb of a test that has threads, begins
 * anew: a fork alone of a program with threads (an exporter in some tests) may hold their locks for
 * ever, a sanitizer's at exit among them. Beginning anew takes six times as long as most verbs. */
#define RIG_VERB "FERRY_TEST_VERB"
#define RIG_SERVE "ferry serve"

static inline _Noreturn void run_verb(verb_fn *verb, int argc, char **argv)
{
    argp_err_exit_status = EXIT_USAGE;
    optind = 0; /* whatever the test has read */
    int status = verb(argc, argv);
    (void)fflush(stdout);
    _exit(status);
}

/* The variable holds how far the verb lies from test_file_register: the same in every process of
 * this program, and in each of its files. */
__attribute__((constructor)) static void become_a_verb(int argc, char **argv)
{
    const char *distance = getenv(RIG_VERB);
    if (distance == NULL)
        return;
    uintptr_t at = (uintptr_t)test_file_register + (uintptr_t)strtoll(distance, NULL, 10);
    (void)unsetenv(RIG_VERB);
    run_verb((verb_fn *)at, argc, argv);
}

static inline bool has_threads(void)
{
    struct stat tasks; /* one more link than "." and ".." for each thread */
    return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

/* Of the children that are started from now on; 0: as this process. */
static rlim_t child_files_max;

static inline pid_t start_child(verb_fn *verb, int argc, char **argv, int stderr_to, int stdout_to)
{
    char distance[32], *words[32];
    assert_true((size_t)argc < COUNT(words));
    memcpy(words, argv, (size_t)argc * sizeof *words);
    words[argc] = NULL;
    (void)snprintf(distance, sizeof distance, "%lld",
                   (long long)((intptr_t)verb - (intptr_t)test_file_register));
    bool anew = strcmp(argv[0], RIG_SERVE) == 0 || has_threads();
    assert_true(!anew || setenv(RIG_VERB, distance, 1) == 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed assertion leaves nobody behind */
        const struct rlimit files = {child_files_max, child_files_max};
        if (child_files_max != 0)
            (void)setrlimit(RLIMIT_NOFILE, &files);
        (void)dup2(stderr_to, STDERR_FILENO);
        (void)dup2(stdout_to, STDOUT_FILENO);
        if (!anew)
            run_verb(verb, argc, words);
        (void)execv("/proc/self/exe", words);
        _exit(EXIT_FAILED);
    }
    (void)unsetenv(RIG_VERB);
    assert_true(pid >= 0);
    return pid;
}

static inline int exit_status(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
