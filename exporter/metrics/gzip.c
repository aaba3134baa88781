/* gzip.c - the only user of zlib. Fastest level: it already shrinks a page tenfold. All scrapes of
 * a snapshot share one result. */
#include <stdlib.h>
#include <zlib.h>

#include "exporter/metrics/scrape.h"

char *gzip_text(const char *text, size_t n, size_t *out_n)
{
    enum { WINDOW = 15 + 16 /* gzip, not zlib */, MEMORY = 8 };
    z_stream z = {0};
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    size_t room = deflateBound(&z, n);
    char *out = n <= EXPORTER_PAGE_MAX ? malloc(room) : NULL;
    bool is_done = false;
    if (out != NULL) {
        z.next_in = (unsigned char *)(uintptr_t)text; /* only read */
        z.avail_in = (unsigned)n;
        z.next_out = (unsigned char *)out;
        z.avail_out = (unsigned)room;
        is_done = deflate(&z, Z_FINISH) == Z_STREAM_END;
        *out_n = room - z.avail_out;
    }
    (void)deflateEnd(&z);
    if (is_done)
        return out;
    free(out);
    return NULL;
}
