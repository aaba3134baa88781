/* test_replay.c - every input that was ever worth keeping, fed to its target again. */
#include "tests/test.h"

#include <dirent.h>
#include <stdio.h>

#include "base/own.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_BYTES_MAX = 1 << 20 };

struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t n);
};

static const struct target targets[] = {
#define TARGET(name, help) {#name, fuzz_##name},
#include "tests/fuzz/targets.def"
#undef TARGET
};

static void replay_file(const struct target *target, const char *path)
{
    (void)fprintf(stderr, "%s\n", path); /* a crash shows what it was fed */
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    uint8_t *data = malloc(INPUT_BYTES_MAX);
    assert_non_null(data);
    size_t n = fread(data, 1, INPUT_BYTES_MAX, file);
    (void)fclose(file);
    data = realloc(data, n > 0 ? n : 1); /* so that a byte too far is seen */
    assert_non_null(data);
    assert_int_equal(target->run(data, n), 0);
    free(data);
}

static void replay_corpus(void **state)
{
    const struct target *target = *state;
    char path[512];
    (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s", target->name);
    DIR *dir = opendir(path);
    if (dir == NULL)
        fail_msg("%s is not here; run this from the root of the project", path);
    unsigned files = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%.250s", target->name,
                       entry->d_name);
        replay_file(target, path);
        files++;
    }
    (void)closedir(dir);
    assert_int_not_equal(files, 0);
    replay_file(target, "/dev/null"); /* no bytes at all */
}

TEST_FILE(test_replay)
{
    struct CMUnitTest tests[COUNT(targets)];
    for (size_t i = 0; i < COUNT(targets); i++)
        tests[i] = (struct CMUnitTest){.name = targets[i].name,
                                       .test_func = replay_corpus,
                                       .initial_state = (void *)(uintptr_t)&targets[i]};
    return cmocka_run_group_tests_name("fuzz replay", tests, NULL, NULL);
}
