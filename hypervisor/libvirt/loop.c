/* loop.c - what libvirt needs exactly once per process: initialisation before any other call (typed
 * parameters crash without it), a silent error handler, and one event loop, which delivers events
 * and sends keepalives for every connection. The loop's thread never ends.
 */
#include <signal.h>

#include <libxml/parser.h>

#include "hypervisor/libvirt/internal.h"

struct loop {
    pthread_once_t once;
    bool works;
    int hv_code, hv_domain;
    char text[256];
};

/* Errors are read after each call; libvirt would also print them. */
static void ignore_error(void *ctx, virErrorPtr error)
{
    (void)ctx;
    (void)error;
}

static void *run_loop(void *arg)
{
    (void)arg;
    for (;;)
        if (virEventRunDefaultImpl() < 0)
            clock_sleep_ms(10); /* never spin on an error that stays */
    return NULL;
}

static bool start_thread(void)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, run_loop, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_detach(thread);
    return started;
}

/* libvirt has one event loop per process, so this state is process-wide too. */
static struct loop loop = {.once = PTHREAD_ONCE_INIT};

static void start_once(void)
{
    xmlInitParser(); /* libxml2 needs it before a second thread parses */
    virSetErrorFunc(NULL, ignore_error);
    if (virInitialize() == 0 && virEventRegisterDefaultImpl() == 0 && start_thread()) {
        loop.works = true;
        return;
    }
    const virError *error = virGetLastError();
    if (error != NULL) {
        loop.hv_code = error->code;
        loop.hv_domain = error->domain;
    }
    (void)snprintf(loop.text, sizeof loop.text, "%s",
                   error != NULL ? error->message : "no thread for its events");
}

bool libvirt_loop_start(struct err *err)
{
    (void)pthread_once(&loop.once, start_once);
    if (loop.works)
        return true;
    err->hv_code = loop.hv_code;
    err->hv_domain = loop.hv_domain;
    return err_set(err, ERR_HYPERVISOR, "libvirt cannot be started: %s", loop.text);
}
