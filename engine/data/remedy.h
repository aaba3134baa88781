/* remedy.h - remedies for a stalled stream, the mildest first. Pure.
 *
 * Nothing times out by itself while two libvirtds are connected, and which remedy frees a guest,
 * or freezes it, depends on the stage of the migration: an abort is right in pre-copy, freezes a
 * guest with mirrored disks, and hangs in the switch-over. The rules of remedy_choose() come
 * from measurements; a remedy that is not proven safe is not applied, and the decision text has
 * the reason.
 *
 * A pre-copy without data: the guest runs, so the stream is aborted (several streams or disks:
 * broken by a yank, which an abort does not do there), before the target's keepalive ends. While
 * the source's QEMU uses the stream or still cancels, the target's copy is not destroyed: its last
 * packet makes QEMU close the socket that it waits for, and from then on neither abort nor yank has
 * an effect; only the helper, or the path, ends it.
 *
 * Breaking a stream is safe by construction: the target runs the guest only after the source has
 * sent everything. Destroying the copy is not, so it needs both sides just observed as paused
 * for the migration. */
#ifndef ENGINE_DATA_REMEDY_H
#define ENGINE_DATA_REMEDY_H

#include "collector/sample.h"
#include "engine/model/turn/step.h"

enum {
    REMEDY_QUIET_MS = 2000,  /* no data for so long: both sides are observed */
    REMEDY_DISKS_MS = 4000,  /* ... with disks: the streams are broken. Before libvirt's keepalive,
                                which may be 6 s and cannot be queried */
    REMEDY_SWITCH_MS = 4000, /* minimum time for a switch-over */
    REMEDY_SLACK_MS = 1500,  /* on top of the estimate */
    REMEDY_UNKNOWN_MS = 20000, /* without an estimate */
    /* A pre-copy stream without data is aborted well before the target's keepalive (25 to 29 s by
     * default) makes it drop its copy: after that an abort has no effect. */
    REMEDY_PRECOPY_MS = 12000,
    REMEDY_CANCEL_MS = 2000,     /* for QEMU to cancel after an accepted abort, then a yank */
    REMEDY_YANKED_MS = 3000,     /* ... and after a yank, then the helper */
    REMEDY_KILL_MS = 60000,      /* before the helper is asked again */
    REMEDY_KEEPALIVE_MS = 35000, /* for the call to return once QEMU is done: libvirt's keepalive */
    REMEDY_POSTCOPY_MS = 10000,  /* a post-copy stream without data is dead */
    REMEDY_AGAIN_MS = 10000,     /* before the same remedy is repeated */
    REMEDY_AWAY_MS =
        3000, /* advanced every second: a longer gap means that this process was stopped */
    REMEDY_FRESH_MS = 2500, /* maximum age of an observation behind a remedy */
    REMEDY_PROOF_MS = 1000, /* bytes that move later than this do not only fill a buffer */
    REMEDY_SHOWN_MS = 5000, /* how long nothing moves is shown anew after so long */
};

struct remedy_facts {
    enum mode mode;
    bool has_disks;      /* that are migrated too */
    bool parallel;       /* several streams */
    bool yank_may_hang;  /* the source's QEMU, with several streams: hypervisor/versions.def */
    bool tunnelled;      /* libvirt's keepalive ends it */
    int64_t quiet_ms;    /* no data measured for so long */
    int64_t silent_ms;   /* the same, or no statistics: a switch-over has none */
    int64_t stopped_ms;  /* how long the source is paused for the migration; -1: it is not. libvirt
                            reports the same for a guest that its user pauses, so only a stream
                            without data makes a stalled switch-over */
    int64_t estimate_ms; /* time for the remaining bytes; -1: not known */
    int64_t aborted_ms; /* since an abort was accepted, or a remedy broke the stream; -1: neither */
    int64_t yanked_ms;  /* since a yank was carried out; -1: none */
    bool abort_asked;   /* and not refused or given up */
    enum hv_stream stream;             /* what the source's QEMU said a moment ago */
    bool source_runs;                  /* recently observed running: the migration released it */
    bool source_paused, target_paused; /* recently observed as paused for the migration */
    bool target_resumed;               /* observed running there */
    bool postcopy_ordered;             /* ... or may at any moment */
    bool source_failed;                /* recently observed as a post-copy with a dead stream */
    bool source_helps, target_helps;   /* it has a helper */
    bool forced;                       /* post-copy: an operator decided that the stream is dead */
    bool order_is_out;                 /* the last remedy was not answered yet */
    bool copy_dropped;                 /* the target's copy was destroyed */
    uint64_t tried;                    /* bits by enum decision */
    int64_t since_remedy_ms;           /* since the last order; -1: none */
};
/* The facts of a job, as of now. */
void remedy_gather(struct fleet *f, const struct job *job, struct moment now,
                   struct remedy_facts *out);
/* The next decision: a remedy's row, or DECISION_GOES_ON when nothing is wrong. text gets a
 * sentence with the numbers. */
enum decision remedy_choose(const struct remedy_facts *facts, char out_text[MONITOR_TEXT_MAX]);

/* The source stopped or resumed, or the target resumed. */
void remedy_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now);
/* Observes, decides and orders. */
void remedy_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* Somebody else's migration: keeps what remedy_choose() goes by. False: there is no stream. */
bool remedy_watch(struct job *job, struct moment now);
/* The answer to an order. False: not a remedy's. */
void remedy_answered(struct job *job, const struct err *err, struct moment now, struct effects *fx);
/* How to stop a migration. With disks an abort over a dead path freezes the guest, so bytes must
 * be seen moving after the request; where none do, the streams are broken instead. One of the
 * two within some seconds. */
enum remedy_stop { REMEDY_STOP_ABORT, REMEDY_STOP_YANK, REMEDY_STOP_NOT_YET };
enum remedy_stop remedy_how_to_stop(const struct job *job, struct moment now);

#endif
