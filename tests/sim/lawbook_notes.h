/* lawbook_notes.h - the inside of the lawbook: what it wrote down. Only lawbook*.c include it. */
#ifndef TESTS_SIM_LAWBOOK_NOTES_H
#define TESTS_SIM_LAWBOOK_NOTES_H

#include <uthash.h>

#include "tests/sim/lawbook.h"

struct note_job {
    char uid[SNAPSHOT_UID_MAX], name[SNAPSHOT_NAME_MAX];
    char target[HV_HOST_MAX]; /* it was last seen to hold a place there; empty: none */
    enum pending pending;
    int64_t since_ms, until_ms;
    bool final, stored, gave_up; /* gave_up: its place in the fleet, being stuck for a minute */
    enum phase phase;
    enum outcome outcome;
    enum guest_at guest_at;
    int64_t ended_ms;
    UT_hash_handle hh;
};
struct note_guest {
    char uuid[HV_UUID_MAX], ns[HV_HOST_MAX], name[HV_NAME_MAX];
    uint64_t memory_kib;
    unsigned vcpus;
    bool may_shut_down, unmarked;   /* unmarked: somebody took its mark back since the crash */
    bool defined;                   /* it was when it was made */
    bool may_die;                   /* somebody else killed it, or asked for its end */
    bool denied;                    /* shut down against its strategy, by the last publication */
    unsigned unfinished;            /* jobs in the store */
    uint64_t ordered_bps;           /* bandwidth of its newest migrate order ... */
    char ordered[SNAPSHOT_UID_MAX]; /* ... of this job; empty: of the next one seen */
    UT_hash_handle hh;
};
struct note_document { /* as the store held it when Ferry crashed */
    enum object_kind kind;
    char ns[HV_HOST_MAX], name[SNAPSHOT_NAME_MAX], mark[HV_HOST_MAX];
    char *spec;
    bool touched, ours; /* written by somebody since; made by Ferry itself */
    struct note_document *next;
};

struct lawbook {
    struct lawbook_rules rules;
    struct lawbook_world world;
    struct store *store;
    struct note_job *jobs;
    struct note_guest *guests;
    struct note_document *documents; /* empty but for the time right after a crash */
    const struct snapshot *before;
    bool fresh; /* nothing was seen since the crash */
    uint64_t seen, digest, checks[LAW_COUNT];
    enum law law;
    char text[1024];
};

/* lawbook_laws.c: what a publication must obey, given the one before (may be NULL). */
void law_limits(struct lawbook *book, const struct snapshot *now);
void law_one_job(struct lawbook *book, const struct snapshot *now);
void law_one_promise(struct lawbook *book, const struct snapshot *now);
void law_gives_reason(struct lawbook *book, const struct snapshot *now);
void law_order(struct lawbook *book, const struct snapshot *now);
void law_may_come(struct lawbook *book, const struct snapshot *now);
/* lawbook_alive.c: every guest is somewhere, and an end that says otherwise is true. */
void law_alive(struct lawbook *book, const struct snapshot *now);
/* lawbook_lost.c: what it must have in common with the store, and with what was before a crash. */
void law_nothing_lost(struct lawbook *book, const struct snapshot *now);
void law_after_crash(struct lawbook *book, const struct snapshot *now);
void law_kept(struct lawbook *book); /* everything ever seen is in the store, as it was */

/* lawbook.c */
bool holds_slot_at_target(
    const struct snapshot_job *job); /* a target launcher was promised its node */
struct note_job *note_of(struct lawbook *book, const char *uid);
struct note_guest *guest_of(struct lawbook *book, const char *uuid);
const struct snapshot_node *node_in(const struct snapshot *s, const char *name);
const struct snapshot_guest *guest_in(const struct snapshot *s, const char *uuid);
const struct snapshot_job *job_in(const struct snapshot *s, const char *uid);

#endif
