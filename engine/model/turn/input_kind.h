/* input_kind.h - the kinds of inputs, from input.def. Pure. */
#ifndef ENGINE_MODEL_TURN_INPUT_KIND_H
#define ENGINE_MODEL_TURN_INPUT_KIND_H

enum input_kind {
#define INPUT(id, is, help) INPUT_##id,
#include "engine/model/turn/input.def"
#undef INPUT
    INPUT_COUNT
};
enum input_class { INPUT_IS_FACT, INPUT_IS_REQUEST, INPUT_IS_QUESTION };
enum input_class input_class(enum input_kind kind);

#endif
