/* life_inside.h - what life.c and life_build.c share. */
#ifndef BENCH_LIFE_INSIDE_H
#define BENCH_LIFE_INSIDE_H

#include "bench/life.h"
#include "engine/core/reconcile.h"

enum {
    LIFE_ZONES = 10,
    LIFE_POLICIES = 20,
    LIFE_CPUS = 4, /* kinds of CPU that guests see */
    LIFE_LOST_MAX = 16,
};
struct life_move { /* a migration whose memory moves */
    char uid[JOB_UID_MAX];
    unsigned guest, target;
    uint64_t call_id;
    int64_t samples;
};
struct life_answers { /* a ring of answers of hosts that the core has not got yet */
    struct input *list;
    size_t head, n, capacity;
};
struct life_requests { /* metadata of guests, as JSON */
    char web[64], db[64], nowhere[64], apart[256], zone[LIFE_ZONES][64];
};
struct life {
    struct life_size size;
    struct fleet *fleet;
    struct effects fx;
    struct moment now;
    uint64_t random;
    uint64_t asking_ns;
    unsigned *home; /* host of each guest */
    struct life_move *moves;
    size_t n_moves, moves_capacity;
    struct life_answers answers;
    unsigned lost[LIFE_LOST_MAX]; /* hosts that are unreachable now */
    size_t n_lost;
    unsigned waiting; /* to be kept up */
    struct life_requests requests;
    size_t host_bytes, guest_bytes; /* memory that all of them took */
    struct life_figures *figures;   /* NULL: not counted */
};

uint64_t life_dice(struct life *life, uint64_t sides);
void *life_memory(void *memory); /* ends the program when there is none */
void life_host_name(unsigned host, char out_name[static HV_HOST_MAX]);
void life_guest_uuid(unsigned guest, char out_uuid[static HV_UUID_MAX]);
void life_namespace_name(const struct life *life, unsigned guest,
                         char out_name[static HV_HOST_MAX]);
void life_guest_name(unsigned guest, char out_name[static HV_NAME_MAX]);
/* One input through the core; false: a request was refused. */
bool life_feed(struct life *life, struct input *input);

/* life_build.c */
void life_build(struct life *life);
void life_describe_guest(struct life *life, unsigned guest, struct hv_guest *out_guest);
void life_describe_host(unsigned host, struct hv_facts *out_facts);

#endif
