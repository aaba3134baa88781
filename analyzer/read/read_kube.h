/* read_kube.h - what objects of KubeVirt and Kubernetes say about migrations. */
#ifndef ANALYZER_READ_READ_KUBE_H
#define ANALYZER_READ_READ_KUBE_H

#include "analyzer/read/read_pieces.h"
#include "base/json.h"

/* Whether it looks like an object of Kubernetes: it has a kind and what goes with it. list_kind
 * is that of the list it came in, or "". */
bool kube_is_object(struct json_object *object, const char *list_kind);
/* Takes from the object what is about migrations; lists stand for their items. Kinds that tell
 * nothing are passed over. `name` is the input's. */
void kube_read(struct pieces *pieces, struct json_object *object, const char *list_kind,
               const char *name);

/* "namespaces/NS/pods/POD/..." of a must-gather, or any path with the name of a launcher in it:
 * the pod and the guest it belongs to. False when it names none. */
bool kube_tags_of_path(const char *path, struct tags *out_tags);

#endif
