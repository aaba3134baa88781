/* client_easy.h - the inside of a client, for cli/common/streams.c alone. */
#ifndef CLI_COMMON_CLIENT_EASY_H
#define CLI_COMMON_CLIENT_EASY_H

#include <curl/curl.h>

#include "cli/common/client.h"

/* A handle of its own with the client's address, identity and headers, without a timeout of the
 * whole answer, set to that request. body NULL: none; it is copied. The caller frees it, before the
 * client. NULL with *err. */
CURL *client_easy(const struct client *client, const char *method, const char *path,
                  const char *body, struct err *err);
/* Why a request got no answer; returns false. */
bool client_fail_from_curl(const struct client *client, CURL *easy, CURLcode code,
                           const char *method, struct err *err);

#endif
