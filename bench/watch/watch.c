/* watch.c - what lists and watches of the API cost.
 *
 *     watch --list GUESTS              the list, as objects and as a Table, against writing the
 * same once watch --watch WATCHERS SECONDS   so many watches over HTTP of 1,000 changes a second
 *
 * The appliance's side is this process, and its CPU time, memory and bytes are what is counted; the
 * clients are another process. A change carries the time at which it was handed over, so the client
 * knows how long it took. CPU time, as the machine may be busy; latencies are by the clock. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/api/versions.h"
#include "exporter/exporter.h"
#include "exporter/exporter_impl.h"
#include "tests/unit/test_access.h"

enum {
    JOBS = 500,
    VIEWS = 32,   /* of a job: one that the feed may still compare is not written again */
    TICK_MS = 50, /* as the engine publishes */
    TICK_CHANGES = 50,
    NOTE_MAX = 96,
    ROUNDS = 15,
    LATENCIES_MAX = 4 * 1000 * 1000,
    PART = 256 * 1024,
    SILENT_MS = 15 * 1000, /* nothing more comes */
};

static double clock_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double rss_mib(void)
{
    char line[128];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (file != NULL)
        (void)fclose(file);
    return kib / 1024;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double part_of(double *values, size_t n, double part)
{
    qsort(values, n, sizeof *values, by_size);
    return n == 0 ? 0 : values[(size_t)((double)(n - 1) * part)];
}

/* ---- the fleet ---- */

/* Every snapshot here lives as long as the program. */
const struct snapshot *snapshot_ref(const struct snapshot *snapshot)
{
    return snapshot;
}
void snapshot_unref(const struct snapshot *snapshot)
{
    (void)snapshot;
}

static struct snapshot_guest *guests;
static const struct snapshot_job **newest; /* of each guest */
static struct snapshot_job *jobs;          /* JOBS * VIEWS */
static char (*notes)[NOTE_MAX];

static void make_guests(size_t n)
{
    guests = calloc(n + 1, sizeof *guests);
    newest = calloc(n + 1, sizeof *newest);
    for (size_t i = 0; i < n; i++) {
        struct snapshot_guest *guest = &guests[i];
        TEXT_SET(guest->ns, "default");
        (void)snprintf(guest->name, sizeof guest->name, "guest-%05zu", i);
        (void)snprintf(guest->node, sizeof guest->node, "node-%04zu", i % 1000);
        (void)snprintf(guest->uuid, sizeof guest->uuid, "10000000-0000-4000-8000-%012u",
                       (unsigned)(i % 1000000));
        guest->state = HV_STATE_RUNNING;
        guest->reason = HV_RUNNING_BOOTED;
        guest->up = guest->node_reachable = guest->persistent = guest->migratable.known = true;
        guest->memory_kib = 4194304;
        guest->vcpus = 4;
        guest->labels = "{\"app\":\"web\",\"tier\":\"front\"}";
    }
}

static struct snapshot_job *make_job(size_t i, size_t view)
{
    struct snapshot_job *job = &jobs[i * VIEWS + view];
    (void)snprintf(job->uid, sizeof job->uid, "20000000-0000-4000-8000-%012u",
                   (unsigned)(i % 1000000));
    TEXT_SET(job->ns, "default");
    (void)snprintf(job->name, sizeof job->name, "migration-%05zu", i);
    (void)snprintf(job->guest_name, sizeof job->guest_name, "guest-%05zu", i);
    TEXT_SET(job->source, "node-0001");
    TEXT_SET(job->target, "node-0002");
    job->phase = PHASE_RUNNING;
    job->mode = MODE_PRECOPY;
    job->times.created_ms = INT64_C(1763269659000);
    job->progress.has_sample = true;
    job->progress.eta_ms = 12345;
    job->monitor.name = "stall";
    job->history.n_steps = 1;
    job->history.steps[0] = (struct job_step){PHASE_RUNNING, job->times.created_ms};
    job->request.metadata_json = notes[i * VIEWS + view];
    return job;
}

static struct snapshot *new_snapshot(const struct snapshot *before, size_t n_guests)
{
    struct snapshot *s = calloc(1, sizeof *s);
    const struct snapshot_job **list = calloc(JOBS, sizeof(const struct snapshot_job *));
    if (before != NULL) {
        *s = *before;
        memcpy(list, before->jobs, JOBS * sizeof *list);
    } else {
        for (size_t i = 0; i < JOBS; i++)
            list[i] = make_job(i, 0);
        s->guests = guests;
        s->newest = newest;
        s->n_guests = n_guests;
        s->n_jobs = JOBS;
        s->wall_ms = INT64_C(1763269659000);
    }
    s->generation++;
    s->jobs = list;
    return s;
}

static struct exporter *serve(size_t n_guests, struct snapshot **out_first)
{
    static struct access_config access;
    access = test_access();
    const struct exporter_config config = {.access = &access, .version = "bench"};
    const struct exporter_parts parts = {.clock = clock_system()};
    struct err err = {0};
    make_guests(n_guests);
    jobs = calloc((size_t)JOBS * VIEWS, sizeof *jobs);
    notes = calloc((size_t)JOBS * VIEWS, sizeof *notes);
    for (size_t i = 0; i < JOBS; i++)
        for (size_t view = 0; view < VIEWS; view++)
            (void)make_job(i, view); /* touched: it is no memory of the run */
    struct exporter *x = exporter_new(&config, &parts, &err);
    if (x == NULL) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    *out_first = new_snapshot(NULL, n_guests);
    exporter_on_snapshot(x, *out_first);
    feed_settle(x->feed);
    return x;
}

/* ---- a client ---- */

static int dial(unsigned port, const char *path, const char *accept)
{
    char text[512];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int n =
        snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: %s\r\n\r\n",
                 path, accept);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0 || write(fd, text, (size_t)n) != n) {
        perror("watch");
        _exit(1);
    }
    return fd;
}

static size_t fetch(unsigned port, const char *path, const char *accept)
{
    static char text[PART];
    size_t got = 0;
    int fd = dial(port, path, accept);
    for (ssize_t part; (part = read(fd, text, sizeof text)) > 0;)
        got += (size_t)part;
    (void)close(fd);
    return got;
}

/* ---- lists ---- */

static size_t render_once(struct exporter *x, const struct http_request *request)
{
    struct api_list list;
    size_t bytes = 0;
    const struct versions *v = feed_newest(x->feed);
    api_list_begin(&list, KIND_INSTANCE, request, v->newest);
    for (size_t i = 0; i < v->snapshot->n_guests; i++) {
        api_list_add_nth(&list, v, i, v->snapshot->wall_ms);
        if (list.text.length > PART) { /* as it is sent: in pieces */
            bytes += list.text.length;
            buf_fini(&list.text);
            buf_init(&list.text, 8 * 1024 * 1024);
        }
    }
    api_list_end(&list, NULL);
    bytes += list.text.length;
    buf_fini(&list.text);
    versions_unref(v);
    return bytes;
}

static void measure_list(size_t n)
{
    struct snapshot *first;
    struct exporter *x = serve(n, &first);
    const struct http_request request = {.method = "GET"};
    double once[ROUNDS], http[ROUNDS], clock[ROUNDS], before = rss_mib(), most = 0;
    size_t bytes = 0, sent = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double began = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        bytes = render_once(x, &request);
        once[i] = clock_s(CLOCK_PROCESS_CPUTIME_ID) - began;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        double began = clock_s(CLOCK_PROCESS_CPUTIME_ID), at = clock_s(CLOCK_MONOTONIC);
        sent = fetch(exporter_port(x, 0), "/apis/kubevirt.io/v1/virtualmachineinstances",
                     "application/json");
        clock[i] = clock_s(CLOCK_MONOTONIC) - at;
        http[i] = clock_s(CLOCK_PROCESS_CPUTIME_ID) - began;
        most = rss_mib() > most ? rss_mib() : most;
    }
    double a = part_of(once, ROUNDS, .5), b = part_of(http, ROUNDS, .5);
    (void)printf("written once              %8.1f ms of CPU  %7.1f MB\n", a * 1000,
                 (double)bytes / 1e6);
    (void)printf("listed over HTTP          %8.1f ms of CPU  %7.1f MB   %4.2f times; both ends\n",
                 b * 1000, (double)sent / 1e6, b / a);
    (void)printf("  by the clock p50 %.0f ms, p90 %.0f ms; memory +%.1f MiB\n",
                 part_of(clock, ROUNDS, .5) * 1000, part_of(clock, ROUNDS, .9) * 1000,
                 most - before);
    exporter_free(x);
}

/* ---- watches ---- */

struct report {
    uint64_t events, bytes, n;
    double p50_ms, p99_ms;
};

/* What the clients are to do. */
struct task {
    unsigned port, watchers;
    uint64_t version, events; /* from there; how many each of them is told */
    int out;
};

/* The times in what was read; one that was cut in two is not looked at. */
static void take_times(struct report *report, double *latencies, const char *text)
{
    static const char key[] = "\"at\":\"";
    double now = clock_s(CLOCK_MONOTONIC);
    for (const char *at = text; (at = strstr(at, key)) != NULL; at += strlen(key))
        if (report->n < LATENCIES_MAX)
            latencies[report->n++] = (now - strtod(at + strlen(key), NULL)) * 1000;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "{\"type\":")) != NULL; at++)
        n++;
    return n;
}

static void watch_all(const struct task *task)
{
    static char text[PART + 1];
    char path[160];
    struct report report = {0};
    struct pollfd *fds = calloc(task->watchers + 1, sizeof *fds);
    double *latencies = malloc(LATENCIES_MAX * sizeof *latencies);
    (void)snprintf(
        path, sizeof path,
        "/apis/kubevirt.io/v1/virtualmachineinstancemigrations?watch=true&resourceVersion="
        "%" PRIu64,
        task->version);
    for (unsigned i = 0; i < task->watchers; i++)
        fds[i] = (struct pollfd){dial(task->port, path, "application/json"), POLLIN, 0};
    /* A few are cut between two reads: 99 of 100 are enough to know that it is over. */
    uint64_t wanted = task->events * task->watchers / 100 * 99;
    while (report.events < wanted && poll(fds, task->watchers, SILENT_MS) > 0) {
        for (unsigned i = 0; i < task->watchers; i++) {
            ssize_t got = fds[i].revents == 0 ? 0 : read(fds[i].fd, text, PART);
            text[got < 0 ? 0 : got] = '\0';
            report.bytes += got < 0 ? 0 : (uint64_t)got;
            report.events += count_lines(text);
            take_times(&report, latencies, text);
        }
    }
    report.p50_ms = part_of(latencies, report.n, .5);
    report.p99_ms = part_of(latencies, report.n, .99);
    (void)!write(task->out, &report, sizeof report);
    _exit(0);
}

/* A thousand changes a second, in twenty snapshots. Returns how many were made. */
static size_t change_all(struct exporter *x, struct snapshot *s, double seconds)
{
    size_t made = 0;
    double began = clock_s(CLOCK_MONOTONIC);
    for (size_t tick = 1; (double)tick * TICK_MS / 1000 <= seconds; tick++) {
        double due = began + (double)tick * TICK_MS / 1000, left = due - clock_s(CLOCK_MONOTONIC);
        if (left > 0)
            clock_sleep_ms((int64_t)(left * 1000));
        s = new_snapshot(s, s->n_guests);
        for (size_t k = 0; k < TICK_CHANGES; k++, made++) {
            size_t i = made % JOBS, view = (made / JOBS + 1) % VIEWS;
            (void)snprintf(notes[i * VIEWS + view], NOTE_MAX, "{\"annotations\":{\"at\":\"%.6f\"}}",
                           clock_s(CLOCK_MONOTONIC));
            struct snapshot_job *job = make_job(i, view);
            job->progress.sample.stats.data_remaining = made;
            ((const struct snapshot_job **)(uintptr_t)s->jobs)[i] = job;
        }
        exporter_on_snapshot(x, s);
    }
    feed_settle(x->feed);
    return made;
}

static void measure_watch(unsigned watchers, double seconds)
{
    struct snapshot *first;
    struct exporter *x = serve(0, &first);
    int out[2];
    struct report report = {0};
    (void)feed_warm(x->feed, KIND_MIGRATION);
    const struct versions *v = feed_newest(x->feed);
    if (pipe(out) != 0)
        exit(1);
    const struct task task = {.port = exporter_port(x, 0),
                              .watchers = watchers,
                              .version = v->newest,
                              .events = (uint64_t)(seconds * 1000),
                              .out = out[1]};
    versions_unref(v);
    pid_t client = fork(); /* uses no lock of this process */
    if (client == 0)
        watch_all(&task);
    clock_sleep_ms(1000); /* all of them watch */
    double cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID), before = rss_mib(),
           at = clock_s(CLOCK_MONOTONIC);
    size_t made = change_all(x, first, seconds);
    double took = clock_s(CLOCK_MONOTONIC) - at;
    if (read(out[0], &report, sizeof report) != (ssize_t)sizeof report)
        (void)fprintf(stderr, "watch: the clients ended\n");
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    (void)waitpid(client, NULL, 0);
    (void)printf("%u %zu %.0f %.4f %.2f %" PRIu64 " %" PRIu64 " %.1f %.1f\n", watchers, made,
                 (double)made / took, cpu, rss_mib() - before, report.events, report.bytes,
                 report.p50_ms, report.p99_ms);
    exporter_free(x);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--list") == 0)
        measure_list(strtoul(argv[2], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "--watch") == 0)
        measure_watch((unsigned)strtoul(argv[2], NULL, 10), strtod(argv[3], NULL));
    else
        return 2;
    return 0;
}
