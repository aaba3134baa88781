/* versions.c - see versions.h. */
#include "hypervisor/versions.h"

#include <stdio.h>

static const struct {
    const char *name;
    unsigned long from, to;
    const char *why, *instead;
} quirks[HV_QUIRK_COUNT] = {
#define QUIRK(id, name, from, to, why, instead) [HV_QUIRK_##id] = {name, from, to, why, instead},
#include "hypervisor/versions.def"
#undef QUIRK
};

bool hv_quirk_of(enum hv_quirk quirk, unsigned long libvirt_version)
{
    return libvirt_version >= quirks[quirk].from && libvirt_version <= quirks[quirk].to;
}

const char *hv_quirk_name(enum hv_quirk quirk)
{
    return quirks[quirk].name;
}

const char *hv_quirk_why(enum hv_quirk quirk)
{
    return quirks[quirk].why;
}

const char *hv_quirk_instead(enum hv_quirk quirk)
{
    return quirks[quirk].instead;
}

void hv_version_text(unsigned long version, char out_text[static HV_VERSION_TEXT_MAX])
{
    (void)snprintf(out_text, HV_VERSION_TEXT_MAX, "%lu.%lu.%lu", version / 1000000,
                   version / 1000 % 1000, version % 1000);
}
