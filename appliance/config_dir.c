/* config_dir.c - hosts in files of hosts.d, a directory beside ferry.yaml: *.yaml has what `hosts:`
 * has;
 * *.json is Prometheus' file_sd, so that an inventory tool can write it:
 *
 *     [{"targets": ["h1", "h2"],
 *       "labels": {"__uri__": "qemu+tls://{target}/system", "__tls__": "true", "rack": "7"}}]
 *
 * A target is a host's name. A label __key__ is a key of a host (peerUri is __peer_uri__), in which
 * {target} stands for the name; without __uri__ it is qemu+tls://NAME/system. Other labels are the
 * host's. Files are read in order of their names; those of other names and hidden ones are ignored.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "appliance/config_read.h"
#include "base/text.h"
#include "base/yaml.h"

enum { FILES_MAX = 1000, KEY_BYTES = 64, FIELDS_MAX = 64 };

/* ---- file_sd ---- */

/* "__peer_uri__" is "peerUri"; false: it is a label. */
static bool key_of(const char *label, char out_key[static KEY_BYTES])
{
    size_t n = strlen(label), length = 0;
    if (n <= 4 || n >= KEY_BYTES || strncmp(label, "__", 2) != 0 ||
        strcmp(label + n - 2, "__") != 0)
        return false;
    for (size_t i = 2; i < n - 2; i++) {
        bool is_raised = label[i] == '_' && i + 1 < n - 2;
        i += is_raised;
        out_key[length++] = is_raised ? (char)toupper((unsigned char)label[i]) : label[i];
    }
    out_key[length] = '\0';
    return true;
}

/* Replaces each {target}. False: too long. */
static bool fill_in(const char *text, const char *target, char *out, size_t bytes)
{
    static const char mark[] = "{target}";
    size_t length = 0, n = strlen(target);
    while (*text != '\0') {
        bool is_mark = strncmp(text, mark, sizeof mark - 1) == 0;
        size_t more = is_mark ? n : 1;
        if (length + more >= bytes)
            return false;
        memcpy(out + length, is_mark ? target : text, more);
        length += more;
        text += is_mark ? sizeof mark - 1 : 1;
    }
    out[length] = '\0';
    return true;
}

/* One host, as a map of YAML: its nodes and texts live as long as the call. */
struct made {
    struct yaml_node map, labels_map, fields[FIELDS_MAX], labels[FIELDS_MAX];
    char keys[FIELDS_MAX][KEY_BYTES], texts[FIELDS_MAX][HV_URI_MAX];
    size_t n_fields, n_labels;
};

static bool add_field(struct reading *r, struct made *made, const struct yaml_node *from,
                      const char *key, const char *text)
{
    if (made->n_fields == FIELDS_MAX)
        return false;
    struct yaml_node *field = &made->fields[made->n_fields];
    TEXT_SET(made->keys[made->n_fields], key);
    *field = (struct yaml_node){.kind = YAML_SCALAR,
                                .key = made->keys[made->n_fields],
                                .text = text,
                                .line = from->line,
                                .column = from->column};
    if (made->n_fields > 0)
        made->fields[made->n_fields - 1].next = field;
    made->n_fields++;
    (void)r;
    return true;
}

static bool add_label(struct reading *r, struct made *made, const struct yaml_node *label,
                      const char *target, struct err *err)
{
    char key[KEY_BYTES];
    const char *text;
    if (!yaml_text(r->yaml, label, &text, err))
        return false;
    if (!key_of(label->key, key)) {
        if (made->n_labels == FIELDS_MAX)
            return yaml_fail(r->yaml, label, err, "more than %d labels", FIELDS_MAX);
        struct yaml_node *copy = &made->labels[made->n_labels];
        *copy = *label;
        copy->next = NULL;
        if (made->n_labels > 0)
            made->labels[made->n_labels - 1].next = copy;
        made->n_labels++;
        return true;
    }
    char *filled = made->texts[made->n_fields % FIELDS_MAX];
    if (!fill_in(text, target, filled, HV_URI_MAX))
        return yaml_fail(r->yaml, label, err, "'%s' is too long", label->key);
    return add_field(r, made, label, key, filled) ||
           yaml_fail(r->yaml, label, err, "more than %d keys", FIELDS_MAX);
}

static bool read_target(struct reading *r, const struct yaml_node *node,
                        const struct yaml_node *labels, struct made *made, struct err *err)
{
    const char *target;
    char uri[HV_URI_MAX];
    *made = (struct made){.map = {.kind = YAML_MAP, .line = node->line, .column = node->column}};
    if (!yaml_text(r->yaml, node, &target, err))
        return false;
    if (!fill_in("qemu+tls://{target}/system", target, uri, sizeof uri))
        return yaml_fail(r->yaml, node, err, "the target is too long");
    (void)add_field(r, made, node, "name", target);
    for (const struct yaml_node *label = labels != NULL ? labels->child : NULL; label != NULL;
         label = label->next)
        if (!add_label(r, made, label, target, err))
            return false;
    made->map.child = &made->fields[0];
    if (yaml_child(&made->map, "uri") == NULL)
        (void)add_field(r, made, node, "uri", uri);
    if (made->n_labels > 0) {
        if (!add_field(r, made, labels, "labels", NULL))
            return yaml_fail(r->yaml, labels, err, "more than %d keys", FIELDS_MAX);
        struct yaml_node *field = &made->fields[made->n_fields - 1];
        field->kind = YAML_MAP;
        field->child = &made->labels[0];
    }
    return config_add_host(r, &made->map, err);
}

static bool read_group(struct reading *r, const struct yaml_node *group, struct err *err)
{
    static const char *const keys[] = {"targets", "labels"};
    if (group->kind != YAML_MAP)
        return yaml_fail(r->yaml, group, err, "expected {\"targets\": [...], \"labels\": {...}}");
    if (!yaml_only_keys(r->yaml, group, keys, COUNT(keys), err))
        return false;
    const struct yaml_node *targets = yaml_child(group, "targets"),
                           *labels = yaml_child(group, "labels");
    if (targets == NULL || targets->kind != YAML_LIST)
        return yaml_fail(r->yaml, group, err, "a group requires a list of 'targets'");
    if (labels != NULL && labels->kind != YAML_MAP)
        return yaml_fail(r->yaml, labels, err, "labels: expected names and values");
    struct made *made = malloc(sizeof *made);
    bool done = made != NULL || err_set(err, ERR_NOMEM, "no memory for a host");
    for (const struct yaml_node *node = targets->child; done && node != NULL; node = node->next)
        done = read_target(r, node, labels, made, err);
    free(made);
    return done;
}

static bool read_groups(struct reading *r, const struct yaml_node *top, struct err *err)
{
    if (top->kind != YAML_LIST)
        return yaml_fail(r->yaml, top, err, "expected a list of groups, as in file_sd");
    for (const struct yaml_node *group = top->child; group != NULL; group = group->next)
        if (!read_group(r, group, err))
            return false;
    return true;
}

/* ---- files ---- */

static bool read_yaml(struct reading *r, const struct yaml_node *top, struct err *err)
{
    static const struct yaml_key keys[] = {{"hosts", config_read_hosts}};
    return top->kind == YAML_LIST ? config_read_hosts(r, top, err)
                                  : config_read_map(r, top, keys, COUNT(keys), err);
}

static bool read_file(struct reading *r, const char *file, struct err *err)
{
    OWNED(yaml) yaml = yaml_read_file(file, err);
    if (yaml == NULL)
        return false;
    if (yaml_document_count(yaml) == 0)
        return true; /* emptied by its tool */
    struct reading inside = {.yaml = yaml, .config = r->config};
    const struct yaml_node *top = yaml_document(yaml, 0);
    if (top->kind == YAML_NULL)
        return true;
    size_t n = strlen(file);
    bool is_json = n > 5 && strcmp(file + n - 5, ".json") == 0;
    return is_json ? read_groups(&inside, top, err) : read_yaml(&inside, top, err);
}

static int is_hosts_file(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && end != NULL &&
           (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0 || strcmp(end, ".json") == 0);
}

bool config_read_dir(struct reading *r, const char *config_file, struct err *err)
{
    char dir[CONFIG_PATH_MAX], file[CONFIG_PATH_MAX + NAME_MAX + 2];
    const char *slash = strrchr(config_file, '/');
    int n = slash != NULL ? (int)(slash - config_file) + 1 : 0;
    if ((size_t)snprintf(dir, sizeof dir, "%.*shosts.d", n, config_file) >= sizeof dir)
        return true;
    struct dirent **entries = NULL;
    int found = scandir(dir, &entries, is_hosts_file, alphasort);
    if (found < 0)
        return errno == ENOENT || errno == ENOTDIR ||
               err_set(err, ERR_IO, "%s: %s", dir, strerror(errno));
    bool done =
        found <= FILES_MAX ||
        err_set(err, ERR_LIMIT, "%s: %d files; at most %d are possible", dir, found, FILES_MAX);
    for (int i = 0; i < found; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", dir, entries[i]->d_name);
        done = done && read_file(r, file, err);
        free(entries[i]);
    }
    free(entries);
    return done;
}
