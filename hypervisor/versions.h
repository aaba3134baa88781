/* versions.h - calls that versions of libvirt do not survive: the table versions.def. */
#ifndef HYPERVISOR_VERSIONS_H
#define HYPERVISOR_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>

enum hv_quirk {
#define QUIRK(id, name, from, to, why, instead) HV_QUIRK_##id,
#include "hypervisor/versions.def"
#undef QUIRK
    HV_QUIRK_COUNT
};

/* Has libvirt of that version the quirk? A version that is not known (0) has none. */
bool hv_quirk_of(enum hv_quirk quirk, unsigned long libvirt_version);
const char *hv_quirk_name(enum hv_quirk quirk);
const char *hv_quirk_why(enum hv_quirk quirk);
const char *hv_quirk_instead(enum hv_quirk quirk);

enum { HV_VERSION_TEXT_MAX = 32 };
/* "11.3.0" */
void hv_version_text(unsigned long version, char out_text[static HV_VERSION_TEXT_MAX]);

#endif
