/* analyzer.c - see analyzer.h. */
#include "appliance/analyzer.h"

#include "base/log.h"

struct analyzer {
    struct ruleset *rules;
    struct analysis_host *hosts;
    struct analysis *analysis;
};

static void log_bad_rule(void *ctx, const struct err *err)
{
    (void)ctx;
    LOG(ERROR, "rules_refused", FIELD_TEXT(ERROR, err->text),
        FIELD_TEXT(TEXT, "the other rules are used"));
}

static bool post(void *ctx, const struct verdict_rows *verdict_rows, struct err *err)
{
    return engine_post_verdict_rows(ctx, verdict_rows, err);
}

/* A simulated host has no log. */
static bool name_hosts(struct analyzer *a, const struct analyzer_parts *parts, struct err *err)
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

struct analyzer *analyzer_new(const struct analyzer_parts *parts, struct err *err)
{
    const struct config *config = parts->config;
    OWNED(analyzer) a = calloc(1, sizeof *a);
    if (a == NULL) {
        (void)err_set(err, ERR_NOMEM, "the analyser");
        return NULL;
    }
    a->rules = ruleset_new(config->rules_dir[0] != '\0' ? config->rules_dir : NULL, log_bad_rule,
                           NULL, err);
    if (a->rules == NULL || !name_hosts(a, parts, err))
        return NULL;
    const struct analysis_parts analysis = {.store = parts->store,
                                            .rules = a->rules,
                                            .clock = parts->clock,
                                            .hosts = a->hosts,
                                            .n_hosts = parts->n_hosts,
                                            .ctx = parts->engine,
                                            .post = post};
    a->analysis = analysis_new(&analysis, err);
    return a->analysis != NULL ? TAKE(a) : NULL;
}

void analyzer_free(struct analyzer *analyzer)
{
    if (analyzer == NULL)
        return;
    analysis_free(analyzer->analysis);
    ruleset_free(analyzer->rules);
    free(analyzer->hosts);
    free(analyzer);
}

struct analysis *analyzer_worker(struct analyzer *analyzer)
{
    return analyzer->analysis;
}
