/* hook.c - see hook.h. */
#include "cli/doctor/hook.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

enum { HOOK_PATH_MAX = 512, STAT_FIELDS_BEFORE_START = 19 };

static FILE *open_in(const char *root, const char *path)
{
    char full[HOOK_PATH_MAX];
    int n = snprintf(full, sizeof full, "%s%s", root, path);
    return n > 0 && n < HOOK_PATH_MAX ? fopen(full, "re") : NULL;
}

static long daemon_pid(const char *root)
{
    static const char *const files[] = {"/run/libvirtd.pid", "/run/libvirt/libvirtd.pid",
                                        "/run/virtqemud.pid", "/run/libvirt/virtqemud.pid"};
    for (size_t i = 0; i < COUNT(files); i++) {
        long pid = 0;
        FILE *file = open_in(root, files[i]);
        if (file == NULL)
            continue;
        int n = fscanf(file, "%ld", &pid);
        (void)fclose(file);
        if (n == 1 && pid > 0)
            return pid;
    }
    return 0;
}

/* Seconds since the epoch at which the machine booted; 0: not known. */
static int64_t boot_s(const char *root)
{
    char line[256];
    long long value = 0;
    FILE *file = open_in(root, "/proc/stat");
    while (file != NULL && value == 0 && fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "btime %lld", &value);
    if (file != NULL)
        (void)fclose(file);
    return value;
}

static int64_t start_s(const char *root, long pid)
{
    char path[64], line[1024] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = open_in(root, path);
    if (file == NULL)
        return 0;
    const char *at = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    (void)fclose(file);
    for (int i = 0; at != NULL && i <= STAT_FIELDS_BEFORE_START; i++)
        at = strchr(at + 1, ' ');
    unsigned long long ticks = 0;
    long rate = sysconf(_SC_CLK_TCK);
    int64_t booted = boot_s(root);
    if (at == NULL || sscanf(at, "%llu", &ticks) != 1 || booted == 0 || rate <= 0)
        return 0;
    return booted + (int64_t)(ticks / (unsigned long long)rate);
}

enum hook_state hook_state(const char *root)
{
    char path[HOOK_PATH_MAX];
    struct stat seen;
    (void)snprintf(path, sizeof path, "%s/etc/libvirt/hooks/qemu.d/ferry", root);
    if (stat(path, &seen) != 0 || (seen.st_mode & S_IXUSR) == 0)
        return HOOK_ABSENT;
    long pid = daemon_pid(root);
    int64_t started = pid > 0 ? start_s(root, pid) : 0;
    if (started == 0)
        return HOOK_NOT_CHECKED;
    return (int64_t)seen.st_ctime <= started ? HOOK_LOADED : HOOK_LATE;
}
