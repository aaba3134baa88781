/* gate_impl.h - private parts of gate.h, for gate*.c. */
#ifndef EXPORTER_GATE_GATE_IMPL_H
#define EXPORTER_GATE_GATE_IMPL_H

#include <pthread.h>
#include <sys/stat.h>

#include "exporter/access/password.h"
#include "exporter/access/tokens.h"
#include "exporter/access/web_config.h"
#include "exporter/gate/gate.h"

enum { GATE_OWN_NAMES = 2 };

struct gate {
    struct access_config config;
    const struct clock *clock;
    char state_dir[ACCESS_PATH_MAX];
    struct gate_listener {
        char address[ACCESS_TEXT_MAX];
        enum http_transport transport;
        bool is_metrics_only;
    } listeners[HTTP_LISTENERS_MAX];
    size_t n_listeners;
    char own_names[GATE_OWN_NAMES][ACCESS_TEXT_MAX]; /* of this machine; "": none */
    struct http_tls *tls;                            /* NULL: no listener has TLS */
    struct password *password;
    struct stat web_stat; /* of the web configuration file that was last read */

    pthread_rwlock_t lock;      /* the rest */
    struct web_config *web;     /* NULL: no such file */
    struct token_table *tokens; /* NULL: none yet */
};

/* ---- gate.c ---- */
enum http_admission gate_refuse(struct gate_refusal *refusal, unsigned status, const char *text);

/* ---- gate_listen.c: which listeners, and whether they are allowed ---- */
bool gate_settle_listeners(struct gate *gate, struct err *err);
bool gate_open_tls(struct gate *gate, struct err *err);
void gate_tls_files(const struct gate *gate, const struct web_config *web,
                    struct http_tls_files *out_files);

/* ---- gate_identity.c: who asks ---- */
enum gate_proof { PROOF_FOUND, PROOF_WRONG, PROOF_BUSY, PROOF_LATER };
enum gate_proof gate_identify(struct gate *gate, const struct http_request *request, bool may_wait,
                              struct access_identity *out_identity);

/* ---- gate_origin.c: from where ---- */
bool gate_host_is_allowed(const struct gate *gate, const struct http_request *request);
enum http_admission gate_refuse_host(const struct gate *gate, const struct http_request *request,
                                     struct gate_refusal *refusal);
/* NULL: not from a web page of another origin; else how that was seen. */
const char *gate_foreign_page(const struct gate *gate, const struct gate_ask *ask,
                              const struct http_request *request);
/* The client's address; behind a trusted proxy the one that the proxy reports. */
void gate_client_address(const struct gate *gate, const struct http_request *request, char *out);

#endif
