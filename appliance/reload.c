/* reload.c - see reload.h. */
#include "appliance/reload.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "engine/control/configure.h"
#include "exporter/exporter.h"
#include "hypervisor/libvirt/libvirt.h"

/* ---- what changed ---- */

__attribute__((format(printf, 2, 3))) static void add_line(char *text, const char *fmt, ...)
{
    size_t length = strlen(text);
    va_list args;
    if (length + 2 >= RELOAD_TEXT_MAX)
        return; /* a fleet of changes: the first hundred tell enough */
    if (length > 0)
        text[length++] = '\n';
    va_start(args, fmt);
    (void)vsnprintf(text + length, RELOAD_TEXT_MAX - length, fmt, args);
    va_end(args);
}

static int by_name(const void *a, const void *b)
{
    const struct hv_host *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Names of a configuration's hosts, sorted; NULL: no memory. The caller frees. */
static const struct hv_host **sorted(const struct config *config)
{
    const struct hv_host **hosts = calloc(config->n_hosts + 1, sizeof(const struct hv_host *));
    for (size_t i = 0; hosts != NULL && i < config->n_hosts; i++)
        hosts[i] = &config->hosts[i];
    if (hosts != NULL)
        qsort(hosts, config->n_hosts, sizeof(const struct hv_host *), by_name);
    return hosts;
}

enum change { HOST_ADDED, HOST_REMOVED, HOST_REACHED, HOST_LABELS };
/* Calls fn for each host that differs. before, after: NULL when it is missing there. */
struct change_walk {
    const struct config *now, *next;
    const struct reload_parts *parts;
    struct reload_result *result;
};
typedef void change_fn(const struct change_walk *walk, enum change change,
                       const struct hv_host *before, const struct hv_host *after);

static bool settings_differ(const struct change_walk *walk, const struct hv_host *before,
                            const struct hv_host *after)
{
    size_t a = (size_t)(before - walk->now->hosts), b = (size_t)(after - walk->next->hosts);
    return config_settings_differ(&walk->now->host_settings[a], &walk->next->host_settings[b]);
}

static void visit(const struct change_walk *walk, const struct hv_host *before,
                  const struct hv_host *after, change_fn *fn)
{
    if (before == NULL)
        fn(walk, HOST_ADDED, NULL, after);
    else if (after == NULL)
        fn(walk, HOST_REMOVED, before, NULL);
    else if (configure_reconnects(before, after))
        fn(walk, HOST_REACHED, before, after);
    else if (settings_differ(walk, before, after))
        fn(walk, HOST_LABELS, before, after);
}

static bool each_change(const struct change_walk *walk, change_fn *fn)
{
    const struct hv_host **now = sorted(walk->now), **next = sorted(walk->next);
    size_t i = 0, j = 0;
    bool done = now != NULL && next != NULL;
    while (done && (i < walk->now->n_hosts || j < walk->next->n_hosts)) {
        int order = i == walk->now->n_hosts    ? 1
                    : j == walk->next->n_hosts ? -1
                                               : strcmp(now[i]->name, next[j]->name);
        visit(walk, order <= 0 ? now[i] : NULL, order >= 0 ? next[j] : NULL, fn);
        i += order <= 0;
        j += order >= 0;
    }
    free(now);
    free(next);
    return done;
}

static void name_change(const struct change_walk *walk, enum change change,
                        const struct hv_host *before, const struct hv_host *after)
{
    static const char *const words[] = {
        [HOST_ADDED] = "added",
        [HOST_REMOVED] = "removed",
        [HOST_REACHED] = "reached another way: connecting again",
        [HOST_LABELS] = "other labels, taints, logs or schedulable",
    };
    add_line(walk->result->changed, "host %s: %s", (after != NULL ? after : before)->name,
             words[change]);
}

/* ---- taking it ---- */

/* The engine knows the new hosts and has forgotten the others. First the collector, then the
 * hypervisor: no event comes before its host is known. */
static void change_host(const struct change_walk *walk, enum change change,
                        const struct hv_host *before, const struct hv_host *after)
{
    const struct reload_parts *parts = walk->parts;
    struct err err = {0};
    bool done = true;
    if (change == HOST_REMOVED || change == HOST_REACHED) {
        (void)libvirt_remove_host(parts->hv, before->name);
        done = collector_remove_host(parts->collector, before->name, &err);
    }
    if (change == HOST_ADDED || change == HOST_REACHED)
        done = done && collector_add_host(parts->collector, after->name, &err) &&
               libvirt_add_host(parts->hv, after, &err);
    if (!done)
        add_line(walk->result->trouble, "host %s: %s", (after != NULL ? after : before)->name,
                 err.text);
}

struct engine_config reload_engine_config(const struct config *config)
{
    return (struct engine_config){
        .hosts = config->hosts,
        .n_hosts = config->n_hosts,
        .parallel_per_fleet = config->parallel_per_fleet,
        .parallel_outbound_per_node = config->parallel_outbound_per_node,
        .parallel_inbound_per_node = config->parallel_inbound_per_node,
        .bandwidth_per_node = config->bandwidth_per_node,
        .memory_overcommit_percent = config->memory_overcommit_percent,
        .vcpus_per_cpu = config->vcpus_per_cpu,
        .eviction_strategy = config->eviction_strategy,
        .migration = config->migration,
        .host_settings = config->host_settings,
        .storage = {.shared_paths = (const char *const *)config->shared_paths,
                    .n_shared_paths = config->n_shared_paths,
                    .shared_pools = (const char *const *)config->shared_pools,
                    .n_shared_pools = config->n_shared_pools,
                    .allow_managed = config->allow_managed},
    };
}

static bool give_to_engine(const struct reload_parts *parts, const struct config *next,
                           struct err *err)
{
    struct engine_config config = reload_engine_config(next);
    config.migration.unsafe = parts->config->migration.unsafe; /* needs a restart */
    return engine_configure(parts->engine, &config, err);
}

/* Nothing here can be refused any more. */
static void take(const struct reload_parts *parts, struct config *next,
                 struct reload_result *result)
{
    const struct change_walk walk = {parts->config, next, parts, result};
    struct err err = {0};
    log_set_level(next->log_level);
    if (!each_change(&walk, change_host))
        add_line(result->trouble, "no memory for the list of hosts");
    config_take(parts->config, next);
    if (!analyzer_set_hosts(parts->analyzer, parts->config, &err) ||
        !self_set_hosts(parts->self, parts->config->hosts, parts->config->n_hosts, &err))
        add_line(result->trouble, "%s", err.text);
}

void reload_run(const struct reload_parts *parts, struct config *next,
                struct reload_result *out_result)
{
    struct err err = {0};
    unsigned differ = config_compare(parts->config, next);
    const struct change_walk walk = {parts->config, next, parts, out_result};
    for (enum config_part part = 0; part < CONFIG_PART_COUNT; part++) {
        if ((differ & 1U << part) == 0)
            continue;
        if (config_part_requires_restart(part))
            add_line(out_result->restart, "%s", config_part_name(part));
        else if (part != CONFIG_PART_HOSTS)
            add_line(out_result->changed, "%s", config_part_name(part));
    }
    if ((differ & 1U << CONFIG_PART_HOSTS) != 0)
        (void)each_change(&walk, name_change);
    if (!exporter_reload_access(parts->exporter, &err)) /* the old certificates are used */
        add_line(out_result->trouble, "%s", err.text);
    if (out_result->changed[0] == '\0')
        return;
    if (give_to_engine(parts, next, &out_result->err))
        take(parts, next, out_result);
    else
        out_result->changed[0] = '\0';
}

/* ---- the answer ---- */

static void add_lines(struct json_object *object, const char *key, const char *text)
{
    struct json_object *list = json_add_array(object, key);
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        (void)json_object_array_add(list, json_object_new_string_len(text, (int)n));
        text += n + (text[n] == '\n');
    }
}

struct json_object *reload_json(const struct reload_result *result)
{
    struct json_object *object = json_object_new_object();
    json_add_text(object, "apiVersion", "ferry.internal/v1");
    json_add_text(object, "kind", "Reload");
    add_lines(object, "changed", result->changed);
    add_lines(object, "requiresRestart", result->restart);
    add_lines(object, "failed", result->trouble);
    return object;
}

/* ---- between threads ---- */

void reload_answers_init(struct reload_answers *answers)
{
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&answers->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&answers->answered, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void reload_answers_fini(struct reload_answers *answers)
{
    (void)pthread_cond_destroy(&answers->answered);
    (void)pthread_mutex_destroy(&answers->lock);
}

bool reload_ask(struct reload_answers *answers, char **out_json, struct err *err)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += RELOAD_WAIT_MS / 1000;
    (void)pthread_mutex_lock(&answers->lock);
    uint64_t number = ++answers->asked;
    (void)kill(getpid(), SIGHUP); /* one that is pending already reads the same file */
    while (answers->done < number &&
           pthread_cond_timedwait(&answers->answered, &answers->lock, &until) == 0)
        ;
    bool answered = answers->done >= number;
    if (answered)
        *err = answers->result.err;
    struct json_object *object =
        answered && err->code == ERR_NONE ? reload_json(&answers->result) : NULL;
    (void)pthread_mutex_unlock(&answers->lock);
    if (!answered)
        return err_set(err, ERR_TIMEOUT, "no answer in %d s; the log says what became of it",
                       RELOAD_WAIT_MS / 1000);
    if (object == NULL)
        return false;
    *out_json = strdup(json_object_to_json_string(object));
    json_object_put(object);
    return *out_json != NULL || err_set(err, ERR_NOMEM, "no memory for the answer");
}

uint64_t reload_begin(struct reload_answers *answers)
{
    (void)pthread_mutex_lock(&answers->lock);
    uint64_t number = answers->asked;
    (void)pthread_mutex_unlock(&answers->lock);
    return number;
}

void reload_answer(struct reload_answers *answers, uint64_t number,
                   const struct reload_result *result)
{
    (void)pthread_mutex_lock(&answers->lock);
    answers->done = number;
    answers->result = *result;
    (void)pthread_cond_broadcast(&answers->answered);
    (void)pthread_mutex_unlock(&answers->lock);
}

void reload_log(const char *file, const struct reload_result *result)
{
    if (result->err.code != ERR_NONE)
        LOG(ERROR, "config_refused", FIELD_TEXT(FILE, file), FIELD_TEXT(ERROR, result->err.text),
            FIELD_TEXT(TEXT, "the old configuration is used"));
    else if (result->changed[0] != '\0')
        LOG(INFO, "config_taken", FIELD_TEXT(FILE, file), FIELD_TEXT(TEXT, result->changed));
    else
        LOG(INFO, "config_unchanged", FIELD_TEXT(FILE, file));
    if (result->restart[0] != '\0')
        LOG(WARN, "config_requires_restart", FIELD_TEXT(FILE, file),
            FIELD_TEXT(WHY, result->restart),
            FIELD_TEXT(TEXT, "restart ferry serve to apply it; running migrations are adopted"));
    if (result->trouble[0] != '\0')
        LOG(ERROR, "config_not_whole", FIELD_TEXT(FILE, file), FIELD_TEXT(ERROR, result->trouble));
}
