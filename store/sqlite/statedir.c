/* statedir.c - see statedir.h. */
#include "store/sqlite/statedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { LOCK_TRIES_MAX = 10, PID_TEXT_BYTES = 12 };

static bool make_dir(struct statedir *state, struct err *err)
{
    struct stat seen;
    if (mkdir(state->dir, 0750) == 0)
        state->made_dir = true;
    else if (errno == ENOENT)
        return err_set(err, ERR_IO, "%s: its parent directory does not exist; create it first",
                       state->dir);
    else if (errno != EEXIST)
        return db_fail_errno(errno, state->dir, "cannot create the state directory", err);

    if (stat(state->dir, &seen) != 0)
        return db_fail_errno(errno, state->dir, "cannot stat the state directory", err);
    if (!S_ISDIR(seen.st_mode))
        return err_set(err, ERR_INVALID, "%s: is not a directory; name another state directory",
                       state->dir);
    if ((seen.st_mode & S_IWOTH) != 0)
        return err_set(err, ERR_FORBIDDEN,
                       "%s: others can write it; chmod o-w %s, and check its files", state->dir,
                       state->dir);
    if (faccessat(AT_FDCWD, state->dir, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        return db_fail_errno(errno, state->dir, "cannot use the state directory", err);
    return true;
}

static bool open_lock_file(struct statedir *state, struct err *err)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    state->lock_fd = open(state->lock_path, flags | O_EXCL, 0640);
    if (state->lock_fd >= 0)
        state->made_lock = true;
    else if (errno == EEXIST)
        state->lock_fd = open(state->lock_path, flags, 0640);
    return state->lock_fd >= 0 ||
           db_fail_errno(errno, state->lock_path, "cannot open the lock file", err);
}

static bool refuse_second(const struct statedir *state, struct err *err)
{
    char text[PID_TEXT_BYTES + 1] = "";
    if (pread(state->lock_fd, text, PID_TEXT_BYTES, 0) < 0)
        text[0] = '\0';
    long pid = strtol(text, NULL, 10);
    char who[32] = "";
    if (pid > 0)
        (void)snprintf(who, sizeof who, " (pid %ld)", pid);
    return err_set(err, ERR_LOCKED,
                   "%s: another appliance%s runs on this state directory; stop it, or name"
                   " another state directory",
                   state->dir, who);
}

/* False without an err: the file was removed between open and lock; try again. */
static bool lock_once(struct statedir *state, struct err *err)
{
    if (!open_lock_file(state, err))
        return false;
    if (flock(state->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? refuse_second(state, err)
                                    : db_fail_errno(errno, state->lock_path, "cannot lock it", err);
    struct stat ours, named;
    return fstat(state->lock_fd, &ours) == 0 && stat(state->lock_path, &named) == 0 &&
           ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

static void drop_lock(struct statedir *state)
{
    if (state->lock_fd >= 0)
        (void)close(state->lock_fd);
    state->lock_fd = -1;
}

static bool take_lock(struct statedir *state, struct err *err)
{
    for (int i = 0; i < LOCK_TRIES_MAX; i++) {
        if (lock_once(state, err))
            return true;
        drop_lock(state);
        state->made_lock = false; /* not created here, or removed */
        if (err->code != ERR_NONE)
            return false;
    }
    return err_set(err, ERR_LOCKED,
                   "%s: the lock file is removed repeatedly; find the program that does it",
                   state->lock_path);
}

/* Overwrites in a fixed length: on a full disk this needs no new block. */
static bool write_pid(const struct statedir *state, struct err *err)
{
    char text[PID_TEXT_BYTES + 1];
    (void)snprintf(text, sizeof text, "%-11ld\n", (long)getpid());
    ssize_t n = pwrite(state->lock_fd, text, PID_TEXT_BYTES, 0);
    return n == PID_TEXT_BYTES ||
           db_fail_errno(n < 0 ? errno : ENOSPC, state->lock_path, "cannot write the pid", err);
}

static bool is_ours(const char *name)
{
    static const char *const stems[] = {"ferry.db", "samples.db", "lock"};
    for (size_t i = 0; i < COUNT(stems); i++)
        if (text_has_prefix(name, stems[i]))
            return true;
    return false;
}

/* Files of an older Ferry, or of one with another umask, are taken from others. */
static bool close_to_others(const struct statedir *state, struct err *err)
{
    DIR *dir = opendir(state->dir);
    if (dir == NULL)
        return db_fail_errno(errno, state->dir, "cannot list the state directory", err);
    bool done = true;
    for (const struct dirent *entry; done && (entry = readdir(dir)) != NULL;) {
        struct stat seen;
        if (!is_ours(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(seen.st_mode) || (seen.st_mode & S_IRWXO) == 0)
            continue;
        done = fchmodat(dirfd(dir), entry->d_name, seen.st_mode & 0770, 0) == 0 ||
               db_fail_errno(errno, entry->d_name, "others can read it, and chmod fails", err);
    }
    (void)closedir(dir);
    return done;
}

/* What root made in the directory of a service's user (a restore, a copy of the records) is that
 * user's: it could not open it otherwise. Only files of root's with one name: nothing that the user
 * linked here from elsewhere. */
static void give_to_owner(const struct statedir *state)
{
    struct stat owner, seen;
    DIR *dir = geteuid() == 0 ? opendir(state->dir) : NULL;
    if (dir == NULL)
        return;
    bool is_known = fstat(dirfd(dir), &owner) == 0 && owner.st_uid != 0;
    for (const struct dirent *entry; is_known && (entry = readdir(dir)) != NULL;) {
        int fd = is_ours(entry->d_name) ? openat(dirfd(dir), entry->d_name,
                                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                                        : -1;
        if (fd < 0)
            continue;
        if (fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode) && seen.st_uid == 0 &&
            seen.st_nlink == 1)
            (void)!fchown(fd, owner.st_uid, owner.st_gid);
        (void)close(fd);
    }
    (void)closedir(dir);
}

bool statedir_init(struct statedir *state, const char *dir, struct err *err)
{
    *state = (struct statedir){.lock_fd = -1};
    /* SQLite treats a path that begins with "file:" as a URI. */
    const char *prefix = dir[0] == '/' ? "" : "./";
    int n = snprintf(state->dir, sizeof state->dir, "%s%s", prefix, dir);
    int m = snprintf(state->lock_path, sizeof state->lock_path, "%s%s/lock", prefix, dir);
    if (dir[0] == '\0' || n < 0 || m < 0 || m + 32 > DB_PATH_MAX)
        return err_set(err, ERR_INVALID, "the state directory's name is empty or too long");

    if (make_dir(state, err) && take_lock(state, err) && close_to_others(state, err) &&
        write_pid(state, err))
        return true;
    statedir_fini(state, true);
    return false;
}

void statedir_fini(struct statedir *state, bool undo)
{
    if (undo && state->made_lock)
        (void)unlink(state->lock_path); /* before the lock is released */
    if (!undo)
        give_to_owner(state);
    drop_lock(state);
    if (undo && state->made_dir)
        (void)rmdir(state->dir); /* only if it is empty */
    state->made_dir = state->made_lock = false;
}

bool statedir_sync(const struct statedir *state, struct err *err)
{
    int fd = open(state->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (!done)
        (void)db_fail_errno(errno, state->dir, "cannot sync the directory", err);
    if (fd >= 0)
        (void)close(fd);
    return done;
}
