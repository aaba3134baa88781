/* limit.c - limit SECONDS SPENT PROGRAM ARGUMENT...: runs a program, and kills it after that time.
 * The time that its threads waited for a processor does not count: a busy machine makes nothing
 * late. The milliseconds that counted are appended to the file SPENT.
 *
 * Exit status: that of the program, 124 when the time was up, 128 + N for signal N. What the
 * program started is killed with it as far as it is still in its process group.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 200
#define SHORT_TICKS 40

static pid_t child;

static void end(int number)
{
    (void)kill(-child, SIGKILL);
    _exit(128 + number);
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What a process's threads have waited for a processor so far. */
static double waited_by(const char *pid)
{
    char path[600];
    (void)snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *threads = opendir(path);
    double waited_s = 0;
    for (struct dirent *each; threads != NULL && (each = readdir(threads)) != NULL;) {
        unsigned long long ran = 0, waited = 0;
        (void)snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pid, each->d_name);
        FILE *file = each->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL && fscanf(file, "%llu %llu", &ran, &waited) == 2)
            waited_s += (double)waited / 1e9;
        if (file != NULL)
            (void)fclose(file);
    }
    if (threads != NULL)
        (void)closedir(threads);
    return waited_s;
}

/* The same of the whole process group. */
static double waited_by_all(void)
{
    DIR *processes = opendir("/proc");
    double waited_s = 0;
    for (struct dirent *each; processes != NULL && (each = readdir(processes)) != NULL;) {
        const pid_t pid = (pid_t)strtol(each->d_name, NULL, 10); /* 0: no process */
        if (pid > 0 && getpgid(pid) == child)
            waited_s += waited_by(each->d_name);
    }
    if (processes != NULL)
        (void)closedir(processes);
    return waited_s;
}

static void note_spent(const char *path, double spent_s)
{
    FILE *file = fopen(path, "a");
    if (file != NULL) {
        (void)fprintf(file, "%.0f\n", spent_s * 1000);
        (void)fclose(file);
    }
}

/* Waits for the child, no longer than LIMIT_S; false when that was up. */
static bool wait_for_it(double limit_s, double *spent_s, int *status)
{
    double then_s = now_s(), before_s = 0;
    for (int i = 0; waitpid(child, status, WNOHANG) == 0; i++) {
        const bool is_short = i < SHORT_TICKS; /* most tests need no longer */
        const struct timespec tick = {.tv_nsec = (is_short ? 5 : TICK_MS) * 1000000L};
        (void)nanosleep(&tick, NULL);
        if (is_short)
            continue;
        const double at_s = now_s(), waited_s = waited_by_all();
        const double counts_s = at_s - then_s - (waited_s > before_s ? waited_s - before_s : 0);
        *spent_s += counts_s > 0 ? counts_s : 0;
        then_s = at_s;
        before_s = waited_s;
        if (*spent_s > limit_s)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 125;
    child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)execv(argv[3], argv + 3);
        _exit(127);
    }
    (void)setpgid(child, child);
    (void)signal(SIGTERM, end);
    (void)signal(SIGINT, end);
    int status = 0;
    double spent_s = 0;
    const bool ended = wait_for_it(strtod(argv[1], NULL), &spent_s, &status);
    (void)kill(-child, SIGKILL);
    note_spent(argv[2], spent_s);
    if (!ended)
        return 124;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
