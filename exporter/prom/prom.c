/* prom.c - registries and collectors; see prom.h for why this is hand-written.
 *
 * One lock per registry, held while it renders or grows; each metric has its own for its series
 * (prom_metric.c), taken inside. Scrapes and writers may run concurrently.
 */
#include "exporter/prom/prom_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#ifdef FERRY_LIBPROM_SYSTEM
#include "exporter/prom/prom_system.h"
#endif

enum { REGISTRY_PAGE_MAX = 256 * 1024 * 1024 };

struct prom_collector {
    char *name;
    struct prom_collector_registry *registry; /* NULL until it is registered */
    struct prom_collector *next;
    struct prom_metric *first, **last; /* in order of registration */
    pthread_mutex_t lock;              /* the list, until there is a registry */
};

struct prom_collector_registry {
    char *name;
    pthread_mutex_t lock; /* the lists of collectors and of their metrics */
    struct prom_collector *first, **last;
};

/* libprom's interface has this global; it is set once, by default_init. */
prom_collector_registry_t *PROM_COLLECTOR_REGISTRY_DEFAULT = NULL;

prom_collector_t *prom_collector_new(const char *name)
{
    if (name == NULL || *name == '\0')
        return NULL;
    struct prom_collector *collector = calloc(1, sizeof *collector);
    if (collector == NULL)
        return NULL;
    collector->name = strdup(name);
    if (collector->name == NULL) {
        free(collector);
        return NULL;
    }
    collector->last = &collector->first;
    (void)pthread_mutex_init(&collector->lock, NULL);
    return collector;
}

int prom_collector_destroy(prom_collector_t *self)
{
    if (self == NULL)
        return 0;
    struct prom_metric *metric = self->first;
    while (metric != NULL) {
        struct prom_metric *next = metric->next;
        (void)prom_metric_destroy(metric);
        metric = next;
    }
    (void)pthread_mutex_destroy(&self->lock);
    free(self->name);
    free(self);
    return 0;
}

static bool collector_collides(const struct prom_collector *collector,
                               const struct prom_metric *metric)
{
    for (const struct prom_metric *m = collector->first; m != NULL; m = m->next)
        if (prom_metric_collides(m, metric))
            return true;
    return false;
}

static bool registry_collides(const struct prom_collector_registry *registry,
                              const struct prom_metric *metric)
{
    for (const struct prom_collector *c = registry->first; c != NULL; c = c->next)
        if (collector_collides(c, metric))
            return true;
    return false;
}

int prom_collector_add_metric(prom_collector_t *self, prom_metric_t *metric)
{
    if (self == NULL || metric == NULL)
        return 1;
    /* A collector is filled, then registered; its registry does not change afterwards. */
    pthread_mutex_t *lock = self->registry == NULL ? &self->lock : &self->registry->lock;
    (void)pthread_mutex_lock(lock);
    bool taken = self->registry == NULL ? collector_collides(self, metric)
                                        : registry_collides(self->registry, metric);
    if (!taken) {
        metric->next = NULL;
        *self->last = metric;
        self->last = &metric->next;
    }
    (void)pthread_mutex_unlock(lock);
    return taken;
}

prom_collector_registry_t *prom_collector_registry_new(const char *name)
{
    if (name == NULL || *name == '\0')
        return NULL;
    struct prom_collector_registry *registry = calloc(1, sizeof *registry);
    if (registry == NULL)
        return NULL;
    (void)pthread_mutex_init(&registry->lock, NULL);
    registry->last = &registry->first;
    registry->name = strdup(name);
    struct prom_collector *standard = prom_collector_new("default");
    if (registry->name != NULL && standard != NULL &&
        prom_collector_registry_register_collector(registry, standard) == 0)
        return registry;
    (void)prom_collector_destroy(standard);
    (void)prom_collector_registry_destroy(registry);
    return NULL;
}

int prom_collector_registry_destroy(prom_collector_registry_t *self)
{
    if (self == NULL)
        return 0;
    struct prom_collector *collector = self->first;
    while (collector != NULL) {
        struct prom_collector *next = collector->next;
        (void)prom_collector_destroy(collector);
        collector = next;
    }
    if (self == PROM_COLLECTOR_REGISTRY_DEFAULT)
        PROM_COLLECTOR_REGISTRY_DEFAULT = NULL;
    (void)pthread_mutex_destroy(&self->lock);
    free(self->name);
    free(self);
    return 0;
}

int prom_collector_registry_default_init(void)
{
    if (PROM_COLLECTOR_REGISTRY_DEFAULT == NULL)
        PROM_COLLECTOR_REGISTRY_DEFAULT = prom_collector_registry_new("default");
    return PROM_COLLECTOR_REGISTRY_DEFAULT == NULL;
}

int prom_collector_registry_register_metric(prom_metric_t *metric)
{
    struct prom_collector_registry *registry = PROM_COLLECTOR_REGISTRY_DEFAULT;
    return registry == NULL ? 1 : prom_collector_add_metric(registry->first, metric);
}

prom_metric_t *prom_collector_registry_must_register_metric(prom_metric_t *metric)
{
    if (prom_collector_registry_register_metric(metric) == 0)
        return metric;
    LOG(ERROR, "metric_refused", FIELD_TEXT(TEXT, metric == NULL ? "" : metric->name));
    exit(1);
}

/* Lock held. A registry never holds two collectors of one name, nor two series of one name. */
static bool can_register(const struct prom_collector_registry *registry,
                         const struct prom_collector *collector)
{
    for (const struct prom_collector *c = registry->first; c != NULL; c = c->next)
        if (strcmp(c->name, collector->name) == 0)
            return false;
    for (const struct prom_metric *m = collector->first; m != NULL; m = m->next)
        if (registry_collides(registry, m))
            return false;
    return true;
}

int prom_collector_registry_register_collector(prom_collector_registry_t *self,
                                               prom_collector_t *collector)
{
    if (self == NULL || collector == NULL || collector->registry != NULL)
        return 1;
    (void)pthread_mutex_lock(&self->lock);
    bool fits = can_register(self, collector);
    if (fits) {
        collector->registry = self;
        *self->last = collector;
        self->last = &collector->next;
    }
    (void)pthread_mutex_unlock(&self->lock);
    return !fits;
}

static void render_own(const struct prom_collector_registry *registry, struct promx_page *page,
                       bool histograms_only)
{
    for (struct prom_collector *c = registry->first; c != NULL; c = c->next)
        for (struct prom_metric *m = c->first; m != NULL; m = m->next)
            if (!histograms_only || m->type == PROMX_HISTOGRAM)
                prom_metric_render(m, page);
}

#ifdef FERRY_LIBPROM_SYSTEM
/* Counters and gauges by libprom; false: it failed, and nothing was written. */
static bool render_system(const struct prom_collector_registry *registry, struct promx_page *page)
{
    struct prom_system *system = page->format == PROMX_TEXT ? prom_system_new() : NULL;
    if (system == NULL)
        return false;
    bool fine = true;
    for (struct prom_collector *c = registry->first; c != NULL; c = c->next)
        for (struct prom_metric *m = c->first; fine && m != NULL; m = m->next)
            fine = m->type == PROMX_HISTOGRAM || prom_system_add(system, m);
    OWNED_TEXT text = prom_system_end(system);
    if (!fine || text == NULL)
        return false;
    buf_add(&page->out, text);
    return true;
}
#else
static bool render_system(const struct prom_collector_registry *registry, struct promx_page *page)
{
    (void)registry;
    (void)page;
    return false;
}
#endif

void promx_registry_render(prom_collector_registry_t *self, struct promx_page *page)
{
    (void)pthread_mutex_lock(&self->lock);
    render_own(self, page, render_system(self, page));
    (void)pthread_mutex_unlock(&self->lock);
}

const char *prom_collector_registry_bridge(prom_collector_registry_t *self)
{
    if (self == NULL)
        return NULL;
    struct promx_page page;
    promx_page_init(&page, PROMX_TEXT, REGISTRY_PAGE_MAX);
    promx_registry_render(self, &page);
    return buf_take(&page.out);
}
