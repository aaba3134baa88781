/* quantity.h - Kubernetes' numbers with a unit: "64Mi", "1.5G", "250m", "1e3". */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stdint.h>

#include "base/err.h"

/* In thousandths of the unit, rounded up; 0 and more. ERR_INVALID names the expected form. */
bool quantity_parse(const char *text, const char *where, int64_t *out_milli, struct err *err);
/* In whole units, rounded up: bytes, seconds. */
bool quantity_parse_whole(const char *text, const char *where, int64_t *out_units, struct err *err);

#endif
