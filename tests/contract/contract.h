/* contract.h - what both hypervisors promise, as one suite that runs on either.
 *
 * A fixture fills a contract_world: a running implementation, two hosts that reach each other,
 * a guest that runs on one of them. It also says how to wait: the simulator advances virtual
 * time, the real one sleeps. Each case finds out for itself where the guest is and leaves it
 * running on one of the two hosts; so the cases can run in any order and more than once.
 *
 * Nothing is asserted about time spans or exact numbers, only what holds on both.
 */
#ifndef TESTS_CONTRACT_CONTRACT_H
#define TESTS_CONTRACT_CONTRACT_H

#include "hypervisor/hv.h"

enum { CONTRACT_SLOW_MIBS = 8, CONTRACT_PATIENCE_MS = 90000, CONTRACT_VOLUME_BYTES = 3 << 20 };

/* Everything that was told and answered; safe to fill from any thread. */
struct contract_seen;
struct contract_seen *contract_seen_new(void);       /* NULL when memory is short */
void contract_seen_free(struct contract_seen *seen); /* after the implementation is gone */
struct hv_event_sink contract_event_sink(struct contract_seen *seen);

struct contract_world {
    const struct hv *hv;        /* borrowed */
    struct contract_seen *seen; /* borrowed; its sink was given to the implementation */
    char hosts[2][HV_HOST_MAX];
    char dead_host[HV_HOST_MAX];  /* configured but never answers; empty: none */
    char guest[HV_UUID_MAX];      /* transient, runs on one host; at CONTRACT_SLOW_MIBS its memory
                                     takes some seconds (so it is not all zeros) */
    char twin[HV_UUID_MAX];       /* runs on one host while the other has another guest of its
                                     name; empty: none */
    char persistent[HV_UUID_MAX]; /* defined and started on the first host, label app=contract,
                                     evictionStrategy LiveMigrate; empty: none */
    char volume[HV_TEXT_MAX]; /* a file of CONTRACT_VOLUME_BYTES on the second host, which the first
                                 does not have; empty: none */
    /* Changes its metadata, in a way that leaves label and strategy; NULL: cannot. */
    bool (*edit)(void *ctx, const char *host, const char *guest);
    /* Has its host keep a snapshot of it, or none; NULL: cannot. */
    bool (*snapshot)(void *ctx, const char *host, const char *guest, bool there);
    /* Ends the open streams of the guest's migration; NULL: cannot. */
    bool (*break_stream)(void *ctx, const char *host, const char *guest);
    /* True when is_done(arg) came true within the time. */
    bool (*wait)(void *ctx, bool (*is_done)(void *arg), void *arg, int64_t timeout_ms);
    void *ctx;
    char failure[512]; /* what did not hold */
};

struct contract_case {
    const char *name; /* a sentence */
    bool (*holds)(struct contract_world *w);
};
extern const struct contract_case contract_cases[];
extern const size_t contract_case_count;

/* --- for the cases --- */

/* Returns ok; when it is false, keeps the sentence as the failure. */
bool contract_check(struct contract_world *w, bool ok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Through the right interface, with a unique id; 0 when it was refused (err set). */
uint64_t contract_submit(struct contract_world *w, const struct hv_request *request,
                         struct err *err);
uint64_t contract_ask(struct contract_world *w, enum hv_call call, const char *host,
                      const char *guest);
/* The answer to id, borrowed from seen; NULL with a failure when there is none in time. */
const struct hv_reply *contract_answer(struct contract_world *w, uint64_t id);
bool contract_has_answer(struct contract_world *w, uint64_t id);
unsigned contract_answers(struct contract_world *w, uint64_t id); /* how many came */
/* Asks and waits. */
const struct hv_reply *contract_call(struct contract_world *w, enum hv_call call, const char *host,
                                     const char *guest);
void contract_pause(struct contract_world *w, int64_t ms);

/* Events: a mark now, then the n-th after it that fits; NULL when there is none (yet). */
size_t contract_mark(struct contract_world *w);
struct contract_event {
    const char *host, *guest; /* NULL: any */
    enum hv_event_kind kind;
    int a, b; /* -1: any */
};
const struct hv_event *contract_find(struct contract_world *w, size_t mark,
                                     struct contract_event what, size_t *out_index);
bool contract_wait_event(struct contract_world *w, size_t mark, struct contract_event what);
/* Waits until a look at host says so: "running(migrated)", "running", "absent". */
bool contract_wait_state(struct contract_world *w, const char *host, const char *guest,
                         const char *state);

/* Where the guest runs, and the other host. */
bool contract_locate(struct contract_world *w, const char *guest, const char **out_source,
                     const char **out_target);
/* Starts a migration of the guest and waits for its first pass; 0 with a failure. */
uint64_t contract_move(struct contract_world *w, const char *source, const char *target,
                       struct hv_migrate how, size_t *out_mark);

/* --- cases of offers.c --- */
bool contract_offers_are_plausible_and_stay(struct contract_world *w);
bool contract_both_hosts_offer_the_guests_machine(struct contract_world *w);
bool contract_only_a_persistent_guest_is_stored(struct contract_world *w);
bool contract_autostart_is_set_and_does_not_move_along(struct contract_world *w);
bool contract_a_mark_travels_with_the_guest(struct contract_world *w);
bool contract_a_guest_says_what_it_asks_for(struct contract_world *w);
bool contract_an_edited_guest_is_told(struct contract_world *w);
bool contract_snapshots_are_told_and_stop_a_migration(struct contract_world *w);
bool contract_a_guest_can_be_asked_to_go(struct contract_world *w);
bool contract_a_place_that_is_not_there_is_told(struct contract_world *w);
bool contract_a_disk_is_found_only_where_it_is(struct contract_world *w);
bool contract_a_disk_it_does_not_have_is_refused(struct contract_world *w);

/* --- cases of rescue.c --- */
bool contract_a_paused_post_copy_is_taken_up(struct contract_world *w);
bool contract_a_broken_post_copy_is_taken_up(struct contract_world *w);
bool contract_a_broken_post_copy_is_connected_again_at_its_port(struct contract_world *w);
bool contract_what_is_not_broken_is_not_taken_up(struct contract_world *w);
bool contract_a_yanked_guest_stays_at_home(struct contract_world *w);
bool contract_only_an_incoming_copy_is_dropped(struct contract_world *w);
bool contract_a_host_without_a_helper_says_so(struct contract_world *w);
bool contract_a_path_is_probed_by_a_helper_only(struct contract_world *w);
bool contract_a_dirty_rate_is_measured(struct contract_world *w);
bool contract_a_guest_suspended_on_its_way_runs_where_it_arrives(struct contract_world *w);
bool contract_packed_and_tunnelled_guests_arrive(struct contract_world *w);

#endif
