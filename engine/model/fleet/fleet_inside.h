/* fleet_inside.h - what the files of the fleet share: fleet.c (nodes, namespaces), fleet_guests.c,
 * fleet_jobs.c, fleet_objects.c. */
#ifndef ENGINE_MODEL_FLEET_FLEET_INSIDE_H
#define ENGINE_MODEL_FLEET_FLEET_INSIDE_H

#include "engine/model/fleet/fleet.h"

void guest_free(struct guest *guest);
/* Removes and frees a guest that has no domain and no job. */
void fleet_forget_guest(struct fleet *f, struct guest *guest);
void fleet_free_objects(struct fleet *f);

/* Removes every domain on the node, and guests with their last one. */
void fleet_forget_domains(struct fleet *f, struct node *node);

#endif
