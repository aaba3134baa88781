/* setup.c - see setup.h. */
#include "engine/model/fleet/setup.h"

#include <string.h>

struct setup *setup_new(const struct fleet_config *config, size_t n_hosts)
{
    struct setup *setup = calloc(1, sizeof *setup);
    if (setup == NULL)
        return NULL;
    setup->config = *config;
    setup->hosts = calloc(n_hosts + 1, sizeof *setup->hosts);
    setup->by_name = calloc(n_hosts + 1, sizeof(struct setup_host *));
    if (setup->hosts == NULL || setup->by_name == NULL) {
        setup_free(setup);
        return NULL;
    }
    setup->n_hosts = n_hosts;
    return setup;
}

void setup_free(struct setup *setup)
{
    if (setup == NULL)
        return;
    for (size_t i = 0; i < setup->n_hosts; i++) {
        free(setup->hosts[i].labels);
        free(setup->hosts[i].taints);
    }
    free(setup->by_name);
    free(setup->hosts);
    free(setup);
}

static bool keep(const char *text, char **out_text)
{
    *out_text = text != NULL ? strdup(text) : NULL;
    return text == NULL || *out_text != NULL;
}

bool setup_host(struct setup *setup, size_t i, const struct hv_host *host, const char *labels,
                const char *taints)
{
    setup->hosts[i].host = *host;
    return keep(labels, &setup->hosts[i].labels) && keep(taints, &setup->hosts[i].taints);
}

static int by_name(const void *a, const void *b)
{
    const struct setup_host *const *left = a, *const *right = b;
    return strcmp((*left)->host.name, (*right)->host.name);
}

bool setup_sort(struct setup *setup, struct err *err)
{
    for (size_t i = 0; i < setup->n_hosts; i++)
        setup->by_name[i] = &setup->hosts[i];
    qsort(setup->by_name, setup->n_hosts, sizeof(struct setup_host *), by_name);
    for (size_t i = 1; i < setup->n_hosts; i++)
        if (by_name(&setup->by_name[i - 1], &setup->by_name[i]) == 0)
            return err_set(err, ERR_EXISTS, "node '%s' is configured twice",
                           setup->by_name[i]->host.name);
    return true;
}

struct setup_host *setup_find(const struct setup *setup, const char *name)
{
    size_t low = 0, high = setup->n_hosts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(setup->by_name[middle]->host.name, name);
        if (order == 0)
            return setup->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
