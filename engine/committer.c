/* committer.c - see committer.h. */
#include "engine/committer.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum state { IDLE, ASKED, OVER, ENDING };

struct committer {
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock; /* what follows */
    pthread_cond_t changed;
    enum state state;
    bool good;
    struct err err;
};

static void *committer_main(void *arg)
{
    struct committer *c = arg;
    (void)pthread_mutex_lock(&c->lock);
    while (c->state != ENDING) {
        if (c->state != ASKED) {
            (void)pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&c->lock);
        struct err err = {0};
        bool good = c->store->ops->commit(c->store, &err);
        (void)pthread_mutex_lock(&c->lock);
        c->good = good;
        c->err = err;
        c->state = OVER;
        (void)pthread_cond_broadcast(&c->changed);
    }
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}

struct committer *committer_new(struct store *store, struct err *err)
{
    struct committer *c = calloc(1, sizeof *c);
    if (c == NULL) {
        (void)err_set(err, ERR_NOMEM, "the committer");
        return NULL;
    }
    c->store = store;
    (void)pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    sigset_t all, before; /* signals are for the main thread */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&c->thread, NULL, committer_main, c);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0)
        return c;
    (void)err_set(err, ERR_LIMIT, "cannot start a thread: %s", strerror(failure));
    (void)pthread_cond_destroy(&c->changed);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
    return NULL;
}

/* Lock held. */
static void wait_until(struct committer *c, int64_t until_ms)
{
    struct timespec at = {.tv_sec = (time_t)(until_ms / 1000),
                          .tv_nsec = (long)(until_ms % 1000) * 1000000L};
    (void)pthread_cond_timedwait(&c->changed, &c->lock, &at);
}

void committer_free(struct committer *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&c->lock);
    while (c->state == ASKED)
        (void)pthread_cond_wait(&c->changed, &c->lock);
    c->state = ENDING;
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->lock);
    (void)pthread_join(c->thread, NULL);
    (void)pthread_cond_destroy(&c->changed);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

void committer_begin(struct committer *c)
{
    (void)pthread_mutex_lock(&c->lock);
    assert(c->state == IDLE);
    c->state = ASKED;
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->lock);
}

bool committer_wait(struct committer *c, int64_t ms, bool *out_good, struct err *err)
{
    int64_t until_ms = clock_mono_ms(clock_system()) + ms;
    (void)pthread_mutex_lock(&c->lock);
    assert(c->state == ASKED || c->state == OVER);
    while (c->state == ASKED && clock_mono_ms(clock_system()) < until_ms)
        wait_until(c, until_ms);
    bool over = c->state == OVER;
    if (over) {
        *out_good = c->good;
        if (!c->good)
            *err = c->err;
        c->state = IDLE;
    }
    (void)pthread_mutex_unlock(&c->lock);
    return over;
}
