/* hash.h - uthash as the collector uses it: running out of memory is a failure of one insertion
 * (hh.tbl stays NULL), never the end of the process. */
#ifndef COLLECTOR_HASH_H
#define COLLECTOR_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
