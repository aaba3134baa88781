/* life.h - the workload of a big fleet for the pure core: hosts, guests, requests, and the hosts'
 * answers, without threads, store or clock. Only the core's own time is counted.
 *
 * Every input moves time on by a millisecond. The same seed gives the same workload. Time in the
 * core is CPU time, so that other programs are not counted; wall time is measured too.
 */
#ifndef BENCH_LIFE_H
#define BENCH_LIFE_H

#include "engine/model/fleet/fleet.h"

struct life_size {
    unsigned hosts, guests, namespaces;
    unsigned running; /* migrations at a time: the fleet's limit */
};
/* A decision: a job took a step, was parked with a reason, or a request was refused. */
struct life_figures {
    uint64_t inputs, steps, parks, refusals;
    uint64_t ended;              /* of the steps: into a final phase */
    uint64_t core_ns, wall_ns;   /* in the core, for all inputs: CPU time; wall time */
    uint64_t effect_bytes;       /* effects that the core returned */
    uint64_t n_times, times_max; /* event to decision, one for each input that made one */
    uint32_t *times_ns;          /* CPU time; owned */
    uint32_t *times_wall_ns;     /* wall time, with what other programs took; owned */
    uint16_t *times_decisions;   /* how many it made; owned */
};
struct life;

struct life *life_new(const struct life_size *size, uint64_t seed);
void life_free(struct life *life);
DEFINE_OWNED(life)

/* Asks for migrations until that many wait. */
void life_fill(struct life *life, unsigned waiting);
/* Runs, with about that many waiting, until `decisions` were made. */
void life_run(struct life *life, uint64_t decisions, struct life_figures *out);
void life_figures_fini(struct life_figures *figures);
uint64_t life_decisions(const struct life_figures *figures);

struct fleet *life_fleet(struct life *life);
/* Nanoseconds to find one guest by its uuid in the fleet's hash, at random: the machine's speed, to
 * compare with. */
double life_find_ns(struct life *life, unsigned finds);
double life_bytes_per_host(const struct life *life);
double life_bytes_per_guest(const struct life *life); /* with all its indexes */
size_t life_heap_bytes(void);                         /* in use by the process */

#endif
