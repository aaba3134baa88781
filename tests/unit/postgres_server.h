/* postgres_server.h - a real PostgreSQL for tests: in a folder of its own, on a Unix socket, as an
 * unprivileged user; started at the first use in this process, stopped at its end.
 *
 * Every test gets a schema of its own in it, so that each begins with nothing. Nothing is synced to
 * disk: what a crash of the machine leaves is not what these tests are about.
 */
#ifndef TESTS_UNIT_POSTGRES_SERVER_H
#define TESTS_UNIT_POSTGRES_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POSTGRES_URL_MAX = 512 };

/* `make test-fast` starts none, `make test` runs a slice, `make test-full` all. */
bool postgres_in_slice(void);
bool postgres_in_full(void);

/* The URL of an empty schema; fails the test when the server cannot be started. */
void postgres_new_url(char *out_url);
/* The same schema as a role that may only read. Call it when the store is open. */
void postgres_query_url(const char *url, char *out_url);
/* As the superuser, with the search path of url (NULL: none). Fails the test. */
void postgres_exec(const char *url, const char *sql);
int64_t postgres_int(const char *url, const char *sql);
/* kill(2) of the server's main process; a stop of it and its children. */
void postgres_stop(void); /* at once, as after a crash */
void postgres_start(void);
/* SIGSTOP and SIGCONT of the backends of that application name. */
unsigned postgres_signal(const char *application, int signal_number);

#endif
