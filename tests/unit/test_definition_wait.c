/* test_definition_wait.c - a guest is not migrated while its definition is unknown. */
#include "tests/test.h"

#include <string.h>

#include "tests/core_world.h"

/* Another manager's mark may be in the definition that was not read yet. */
static void no_guest_is_migrated_before_its_definition_was_read(void **state)
{
    (void)state;
    for (unsigned read = 0; read < 3; read++) { /* never; another manager's; nobody's */
        struct core_world *w = core_new();
        w->fleet->config.needs_definition = true;
        const struct job *job = core_ask(w, "g1", NULL);
        core_advance(w, 1000);
        core_waits(w, "g1", PENDING_DEFINITION);
        core_guest(w, "g1")->facts.migratable.known = true;
        if (read == 1) {
            core_guest(w, "g1")->facts.migratable.rows = 1U << UNMOVABLE_MANAGED;
            core_guest(w, "g1")->facts.migratable.manager = HV_MANAGER_NOVA;
        }
        if (read != 0)
            core_define(w, "g1");
        core_advance(w, read != 0 ? 1000 : 118500);
        assert_int_equal(w->migrates, read == 2 ? 1 : 0);
        assert_int_equal(phase_is_final(job->phase), read == 1);
        core_advance(w, 1000);
        if (read == 0)
            assert_non_null(strstr(job->result.failure_reason, "asked for the guest's definition"));
        if (read == 1)
            assert_non_null(strstr(job->result.failure_reason, "ManagedElsewhere"));
        core_free(w);
    }
}

TEST_FILE(test_definition_wait)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_guest_is_migrated_before_its_definition_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
