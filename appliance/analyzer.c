/* analyzer.c - see analyzer.h. */
#include "appliance/analyzer.h"

#include "base/log.h"

struct analyzer {
    struct ruleset *rules;
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

bool analyzer_set_hosts(struct analyzer *analyzer, const struct config *config, struct err *err)
{
    struct analysis_host *hosts = calloc(config->n_hosts + 1, sizeof *hosts);
    if (hosts == NULL)
        return err_set(err, ERR_NOMEM, "no memory for %zu hosts", config->n_hosts);
    for (size_t i = 0; i < config->n_hosts; i++) {
        hosts[i].name = config->hosts[i].name;
        hosts[i].log_dir = config->host_settings[i].log_dir;
    }
    bool done = analysis_set_hosts(analyzer->analysis, hosts, config->n_hosts, err);
    free(hosts);
    return done;
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
    if (a->rules == NULL)
        return NULL;
    const struct analysis_parts analysis = {.store = parts->store,
                                            .rules = a->rules,
                                            .clock = parts->clock,
                                            .ctx = parts->engine,
                                            .post = post,
                                            .cells = parts->cells};
    a->analysis = analysis_new(&analysis, err);
    if (a->analysis == NULL || (parts->has_logs && !analyzer_set_hosts(a, config, err)))
        return NULL;
    return TAKE(a);
}

void analyzer_free(struct analyzer *analyzer)
{
    if (analyzer == NULL)
        return;
    analysis_free(analyzer->analysis);
    ruleset_free(analyzer->rules);
    free(analyzer);
}

struct analysis *analyzer_worker(struct analyzer *analyzer)
{
    return analyzer->analysis;
}
