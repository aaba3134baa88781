/* inventory.c - `ferry inventory`: the hosts as Prometheus' file_sd, for a job that scrapes an
 * exporter on each of them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/parse.h"

enum { KEY_PORT = 0x200, PORT_DEFAULT = 9100, ADDRESS_MAX = 320 };

struct inventory {
    struct cli_options common;
    int64_t port;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct inventory *i = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &i->common; return 0;
    case KEY_PORT:
        if (!text_to_i64(arg, 1, 65535, &i->port))
            argp_error(state, "--port '%s' is not a port", arg);
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Where Prometheus finds it: the host of its URI, else the name it has here (qemu:///system). */
static void address_of(const char *uri, const char *name, int64_t port, char *out_address)
{
    const char *at = strstr(uri, "://");
    at = at != NULL ? at + 3 : "";
    size_t n = strcspn(at, "/?#");
    const char *user = memchr(at, '@', n);
    if (user != NULL) {
        n -= (size_t)(user + 1 - at);
        at = user + 1;
    }
    if (n > 0 && at[0] == '[') { /* an IPv6 address keeps its brackets */
        const char *end = memchr(at, ']', n);
        n = end != NULL ? (size_t)(end + 1 - at) : n;
    } else {
        const char *colon = memchr(at, ':', n);
        n = colon != NULL ? (size_t)(colon - at) : n;
    }
    if (n == 0 || n > ADDRESS_MAX - 16) {
        at = name;
        n = strlen(name);
    }
    (void)snprintf(out_address, ADDRESS_MAX, "%.*s:%lld", (int)n, at, (long long)port);
}

/* A label's name in Prometheus: letters, digits and '_', as it makes them of its own meta labels.
 */
static void label_name(const char *key, char *out, size_t bytes)
{
    size_t n = (size_t)snprintf(out, bytes, "%s%s", isdigit((unsigned char)*key) ? "_" : "", key);
    for (size_t i = 0; i < n && i < bytes - 1; i++)
        if (!isalnum((unsigned char)out[i]))
            out[i] = '_';
}

static void add_node(struct json_object *groups, struct json_object *node, int64_t port)
{
    struct json_object *metadata = NULL, *labels = NULL, *status = NULL, *ferry = NULL;
    (void)json_object_object_get_ex(node, "metadata", &metadata);
    if (json_object_object_get_ex(node, "status", &status))
        (void)json_object_object_get_ex(status, "ferry", &ferry);
    struct err none = {0};
    const char *name = "", *uri = "";
    if (!json_get_text(metadata, "name", "", &name, &none) || *name == '\0')
        return;
    (void)json_get_text(ferry, "uri", "", &uri, &none);
    char address[ADDRESS_MAX];
    address_of(uri, name, port, address);
    struct json_object *group = json_add_object(groups, "");
    (void)json_object_array_add(json_add_array(group, "targets"), json_object_new_string(address));
    struct json_object *out = json_add_object(group, "labels");
    json_add_text(out, "node", name);
    if (!json_object_object_get_ex(metadata, "labels", &labels))
        return;
    json_object_object_foreach(labels, key, value)
    {
        char clean[320];
        label_name(key, clean, sizeof clean);
        if (strchr(key, '/') == NULL && !text_equal(clean, "node"))
            json_add_text(out, clean, json_object_get_string(value));
    }
}

int verb_inventory(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"port", KEY_PORT, "PORT", 0, "of the exporter on each host; default 9100", 0},
        {0},
    };
    static const struct argp argp = {
        .options = rows,
        .parser = on_option,
        .doc = "Print the hosts as Prometheus' file_sd: a target for each, with its labels.",
        .children = cli_options_children,
    };
    struct inventory i = {.port = PORT_DEFAULT};
    cli_options_init(&i.common);
    if (!cli_parse(&argp, argc, argv, &i))
        return EXIT_USAGE;
    struct err err = {0};
    struct json_object *items = NULL;
    OWNED(client) client = client_new(i.common.server, &err);
    OWNED(json_object) list =
        client != NULL ? client_call(client, "GET", "/api/v1/nodes", NULL, &err) : NULL;
    if (list == NULL)
        return cli_fail(&err, NULL);
    OWNED(json_object) groups = json_object_new_array();
    if (json_object_object_get_ex(list, "items", &items))
        for (size_t n = 0; n < json_object_array_length(items); n++)
            add_node(groups, json_object_array_get_idx(items, n), i.port);
    return cli_print_json(groups);
}
