/* fake_impl.h - what the files of the fake share. */
#ifndef TESTS_LIBVIRT_FAKE_IMPL_H
#define TESTS_LIBVIRT_FAKE_IMPL_H

#include "tests/libvirt/fake.h"

/* A function of libvirt's, as the linker calls it with --wrap. */
#define FAKE(type, name, ...)        \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

struct _virConnect {
    bool read_only;
    bool dead;
    int callbacks; /* registered on it */
    virConnectCloseFunc on_close;
    void *on_close_ctx;
    virConnectPtr next;
};
struct _virDomain {
    virConnectPtr conn;
    size_t at; /* in fake.guests */
};

/* Begins a call: resets the thread's last error, writes the call down, waits if it is told to.
 * False: it must fail; the last error is set. conn NULL: opening. */
bool fake_enter(virConnectPtr conn, const char *call, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for calls that are not written down. */
bool fake_enter_quietly(virConnectPtr conn, const char *call);
void fake_set_error(int code, int domain, const char *text);
void fake_object(int change); /* one more or one fewer */
virTypedParameterPtr fake_params(const struct fake_param *from, int *out_n);
void fake_params_text(const virTypedParameter *params, int n, char *out, size_t bytes);
size_t fake_find(const char *uuid); /* SIZE_MAX: there is none */
virDomainPtr fake_domain(virConnectPtr conn, size_t at);
char *fake_text(const char *text); /* a copy; NULL stays NULL */

#endif
