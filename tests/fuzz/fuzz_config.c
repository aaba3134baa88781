/* fuzz_config.c - the YAML reader and the configuration made from it. */
#include <string.h>

#include "appliance/config.h"
#include "base/text.h"
#include "base/yaml.h"
#include "tests/fuzz/fuzz.h"

static const char file_name[] = "f.yaml";

static void law_of_the_error(const struct err *err)
{
    FUZZ_LAW(err->code != ERR_NONE, "refused without a reason");
    FUZZ_LAW(text_has_prefix(err->text, file_name), "no file in: %s", err->text);
}

/* Whatever YAML was read is JSON too. */
static void law_of_json(const struct yaml *yaml)
{
    for (size_t i = 0; i < yaml_document_count(yaml); i++) {
        struct err err = {0};
        OWNED(json_object) value = yaml_to_json(yaml_document(yaml, i));
        if (value == NULL)
            continue; /* an empty document */
        const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
        OWNED(json_object) again = json_parse(text, strlen(text), "json", &err);
        FUZZ_LAW(again != NULL, "YAML became what is no JSON: %s: %s", err.text, text);
    }
}

/* What the file says of a host, the engine can read. */
static void law_of_the_labels(const char *label_text, const char *taint_text)
{
    struct err err = {0};
    struct labels labels = {0};
    struct taint taints[TAINTS_MAX];
    size_t n = 0;
    FUZZ_LAW(labels_parse(label_text, "labels", &labels, &err), "labels: %s", err.text);
    labels_fini(&labels);
    if (taint_text == NULL)
        return;
    OWNED(json_object) array = json_parse(taint_text, strlen(taint_text), "taints", &err);
    FUZZ_LAW(array != NULL && taints_from(array, "taints", taints, &n, &err) && n > 0, "taints: %s",
             err.text);
}

static void law_of_the_hosts(const struct config *config)
{
    FUZZ_LAW(config->n_hosts >= 1 && config->n_hosts <= CONFIG_HOSTS_MAX, "%zu hosts",
             config->n_hosts);
    for (size_t i = 0; i < config->n_hosts; i++) {
        const struct hv_host *host = &config->hosts[i];
        FUZZ_LAW(text_is_dns_label(host->name), "a host called '%s'", host->name);
        FUZZ_LAW(strstr(host->uri, "://") != NULL, "an uri '%s'", host->uri);
        FUZZ_LAW(strstr(host->peer_uri, "://") != NULL, "a peer uri '%s'", host->peer_uri);
        law_of_the_labels(config->host_settings[i].labels, config->host_settings[i].taints);
        FUZZ_LAW(host->keepalive_interval_s >= 0 && host->keepalive_count >= 0, "keepalive < 0");
        for (size_t j = 0; j < i; j++)
            FUZZ_LAW(strcmp(config->hosts[j].name, host->name) != 0, "two '%s'", host->name);
    }
}

static void law_of_the_config(const struct config *config)
{
    law_of_the_hosts(config);
    FUZZ_LAW(config->state_dir[0] != '\0' && strrchr(config->access.listen[0], ':') != NULL,
             "state '%s', listen '%s'", config->state_dir, config->access.listen[0]);
    FUZZ_LAW(config->migration.bandwidth >= 0 && config->migration.bandwidth <= INT64_C(1) << 43 &&
                 config->bandwidth_per_node <= UINT64_C(1) << 43,
             "too much bandwidth");
    FUZZ_LAW(config->memory_overcommit_percent > 0 && config->vcpus_per_cpu > 0,
             "hosts without memory or CPUs");
    FUZZ_LAW(config->eviction_strategy < STRATEGY_COUNT, "no eviction strategy");
    FUZZ_LAW(config->sample_ms == 0 || config->sample_ms >= 50, "samples without a pause");
    FUZZ_LAW(config_compare(config, config) == 0, "it differs from itself");
}

FUZZ_TARGET(config)
{
    struct err yaml_err = {0}, config_err = {0};
    OWNED(yaml) yaml = yaml_parse((const char *)data, n, file_name, &yaml_err);
    if (yaml == NULL)
        law_of_the_error(&yaml_err);
    else
        law_of_json(yaml);
    OWNED(config) config = config_parse((const char *)data, n, file_name, &config_err);
    if (config == NULL) {
        law_of_the_error(&config_err);
        return 0;
    }
    FUZZ_LAW(yaml != NULL, "a configuration that is no YAML");
    law_of_the_config(config);
    struct err err = {0};
    OWNED(config) plain = config_new(&err);
    FUZZ_LAW(plain != NULL && config_compare(plain, config) != 0, "hosts make no difference");
    return 0;
}
