/* gzip.c - the door to what compresses: ISA-L where it was there when Ferry was built, which takes
 * a sixth of zlib's time for the same size, else zlib. Fastest level: a page of metrics shrinks
 * more than tenfold already, and one compression is shared by every scrape of a snapshot. */
#include <stdlib.h>
#include <zlib.h>

#include "exporter/metrics/scrape.h"

#if __has_include(<isa-l/igzip_lib.h>)
#include <isa-l/igzip_lib.h>

struct fast { /* too large for a stack */
    struct isal_zstream z;
    uint8_t level[ISAL_DEF_LVL1_DEFAULT];
};

/* NULL: no memory, or it did not fit. */
static char *gzip_fast(const char *text, size_t n, size_t *out_n)
{
    enum { HEADER = 64, BLOCK = 32 * 1024 }; /* what cannot be compressed is stored, in blocks */
    size_t room = n + n / BLOCK * HEADER + 2 * (size_t)HEADER;
    struct fast *fast = calloc(1, sizeof *fast);
    char *out = malloc(room);
    bool is_done = false;
    if (fast != NULL && out != NULL) {
        isal_deflate_stateless_init(&fast->z);
        fast->z.gzip_flag = IGZIP_GZIP;
        fast->z.end_of_stream = 1;
        fast->z.level = 1;
        fast->z.level_buf = fast->level;
        fast->z.level_buf_size = sizeof fast->level;
        fast->z.next_in = (uint8_t *)(uintptr_t)text; /* only read */
        fast->z.avail_in = (uint32_t)n;
        fast->z.next_out = (uint8_t *)out;
        fast->z.avail_out = (uint32_t)room;
        is_done = isal_deflate_stateless(&fast->z) == COMP_OK;
        *out_n = room - fast->z.avail_out;
    }
    free(fast);
    if (is_done)
        return out;
    free(out);
    return NULL;
}
#else
static char *gzip_fast(const char *text, size_t n, size_t *out_n)
{
    (void)text;
    (void)n;
    (void)out_n;
    return NULL;
}
#endif

char *gzip_plain(const char *text, size_t n, size_t *out_n)
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

char *gzip_text(const char *text, size_t n, size_t *out_n)
{
    char *out = n <= EXPORTER_PAGE_MAX ? gzip_fast(text, n, out_n) : NULL;
    return out != NULL ? out : gzip_plain(text, n, out_n);
}
