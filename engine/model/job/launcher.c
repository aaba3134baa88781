/* launcher.c - see launcher.h. */
#include "engine/model/job/launcher.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3ULL;
    return (hash ^ 0xff) * 0x100000001B3ULL;
}

/* The job that brought the guest is a sufficient key: the node is in the job. */
static uint64_t hash_of(const char *uuid, const char *node, const char *stay, uint64_t seed)
{
    return mix(mix(mix(seed, uuid), stay[0] != '\0' ? "" : node), stay);
}

void launcher_pod(const char *guest_name, const char *guest_uuid, const char *node,
                  const char *stay, char out_name[static LAUNCHER_POD_MAX])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t dice = hash_of(guest_uuid, node, stay, 0xCBF29CE484222325ULL);
    char tail[6] = {0}, stem[201];
    dice ^= dice >> 29;
    for (unsigned i = 0; i < 5; i++, dice /= sizeof letters - 1)
        tail[i] = letters[dice % (sizeof letters - 1)];
    size_t n = 0;
    for (; guest_name[n] != '\0' && n + 1 < sizeof stem;
         n++) { /* libvirt allows more characters in a name */
        int c = tolower((unsigned char)guest_name[n]);
        stem[n] = (char)(isalnum(c) || c == '.' ? c : '-');
    }
    stem[n] = '\0';
    (void)snprintf(out_name, LAUNCHER_POD_MAX, "virt-launcher-%s-%s", stem, tail);
}

void launcher_uid(const char *guest_uuid, const char *node, const char *stay,
                  char out_uid[static LAUNCHER_UID_MAX])
{
    uint64_t a = hash_of(guest_uuid, node, stay, 0x84222325CBF29CE4ULL);
    uint64_t b = hash_of(guest_uuid, node, stay, a);
    (void)snprintf(out_uid, LAUNCHER_UID_MAX, "%08x-%04x-8%03x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16) & 0xffffU, (unsigned)a & 0xfffU,
                   ((unsigned)(b >> 48) & 0x3fffU) | 0x8000U,
                   (unsigned long long)(b & 0xffffffffffffULL));
}
