/* drain_types.h - the enums of drain.def. */
#ifndef ENGINE_MODEL_OBJECTS_DRAIN_TYPES_H
#define ENGINE_MODEL_OBJECTS_DRAIN_TYPES_H

#include <stdbool.h>

enum drain_state {
#define DRAIN(id, name, final, help) DRAIN_##id,
#include "engine/model/objects/drain.def"
#undef DRAIN
    DRAIN_COUNT
};
enum drain_guest_state {
#define DRAIN_GUEST(id, name, help) DRAIN_GUEST_##id,
#include "engine/model/objects/drain.def"
#undef DRAIN_GUEST
    DRAIN_GUEST_COUNT
};
enum block {
#define BLOCK(id, name, help, unblock) BLOCK_##id,
#include "engine/model/objects/drain.def"
#undef BLOCK
    BLOCK_COUNT
};
const char *drain_state_name(enum drain_state state);
bool drain_is_final(enum drain_state state);
const char *drain_guest_state_name(enum drain_guest_state state);
const char *block_name(enum block block);
const char *block_help(enum block block);
const char *block_unblock(enum block block);

#endif
