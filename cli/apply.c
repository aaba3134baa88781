/* apply.c - `ferry apply -f FILE...`: creates or changes objects to match files.
 *
 * All files are read and checked before the first request. After that a rejected object does not
 * stop the others; the exit status is that of the first failure. */
#include <stdio.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/client.h"
#include "cli/common/documents.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "cli/common/view.h"

enum { FILES_MAX = 64 };

struct apply {
    struct cli_options common;
    const char *files[FILES_MAX];
    size_t n_files;
};

static void add_file(struct apply *a, char *file, struct argp_state *state)
{
    if (a->n_files == FILES_MAX)
        argp_error(state, "at most %d files at a time", FILES_MAX);
    a->files[a->n_files++] = file;
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct apply *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case 'f': add_file(a, arg, state); return 0;
    case ARGP_KEY_ARG:
        if (a->n_files == 0)
            argp_error(state, "'-f' is missing before FILE");
        add_file(a, arg, state); /* -f a.yaml b.yaml, as a shell expands -f *.yaml */
        return 0;
    case ARGP_KEY_END:
        if (a->n_files == 0)
            argp_error(state, "FILE is missing: -f FILE, or -f - for standard input");
        if (a->common.all_namespaces)
            argp_error(state, "an object is in one namespace; name it with -n");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool create(struct client *client, const char *ns, const struct document *document,
                   struct json_object **out_object, struct err *err)
{
    char path[KINDS_PATH_MAX];
    if (!kind_path(document->kind, ns, NULL, path, err))
        return false;
    *out_object = client_call(client, "POST", path, document->object, err);
    return *out_object != NULL;
}

/* "created", "configured" or "unchanged"; NULL with *err on failure. */
static const char *apply_one(struct client *client, const char *ns, const struct document *document,
                             struct json_object **out_object, struct err *err)
{
    char path[KINDS_PATH_MAX];
    if (document->name[0] == '\0')
        return create(client, ns, document, out_object, err) ? "created" : NULL;
    if (!kind_path(document->kind, ns, document->name, path, err))
        return NULL;
    struct err get_err = {0};
    OWNED(json_object) current = client_call(client, "GET", path, NULL, &get_err);
    if (current == NULL && get_err.code == ERR_NOT_FOUND)
        return create(client, ns, document, out_object, err) ? "created" : NULL;
    if (current == NULL) {
        *err = get_err;
        return NULL;
    }
    OWNED(json_object) patch = document_patch(document, current);
    if (patch == NULL) {
        *out_object = TAKE(current);
        return "unchanged";
    }
    *out_object = client_call(client, "PATCH", path, patch, err);
    return *out_object != NULL ? "configured" : NULL;
}

static void print_applied(const struct apply *a, const struct document *document,
                          struct json_object *object, const char *word)
{
    char name[TABLE_CELL_MAX];
    table_clean(name, sizeof name, view_text(object, "metadata.name"));
    if (a->common.output == OUTPUT_JSON)
        (void)cli_print_json(object);
    else if (a->common.output == OUTPUT_NAME)
        (void)printf("%s/%s\n", kind_short(document->kind), name);
    else
        (void)printf("%s/%s %s\n", kind_short(document->kind), name, word);
}

static int apply_all(const struct apply *a, struct client *client,
                     const struct documents *documents)
{
    int status = EXIT_DONE;
    for (size_t i = 0; i < documents->n; i++) {
        const struct document *document = &documents->items[i];
        const char *ns = document->ns[0] != '\0' ? document->ns : a->common.ns;
        struct err err = {0};
        struct json_object *answer = NULL;
        const char *word = apply_one(client, ns, document, &answer, &err);
        OWNED(json_object) object = answer;
        if (word != NULL) {
            print_applied(a, document, object, word);
            continue;
        }
        bool unreachable = err.code == ERR_UNREACHABLE;
        (void)document_wrap_err(document, &err);
        int failed = cli_fail(&err, NULL);
        status = status == EXIT_DONE ? failed : status;
        if (unreachable)
            break; /* the others would fail as well */
    }
    return status;
}

int verb_apply(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"filename", 'f', "FILE", 0, "YAML (--- between documents) or JSON; - is standard input",
         0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .args_doc = "-f FILE...",
        .doc = "Create objects, or change them to match the files: MigrationPolicy, "
               "ResourceQuota, Namespace, Drain, VirtualMachineInstanceMigration; of a Node or "
               "VirtualMachineInstance only labels and spec, and only what the file names.",
        .children = cli_options_children,
    };
    struct apply a = {0};
    cli_options_init(&a.common);
    if (!cli_parse(&argp, argc, argv, &a))
        return EXIT_USAGE;
    struct err err = {0};
    OWNED(documents) documents = documents_new(&err);
    if (documents == NULL)
        return cli_fail(&err, NULL);
    for (size_t i = 0; i < a.n_files; i++) {
        if (documents_read(documents, a.files[i], &err))
            continue;
        (void)cli_fail(&err, "nothing was applied; correct the file and try again");
        return EXIT_USAGE;
    }
    OWNED(client) client = client_new(a.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    return apply_all(&a, client, documents);
}
