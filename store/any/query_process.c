/* query_process.c - see query_process.h. */
#include "store/any/query_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

enum {
    REQUEST_MAX = 4 * QUERY_SQL_MAX + 64 * 1024,
    PIECE = 64 * 1024,
    FILES_MAX = 64,
    NICE = 5,
    ENVIRONMENT_MAX = 64
};

/* ---- the process that asks ---- */

struct worker {
    pid_t pid;
    int from; /* its standard output */
    int64_t began_ms, until_ms;
};

static struct json_object *no_worker(struct err *err, const char *what, int error)
{
    (void)err_set(err, ERR_IO, "cannot start a process for the query: %s: %s", what,
                  strerror(error));
    return NULL;
}

/* A file in memory, not a pipe: nothing here waits for the worker to read. -1: errno. */
static int request_file(const char *state_dir, const char *sql, const struct query_limits *limits)
{
    OWNED(json_object) request = json_object_new_object();
    json_add_text(request, "dir", state_dir);
    json_add_text(request, "sql", sql);
    json_add_i64(request, "rows", limits->rows);
    json_add_i64(request, "ms", limits->ms);
    const char *text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN);
    int fd = memfd_create("query", MFD_CLOEXEC);
    size_t n = strlen(text);
    if (fd >= 0 && (write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* Nothing of the environment, but for PostgreSQL what libpq reads: where its password file and
 * certificates are. */
static void choose_environment(const char *place, char **out_environment)
{
    size_t n = 0;
    for (char **at = environ; store_is_url(place) && *at != NULL && n + 1 < ENVIRONMENT_MAX; at++)
        if (text_has_prefix(*at, "PG") || text_has_prefix(*at, "HOME="))
            out_environment[n++] = *at;
    out_environment[n] = NULL;
}

static int spawn(const char *place, int request, int answer, pid_t *out_pid)
{
    static char name[] = "ferry", verb[] = QUERY_WORKER;
    static char *const arguments[] = {name, verb, NULL};
    char *environment[ENVIRONMENT_MAX];
    choose_environment(place, environment);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    (void)sigemptyset(&none), (void)sigfillset(&usual);
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setsigdefault(&attributes, &usual);
        if ((error = posix_spawn_file_actions_adddup2(&files, request, STDIN_FILENO)) == 0 &&
            (error = posix_spawn_file_actions_adddup2(&files, answer, STDOUT_FILENO)) == 0 &&
            (error = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1)) == 0)
            error =
                posix_spawn(out_pid, "/proc/self/exe", &files, &attributes, arguments, environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return error;
}

/* All that it writes until it ends or its time is over. */
static void read_answer(const struct worker *worker, struct buf *out)
{
    for (;;) {
        int64_t left_ms = worker->until_ms - clock_mono_ms(clock_system());
        struct pollfd wait = {.fd = worker->from, .events = POLLIN};
        if (left_ms <= 0 || out->failed || poll(&wait, 1, (int)left_ms) == 0)
            return;
        char *room = buf_room(out, PIECE);
        ssize_t n = room != NULL ? read(worker->from, room, PIECE) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        buf_wrote(out, (size_t)n);
    }
}

static struct json_object *late(const struct worker *worker, struct err *err)
{
    (void)err_set(err, ERR_TIMEOUT,
                  "the query was stopped after %lld ms; restrict it, for example with WHERE "
                  "ended_ms > ...",
                  (long long)(clock_mono_ms(clock_system()) - worker->began_ms));
    return NULL;
}

static struct json_object *understand(const struct worker *worker, const struct buf *text,
                                      int status, struct err *err)
{
    bool killed = WIFSIGNALED(status);
    if (killed && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return late(worker, err);
    struct err why = {0};
    OWNED(json_object) answer = text->failed || text->data == NULL
                                    ? NULL
                                    : json_parse(text->data, text->length, "answer", &why);
    int64_t code = ERR_NONE;
    const char *refusal = NULL;
    if (answer == NULL || !json_get_i64(answer, "errorCode", ERR_NONE, &code, &why) ||
        !json_get_text(answer, "errorText", "", &refusal, &why) || code < 0 || code >= ERR_COUNT) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "the query ended without an answer (wait status %#x): it needs more than it "
                      "may use",
                      (unsigned)status);
        return NULL;
    }
    if (code == ERR_NONE)
        return TAKE(answer);
    (void)err_set(err, (enum err_code)code, "%s", refusal);
    return NULL;
}

static struct json_object *wait_for(struct worker *worker, struct err *err)
{
    struct buf text;
    int status = 0;
    buf_init(&text, QUERY_ANSWER_MAX);
    read_answer(worker, &text);
    (void)kill(worker->pid, SIGKILL); /* ended already, late, or it talks too much */
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    struct json_object *answer = understand(worker, &text, status, err);
    buf_fini(&text);
    return answer;
}

struct json_object *query_process_run(const char *state_dir, const char *sql,
                                      const struct query_limits *limits, struct err *err)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    int64_t ms = limits->ms > 0 ? limits->ms : QUERY_MS_DEFAULT;
    struct worker worker = {.began_ms = now_ms, .until_ms = now_ms + ms + QUERY_GRACE_MS};
    int ends[2];
    int request = request_file(state_dir, sql, limits);
    if (request < 0)
        return no_worker(err, "memfd", errno);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int error = errno;
        (void)close(request);
        return no_worker(err, "pipe", error);
    }
    int error = spawn(state_dir, request, ends[1], &worker.pid);
    (void)close(request);
    (void)close(ends[1]);
    worker.from = ends[0];
    struct json_object *answer =
        error == 0 ? wait_for(&worker, err) : no_worker(err, "spawn", error);
    (void)close(ends[0]);
    return answer;
}

/* ---- the process that answers ---- */

static void limit(__rlimit_resource_t what, rlim_t soft, rlim_t hard)
{
    const struct rlimit value = {soft, hard};
    (void)setrlimit(what, &value);
}

/* The deadline inside is the first limit; these hold when it does not. */
static void limit_all(int64_t ms)
{
    rlim_t seconds = (rlim_t)((ms + 999) / 1000);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CPU, seconds + 1, seconds + 2);
    limit(RLIMIT_FSIZE, QUERY_TEMP_MAX, QUERY_TEMP_MAX);
    limit(RLIMIT_NOFILE, FILES_MAX, FILES_MAX);
    limit(RLIMIT_CORE, 0, 0);
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory counts */
    limit(RLIMIT_DATA, QUERY_PROCESS_MEMORY, QUERY_PROCESS_MEMORY);
#endif
    (void)setpriority(PRIO_PROCESS, 0, NICE);
}

static struct json_object *answer_request(struct err *err)
{
    static char text[REQUEST_MAX];
    size_t n = fread(text, 1, sizeof text, stdin);
    OWNED(json_object) request = json_parse(text, n, "request", err);
    const char *dir = NULL, *sql = NULL;
    struct query_limits limits = {0};
    if (request == NULL || !json_get_text(request, "dir", "", &dir, err) ||
        !json_get_text(request, "sql", "", &sql, err) ||
        !json_get_i64(request, "rows", 0, &limits.rows, err) ||
        !json_get_i64(request, "ms", 0, &limits.ms, err))
        return NULL;
    limit_all(limits.ms > 0 ? limits.ms : QUERY_MS_DEFAULT);
    return query_run(dir, sql, &limits, err);
}

int query_process_main(void)
{
    struct err err = {0};
    OWNED(json_object) answer = answer_request(&err);
    if (answer == NULL) {
        answer = json_object_new_object();
        json_add_i64(answer, "errorCode", err.code);
        json_add_text(answer, "errorText", err.text);
    }
    bool written =
        fputs(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN), stdout) != EOF &&
        fflush(stdout) == 0;
    return written ? 0 : 1;
}
