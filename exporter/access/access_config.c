/* access_config.c - see access_config.h. */
#include "exporter/access/access_config.h"

#include "base/text.h"

void access_config_default(struct access_config *config)
{
    *config = (struct access_config){.n_listen = 2, .socket_is_default = true};
    TEXT_SET(config->listen[0], "127.0.0.1:9178");
    TEXT_SET(config->listen[1], "https://127.0.0.1:9179");
    TEXT_SET(config->socket, ACCESS_SOCKET_DEFAULT);
    TEXT_SET(config->group, ACCESS_GROUP_DEFAULT);
}
