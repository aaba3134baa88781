/* render.c - what a page of metrics costs: a gauge of five labels, 10,000 and 100,000 series, in
 * both formats, against a plain copy of the same bytes; then the page of a whole fleet (1,000
 * hosts, 50,000 guests, 200 migrations) as it is scraped, over HTTP, with a new snapshot for each
 * scrape.
 *
 *     render [series...]        prints lines "name series us-per-sample bytes"
 *     render --page HOSTS GUESTS    the fleet's page, with 200 migrations
 *
 * CPU time of the process, the median of the rounds: the machine may be busy. */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "exporter/exporter.h"
#include "exporter/metrics/scrape.h"
#include "tests/unit/test_access.h"

enum { ROUNDS = 31, SCRAPES = 400, MIGRATIONS = 200 };

static double cpu_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double part_of(double *times, size_t n, double part)
{
    qsort(times, n, sizeof *times, by_size);
    return times[(size_t)((double)(n - 1) * part)];
}

/* ---- one gauge ---- */

static prom_collector_registry_t *gauge_of(size_t series)
{
    const char *keys[] = {"namespace", "name", "source", "target", "migration"};
    prom_collector_registry_t *registry = prom_collector_registry_new("bench");
    prom_collector_t *collector = prom_collector_new("gauge");
    prom_gauge_t *gauge =
        prom_gauge_new("ferry_migration_data_remaining_bytes", "Remaining bytes.", 5, keys);
    (void)prom_collector_add_metric(collector, gauge);
    (void)prom_collector_registry_register_collector(registry, collector);
    for (size_t i = 0; i < series; i++) {
        char name[32], source[32], target[32], migration[48];
        (void)snprintf(name, sizeof name, "guest-%05zu", i % 50000);
        (void)snprintf(source, sizeof source, "node-%03zu", i % 997);
        (void)snprintf(target, sizeof target, "node-%03zu", i * 7 % 997);
        (void)snprintf(migration, sizeof migration, "migration-%08zu", i);
        const char *values[] = {"production", name, source, target, migration};
        double value = i % 2 == 0 ? (double)(i * 4096) : (double)(i % 100000) / 1000;
        (void)prom_gauge_set(gauge, value, values);
    }
    return registry;
}

static double render_time(prom_collector_registry_t *registry, enum promx_format format,
                          char **out_page, size_t *out_n)
{
    double times[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        struct promx_page page;
        double began = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
        promx_page_init(&page, format, EXPORTER_PAGE_MAX);
        promx_registry_render(registry, &page);
        promx_page_end(&page);
        *out_n = page.out.length;
        free(*out_page);
        *out_page = buf_take(&page.out);
        times[i] = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - began;
    }
    return part_of(times, ROUNDS, .5);
}

/* Into memory that is allocated already, or freshly allocated, as for a page. */
static double copy_time(const char *page, size_t n, bool fresh)
{
    double times[ROUNDS];
    char *kept = malloc(n);
    for (size_t i = 0; i < ROUNDS; i++) {
        double began = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
        char *to = fresh ? malloc(n) : kept;
        memcpy(to, page, n);
        __asm__ volatile("" : : "r"(to) : "memory"); /* so that the compiler keeps the copy */
        if (fresh)
            free(to);
        times[i] = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - began;
    }
    free(kept);
    return part_of(times, ROUNDS, .5);
}

static void say(const char *what, size_t series, double s, size_t bytes)
{
    (void)printf("%s\t%zu\t%.4f\t%zu\n", what, series, s * 1e6 / (double)series, bytes);
    (void)fflush(stdout);
}

static void measure(size_t series)
{
    prom_collector_registry_t *registry = gauge_of(series);
    char *page = NULL;
    size_t n = 0, packed_n = 0;
    double text = render_time(registry, PROMX_TEXT, &page, &n);
    say("ferry, text 0.0.4", series, text, n);
    say("memcpy of the same bytes", series, copy_time(page, n, false), n);
    say("memcpy into fresh memory", series, copy_time(page, n, true), n);
    double began = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    free(gzip_text(page, n, &packed_n));
    say("gzip, once per snapshot", series, cpu_s(CLOCK_PROCESS_CPUTIME_ID) - began, packed_n);
    say("ferry, OpenMetrics 1.0", series, render_time(registry, PROMX_OPENMETRICS, &page, &n), n);
    free(page);
    (void)prom_collector_registry_destroy(registry);
}

/* ---- the page of a fleet ---- */

struct fleet_view {
    struct snapshot snapshot; /* first */
    struct snapshot_node *nodes;
    struct snapshot_guest *guests;
    struct snapshot_job *jobs;
    const struct snapshot_job **pointers;
};

static void fill_jobs(struct fleet_view *view)
{
    for (size_t i = 0; i < MIGRATIONS; i++) {
        struct snapshot_job *job = &view->jobs[i];
        view->pointers[i] = job;
        (void)snprintf(job->name, sizeof job->name, "kubevirt-evacuation-%05zu", i);
        (void)snprintf(job->guest_name, sizeof job->guest_name, "guest-%05zu", i);
        (void)snprintf(job->source, sizeof job->source, "node-%04zu", i);
        (void)snprintf(job->target, sizeof job->target, "node-%04zu", i + 300);
        TEXT_SET(job->ns, "production");
        job->phase = PHASE_RUNNING;
        job->mode = MODE_PRECOPY;
        job->times.started_ms = view->snapshot.wall_ms - (int64_t)i * 137;
        job->progress.has_sample = true;
        job->progress.eta_ms = 12345;
        job->monitor.name = "stall";
        job->progress.sample.bandwidth_bps = 117964800;
        job->progress.sample.stats = (struct hv_job_stats){.data_total = 17179869184,
                                                           .data_processed = 5368709120 + i * 4096,
                                                           .data_remaining = 11811160064 - i * 4096,
                                                           .memory_iteration = 3,
                                                           .memory_dirty_rate = 2500,
                                                           .memory_page_size = 4096};
    }
}

static struct fleet_view *new_view(size_t hosts, size_t guests)
{
    struct fleet_view *view = calloc(1, sizeof *view);
    view->nodes = calloc(hosts, sizeof *view->nodes);
    view->guests = calloc(guests, sizeof *view->guests);
    view->jobs = calloc(MIGRATIONS, sizeof *view->jobs);
    view->pointers = calloc(MIGRATIONS, sizeof(const struct snapshot_job *));
    view->snapshot.wall_ms = INT64_C(1763269659000);
    for (size_t i = 0; i < hosts; i++) {
        (void)snprintf(view->nodes[i].name, sizeof view->nodes[i].name, "node-%04zu", i);
        view->nodes[i].connected = view->nodes[i].has_facts = true;
    }
    for (size_t i = 0; i < guests; i++) {
        (void)snprintf(view->guests[i].name, sizeof view->guests[i].name, "guest-%05zu", i);
        (void)snprintf(view->guests[i].node, sizeof view->guests[i].node, "node-%04zu", i % hosts);
        view->guests[i].state = HV_STATE_RUNNING;
        view->guests[i].up = view->guests[i].migratable.known = true;
    }
    fill_jobs(view);
    view->snapshot.nodes = view->nodes;
    view->snapshot.guests = view->guests;
    view->snapshot.jobs = view->pointers;
    view->snapshot.n_nodes = hosts;
    view->snapshot.n_guests = guests;
    view->snapshot.n_jobs = MIGRATIONS;
    return view;
}

/* Every snapshot here lives as long as the program. */
const struct snapshot *snapshot_ref(const struct snapshot *snapshot)
{
    return snapshot;
}
void snapshot_unref(const struct snapshot *snapshot)
{
    (void)snapshot;
}

static size_t scrape(unsigned port, const char *headers)
{
    static char text[1 << 20];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t got = 0;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        int n = snprintf(text, sizeof text,
                         "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n",
                         headers);
        (void)!write(fd, text, (size_t)n);
        for (ssize_t part; (part = read(fd, text, sizeof text)) > 0;)
            got += (size_t)part;
    }
    (void)close(fd);
    return got;
}

static void scrape_fleet(struct exporter *x, struct fleet_view *view, const char *what,
                         const char *headers)
{
    double times[SCRAPES], before = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    size_t bytes = 0;
    for (size_t i = 0; i < SCRAPES; i++) {
        view->snapshot.generation++;
        exporter_on_snapshot(x, &view->snapshot); /* so that the page is made anew */
        double began = cpu_s(CLOCK_MONOTONIC);
        bytes = scrape(exporter_port(x, 0), headers);
        times[i] = cpu_s(CLOCK_MONOTONIC) - began;
    }
    double cpu_ms = (cpu_s(CLOCK_PROCESS_CPUTIME_ID) - before) * 1000 / SCRAPES;
    double p50 = part_of(times, SCRAPES, .5) * 1000, p99 = part_of(times, SCRAPES, .99) * 1000;
    (void)printf("%-30s %8zu KiB   p50 %6.2f ms   p99 %6.2f ms   CPU %6.2f ms each, %.3f %% of a "
                 "core at 15 s\n",
                 what, bytes / 1024, p50, p99, cpu_ms, cpu_ms / 150);
}

static int measure_page(size_t hosts, size_t guests)
{
    struct fleet_view *view = new_view(hosts, guests);
    const struct access_config access = test_access();
    const struct exporter_config config = {.access = &access, .version = "bench"};
    const struct exporter_parts parts = {.clock = clock_system()};
    struct err err = {0};
    OWNED(exporter) x = exporter_new(&config, &parts, &err);
    if (x == NULL) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    scrape_fleet(x, view, "text 0.0.4", "");
    scrape_fleet(x, view, "text 0.0.4, gzip", "Accept-Encoding: gzip\r\n");
    scrape_fleet(x, view, "OpenMetrics, gzip",
                 "Accept: application/openmetrics-text\r\nAccept-Encoding: gzip\r\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--page") == 0)
        return measure_page(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    for (int i = 1; i < argc; i++)
        measure(strtoul(argv[i], NULL, 10));
    return argc > 1 ? 0 : 2;
}
