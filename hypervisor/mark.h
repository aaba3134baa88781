/* mark.h - who is migrating a guest, written into the guest itself.
 *
 * An element in the live metadata of the domain, in a namespace of its own: libvirt keeps one
 * element per namespace, so it never touches the guest's labels (urn:ferry:domain:1). Written with
 * the migrate call, travels with the guest, cleared on the host that owns the guest at the end.
 * What an appliance that lost its store, or another appliance, learns from it: which appliance (and
 * which life of it) migrates the guest, as which job, from where to where, and the port of the
 * stream.
 */
#ifndef HYPERVISOR_MARK_H
#define HYPERVISOR_MARK_H

#include "base/own.h"
#include "base/text.h"
#include "hypervisor/host.h"

#define HV_MARK_URI "urn:ferry:migration:1"
enum { HV_MARK_ID_MAX = 33, HV_MARK_JOB_MAX = 37, HV_MARK_TEXT_MAX = 1024 };

struct hv_mark {
    char appliance[HV_MARK_ID_MAX];
    int64_t appliance_epoch;                       /* grows with each restore of its store */
    char job[HV_MARK_JOB_MAX];                     /* uid; empty: no mark */
    int64_t epoch;                                 /* of the job */
    char source[HV_HOST_MAX], target[HV_HOST_MAX]; /* as that appliance calls them */
    unsigned port;                                 /* of the stream on the target; 0: not known */
};

/* The element as XML, into HV_MARK_TEXT_MAX bytes. */
void hv_mark_print(const struct hv_mark *mark, char *out_text);
/* From a whole definition, or from the element alone. False: there is none, or it cannot be read;
 * then *out_mark is empty. The text is not trusted. */
bool hv_mark_parse(const char *xml, struct hv_mark *out_mark);

#endif
