/* cover.c - which code a test runs: linked into test programs that are built with
 * -fsanitize-coverage=trace-pc, for tests/mutants/cover.
 *
 * Every block of code that runs notes its address, less the program's, in a map that child
 * processes share. The process that began writes the addresses into the file COVER_FILE when it
 * ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_MAX (8u << 20)

extern const char __executable_start[];
void __sanitizer_cov_trace_pc(void);

static char *seen;
static pid_t owner;

__attribute__((constructor)) static void begin(void)
{
    owner = getpid();
    seen = mmap(NULL, CODE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    if (seen == MAP_FAILED)
        abort();
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("COVER_FILE");
    FILE *file = path != NULL && getpid() == owner ? fopen(path, "a") : NULL;
    for (size_t at = 0; file != NULL && at < CODE_MAX; at++)
        if (seen[at] != 0)
            (void)fprintf(file, "0x%zx\n", at - 1); /* within the call, not behind it */
    if (file != NULL)
        (void)fclose(file);
}

void __sanitizer_cov_trace_pc(void)
{
    size_t at = (size_t)((const char *)__builtin_return_address(0) - __executable_start);
    if (seen != NULL && at < CODE_MAX)
        seen[at] = 1;
}
