/* core_play.h - one play of the core's fuzz target: what fuzz_core.c and core_control.c share. */
#ifndef TESTS_FUZZ_CORE_PLAY_H
#define TESTS_FUZZ_CORE_PLAY_H

#include "engine/core/reconcile.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/laws.h"

struct store;

enum { QUESTIONS_MAX = 64 };

struct asked {
    enum effect_kind kind;
    uint64_t id;
    unsigned host, guest;
};

struct play {
    struct fuzz_bytes in;
    struct fleet *fleet;
    struct effects fx;
    size_t checked, saved; /* effects the laws have seen; effects in the store */
    struct moment now;
    struct fleet_config config;
    unsigned n_hosts, restarts;
    struct store *store; /* NULL until something is to be remembered */
    struct asked questions[QUESTIONS_MAX];
    unsigned n_questions;
    char newest[JOB_UID_MAX], newest_name[JOB_NAME_MAX];
    struct laws laws;
};

/* One input, and the laws after it. */
void play_feed(struct play *p, const struct input *input);
/* Facts, capabilities, definitions, objects and evictions: kind and content come from the bytes. */
void play_control(struct play *p);

#endif
