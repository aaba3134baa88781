/* limits.h - limits of the HTTP server. */
#ifndef EXPORTER_HTTP_LIMITS_H
#define EXPORTER_HTTP_LIMITS_H

enum {
    EXPORTER_CONNECTIONS_MAX = 512,        /* over TCP, all listeners together */
    EXPORTER_SOCKET_CONNECTIONS_MAX = 128, /* over a Unix socket */
    EXPORTER_BODY_MAX = 1024 * 1024,
    EXPORTER_TIMEOUT_S = 30,
    EXPORTER_PAGE_MAX = 64 * 1024 * 1024,
    HTTP_SHORT_REPLY = 16 * 1024,       /* always sent */
    HTTP_SHORT_BODY = 16 * 1024,        /* always taken */
    HTTP_BODIES_MAX = 32 * 1024 * 1024, /* of all longer bodies that have not been answered */
    HTTP_QUEUED_MAX = 48 * 1024 * 1024, /* of all longer replies that are not sent yet */
};

#endif
