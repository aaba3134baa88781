/* rights.c - see rights.h. */
#include "hypervisor/hostd/rights.h"

#include <cap-ng.h>
#include <sys/prctl.h>

bool rights_drop(struct err *err)
{
    static const capng_type_t sets[] = {CAPNG_EFFECTIVE, CAPNG_PERMITTED};
    static const unsigned needed[] = {CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_set(err, ERR_FORBIDDEN, "cannot give up privileges: no_new_privs");
    if (capng_get_caps_process() != 0)
        return err_set(err, ERR_FORBIDDEN, "cannot read the capabilities");
    bool has[sizeof needed / sizeof *needed];
    bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        has[i] = capng_have_capability(CAPNG_PERMITTED, needed[i]) != 0;
    capng_clear(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        for (size_t k = 0; has[i] && k < sizeof sets / sizeof *sets; k++)
            (void)capng_update(CAPNG_ADD, sets[k], needed[i]);
    if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) != 0)
        return err_set(err, ERR_FORBIDDEN, "cannot give up capabilities");
    return true;
}
