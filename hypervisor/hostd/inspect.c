/* inspect.c - see inspect.h. */
#include "hypervisor/hostd/inspect.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "hypervisor/certificate.h"

#define USERFAULTFD_FILE "/proc/sys/vm/unprivileged_userfaultfd"

bool inspect_name(const char *name, char *out_ip, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    if (hv_literal_address(name, out_ip, HV_TEXT_MAX))
        return true;
    int failed = getaddrinfo(name, NULL, &hints, &found);
    if (failed == 0)
        failed = getnameinfo(found->ai_addr, found->ai_addrlen, out_ip, HV_TEXT_MAX, NULL, 0,
                             NI_NUMERICHOST);
    if (found != NULL)
        freeaddrinfo(found);
    return failed == 0 ? true
                       : err_set(err, ERR_NOT_FOUND, "%.64s: %s", name, gai_strerror(failed));
}

bool inspect_path(const struct hostd_address *to, int64_t until_ms, enum hostd_path *out_path,
                  struct err *err)
{
    int fd;
    if (hostd_connect(to, until_ms, &fd, err)) {
        (void)close(fd);
        *out_path = HOSTD_PATH_OPEN;
        return true;
    }
    if (err->code != ERR_REFUSED && err->code != ERR_UNREACHABLE && err->code != ERR_TIMEOUT)
        return false;
    *out_path = err->code == ERR_REFUSED ? HOSTD_PATH_REFUSED : HOSTD_PATH_DEAD;
    *err = (struct err){0};
    return true;
}

/* --- facts --- */

static const struct {
    const char *word, *file;
} facts_of[] = {
#define FACT(id, word, file) [HOSTD_FACT_##id] = {word, file},
#include "hypervisor/hostd/facts.def"
#undef FACT
};

const char *inspect_fact_file(enum hostd_fact fact)
{
    return facts_of[fact].file;
}

static void read_number(const char *root, const char *file, int64_t *out_number)
{
    char path[HV_URI_MAX], text[32] = "";
    (void)snprintf(path, sizeof path, "%s%s", root, file);
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return;
    if (fgets(text, sizeof text, stream) != NULL)
        text[strcspn(text, "\n")] = '\0';
    (void)fclose(stream);
    int64_t number;
    if (text_to_i64(text, 0, INT64_MAX, &number))
        *out_number = number;
}

static void read_end(const char *root, const char *file, int64_t *out_end_s)
{
    char path[HV_URI_MAX];
    struct err err = {0};
    int64_t end_s;
    (void)snprintf(path, sizeof path, "%s%s", root, file);
    if (certificate_file_end(path, &end_s, &err))
        *out_end_s = end_s;
    else if (err.code == ERR_NOT_FOUND)
        *out_end_s = 0;
}

void inspect_facts(const char *root, struct hostd_facts *out_facts)
{
    for (size_t i = 0; i < HOSTD_FACTS; i++) {
        out_facts->at[i] = HOSTD_FACT_UNKNOWN;
        if (facts_of[i].file != NULL)
            read_end(root, facts_of[i].file, &out_facts->at[i]);
    }
    read_number(root, USERFAULTFD_FILE, &out_facts->at[HOSTD_FACT_USERFAULTFD]);
    out_facts->at[HOSTD_FACT_CLOCK_MS] = clock_wall_ms(clock_system());
}

void inspect_write_facts(const struct hostd_facts *facts, char *out_text, size_t bytes)
{
    size_t n = 0;
    out_text[0] = '\0';
    for (size_t i = 0; i < HOSTD_FACTS && n < bytes; i++)
        if (facts->at[i] != HOSTD_FACT_UNKNOWN)
            n += (size_t)snprintf(out_text + n, bytes - n, "%s%s=%lld", n > 0 ? " " : "",
                                  facts_of[i].word, (long long)facts->at[i]);
}

void inspect_read_facts(const char *text, struct hostd_facts *out_facts)
{
    char copy[HOSTD_REQUEST_MAX], *rest = copy;
    TEXT_SET(copy, text);
    for (size_t i = 0; i < HOSTD_FACTS; i++)
        out_facts->at[i] = HOSTD_FACT_UNKNOWN;
    while (rest != NULL) {
        char *value = strsep(&rest, " ");
        const char *word = strsep(&value, "=");
        int64_t number;
        for (size_t i = 0; i < HOSTD_FACTS; i++)
            if (value != NULL && text_equal(facts_of[i].word, word) &&
                text_to_i64(value, 0, INT64_MAX, &number))
                out_facts->at[i] = number;
    }
}

/* --- directories --- */

enum kind { LOCAL, NETWORK, FUSE };

/* Numbers of linux/magic.h and of file systems that it does not list. */
static enum kind kind_of(unsigned long type)
{
    static const unsigned long network[] = {
        0x6969,     /* NFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x00c36400, /* CephFS */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
        0x0bd00bd0, /* Lustre */
        0x01021997, /* 9P */
    };
    for (size_t i = 0; i < COUNT(network); i++)
        if (network[i] == type)
            return NETWORK;
    return type == 0x65735546 ? FUSE : LOCAL;
}

bool inspect_directory(const char *path, char *out_identity, struct err *err)
{
    static const char *const kinds[] = {"local", "network", "fuse"};
    struct statfs system;
    struct stat about;
    if (statfs(path, &system) != 0 || stat(path, &about) != 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%.200s: %s", path,
                       strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return err_set(err, ERR_NOT_FOUND, "%.200s: not a directory", path);
    unsigned long type = (unsigned long)system.f_type & 0xffffffff;
    enum kind kind = kind_of(type);
    int id[2] = {0, 0}; /* a network file system's is the client's own */
    if (kind == LOCAL)
        memcpy(id, &system.f_fsid, sizeof id);
    (void)snprintf(out_identity, HV_TEXT_MAX, "%s:%lx:%llu:%x:%x", kinds[kind], type,
                   (unsigned long long)about.st_ino, (unsigned)id[0], (unsigned)id[1]);
    return true;
}
