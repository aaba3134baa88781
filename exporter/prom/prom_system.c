/* prom_system.c - see prom_system.h. Compiled with LIBPROM=system only; includes libprom's header,
 * not Ferry's prom.h. */
#include "exporter/prom/prom_system.h"

#include <prom.h>
#include <stdlib.h>

struct prom_system {
    prom_collector_registry_t *registry;
    prom_collector_t *collector;
    prom_metric_t *family;
    bool is_counter, failed;
};

struct prom_system *prom_system_new(void)
{
    struct prom_system *system = calloc(1, sizeof *system);
    if (system == NULL)
        return NULL;
    system->registry = prom_collector_registry_new("ferry-scrape");
    system->collector = prom_collector_new("ferry");
    if (system->registry != NULL && system->collector != NULL &&
        prom_collector_registry_register_collector(system->registry, system->collector) == 0)
        return system;
    if (system->registry != NULL)
        (void)prom_collector_registry_destroy(system->registry);
    free(system);
    return NULL;
}

bool prom_system_family(struct prom_system *system, bool is_counter, const char *name,
                        const char *help, size_t n_labels, const char **labels)
{
    system->is_counter = is_counter;
    system->family = is_counter ? prom_counter_new(name, help, n_labels, labels)
                                : prom_gauge_new(name, help, n_labels, labels);
    bool taken =
        system->family != NULL && prom_collector_add_metric(system->collector, system->family) == 0;
    system->failed = system->failed || !taken;
    return taken;
}

bool prom_system_sample(struct prom_system *system, double value, const char **values)
{
    int refused = system->is_counter ? prom_counter_add(system->family, value, values)
                                     : prom_gauge_set(system->family, value, values);
    system->failed = system->failed || refused != 0;
    return refused == 0;
}

char *prom_system_end(struct prom_system *system)
{
    char *page =
        system->failed ? NULL : (char *)(size_t)prom_collector_registry_bridge(system->registry);
    (void)prom_collector_registry_destroy(system->registry); /* with all that is in it */
    free(system);
    return page;
}
