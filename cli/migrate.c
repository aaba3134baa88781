/* migrate.c - `ferry migrate`: requests a migration and, with --wait, shows its progress. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "cli/common/view.h"
#include "cli/common/wait.h"
#include "engine/model/job/phase.h"

enum {
    KEY_TO = 0x200,
    KEY_BANDWIDTH,
    KEY_WAIT,
    KEY_TIMEOUT,
    KEY_NAME,
    KEY_PRIORITY,
    KEY_SELECTOR,
    KEY_VOLUME,
    KEY_ON_BEHALF_OF,
    KEY_JOIN,
    SELECTORS_MAX = 32,
    VOLUMES_MAX = 16,
    ANSWER_MAX = 1 << 20
};
#define BANDWIDTH_MAX (INT64_C(1) << 23)

struct migrate {
    struct cli_options common;
    const char *vm, *to, *name;
    const char *on_behalf_of;             /* the guest's manager, NULL: nobody's */
    int64_t bandwidth_mibs;               /* 0: the fleet's default */
    const char *priority;                 /* NULL: user-triggered */
    int64_t timeout_ms;                   /* < 0: none */
    const char *selectors[SELECTORS_MAX]; /* K=V */
    size_t n_selectors;
    const char *volumes[VOLUMES_MAX]; /* DISK=PATH or DISK=pool:POOL/VOLUME */
    size_t n_volumes;
    bool wait, join;
};

static void add_selector(struct migrate *m, const char *pair, struct argp_state *state)
{
    const char *equals = strchr(pair, '=');
    if (equals == NULL || equals == pair)
        argp_error(state, "--selector '%s' is not LABEL=VALUE", pair);
    if (m->n_selectors == SELECTORS_MAX)
        argp_error(state, "at most %d selectors", SELECTORS_MAX);
    m->selectors[m->n_selectors++] = pair;
}

/* The part after "pool:" of a location; NULL for a path. */
static const char *pool_of(const char *location)
{
    return text_has_prefix(location, "pool:") ? location + strlen("pool:") : NULL;
}

static void add_volume(struct migrate *m, const char *pair, struct argp_state *state)
{
    const char *equals = strchr(pair, '=');
    const char *pool = equals != NULL ? pool_of(equals + 1) : NULL;
    bool is_location =
        pool != NULL ? strchr(pool, '/') != NULL : equals != NULL && equals[1] == '/';
    if (equals == NULL || equals == pair || !is_location)
        argp_error(state, "--volume '%s' is not DISK=/PATH or DISK=pool:POOL/VOLUME", pair);
    if (m->n_volumes == VOLUMES_MAX)
        argp_error(state, "at most %d volumes", VOLUMES_MAX);
    m->volumes[m->n_volumes++] = pair;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct migrate *m = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &m->common; return 0;
    case KEY_TO:
        if (*arg == '\0') /* an empty variable of a script must not mean "any node" */
            argp_error(state, "--to is empty; name a NODE or leave it out");
        m->to = name_arg(arg, KIND_NODE, state);
        return 0;
    case KEY_NAME:
        if (*arg == '\0')
            argp_error(state, "--name is empty; give a NAME or leave it out");
        m->name = arg;
        return 0;
    case KEY_SELECTOR: add_selector(m, arg, state); return 0;
    case KEY_VOLUME: add_volume(m, arg, state); return 0;
    case KEY_PRIORITY:
        if (priority_from_name(arg) == PRIORITY_COUNT)
            argp_error(state,
                       "--priority '%s' is not a priority class: system-critical, "
                       "user-triggered, system-maintenance, none",
                       arg);
        m->priority = arg;
        return 0;
    case KEY_WAIT: m->wait = true; return 0;
    case KEY_JOIN: m->join = true; return 0;
    case KEY_ON_BEHALF_OF:
        if (*arg == '\0')
            argp_error(state, "--on-behalf-of is empty; name a MANAGER or leave it out");
        m->on_behalf_of = arg;
        return 0;
    case KEY_BANDWIDTH:
        if (!text_to_i64(arg, 1, BANDWIDTH_MAX, &m->bandwidth_mibs))
            argp_error(state, "--bandwidth '%s' is not a number of MiB/s", arg);
        return 0;
    case KEY_TIMEOUT:
        if (!human_read_duration(arg, &m->timeout_ms))
            argp_error(state, "--timeout '%s' is not a duration like 30s or 5m", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one VM at a time, not also '%s'", arg);
        m->vm = name_arg(arg, KIND_GUEST, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "VM is missing; `ferry get guests -A` lists the guests");
        return 0;
    case ARGP_KEY_END:
        if (m->timeout_ms >= 0 && !m->wait)
            argp_error(state, "--timeout needs --wait");
        if (m->common.all_namespaces)
            argp_error(state, "a VM is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Restricts the target nodes. Of a label given twice the last value counts. */
static void add_selectors(struct json_object *spec, const struct migrate *m)
{
    if (m->to == NULL && m->n_selectors == 0)
        return;
    struct json_object *selector = json_add_object(spec, "addedNodeSelector");
    for (size_t i = 0; i < m->n_selectors; i++) {
        size_t length = strcspn(m->selectors[i], "=");
        OWNED_TEXT key = strndup(m->selectors[i], length);
        if (key != NULL)
            json_add_text(selector, key, m->selectors[i] + length + 1);
    }
    json_add_text(selector, "kubernetes.io/hostname", m->to);
}

static void add_part(struct json_object *object, const char *key, const char *text, size_t length)
{
    OWNED_TEXT part = strndup(text, length);
    json_add_text(object, key, part);
}

static void add_volumes(struct json_object *spec, const struct migrate *m)
{
    if (m->n_volumes == 0)
        return;
    struct json_object *list = json_add_array(json_add_object(spec, "ferry"), "volumes");
    for (size_t i = 0; i < m->n_volumes; i++) {
        const char *location = strchr(m->volumes[i], '=') + 1, *pool = pool_of(location);
        struct json_object *volume = json_add_object(list, "");
        add_part(volume, "name", m->volumes[i], (size_t)(location - 1 - m->volumes[i]));
        struct json_object *to = json_add_object(volume, "destination");
        if (pool != NULL) {
            add_part(to, "pool", pool, strcspn(pool, "/"));
            json_add_text(to, "volume", strchr(pool, '/') + 1);
        } else {
            json_add_text(to, "path", location);
        }
    }
}

static struct json_object *build_request(const struct migrate *m)
{
    struct json_object *request = json_object_new_object();
    json_add_text(request, "apiVersion", "kubevirt.io/v1");
    json_add_text(request, "kind", "VirtualMachineInstanceMigration");
    struct json_object *metadata = json_add_object(request, "metadata");
    if (m->name != NULL)
        json_add_text(metadata, "name", m->name);
    else
        json_add_text(metadata, "generateName", "migration-");
    if (m->bandwidth_mibs > 0 || m->on_behalf_of != NULL) {
        struct json_object *annotations = json_add_object(metadata, "annotations");
        char number[HUMAN_TEXT_MAX];
        (void)snprintf(number, sizeof number, "%lld", (long long)m->bandwidth_mibs);
        json_add_text(annotations, "ferry.internal/bandwidth-mib",
                      m->bandwidth_mibs > 0 ? number : NULL);
        json_add_text(annotations, "ferry.internal/on-behalf-of", m->on_behalf_of);
    }
    struct json_object *spec = json_add_object(request, "spec");
    json_add_text(spec, "priority", m->priority);
    json_add_text(spec, "vmiName", m->vm);
    add_selectors(spec, m);
    add_volumes(spec, m);
    return request;
}

static struct json_object *create(struct client *client, const struct migrate *m, struct err *err)
{
    char path[KINDS_PATH_MAX];
    if (!kind_path(KIND_MIGRATION, m->common.ns, NULL, path, err))
        return NULL;
    OWNED(json_object) request = build_request(m);
    return client_call(client, "POST", path, request, err);
}

static bool goes_to(struct json_object *migration, const struct migrate *m)
{
    struct json_object *selector = json_at(migration, "spec.addedNodeSelector"), *node = NULL;
    const char *to = view_text(migration, "status.migrationState.targetNode");
    if (m->to == NULL || strcmp(to, m->to) == 0)
        return true;
    return to[0] == '\0' && selector != NULL &&
           json_object_object_get_ex(selector, "kubernetes.io/hostname", &node) &&
           strcmp(json_object_get_string(node), m->to) == 0;
}

/* A new reference to the migration of this guest that is under way, if it goes to the wanted node;
 * NULL: there is none such. */
static struct json_object *find_active(struct client *client, const struct migrate *m)
{
    char path[KINDS_PATH_MAX], field[KINDS_PATH_MAX];
    struct err err = {0};
    struct buf query;
    if (!kind_path(KIND_MIGRATION, m->common.ns, NULL, path, &err))
        return NULL;
    (void)snprintf(field, sizeof field, "spec.vmiName=%s", m->vm);
    buf_init(&query, CLIENT_PATH_MAX);
    buf_add(&query, path);
    path_add_query(&query, "fieldSelector", field);
    OWNED(json_object) list = query.failed ? NULL : client_list(client, query.data, &err);
    buf_fini(&query);
    for (size_t i = 0; list != NULL && i < view_count(list, "items"); i++) {
        struct json_object *item = view_element(list, "items", i);
        if (!phase_is_final(phase_from_name(view_text(item, "status.phase"))) && goes_to(item, m))
            return json_object_get(item);
    }
    return NULL;
}

static int print_object(struct json_object *object, enum output output)
{
    if (output == OUTPUT_JSON)
        return cli_print_json(object);
    char name[TABLE_CELL_MAX];
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    (void)printf(output == OUTPUT_NAME ? "vmim/%s\n" : "vmim/%s created\n", name);
    return EXIT_DONE;
}

/* The summary goes to stdout after success, to stderr after failure. */
static int print_end(struct json_object *object, const struct migrate *m, int64_t took_ms)
{
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    bool moved = wait_summary(object, took_ms, &text);
    if (m->common.output == OUTPUT_JSON)
        (void)cli_print_json(object);
    if (moved && m->common.output == OUTPUT_JSON) {
        buf_fini(&text);
        return EXIT_DONE;
    }
    if (moved)
        return cli_print(&text);
    (void)fputs(text.data != NULL ? text.data : "ferry: the migration failed\n", stderr);
    buf_fini(&text);
    return EXIT_FAILED;
}

static int follow(struct client *client, const struct migrate *m, struct json_object *created,
                  int64_t began_ms)
{
    struct wait wait = {
        .client = client,
        .ns = m->common.ns,
        .name = view_text(created, "metadata.name"),
        .timeout_ms = m->timeout_ms,
        .quiet = m->common.output == OUTPUT_JSON,
    };
    struct json_object *last = NULL;
    int status = wait_until_over(&wait, &last);
    OWNED(json_object) object = last;
    if (status != EXIT_DONE)
        return status;
    return print_end(object, m, clock_mono_ms(clock_system()) - began_ms);
}

/* What is refused now may be refused for ever: `ferry check` knows which. */
static int fail(struct client *client, const struct migrate *m, const struct err *err)
{
    const struct named guest = {KIND_GUEST, m->common.ns, m->vm}, node = {KIND_NODE, NULL, m->to};
    char hint[NAME_HINT_MAX];
    if (err->code == ERR_UNPROCESSABLE && m->to != NULL && name_hint(client, &node, hint))
        return cli_fail(err, hint);
    (void)snprintf(hint, sizeof hint, "`ferry check %.253s -n %.63s` says whether and where it can",
                   m->vm, m->common.ns);
    return name_fail(client, &guest, err, err->code == ERR_REFUSED ? hint : NULL);
}

int verb_migrate(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", KEY_TO, "NODE", 0, "the target; default: chosen by the scheduler", 0},
        {"selector", KEY_SELECTOR, "K=V", 0, "only nodes with this label; repeatable", 0},
        {"volume", KEY_VOLUME, "DISK=PLACE", 0,
         "also migrate this disk, to /PATH or pool:POOL/VOLUME; repeatable", 0},
        {"name", KEY_NAME, "NAME", 0, "name of the migration; default: generated", 0},
        {"bandwidth", KEY_BANDWIDTH, "MIB", 0, "limit in MiB/s; default: the fleet's", 0},
        {"priority", KEY_PRIORITY, "CLASS", 0, "default: user-triggered", 0},
        {"on-behalf-of", KEY_ON_BEHALF_OF, "MANAGER", 0,
         "the guest's manager asks (pacemaker, nova, ...), so ManagedElsewhere does not apply", 0},
        {"join", KEY_JOIN, NULL, 0, "if it is already being migrated there, take that one", 0},
        {"wait", KEY_WAIT, NULL, 0, "show progress until the migration has ended", 0},
        {"timeout", KEY_TIMEOUT, "DURATION", 0, "with --wait: give up after, like 5m", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "VM",
        .doc = "Migrate a running guest to another node.",
        .children = cli_options_children,
    };
    struct migrate m = {.timeout_ms = -1};
    cli_options_init(&m.common);
    if (!cli_parse(&argp, argc, argv, &m))
        return EXIT_USAGE;
    struct err err = {0};
    int64_t began_ms = clock_mono_ms(clock_system());
    OWNED(client) client = client_new(m.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    OWNED(json_object) created = create(client, &m, &err);
    if (created == NULL && m.join && err.code == ERR_REFUSED)
        created = find_active(client, &m);
    if (created == NULL)
        return fail(client, &m, &err);
    if (!m.wait)
        return print_object(created, m.common.output);
    return follow(client, &m, created, began_ms);
}
