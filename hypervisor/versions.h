/* versions.h - what versions of libvirt and QEMU cannot do: the table versions.def. */
#ifndef HYPERVISOR_VERSIONS_H
#define HYPERVISOR_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "hypervisor/types.h"

enum hv_quirk {
#define QUIRK(id, ...) HV_QUIRK_##id,
#define NEWEST(libvirt, qemu)
#include "hypervisor/versions.def"
#undef QUIRK
#undef NEWEST
    HV_QUIRK_COUNT
};
enum hv_quirk_side { HV_QUIRK_OF_SOURCE, HV_QUIRK_OF_TARGET, HV_QUIRK_OF_EITHER };
enum hv_quirk_shown { HV_QUIRK_REFUSES, HV_QUIRK_NOTE, HV_QUIRK_QUIET };

/* Have libvirt and QEMU of these versions the quirk? What is not known (0) has none. */
bool hv_quirk_of(enum hv_quirk quirk, unsigned long libvirt, unsigned long qemu);
/* The first one after `after` (-1: from the beginning) that a host with these facts has as source,
 * or as target, and that is shown so; COUNT: none. */
enum hv_quirk hv_quirk_next(int after, const struct hv_facts *facts, enum hv_quirk_side side,
                            enum hv_quirk_shown shown);
const char *hv_quirk_name(enum hv_quirk quirk);
enum hv_quirk_side hv_quirk_side(enum hv_quirk quirk);
enum hv_quirk_shown hv_quirk_shown(enum hv_quirk quirk);
const char *hv_quirk_why(enum hv_quirk quirk);
const char *hv_quirk_instead(enum hv_quirk quirk);

/* One of the two is newer, by more than a micro version, than anything the table was made with. */
bool hv_is_newer_than_known(const struct hv_facts *facts);
extern const unsigned long hv_newest_libvirt, hv_newest_qemu;

enum { HV_VERSION_TEXT_MAX = 32 };
/* "11.3.0" */
void hv_version_text(unsigned long version, char out_text[static HV_VERSION_TEXT_MAX]);

#endif
