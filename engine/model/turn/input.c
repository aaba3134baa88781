/* input.c - see input.h. */
#include "engine/model/turn/input.h"

#include <assert.h>
#include <stdlib.h>

enum input_class input_class(enum input_kind kind)
{
    static const enum input_class classes[INPUT_COUNT] = {
#define INPUT(id, is, help) [INPUT_##id] = INPUT_IS_##is,
#include "engine/model/turn/input.def"
#undef INPUT
    };
    assert(kind < INPUT_COUNT);
    return classes[kind];
}

/* Texts of a request are the input's own copies. */
static void free_text(const char *text)
{
    free((char *)(uintptr_t)text);
}

void input_free(struct input *input)
{
    if (input == NULL)
        return;
    if (input->kind == INPUT_GUESTS)
        hv_guest_list_free(input->of.guests);
    if (input->kind == INPUT_CAPABILITIES)
        hv_capabilities_free(input->of.capabilities);
    if (input->kind == INPUT_DEFINITION)
        free(input->of.definition);
    if (input->kind == INPUT_VOLUMES)
        free(input->of.volumes);
    if (input->kind == INPUT_JUDGED)
        verdict_rows_unref(input->of.judged);
    if (input->kind == INPUT_CONFIGURE)
        setup_free(input->of.setup);
    if (input->kind == INPUT_CREATE) {
        free_text(input->of.create.request.metadata_json);
        free_text(input->of.create.request.selector_json);
        free_text(input->of.create.request.volumes_json);
    }
    if (input->kind == INPUT_PUT) {
        free_text(input->of.put.spec_json);
        free_text(input->of.put.metadata_json);
    }
    free(input);
}
