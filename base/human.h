/* human.h - numbers and times as people write and read them. Pure; no clock is read here.
 *
 * Sizes are powers of 1024, with that unit (KiB, MiB). Each writer fills a HUMAN_TEXT_MAX array and
 * never fails: a number too large for it is cut. The readers return false on any other form.
 */
#ifndef BASE_HUMAN_H
#define BASE_HUMAN_H

#include <stdbool.h>
#include <stdint.h>

enum { HUMAN_TEXT_MAX = 32 };

/* The only writers of sizes, rates, durations and ages: every verb, page and table of the API. */
void human_bytes(uint64_t bytes, char *out_text); /* "512 B" "1.5 KiB" "110 MiB" "2.0 GiB" */
void human_rate(uint64_t bps, char *out_text);    /* "110 MiB/s" */
/* "450 ms" "12.3 s" "2 min 05 s" "3 h 07 min" "4 d 02 h" */
void human_duration(int64_t ms, char *out_text);
/* An age in a column of a table, as kubectl writes it: "7s" "5m30s" "45m" "3h20m" "12d" */
void human_age(int64_t ms, char *out_text);

/* "30s", "5m", "1h30m", "250ms" or "0"; another number without a unit is refused. */
bool human_read_duration(const char *text, int64_t *out_ms);
/* A Kubernetes quantity as bytes: "64Mi", "1G", "1.5Gi", "1048576". */
bool human_read_quantity(const char *text, uint64_t *out_bytes);
/* RFC 3339 in UTC, as the API writes times: "2026-11-16T05:07:39Z", fractions allowed. */
bool human_read_time(const char *text, int64_t *out_wall_ms);

#endif
