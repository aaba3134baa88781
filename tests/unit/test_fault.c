/* test_fault.c - a crash point kills exactly when its name and count say so, as a power cut
 * would: no exit handler, no flush. */
#include "tests/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"

enum { REFUSED = 99 };

/* Arms the wish in a child, passes `point` up to `times` times, and gives the child's status:
 * the exit code is the number of passes it lived through. */
static int child_status(const char *setting, enum fault point, int times)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setting != NULL)
            (void)setenv("FERRY_FAULT", setting, 1);
        else
            (void)unsetenv("FERRY_FAULT");
        if (!fault_arm_from_env())
            _exit(REFUSED);
        for (int i = 0; i < times; i++)
            fault_point(point);
        _exit(times);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_killed(int status)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void assert_lived(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void every_point_kills_under_its_own_name_and_no_other(void **state)
{
    (void)state;
    for (enum fault armed = 0; armed < FAULT_COUNT; armed++) {
        assert_killed(child_status(fault_name(armed), armed, 1));
        enum fault other = (armed + 1) % FAULT_COUNT;
        assert_lived(child_status(fault_name(armed), other, 5), 5);
    }
}

static void a_count_chooses_the_pass(void **state)
{
    (void)state;
    assert_lived(child_status("before-call:3", FAULT_BEFORE_CALL, 2), 2);
    assert_killed(child_status("before-call:3", FAULT_BEFORE_CALL, 3));
    assert_killed(child_status("before-call:0", FAULT_BEFORE_CALL, 1)); /* 0 means the first */
    assert_killed(child_status("before-call:x", FAULT_BEFORE_CALL, 1));
}

static void nothing_happens_unless_asked_for(void **state)
{
    (void)state;
    for (enum fault point = 0; point < FAULT_COUNT; point++) {
        assert_lived(child_status(NULL, point, 3), 3);
        assert_lived(child_status("", point, 3), 3);
    }
}

static void a_name_that_is_no_point_is_refused(void **state)
{
    (void)state;
    static const char *const requests[] = {"before", "before-call-x", "BEFORE-CALL", ":1"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        assert_lived(child_status(requests[i], FAULT_BEFORE_CALL, 1), REFUSED);
}

static void names_are_unique(void **state)
{
    (void)state;
    for (enum fault a = 0; a < FAULT_COUNT; a++)
        for (enum fault b = a + 1; b < FAULT_COUNT; b++)
            assert_string_not_equal(fault_name(a), fault_name(b));
}

TEST_FILE(test_fault)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_kills_under_its_own_name_and_no_other),
        cmocka_unit_test(a_count_chooses_the_pass),
        cmocka_unit_test(nothing_happens_unless_asked_for),
        cmocka_unit_test(a_name_that_is_no_point_is_refused),
        cmocka_unit_test(names_are_unique),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
