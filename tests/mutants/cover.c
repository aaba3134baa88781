/* cover.c - which code a test runs: linked into test programs that are built with
 * -fsanitize-coverage=trace-pc, for tests/mutants/cover.
 *
 * Every block of code that runs notes its address, less the program's, in the file COVER_FILE,
 * one byte for each address. Processes that the test starts from the same program share it, also
 * one that gets no environment: it looks up that of its parent.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_MAX (8u << 20)

extern const char __executable_start[];
void __sanitizer_cov_trace_pc(void);

static char *seen;

static const char *name_of_parent(char *text, size_t n)
{
    static const char key[] = "COVER_FILE=";
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", getppid());
    FILE *file = fopen(path, "r");
    size_t length = file != NULL ? fread(text, 1, n - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    text[length] = '\0';
    for (size_t at = 0; at < length; at += strlen(text + at) + 1)
        if (strncmp(text + at, key, sizeof key - 1) == 0)
            return text + at + sizeof key - 1;
    return NULL;
}

__attribute__((constructor(101))) static void begin(void)
{
    char environment[65536], program[4096] = "", path[8192];
    const char *name = getenv("COVER_FILE");
    if (name == NULL)
        name = name_of_parent(environment, sizeof environment);
    if (name == NULL || readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    (void)snprintf(path, sizeof path, "%.4000s.%.4000s", name, strrchr(program, '/') + 1);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, CODE_MAX) != 0)
        return;
    seen = mmap(NULL, CODE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (seen == MAP_FAILED)
        abort();
}

void __sanitizer_cov_trace_pc(void)
{
    size_t at = (size_t)((const char *)__builtin_return_address(0) - __executable_start);
    if (seen != NULL && at < CODE_MAX)
        seen[at] = 1;
}
