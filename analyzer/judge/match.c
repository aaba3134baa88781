/* match.c - see match.h. */
#include "analyzer/judge/match.h"

#include <assert.h>
#include <hs/hs.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Reports every match, not only the first: that is faster inside Hyperscan. */
enum { FLAGS = HS_FLAG_CASELESS | HS_FLAG_DOTALL };

struct matcher {
    hs_database_t *database;
};
struct match_scratch {
    hs_scratch_t *scratch;
};

static bool fail(struct err *err, hs_compile_error_t *take_error)
{
    char text[512];
    TEXT_SET(text, take_error != NULL ? take_error->message : "no memory");
    (void)hs_free_compile_error(take_error);
    return err_set(err, ERR_INVALID, "%s", text);
}

bool matcher_check(const char *pattern, struct err *err)
{
    hs_expr_info_t *info = NULL;
    hs_compile_error_t *error = NULL;
    if (hs_expression_info(pattern, FLAGS, &info, &error) != HS_SUCCESS)
        return fail(err, error);
    bool is_empty = info->min_width == 0;
    free(info);
    return !is_empty || err_set(err, ERR_INVALID, "it matches the empty text");
}

/* AVX2 is a third faster and common; newer features would limit the packed patterns to few
 * machines. */
static hs_platform_info_t machine_like_this(void)
{
    hs_platform_info_t here = {0}, made = {.tune = HS_TUNE_FAMILY_GENERIC};
    if (hs_populate_platform(&here) == HS_SUCCESS)
        made.cpu_features = here.cpu_features & HS_CPU_FEATURES_AVX2;
    return made;
}

static bool compile(struct matcher *matcher, const char *const *patterns, size_t n, size_t *out_bad,
                    struct err *err)
{
    unsigned *flags = calloc(n, sizeof *flags), *ids = calloc(n, sizeof *ids);
    hs_compile_error_t *error = NULL;
    hs_error_t status = HS_NOMEM;
    hs_platform_info_t machine = machine_like_this();
    for (size_t i = 0; flags != NULL && ids != NULL && i < n; i++) {
        flags[i] = FLAGS;
        ids[i] = (unsigned)i;
    }
    if (flags != NULL && ids != NULL)
        status = hs_compile_multi(patterns, flags, ids, (unsigned)n, HS_MODE_BLOCK, &machine,
                                  &matcher->database, &error);
    free(flags);
    free(ids);
    if (status == HS_SUCCESS)
        return true;
    if (error != NULL && error->expression >= 0)
        *out_bad = (size_t)error->expression;
    return fail(err, error);
}

struct matcher *matcher_new(const char *const *patterns, size_t n, size_t *out_bad, struct err *err)
{
    assert(n > 0 && n <= UINT32_MAX);
    OWNED(matcher) matcher = calloc(1, sizeof *matcher);
    *out_bad = n;
    if (matcher == NULL)
        err_set(err, ERR_NOMEM, "no memory for patterns");
    else if (compile(matcher, patterns, n, out_bad, err))
        return TAKE(matcher);
    return NULL;
}

void matcher_free(struct matcher *matcher)
{
    if (matcher == NULL)
        return;
    (void)hs_free_database(matcher->database);
    free(matcher);
}

char *matcher_pack(const struct matcher *matcher, size_t *out_bytes, struct err *err)
{
    char *packed = NULL;
    if (hs_serialize_database(matcher->database, &packed, out_bytes) != HS_SUCCESS)
        err_set(err, ERR_NOMEM, "no memory to pack the patterns");
    return packed;
}

struct matcher *matcher_unpack(const char *packed, size_t n, struct err *err)
{
    struct matcher *matcher = calloc(1, sizeof *matcher);
    if (matcher != NULL && hs_deserialize_database(packed, n, &matcher->database) == HS_SUCCESS)
        return matcher;
    free(matcher);
    err_set(err, ERR_INVALID, "packed patterns cannot be used on this machine");
    return NULL;
}

struct match_scratch *match_scratch_new(struct err *err)
{
    struct match_scratch *scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL)
        err_set(err, ERR_NOMEM, "no memory for matching");
    return scratch;
}

bool match_scratch_fit(struct match_scratch *scratch, const struct matcher *matcher,
                       struct err *err)
{
    return hs_alloc_scratch(matcher->database, &scratch->scratch) == HS_SUCCESS ||
           err_set(err, ERR_NOMEM, "no memory for matching");
}

void match_scratch_free(struct match_scratch *scratch)
{
    if (scratch == NULL)
        return;
    (void)hs_free_scratch(scratch->scratch);
    free(scratch);
}

struct listener {
    match_fn *fn;
    void *ctx;
};

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                    void *ctx)
{
    const struct listener *listener = ctx;
    (void)from;
    (void)flags;
    listener->fn(listener->ctx, id, (size_t)to);
    return 0;
}

void match_scan(const struct matcher *matcher, struct match_scratch *scratch, const char *text,
                size_t n, match_fn *fn, void *ctx)
{
    struct listener listener = {fn, ctx};
    assert(n <= UINT32_MAX);
    hs_error_t status =
        hs_scan(matcher->database, text, (unsigned)n, 0, scratch->scratch, on_match, &listener);
    assert(status == HS_SUCCESS);
    (void)status;
}

/* ---- normalised text ---- */

/* Typographic quotation marks, as bytes: all of them are three long. */
static char straight_of(const char *text, size_t n)
{
    if (n < 3 || (unsigned char)text[0] != 0xe2 || (unsigned char)text[1] != 0x80)
        return '\0';
    unsigned char last = (unsigned char)text[2];
    if (last >= 0x98 && last <= 0x9b)
        return '\'';
    return last >= 0x9c && last <= 0x9f ? '"' : '\0';
}

/* Bytes of a terminal's colour sequence: ESC [ digits and ; then one letter. */
static size_t colour_bytes(const char *text, size_t n)
{
    if (n < 3 || text[0] != 0x1b || text[1] != '[')
        return 0;
    size_t i = 2;
    while (i < n && (text[i] == ';' || (text[i] >= '0' && text[i] <= '9')))
        i++;
    return i < n ? i + 1 : n;
}

/* The character of a backslash escape in quoted logs; '\0': no escape. */
static char unescaped(const char *text, size_t n)
{
    if (n < 2 || text[0] != '\\')
        return '\0';
    if (text[1] == '"' || text[1] == '\'')
        return text[1];
    return text[1] == 'n' || text[1] == 'r' || text[1] == 't' ? ' ' : '\0';
}

/* One normalised character, and the bytes it took. '\0': they are dropped. */
static char see(const char *text, size_t n, size_t *out_bytes)
{
    unsigned char c = (unsigned char)text[0];
    char other = '\0';
    *out_bytes = 1;
    if (c == '`')
        return '\'';
    if (c == 0x1b && (*out_bytes = colour_bytes(text, n)) > 0)
        return '\0';
    if ((other = unescaped(text, n)) != '\0')
        *out_bytes = 2;
    else if ((other = straight_of(text, n)) != '\0')
        *out_bytes = 3;
    else if (c == 0x1b)
        *out_bytes = 1;
    if (other != '\0')
        return other;
    return c <= ' ' || c == 0x7f ? ' ' : (char)c;
}

/* Bytes from here on that need no change: nearly all. */
static size_t plain_run(const char *text, size_t n)
{
    size_t i = 0;
    for (; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == '`' || c == '\\' || c == 0x7f || c == 0xe2)
            break;
    }
    return i;
}

size_t match_normalise(const char *text, size_t n, char *out, size_t out_bytes)
{
    size_t made = 0, i = 0, took;
    assert(out_bytes > 0);
    while (i < n && made + 1 < out_bytes) {
        size_t left = n - i, room = out_bytes - 1 - made;
        size_t run = plain_run(text + i, left < room ? left : room);
        memcpy(out + made, text + i, run);
        made += run;
        i += run;
        if (i == n || made + 1 >= out_bytes)
            break;
        char c = see(text + i, n - i, &took);
        bool is_more_space = c == ' ' && (made == 0 || out[made - 1] == ' ');
        if (c != '\0' && !is_more_space)
            out[made++] = c;
        i += took;
    }
    while (made > 0 && out[made - 1] == ' ')
        made--;
    out[made] = '\0';
    return made;
}
