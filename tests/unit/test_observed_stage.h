/* test_observed_stage.h - what libvirt tells of a migration that somebody else started. */
#ifndef TESTS_UNIT_TEST_OBSERVED_STAGE_H
#define TESTS_UNIT_TEST_OBSERVED_STAGE_H

#include "tests/test.h"

#include <string.h>

#include "base/text.h"
#include "tests/core_world.h"

enum { STARTED_MIGRATED = 1, STOPPED_MIGRATED = 3, STOPPED_FAILED = 5 };

static inline void happens(struct core_world *w, const char *host, int what, int detail)
{
    struct input input = {.kind = INPUT_EVENT};
    input.of.event = (struct hv_event){.kind = HV_EVENT_LIFECYCLE, .a = what, .b = detail};
    TEXT_SET(input.host, host);
    TEXT_SET(input.guest, CORE_GUEST);
    TEXT_SET(input.of.event.host, host);
    TEXT_SET(input.of.event.guest, CORE_GUEST);
    core_feed(w, &input);
}

/* The host lists g1 in that state and nothing else; NONE: nothing. */
static inline void lists(struct core_world *w, const char *host, int state, int reason)
{
    struct hv_guest here = core_guest(w, "g1")->is;
    here.state = state;
    here.reason = reason;
    struct hv_guest_list list = {.n = state != HV_STATE_NONE, .guests = &here};
    struct input input = {.kind = INPUT_GUESTS, .of.guests = &list};
    TEXT_SET(input.host, host);
    core_feed(w, &input);
}

static inline struct job *recorded(struct core_world *w)
{
    struct job *found = NULL;
    for (struct job *job = w->fleet->jobs; job != NULL; job = job->hh.next)
        if (job_is_observed(job)) {
            assert_null(found);
            found = job;
        }
    return found;
}

static inline void nothing_was_ordered(struct core_world *w)
{
    assert_int_equal(w->migrates + w->aborts + w->asks.streams + w->asks.paths, 0);
    core_ledger(w);
}

#endif
