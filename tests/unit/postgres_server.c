/* postgres_server.c - see postgres_server.h. */
#include "tests/unit/postgres_server.h"

#include <errno.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/test.h"

static struct {
    char dir[128], bin[128];
    uid_t uid;
    gid_t gid;
    pid_t pid, owner;
    unsigned schemas;
} server;

bool postgres_in_slice(void)
{
    bool in_slice = test_size(0, 1, 1) != 0;
    if (!in_slice)
        print_message("left out: PostgreSQL is part of the usual and the full size\n");
    return in_slice;
}

bool postgres_in_full(void)
{
    return test_size(0, 0, 1) != 0;
}

/* PostgreSQL refuses to run as root. */
static void choose_user(void)
{
    const struct passwd *user = getuid() == 0 ? getpwnam("postgres") : NULL;
    if (getuid() == 0 && user == NULL)
        user = getpwnam("nobody");
    server.uid = user != NULL ? user->pw_uid : getuid();
    server.gid = user != NULL ? user->pw_gid : getgid();
}

static void find_programs(void)
{
    glob_t found;
    if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0)
        fail_msg("no PostgreSQL; run: make deps");
    (void)snprintf(server.bin, sizeof server.bin, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
}

/* In the child: never outlives this process, says nothing. */
static void become(const char *const *arguments)
{
    char program[256], log[256];
    (void)snprintf(log, sizeof log, "%s/log", server.dir);
    if (getuid() == 0 && (setgid(server.gid) != 0 || setuid(server.uid) != 0))
        _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
    (void)snprintf(program, sizeof program, "%s/%s", server.bin, arguments[0]);
    if (chdir(server.dir) != 0 || freopen(log, "a", stderr) == NULL ||
        freopen(log, "a", stdout) == NULL)
        _exit(126);
    (void)setpgid(0, 0);
    (void)execv(program, (char *const *)(uintptr_t)arguments);
    _exit(127);
}

static pid_t spawn(const char *const *arguments)
{
    pid_t pid = fork();
    if (pid == 0)
        become(arguments);
    assert_true(pid > 0);
    return pid;
}

static void fail_with_log(const char *what)
{
    char command[256];
    (void)snprintf(command, sizeof command, "tail -n 20 %s/log", server.dir);
    (void)!system(command);
    fail_msg("PostgreSQL: %s", what);
}

static void run(const char *const *arguments)
{
    int status = 0;
    pid_t pid = spawn(arguments);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status != 0)
        fail_with_log(arguments[0]);
}

static PGconn *connect_to(const char *url)
{
    char all[POSTGRES_URL_MAX];
    (void)snprintf(all, sizeof all, "postgresql:///postgres?host=%s&user=ferry", server.dir);
    return PQconnectdb(url != NULL ? url : all);
}

static bool answers(void)
{
    PGconn *conn = connect_to(NULL);
    bool good = PQstatus(conn) == CONNECTION_OK;
    PQfinish(conn);
    return good;
}

void postgres_start(void)
{
    char sockets[160];
    (void)snprintf(sockets, sizeof sockets, "unix_socket_directories=%s", server.dir);
    const char *const arguments[] = {"postgres",
                                     "-D",
                                     "data",
                                     "-c",
                                     "listen_addresses=",
                                     "-c",
                                     sockets,
                                     "-c",
                                     "fsync=off",
                                     "-c",
                                     "full_page_writes=off",
                                     "-c",
                                     "max_connections=60",
                                     "-c",
                                     "shared_buffers=16MB",
                                     "-c",
                                     "autovacuum=off",
                                     "-c",
                                     "jit=off",
                                     NULL};
    server.pid = spawn(arguments);
    for (int64_t until_ms = clock_mono_ms(clock_system()) + 30000; !answers();) {
        if (clock_mono_ms(clock_system()) > until_ms || waitpid(server.pid, NULL, WNOHANG) != 0)
            fail_with_log("does not start");
        clock_sleep_ms(20);
    }
}

void postgres_stop(void)
{
    if (server.pid == 0)
        return;
    (void)kill(server.pid, SIGQUIT); /* immediate shutdown: as a crash */
    (void)waitpid(server.pid, NULL, 0);
    server.pid = 0;
}

static void end(void)
{
    char command[256];
    if (server.owner != getpid())
        return; /* a child of the test */
    postgres_stop();
    (void)snprintf(command, sizeof command, "rm -rf %s", server.dir);
    (void)!system(command);
}

static void make(void)
{
    static const char *const arguments[] = {"initdb",    "-D",
                                            "data",      "-U",
                                            "ferry",     "-A",
                                            "trust",     "-E",
                                            "UTF8",      "--locale=C.UTF-8",
                                            "--no-sync", "--no-instructions",
                                            NULL};
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    choose_user();
    find_programs();
    (void)snprintf(server.dir, sizeof server.dir, "%s/ferry-postgres-XXXXXX", base);
    assert_non_null(mkdtemp(server.dir));
    assert_int_equal(chown(server.dir, server.uid, server.gid), 0);
    assert_int_equal(chmod(server.dir, 0755), 0); /* the socket is in it */
    server.owner = getpid();
    (void)atexit(end);
    run(arguments);
    postgres_start();
    postgres_exec(NULL, "CREATE ROLE ferry_query LOGIN");
}

void postgres_new_url(char *out_url)
{
    char sql[64];
    if (server.dir[0] == '\0')
        make();
    server.schemas++;
    (void)snprintf(sql, sizeof sql, "CREATE SCHEMA t%u", server.schemas);
    postgres_exec(NULL, sql);
    (void)snprintf(out_url, POSTGRES_URL_MAX,
                   "postgresql:///postgres?host=%s&user=ferry&options=-csearch_path%%3Dt%u",
                   server.dir, server.schemas);
}

void postgres_query_url(const char *url, char *out_url)
{
    char sql[256];
    unsigned schema = (unsigned)strtoul(strstr(url, "%3Dt") + 4, NULL, 10);
    (void)snprintf(sql, sizeof sql,
                   "GRANT USAGE ON SCHEMA t%u TO ferry_query;"
                   "GRANT SELECT ON ALL TABLES IN SCHEMA t%u TO ferry_query",
                   schema, schema);
    postgres_exec(NULL, sql);
    (void)snprintf(out_url, POSTGRES_URL_MAX,
                   "postgresql:///postgres?host=%s&user=ferry_query&options=-csearch_path%%3Dt%u",
                   server.dir, schema);
}

void postgres_exec(const char *url, const char *sql)
{
    PGconn *conn = connect_to(url);
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
}

int64_t postgres_int(const char *url, const char *sql)
{
    PGconn *conn = connect_to(url);
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    int64_t value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    PQfinish(conn);
    return value;
}

unsigned postgres_signal(const char *application, int signal_number)
{
    char sql[256];
    unsigned n = 0;
    (void)snprintf(sql, sizeof sql,
                   "SELECT pid FROM pg_stat_activity WHERE application_name = '%s'", application);
    PGconn *conn = connect_to(NULL);
    PGresult *result = PQexec(conn, sql);
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(result); i++)
        n += kill((pid_t)strtol(PQgetvalue(result, i, 0), NULL, 10), signal_number) == 0;
    PQclear(result);
    PQfinish(conn);
    return n;
}
