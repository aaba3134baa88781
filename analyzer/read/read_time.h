/* read_time.h - times in logs and objects, as wall time. */
#ifndef ANALYZER_READ_READ_TIME_H
#define ANALYZER_READ_READ_TIME_H

#include <stddef.h>
#include <stdint.h>

/* The time at the start of the text: bytes used, 0 when there is none. Known are ISO 8601 and what
 * logs make of it ('T' or a blank, '.' or ',' before the fraction, "Z", "+0200", "+02:00" or no
 * zone: UTC), "Tue Jan  2 15:04:05 2024", "Jan  2 15:04:05" and klog's "E0102 15:04:05.000000".
 * The last two have no year: *out_wall_ms is 0 then. */
size_t read_time(const char *text, size_t n, int64_t *out_wall_ms);

/* The whole text as a time; 0 when it is none. NULL is fine. */
int64_t read_time_of(const char *text);

#endif
