/* simulate.h - the simulator as `serve`'s hypervisor, in real time.
 *
 * The simulator has one thread and virtual time. Here the caller's thread turns it together
 * with the collector and the engine, and its time follows the machine's. The clock handed out
 * may be read from any thread (HTTP threads do), so it is a mirror, moved after each advance.
 */
#ifndef APPLIANCE_SIMULATE_H
#define APPLIANCE_SIMULATE_H

#include "appliance/scenario.h"
#include "base/clock.h"
#include "hypervisor/sim/sim.h"

struct simulate;
struct simulate *simulate_new(struct err *err);
void simulate_free(struct simulate *s);
DEFINE_OWNED(simulate)

const struct clock *simulate_clock(struct simulate *s);
/* Builds the world; call once, after the collector is there to hear its events. */
MUST_CHECK bool simulate_load(struct simulate *s, const char *file,
                              const struct hv_event_sink *events, struct err *err);
struct hv *simulate_hv(struct simulate *s); /* borrowed */
const struct scenario *simulate_world(const struct simulate *s);
/* Brings virtual time up to the machine's. Sinks are called inside. */
void simulate_catch_up(struct simulate *s);

#endif
