/* simulate.h - the simulator as `serve`'s hypervisor, in real time.
 *
 * The simulator is single-threaded with virtual time. The caller's thread runs it together with the
 * collector and the engine, in real time. The returned clock may be read from any thread: it is a
 * copy that is updated after each advance.
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
/* Loads the scenario; call once, after the collector exists. */
MUST_CHECK bool simulate_load(struct simulate *s, const char *file,
                              const struct hv_event_sink *events, struct err *err);
struct hv *simulate_hv(struct simulate *s); /* borrowed */
const struct scenario *simulate_scenario(const struct simulate *s);
/* Advances virtual time to the present. Calls the sinks. */
void simulate_catch_up(struct simulate *s);

#endif
