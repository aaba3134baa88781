/* prom_system_page.c - renders Ferry's counters and gauges with an installed libprom; see
 * prom_system.h. Compiled with LIBPROM=system only. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/prom/prom_impl.h"
#include "exporter/prom/prom_system.h"

/* Splits the escaped label values of a series; modifies *text. */
static void values_of(const struct prom_metric *metric, char *text, const char **out_values)
{
    for (size_t i = 0; i < metric->n_labels; i++) {
        char *value = strstr(text, "=\"") + 2, *end = value;
        while (*end != '"')
            end += *end == '\\' ? 2 : 1;
        *end = '\0';
        out_values[i] = value;
        text = end + 1;
    }
}

static bool add_series(struct prom_system *system, const struct prom_metric_sample *series)
{
    const char *values[PROMX_LABELS_MAX];
    size_t bytes;
    const char *labels = prom_series_labels(series, &bytes);
    OWNED_TEXT text = strndup(labels, bytes);
    if (text == NULL)
        return false;
    values_of(series->metric, text, values);
    return prom_system_sample(system, atomic_load(&series->value), values);
}

bool prom_system_add(struct prom_system *system, struct prom_metric *metric)
{
    const char *labels[PROMX_LABELS_MAX];
    for (size_t i = 0; i < metric->n_labels; i++)
        labels[i] = metric->labels[i];
    bool fine = prom_system_family(system, metric->type == PROMX_COUNTER, metric->name,
                                   metric->help, metric->n_labels, labels);
    (void)pthread_mutex_lock(&metric->lock);
    for (const struct prom_metric_sample *s = metric->first; fine && s != NULL; s = s->next)
        fine = add_series(system, s);
    (void)pthread_mutex_unlock(&metric->lock);
    return fine;
}
