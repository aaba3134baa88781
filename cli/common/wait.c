/* wait.c - see wait.h. */
#include "cli/common/wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/kinds.h"
#include "cli/common/table.h"
#include "cli/common/view.h"
#include "engine/model/job/phase.h"

struct screen {
    bool live; /* redraw in place */
    bool coloured;
    bool drawn;    /* a live line is on the screen */
    bool resolved; /* last plain line's conditions */
    char phase[PROGRESS_WORD_MAX];
    int64_t plain_at_ms; /* last plain line */
};

void wait_read(struct json_object *object, int64_t elapsed_ms, struct progress *out_progress)
{
    struct progress *p = out_progress;
    memset(p, 0, sizeof *p);
    p->elapsed_ms = elapsed_ms;
    TEXT_SET(p->phase, view_text(object, "status.phase"));
    TEXT_SET(p->mode, view_text(object, "status.migrationState.mode"));
    TEXT_SET(p->abort_status, view_text(object, "status.migrationState.abortStatus"));
    TEXT_SET(p->reason, view_text(object, "status.ferry.pendingReason"));
    p->resolving = view_bool(object, "status.ferry.resolving");
    p->recovering = view_bool(object, "status.ferry.recovering");
    p->eta_ms = view_i64(object, "status.ferry.etaMs", -1);
    struct json_object *sample = json_at(object, "status.ferry.sample");
    p->has_sample = sample != NULL && view_i64(sample, "totalBytes", 0) > 0;
    if (!p->has_sample)
        return;
    p->remaining = (uint64_t)view_i64(sample, "remainingBytes", 0);
    p->processed = (uint64_t)view_i64(sample, "processedBytes", 0);
    p->total = (uint64_t)view_i64(sample, "totalBytes", 0);
    p->rate_bps = (uint64_t)view_i64(sample, "transferRateBytesPerSecond", 0);
    p->dirty_bps = (uint64_t)view_i64(sample, "dirtyRateBytesPerSecond", 0);
    p->iteration = view_i64(sample, "iteration", 0);
    p->throttle_percent = view_i64(sample, "throttlePercent", 0);
}

static bool is_over(struct json_object *object)
{
    enum phase phase = phase_from_name(view_text(object, "status.phase"));
    return phase < PHASE_COUNT && phase_is_final(phase);
}

static void erase(struct screen *screen)
{
    if (screen->drawn)
        (void)fputs("\r\033[K", stderr);
    screen->drawn = false;
}

/* One write per line, text before the erase sequence, to avoid flicker. */
static void draw_live(struct screen *screen, const struct progress *p)
{
    char line[PROGRESS_LINE_MAX], frame[PROGRESS_LINE_MAX + 16];
    (void)progress_live(p, cli_width(STDERR_FILENO, TABLE_WIDTH) - 1, screen->coloured, line);
    int n = snprintf(frame, sizeof frame, "\r%s\033[K", line);
    if (n > 0)
        (void)fwrite(frame, 1, (size_t)n, stderr);
    (void)fflush(stderr);
    screen->drawn = true;
}

static void draw_plain(struct screen *screen, const struct progress *p, int64_t now_ms)
{
    bool changed = !text_equal(screen->phase, p->phase) || screen->resolved != p->resolving;
    if (!changed && now_ms - screen->plain_at_ms < WAIT_PLAIN_MS)
        return;
    char line[PROGRESS_LINE_MAX];
    (void)progress_plain(p, line);
    (void)fprintf(stderr, "%s\n", line);
    TEXT_SET(screen->phase, p->phase);
    screen->resolved = p->resolving;
    screen->plain_at_ms = now_ms;
}

static void draw(const struct wait *wait, struct screen *screen, const struct progress *p,
                 int64_t now_ms)
{
    if (wait->quiet)
        return;
    if (screen->live)
        draw_live(screen, p);
    else
        draw_plain(screen, p, now_ms);
}

bool wait_pause(int signals, int64_t ms)
{
    struct pollfd poller = {.fd = signals, .events = POLLIN};
    return poll(&poller, 1, (int)ms) > 0;
}

static int print_interrupted(const struct wait *wait)
{
    (void)fprintf(stderr,
                  "ferry: interrupted; migration '%s' continues\n"
                  " abort it with `ferry abort %s -n %s`; see `ferry describe vmim %s -n "
                  "%s`\n",
                  wait->name, wait->name, wait->ns, wait->name, wait->ns);
    return EXIT_INTERRUPTED;
}

static int print_timeout(const struct wait *wait)
{
    struct err err = {0};
    char limit[HUMAN_TEXT_MAX], hint[512];
    human_duration(wait->timeout_ms, limit);
    (void)snprintf(hint, sizeof hint,
                   "the migration continues; `ferry abort %.200s -n %.60s` aborts it", wait->name,
                   wait->ns);
    (void)err_set(&err, ERR_TIMEOUT, "migration '%s' has not ended after %s", wait->name, limit);
    return cli_fail(&err, hint);
}

static int print_gone(const struct wait *wait)
{
    struct err err = {0};
    (void)err_set(&err, ERR_NOT_FOUND,
                  "migration '%s' does not exist any more: it was deleted, or the store was lost; "
                  "its outcome is unknown",
                  wait->name);
    return cli_fail(&err, "`ferry get guests -A` shows where the guest is now");
}

/* State between two polls. */
struct watch {
    int64_t began_ms, seen_ms; /* monotonic; seen: last answer */
    struct progress progress;
    bool over;
};

/* At most the remaining time of the wait. */
static int64_t call_timeout_ms(const struct wait *wait, const struct watch *watch, int64_t now_ms)
{
    int64_t left = wait->timeout_ms - (now_ms - watch->began_ms);
    return wait->timeout_ms >= 0 && left < WAIT_ANSWER_MS ? left : WAIT_ANSWER_MS;
}

static bool poll_once(const struct wait *wait, const char *path, struct watch *watch,
                      struct json_object **out_object, struct err *err)
{
    int64_t now_ms = clock_mono_ms(clock_system());
    client_set_timeout(wait->client, call_timeout_ms(wait, watch, now_ms));
    OWNED(json_object) object = client_call(wait->client, "GET", path, NULL, err);
    if (object == NULL) {
        watch->progress.elapsed_ms = now_ms - watch->began_ms;
        watch->progress.is_unreachable = true;
        return err->code == ERR_UNREACHABLE && now_ms - watch->seen_ms < WAIT_UNREACHABLE_MS;
    }
    watch->seen_ms = now_ms;
    wait_read(object, now_ms - watch->began_ms, &watch->progress);
    watch->over = is_over(object);
    if (watch->over) {
        watch->progress.has_sample = false; /* the last line shows the outcome; statistics follow */
        *out_object = TAKE(object);
    }
    return true;
}

static int64_t next_poll_ms(const struct watch *watch)
{
    const struct progress *p = &watch->progress;
    if (p->is_unreachable)
        return WAIT_POLL_MS;
    bool near_end = p->has_sample && p->eta_ms >= 0 && p->eta_ms < 1000;
    bool waits = text_equal(p->phase, "Pending");
    return near_end || p->resolving || (!p->has_sample && !waits) ? WAIT_NEAR_END_MS : WAIT_POLL_MS;
}

static int watch_loop(const struct wait *wait, const char *path, int signals, struct screen *screen,
                      struct json_object **out_object)
{
    const struct clock *clock = clock_system();
    struct watch watch = {.began_ms = clock_mono_ms(clock), .seen_ms = clock_mono_ms(clock)};
    for (;;) {
        struct err err = {0};
        bool go_on = poll_once(wait, path, &watch, out_object, &err);
        int64_t now_ms = clock_mono_ms(clock);
        if (!go_on) {
            erase(screen);
            return err.code == ERR_NOT_FOUND ? print_gone(wait) : cli_fail(&err, NULL);
        }
        draw(wait, screen, &watch.progress, now_ms);
        if (watch.over) {
            erase(screen);
            return EXIT_DONE;
        }
        int64_t left = wait->timeout_ms - (now_ms - watch.began_ms);
        if (wait->timeout_ms >= 0 && left <= 0) {
            erase(screen);
            return print_timeout(wait);
        }
        int64_t pause = next_poll_ms(&watch);
        if (wait->timeout_ms >= 0 && left < pause)
            pause = left;
        if (wait_pause(signals, pause)) {
            erase(screen);
            return print_interrupted(wait);
        }
    }
}

int wait_open_signals(struct err *err)
{
    sigset_t stop;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGINT);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    int signals = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        (void)err_set(err, ERR_IO, "cannot handle Ctrl-C: %s", strerror(errno));
    return signals;
}

int wait_until_over(const struct wait *wait, struct json_object **out_object)
{
    struct err err = {0};
    char path[KINDS_PATH_MAX];
    if (!kind_path(KIND_MIGRATION, wait->ns, wait->name, path, &err))
        return cli_fail(&err, NULL);
    int signals = wait_open_signals(&err);
    if (signals < 0)
        return cli_fail(&err, NULL);
    struct screen screen = {.live = cli_is_terminal(STDERR_FILENO),
                            .coloured = cli_wants_colour(STDERR_FILENO)};
    int status = watch_loop(wait, path, signals, &screen, out_object);
    (void)close(signals);
    return status;
}

/* Where the guest is, as a sentence. */
static void add_guest_location(struct json_object *object, struct buf *out)
{
    enum guest_at at = guest_at_from_name(view_text(object, "status.ferry.guestAt"));
    char vm[HUMAN_TEXT_MAX * 4], source[HUMAN_TEXT_MAX * 2], target[HUMAN_TEXT_MAX * 2];
    table_clean(vm, sizeof vm, view_text(object, "spec.vmiName"));
    table_clean(source, sizeof source, view_text(object, "status.migrationState.sourceNode"));
    table_clean(target, sizeof target, view_text(object, "status.migrationState.targetNode"));
    switch (at) {
    case GUEST_AT_SOURCE: buf_addf(out, "guest '%s' is on its source %s", vm, source); break;
    case GUEST_AT_TARGET: buf_addf(out, "guest '%s' is on its target %s", vm, target); break;
    case GUEST_AT_BROKEN:
        buf_addf(out, "guest '%s' is split between %s and %s by a broken post-copy", vm, source,
                 target);
        break;
    case GUEST_AT_LOST:
        buf_addf(out, "guest '%s' is neither on %s nor on %s", vm, source, target);
        break;
    case GUEST_AT_SPLIT:
        buf_addf(out, "guest '%s' is active on both %s and %s: stop the wrong one", vm, source,
                 target);
        break;
    case GUEST_AT_STOPPED: buf_addf(out, "guest '%s' is shut off on %s", vm, source); break;
    case GUEST_AT_CRASHED:
        buf_addf(out, "guest '%s' ended on its target %s after arrival", vm, target);
        break;
    case GUEST_AT_ELSEWHERE:
        buf_addf(out, "guest '%s' runs on a third host, neither on %s nor on %s", vm, source,
                 target);
        break;
    case GUEST_AT_UNKNOWN:
    case GUEST_AT_COUNT:
        buf_addf(out, "location of guest '%s' is not proven; check both hosts", vm);
        break;
    }
}

static void add_moved(struct json_object *object, int64_t took_ms, struct buf *out)
{
    char took[HUMAN_TEXT_MAX], moved[HUMAN_TEXT_MAX];
    char name[TABLE_CELL_MAX], vm[TABLE_CELL_MAX], source[TABLE_CELL_MAX], target[TABLE_CELL_MAX];
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    table_clean(vm, sizeof vm, view_text(object, "spec.vmiName"));
    table_clean(source, sizeof source, view_text(object, "status.migrationState.sourceNode"));
    table_clean(target, sizeof target, view_text(object, "status.migrationState.targetNode"));
    human_duration(took_ms, took);
    buf_addf(out, "%s: '%s' migrated from %s to %s in %s", name, vm, source, target, took);
    int64_t processed = view_i64(object, "status.ferry.final.bytes",
                                 view_i64(object, "status.ferry.sample.processedBytes", 0));
    if (processed > 0) {
        human_bytes((uint64_t)processed, moved);
        buf_addf(out, ", %s sent", moved);
    }
    int64_t downtime = view_i64(object, "status.ferry.final.downtimeMs",
                                view_i64(object, "status.ferry.downtimeMs", -1));
    if (downtime >= 0) {
        human_duration(downtime, took);
        buf_addf(out, ", downtime %s", took);
    }
    buf_add(out, "\n");
}

bool wait_summary(struct json_object *object, int64_t took_ms, struct buf *out)
{
    if (text_equal(view_text(object, "status.phase"), "Succeeded")) {
        add_moved(object, took_ms, out);
        return true;
    }
    char name[TABLE_CELL_MAX], reason[1024];
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    table_clean(reason, sizeof reason, view_text(object, "status.migrationState.failureReason"));
    bool aborted = text_equal(view_text(object, "status.ferry.outcome"), "aborted");
    buf_addf(out, "ferry: %s %s: %s\n  ", name, aborted ? "was aborted" : "failed",
             reason[0] != '\0' ? reason : "no failure reason");
    add_guest_location(object, out);
    buf_add(out, "\n");
    return false;
}
