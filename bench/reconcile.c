/* reconcile.c - how fast the core decides, and how that grows with the fleet.
 *
 *   reconcile [--quick] [--runs N]
 *
 * A decision is one job that took a step, was parked with a reason, or a request that was refused.
 * Counted is the core's CPU time for every input, also for those that decide nothing: facts, lists,
 * samples, ticks. Since machines differ, each row also has the number of hash lookups of a guest
 * that take the same time.
 *
 * Other programs use the machine and its caches. The same seed gives the same workload, so it runs
 * several times, and the fastest time of each batch and of each event counts. Wall times are those
 * of the first run.
 *
 * Fails when the biggest fleet misses its aim, or the cost of a decision grows faster than the
 * logarithm of what waits. --quick only shows the report: the aims are not checked.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/life.h"

enum {
    FINDS = 1 << 18,
    AIM_PER_S = 100000,
    OFFERED_PER_S = 50000,
    AIM_P99_NS = 10000000,
    BATCHES = 15, /* batches per run; their median is the cost */
    RUNS = 3,
    BAR = 40,
};

struct point {
    unsigned hosts, guests, waiting;
    uint64_t decisions;
    /* found: */
    double per_s, cost_us, finds, find_ns, job_bytes;
    uint64_t batch_ns[BATCHES], batch_decisions[BATCHES];
    size_t n_seen; /* events of this run so far */
    double p50_us, p99_us, max_us, wall_p99_us, wall_max_us;
    double queued_p99_us; /* when events come at random and OFFERED_PER_S decisions are asked for */
    struct life_figures all;
};

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_cost(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at(const uint32_t *sorted, size_t n, double share)
{
    return n > 0 ? sorted[(size_t)((double)(n - 1) * share)] / 1e3 : 0;
}

/* One server, events at random: what each one waits for those before it (Lindley). */
static double queued_p99(const struct life_figures *f, double ns_between)
{
    uint32_t *took = calloc(f->n_times + 1, sizeof *took);
    if (took == NULL)
        return 0;
    double backlog_ns = 0;
    uint64_t random = 1;
    for (size_t i = 0; i < f->n_times; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        double share = ((double)(random >> 11) + 1) / 9007199254740994.0;
        backlog_ns -= ns_between * f->times_decisions[i] * -log(share);
        backlog_ns = (backlog_ns > 0 ? backlog_ns : 0) + f->times_ns[i];
        took[i] = (uint32_t)(backlog_ns < UINT32_MAX ? backlog_ns : UINT32_MAX);
    }
    qsort(took, f->n_times, sizeof *took, by_number);
    double p99_us = at(took, f->n_times, 0.99);
    free(took);
    return p99_us;
}

static void add(struct life_figures *sum, const struct life_figures *more)
{
    memcpy(sum->times_ns + sum->n_times, more->times_ns, more->n_times * sizeof *more->times_ns);
    memcpy(sum->times_wall_ns + sum->n_times, more->times_wall_ns,
           more->n_times * sizeof *more->times_wall_ns);
    memcpy(sum->times_decisions + sum->n_times, more->times_decisions,
           more->n_times * sizeof *more->times_decisions);
    sum->n_times += more->n_times;
    sum->inputs += more->inputs;
    sum->steps += more->steps;
    sum->parks += more->parks;
    sum->refusals += more->refusals;
    sum->ended += more->ended;
    sum->core_ns += more->core_ns;
    sum->wall_ns += more->wall_ns;
    sum->effect_bytes += more->effect_bytes;
}

static void judge(struct point *p)
{
    struct life_figures *f = &p->all;
    double costs[BATCHES];
    uint64_t core_ns = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        costs[i] = (double)p->batch_ns[i] / 1e3 / (double)p->batch_decisions[i];
        core_ns += p->batch_ns[i];
    }
    qsort(costs, BATCHES, sizeof costs[0], by_cost);
    p->cost_us = costs[BATCHES / 2];
    p->finds = p->cost_us * 1e3 / p->find_ns;
    p->per_s = 1e9 * (double)life_decisions(f) / (double)core_ns;
    p->queued_p99_us = queued_p99(f, 1e9 / OFFERED_PER_S);
    qsort(f->times_ns, f->n_times, sizeof *f->times_ns, by_number);
    p->p50_us = at(f->times_ns, f->n_times, 0.5);
    p->p99_us = at(f->times_ns, f->n_times, 0.99);
    p->max_us = at(f->times_ns, f->n_times, 1);
    qsort(f->times_wall_ns, f->n_times, sizeof *f->times_wall_ns, by_number);
    p->wall_p99_us = at(f->times_wall_ns, f->n_times, 0.99);
    p->wall_max_us = at(f->times_wall_ns, f->n_times, 1);
}

/* False: this run differs from the one before. */
static bool fold(struct point *p, unsigned run, size_t batch, const struct life_figures *f)
{
    if (run == 0) {
        add(&p->all, f);
        p->batch_ns[batch] = f->core_ns;
        p->batch_decisions[batch] = life_decisions(f);
        return true;
    }
    if (life_decisions(f) != p->batch_decisions[batch] || p->n_seen + f->n_times > p->all.n_times)
        return false;
    if (f->core_ns < p->batch_ns[batch])
        p->batch_ns[batch] = f->core_ns;
    uint32_t *fastest = p->all.times_ns + p->n_seen;
    for (size_t i = 0; i < f->n_times; i++)
        fastest[i] = f->times_ns[i] < fastest[i] ? f->times_ns[i] : fastest[i];
    p->n_seen += f->n_times;
    return true;
}

static bool make_room(struct point *p)
{
    p->all.times_ns = calloc(2 * p->decisions, sizeof *p->all.times_ns);
    p->all.times_decisions = calloc(2 * p->decisions, sizeof *p->all.times_decisions);
    p->all.times_wall_ns = calloc(2 * p->decisions, sizeof *p->all.times_wall_ns);
    return p->all.times_ns != NULL && p->all.times_wall_ns != NULL &&
           p->all.times_decisions != NULL;
}

static bool measure(struct life *life, struct point *p, unsigned run)
{
    bool good = run > 0 || make_room(p);
    size_t before = life_heap_bytes(), waited = life_fleet(life)->waiting_jobs;
    life_fill(life, p->waiting);
    p->job_bytes = (double)(life_heap_bytes() - before) / (double)(p->waiting - waited);
    p->n_seen = 0;
    for (size_t i = 0; i < BATCHES && good; i++) {
        struct life_figures f;
        life_run(life, p->decisions / BATCHES, &f);
        good = fold(p, run, i, &f);
        life_figures_fini(&f);
    }
    double find_ns = life_find_ns(life, FINDS);
    p->find_ns = run == 0 || find_ns < p->find_ns ? find_ns : p->find_ns;
    return good;
}

static void bar(double share)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)(share * BAR * 8 + 0.5);
    for (int i = 0; i < eighths / 8; i++)
        (void)fputs("█", stdout);
    (void)fputs(parts[eighths % 8], stdout);
}

static void show_table(const struct point *points, size_t n, unsigned runs)
{
    printf("%u equal runs; the fastest time of each batch and of each event\n\n", runs);
    printf("  hosts   guests  waiting  decisions/s  us each  = finds   event to decision, us\n");
    printf("                                                            p50     p99      max\n");
    for (size_t i = 0; i < n; i++) {
        const struct point *p = &points[i];
        printf("%7u  %7u  %7u  %11.0f  %7.2f  %7.0f  %6.1f  %6.1f  %7.0f\n", p->hosts, p->guests,
               p->waiting, p->per_s, p->cost_us, p->finds, p->p50_us, p->p99_us, p->max_us);
    }
}

/* The cost beside growth with the logarithm of the waiting jobs. */
static void show_curve(const struct point *points, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, points[i].cost_us);
    printf("\nmicroseconds for a decision (|: growth with the logarithm of the waiting jobs)\n");
    const struct point *first = points;
    for (size_t i = 0; i < n; i++) {
        const struct point *p = &points[i];
        if (p->hosts != first->hosts)
            first = p;
        double grown = first->cost_us * log(p->waiting) / log(first->waiting);
        printf("%6u hosts %6u waiting %7.2f (| %6.2f) ", p->hosts, p->waiting, p->cost_us, grown);
        bar(p->cost_us / most);
        printf("\n");
    }
}

/* How many events took how long: each line is twice as long as the one before. */
static void show_times(const struct life_figures *f)
{
    enum { LINES = 32 };
    size_t counts[LINES] = {0}, most = 1, last = 0;
    for (size_t i = 0; i < f->n_times; i++) {
        unsigned line = 0;
        while (line + 1 < LINES && f->times_ns[i] > 1000U << line && line < 21)
            line++;
        counts[line]++;
        most = counts[line] > most ? counts[line] : most;
        last = line > last ? line : last;
    }
    printf("\nevents by time to their decision (logarithmic)\n");
    for (size_t i = 0; i <= last; i++) {
        printf("  <= %7u us %8zu ", 1U << i, counts[i]);
        bar(log1p((double)counts[i]) / log1p((double)most));
        printf("\n");
    }
}

static void show_rest(const struct point *p, const struct life *life)
{
    const struct life_figures *f = &p->all;
    double decisions = (double)life_decisions(f);
    printf("\nlargest fleet: %.0f decisions by %llu events: %.0f %% steps, %.0f %% parked, %.1f %% "
           "refused; %llu migrations ended\n",
           decisions, (unsigned long long)f->inputs, 100 * (double)f->steps / decisions,
           100 * (double)f->parks / decisions, 100 * (double)f->refusals / decisions,
           (unsigned long long)f->ended);
    printf("asked for %d decisions a second at random moments: p99 %.1f us with queueing\n",
           OFFERED_PER_S, p->queued_p99_us);
    printf("wall time: p99 %.1f us, max %.0f us; the core had %.0f %% of a CPU\n", p->wall_p99_us,
           p->wall_max_us, 100 * (double)f->core_ns / (double)f->wall_ns);
    printf(
        "bytes: %.0f for a guest, %.0f for a host, %.0f for a waiting job, %.0f of effects for a "
        "decision\n",
        life_bytes_per_guest(life), life_bytes_per_host(life), p->job_bytes,
        (double)f->effect_bytes / decisions);
}

static bool grows_slowly(const struct point *points, size_t n)
{
    const struct point *first = points;
    bool slowly = true;
    for (size_t i = 0; i < n; i++) {
        if (points[i].hosts != first->hosts)
            first = &points[i];
        double log_grown = log(points[i].waiting) / log(first->waiting);
        slowly = slowly && points[i].cost_us <= first->cost_us * log_grown;
    }
    return slowly;
}

static bool verdict(const struct point *points, size_t n)
{
    const struct point *big = &points[n - 1];
    bool fast = big->per_s >= AIM_PER_S, soon = big->p99_us * 1e3 <= AIM_P99_NS;
    bool slowly = grows_slowly(points, n);
    printf("\n%s %d decisions a second; %s p99 of 10 ms; %s no faster than the logarithm\n",
           fast ? "met:" : "MISSED:", AIM_PER_S,
           soon ? "met:" : "MISSED:", slowly ? "met: grows" : "MISSED: grows");
    return fast && soon && slowly;
}

/* One run for each size of the fleet; the number of waiting jobs grows in it. */
static struct life *live(struct point *points, size_t n, unsigned run, bool quick)
{
    struct life *life = NULL;
    for (size_t i = 0; i < n; i++) {
        struct point *p = &points[i];
        struct life_size size = {p->hosts, p->guests, p->guests / 200, quick ? 8 : 200};
        if (i == 0 || points[i - 1].hosts != p->hosts) {
            life_free(life);
            life = life_new(&size, 1);
        }
        if (!measure(life, p, run)) {
            (void)fputs("bench: no memory, or the same seed gave another result\n", stderr);
            exit(1);
        }
    }
    return life;
}

int main(int argc, char **argv)
{
    struct point points[] = {
        {.hosts = 1000, .guests = 20000, .waiting = 1000, .decisions = 150000},
        {.hosts = 1000, .guests = 20000, .waiting = 10000, .decisions = 150000},
        {.hosts = 10000, .guests = 200000, .waiting = 1000, .decisions = 300000},
        {.hosts = 10000, .guests = 200000, .waiting = 10000, .decisions = 300000},
        {.hosts = 10000, .guests = 200000, .waiting = 50000, .decisions = 600000},
    };
    bool quick = false;
    unsigned runs = RUNS;
    for (int i = 1; i < argc; i++) {
        quick = quick || strcmp(argv[i], "--quick") == 0;
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            runs = (unsigned)strtoul(argv[++i], NULL, 10);
    }
    runs = runs > 0 ? runs : 1;
    for (size_t i = 0; i < COUNT(points) && quick; i++) {
        points[i].hosts /= 100;
        points[i].guests /= 100;
        points[i].waiting /= 100;
        points[i].decisions /= 100;
    }
    OWNED(life) life = NULL;
    for (unsigned run = 0; run < runs; run++) {
        life_free(life);
        life = live(points, COUNT(points), run, quick);
    }
    for (size_t i = 0; i < COUNT(points); i++)
        judge(&points[i]);
    show_table(points, COUNT(points), runs);
    show_curve(points, COUNT(points));
    show_times(&points[COUNT(points) - 1].all);
    show_rest(&points[COUNT(points) - 1], life);
    bool good = verdict(points, COUNT(points)) || quick;
    for (size_t i = 0; i < COUNT(points); i++)
        life_figures_fini(&points[i].all);
    return good ? 0 : 1;
}
