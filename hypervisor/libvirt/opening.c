/* opening.c - opens connections in bounded time.
 *
 * virConnectOpen() has no timeout, and libvirt's keepalive begins only after it: against a libvirtd
 * that hangs it returns when that runs again, against one whose host was reset meanwhile it never
 * does. So a thread of its own opens, and whoever wants the connection waits OPENING_MAX_MS. What
 * is left behind counts as hanging until it returns; then its connection is closed.
 *
 * While an opening of a host hangs, only the keeper opens another one, at growing intervals, at
 * most OPENINGS_HANGING_MAX at a time; the lanes fail at once. Any answer ends that, also a late
 * one. The socket of one that is left behind gets TCP keepalive, so that a host that was reset or
 * cannot be reached any more ends it.
 */
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "hypervisor/libvirt/internal.h"

/* Held by the thread that opens and the one that waits; the last frees it. Fields under the lock
 * of the host's openings. */
struct opening {
    struct host *host;
    enum hv_lane lane;
    bool read_only;
    bool done;      /* conn and err are set */
    bool abandoned; /* nobody waits any more */
    virConnectPtr conn;
    struct err err;
};

void libvirt_openings_init(struct openings *openings)
{
    (void)pthread_mutex_init(&openings->lock, NULL);
    libvirt_wait_cond_init(&openings->changed);
}

void libvirt_openings_fini(struct openings *openings)
{
    (void)pthread_cond_destroy(&openings->changed);
    (void)pthread_mutex_destroy(&openings->lock);
}

static unsigned count_hanging(const struct openings *openings)
{
    unsigned n = 0;
    for (enum hv_lane lane = 0; lane < HV_LANE_COUNT; lane++)
        n += openings->hanging[lane];
    return n;
}

/* An answer, though too late. */
static void return_late(struct opening *opening)
{
    struct host *host = opening->host;
    struct openings *openings = &host->openings;
    libvirt_connection_close(opening->conn);
    (void)pthread_mutex_lock(&openings->lock);
    openings->hanging[opening->lane]--;
    openings->silent = false;
    (void)pthread_mutex_unlock(&openings->lock);
    free(opening);
    libvirt_keeper_nudge(&host->keeper);
}

static void *opening_main(void *arg)
{
    struct opening *opening = arg;
    struct host *host = opening->host;
    struct openings *openings = &host->openings;
    struct err err = {0};
    virConnectPtr conn = libvirt_connection_open(&host->config, opening->read_only, &err);

    (void)pthread_mutex_lock(&openings->lock);
    opening->conn = conn;
    opening->err = err;
    opening->done = true;
    bool is_late = opening->abandoned; /* if not, the one that waits frees it */
    (void)pthread_cond_broadcast(&openings->changed);
    (void)pthread_mutex_unlock(&openings->lock);
    if (is_late)
        return_late(opening);
    return libvirt_thread_end(host->libvirt, host);
}

/* May this one be begun? Lock held. */
static bool may_begin(const struct openings *openings, bool is_keeper, int64_t now_ms)
{
    if (!openings->silent)
        return true;
    return is_keeper && now_ms >= openings->next_ms &&
           count_hanging(openings) < OPENINGS_HANGING_MAX;
}

/* Lock held. */
static void note_silence(struct openings *openings, enum hv_lane lane, int64_t now_ms)
{
    openings->hanging[lane]++;
    openings->abandoned[lane]++;
    if (!openings->silent)
        openings->pause_ms = OPENING_MAX_MS / 2;
    if (!openings->silent || now_ms >= openings->next_ms)
        openings->pause_ms *= 2;
    if (openings->pause_ms > OPENING_PAUSE_MAX_MS)
        openings->pause_ms = OPENING_PAUSE_MAX_MS;
    openings->silent = true;
    openings->next_ms = now_ms + openings->pause_ms;
}

/* Waits for the answer, or gives up. False: gave up, the opening frees itself. */
static bool wait_for(struct opening *opening, int64_t began_ms)
{
    struct host *host = opening->host;
    struct openings *openings = &host->openings;
    (void)pthread_mutex_lock(&openings->lock);
    while (!opening->done && libvirt_now(host->libvirt) - began_ms < OPENING_MAX_MS &&
           !libvirt_host_is_closing(host))
        libvirt_wait_cond(&openings->changed, &openings->lock, CLOCK_CHECK_MS);
    bool done = opening->done;
    if (done) {
        openings->silent = false;
    } else {
        opening->abandoned = true;
        note_silence(openings, opening->lane, libvirt_now(host->libvirt));
    }
    (void)pthread_mutex_unlock(&openings->lock);
    return done;
}

static struct opening *begin(struct host *host, enum hv_lane lane, bool read_only, struct err *err)
{
    struct opening *opening = calloc(1, sizeof *opening);
    if (opening != NULL) {
        *opening = (struct opening){.host = host, .lane = lane, .read_only = read_only};
        if (libvirt_thread(host->libvirt, host, opening_main, opening))
            return opening;
    }
    free(opening);
    (void)err_set(err, ERR_UNREACHABLE, "no thread to connect with");
    return NULL;
}

static virConnectPtr no_answer(struct host *host, struct err *err)
{
    (void)pthread_mutex_lock(&host->openings.lock);
    unsigned n = count_hanging(&host->openings);
    (void)pthread_mutex_unlock(&host->openings.lock);
    (void)err_set(err, ERR_UNREACHABLE,
                  "libvirtd accepts connections and does not answer: %u of them hang", n);
    return NULL;
}

static void keep_alive(int fd)
{
    int domain = 0, on = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        (domain != AF_INET && domain != AF_INET6))
        return;
    size = sizeof on;
    if (getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size) != 0 || on != 0)
        return;
    static const int idle_s = 10, interval_s = 5, count = 3;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* libvirt does not show which sockets are its own; on any other keepalive does no harm. */
static void keep_all_alive(void)
{
    DIR *fds = opendir("/proc/self/fd");
    if (fds == NULL)
        return;
    for (const struct dirent *entry = readdir(fds); entry != NULL; entry = readdir(fds))
        if (entry->d_name[0] != '.')
            keep_alive((int)strtol(entry->d_name, NULL, 10));
    (void)closedir(fds);
}

virConnectPtr libvirt_opening(struct host *host, enum hv_lane lane, bool read_only, bool is_keeper,
                              struct err *err)
{
    int64_t now_ms = libvirt_now(host->libvirt);
    (void)pthread_mutex_lock(&host->openings.lock);
    bool may = may_begin(&host->openings, is_keeper, now_ms);
    (void)pthread_mutex_unlock(&host->openings.lock);
    if (!may)
        return no_answer(host, err);
    struct opening *opening = begin(host, lane, read_only, err);
    if (opening == NULL)
        return NULL;
    if (!wait_for(opening, now_ms)) {
        keep_all_alive();
        return no_answer(host, err);
    }
    virConnectPtr conn = opening->conn;
    *err = opening->err;
    free(opening);
    return conn;
}

void libvirt_openings_count(struct openings *openings, enum hv_lane lane,
                            struct hv_lane_status *status)
{
    (void)pthread_mutex_lock(&openings->lock);
    status->openings_hanging = openings->hanging[lane];
    status->openings_abandoned = openings->abandoned[lane];
    (void)pthread_mutex_unlock(&openings->lock);
}
