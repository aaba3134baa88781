/* options.c - see options.h. */
#include "appliance/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static bool access_is_writable(const char *dir)
{
    return access(dir, W_OK | X_OK) == 0;
}

/* A user's own appliance has its socket where the user may write. */
static void settle_socket(struct access_config *access)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (!access->socket_is_default)
        return;
    if (geteuid() == 0)
        (void)mkdir("/run/ferry", 0755);
    if (access_is_writable("/run/ferry"))
        return;
    access->socket[0] = '\0';
    if (runtime != NULL && access_is_writable(runtime))
        (void)snprintf(access->socket, sizeof access->socket, "%.80s/ferry.sock", runtime);
}

/* The command line before the file. */
static bool override_access(struct config *config, const struct appliance_options *options,
                            struct err *err)
{
    struct access_config *access = &config->access;
    for (size_t i = 0; i < ACCESS_LISTEN_MAX && options->listen[i] != NULL; i++) {
        if (!text_copy(access->listen[i], sizeof access->listen[i], options->listen[i]))
            return err_set(err, ERR_INVALID, "--listen is too long");
        access->n_listen = i + 1;
    }
    if (options->simulate != NULL && options->state == NULL && !options->config_given &&
        options->listen[0] == NULL)
        access->n_listen = 1; /* https needs a directory for its certificate */
    if (options->socket != NULL) {
        bool is_none = text_equal(options->socket, "none");
        access->socket_is_default = false;
        if (!text_copy(access->socket, sizeof access->socket, is_none ? "" : options->socket))
            return err_set(err, ERR_INVALID, "--socket is too long");
    }
    if (options->web_file != NULL &&
        !text_copy(access->web_file, sizeof access->web_file, options->web_file))
        return err_set(err, ERR_INVALID, "--web.config.file is too long");
    settle_socket(access);
    return true;
}

struct config *options_config(const struct appliance_options *options, struct err *err)
{
    OWNED(config) config = options->simulate != NULL && !options->config_given
                               ? config_new(err)
                               : config_read(options->config_file, err);
    if (config == NULL)
        return NULL;
    if (options->state != NULL &&
        !text_copy(config->state_dir, sizeof config->state_dir, options->state)) {
        (void)err_set(err, ERR_INVALID, "--state is too long");
        return NULL;
    }
    return override_access(config, options, err) ? TAKE(config) : NULL;
}
