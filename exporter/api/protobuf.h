/* protobuf.h - a body that a Kubernetes client sends as protobuf, as the JSON it stands for. Pure.
 *
 * Newer clients send kinds of Kubernetes' own so: `kubectl create namespace`, `kubectl drain`.
 * protobuf.def has the messages; another kind, a field that is not in them and a text that is cut
 * are refused. Depth and size are bounded by the table and the body. */
#ifndef EXPORTER_API_PROTOBUF_H
#define EXPORTER_API_PROTOBUF_H

#include "base/err.h"
#include "base/json.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* "k8s\0" and a runtime.Unknown with apiVersion, kind and the object. A new reference; NULL with
 * ERR_INVALID. */
struct json_object *protobuf_read(const char *body, size_t n, struct err *err);

#endif
