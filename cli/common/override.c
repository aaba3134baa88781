/* override.c - see override.h. */
#include "cli/common/override.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/names.h"

bool override_post(struct client *client, const char *ns, const char *name, const char *subresource,
                   struct json_object *body, struct err *err)
{
    static const char group[] = "/apis/kubevirt.io/";
    char path[KINDS_PATH_MAX], full[KINDS_PATH_MAX + 64];
    if (!kind_path(KIND_MIGRATION, ns, name, path, err))
        return false;
    (void)snprintf(full, sizeof full, "/apis/subresources.kubevirt.io/%s/%s",
                   path + sizeof group - 1, subresource);
    OWNED(json_object) answer = client_call(client, "POST", full, body, err);
    return answer != NULL;
}

int override_fail(struct client *client, const char *ns, const char *name, const struct err *err)
{
    const struct named what = {KIND_MIGRATION, ns, name};
    char hint[NAME_HINT_MAX];
    (void)snprintf(hint, sizeof hint, "`ferry describe vmim %.253s -n %.63s` shows its state", name,
                   ns);
    return name_fail(client, &what, err, err->code == ERR_REFUSED ? hint : NULL);
}

bool override_is_yes(const char *line)
{
    size_t n = strcspn(line, "\r\n");
    return (n == 1 && (*line == 'y' || *line == 'Y')) ||
           (n == 3 && strncasecmp(line, "yes", 3) == 0);
}
