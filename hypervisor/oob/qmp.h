/* qmp.h - the few words of QEMU's monitor that break a migration's streams. Pure. */
#ifndef HYPERVISOR_OOB_QMP_H
#define HYPERVISOR_OOB_QMP_H

#include "base/json.h"
#include "hypervisor/types.h"

enum { QMP_ID_MAX = 32 };
enum qmp_kind {
    QMP_GREETING, /* oob: it can take orders while its main loop hangs */
    QMP_RETURN,   /* the answer to `id` */
    QMP_ERROR,    /* the same; text says why not */
    QMP_OTHER,    /* events and whatever else */
};
struct qmp_message {
    enum qmp_kind kind;
    bool oob;
    char id[QMP_ID_MAX];
    char uuid[HV_UUID_MAX]; /* RETURN of query-uuid, lower case; else empty */
    char text[HV_TEXT_MAX];
    struct json_object *returned; /* RETURN: owned by what it was read from */
};
/* What an object that came is; the message borrows from it. */
void qmp_read(struct json_object *object, struct qmp_message *out_message);

/* From the answer to query-yank the order, malloc'ed: the nodes of disks on their way, then memory;
 * nothing else, most of all no chardev of a monitor, is ours to break. verb: "execute" or
 * "exec-oob"; id may be NULL. NULL with err: REFUSED there is nothing to break. */
char *qmp_yank_order(struct json_object *instances, const char *verb, const char *id,
                     struct err *err);

#endif
