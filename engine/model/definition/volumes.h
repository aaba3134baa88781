/* volumes.h - disks that are migrated to other storage together with their guest: what a request
 * contains, whether the guest allows it, and whether the destinations are suitable. Pure.
 *
 * A request is a list of {"name": "vda", "destination": {"path": ...} or {"pool": ..., "volume":
 * ...}}. The job keeps it as text; after the hosts answered, the text also has each disk's
 * source and size and, where the destination is bigger, that only a part of it is used. */
#ifndef ENGINE_MODEL_DEFINITION_VOLUMES_H
#define ENGINE_MODEL_DEFINITION_VOLUMES_H

#include "base/own.h"
#include "engine/model/definition/host_requirements.h"
#include "engine/model/definition/migratable.h"
#include "hypervisor/volume.h"

enum { VOLUMES_TEXT_MAX = 256, VOLUMES_SMALL_MAX = 8 };

struct volumes {
    size_t n;
    struct {
        struct hv_volume is;
        struct hv_location from; /* empty: not known */
        uint64_t capacity;       /* 0: not known */
    } list[HV_VOLUMES_MAX];
};

/* stored: as volumes_text() wrote it; else as in a request, and other members are refused.
 * ERR_INVALID: wrong type; ERR_UNPROCESSABLE: wrong value, a disk or destination twice. */
MUST_CHECK bool volumes_parse(const char *text, bool stored, struct volumes *out_volumes,
                              struct err *err);
char *volumes_text(const struct volumes *volumes); /* malloc'ed JSON; NULL without memory */

/* May these disks of this guest be migrated? requirements NULL: its definition was not read yet,
 * which is no reason to refuse. ERR_REFUSED with KubeVirt's text, ERR_UNPROCESSABLE: no such
 * disk. */
MUST_CHECK bool volumes_check(const struct volumes *volumes,
                              const struct host_requirements *requirements,
                              const struct migratable *migratable, struct err *err);

/* The answers of both hosts, in the order of the job's volumes. */
struct volume_facts {
    size_t n;
    struct {
        struct hv_block_info block; /* capacity 0: not known to the source */
        struct hv_volume_info at;
    } list[HV_VOLUMES_MAX];
};

enum volumes_result {
    VOLUMES_UNASKED,
    VOLUMES_FIT,
    VOLUMES_MISSING, /* a destination is missing and cannot be created: an operator may create it */
    VOLUMES_SMALL,   /* this node is unsuitable now */
};
/* What a job knows about its volumes on its target, and which nodes were unsuitable a moment
 * ago. */
struct volumes_report {
    char node[HV_HOST_MAX]; /* the target it is about */
    enum volumes_result verdict;
    char text[VOLUMES_TEXT_MAX];
    uint64_t question; /* number of the open query; 0: none */
    int64_t asked_ms;  /* monotonic; 0: never */
    size_t n_small;
    struct {
        char node[HV_HOST_MAX], detail[VOLUMES_TEXT_MAX / 2];
        int64_t at_ms;
    } small[VOLUMES_SMALL_MAX];
};
/* Checks the answers; where they fit, adds sizes, sources and parts to *volumes. */
enum volumes_result volumes_check_facts(struct volumes *volumes, const struct volume_facts *facts,
                                        char out_text[static VOLUMES_TEXT_MAX]);
/* Disks that stay where they are and that the target must have under the same name, into out:
 * only their names. requirements NULL: none is known. False: there are none. */
bool volumes_by_name(const struct host_requirements *requirements, struct volumes *out);
/* Has the target what the source has, as far as names and sizes tell? FIT, or SMALL: the node is
 * unsuitable, also when that could not be checked. */
enum volumes_result volumes_check_by_name(const struct volume_facts *facts,
                                          char out_text[static VOLUMES_TEXT_MAX]);
/* Why that node had too little space; NULL: it had not. */
const char *volumes_small_at(const struct volumes_report *report, const char *node);
void volumes_note_small(struct volumes_report *report, const char *node, int64_t now_ms);
/* Results from before that moment may be outdated. */
void volumes_forget_small(struct volumes_report *report, int64_t before_ms);

#endif
