/* reload.h - takes a changed configuration while Ferry runs.
 *
 * The engine decides first (engine/control/configure.h): all of it is taken or nothing. Then the
 * collector and the hypervisor learn which hosts are new and gone, in an order in which no event of
 * a host is lost. What needs a restart is named, not taken.
 *
 * Threads: reload_run() on the main thread; reload_ask() on any other: it has the main thread run
 * it and waits for the answer. */
#ifndef APPLIANCE_RELOAD_H
#define APPLIANCE_RELOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "appliance/analyzer.h"
#include "appliance/config.h"
#include "appliance/self.h"
#include "base/json.h"

enum { RELOAD_TEXT_MAX = 4096, RELOAD_WAIT_MS = 14000 };

struct reload_parts {      /* borrowed */
    struct config *config; /* changed by a reload that is taken */
    struct hv *hv;         /* libvirt's */
    struct collector *collector;
    struct engine *engine;
    struct analyzer *analyzer;
    struct self *self;
    struct exporter *exporter;
};

struct reload_result {
    struct err err;                /* why nothing was taken */
    char changed[RELOAD_TEXT_MAX]; /* one change a line; empty: none */
    char restart[RELOAD_TEXT_MAX]; /* names of parts that need a restart, the same way */
    char trouble[RELOAD_TEXT_MAX]; /* taken, but this failed */
};
/* The engine's configuration from ferry.yaml; borrows from it. */
struct engine_config reload_engine_config(const struct config *config);
/* Consumes what it takes from `next`. */
void reload_run(const struct reload_parts *parts, struct config *next,
                struct reload_result *out_result);
void reload_log(const char *file, const struct reload_result *result);
struct json_object *reload_json(const struct reload_result *result); /* new reference */

/* Where other threads wait for the main thread's answer. */
struct reload_answers {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    uint64_t asked, done; /* number of the newest request; up to which they are answered */
    struct reload_result result;
};
void reload_answers_init(struct reload_answers *answers);
void reload_answers_fini(struct reload_answers *answers);
/* Raises SIGHUP and waits. A new JSON text, the caller's; false: err says why nothing was taken. */
bool reload_ask(struct reload_answers *answers, char **out_json, struct err *err);
/* The main thread, on SIGHUP: before it reads the file, and with the result. */
uint64_t reload_begin(struct reload_answers *answers);
void reload_answer(struct reload_answers *answers, uint64_t number,
                   const struct reload_result *result);

#endif
