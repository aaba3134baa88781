/* ladder.h - remedies for a stream that stands still, from the mildest up. Pure.
 *
 * Nothing times out by itself while two libvirtds see each other, and which remedy frees a guest,
 * or freezes it, depends on where the migration stands: an abort is right in pre-copy, freezes a
 * guest whose disks are kept alike, and hangs in the switch-over. What was measured is in the
 * rules of ladder_choose(); whatever cannot be proven safe is not done, and is said.
 *
 * Breaking a stream is safe by construction: the target lets the guest run only after the source
 * said that all has gone. Destroying the copy is not, so it needs both sides just read as standing
 * still for the migration.
 */
#ifndef ENGINE_DATA_LADDER_H
#define ENGINE_DATA_LADDER_H

#include "collector/sample.h"
#include "engine/model/step.h"

enum {
    LADDER_QUIET_MS = 2000,     /* nothing moved for so long: both sides are looked at */
    LADDER_DISKS_MS = 4000,     /* ... with disks: the streams are broken. Before libvirt's own
                                   patience ends, which may be 6 s and cannot be asked */
    LADDER_SWITCH_MS = 4000,    /* a switch-over that should be over by now, at least */
    LADDER_SLACK_MS = 1500,     /* more than the rest should take */
    LADDER_UNKNOWN_MS = 20000,  /* where nobody knows what that is */
    LADDER_ABORT_MS = 5000,     /* an accepted abort whose call should be back by now */
    LADDER_POSTCOPY_MS = 10000, /* a post-copy stream that is dead */
    LADDER_AGAIN_MS = 10000,    /* before the same remedy is tried again */
    LADDER_AWAY_MS = 3000,      /* it is looked at every second: else this process stood still */
    LADDER_FRESH_MS = 2500,     /* how old a look may be that a remedy rests on */
    LADDER_PROOF_MS = 1000,     /* bytes that still move then do not only fill a buffer */
};

struct ladder_facts {
    enum mode mode;
    bool has_disks;      /* that are copied along */
    bool parallel;       /* several streams */
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
enum decision ladder_choose(const struct ladder_facts *facts, char out_text[MONITOR_TEXT_MAX]);

/* A measurement of a running migration. */
void ladder_sample(struct job *job, const struct sample *sample, struct moment now);
/* The source stopped or went on, or the target went on. */
void ladder_event(struct job *job, bool at_source, const struct hv_event *event, struct moment now);
/* Looks, decides and orders. */
void ladder_advance(struct fleet *f, struct job *job, struct moment now, struct effects *fx);
/* An order of the ladder's was answered. False: it is none. */
void ladder_called(struct job *job, const struct err *err, struct moment now, struct effects *fx);
/* How a move that is to be stopped is stopped. With disks an abort over a dead path freezes the
 * guest, so bytes must be seen to move after it was asked for; where none do, the streams are
 * broken instead. One of the two within some seconds. */
enum ladder_stop { LADDER_STOP_ABORT, LADDER_STOP_YANK, LADDER_STOP_NOT_YET };
enum ladder_stop ladder_how_to_stop(const struct job *job, struct moment now);

#endif
