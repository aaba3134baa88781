/* identity.h - who a client is: never what it claims, always what the transport or a secret proves.
 *
 * Pure: a role, a namespace and a name; reading credentials is exporter/gate/gate_identity.c.
 */
#ifndef EXPORTER_ACCESS_IDENTITY_H
#define EXPORTER_ACCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

enum access_role {
#define ROLE(id, name, help) ROLE_##id,
#include "exporter/access/roles.def"
#undef ROLE
    ROLE_COUNT
};
const char *access_role_name(enum access_role role);
bool access_role_from_name(const char *name, enum access_role *out_role); /* not "none" */

/* How the client proved who it is. */
enum access_source {
#define SOURCE(id, prefix, text) SOURCE_##id,
#include "exporter/access/source.def"
#undef SOURCE
    SOURCE_COUNT
};

enum { ACCESS_NAME_MAX = 64, ACCESS_NAMESPACE_MAX = 64, ACCESS_ADDRESS_MAX = 64 };

struct access_identity {
    enum access_source source;
    enum access_role role;
    char name[ACCESS_NAME_MAX];    /* "" for anonymous */
    char ns[ACCESS_NAMESPACE_MAX]; /* the role holds in this namespace; "": in all */
    char address[ACCESS_ADDRESS_MAX];
};

/* "token:ci", "socket:root", "anonymous": as stored and logged. Printable ASCII. */
void access_identity_id(const struct access_identity *identity, char *out, size_t n);
/* 'token "ci" with role viewer in namespace "web"': for messages. */
void access_identity_text(const struct access_identity *identity, char *out, size_t n);

#endif
