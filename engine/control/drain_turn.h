/* drain_turn.h - one check of one drain, shared by drain.c (the drain, its plan) and drain_guest.c
 * (its guests). Nobody else includes it. */
#ifndef ENGINE_CONTROL_DRAIN_TURN_H
#define ENGINE_CONTROL_DRAIN_TURN_H

#include "engine/control/drain.h"

struct drain_turn { /* one check of one drain */
    struct fleet *f;
    struct object *object; /* NULL: a plan only */
    struct drain *drain;
    struct node *node;
    struct moment now;
    struct effects *fx;
    bool may_act;    /* the node is connected, its guests are listed, the deadline has not passed */
    bool changed;    /* the status differs from the stored one */
    bool incomplete; /* a guest up on the node is not in the drain */
    int64_t next_ms;
};

int64_t drain_whole_seconds(int64_t wall_ms);
void drain_check_again_in(struct drain_turn *t, int64_t ms);
/* Sets the state of a guest; the turn has changed if that is news. */
__attribute__((format(printf, 5, 6))) void drain_show(struct drain_turn *t,
                                                      struct drain_guest *guest,
                                                      enum drain_guest_state state,
                                                      enum block block, const char *fmt, ...);
void drain_set_text(struct drain_turn *t, char *into, size_t bytes, const char *text);
#define DRAIN_SHOW_TEXT(t, array, text) drain_set_text((t), (array), sizeof(array), (text))

/* Reads the state of one guest and does what is due for it. */
void drain_check_guest(struct drain_turn *t, struct drain_guest *shown);
/* The deadline passed: those that waited are left, those that were moving may still arrive. */
void drain_show_left(struct drain_turn *t);
void drain_follow_guest(struct drain_turn *t, struct drain_guest *shown);

#endif
