/* verdict_page.h - a verdict as a page. Pure. */
#ifndef CLI_PAGES_VERDICT_PAGE_H
#define CLI_PAGES_VERDICT_PAGE_H

#include "analyzer/judge/verdict.h"
#include "base/text.h"

void verdict_page(const struct verdict *verdict, const char *id, struct buf *out);

#endif
