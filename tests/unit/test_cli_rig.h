/* test_cli_rig.h - an appliance as a process over a simulated fleet, and verbs run against it as a
 * shell would. */
#ifndef TESTS_UNIT_TEST_CLI_RIG_H
#define TESTS_UNIT_TEST_CLI_RIG_H

#include "tests/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "tests/unit/test_cli_child.h"

struct appliance {
    pid_t pid;
    int log; /* read end of its stderr */
    char url[64], file[32], socket[40];
};

static inline void write_file(char *file, const char *text)
{
    (void)text_copy(file, 32, "/tmp/ferry-test-XXXXXX");
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

/* Reads the log until `word` is in it; what was read so far goes to out. */
static inline bool read_until(int fd, const char *word, char *out, size_t n)
{
    size_t length = 0;
    int64_t until = clock_mono_ms(clock_system()) + 20000;
    out[0] = '\0';
    while (length + 1 < n && clock_mono_ms(clock_system()) < until) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        if (poll(&poller, 1, 100) <= 0)
            continue;
        ssize_t got = read(fd, out + length, n - length - 1);
        if (got <= 0)
            return false;
        length += (size_t)got;
        out[length] = '\0';
        if (strstr(out, word) != NULL && out[length - 1] == '\n')
            return true;
    }
    return false;
}

/* An appliance over a simulated fleet, with a configuration file unless that is NULL; FERRY_SERVER
 * names it from now on. text gets what it logged. */
static inline void start_with(struct appliance *a, const char *fleet, char *file, char *text,
                              size_t n)
{
    int ends[2];
    write_file(a->file, fleet);
    assert_int_equal(pipe(ends), 0);
    char name[] = RIG_SERVE, simulate[] = "--simulate", listen[] = "--listen",
         address[] = "127.0.0.1:0", config[] = "--config", socket[] = "--socket";
    (void)snprintf(a->socket, sizeof a->socket, "%s.s", a->file);
    char *argv[] = {name,   simulate,  a->file, listen, address,
                    socket, a->socket, config,  file,   NULL};
    a->pid = start_child(verb_serve, file != NULL ? 9 : 7, argv, ends[1], ends[1]);
    (void)close(ends[1]);
    a->log = ends[0];
    assert_true(read_until(a->log, "serving", text, n));
    const char *port = strstr(text, "127.0.0.1:");
    assert_non_null(port);
    (void)snprintf(a->url, sizeof a->url, "http://%.*s", (int)strcspn(port, " \n"), port);
    char server[64];
    (void)snprintf(server, sizeof server, "unix:%s", a->socket);
    (void)setenv("FERRY_SERVER", server, 1);
}

static inline void start(struct appliance *a, const char *fleet)
{
    char text[4096];
    start_with(a, fleet, NULL, text, sizeof text);
}

static inline void stop(struct appliance *a)
{
    int64_t began = clock_mono_ms(clock_system());
    assert_int_equal(kill(a->pid, SIGTERM), 0);
    assert_int_equal(exit_status(a->pid), EXIT_DONE);
    assert_true(clock_mono_ms(clock_system()) - began < 3000);
    (void)close(a->log);
    (void)unlink(a->file);
}

/* Runs a verb as the shell would, and returns its exit status. A '_' in the first word is a space:
 * argv[0] is "ferry VERB". */
static inline int run_words(verb_fn *verb, const char *words, bool errors_too, char *out, size_t n)
{
    char copy[256];
    char *argv[16], *rest = copy;
    int argc = 0, ends[2];
    TEXT_SET(copy, words);
    for (char *word; argc < 15 && (word = strsep(&rest, " ")) != NULL;)
        argv[argc++] = word;
    argv[argc] = NULL;
    if (strchr(argv[0], '_') != NULL)
        *strchr(argv[0], '_') = ' ';
    assert_int_equal(pipe(ends), 0);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t pid = start_child(verb, argc, argv, errors_too ? ends[1] : nowhere, ends[1]);
    (void)close(ends[1]);
    (void)close(nowhere);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], out + length, n - length - 1)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    (void)close(ends[0]);
    return exit_status(pid);
}

/* out: what it printed on standard output; or on both. */
static inline int run(verb_fn *verb, const char *words, char *out, size_t n)
{
    return run_words(verb, words, false, out, n);
}

static inline int run_all(verb_fn *verb, const char *words, char *out, size_t n)
{
    return run_words(verb, words, true, out, n);
}

#endif
