/* copy.h - all records of one store into another, empty one: from SQLite to PostgreSQL and back.
 *
 * Both are opened as an appliance opens them, so neither may be in use (ERR_LOCKED). Every row of
 * every table is read and put again, whole; the identity of the appliance comes last. Until then
 * the target is marked as unfinished, and no appliance starts on it. At the end the rows of each
 * table are counted on both sides.
 */
#ifndef STORE_ANY_COPY_H
#define STORE_ANY_COPY_H

#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

struct copy_report {
    int64_t rows, migrations, samples;
};

/* Places as for store_open(). ERR_NOT_FOUND: there is no source; ERR_REFUSED: the source has an
 * older schema; ERR_EXISTS: the target has records; ERR_CORRUPT: the counts differ at the end. */
MUST_CHECK bool store_copy(const char *from, const char *to, struct copy_report *out_report,
                           struct err *err);

#endif
