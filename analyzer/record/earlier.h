/* earlier.h - lines of an earlier QEMU process that libvirt quotes in an error.
 *
 * "qemu unexpectedly closed the monitor:" is followed by the end of the guest's log file on that
 * host. Seen with libvirt 9.0: the quoted lines were those of the migration before, of the same
 * guest to the same host. They explain that one, not this one. Pure.
 */
#ifndef ANALYZER_RECORD_EARLIER_H
#define ANALYZER_RECORD_EARLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text without the lines that QEMU stamped before since_ms (wall). False: it has no such line,
 * out is not written. A text that does not fit is cut. */
bool earlier_lines_drop(const char *text, int64_t since_ms, char *out, size_t size);

#endif
