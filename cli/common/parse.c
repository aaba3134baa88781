/* parse.c - see parse.h. */
#include "cli/common/parse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

enum { OPTIONS_MAX = 96, CHILDREN_MAX = 4 };

/* ---- options of a verb, children included ---- */

struct options {
    const struct argp_option *all[OPTIONS_MAX];
    size_t n;
};

static void add_options(struct options *options, const struct argp *argp)
{
    for (const struct argp_option *o = argp->options;
         o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL); o++) {
        assert(options->n < OPTIONS_MAX);
        options->all[options->n++] = o;
    }
}

static void collect(struct options *options, const struct argp *argp)
{
    add_options(options, argp);
    for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++)
        add_options(options, c->argp);
}

/* As getopt does: the whole name, or its beginning. */
static const struct argp_option *find_long(const struct options *options, const char *name,
                                           size_t length)
{
    for (size_t i = 0; i < options->n; i++)
        if (options->all[i]->name != NULL && strncmp(options->all[i]->name, name, length) == 0)
            return options->all[i];
    return NULL;
}

static const struct argp_option *find_short(const struct options *options, char letter)
{
    for (size_t i = 0; i < options->n; i++)
        if (options->all[i]->key == letter)
            return options->all[i];
    return NULL;
}

static bool takes_value(const struct argp_option *option)
{
    return option->arg != NULL && (option->flags & OPTION_ARG_OPTIONAL) == 0;
}

/* "-An x": does the last letter take the next argument? */
static bool letters_take_next(const struct options *options, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const struct argp_option *option = find_short(options, *letters);
        if (option != NULL && takes_value(option))
            return letters[1] == '\0';
    }
    return false;
}

static void report_unknown(const struct options *options, const char *program, const char *word)
{
    const char *names[OPTIONS_MAX];
    char name[64];
    size_t n = 0;
    for (size_t i = 0; i < options->n; i++)
        if (options->all[i]->name != NULL)
            names[n++] = options->all[i]->name;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = text_nearest(name + 2, names, n);
    (void)fprintf(stderr, "%s: unknown option '%s'", program, name);
    if (near != NULL)
        (void)fprintf(stderr, "; did you mean '--%s'?", near);
    (void)fprintf(stderr, "\n  `%s -h` lists the options\n", program);
}

bool cli_options_known(const struct argp *argp, int argc, char **argv, bool in_order)
{
    struct options options = {0};
    collect(&options, argp);
    for (int i = 1; i < argc && !text_equal(argv[i], "--"); i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] == '\0') {
            if (in_order)
                break;
            continue;
        }
        if (word[1] != '-') {
            i += letters_take_next(&options, word + 1);
            continue;
        }
        size_t length = strcspn(word + 2, "=");
        const struct argp_option *option = find_long(&options, word + 2, length);
        if (option == NULL) {
            report_unknown(&options, argv[0], word);
            return false;
        }
        i += takes_value(option) && word[2 + length] == '\0';
    }
    return true;
}

/* ---- -h ---- */

static error_t on_help(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    switch (key) {
    case 'h':
    case '?': argp_state_help(state, stdout, ARGP_HELP_STD_HELP); return 0;
    case 'U': argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* argp adds a note on arguments of long and short options that helps nobody. */
static char *without_note(int key, const char *text, void *input)
{
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE || text == NULL ? NULL
                                                              : strdup(text); /* argp frees */
}

bool cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    static const struct argp_option options[] = {
        {"help", 'h', NULL, 0, "print this help", 20},
        {NULL, '?', NULL, OPTION_HIDDEN, NULL, 20},
        {"usage", 'U', NULL, OPTION_HIDDEN, NULL, 20},
        {0},
    };
    static const struct argp help = {.options = options, .parser = on_help};
    struct argp_child children[CHILDREN_MAX] = {0};
    size_t n = 0;
    for (; argp->children != NULL && argp->children[n].argp != NULL; n++) {
        assert(n + 2 < CHILDREN_MAX); /* the help and the end */
        children[n] = argp->children[n];
    }
    children[n] = (struct argp_child){.argp = &help};
    struct argp whole = *argp;
    whole.children = children;
    whole.help_filter = without_note;
    return cli_options_known(&whole, argc, argv, false) &&
           argp_parse(&whole, argc, argv, ARGP_NO_HELP, NULL, input) == 0;
}
