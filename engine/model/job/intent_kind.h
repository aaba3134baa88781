/* intent_kind.h - the kinds of orders that change a guest, from intent.def. Pure. */
#ifndef ENGINE_MODEL_JOB_INTENT_KIND_H
#define ENGINE_MODEL_JOB_INTENT_KIND_H

enum { INTENT_NAME_MAX = 32 };

enum intent_kind {
#define INTENT(id, name, help) INTENT_##id,
#include "engine/model/job/intent.def"
#undef INTENT
    INTENT_COUNT
};
const char *intent_kind_name(enum intent_kind kind);
enum intent_kind intent_kind_from_name(const char *name); /* INTENT_COUNT: no such */

#endif
