/* prom_system.h - pages written by an installed libprom (make LIBPROM=system).
 *
 * libprom crashes on concurrent scrapes, or on one beside a new series, and cannot delete a series.
 * So each scrape creates a registry, fills it with Ferry's values, renders and destroys it. Label
 * values come escaped, which libprom does not do. Its histograms are not readable by Prometheus:
 * histograms and OpenMetrics stay Ferry's. Does not include Ferry's types of the same names. One
 * scrape at a time (the page's lock). */
#ifndef EXPORTER_PROM_PROM_SYSTEM_H
#define EXPORTER_PROM_PROM_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

struct prom_system;
struct prom_system *prom_system_new(void); /* NULL: no memory */
/* A family; the texts live until the end. False: libprom refused it. */
bool prom_system_family(struct prom_system *system, bool is_counter, const char *name,
                        const char *help, size_t n_labels, const char **labels);
/* One sample of the newest family; values escaped. */
bool prom_system_sample(struct prom_system *system, double value, const char **values);
/* The page as malloc'ed text, NULL when libprom failed; frees everything else. */
char *prom_system_end(struct prom_system *system);

#endif
