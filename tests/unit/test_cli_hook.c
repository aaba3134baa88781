/* test_cli_hook.c - a hook counts as loaded only if it was there before the daemon started. */
#include "tests/unit/test_store.h"

#include <time.h>

#include "cli/doctor/hook.h"

static void put(const struct fixture *f, const char *name, const char *text, mode_t mode)
{
    char path[TEST_PATH_MAX];
    FILE *file = fopen(path_in(f, name, path), "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void make_dirs(const struct fixture *f)
{
    static const char *const dirs[] = {"run",
                                       "proc",
                                       "proc/7",
                                       "etc",
                                       "etc/libvirt",
                                       "etc/libvirt/hooks",
                                       "etc/libvirt/hooks/qemu.d"};
    char path[TEST_PATH_MAX];
    for (size_t i = 0; i < COUNT(dirs); i++)
        assert_int_equal(mkdir(path_in(f, dirs[i], path), 0700), 0);
}

/* The daemon started `s` seconds after now, on a machine that booted an hour ago. */
static void start_daemon(const struct fixture *f, int64_t s)
{
    char text[256];
    int64_t booted = (int64_t)time(NULL) - 3600;
    (void)snprintf(text, sizeof text, "cpu 1 2\nbtime %lld\n", (long long)booted);
    put(f, "proc/stat", text, 0600);
    (void)snprintf(text, sizeof text,
                   "7 (lib (virt) d) S 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 %lld 1 2 3\n",
                   (long long)(3600 + s) * sysconf(_SC_CLK_TCK));
    put(f, "proc/7/stat", text, 0600);
    put(f, "run/virtqemud.pid", "7\n", 0600);
}

static void a_hook_is_loaded_only_by_a_later_start(void **state)
{
    struct fixture *f = *state;
    make_dirs(f);
    start_daemon(f, 10);
    assert_int_equal(hook_state(f->dir), HOOK_ABSENT);
    put(f, "etc/libvirt/hooks/qemu.d/ferry", "#!/bin/sh\n", 0644);
    assert_int_equal(hook_state(f->dir), HOOK_ABSENT); /* libvirt skips what it cannot run */
    put(f, "etc/libvirt/hooks/qemu.d/ferry", "#!/bin/sh\n", 0755);
    assert_int_equal(hook_state(f->dir), HOOK_LOADED);
    start_daemon(f, -60);
    assert_int_equal(hook_state(f->dir), HOOK_LATE);
    put(f, "run/virtqemud.pid", "8\n", 0600); /* it is gone */
    assert_int_equal(hook_state(f->dir), HOOK_NOT_CHECKED);
}

TEST_FILE(test_cli_hook)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_hook_is_loaded_only_by_a_later_start, fixture_setup, fixture_teardown)};
    return cmocka_run_group_tests_name("cli_hook", tests, NULL, NULL);
}
