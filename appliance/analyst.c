/* analyst.c - see analyst.h. */
#include "appliance/analyst.h"

#include "base/log.h"

struct analyst {
    struct ruleset *rules;
    struct desk_host *hosts;
    struct desk *desk;
};

static void complain(void *ctx, const struct err *err)
{
    (void)ctx;
    LOG(ERROR, "rules_refused", FIELD_TEXT(ERROR, err->text),
        FIELD_TEXT(TEXT, "the other rules are in force"));
}

static bool post(void *ctx, const struct judgement *judgement, struct err *err)
{
    return engine_post_judgement(ctx, judgement, err);
}

/* A simulated host has no log. */
static bool name_hosts(struct analyst *a, const struct analyst_parts *parts, struct err *err)
{
    const struct config *config = parts->config;
    a->hosts = calloc(parts->n_hosts + 1, sizeof *a->hosts);
    if (a->hosts == NULL)
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", parts->n_hosts);
    for (size_t i = 0; i < parts->n_hosts; i++) {
        a->hosts[i].name = parts->hosts[i].name;
        if (parts->hosts == config->hosts)
            a->hosts[i].log_dir = config->host_log_dirs[i];
    }
    return true;
}

struct analyst *analyst_new(const struct analyst_parts *parts, struct err *err)
{
    const struct config *config = parts->config;
    OWNED(analyst) a = calloc(1, sizeof *a);
    if (a == NULL) {
        (void)err_set(err, ERR_NOMEM, "the analyser");
        return NULL;
    }
    a->rules =
        ruleset_new(config->rules_dir[0] != '\0' ? config->rules_dir : NULL, complain, NULL, err);
    if (a->rules == NULL || !name_hosts(a, parts, err))
        return NULL;
    const struct desk_parts desk = {.store = parts->store,
                                    .rules = a->rules,
                                    .clock = parts->clock,
                                    .hosts = a->hosts,
                                    .n_hosts = parts->n_hosts,
                                    .ctx = parts->engine,
                                    .post = post};
    a->desk = desk_new(&desk, err);
    return a->desk != NULL ? TAKE(a) : NULL;
}

void analyst_free(struct analyst *analyst)
{
    if (analyst == NULL)
        return;
    desk_free(analyst->desk);
    ruleset_free(analyst->rules);
    free(analyst->hosts);
    free(analyst);
}

struct desk *analyst_desk(struct analyst *analyst)
{
    return analyst->desk;
}

const struct ruleset *analyst_rules(const struct analyst *analyst)
{
    return analyst->rules;
}
