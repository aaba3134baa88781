/* fold.h - a page made to fit a width: lines that are too long go on below, indented under what
 * they belong to. Pure. */
#ifndef CLI_COMMON_FOLD_H
#define CLI_COMMON_FOLD_H

#include "base/text.h"

/* Breaks at blanks only: a path or a number stays whole and may stick out. What follows a break
 * stands two columns further in than its line, or under the value of a "Label:   value". Width 0
 * breaks nothing. */
void fold_page(const char *text, size_t width, struct buf *out);

#endif
