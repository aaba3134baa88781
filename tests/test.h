/* test.h - what every test file includes: cmocka, with the headers it needs, and TEST_FILE.
 *
 * A test file has no main. It ends with
 *
 *     TEST_FILE(test_heap)
 *     {
 *         const struct CMUnitTest tests[] = {...};
 *         return cmocka_run_group_tests(tests, NULL, NULL);
 *     }
 *
 * and is linked with the other files of its subject into one program (tests/programs.mk), whose
 * main is in program.c: `build/asan/tests/base test_heap` runs this file alone.
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after those four, which it uses and does not include */

struct test_file {
    const char *name;
    int (*run)(void); /* the number of tests that failed */
    struct test_file *next;
};

/* Before main, by TEST_FILE alone. */
void test_file_register(struct test_file *file);

/* What followed the file's name on the command line; ends with NULL. */
char **test_arguments(void);

/* How many: of seeds, lives, faults. `make test-fast` (FERRY_TEST_SIZE=fast) takes a share that
 * shows each law once, `make test` (unset) the usual number, `make test-full` (full) all. */
size_t test_size(size_t fast, size_t usual, size_t full);

/* The function that runs the tests of this file; STEM is the file's own name without ".c". */
#define TEST_FILE(stem)                                                   \
    static int stem(void);                                                \
    __attribute__((constructor)) static void register_this_file(void)     \
    {                                                                     \
        static struct test_file this_file = {.name = #stem, .run = stem}; \
        test_file_register(&this_file);                                   \
    }                                                                     \
    static int stem(void)

#endif
