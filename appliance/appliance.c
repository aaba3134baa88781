/* appliance.c - see appliance.h.
 *
 * open_parts() opens every part in order of dependency; close_parts() closes them. With libvirt the
 * collector and the engine have a thread each and the main thread waits for signals. With the
 * simulator (--simulate), which is single-threaded, the main thread runs everything.
 */
#include "appliance/appliance.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "appliance/analyzer.h"
#include "appliance/cells.h"
#include "appliance/config.h"
#include "appliance/descriptors.h"
#include "appliance/notify.h"
#include "appliance/options.h"
#include "appliance/reload.h"
#include "appliance/self.h"
#include "appliance/simulate.h"
#include "appliance/wiring.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/text.h"
#include "hypervisor/libvirt/libvirt.h"
#include "store/any/any.h"

enum {
    TICK_MS = 1000,           /* self-metrics */
    START_TIMEOUT_MS = 10000, /* maximum delay of readiness by a host that does not answer */
    TICK_STARTING_MS = 50,    /* until the first snapshot, for early readiness */
    TICK_SIMULATE_MS = 20,
    LOOP_WAIT_MS = 250,        /* interval of checking the stop flag */
    COMMIT_PATIENCE_MS = 2000, /* then the engine continues without it, as while commits fail */
    STOP_DRAIN_MS = 1500,
    STOP_LAST_RESORT_S = 10,
};

/* Relations between the limits of the folders; see each header. */
_Static_assert((int)CONFIG_HOSTS_MAX <= (int)COLLECTOR_HOSTS_MAX, "every host is collected");
_Static_assert((int)SCENARIO_HOSTS_MAX <= (int)COLLECTOR_HOSTS_MAX, "so is every simulated one");
_Static_assert((int)SNAPSHOT_UID_MAX <= (int)SAMPLE_JOB_MAX, "a job's uid fits a sample");
_Static_assert(sizeof((struct store_sample *)0)->job_uid >= SAMPLE_JOB_MAX, "and its row");
_Static_assert((int)ENGINE_TURN_MAX <= (int)ENGINE_QUEUE_MAX, "a turn is part of the queue");
_Static_assert((int)STORE_SAMPLE_BATCH_MAX <= (int)STORE_SAMPLE_QUEUE_MAX, "so is a batch");
_Static_assert((int)REQUEST_METADATA_MAX < (int)EXPORTER_BODY_MAX, "metadata fits a body");
_Static_assert((int)EXPORTER_BODY_MAX <= (int)JSON_BYTES_MAX, "a body can be parsed");
_Static_assert((int)EXPORTER_TIMEOUT_S * 1000 > (int)REQUEST_DEADLINE_MS,
               "a connection outlives the engine's answer");
_Static_assert(STOP_DRAIN_MS + 2 * LOOP_WAIT_MS < 3000, "an orderly stop takes under 3 s");

struct appliance {
    struct config *config;
    struct cells *cells;       /* NULL: it is alone on its store */
    struct simulate *simulate; /* NULL: libvirt */
    const struct clock *clock;
    const struct hv_host *hosts; /* of the configuration or the scenario */
    size_t n_hosts;
    struct wiring wiring;
    struct store *store;
    struct recorder *recorder;
    struct collector *collector;
    struct hv *hv;
    struct hv_observe observe;
    struct hv_probe probe;
    struct hv_act act;
    struct engine *engine;
    struct analyzer *analyzer;
    struct exporter *exporter;
    struct self *self;
    struct reload_answers answers;
    struct notify notify;
    int64_t started_ms;
    atomic_bool stop;
    pthread_t collector_thread, engine_thread;
    bool threads_run, is_running;
    sigset_t signals;
    const struct appliance_options *options;
};

/* --- parts --- */

static bool open_collector(struct appliance *a, struct err *err)
{
    struct collector_config config = {.sample_ms = a->config->sample_ms};
    struct collector_sink sink = wiring_collector_sink(&a->wiring);
    a->collector = collector_new(&config, a->clock, a->recorder, &sink, err);
    return a->collector != NULL;
}

static bool open_hypervisor(struct appliance *a, const char *scenario, struct err *err)
{
    struct hv_event_sink events = collector_event_sink(a->collector);
    if (a->simulate != NULL) {
        if (!simulate_load(a->simulate, scenario, &events, err) ||
            !scenario_seed(simulate_scenario(a->simulate), a->store, clock_wall_ms(a->clock), err))
            return false;
        a->hv = simulate_hv(a->simulate);
        a->hosts = simulate_scenario(a->simulate)->hosts;
        a->n_hosts = simulate_scenario(a->simulate)->n_hosts;
    } else {
        a->hosts = a->config->hosts;
        a->n_hosts = a->config->n_hosts;
        a->hv = libvirt_new(a->hosts, a->n_hosts, a->clock, &events, err);
    }
    if (a->hv == NULL)
        return false;
    if (a->cells != NULL) {
        const struct hv_permit permit = cells_permit(a->cells);
        libvirt_permit(a->hv, &permit);
    }
    a->observe.hv = a->hv;
    a->probe.hv = a->hv;
    a->act.hv = a->hv;
    return true;
}

static bool name_hosts(struct appliance *a, struct err *err)
{
    for (size_t i = 0; i < a->n_hosts; i++)
        if (!collector_add_host(a->collector, a->hosts[i].name, err))
            return false;
    return true;
}

/* A simulation ignores `hosts` of the file. */
static bool open_engine(struct appliance *a, struct err *err)
{
    bool simulated = a->simulate != NULL;
    struct engine_config config = reload_engine_config(a->config);
    config.hosts = a->hosts;
    config.n_hosts = a->n_hosts;
    config.cells = a->cells != NULL ? cells_held(a->cells) : NULL;
    if (simulated)
        config.host_settings = simulate_scenario(a->simulate)->host_settings;
    const struct engine_parts parts = {
        .clock = a->clock,
        .store = a->store,
        .collector = a->collector,
        .observe = &a->observe,
        .probe = &a->probe,
        .act = &a->act,
        .sink = wiring_engine_sink(&a->wiring),
        .permit = a->cells != NULL ? cells_permit(a->cells) : (struct hv_permit){0},
        .commit_patience_ms = simulated ? 0 : COMMIT_PATIENCE_MS,
    };
    a->engine = engine_new(&config, &parts, err);
    return a->engine != NULL;
}

static bool open_analyzer(struct appliance *a, struct err *err)
{
    const struct analyzer_parts parts = {.config = a->config,
                                         .has_logs = a->simulate == NULL,
                                         .clock = a->clock,
                                         .store = a->store,
                                         .engine = a->engine,
                                         .cells = a->cells != NULL ? cells_held(a->cells) : NULL};
    a->analyzer = analyzer_new(&parts, err);
    if (a->analyzer == NULL)
        return false;
    wiring_plug_analysis(&a->wiring, analyzer_worker(a->analyzer));
    return true;
}

static const char *state_dir(const struct appliance *a, const struct appliance_options *options)
{
    return a->simulate != NULL && options->state == NULL ? NULL : a->config->state_dir;
}

/* Where the records are: --state on the command line means files, whatever the file says. */
static const char *store_place(const struct appliance *a, const struct appliance_options *options)
{
    bool is_remote = a->simulate == NULL && options->state == NULL && a->config->store[0] != '\0';
    return is_remote ? a->config->store : state_dir(a, options);
}

static const char *query_place(const struct appliance *a, const struct appliance_options *options)
{
    const char *place = store_place(a, options);
    return place == NULL ? "" : store_is_url(place) ? a->config->store_query : place;
}

static bool on_reload_request(void *ctx, char **out_json, struct err *err)
{
    return reload_ask(ctx, out_json, err);
}

static bool read_log(void *ctx, const char *node, const char *guest, struct buf *out,
                     struct err *err)
{
    return analysis_qemu_log(ctx, node, guest, out, err);
}

static bool open_exporter(struct appliance *a, const struct appliance_options *options,
                          struct err *err)
{
    const struct exporter_config config = {.access = &a->config->access,
                                           .version = FERRY_VERSION,
                                           .kubevirt_metrics = options->kubevirt_metrics,
                                           .query_place = query_place(a, options)};
    const struct exporter_parts parts = {
        .clock = a->clock,
        .requests = wiring_requests(&a->wiring),
        .store = a->store,
        .state_dir = state_dir(a, options),
        .reload = {&a->answers, on_reload_request},
        .logs = {analyzer_worker(a->analyzer), read_log},
        .change = {a->cells, cells_may_change},
    };
    a->exporter = exporter_new(&config, &parts, err);
    if (a->exporter == NULL && err->code == ERR_LOCKED && a->simulate != NULL &&
        a->config->access.socket_is_default) {
        LOG(WARN, "no_socket", FIELD_TEXT(ERROR, err->text),
            FIELD_TEXT(TEXT, "no changes without one; give --socket PATH"));
        a->config->access.socket[0] = '\0';
        *err = (struct err){0};
        a->exporter = exporter_new(&config, &parts, err);
    }
    return a->exporter != NULL;
}

/* Of several appliances each has the hosts of its cells. */
static bool open_store(struct appliance *a, const char *place, struct err *err)
{
    struct store_sharing sharing;
    if (a->config->appliance.name[0] == '\0' || !store_is_url(place))
        return (a->store = store_open(place, err)) != NULL;
    a->cells = cells_new(a->config, err);
    if (a->cells == NULL || !cells_begin(a->cells, place, err))
        return false;
    config_keep_cells(a->config, cells_held(a->cells));
    cells_sharing(a->cells, &sharing);
    a->store = store_share(place, &sharing, err);
    return a->store != NULL;
}

static bool open_parts(struct appliance *a, const struct appliance_options *options,
                       struct err *err)
{
    if (!open_store(a, store_place(a, options), err))
        return false;
    a->store->ops->set_retention(a->store, &a->config->retention);
    a->recorder = recorder_new(a->store, err);
    if (a->recorder == NULL)
        return false;
    if (!open_collector(a, err) || !open_hypervisor(a, options->simulate, err))
        return false;
    collector_attach(a->collector, &a->observe);
    if (!name_hosts(a, err) || !open_engine(a, err))
        return false;
    wiring_plug_engine(&a->wiring, a->engine);
    if (!open_analyzer(a, err) || !open_exporter(a, options, err))
        return false;
    exporter_set_ready(a->exporter, false, "starting");
    wiring_plug_exporter(&a->wiring, a->exporter);
    a->self = self_new(err);
    return a->self != NULL && self_set_hosts(a->self, a->hosts, a->n_hosts, err);
}

/* In order: the exporter, whose requests have been answered; the analyser, which passes verdicts to
 * the engine; the hypervisor, whose threads call into the collector and the engine; these two; last
 * the store, which all of them write to. */
static void close_parts(struct appliance *a)
{
    self_free(a->self);
    exporter_free(a->exporter);
    analyzer_free(a->analyzer);
    hv_free(a->hv);
    engine_free(a->engine);
    collector_free(a->collector);
    recorder_free(a->recorder);
    if (a->cells != NULL && a->store != NULL)
        cells_release(a->cells, a->store);
    store_free(a->store);
    cells_free(a->cells);
    simulate_free(a->simulate);
    wiring_fini(&a->wiring);
    config_free(a->config);
}

/* --- threads --- */

static int64_t at_most(int64_t ms, int64_t limit)
{
    return ms < limit ? ms : limit;
}

static void *collector_loop(void *ctx)
{
    struct appliance *a = ctx;
    while (!atomic_load(&a->stop))
        collector_wait(a->collector, at_most(collector_step(a->collector), LOOP_WAIT_MS));
    return NULL;
}

static void *engine_loop(void *ctx)
{
    struct appliance *a = ctx;
    while (!atomic_load(&a->stop))
        engine_wait(a->engine, at_most(engine_step(a->engine), LOOP_WAIT_MS));
    return NULL;
}

static bool start_threads(struct appliance *a, struct err *err)
{
    if (!analysis_start(analyzer_worker(a->analyzer), err) ||
        (a->cells != NULL && !cells_start(a->cells, a->store, err)))
        return false;
    if (a->simulate != NULL)
        return true;
    int failure = pthread_create(&a->collector_thread, NULL, collector_loop, a);
    if (failure != 0)
        return err_set(err, ERR_LIMIT, "cannot start a thread: %s", strerror(failure));
    failure = pthread_create(&a->engine_thread, NULL, engine_loop, a);
    if (failure != 0) {
        atomic_store(&a->stop, true);
        (void)pthread_join(a->collector_thread, NULL);
        return err_set(err, ERR_LIMIT, "cannot start a thread: %s", strerror(failure));
    }
    a->threads_run = true;
    return true;
}

/* One iteration of all parts, without threads. */
static void run_once(struct appliance *a)
{
    if (a->simulate == NULL)
        return;
    simulate_catch_up(a->simulate);
    (void)collector_step(a->collector);
    (void)engine_step(a->engine);
}

/* Pending requests are answered, new ones are refused; then the threads stop. All decisions are
 * committed at any time, so the alarm that ends a hanging stop loses nothing. */
static void stop(struct appliance *a, bool for_good)
{
    (void)alarm(STOP_LAST_RESORT_S);
    if (for_good)
        notify_stopping(&a->notify);
    LOG(INFO, "stopping",
        FIELD_TEXT(TEXT, "running migrations continue and are adopted at the next start"));
    wiring_close(&a->wiring);
    exporter_set_ready(a->exporter, false, "stopping");
    int64_t until = clock_mono_ms(clock_system()) + STOP_DRAIN_MS;
    while (wiring_waiting(&a->wiring) > 0 && clock_mono_ms(clock_system()) < until) {
        run_once(a);
        clock_sleep_ms(TICK_SIMULATE_MS);
    }
    atomic_store(&a->stop, true);
    if (a->threads_run) {
        a->threads_run = false;
        (void)pthread_join(a->engine_thread, NULL);
        (void)pthread_join(a->collector_thread, NULL);
    }
    if (a->cells != NULL)
        cells_stop(a->cells);
}

/* Another image of this process begins with other cells. It does not return unless that fails. */
static void run_anew(struct appliance *a, const char *why)
{
    LOG(WARN, "restarting", FIELD_TEXT(WHY, why));
    stop(a, false);
    cells_exec(a->cells, a->store);
}

static const char *cells_changed(struct appliance *a)
{
    struct engine_stats engine;
    engine_stats(a->engine, &engine);
    cells_note_busy(a->cells, engine.active_jobs > 0);
    bool has_lost = engine.is_fenced && cells_held(a->cells)->n > 0; /* a standby has nothing */
    return has_lost ? "another appliance has taken a cell" : cells_restart(a->cells);
}

static void take_config(struct appliance *a, struct reload_result *result)
{
    const struct reload_parts parts = {.config = a->config,
                                       .hv = a->hv,
                                       .collector = a->collector,
                                       .engine = a->engine,
                                       .analyzer = a->analyzer,
                                       .self = a->self,
                                       .exporter = a->exporter};
    if (a->simulate != NULL) {
        (void)err_set(&result->err, ERR_REFUSED, "a simulation reads its files only at start");
        return;
    }
    OWNED(config) next = options_config(a->options, &result->err);
    if (next != NULL && a->cells != NULL)
        config_keep_cells(next, cells_held(a->cells));
    if (next == NULL || !descriptors_check(descriptors_needed(next, next->n_hosts), &result->err))
        return;
    reload_run(&parts, next, result);
    a->hosts = a->config->hosts;
    a->n_hosts = a->config->n_hosts;
}

static void reload(struct appliance *a)
{
    struct reload_result *result = calloc(1, sizeof *result);
    if (result == NULL) {
        LOG(ERROR, "config_refused", FIELD_TEXT(ERROR, "no memory"));
        return;
    }
    uint64_t number = reload_begin(&a->answers);
    notify_reloading(&a->notify);
    take_config(a, result);
    reload_log(a->options->config_file, result);
    reload_answer(&a->answers, number, result);
    notify_reloaded(&a->notify);
    free(result);
}

/* Every host has answered or failed once, or START_TIMEOUT_MS have passed. */
static bool is_started(const struct appliance *a)
{
    int64_t age_ms = clock_mono_ms(clock_system()) - a->started_ms;
    return wiring_has_settled(&a->wiring) ||
           (wiring_has_published(&a->wiring) && age_ms > START_TIMEOUT_MS);
}

static void tick(struct appliance *a)
{
    exporter_tick(a->exporter);
    struct self_parts parts = {.collector = a->collector,
                               .engine = a->engine,
                               .store = a->store,
                               .hv = a->hv,
                               .analysis = analyzer_worker(a->analyzer),
                               .cells = a->cells};
    const char *trouble = self_sample(a->self, &parts, a->exporter);
    notify_alive(&a->notify, trouble == NULL || !self_is_stuck(a->engine));
    if (trouble == NULL && a->cells != NULL && cells_held(a->cells)->n == 0)
        trouble = "standby: other appliances hold all cells";
    if (is_started(a))
        notify_ready(&a->notify, trouble != NULL ? trouble : "serving");
    if (!is_started(a))
        exporter_set_ready(a->exporter, false,
                           "starting: waiting for the first answer of every host");
    else
        exporter_set_ready(a->exporter, trouble == NULL, trouble);
}

static void run_until_signal(struct appliance *a, const sigset_t *signals)
{
    int64_t ticked_ms = 0;
    bool was_ready = false;
    a->started_ms = clock_mono_ms(clock_system());
    for (;;) {
        run_once(a);
        int64_t now_ms = clock_mono_ms(clock_system());
        bool ready = is_started(a);
        if (now_ms - ticked_ms >= TICK_MS || ready != was_ready) {
            tick(a);
            ticked_ms = now_ms;
            was_ready = ready;
        }
        int64_t wait_ms = a->simulate != NULL ? TICK_SIMULATE_MS
                          : ready             ? TICK_MS
                                              : TICK_STARTING_MS;
        const struct timespec wait = {.tv_sec = (time_t)(wait_ms / 1000),
                                      .tv_nsec = (long)(wait_ms % 1000) * 1000000L};
        int number = sigtimedwait(signals, NULL, &wait);
        const char *changed = number > 0 || a->cells == NULL ? NULL : cells_changed(a);
        if (changed != NULL)
            run_anew(a, changed);
        if (number == SIGHUP)
            reload(a);
        else if (number > 0 || changed != NULL)
            return;
    }
}

/* --- lifecycle --- */

/* Blocked before any thread starts, so that only the main thread takes them. */
static void block_signals(sigset_t *out_signals)
{
    (void)sigemptyset(out_signals);
    (void)sigaddset(out_signals, SIGTERM);
    (void)sigaddset(out_signals, SIGINT);
    (void)sigaddset(out_signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, out_signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Under systemd text goes to the journal with its fields. */
static void set_up_log(const struct config *config)
{
    int journal = config->log_format == LOG_FORMAT_TEXT ? log_open_journal() : -1;
    log_setup(config->log_level, journal >= 0 ? LOG_FORMAT_JOURNAL : config->log_format,
              journal >= 0 ? journal : STDERR_FILENO);
}

static bool prepare(struct appliance *a, const struct appliance_options *options, struct err *err)
{
    a->config = options_config(options, err);
    if (a->config == NULL)
        return false;
    set_up_log(a->config);
    for (enum config_retired key = 0; key < CONFIG_RETIRED_COUNT; key++)
        if ((a->config->retired & 1U << key) != 0)
            LOG(WARN, "config_key_retired", FIELD_TEXT(FILE, options->config_file),
                FIELD_TEXT(TEXT, config_retired_text(key)));
    if (!fault_arm_from_env())
        return err_set(err, ERR_INVALID, "FERRY_FAULT '%s' is not a crash point",
                       getenv("FERRY_FAULT"));
    size_t n_hosts = options->simulate == NULL ? a->config->n_hosts : 0;
    if (!descriptors_check(descriptors_needed(a->config, n_hosts), err))
        return false;
    a->clock = clock_system();
    if (options->simulate == NULL)
        return true;
    a->simulate = simulate_new(err);
    if (a->simulate == NULL)
        return false;
    a->clock = simulate_clock(a->simulate);
    return true;
}

/* Each with the port in use. */
static void listen_text(const struct appliance *a, struct buf *out)
{
    const struct access_config *access = &a->config->access;
    size_t first = access->socket[0] != '\0';
    for (size_t i = 0; i < access->n_listen; i++) {
        const char *colon = strrchr(access->listen[i], ':');
        buf_addf(out, "%s%.*s:%u", i > 0 ? " " : "", (int)(colon - access->listen[i]),
                 access->listen[i], exporter_port(a->exporter, first + i));
    }
    if (first > 0)
        buf_addf(out, " unix:%s", access->socket);
}

static void log_started(const struct appliance *a)
{
    struct buf text;
    buf_init(&text, 4096);
    listen_text(a, &text);
    OWNED_TEXT address = buf_take(&text);
    LOG(INFO, "serving", FIELD_TEXT(ADDRESS, address), FIELD_I64(COUNT, a->n_hosts),
        FIELD_TEXT(VERSION, FERRY_VERSION),
        FIELD_TEXT(TEXT, a->simulate != NULL ? "simulated hosts" : "libvirt hosts"));
}

struct appliance *appliance_new(struct err *err)
{
    struct appliance *a = calloc(1, sizeof *a);
    if (a == NULL) {
        (void)err_set(err, ERR_NOMEM, "the appliance");
        return NULL;
    }
    reload_answers_init(&a->answers);
    notify_open(&a->notify);
    return a;
}

bool appliance_start(struct appliance *a, const struct appliance_options *options, struct err *err)
{
    block_signals(&a->signals);
    a->options = options;
    a->is_running =
        prepare(a, options, err) && open_parts(a, options, err) && start_threads(a, err);
    if (a->is_running)
        log_started(a);
    return a->is_running;
}

/* An unusable file is bad input, whatever the error. */
bool appliance_is_file_bad(const struct appliance *a)
{
    bool bad_config = a->config == NULL, bad_world = a->simulate != NULL && a->hv == NULL;
    return bad_config || (bad_world && a->collector != NULL);
}

void appliance_run(struct appliance *a)
{
    run_until_signal(a, &a->signals);
    stop(a, true);
}

void appliance_free(struct appliance *a)
{
    if (a == NULL)
        return;
    bool was_running = a->is_running;
    close_parts(a);
    reload_answers_fini(&a->answers);
    notify_close(&a->notify);
    free(a);
    if (was_running)
        LOG(INFO, "stopped", FIELD_TEXT(VERSION, FERRY_VERSION));
}
