/* versions.c - see versions.h. */
#include "hypervisor/versions.h"

#include <limits.h>
#include <stdio.h>

#define ANY ULONG_MAX

struct range {
    unsigned long from, to;
};

static const struct {
    const char *name;
    enum hv_quirk_side side;
    enum hv_quirk_shown shown;
    struct range libvirt, qemu;
    const char *why, *instead;
} quirks[HV_QUIRK_COUNT] = {
#define QUIRK(id, name, side, shown, libvirt_from, libvirt_to, qemu_from, qemu_to, why, instead) \
    [HV_QUIRK_##id] = {name,                                                                     \
                       HV_QUIRK_OF_##side,                                                       \
                       HV_QUIRK_##shown,                                                         \
                       {libvirt_from, libvirt_to},                                               \
                       {qemu_from, qemu_to},                                                     \
                       why,                                                                      \
                       instead},
#define NEWEST(libvirt, qemu)
#include "hypervisor/versions.def"
#undef QUIRK
#undef NEWEST
};

#define QUIRK(id, ...)
#define NEWEST(libvirt, qemu) \
    const unsigned long hv_newest_libvirt = (libvirt), hv_newest_qemu = (qemu);
#include "hypervisor/versions.def"
#undef QUIRK
#undef NEWEST

static bool is_in(struct range range, unsigned long version)
{
    bool bounded = range.from != 0 || range.to != ANY;
    return !bounded || (version != 0 && version >= range.from && version <= range.to);
}

bool hv_quirk_of(enum hv_quirk quirk, unsigned long libvirt, unsigned long qemu)
{
    return is_in(quirks[quirk].libvirt, libvirt) && is_in(quirks[quirk].qemu, qemu);
}

enum hv_quirk hv_quirk_next(int after, const struct hv_facts *facts, enum hv_quirk_side side,
                            enum hv_quirk_shown shown)
{
    for (int i = after + 1; i < HV_QUIRK_COUNT; i++) {
        bool concerns = side == HV_QUIRK_OF_EITHER || quirks[i].side == HV_QUIRK_OF_EITHER ||
                        quirks[i].side == side;
        if (concerns && quirks[i].shown == shown &&
            hv_quirk_of((enum hv_quirk)i, facts->libvirt_version, facts->hypervisor_version))
            return (enum hv_quirk)i;
    }
    return HV_QUIRK_COUNT;
}

const char *hv_quirk_name(enum hv_quirk quirk)
{
    return quirks[quirk].name;
}

enum hv_quirk_side hv_quirk_side(enum hv_quirk quirk)
{
    return quirks[quirk].side;
}

enum hv_quirk_shown hv_quirk_shown(enum hv_quirk quirk)
{
    return quirks[quirk].shown;
}

const char *hv_quirk_why(enum hv_quirk quirk)
{
    return quirks[quirk].why;
}

const char *hv_quirk_instead(enum hv_quirk quirk)
{
    return quirks[quirk].instead;
}

bool hv_is_newer_than_known(const struct hv_facts *facts)
{
    return facts->libvirt_version / 1000 > hv_newest_libvirt / 1000 ||
           facts->hypervisor_version / 1000 > hv_newest_qemu / 1000;
}

void hv_version_text(unsigned long version, char out_text[static HV_VERSION_TEXT_MAX])
{
    (void)snprintf(out_text, HV_VERSION_TEXT_MAX, "%lu.%lu.%lu", version / 1000000,
                   version / 1000 % 1000, version % 1000);
}
