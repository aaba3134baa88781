/* advice.h - what Ferry would do about somebody else's migration (advice.def). */
#ifndef ENGINE_MODEL_JOB_ADVICE_H
#define ENGINE_MODEL_JOB_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "hypervisor/types.h"

enum advice {
#define ADVICE(id, name, where, command, help) ADVICE_##id,
#include "engine/model/job/advice.def"
#undef ADVICE
    ADVICE_COUNT
};
const char *advice_name(enum advice advice);
const char *advice_help(enum advice advice);

enum { ADVICE_TEXT_MAX = 384, ADVICE_COMMAND_MAX = 512 };

struct job_advice {
    enum advice is;
    char text[ADVICE_TEXT_MAX];       /* why, with the numbers */
    char node[HV_HOST_MAX];           /* where the command is run; empty: there is none */
    char command[ADVICE_COMMAND_MAX]; /* for a shell there */
    int64_t since_ms;                 /* wall */
    bool by_monitor;                  /* else by the stream, or by what the hosts show */
};

struct advice_for { /* what a command is about */
    const char *source, *target;
    const char *guest, *uuid;
    const char *peer_uri; /* empty: not known */
    int64_t number;
};
/* Fills node and command; both stay empty where there is no command. */
void advice_command(struct job_advice *advice, const struct advice_for *about);

#endif
