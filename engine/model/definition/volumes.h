/* volumes.h - disks that move to other storage along with their guest: what a request says, whether
 * the guest allows it, and whether the places at the target will do. Pure.
 *
 * A request is a list of {"name": "vda", "destination": {"path": ...} or {"pool": ..., "volume":
 * ...}}. The job keeps it as text; once the hosts were asked the text also says where each disk
 * lies, how big it is and, where the destination is bigger, that it becomes a part of it.
 */
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

/* stored: as volumes_text() wrote it; else as a request may say it, and what it may not say is
 * refused. ERR_INVALID: wrong type; ERR_UNPROCESSABLE: wrong value, a disk or place twice. */
MUST_CHECK bool volumes_parse(const char *text, bool stored, struct volumes *out_volumes,
                              struct err *err);
char *volumes_text(const struct volumes *volumes); /* malloc'ed JSON; NULL without memory */

/* May these disks of this guest be moved? needs NULL: its definition was not read yet, which is no
 * reason to refuse. ERR_REFUSED with KubeVirt's words, ERR_UNPROCESSABLE: no such disk. */
MUST_CHECK bool volumes_check(const struct volumes *volumes,
                              const struct host_requirements *requirements,
                              const struct migratable *migratable, struct err *err);

/* What both hosts said, in the order of the job's volumes. */
struct volume_facts {
    size_t n;
    struct {
        struct hv_block_info block; /* capacity 0: the source could not tell */
        struct hv_volume_info at;
    } list[HV_VOLUMES_MAX];
};

enum volumes_verdict {
    VOLUMES_UNASKED,
    VOLUMES_FIT,
    VOLUMES_MISSING, /* a place is not there and cannot be made: somebody may make it */
    VOLUMES_SMALL,   /* this node will not do now */
};
/* What a job knows about its volumes at its target, and which nodes would not do a moment ago. */
struct volumes_report {
    char node[HV_HOST_MAX]; /* the target it is about */
    enum volumes_verdict verdict;
    char text[VOLUMES_TEXT_MAX];
    uint64_t question; /* out, 0: none */
    int64_t asked_ms;  /* monotonic; 0: never */
    size_t n_small;
    struct {
        char node[HV_HOST_MAX], detail[VOLUMES_TEXT_MAX / 2];
        int64_t at_ms;
    } small[VOLUMES_SMALL_MAX];
};
/* Judges the answers; where they fit, sizes, sources and parts go into *volumes. */
enum volumes_verdict volumes_judge(struct volumes *volumes, const struct volume_facts *facts,
                                   char out_text[static VOLUMES_TEXT_MAX]);
/* Why that node was found too small, NULL: it was not. */
const char *volumes_small_at(const struct volumes_report *report, const char *node);
void volumes_note_small(struct volumes_report *report, const char *node, int64_t now_ms);
/* What was found before that moment may have changed. */
void volumes_forget_small(struct volumes_report *report, int64_t before_ms);

#endif
