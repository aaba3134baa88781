/* remedy.h - remedies for a stream that stands still, from the mildest up. Pure.
 *
 * Nothing times out by itself while two libvirtds see each other, and which remedy frees a guest,
 * or freezes it, depends on where the migration stands: an abort is right in pre-copy, freezes a
 * guest whose disks are kept alike, and hangs in the switch-over. What was measured is in the
 * rules of remedy_choose(); whatever cannot be proven safe is not done, and is said.
 *
 * Breaking a stream is safe by construction: the target lets the guest run only after the source
 * said that all has gone. Destroying the copy is not, so it needs both sides just read as standing
 * still for the migration.
 */
#ifndef ENGINE_DATA_REMEDY_H
#define ENGINE_DATA_REMEDY_H

#include "collector/sample.h"
#include "engine/model/turn/step.h"

enum {
    REMEDY_QUIET_MS = 2000,     /* nothing moved for so long: both sides are looked at */
    REMEDY_DISKS_MS = 4000,     /* ... with disks: the streams are broken. Before libvirt's own
                                   patience ends, which may be 6 s and cannot be asked */
    REMEDY_SWITCH_MS = 4000,    /* a switch-over that should be over by now, at least */
    REMEDY_SLACK_MS = 1500,     /* more than the rest should take */
    REMEDY_UNKNOWN_MS = 20000,  /* where nobody knows what that is */
    REMEDY_ABORT_MS = 5000,     /* an accepted abort whose call should be back by now */
    REMEDY_POSTCOPY_MS = 10000, /* a post-copy stream that is dead */
    REMEDY_AGAIN_MS = 10000,    /* before the same remedy is tried again */
    REMEDY_AWAY_MS = 3000,      /* it is looked at every second: else this process stood still */
    REMEDY_FRESH_MS = 2500,     /* how old a look may be that a remedy rests on */
    REMEDY_PROOF_MS = 1000,     /* bytes that still move then do not only fill a buffer */
};

struct remedy_facts {
    enum mode mode;
    bool has_disks;      /* that are copied along */
    bool parallel;       /* several streams */
    bool yank_may_hang;  /* the source's QEMU, with several streams: hypervisor/versions.def */
    bool tunnelled;      /* libvirt's keepalive ends it */
    int64_t quiet_ms;    /* nothing was measured to move for so long */
    int64_t silent_ms;   /* the same, or nothing could be measured: in a switch-over nothing can */
    int64_t stopped_ms;  /* how long the source stands still for the migration; -1: it does not.
                            libvirt says the same of a guest that its user pauses meanwhile, so only
                            a stream that is silent too makes a stalled switch-over */
    int64_t estimate_ms; /* what the rest should take; -1: no idea */
    int64_t aborted_ms;  /* since an abort was accepted, or we broke it; -1: neither */
    bool source_runs;    /* freshly seen running: the migration let go of it */
    bool source_stands, target_stands; /* freshly seen as paused for the migration */
    bool target_resumed;               /* it was seen to run there */
    bool postcopy_ordered;             /* ... or may any moment */
    bool source_failed;                /* freshly seen as a post-copy whose stream is dead */
    bool source_helps, target_helps;   /* it has a helper */
    uint64_t tried;                    /* bits by enum decision */
    int64_t since_remedy_ms;           /* since the last one was ordered; -1: none was */
};
/* The next step: a decision of the ladder's rows, DECISION_GOES_ON when nothing is wrong. text gets
 * a sentence with the numbers. */
enum decision remedy_choose(const struct remedy_facts *facts, char out_text[MONITOR_TEXT_MAX]);

/* A measurement of a running migration. */
void remedy_sample(struct job *job, const struct sample *sample, struct moment now);
/* The source stopped or went on, or the target went on. */
void remedy_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now);
/* Looks, decides and orders. */
void remedy_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* An order of the ladder's was answered. False: it is none. */
void remedy_answered(struct job *job, const struct err *err, struct moment now, struct effects *fx);
/* How a move that is to be stopped is stopped. With disks an abort over a dead path freezes the
 * guest, so bytes must be seen to move after it was asked for; where none do, the streams are
 * broken instead. One of the two within some seconds. */
enum remedy_stop { REMEDY_STOP_ABORT, REMEDY_STOP_YANK, REMEDY_STOP_NOT_YET };
enum remedy_stop remedy_how_to_stop(const struct job *job, struct moment now);

#endif
