/* fake.c - the fake's world: errors, failures that are ordered, the record of calls, connections.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/libvirt/fake_impl.h"

enum { RULES_MAX = 16, LOG_BYTES = 64 * 1024, CALLS_MAX = 4096 };

struct rule { /* what a call is told to do */
    char call[64];
    int nth; /* counts down to 1; 0: always; -1: over */
    int code;
    char text[128];
    bool breaks, blocks;
};

struct fake fake;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct rule rules[RULES_MAX];
static size_t n_rules;
static int objects, blocked;
static char record[LOG_BYTES], shown[LOG_BYTES];
static char calls[CALLS_MAX][48];
static size_t n_calls;
static virConnectPtr connections;

static _Thread_local virError last_error;
static _Thread_local char last_text[256];

void fake_set_error(int code, int domain, const char *text)
{
    (void)snprintf(last_text, sizeof last_text, "%s", text);
    last_error = (virError){.code = code, .domain = domain, .message = last_text};
}

FAKE(virErrorPtr, virGetLastError, void)
{
    return last_error.code != 0 ? &last_error : NULL;
}

void fake_reset(void)
{
    (void)pthread_mutex_lock(&lock);
    fake = (struct fake){.hostname = "fake.example",
                         .capabilities = "<capabilities/>",
                         .libvirt_version = 9000000,
                         .qemu_version = 7002000};
    n_rules = n_calls = 0;
    record[0] = '\0';
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

void fake_object(int change)
{
    (void)pthread_mutex_lock(&lock);
    objects += change;
    (void)pthread_mutex_unlock(&lock);
}

int fake_objects(void)
{
    (void)pthread_mutex_lock(&lock);
    int n = objects;
    (void)pthread_mutex_unlock(&lock);
    return n;
}

const char *fake_log(void)
{
    (void)pthread_mutex_lock(&lock);
    memcpy(shown, record, sizeof shown);
    (void)pthread_mutex_unlock(&lock);
    return shown;
}

void fake_log_clear(void)
{
    (void)pthread_mutex_lock(&lock);
    record[0] = '\0';
    n_calls = 0;
    (void)pthread_mutex_unlock(&lock);
}

int fake_count(const char *call)
{
    int n = 0;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_calls; i++)
        n += strcmp(calls[i], call) == 0;
    (void)pthread_mutex_unlock(&lock);
    return n;
}

static void add_rule(const struct rule *rule)
{
    (void)pthread_mutex_lock(&lock);
    if (n_rules < RULES_MAX)
        rules[n_rules++] = *rule;
    (void)pthread_mutex_unlock(&lock);
}

void fake_fail(const char *call, int nth, int code, const char *text)
{
    struct rule rule = {.nth = nth, .code = code};
    TEXT_SET(rule.call, call);
    TEXT_SET(rule.text, text);
    add_rule(&rule);
}

void fake_fail_broken(const char *call, int nth)
{
    struct rule rule = {.nth = nth, .breaks = true};
    TEXT_SET(rule.call, call);
    add_rule(&rule);
}

void fake_block(const char *call)
{
    struct rule rule = {.blocks = true};
    TEXT_SET(rule.call, call);
    add_rule(&rule);
}

void fake_heal(void)
{
    (void)pthread_mutex_lock(&lock);
    n_rules = 0;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

void fake_release(void)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_rules; i++)
        if (rules[i].blocks)
            rules[i] = (struct rule){.nth = -1};
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

void fake_wait_blocked(int n)
{
    int64_t until = clock_mono_ms(clock_system()) + 5000;
    for (int now = -1; now != n && clock_mono_ms(clock_system()) < until;) {
        (void)pthread_mutex_lock(&lock);
        now = blocked;
        (void)pthread_mutex_unlock(&lock);
        clock_sleep_ms(2);
    }
}

/* Lock held. */
static bool is_blocked(const char *call)
{
    for (size_t i = 0; i < n_rules; i++)
        if (rules[i].blocks && strcmp(rules[i].call, call) == 0)
            return true;
    return false;
}

/* Lock held. */
static const struct rule *failure_of(const char *call)
{
    const struct rule *found = NULL;
    for (size_t i = 0; i < n_rules; i++) {
        struct rule *rule = &rules[i];
        if (rule->blocks || rule->nth < 0 || strcmp(rule->call, call) != 0)
            continue;
        if (rule->nth <= 1 && found == NULL)
            found = rule;
        if (rule->nth > 0)
            rule->nth = rule->nth == 1 ? -1 : rule->nth - 1;
    }
    return found;
}

static bool enter(virConnectPtr conn, const char *call)
{
    last_error = (virError){0};
    (void)pthread_mutex_lock(&lock);
    if (n_calls < CALLS_MAX)
        TEXT_SET(calls[n_calls], call);
    n_calls += n_calls < CALLS_MAX;
    blocked += is_blocked(call);
    bool waits = is_blocked(call);
    while (is_blocked(call))
        (void)pthread_cond_wait(&changed, &lock);
    blocked -= waits;
    const struct rule *rule = failure_of(call);
    if (rule != NULL && rule->breaks && conn != NULL)
        conn->dead = true;
    bool dead = (conn != NULL && conn->dead) || (rule != NULL && rule->breaks);
    if (dead)
        fake_set_error(VIR_ERR_INTERNAL_ERROR, VIR_FROM_RPC, "client socket is closed");
    else if (rule != NULL)
        fake_set_error(rule->code, VIR_FROM_QEMU, rule->text);
    (void)pthread_mutex_unlock(&lock);
    return !dead && rule == NULL;
}

bool fake_enter(virConnectPtr conn, const char *call, const char *format, ...)
{
    char line[2048];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(line, sizeof line, format, list);
    va_end(list);
    (void)pthread_mutex_lock(&lock);
    size_t used = strlen(record);
    (void)snprintf(record + used, sizeof record - used, line[0] != '\0' ? "%s %s\n" : "%s%s\n",
                   call, line);
    (void)pthread_mutex_unlock(&lock);
    return enter(conn, call);
}

bool fake_enter_quietly(virConnectPtr conn, const char *call)
{
    return enter(conn, call);
}

char *fake_text(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

/* ---- typed parameters ---- */

virTypedParameterPtr fake_params(const struct fake_param *from, int *out_n)
{
    virTypedParameterPtr items = NULL;
    int n = 0, capacity = 0;
    for (size_t i = 0; i < FAKE_PARAMS_MAX && from[i].name != NULL; i++) {
        if (from[i].is_int)
            (void)virTypedParamsAddInt(&items, &n, &capacity, from[i].name, (int)from[i].value);
        else if (strstr(from[i].name, "megabytes") != NULL)
            (void)virTypedParamsAddLLong(&items, &n, &capacity, from[i].name, from[i].value);
        else
            (void)virTypedParamsAddULLong(&items, &n, &capacity, from[i].name,
                                          (unsigned long long)from[i].value);
    }
    *out_n = n;
    return items;
}

void fake_params_text(const virTypedParameter *params, int n, char *out, size_t bytes)
{
    out[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t used = strlen(out);
        if (params[i].type == VIR_TYPED_PARAM_STRING)
            (void)snprintf(out + used, bytes - used, " %s=%s", params[i].field, params[i].value.s);
        else if (params[i].type == VIR_TYPED_PARAM_INT)
            (void)snprintf(out + used, bytes - used, " %s=%d", params[i].field, params[i].value.i);
        else
            (void)snprintf(out + used, bytes - used, " %s=%llu", params[i].field,
                           params[i].value.ul);
    }
}

/* ---- threads ---- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

FAKE(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
     void *arg)
{
    return fake_enter_quietly(NULL, "pthread_create")
               ? __real_pthread_create(thread, attr, run, arg)
               : EAGAIN;
}

int __real_virInitialize(void);

FAKE(int, virInitialize, void)
{
    return fake_enter_quietly(NULL, "virInitialize") ? __real_virInitialize() : -1;
}

/* ---- connections ---- */

static virConnectPtr open_connection(bool read_only)
{
    virConnectPtr conn = calloc(1, sizeof *conn);
    conn->read_only = read_only;
    (void)pthread_mutex_lock(&lock);
    conn->next = connections;
    connections = conn;
    objects++;
    (void)pthread_mutex_unlock(&lock);
    return conn;
}

FAKE(virConnectPtr, virConnectOpen, const char *uri)
{
    return fake_enter(NULL, "virConnectOpen", "%s", uri) ? open_connection(false) : NULL;
}

FAKE(virConnectPtr, virConnectOpenReadOnly, const char *uri)
{
    return fake_enter(NULL, "virConnectOpenReadOnly", "%s", uri) ? open_connection(true) : NULL;
}

FAKE(int, virConnectSetKeepAlive, virConnectPtr conn, int interval, unsigned count)
{
    return fake_enter(conn, "virConnectSetKeepAlive", "%d %u", interval, count) ? 0 : -1;
}

FAKE(int, virConnectClose, virConnectPtr conn)
{
    last_error = (virError){0};
    (void)pthread_mutex_lock(&lock);
    virConnectPtr *at = &connections;
    while (*at != conn)
        at = &(*at)->next;
    *at = conn->next;
    objects--;
    if (conn->callbacks != 0 || conn->on_close != NULL)
        objects += 1000; /* closed with callbacks on it: no test may end so */
    (void)pthread_mutex_unlock(&lock);
    free(conn);
    return 0;
}

FAKE(int, virConnectIsAlive, virConnectPtr conn)
{
    last_error = (virError){0};
    (void)pthread_mutex_lock(&lock);
    int alive = conn->dead ? 0 : 1;
    for (size_t i = 0; i < n_rules; i++)
        if (strcmp(rules[i].call, "virConnectIsAlive") == 0)
            alive = -1; /* libvirt cannot say */
    (void)pthread_mutex_unlock(&lock);
    return alive;
}

FAKE(int, virConnectRegisterCloseCallback, virConnectPtr conn, virConnectCloseFunc function,
     void *ctx, virFreeCallback free_ctx)
{
    (void)free_ctx;
    if (!fake_enter_quietly(conn, "virConnectRegisterCloseCallback"))
        return -1;
    (void)pthread_mutex_lock(&lock);
    conn->on_close = function;
    conn->on_close_ctx = ctx;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

FAKE(int, virConnectUnregisterCloseCallback, virConnectPtr conn, virConnectCloseFunc function)
{
    (void)fake_enter_quietly(NULL, "virConnectUnregisterCloseCallback");
    (void)pthread_mutex_lock(&lock);
    if (conn->on_close == function)
        conn->on_close = NULL;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

void fake_break(int reason, bool tell)
{
    (void)pthread_mutex_lock(&lock);
    for (virConnectPtr conn = connections; conn != NULL; conn = conn->next) {
        conn->dead = true;
        if (tell && conn->on_close != NULL)
            conn->on_close(conn, reason, conn->on_close_ctx);
    }
    (void)pthread_mutex_unlock(&lock);
}

int fake_callbacks(void)
{
    int n = 0;
    (void)pthread_mutex_lock(&lock);
    for (virConnectPtr conn = connections; conn != NULL; conn = conn->next)
        n += conn->callbacks + (conn->on_close != NULL ? 1 : 0);
    (void)pthread_mutex_unlock(&lock);
    return n;
}
