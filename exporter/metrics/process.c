/* process.c - process statistics from /proc; read once a second, never during a scrape. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exporter/metrics/metrics.h"

/* The start of a /proc file, terminated; empty when unreadable. */
static void read_start(const char *path, char *out, size_t out_bytes)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && used < out_bytes - 1) {
        ssize_t n = read(fd, out + used, out_bytes - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    out[used] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

/* Boot time in seconds since 1970; 0: unknown. Its line follows one for each CPU, hence the large
 * buffer. */
static double boot_time_s(void)
{
    enum { STAT_MAX = 256 * 1024 };
    OWNED_TEXT text = malloc(STAT_MAX);
    if (text == NULL)
        return 0;
    read_start("/proc/stat", text, STAT_MAX);
    const char *at = strstr(text, "\nbtime ");
    return at == NULL ? 0 : strtod(at + strlen("\nbtime "), NULL);
}

static uint64_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    uint64_t n = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    (void)closedir(dir);
    return n - 1; /* without the descriptor used here */
}

void process_read(struct process_stats *out_stats)
{
    *out_stats = (struct process_stats){.open_fds = count_fds()};
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        out_stats->max_fds = limit.rlim_cur;

    char text[2048];
    read_start("/proc/self/stat", text, sizeof text);
    const char *at = strrchr(text, ')'); /* the name before it may contain ')' */
    unsigned long user, system, virtual_bytes;
    unsigned long long start;
    long resident;
    /* Fields 3 (state) to 24 (rss) of proc(5); 14 15 22 23 24 are read. */
    if (at == NULL || sscanf(at + 1,
                             " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d"
                             " %*d %*d %llu %lu %ld",
                             &user, &system, &start, &virtual_bytes, &resident) != 5)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    out_stats->cpu_s = (double)(user + system) / ticks;
    out_stats->start_s = boot_time_s() + (double)start / ticks;
    out_stats->virtual_bytes = virtual_bytes;
    out_stats->resident_bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
