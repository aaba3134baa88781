/* advice.c - see advice.h. */
#include "engine/model/job/advice.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

enum where { NOWHERE, SOURCE, TARGET };

static const struct {
    const char *name;
    enum where where;
    const char *command, *help;
} rows[ADVICE_COUNT] = {
#define ADVICE(id, name, where, command, help) [ADVICE_##id] = {name, where, command, help},
#include "engine/model/job/advice.def"
#undef ADVICE
};

const char *advice_name(enum advice advice)
{
    assert((size_t)advice < COUNT(rows));
    return rows[advice].name;
}

const char *advice_help(enum advice advice)
{
    assert((size_t)advice < COUNT(rows));
    return rows[advice].help;
}

/* A name that a shell or virsh could read as something else is replaced by the UUID. */
static const char *safe_guest(const struct advice_for *about)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+";
    bool is_safe = about->guest[0] != '\0' && about->guest[0] != '-';
    for (const char *c = about->guest; is_safe && *c != '\0'; c++)
        is_safe = strchr(safe, *c) != NULL || *c == '-';
    return is_safe ? about->guest : about->uuid;
}

void advice_command(struct job_advice *advice, const struct advice_for *about)
{
    const char *pattern = rows[advice->is].command;
    char number[24];
    struct {
        char key;
        const char *value;
    } words[] = {{'G', safe_guest(about)}, {'U', about->peer_uri}, {'N', number}};
    (void)snprintf(number, sizeof number, "%lld", (long long)about->number);
    advice->node[0] = advice->command[0] = '\0';
    if (rows[advice->is].where == NOWHERE ||
        (strstr(pattern, "%U") != NULL && about->peer_uri[0] == '\0'))
        return;
    size_t n = 0;
    for (const char *c = pattern; *c != '\0' && n + 1 < sizeof advice->command; c++) {
        const char *value = NULL;
        for (size_t i = 0; c[0] == '%' && i < COUNT(words); i++)
            if (c[1] == words[i].key)
                value = words[i].value;
        if (value != NULL)
            c++;
        n += (size_t)snprintf(advice->command + n, sizeof advice->command - n, "%.*s",
                              value != NULL ? (int)strlen(value) : 1, value != NULL ? value : c);
    }
    TEXT_SET(advice->node, rows[advice->is].where == TARGET ? about->target : about->source);
}
