/* inside.h - functions that the files of the simulator share. See state.h for the structs. */
#ifndef HYPERVISOR_SIM_INSIDE_H
#define HYPERVISOR_SIM_INSIDE_H

#include "hypervisor/sim/state.h"

/* emit.c: random numbers, recorded errors, events, the trace. */
uint64_t sim_random(uint64_t *state, uint64_t min, uint64_t max); /* inclusive */
/* Copy and host are named in the text; each may be NULL where the text names none. */
void sim_error_set(struct err *err, enum sim_error which, const struct copy *copy,
                   const struct host *host);
void sim_emit_host(struct sim *sim, struct host *host, enum hv_event_kind kind, enum sim_error why);
void sim_emit_lifecycle(struct sim *sim, const struct copy *copy, enum hv_lifecycle what,
                        int detail);
void sim_emit_iteration(struct sim *sim, const struct copy *copy, uint64_t iteration);
void sim_emit_changed(struct sim *sim, const struct copy *copy);
void sim_emit_completed(struct sim *sim, const struct copy *copy, const struct hv_job_stats *stats);
void sim_flush_events(struct sim *sim, struct host *host, bool deliver);

/* copy.c: guests as hosts know them. */
struct copy *sim_copy_new(struct guest *guest, struct host *host, const char *name);
struct copy *sim_copy_find(const struct guest *guest, const struct host *host);
struct copy *sim_copy_named(const struct host *host, const char *name);
bool sim_copy_is_live(const struct copy *copy); /* running or paused */
/* The only place where a state changes; counts violations of the law. */
void sim_copy_state(struct sim *sim, struct copy *copy, enum hv_state state, enum hv_reason reason);
/* Sends STOPPED. A transient copy is freed, a persistent one becomes shutoff(reason). */
void sim_copy_stop(struct sim *sim, struct copy *copy, enum hv_reason reason, int detail);
void sim_copy_free(struct sim *sim, struct copy *copy); /* frees it without an event */

/* host.c: a host as Ferry and other hosts reach it. */
bool sim_host_is_linked(const struct host *host);        /* to other hosts */
unsigned long sim_host_libvirt(const struct host *host); /* their versions */
unsigned long sim_host_qemu(const struct host *host);
bool sim_host_is_dead(const struct host *host);    /* its libvirtd */
bool sim_host_is_hung(const struct host *host);    /* its libvirtd does not answer Ferry */
bool sim_host_is_stopped(const struct host *host); /* its libvirtd does nothing at all */
int64_t sim_host_keepalive_ms(const struct host *host);
void sim_host_changed(struct sim *sim, struct host *host); /* after a change of its faults */
void sim_host_init(struct host *host);

/* call.c: requests and replies. */
bool sim_call_submit(void *impl, const struct hv_request *request, struct err *err);
bool sim_call_lane_status(void *impl, const char *host, enum hv_lane lane,
                          struct hv_lane_status *out_status);
/* Ends the call: take_reply needs only its `with` and err. Frees the call. */
void sim_call_reply(struct sim *sim, struct call *call, struct hv_reply *take_reply);
/* Answers with this error (NONE: success) after delay_ms. */
void sim_call_answer(struct sim *sim, struct call *call, enum sim_error which,
                     const struct copy *copy, const struct host *about, int64_t delay_ms);
void sim_call_wait_monitor(struct sim *sim, struct call *call, struct job *job);
void sim_call_wait_measure(struct sim *sim, struct call *call, int64_t ms);
void sim_call_leave_job(struct call *call);                    /* the job is no longer the call's */
void sim_calls_monitor_free(struct sim *sim, struct job *job); /* the monitor answers again */
void sim_calls_wake(struct sim *sim, struct host *host);       /* the host answers again */
void sim_calls_lose(struct sim *sim, struct host *host, enum sim_error why);
void sim_calls_free(struct sim *sim, struct host *host);

/* change.c: edits of guests and hosts, guests that shut down. */
void sim_guest_init(struct guest *guest);                  /* SIM_GUEST_TIMERS are reserved */
void sim_guest_fini(struct sim *sim, struct guest *guest); /* frees it */
void sim_guest_shut_down(struct sim *sim, struct guest *guest);
void sim_guest_freeze(struct sim *sim, struct guest *guest, bool frozen); /* its vCPUs */

/* offer.c: capabilities of a host, and why a guest is refused there (NONE: it is not). */
struct hv_capabilities *sim_offer(const struct host *host); /* NULL: no memory */
const char *sim_offer_pool(size_t i);                       /* NULL: no more */
enum sim_error sim_offer_refusal(const struct guest *guest, const struct host *host,
                                 const struct hv_migrate *how);

/* volume.c: storage, and disks that are migrated. */
uint64_t sim_disk_bytes(const struct sim_guest *guest);
void sim_disk_location(const struct sim_guest *guest, struct hv_location *out_place);
void sim_volumes_free(struct host *host);
void sim_volume_info(const struct host *host, const struct hv_location *location,
                     struct hv_volume_info *out_info);
bool sim_block_info(const struct guest *guest, const char *disk, struct hv_block_info *out_info);
enum sim_error sim_volume_refusal(const struct guest *guest, const struct host *to,
                                  const struct hv_migrate *how);
bool sim_volume_fits(const struct guest *guest, const struct host *to, const struct hv_volume *v);
void sim_volume_moved(struct guest *guest, struct host *to, const struct hv_volume *volume);

/* answer.c, order.c, describe.c: what a call gets when it reaches its host. */
void sim_answer(struct sim *sim, struct call *call);
void sim_answer_measure(struct sim *sim, struct call *call); /* its window is over */
void sim_order(struct sim *sim, struct call *call);
void sim_order_helper(struct sim *sim, struct call *call); /* need no libvirtd */
char *sim_describe_guest(const struct copy *copy, bool stored);
char *sim_describe_host(const struct host *host);
char *sim_describe_emulator(const struct host *host);

/* job.c: one migration. */
void sim_job_start(struct sim *sim, struct call *call);
void sim_job_cancel(struct sim *sim, struct job *job); /* abort, before post-copy */
void sim_job_start_postcopy(struct sim *sim, struct job *job);
void sim_job_path_changed(struct sim *sim, struct job *job); /* a host or the stream changed */
bool sim_job_monitor_is_blocked(const struct job *job);
bool sim_job_peers_connected(const struct job *job); /* the two libvirtds */

/* jobend.c: how a migration ends. */
void sim_job_succeed(struct sim *sim, struct job *job);
/* The target runs the guest and its answer is lost: the source resumes it too. */
void sim_job_lose_finish(struct sim *sim, struct job *job);
void sim_job_fail(struct sim *sim, struct job *job, enum sim_error why, int target_detail);
void sim_job_free(struct sim *sim, struct job *job);
void sim_job_hit(struct sim *sim, struct job *job, enum sim_fault_kind kind);
void sim_job_lose_peer(struct sim *sim, struct job *job);
void sim_job_hang(struct sim *sim, struct job *job, bool drops_target); /* on a dead socket */
void sim_job_hang_cancelling(struct sim *sim, struct job *job); /* parallel streams, aborted */
void sim_job_drop_target(struct sim *sim, struct job *job, int detail);
void sim_job_answer(struct sim *sim, struct job *job, enum sim_error why); /* its call, if any */
/* Closes the stream's sockets on one side. False: there are none. */
bool sim_job_close_sockets(struct sim *sim, struct job *job, bool at_source);
bool sim_job_yank(struct sim *sim, struct job *job); /* false: no stream */
void sim_job_drop_copy(struct sim *sim, struct job *job);

/* postcopy.c: post-copy that breaks, and its recovery. */
bool sim_job_in_postcopy(const struct job *job);
void sim_postcopy_gone(struct sim *sim, struct job *job, enum sim_error why); /* both know */
void sim_postcopy_break(struct sim *sim, struct job *job, bool at_source);
void sim_postcopy_half_reset(struct sim *sim, struct job *job); /* the source knows */
void sim_postcopy_lose_peer(struct sim *sim, struct job *job);
void sim_postcopy_path_changed(struct sim *sim, struct job *job);
void sim_postcopy_step_broken(struct sim *sim, struct job *job);
void sim_postcopy_step_recover(struct sim *sim, struct job *job);
/* By QEMU's monitor; NOT_BROKEN: refused. */
enum sim_error sim_postcopy_connect(struct sim *sim, struct job *job, unsigned port);
void sim_postcopy_resume(struct sim *sim, struct call *call, struct copy *source, struct host *to);

/* stream.c: bandwidth, progress, statistics. */
bool sim_stream_has_path(const struct job *job);        /* both ways */
bool sim_stream_has_return_path(const struct job *job); /* from target to source */
void sim_stream_close(struct sim *sim, struct job *job);
void sim_stream_update(struct sim *sim, struct job *job); /* flows or not, limits changed */
void sim_stream_settle(struct sim *sim, struct job *job); /* before dirtying changes */
void sim_stream_begin(struct sim *sim, struct job *job,
                      uint64_t bytes); /* an iteration, or the rest of it */
void sim_stream_stats(const struct sim *sim, const struct job *job, struct hv_job_stats *out_stats);

/* fault.c: the script. */
void sim_fault_arm(struct sim *sim, struct guest *guest); /* iteration 1 of its migration begins */
void sim_fault_detach_job(struct sim *sim, const struct job *job);
void sim_faults_free(struct sim *sim);

#endif
