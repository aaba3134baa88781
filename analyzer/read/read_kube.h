/* read_kube.h - evidence about migrations in objects of KubeVirt and Kubernetes. */
#ifndef ANALYZER_READ_READ_KUBE_H
#define ANALYZER_READ_READ_KUBE_H

#include "analyzer/read/read_pieces.h"
#include "base/json.h"

/* Whether it is an object of Kubernetes: it has a kind and matching members. list_kind is that of
 * the list it came in, or "". */
bool kube_is_object(struct json_object *object, const char *list_kind);
/* Reads what the object has about migrations; of a list, its items. Other kinds are skipped. `name`
 * is the input's. */
void kube_read(struct pieces *pieces, struct json_object *object, const char *list_kind,
               const char *name);

/* "namespaces/NS/pods/POD/..." of a must-gather, or any path with the name of a launcher in it:
 * the pod and the guest it belongs to. False when it names none. */
bool kube_tags_of_path(const char *path, struct tags *out_tags);

#endif
