/* token.c - `ferry token create|list|delete`: bearer tokens of the API. The secret is printed once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/parse.h"
#include "cli/common/view.h"
#include "cli/token.h"

enum { KEY_ROLE = 0x200, KEY_EXPIRES };
#define TOKENS "/apis/ferry.internal/v1/tokens"

struct options {
    struct cli_options common;
    const char *action, *name, *role, *expires;
    bool has_namespace;
};

static bool read_expiry(const char *text, int64_t *out_s, struct err *err)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    char number[16];
    size_t n = strlen(text);
    *out_s = 0;
    if (text_equal(text, "never"))
        return true;
    for (size_t i = 0; n > 1 && n < sizeof number && i < COUNT(units); i++)
        if (text[n - 1] == units[i].unit) {
            memcpy(number, text, n - 1);
            number[n - 1] = '\0';
            if (text_to_i64(number, 1, 100000, out_s)) {
                *out_s *= units[i].seconds;
                return true;
            }
        }
    return err_set(err, ERR_INVALID, "--expires '%s' is not a time like 90d, 12h or never", text);
}

struct json_object *token_create(struct client *client, const struct token_wanted *wanted,
                                 struct err *err)
{
    int64_t seconds;
    if (!read_expiry(wanted->expires, &seconds, err))
        return NULL;
    OWNED(json_object) body = json_object_new_object();
    json_add_text(json_add_object(body, "metadata"), "name", wanted->name);
    struct json_object *spec = json_add_object(body, "spec");
    json_add_text(spec, "role", wanted->role);
    if (wanted->ns != NULL)
        json_add_text(spec, "namespace", wanted->ns);
    if (seconds > 0)
        json_add_i64(spec, "expiresSeconds", seconds);
    return client_call(client, "POST", TOKENS, body, err);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_ROLE: o->role = arg; return 0;
    case KEY_EXPIRES: o->expires = arg; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            o->action = arg;
        else if (state->arg_num == 1)
            o->name = arg;
        else
            argp_error(state, "unexpected argument '%s'", arg);
        return 0;
    case ARGP_KEY_END:
        if (!text_equal(o->action, "create") && !text_equal(o->action, "list") &&
            !text_equal(o->action, "delete"))
            argp_error(state, "expected create, list or delete");
        if (!text_equal(o->action, "list") && (o->name == NULL || *o->name == '\0'))
            argp_error(state, "NAME is missing");
        if (text_equal(o->action, "create") && o->role == NULL)
            argp_error(state, "--role is missing: viewer, operator or admin");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int create(const struct options *o, struct client *client, struct err *err)
{
    const struct token_wanted wanted = {
        .name = o->name, .role = o->role, .ns = o->common.ns, .expires = o->expires};
    OWNED(json_object) made = token_create(client, &wanted, err);
    if (made == NULL)
        return cli_fail(err, NULL);
    if (o->common.output == OUTPUT_JSON)
        return cli_print_json(made);
    (void)printf("%s\n", view_text(json_at(made, "status"), "token"));
    (void)fprintf(stderr, "token %s with role %s; it is shown only this once\n", o->name, o->role);
    return EXIT_DONE;
}

static int delete_one(const struct options *o, struct client *client, struct err *err)
{
    char path[512];
    (void)snprintf(path, sizeof path, TOKENS "/%.253s", o->name);
    if (strpbrk(o->name, "/?#% ") != NULL) {
        (void)err_set(err, ERR_INVALID, "'%s' is no name of a token", o->name);
        return cli_fail(err, NULL);
    }
    OWNED(json_object) gone = client_call(client, "DELETE", path, NULL, err);
    if (gone == NULL)
        return cli_fail(err, NULL);
    (void)printf("token %s deleted\n", o->name);
    return EXIT_DONE;
}

int verb_token(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"role", KEY_ROLE, "ROLE", 0, "viewer, operator or admin", 0},
        {"expires", KEY_EXPIRES, "TIME", 0, "90d, 12h, never; default never", 0},
        {0},
    };
    static const struct argp argp = {
        .options = rows,
        .parser = on_option,
        .args_doc = "create NAME --role ROLE | list | delete NAME",
        .doc = "Make, list and delete bearer tokens. The secret is printed once; Ferry keeps only "
               "its hash. With -n the role holds in that namespace only.",
        .children = cli_options_children,
    };
    struct options o = {.expires = "never"};
    struct err err = {0};
    cli_options_init(&o.common);
    o.common.ns = NULL; /* without -n the role holds everywhere */
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    if (text_equal(o.action, "list")) {
        char name[] = "ferry get", kind[] = "tokens", server[] = "--server";
        union {
            const char *from;
            char *to;
        } url = {o.common.server};
        char *words[] = {name, kind, server, url.to, NULL};
        if (url.from == NULL)
            words[2] = NULL;
        return verb_get(url.from == NULL ? 2 : 4, words);
    }
    OWNED(client) client = client_new(o.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    return text_equal(o.action, "create") ? create(&o, client, &err) : delete_one(&o, client, &err);
}
