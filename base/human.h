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

void human_bytes(uint64_t bytes, char *out_text); /* "512B" "1.5KiB" "110MiB" "2.0GiB" */
void human_rate(uint64_t bps, char *out_text);    /* "110MiB/s" */
void human_duration(int64_t ms, char *out_text);  /* "0.4s" "12.3s" "2m05s" "3h07m" "4d02h" */
void human_age(int64_t ms, char *out_text);       /* "7s" "5m" "3h" "12d", as kubectl shows */

/* Divides by 1024 until the value is below `next` or the unit is `most`; the unit's name, and how
 * often it was divided. */
enum { HUMAN_TIB = 4, HUMAN_PIB, HUMAN_EIB };
const char *human_scale(double *value, double next, unsigned most, unsigned *out_unit);

/* "30s", "5m", "1h30m", "250ms" or "0"; another number without a unit is refused. */
bool human_read_duration(const char *text, int64_t *out_ms);
/* A Kubernetes quantity as bytes: "64Mi", "1G", "1.5Gi", "1048576". */
bool human_read_quantity(const char *text, uint64_t *out_bytes);
/* RFC 3339 in UTC, as the API writes times: "2026-11-16T05:07:39Z", fractions allowed. */
bool human_read_time(const char *text, int64_t *out_wall_ms);

#endif
