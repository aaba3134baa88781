/* decode.h - conversion between libvirt's types and Ferry's: flags, typed parameters, XML, QEMU's
 * JSON. All of it is pure and is tested without a host.
 */
#ifndef HYPERVISOR_LIBVIRT_DECODE_H
#define HYPERVISOR_LIBVIRT_DECODE_H

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "hypervisor/types.h"
#include "hypervisor/volume.h"

/* migrate_params.c: flags and parameters of a migration, except those that depend on the guest's
 * definition. Needs virInitialize(). */
struct migrate_params {
    unsigned flags;
    virTypedParameterPtr items;
    int n, capacity;
    bool failed; /* something could not be added */
};
struct migrate_params libvirt_migrate_params(const struct hv_migrate *how,
                                             const struct hv_host *target);
/* Definitions that travel with the call, because something in them changes: bits. */
enum { LIBVIRT_SENDS_LIVE = 1, LIBVIRT_SENDS_STORED = 2 };
unsigned libvirt_sent_definitions(const struct hv_migrate *how);
void libvirt_migrate_params_text(struct migrate_params *params, const char *name, const char *text);
void libvirt_migrate_params_fini(struct migrate_params *params);

/* rescue.c: the QMP command that breaks a migration's streams, from QEMU's answer to query-yank,
 * malloc'ed; NULL with err: there are none. */
char *libvirt_yank_order(const char *instances, struct err *err);
bool libvirt_monitor_accepted(const char *text, struct err *err);
/* rescue.c: QEMU's answer to query-migrate. */
bool libvirt_migration_decode(const char *text, struct hv_migration *out, struct err *err);

/* dirty.c: bytes a second; false: not measured (yet). */
bool libvirt_dirty_decode(const virTypedParameter *params, int n, uint64_t *out_bps);

/* destination.c: the definition with new locations of those disks, malloc'ed; NULL with err. live:
 * a missing disk is an error, and slices of destinations are written. */
char *libvirt_destination(const char *xml, const struct hv_volume *volumes, size_t n, bool live,
                          struct err *err);

/* plug.c: the definition with interfaces of networks and bridges plugged as in the stored one, by
 * their address, malloc'ed; NULL with err. */
char *libvirt_plugged(const char *xml, const char *stored_xml, struct err *err);

/* stats.c */
void libvirt_stats_decode(const virTypedParameter *params, int n, struct hv_job_stats *out_stats);

/* metadata.c: Ferry's element in a guest's definition, and facts in a host's capabilities. */
/* xml may be NULL: no such element. The texts are malloc'ed JSON objects, NULL when empty. */
void libvirt_metadata_decode(const char *xml, char *out_ns, char **out_labels, char **out_settings);
/* capabilities.c: machine types and huge pages; what is not in the XML stays unknown. */
void libvirt_capabilities_decode(const char *xml, struct hv_capabilities *capabilities);
bool libvirt_capabilities_pool_path(const char *xml, char *out_path, size_t bytes);
bool libvirt_capabilities_link(const char *xml, struct hv_bridge *out_link);
void libvirt_metadata_host(const char *capabilities, struct hv_facts *facts);

/* definition.c: the parts of a guest's definition that its CPU depends on; NULL: not given.
 * Owned. */
struct definition {
    char *cpu, *emulator, *arch, *machine, *virt_type;
};
bool libvirt_definition_decode(const char *xml, struct definition *out_definition);
void libvirt_definition_fini(struct definition *definition);

#endif
