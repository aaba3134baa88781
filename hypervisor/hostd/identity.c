/* identity.c - see identity.h. */
#include "hypervisor/hostd/identity.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

bool identity_user(const char *name, uid_t *out_user, struct err *err)
{
    static const char *const usual[] = {"libvirt-qemu", "qemu"}; /* Debian, Fedora */
    const struct passwd *found = name[0] != '\0' ? getpwnam(name) : NULL;
    for (size_t i = 0; name[0] == '\0' && found == NULL && i < 2; i++)
        found = getpwnam(usual[i]);
    if (found == NULL && name[0] != '\0')
        return err_set(err, ERR_NOT_FOUND, "there is no user '%s'", name);
    *out_user = found != NULL ? found->pw_uid : 0;
    return true;
}

/* A file that root, or who runs this, wrote and nobody else can. */
static bool is_trusted(const struct stat *about)
{
    return (about->st_uid == 0 || about->st_uid == geteuid()) &&
           (about->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool names_pid(int dir, const char *file, pid_t pid)
{
    char text[32] = "";
    struct stat about;
    int64_t number;
    size_t n = strlen(file);
    if (n < 5 || strcmp(file + n - 4, ".pid") != 0)
        return false;
    int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && is_trusted(&about) &&
                read(fd, text, sizeof text - 1) > 0;
    (void)close(fd);
    text[strcspn(text, "\n")] = '\0';
    return good && text_to_i64(text, 1, INT32_MAX, &number) && number == pid;
}

static bool has_pid_file(const char *path, pid_t pid)
{
    struct stat about;
    DIR *dir = opendir(path);
    const struct dirent *file;
    bool found = false;
    if (dir == NULL)
        return false;
    bool trusted = fstat(dirfd(dir), &about) == 0 && is_trusted(&about);
    for (unsigned seen = 0;
         trusted && !found && seen < IDENTITY_FILES_MAX && (file = readdir(dir)) != NULL; seen++)
        found = names_pid(dirfd(dir), file->d_name, pid);
    (void)closedir(dir);
    return found;
}

/* Not the directory's owner: a process that cannot be dumped belongs to root there. */
static bool runs_as(int dir, uid_t user)
{
    char text[4096];
    unsigned real, effective;
    int fd = openat(dir, "status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *line = strstr(text, "\nUid:");
    return line != NULL && sscanf(line, "\nUid: %u %u", &real, &effective) == 2 &&
           real == effective && (effective == 0 || effective == user);
}

bool identity_is_qemu(const struct identity *identity, pid_t pid, int dir)
{
    if (identity == NULL || identity->pid_dir == NULL)
        return true;
    return runs_as(dir, identity->user) && has_pid_file(identity->pid_dir, pid);
}
