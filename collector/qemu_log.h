/* qemu_log.h - the end of a guest's QEMU log, where Ferry can read it.
 *
 * libvirt keeps one file per guest, DIR/NAME.log, with QEMU's messages and libvirt's lines about
 * its start and stop. Only the last part is read, and of that only lines since a given time: an
 * older migration of the same guest must not explain this one. The command line that libvirt writes
 * at each start is left out.
 */
#ifndef COLLECTOR_QEMU_LOG_H
#define COLLECTOR_QEMU_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

enum {
    QEMU_LOG_TAIL_MAX = 64 * 1024,
    QEMU_LOG_LINES_MAX = 400, /* the newest are kept */
};

/* A line without its end, any byte but the newline and zero in it; at_ms 0: no time is known. */
typedef void qemu_log_fn(void *ctx, const char *line, size_t length, int64_t at_ms);

/* Pure: the lines of a text that were written at since_ms (wall) or later. `whole`: it begins at
 * the file's beginning, else its first line is cut and left out. Lines without a time of their own
 * have that of the one before. */
void qemu_log_lines(const char *text, size_t n, bool whole, int64_t since_ms, qemu_log_fn *fn,
                    void *ctx);
/* The time at the beginning of a line, "2026-01-31T10:00:00.123Z" or "2026-01-31
 * 10:00:00.123+0000", 0 when there is none. */
int64_t qemu_log_time(const char *line, size_t length);

/* Reads the file. Only a regular one that is no link, never waits for a writer. ERR_NOT_FOUND,
 * ERR_INVALID (a name that is no file's, or not a regular file), ERR_IO. May block as long as the
 * file system does. */
MUST_CHECK bool qemu_log_tail(const char *dir, const char *guest, int64_t since_ms, qemu_log_fn *fn,
                              void *ctx, struct err *err);

#endif
