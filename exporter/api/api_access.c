/* api_access.c - what a client may do and who it is: Kubernetes' reviews about oneself (`kubectl
 * auth can-i`, `kubectl auth whoami`), and /access: how the appliance is reached from elsewhere.
 * Each is answered from exporter/access/roles.def; nothing is changed. */
#include <string.h>

#include "exporter/access/roles.h"
#include "exporter/api/api_request.h"
#include "exporter/exporter_impl.h"

static const char *text_in(struct json_object *object, const char *path)
{
    struct err ignored = {0};
    const char *text = "";
    return object != NULL && json_get_text(object, path, "", &text, &ignored) ? text : "";
}

/* ---- kubectl sends these reviews as protobuf, and reads JSON ---- */

struct part {
    const unsigned char *at;
    size_t n;
};

/* One number of at most 32 bits, seven bits a byte. */
static bool take_number(struct part *from, uint32_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 32 && from->n > 0; shift += 7) {
        unsigned char byte = *from->at++;
        from->n--;
        *out |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The bytes of a field; empty when there is none. Only fields with a length are known here. */
static struct part find_field(struct part message, unsigned wanted)
{
    struct part found = {0};
    uint32_t tag, n;
    while (message.n > 0 && take_number(&message, &tag)) {
        if ((tag & 7) == 0) {
            if (!take_number(&message, &n))
                break;
            continue;
        }
        if ((tag & 7) != 2 || !take_number(&message, &n) || n > message.n)
            break;
        if (tag >> 3 == wanted)
            found = (struct part){message.at, n};
        message.at += n;
        message.n -= n;
    }
    return found;
}

static void add_fields(struct json_object *out, const char *key, struct part message,
                       const char *const *names)
{
    if (message.n == 0)
        return;
    struct json_object *object = json_add_object(out, key);
    for (unsigned i = 0; names[i] != NULL; i++) {
        struct part text = find_field(message, i + 1);
        if (text.n > 0 && text.n < 256 && names[i][0] != '\0')
            json_add(object, names[i],
                     json_object_new_string_len((const char *)text.at, (int)text.n));
    }
}

/* runtime.Unknown {2: raw}; raw {2: spec}; spec {1: resourceAttributes or namespace,
 * 2: nonResourceAttributes}. */
static struct json_object *read_protobuf(const struct http_request *request, bool is_rules)
{
    static const char *const resource[] = {"namespace", "verb",        "group", "version",
                                           "resource",  "subresource", "name",  NULL};
    static const char *const path[] = {"path", "verb", NULL}, *const rules[] = {"namespace", NULL};
    struct json_object *body = json_object_new_object();
    struct part whole = {(const unsigned char *)request->body + 4, request->body_bytes - 4};
    struct part spec = find_field(find_field(whole, 2), 2);
    if (is_rules) {
        add_fields(body, "spec", spec, rules);
        return body;
    }
    struct json_object *out = json_add_object(body, "spec");
    add_fields(out, "resourceAttributes", find_field(spec, 1), resource);
    add_fields(out, "nonResourceAttributes", find_field(spec, 2), path);
    return body;
}

static bool is_protobuf(const struct http_request *request)
{
    const char *type = http_header(request, "Content-Type");
    return type != NULL && text_has_prefix(type, "application/vnd.kubernetes.protobuf") &&
           request->body_bytes >= 4 && memcmp(request->body, "k8s", 4) == 0;
}

static struct json_object *review_of(const struct api_call *call, const char *kind,
                                     const char *version, struct http_reply *reply)
{
    struct err err = {0};
    bool is_binary = is_protobuf(call->request);
    if (!is_binary && !api_is_json(call->request, reply))
        return NULL;
    OWNED(json_object) body = is_binary
                                  ? read_protobuf(call->request, strstr(kind, "Rules") != NULL)
                                  : api_body(call->request, &err);
    if (body == NULL) {
        reply_err(reply, &err, KIND_NONE, NULL);
        return NULL;
    }
    json_add_text(body, "apiVersion", version);
    json_add_text(body, "kind", kind);
    return TAKE(body);
}

/* A path as a client writes it: the pattern of its route. */
static const char *pattern_of(const char *path)
{
    struct route_parts parts;
    char allow[ROUTE_ALLOW_MAX];
    const struct http_route *route = route_find("GET", path, &parts, allow);
    return route == NULL ? path : route->pattern;
}

static struct access_action action_in(struct json_object *body)
{
    struct json_object *resource = json_at(body, "spec.resourceAttributes");
    if (resource == NULL)
        return (struct access_action){
            .verb = "get", .path = pattern_of(text_in(body, "spec.nonResourceAttributes.path"))};
    return (struct access_action){.verb = text_in(resource, "verb"),
                                  .group = text_in(resource, "group"),
                                  .resource = text_in(resource, "resource"),
                                  .subresource = text_in(resource, "subresource"),
                                  .ns = text_in(resource, "namespace")};
}

void serve_access_review(const struct api_call *call, struct http_reply *out_reply)
{
    char why[ACCESS_WHY_MAX] = "";
    struct json_object *body =
        review_of(call, "SelfSubjectAccessReview", "authorization.k8s.io/v1", out_reply);
    if (body == NULL)
        return;
    struct access_action action = action_in(body);
    bool is_allowed = access_allows(call->request->identity, &action, why);
    struct json_object *status = json_object_new_object();
    json_add_bool(status, "allowed", is_allowed);
    if (!is_allowed)
        json_add_text(status, "reason", why);
    json_add(body, "status", status);
    reply_json(out_reply, 201, body);
}

/* ---- all that one may do ---- */

static void add_words(struct json_object *list, const char *words)
{
    for (const char *at = words; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, ",");
        json_add(list, "", json_object_new_string_len(at, (int)n));
        at += n + (at[n] == ',');
    }
}

static void add_rule(struct json_object *status, const struct access_rule *rule)
{
    bool is_path = rule->path != NULL;
    struct json_object *row = json_add_object(
        json_object_object_get(status, is_path ? "nonResourceRules" : "resourceRules"), "");
    add_words(json_add_array(row, "verbs"), is_path ? "get" : rule->verbs);
    if (is_path) {
        json_add_text(json_add_array(row, "nonResourceURLs"), "", rule->path);
        return;
    }
    json_add_text(json_add_array(row, "apiGroups"), "", rule->group);
    json_add_text(json_add_array(row, "resources"), "", rule->resource);
}

static bool may(const struct access_identity *identity, const struct access_rule *rule,
                const char *ns)
{
    return identity->role >= rule->role &&
           (identity->ns[0] == '\0' || rule->scope == SCOPE_EVERY ||
            (rule->scope == SCOPE_NAMESPACE && strcmp(identity->ns, ns) == 0));
}

void serve_rules_review(const struct api_call *call, struct http_reply *out_reply)
{
    size_t n;
    const struct access_rule *rules = access_rules(&n);
    struct json_object *body =
        review_of(call, "SelfSubjectRulesReview", "authorization.k8s.io/v1", out_reply);
    if (body == NULL)
        return;
    struct json_object *status = json_object_new_object();
    (void)json_add_array(status, "resourceRules");
    (void)json_add_array(status, "nonResourceRules");
    json_add_bool(status, "incomplete", false);
    for (size_t i = 0; i < n; i++)
        if (may(call->request->identity, &rules[i], text_in(body, "spec.namespace")))
            add_rule(status, &rules[i]);
    json_add(body, "status", status);
    reply_json(out_reply, 201, body);
}

void serve_self_review(const struct api_call *call, struct http_reply *out_reply)
{
    char id[SNAPSHOT_WHO_MAX];
    const struct access_identity *identity = call->request->identity;
    struct json_object *body =
        review_of(call, "SelfSubjectReview", "authentication.k8s.io/v1", out_reply);
    if (body == NULL)
        return;
    access_identity_id(identity, id, sizeof id);
    struct json_object *status = json_object_new_object();
    struct json_object *user = json_add_object(status, "userInfo");
    json_add_text(user, "username", id);
    json_add_text(json_add_array(user, "groups"), "", access_role_name(identity->role));
    json_add(body, "status", status);
    reply_json(out_reply, 201, body);
}

/* ---- how to get here ---- */

void serve_access(const struct api_call *call, struct http_reply *out_reply)
{
    char id[SNAPSHOT_WHO_MAX], url[ACCESS_TEXT_MAX];
    const struct access_identity *identity = call->request->identity;
    struct gate *gate = call->x->gate;
    struct json_object *out = json_object_new_object();
    access_identity_id(identity, id, sizeof id);
    json_add_text(out, "identity", id);
    json_add_text(out, "role", access_role_name(identity->role));
    if (call->request->peer->transport == HTTP_PLAIN)
        json_add_bool(out, "readOnly", true); /* whatever the role allows */
    if (identity->ns[0] != '\0')
        json_add_text(out, "namespace", identity->ns);
    gate_https_url(gate, exporter_port(call->x, gate_https_listener(gate)), url, sizeof url);
    if (url[0] != '\0')
        json_add_text(out, "server", url);
    OWNED_TEXT certificate = gate_tls(gate) == NULL ? NULL : http_tls_certificate(gate_tls(gate));
    if (certificate != NULL)
        json_add_text(out, "certificate", certificate);
    reply_json(out_reply, 200, out);
}
