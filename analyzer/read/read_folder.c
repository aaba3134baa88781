/* read_folder.c - see read_folder.h.
 *
 * First all objects, since only they show which pod was on which side and how many migrations there
 * are; then the logs. One migration: logs go straight to its document. Several: records about a
 * guest, except debug and info, are kept and assigned.
 */
#include "analyzer/read/read_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/read_kube.h"
#include "analyzer/read/read_session.h"
#include "base/own.h"
#include "base/text.h"

enum { PATH_BYTES_MAX = 1024 };

struct file {
    char *path; /* owned; below the folder */
    bool is_log;
};
struct folder {
    struct session s;
    int fd;
    const char *path;
    struct file *files;
    size_t n, capacity;
    bool was_full;
    const struct tags *tags; /* of the log that is being read */
};

static void report_problem(struct folder *folder, enum err_code code, const char *path,
                           const char *what)
{
    struct err err = {0};
    err_set(&err, code, "%s: %s", path, what);
    read_out_problem(&folder->s.out, &err);
}

static void add_file(struct folder *folder, const char *path)
{
    if (folder->n >= READ_FILES_MAX) {
        if (!folder->was_full)
            report_problem(folder, ERR_LIMIT, folder->path,
                           "more than 20000 files; the rest is left out");
        folder->was_full = true;
        return;
    }
    if (folder->n == folder->capacity) {
        size_t capacity = folder->capacity == 0 ? 64 : folder->capacity * 2;
        struct file *files = reallocarray(folder->files, capacity, sizeof *files);
        if (files == NULL)
            return;
        folder->files = files;
        folder->capacity = capacity;
    }
    char *copy = strdup(path);
    if (copy != NULL)
        folder->files[folder->n++] = (struct file){.path = copy};
}

/* Files below `path`; links to folders and to files are skipped. */
static void walk(struct folder *folder, const char *path, int depth)
{
    int fd = openat(folder->fd, path[0] == '\0' ? "." : path,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        report_problem(folder, ERR_IO, path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (const struct dirent *entry; !folder->was_full && (entry = readdir(dir)) != NULL;) {
        char below[PATH_BYTES_MAX];
        struct stat about;
        int n = snprintf(below, sizeof below, "%s%s%s", path, path[0] == '\0' ? "" : "/",
                         entry->d_name);
        if (entry->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof below ||
            fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(about.st_mode))
            add_file(folder, below);
        else if (S_ISDIR(about.st_mode) && depth < READ_DEPTH_MAX)
            walk(folder, below, depth + 1);
        else if (S_ISDIR(about.st_mode))
            report_problem(folder, ERR_LIMIT, below, "too many folders within folders");
    }
    (void)closedir(dir);
}

static int by_path(const void *a, const void *b)
{
    const struct file *left = a, *right = b;
    return strcmp(left->path, right->path);
}

/* Opens the file as an input; the caller closes both. */
static bool open_file(struct folder *folder, const char *path, struct input *in, struct err *err)
{
    struct stat about;
    int fd = openat(folder->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *in = (struct input){.fd = fd};
    if (fd < 0 || fstat(fd, &about) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return err_set(err, ERR_IO, "%s: no file", path);
    return input_open(in, fd, path, &folder->s.out, err);
}

static void close_file(struct input *in)
{
    input_close(in);
    if (in->fd >= 0)
        (void)close(in->fd);
}

static void read_objects(struct folder *folder, struct file *file)
{
    struct input in;
    struct err err = {0};
    enum format format = FORMAT_EMPTY;
    bool is_fine =
        open_file(folder, file->path, &in, &err) && session_input(&folder->s, &in, &format, &err);
    file->is_log = is_fine && format == FORMAT_LOG;
    folder->s.out.report.files++;
    if (!is_fine)
        read_out_problem(&folder->s.out, &err);
    close_file(&in);
}

/* Tags of a record: the pod from the path, the guest from the record. */
static struct tags tags_of(const struct folder *folder, const struct log_about *about)
{
    struct tags tags = {0};
    if (folder->tags != NULL)
        tags = *folder->tags;
    else if (about->ns[0] != '\0' && about->name[0] != '\0')
        (void)snprintf(tags.guest, sizeof tags.guest, "%.63s/%.250s", about->ns, about->name);
    return tags;
}

static void to_one_document(void *ctx, const struct evidence_message *message,
                            const struct log_about *about)
{
    struct folder *folder = ctx;
    struct evidence_message sided = *message;
    struct tags tags = tags_of(folder, about);
    if (pieces_documents(folder->s.pieces) == 0 ||
        pieces_belongs(folder->s.pieces, 0, &tags, message->at_ms, &sided.side))
        read_out_message(&folder->s.out, &sided);
}

static void to_pieces(void *ctx, const struct evidence_message *message,
                      const struct log_about *about)
{
    struct folder *folder = ctx;
    struct tags tags = tags_of(folder, about);
    bool is_info = about->level == LEVEL_DEBUG || about->level == LEVEL_INFO;
    if (tags.guest[0] != '\0' && !is_info)
        pieces_message(folder->s.pieces, &tags, message);
}

static void read_logs(struct folder *folder, const struct log_taker *taker)
{
    for (size_t i = 0; i < folder->n; i++) {
        const char *path = folder->files[i].path;
        struct input in;
        struct err err = {0};
        struct tags tags;
        if (!folder->files[i].is_log)
            continue;
        bool is_launcher = kube_tags_of_path(path, &tags);
        folder->tags = is_launcher ? &tags : NULL;
        bool is_fine = open_file(folder, path, &in, &err) &&
                       log_read(&in, is_launcher ? SIDE_UNKNOWN : side_of_path(path), taker, &err);
        if (!is_fine)
            read_out_problem(&folder->s.out, &err);
        close_file(&in);
    }
    folder->tags = NULL;
}

static bool has_logs(const struct folder *folder)
{
    for (size_t i = 0; i < folder->n; i++)
        if (folder->files[i].is_log)
            return true;
    return false;
}

static void deliver(struct folder *folder)
{
    struct log_taker one = {.ctx = folder, .take = to_one_document};
    struct log_taker several = {.ctx = folder, .take = to_pieces};
    size_t documents = pieces_documents(folder->s.pieces);
    if (documents > 1) {
        read_logs(folder, &several);
        session_deliver(&folder->s, folder->path);
        return;
    }
    if (documents == 0 && !has_logs(folder))
        return;
    if (documents == 0)
        read_out_begin(&folder->s.out, folder->path, "");
    else
        pieces_begin(folder->s.pieces, 0, folder->path);
    read_logs(folder, &one);
    read_out_end(&folder->s.out);
}

bool folder_read(int fd, const char *path, const struct read_visitor *visitor,
                 struct read_report *out_report, struct err *err)
{
    struct folder folder = {.fd = fd, .path = path};
    bool is_fine = session_open(&folder.s, visitor, err);
    if (is_fine) {
        walk(&folder, "", 0);
        if (folder.n > 0)
            qsort(folder.files, folder.n, sizeof *folder.files, by_path);
        for (size_t i = 0; i < folder.n; i++)
            read_objects(&folder, &folder.files[i]);
        deliver(&folder);
        is_fine = session_check(&folder.s, path, err);
    }
    for (size_t i = 0; i < folder.n; i++)
        free(folder.files[i].path);
    free(folder.files);
    session_close(&folder.s, out_report);
    return is_fine;
}
