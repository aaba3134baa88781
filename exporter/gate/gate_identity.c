/* gate_identity.c - credentials to an identity. A credential that is wrong is never ignored. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gnutls/gnutls.h>

#include "exporter/gate/gate_impl.h"

enum { AUTHORIZATION_MAX = 1024 };

/* The value behind a scheme, "Bearer" for one; NULL: another scheme. */
static const char *credential(const char *header, const char *scheme)
{
    size_t n = strlen(scheme);
    if (header == NULL || strncasecmp(header, scheme, n) != 0 || header[n] != ' ')
        return NULL;
    return header + n + strspn(header + n, " ");
}

static void find_login(uid_t uid, char *out, size_t n)
{
    struct passwd entry, *found = NULL;
    char texts[4096];
    if (getpwuid_r(uid, &entry, texts, sizeof texts, &found) == 0 && found != NULL)
        (void)text_copy(out, n, found->pw_name);
    else
        (void)snprintf(out, n, "%lu", (unsigned long)uid);
}

static enum gate_proof from_socket(const struct http_peer *peer, struct access_identity *out)
{
    out->source = SOURCE_SOCKET;
    out->role = peer->uid == 0 || peer->uid == geteuid() ? ROLE_ADMIN
                : peer->is_in_group                      ? ROLE_OPERATOR
                                                         : ROLE_VIEWER;
    find_login(peer->uid, out->name, sizeof out->name);
    return PROOF_FOUND;
}

static enum gate_proof from_token(struct gate *gate, const char *secret,
                                  struct access_identity *out)
{
    (void)pthread_rwlock_rdlock(&gate->lock);
    const struct token *token = token_find(gate->tokens, secret, clock_wall_ms(gate->clock));
    if (token != NULL) {
        out->source = SOURCE_TOKEN;
        out->role = token->role;
        TEXT_SET(out->name, token->name);
        TEXT_SET(out->ns, token->ns);
    }
    (void)pthread_rwlock_unlock(&gate->lock);
    return token != NULL ? PROOF_FOUND : PROOF_WRONG;
}

/* The role that the configuration gives; viewer where it gives none. */
static void grant(const struct gate *gate, enum access_source source, const char *name,
                  struct access_identity *out)
{
    out->source = source;
    (void)text_copy(out->name, sizeof out->name, name);
    if (out->role == ROLE_NONE)
        out->role = ROLE_VIEWER;
    for (size_t i = 0; i < gate->config.n_grants; i++) {
        const struct access_grant *row = &gate->config.grants[i];
        if (row->source != source || !text_equal(row->name, name))
            continue;
        out->role = row->role;
        TEXT_SET(out->ns, row->ns);
        return;
    }
}

/* Copies the hash: computing one takes longer than the lock may be held. */
static bool find_user(struct gate *gate, const char *name, char *out_hash, bool *out_has_users)
{
    bool is_known = false;
    (void)pthread_rwlock_rdlock(&gate->lock);
    *out_has_users = gate->web != NULL && gate->web->n_users > 0;
    for (size_t i = 0; *out_has_users && i < gate->web->n_users; i++)
        if (text_equal(gate->web->users[i].name, name))
            is_known = text_copy(out_hash, WEB_HASH_MAX, gate->web->users[i].hash);
    (void)pthread_rwlock_unlock(&gate->lock);
    return is_known;
}

static enum gate_proof from_password(struct gate *gate, const char *encoded, bool may_wait,
                                     struct access_identity *out)
{
    gnutls_datum_t from = {(unsigned char *)strdup(encoded), (unsigned)strlen(encoded)}, to = {0};
    char pair[AUTHORIZATION_MAX];
    bool is_read = from.data != NULL && gnutls_base64_decode2(&from, &to) == 0 &&
                   to.size < sizeof pair && memchr(to.data, '\0', to.size) == NULL;
    if (is_read) {
        memcpy(pair, to.data, to.size);
        pair[to.size] = '\0';
    }
    free(from.data);
    gnutls_free(to.data);
    char *colon = is_read ? strchr(pair, ':') : NULL;
    if (colon == NULL)
        return PROOF_WRONG;
    *colon = '\0';
    char hash[WEB_HASH_MAX];
    bool has_users, is_known = find_user(gate, pair, hash, &has_users);
    const struct password_try attempt = {.user = pair,
                                         .secret = colon + 1,
                                         .address = out->address,
                                         .hash = is_known ? hash : NULL,
                                         .now_ms = clock_mono_ms(gate->clock),
                                         .may_hash = may_wait};
    enum password_result result =
        has_users ? password_check(gate->password, &attempt) : PASSWORD_WRONG;
    if (result == PASSWORD_RIGHT)
        grant(gate, SOURCE_PASSWORD, pair, out);
    explicit_bzero(pair, sizeof pair);
    return result == PASSWORD_RIGHT     ? PROOF_FOUND
           : result == PASSWORD_UNKNOWN ? PROOF_LATER
           : result == PASSWORD_BUSY    ? PROOF_BUSY
                                        : PROOF_WRONG;
}

static bool is_allowed_san(const struct web_config *web, const char *name)
{
    for (size_t i = 0; i < web->n_allowed_sans; i++)
        if (text_equal(web->allowed_sans[i], name))
            return true;
    return web->n_allowed_sans == 0;
}

/* The first name that the configuration gives a role is the identity, else the first name. */
static enum gate_proof from_certificate(struct gate *gate, const struct http_peer *peer,
                                        struct access_identity *out)
{
    const char *chosen = peer->names[0];
    bool is_allowed = false;
    (void)pthread_rwlock_rdlock(&gate->lock);
    for (unsigned i = 0; i < peer->n_names; i++)
        is_allowed = is_allowed || gate->web == NULL || is_allowed_san(gate->web, peer->names[i]);
    (void)pthread_rwlock_unlock(&gate->lock);
    if (!is_allowed)
        return PROOF_WRONG;
    for (unsigned i = peer->n_names; i-- > 0;)
        for (size_t k = 0; k < gate->config.n_grants; k++)
            if (gate->config.grants[k].source == SOURCE_CERTIFICATE &&
                text_equal(gate->config.grants[k].name, peer->names[i]))
                chosen = peer->names[i];
    grant(gate, SOURCE_CERTIFICATE, chosen, out);
    return PROOF_FOUND;
}

/* Without a credential: on loopback a reader, unless the web configuration file names users. */
static enum gate_proof from_nothing(struct gate *gate, const struct http_peer *peer,
                                    struct access_identity *out)
{
    (void)pthread_rwlock_rdlock(&gate->lock);
    bool has_users = gate->web != NULL && gate->web->n_users > 0;
    (void)pthread_rwlock_unlock(&gate->lock);
    out->role = peer->is_loopback && !has_users ? ROLE_VIEWER : ROLE_NONE;
    return PROOF_FOUND;
}

enum gate_proof gate_identify(struct gate *gate, const struct http_request *request, bool may_wait,
                              struct access_identity *out_identity)
{
    const struct http_peer *peer = request->peer;
    const char *header = http_header(request, "Authorization");
    *out_identity = (struct access_identity){.source = SOURCE_ANONYMOUS};
    gate_client_address(gate, request, out_identity->address);
    const char *secret = credential(header, "Bearer"), *pair = credential(header, "Basic");
    if (secret != NULL)
        return from_token(gate, secret, out_identity);
    if (pair != NULL)
        return from_password(gate, pair, may_wait, out_identity);
    if (header != NULL)
        return PROOF_WRONG;
    if (peer->transport == HTTP_UNIX)
        return from_socket(peer, out_identity);
    if (peer->n_names > 0)
        return from_certificate(gate, peer, out_identity);
    return from_nothing(gate, peer, out_identity);
}
