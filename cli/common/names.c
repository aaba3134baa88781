/* names.c - see names.h. */
#include "cli/common/names.h"

#include <stdio.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/common/view.h"

const char *name_arg(const char *arg, enum kind kind, const struct argp_state *state)
{
    struct err err = {0};
    const char *name = arg;
    if (!kind_name_in(arg, kind, &name, &err))
        argp_error(state, "%s", err.text);
    return name;
}

/* What a list of names says about one that was not found. Borrowed from the list. */
struct search {
    const char *near, *near_ns; /* the nearest name */
    const char *elsewhere;      /* the namespace that has this name */
    bool exists;
};

static const char *nearer(const char *word, const char *best, const char *candidate)
{
    const char *both[] = {candidate, best};
    return text_nearest(word, both, best != NULL ? 2 : 1);
}

/* A near name in the object's own namespace comes before one in another. */
static void see(struct search *search, const struct named *what, const char *ns, const char *name)
{
    bool here = !kind_is_namespaced(what->kind) || text_equal(ns, what->ns);
    if (text_equal(name, what->name)) {
        search->exists = search->exists || here;
        if (!here)
            search->elsewhere = ns;
        return;
    }
    bool had_here = search->near != NULL && search->near_ns == NULL;
    if (had_here && !here)
        return;
    const char *best = here && !had_here ? NULL : search->near;
    const char *near = nearer(what->name, best, name);
    if (near != NULL && near != best) {
        search->near = near;
        search->near_ns = here ? NULL : ns;
    }
}

static void say(const struct search *search, const struct named *what, char *out_hint)
{
    char near[TABLE_CELL_MAX], ns[TABLE_CELL_MAX], list[64];
    (void)snprintf(list, sizeof list, "`ferry get %s%s` lists the names", kind_short(what->kind),
                   kind_is_namespaced(what->kind) ? " -A" : "");
    table_clean(near, sizeof near, search->near != NULL ? search->near : "");
    table_clean(ns, sizeof ns,
                search->elsewhere != NULL ? search->elsewhere
                : search->near_ns != NULL ? search->near_ns
                                          : "");
    if (search->elsewhere != NULL)
        (void)snprintf(out_hint, NAME_HINT_MAX, "it is in namespace %.63s: add -n %.63s", ns, ns);
    else if (search->near != NULL)
        (void)snprintf(out_hint, NAME_HINT_MAX, "did you mean '%.253s'%s%.63s? %s", near,
                       search->near_ns != NULL ? " in namespace " : "", ns, list);
    else
        (void)text_copy(out_hint, NAME_HINT_MAX, list);
}

bool name_hint(struct client *client, const struct named *what, char *out_hint)
{
    char path[KINDS_PATH_MAX];
    struct err ignored = {0};
    struct search search = {0};
    if (!kind_path(what->kind, NULL, NULL, path, &ignored))
        return false;
    client_set_timeout(client, NAME_ASK_MS);
    OWNED(json_object) list = client_call(client, "GET", path, NULL, &ignored);
    client_set_timeout(client, CLIENT_ANSWER_MS);
    size_t n = view_count(list, "items");
    for (size_t i = 0; i < n; i++) {
        struct json_object *object = view_element(list, "items", i);
        see(&search, what, view_text(object, "metadata.namespace"),
            view_text(object, "metadata.name"));
    }
    say(&search, what, out_hint);
    return !search.exists;
}

int name_fail(struct client *client, const struct named *what, const struct err *err,
              const char *hint)
{
    char found[NAME_HINT_MAX];
    bool missing = client != NULL && err->code == ERR_NOT_FOUND && name_hint(client, what, found);
    return cli_fail(err, missing ? found : hint);
}
