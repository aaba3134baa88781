/* postgres_proxy.h - a proxy in front of the test's PostgreSQL that can lose the answer to a
 * COMMIT.
 */
#ifndef TESTS_UNIT_POSTGRES_PROXY_H
#define TESTS_UNIT_POSTGRES_PROXY_H

enum proxy_fault {
    PROXY_NONE,
    PROXY_COMMIT_LOST,        /* COMMIT does not reach the database */
    PROXY_COMMIT_ANSWER_LOST, /* it does, and its answer is lost */
    PROXY_REFUSE,             /* nothing is connected */
};

struct proxy;
/* Between out_url and url, both of the same schema. */
struct proxy *proxy_start(const char *url, char *out_url);
/* The next COMMIT, then PROXY_REFUSE until set again. */
void proxy_set(struct proxy *proxy, enum proxy_fault fault);
enum proxy_fault proxy_now(struct proxy *proxy);
void proxy_stop(struct proxy *proxy);

#endif
