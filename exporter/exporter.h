/* exporter.h - everything that leaves the process over HTTP: /metrics, health, the API.
 *
 * Serves the newest snapshot; never calls a hypervisor; a scrape never waits for the store. The
 * page of /metrics is rendered once per snapshot and shared: two scrapes of one snapshot are equal
 * byte for byte. Connections, request sizes and times are bounded. Threads: the on_* functions on
 * the engine's thread; requests on libmicrohttpd's.
 */
#ifndef EXPORTER_EXPORTER_H
#define EXPORTER_EXPORTER_H

#include "base/clock.h"
#include "engine/requests.h"
#include "engine/snapshot.h"
#include "exporter/access/access_config.h"
#include "exporter/http/limits.h"
#include "exporter/metrics/metrics_self.h"
#include "store/store.h"

struct exporter_config {
    const struct access_config *access; /* listeners and roles; copied */
    const char *version;
    bool kubevirt_metrics; /* also under KubeVirt's names */
    /* Who is asked for queries (store/any/any.h); "": nobody; NULL: the state directory. */
    const char *query_place;
};
/* Has the configuration read again. A JSON text, the caller's; false: why nothing was taken.
 * Blocks.
 */
struct exporter_reload {
    void *ctx;
    bool (*run)(void *ctx, char **out_json, struct err *err); /* NULL: not possible */
};
/* The end of a guest's QEMU log on a node, its lines into out. May take a bounded time. */
struct exporter_logs {
    void *ctx;
    bool (*read)(void *ctx, const char *node, const char *guest, struct buf *out,
                 struct err *err); /* NULL: there are none */
};
/* May objects be changed here, or does another appliance hold them? False: err says who, for the
 * client. Any thread; quick. */
struct exporter_change {
    void *ctx;
    bool (*may)(void *ctx, struct err *err); /* NULL: always */
};
struct exporter_parts { /* borrowed */
    const struct clock *clock;
    struct engine_requests requests;
    struct store *store;   /* for events and history; may be NULL */
    const char *state_dir; /* for a certificate that Ferry makes itself, and queries; NULL: none */
    struct exporter_reload reload;
    struct exporter_logs logs;
    struct exporter_change change;
};

struct exporter;
/* Listens when it returns. ERR_IO with the address when it cannot bind. */
struct exporter *exporter_new(const struct exporter_config *config,
                              const struct exporter_parts *parts, struct err *err);
void exporter_free(struct exporter *x); /* stops accepting, ends open requests */
DEFINE_OWNED(exporter)
/* The port in use, of the nth listener: the socket first, if there is one. 0: there is none. */
unsigned exporter_port(const struct exporter *x, size_t listener);
/* Reads the web configuration file and the certificates again; on failure the old ones stay. Main
 * thread. */
bool exporter_reload_access(struct exporter *x, struct err *err);
void exporter_tick(struct exporter *x); /* the same, when a file has changed */

void exporter_on_snapshot(void *exporter, const struct snapshot *snapshot);
void exporter_on_step(void *exporter, const struct snapshot_job *job, enum phase from,
                      enum trigger why, int64_t spent_ms);
void exporter_on_decision(void *exporter, const char *monitor, bool shadow, const char *decision);
void exporter_on_finished(void *exporter, const struct snapshot_job *job);
void exporter_on_event(void *exporter, const struct store_event *event);
void exporter_on_judged(void *exporter, const struct verdict_rows *verdict_rows);
void exporter_set_self(struct exporter *x, const struct exporter_self *self);
/* /readyz answers 200 only while ready; until then 503 with this reason. */
void exporter_set_ready(struct exporter *x, bool ready, const char *reason);

#endif
