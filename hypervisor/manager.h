/* manager.h - which program manages a guest, by the marks in the guest's definition (manager.def).
 *
 * A mark is proof that a manager made the guest; that there is none proves nothing: Pacemaker and
 * scripts leave no mark. For them the guest's own element has <ferry:managedBy>. */
#ifndef HYPERVISOR_MANAGER_H
#define HYPERVISOR_MANAGER_H

enum hv_manager {
#define MANAGER(id, name, title, help) HV_MANAGER_##id,
#include "hypervisor/manager.def"
#undef MANAGER
    HV_MANAGER_COUNT
};
const char *hv_manager_name(enum hv_manager manager);   /* "nova"; NONE: "" */
const char *hv_manager_title(enum hv_manager manager);  /* "OpenStack Nova" */
enum hv_manager hv_manager_from_name(const char *name); /* OTHER for names that are not listed */

struct _xmlNode;
/* Of a whole <domain>. The guest's own element comes first: its owner wrote it by hand. */
enum hv_manager hv_manager_of(const struct _xmlNode *domain);

#endif
