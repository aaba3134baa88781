/* fold.h - wraps a page to a width; continuation lines are indented. Pure. */
#ifndef CLI_COMMON_FOLD_H
#define CLI_COMMON_FOLD_H

#include "base/text.h"

/* Breaks at blanks only: a long word may exceed the width. Continuation lines are indented by two
 * columns, or to the value of a "Label: value". Width 0: no wrapping. */
void fold_page(const char *text, size_t width, struct buf *out);

#endif
