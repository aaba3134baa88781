/* own.h - ownership of memory, released at the end of the scope.
 *
 * One extension to C17, used everywhere: scope-bound release. OWNED(T) declares a variable that
 * frees its object when the block ends; TAKE() moves the object out. OWNED_TEXT does the same for
 * malloc'ed text. Nothing else in the tree uses the cleanup attribute directly.
 */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include <stddef.h>
#include <stdlib.h>

#define DEFINE_OWNED(T)                        \
    static inline void T##_freep(struct T **p) \
    {                                          \
        T##_free(*p);                          \
    }
#define OWNED(T) __attribute__((cleanup(T##_freep))) struct T *

static inline void text_freep(char **p)
{
    free(*p);
}
#define OWNED_TEXT __attribute__((cleanup(text_freep))) char *

#define TAKE(p)                     \
    __extension__({                 \
        __typeof__(p) taken_ = (p); \
        (p) = NULL;                 \
        taken_;                     \
    })
#define MUST_CHECK __attribute__((warn_unused_result))
#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
