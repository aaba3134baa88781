/* kubeconfig.c - `ferry kubeconfig`: a configuration file for kubectl, with a new token and the
 * certificate of the appliance. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/token.h"

enum { KEY_ROLE = 0x200, KEY_EXPIRES, KEY_NAME, KEY_URL };

struct options {
    struct cli_options common;
    const char *role, *expires, *name, *url;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_ROLE: o->role = arg; return 0;
    case KEY_EXPIRES: o->expires = arg; return 0;
    case KEY_NAME: o->name = arg; return 0;
    case KEY_URL: o->url = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void add_base64(struct buf *out, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned)(unsigned char)text[i] << 16;
        bits |= i + 1 < n ? (unsigned)(unsigned char)text[i + 1] << 8 : 0;
        bits |= i + 2 < n ? (unsigned)(unsigned char)text[i + 2] : 0;
        const char group[5] = {digits[bits >> 18 & 63], digits[bits >> 12 & 63],
                               i + 1 < n ? digits[bits >> 6 & 63] : '=',
                               i + 2 < n ? digits[bits & 63] : '=', '\0'};
        buf_add(out, group);
    }
}

static int print(const struct options *o, struct json_object *access, const char *token)
{
    const char *url = o->url != NULL ? o->url : view_text(access, "server");
    const char *certificate = view_text(access, "certificate");
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    buf_addf(&text,
             "apiVersion: v1\nkind: Config\nclusters:\n- name: ferry\n  cluster:\n"
             "    server: %s\n",
             url);
    if (*certificate != '\0') {
        buf_add(&text, "    certificate-authority-data: ");
        add_base64(&text, certificate);
        buf_add(&text, "\n");
    }
    buf_addf(&text, "users:\n- name: %s\n  user:\n    token: %s\n", o->name, token);
    buf_addf(&text, "contexts:\n- name: ferry\n  context: {cluster: ferry, user: %s%s%s}\n",
             o->name, o->common.ns != NULL ? ", namespace: " : "",
             o->common.ns != NULL ? o->common.ns : "");
    buf_add(&text, "current-context: ferry\n");
    return cli_print(&text);
}

int verb_kubeconfig(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"role", KEY_ROLE, "ROLE", 0, "viewer, operator or admin; default operator", 0},
        {"expires", KEY_EXPIRES, "TIME", 0, "of the token: 90d, 12h, never; default 90d", 0},
        {"name", KEY_NAME, "NAME", 0, "of the token; default kubectl", 0},
        {"url", KEY_URL, "URL", 0, "of the appliance, as kubectl reaches it", 0},
        {0},
    };
    static const struct argp argp = {
        .options = rows,
        .parser = on_option,
        .doc = "Print a configuration file for kubectl, with a new token and the certificate of "
               "the appliance: ferry kubeconfig > FILE; KUBECONFIG=FILE kubectl get nodes",
        .children = cli_options_children,
    };
    struct options o = {.role = "operator", .expires = "90d", .name = "kubectl"};
    struct err err = {0};
    cli_options_init(&o.common);
    o.common.ns = NULL;
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    OWNED(client) client = client_new(o.common.server, &err);
    OWNED(json_object) access =
        client == NULL ? NULL : client_call(client, "GET", "/access", NULL, &err);
    if (access == NULL)
        return cli_fail(&err, NULL);
    if (o.url == NULL && *view_text(access, "server") == '\0') {
        (void)err_set(&err, ERR_INVALID, "the appliance does not listen on https");
        return cli_fail(&err, "start it with --listen https://ADDRESS:PORT; kubectl sends no token "
                              "over http");
    }
    const struct token_wanted wanted = {
        .name = o.name, .role = o.role, .ns = o.common.ns, .expires = o.expires};
    OWNED(json_object) made = token_create(client, &wanted, &err);
    if (made == NULL)
        return cli_fail(&err, err.code == ERR_EXISTS
                                  ? "give the token another name with --name, or delete that one: "
                                    "ferry token delete kubectl"
                                  : NULL);
    return print(&o, access, view_text(json_at(made, "status"), "token"));
}
