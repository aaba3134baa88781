/* test_adapter_start.c - libvirt that cannot be started: it is started once in a process, so each
 * case has a process of its own. */
#include "tests/test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "hypervisor/libvirt/internal.h"
#include "tests/libvirt/fake.h"

struct failing {
    const char *call;
    int code;
    const char *text, *says;
};

/* Asked a second time it says the same, though libvirt would work by now. */
static bool is_refused_twice(const struct failing *row)
{
    fake_reset();
    fake_fail(row->call, 1, row->code, row->text);
    for (int i = 0; i < 2; i++) {
        struct err err = {0};
        if (libvirt_loop_start(&err) || err.code != ERR_HYPERVISOR || err.hv_code != row->code ||
            err.hv_domain != (row->code != 0 ? VIR_FROM_QEMU : 0) ||
            strcmp(err.text, row->says) != 0) {
            print_error("%s: %s (%d, %d)\n", row->call, err.text, err.hv_code, err.hv_domain);
            return false;
        }
    }
    return true;
}

static void a_failed_start_says_why_to_everybody(void **state)
{
    (void)state;
    static const struct failing rows[] = {
        {"virInitialize", VIR_ERR_SYSTEM_ERROR, "no memory for its threads",
         "libvirt cannot be started: no memory for its threads"},
        {"pthread_create", 0, "", "libvirt cannot be started: no thread for its events"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(is_refused_twice(&rows[i]) ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

TEST_FILE(test_adapter_start)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_start_says_why_to_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
