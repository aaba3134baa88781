/* identity.c - see identity.h. */
#include "exporter/access/identity.h"

#include <assert.h>
#include <stdio.h>

#include "base/own.h"
#include "base/text.h"

static const char *const role_names[ROLE_COUNT] = {
#define ROLE(id, name, help) [ROLE_##id] = name,
#include "exporter/access/roles.def"
#undef ROLE
};

static const struct {
    const char *prefix, *text;
} sources[SOURCE_COUNT] = {
#define SOURCE(id, prefix, text) [SOURCE_##id] = {prefix, text},
#include "exporter/access/source.def"
#undef SOURCE
};

const char *access_role_name(enum access_role role)
{
    assert(role < ROLE_COUNT);
    return role_names[role];
}

bool access_role_from_name(const char *name, enum access_role *out_role)
{
    for (enum access_role role = ROLE_NONE + 1; role < ROLE_COUNT; role++)
        if (text_equal(role_names[role], name)) {
            *out_role = role;
            return true;
        }
    return false;
}

void access_identity_id(const struct access_identity *identity, char *out, size_t n)
{
    bool is_named = identity->name[0] != '\0';
    (void)snprintf(out, n, "%s%s%s", sources[identity->source].prefix, is_named ? ":" : "",
                   identity->name);
    for (char *c = out; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

void access_identity_text(const struct access_identity *identity, char *out, size_t n)
{
    char name[ACCESS_NAME_MAX + 4] = "", ns[ACCESS_NAMESPACE_MAX + 20] = "";
    if (identity->name[0] != '\0')
        (void)snprintf(name, sizeof name, " \"%s\"", identity->name);
    if (identity->ns[0] != '\0')
        (void)snprintf(ns, sizeof ns, " in namespace \"%s\"", identity->ns);
    if (identity->role == ROLE_NONE)
        (void)snprintf(out, n, "%s%s without a role", sources[identity->source].text, name);
    else
        (void)snprintf(out, n, "%s%s with role %s%s", sources[identity->source].text, name,
                       access_role_name(identity->role), ns);
}
