/* process.c - see process.h. */
#include "hypervisor/hostd/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

struct scan {
    struct process_inode *wanted; /* process_find_holders() */
    size_t n_wanted;
    const char *uuid;
    const struct identity *identity; /* NULL: nobody is asked who they are */
    pid_t pid;                       /* being visited */
    int64_t until_ms;
    struct stat home; /* our network namespace */
    char *line;       /* PROCESS_LINE_MAX */
    struct process_sockets *out;
    bool (*take)(struct scan *scan, uint64_t inode, struct err *err); /* one socket of a process */
    size_t files_max; /* of one process; 0: as many as fit the time */
};

static bool check_time(const struct scan *scan, struct err *err)
{
    if (clock_mono_ms(clock_system()) < scan->until_ms)
        return true;
    return err_set(err, ERR_TIMEOUT, "scanning the processes took too long");
}

/* The command line of the process that `dir` is, as the kernel keeps it; 0 for none. */
static size_t read_line(const struct scan *scan, int dir)
{
    size_t n = 0;
    int fd = openat(dir, "cmdline", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n < PROCESS_LINE_MAX) {
        ssize_t more = read(fd, scan->line + n, PROCESS_LINE_MAX - n);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    if (fd >= 0)
        (void)close(fd);
    return n;
}

/* Is it the guest's QEMU, by `-uuid UUID` as two arguments of their own? */
static bool is_guest(const struct scan *scan, size_t line_bytes, bool *out_incoming)
{
    bool is_it = false, incoming = false, after_uuid = false;
    const char *end = scan->line + line_bytes;
    for (const char *word = scan->line; word < end;) {
        size_t n = strnlen(word, (size_t)(end - word));
        if (word + n == end)
            break; /* truncated argument */
        if (after_uuid && strcasecmp(word, scan->uuid) == 0)
            is_it = true;
        after_uuid = strcmp(word, "-uuid") == 0;
        incoming = incoming || strcmp(word, "-incoming") == 0;
        word += n + 1;
    }
    *out_incoming = incoming;
    return is_it;
}

static bool is_in_our_network(const struct scan *scan, int dir, bool *out_is, struct err *err)
{
    struct stat theirs;
    if (fstatat(dir, "ns/net", &theirs, 0) == 0)
        *out_is = theirs.st_dev == scan->home.st_dev && theirs.st_ino == scan->home.st_ino;
    else if (errno == ENOENT || errno == ESRCH)
        *out_is = false; /* it just ended */
    else
        return err_set(err, ERR_FORBIDDEN,
                       "cannot inspect the guest's process: %s; hostd needs root, or "
                       "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
                       strerror(errno));
    return true;
}

/* "socket:[4711]" */
static bool take_inode(const char *link, uint64_t *out_inode)
{
    char end;
    return sscanf(link, "socket:[%" SCNu64 "%c", out_inode, &end) == 2 && end == ']';
}

static bool read_links(struct scan *scan, DIR *files, struct err *err)
{
    const struct dirent *file;
    for (size_t seen = 1; (file = readdir(files)) != NULL; seen++) {
        char link[64];
        uint64_t inode;
        if (scan->files_max > 0 && seen > scan->files_max)
            return err_set(err, ERR_LIMIT, "the guest's process has more than %zu files open",
                           scan->files_max);
        if (seen % 1024 == 0 && !check_time(scan, err))
            return false;
        ssize_t n = readlinkat(dirfd(files), file->d_name, link, sizeof link - 1);
        if (n < 0)
            continue; /* "." and "..", or closed meanwhile */
        link[n] = '\0';
        if (take_inode(link, &inode) && !scan->take(scan, inode, err))
            return false;
    }
    return true;
}

/* Gives every socket of the process that `dir` is to scan->take. Through the directory, not through
 * the number: that may be another process by now. */
static bool read_sockets(struct scan *scan, int dir, bool *out_ended, struct err *err)
{
    int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *files = fd >= 0 ? fdopendir(fd) : NULL;
    if (files == NULL) {
        int why = errno;
        if (fd >= 0)
            (void)close(fd);
        *out_ended = why == ENOENT || why == ESRCH;
        return *out_ended ||
               err_set(err, ERR_FORBIDDEN,
                       "cannot see the sockets of a process: %s; hostd needs root, or "
                       "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
                       strerror(why));
    }
    bool done = read_links(scan, files, err);
    (void)closedir(files);
    return done;
}

/* --- the sockets of one guest --- */

static bool keep_inode(struct scan *scan, uint64_t inode, struct err *err)
{
    if (scan->out->n == PROCESS_SOCKETS_MAX)
        return err_set(err, ERR_LIMIT, "the guest's process has more than %d sockets",
                       PROCESS_SOCKETS_MAX);
    scan->out->inodes[scan->out->n++] = inode;
    return true;
}

/* "46 0x1b 0x7f..." of a thread in a system call that sends on descriptor 27. */
static bool take_sending(const char *text, unsigned *out_fd)
{
    long number;
    if (sscanf(text, "%ld %x", &number, out_fd) != 2)
        return false; /* running, or not in a system call */
    return number == SYS_sendmsg || number == SYS_sendto || number == SYS_write ||
           number == SYS_writev;
}

static bool thread_sends_on_closed(int dir, int tasks, const char *thread)
{
    char path[64], text[256] = "", link[32];
    unsigned number;
    struct stat about;
    (void)snprintf(path, sizeof path, "%.20s/syscall", thread);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0 || !take_sending(text, &number))
        return false;
    (void)snprintf(link, sizeof link, "fd/%u", number);
    return fstatat(dir, link, &about, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

/* What cannot be read counts as no: then nothing is closed. */
static bool sends_on_closed(int dir)
{
    int fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd >= 0 ? fdopendir(fd) : NULL;
    if (tasks == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    const struct dirent *thread;
    bool found = false;
    for (size_t seen = 0; !found && seen < PROCESS_FILES_MAX && (thread = readdir(tasks)) != NULL;
         seen++)
        found = isdigit((unsigned char)thread->d_name[0]) &&
                thread_sends_on_closed(dir, dirfd(tasks), thread->d_name);
    (void)closedir(tasks);
    return found;
}

static bool inspect(struct scan *scan, int dir, struct err *err)
{
    bool incoming = false, is_ours = false;
    size_t n = read_line(scan, dir);
    if (n == 0 || !is_guest(scan, n, &incoming) ||
        !identity_is_qemu(scan->identity, scan->pid, dir))
        return true;
    if (!is_in_our_network(scan, dir, &is_ours, err))
        return false;
    if (!is_ours)
        return true;
    bool ended = false;
    if (!read_sockets(scan, dir, &ended, err))
        return false;
    if (ended)
        return true;
    scan->out->processes++;
    scan->out->incoming = scan->out->incoming || incoming;
    scan->out->sends_on_closed = scan->out->sends_on_closed || sends_on_closed(dir);
    return true;
}

static bool visit_all(struct scan *scan, DIR *proc,
                      bool (*visit)(struct scan *scan, int dir, struct err *err), struct err *err)
{
    const struct dirent *entry;
    size_t seen = 0;
    while ((entry = readdir(proc)) != NULL) {
        if (++seen > PROCESS_SCAN_MAX)
            return err_set(err, ERR_LIMIT, "more than %d processes", PROCESS_SCAN_MAX);
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (seen % 64 == 0 && !check_time(scan, err))
            return false;
        int dir = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            continue; /* ended */
        scan->pid = (pid_t)strtol(entry->d_name, NULL, 10);
        bool looked = visit(scan, dir, err);
        (void)close(dir);
        if (!looked)
            return false;
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

bool process_sockets_of(const struct process_search *search, const char *uuid, int64_t until_ms,
                        struct process_sockets *out_sockets, struct err *err)
{
    OWNED_TEXT line = malloc(PROCESS_LINE_MAX);
    const char *proc = search->proc;
    struct scan scan = {.uuid = uuid,
                        .identity = &search->identity,
                        .until_ms = until_ms,
                        .line = line,
                        .out = out_sockets,
                        .take = keep_inode,
                        .files_max = PROCESS_FILES_MAX};
    out_sockets->processes = 0;
    out_sockets->incoming = out_sockets->sends_on_closed = false;
    out_sockets->n = 0;
    if (line == NULL)
        return err_set(err, ERR_NOMEM, "no memory for a command line");
    DIR *dir = opendir(proc);
    if (dir == NULL)
        return err_set(err, ERR_IO, "%s: %s", proc, strerror(errno));
    bool done = fstatat(dirfd(dir), "self/ns/net", &scan.home, 0) == 0
                    ? visit_all(&scan, dir, inspect, err)
                    : err_set(err, ERR_IO, "%s/self/ns/net: %s", proc, strerror(errno));
    (void)closedir(dir);
    qsort(out_sockets->inodes, out_sockets->n, sizeof *out_sockets->inodes, by_number);
    return done;
}

bool process_has_socket(const struct process_sockets *sockets, uint64_t inode)
{
    return bsearch(&inode, sockets->inodes, sockets->n, sizeof inode, by_number) != NULL;
}

/* --- holders --- */

static bool note_holder(struct scan *scan, uint64_t inode, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < scan->n_wanted; i++)
        scan->wanted[i].held = scan->wanted[i].held || scan->wanted[i].inode == inode;
    return true;
}

static bool mark_held(struct scan *scan, int dir, struct err *err)
{
    bool ended = false;
    return read_sockets(scan, dir, &ended, err);
}

bool process_find_holders(const char *proc, struct process_inode *inodes, size_t n,
                          int64_t until_ms, struct err *err)
{
    struct scan scan = {.wanted = inodes, .n_wanted = n, .until_ms = until_ms, .take = note_holder};
    DIR *dir = opendir(proc);
    if (dir == NULL)
        return err_set(err, ERR_IO, "%s: %s", proc, strerror(errno));
    bool done = visit_all(&scan, dir, mark_held, err);
    (void)closedir(dir);
    return done;
}
