/* rules.c - `ferry rules`: the alert rules, a dashboard or an example for Prometheus, with links to
 * the appliance as people reach it. Reads the configuration, not the appliance. */
#include <stdio.h>
#include <string.h>

#include "appliance/config.h"
#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "exporter/api/files.h"

enum { KEY_CONFIG = 0x200, KEY_URL };

struct rules {
    const char *config_file, *url; /* NULL: not given */
    const char *name;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct rules *r = state->input;
    switch (key) {
    case KEY_CONFIG: r->config_file = arg; return 0;
    case KEY_URL: r->url = arg; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one FILE at a time, not also '%s'", arg);
        r->name = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct served_file *find_file(const char *name, struct err *err)
{
    static const char *const folders[] = {"alerts", "dashboards"};
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < COUNT(folders); i++) {
        const struct served_file *file = served_file_find(folders[i], name);
        if (file != NULL)
            return file;
    }
    for (const struct served_file *file = served_files; file->path != NULL && n < COUNT(names);
         file++)
        if (!text_has_prefix(file->path, "docs/"))
            names[n++] = strchr(file->path, '/') + 1;
    const char *near = text_nearest(name, names, n);
    (void)err_set(err, ERR_NOT_FOUND, "no file '%s'%s%s%s", name,
                  near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                  near != NULL ? "'?" : "");
    return NULL;
}

static bool find_url(const struct rules *r, char *out_url, struct err *err)
{
    if (r->url != NULL)
        return config_external_url(r->url, out_url) ||
               err_set(err, ERR_INVALID,
                       "--external-url '%s' is not a URL like https://ferry.example.org", r->url);
    OWNED(config) config = config_read(r->config_file, err);
    if (config == NULL)
        return false;
    (void)text_copy(out_url, ACCESS_TEXT_MAX, config->access.external_url);
    return true;
}

int verb_rules(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"config", KEY_CONFIG, "FILE", 0, "has externalUrl; default " CONFIG_FILE_DEFAULT, 0},
        {"external-url", KEY_URL, "URL", 0, "instead of the configuration's externalUrl", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "[FILE]",
        .doc = "Print the alert rules for Prometheus; their links lead to externalUrl. Or FILE: "
               "prometheus.yml, alertmanager.yml, grafana-datasource.yml, or a dashboard (fleet, "
               "migration, failures, ...).",
    };
    struct rules r = {.config_file = CONFIG_FILE_DEFAULT, .name = "ferry.rules.yml"};
    if (!cli_parse(&argp, argc, argv, &r))
        return EXIT_USAGE;
    struct err err = {0};
    const struct served_file *file = find_file(r.name, &err);
    if (file == NULL)
        return cli_fail(&err, "`ferry rules -h` lists the files");
    char url[ACCESS_TEXT_MAX];
    if (!find_url(&r, url, &err))
        return cli_fail(&err, "name a valid file with --config FILE, or the URL with "
                              "--external-url URL");
    if (url[0] == '\0')
        (void)fprintf(stderr, "ferry: externalUrl is not configured: links lead to the address "
                              "that Prometheus scrapes\n");
    struct buf text;
    buf_init(&text, CLI_PAGE_MAX);
    served_file_add(file, url, &text);
    return cli_print(&text);
}
