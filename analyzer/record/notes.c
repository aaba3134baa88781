/* notes.c - see notes.h. */
#include "analyzer/record/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/judge/verdict.h"
#include "base/text.h"

void notes_fini(struct notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        free((char *)(uintptr_t)notes->rows[i].side); /* the one block of all four texts */
    free(notes->rows);
    *notes = (struct notes){0};
}

static bool make_room(struct notes *notes)
{
    if (notes->n < notes->capacity)
        return true;
    size_t capacity = notes->capacity == 0 ? 32 : 2 * notes->capacity;
    struct store_evidence *rows = realloc(notes->rows, capacity * sizeof *rows);
    if (rows == NULL)
        return false;
    notes->rows = rows;
    notes->capacity = capacity;
    return true;
}

static const char *append(char **at, const char *text, size_t length)
{
    char *begin = *at;
    if (length > 0)
        memcpy(begin, text, length);
    begin[length] = '\0';
    *at += length + 1;
    return begin;
}

/* Texts may hold any byte that came from a log; a zero ends them, since rows are texts. */
static void add(struct notes *notes, const struct store_evidence *note, size_t length)
{
    if (length > EVIDENCE_TEXT_MAX)
        length = EVIDENCE_TEXT_MAX;
    length = strnlen(note->text, length);
    size_t bytes = strlen(note->side) + strlen(note->origin) + strlen(note->key) + length + 4;
    if (notes->n >= NOTES_MAX || notes->bytes + bytes > NOTES_BYTES_MAX || !make_room(notes))
        return;
    char *at = malloc(bytes);
    if (at == NULL)
        return;
    struct store_evidence *row = &notes->rows[notes->n];
    *row = (struct store_evidence){.seq = (int64_t)notes->n, .at_ms = note->at_ms};
    row->side = append(&at, note->side, strlen(note->side));
    row->origin = append(&at, note->origin, strlen(note->origin));
    row->key = append(&at, note->key, strlen(note->key));
    row->text = append(&at, note->text, length);
    notes->bytes += bytes;
    notes->n++;
}

void notes_message(struct notes *notes, enum side side, const char *origin, int64_t at_ms,
                   const char *text, size_t length)
{
    const struct store_evidence note = {
        .side = side_name(side), .origin = origin, .at_ms = at_ms, .key = "", .text = text};
    add(notes, &note, length);
}

void notes_fact(struct notes *notes, const char *key, const char *origin, int64_t at_ms,
                const char *fmt, ...)
{
    char value[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(value, sizeof value, fmt, args);
    va_end(args);
    const struct store_evidence note = {.side = side_name(SIDE_MANAGER),
                                        .origin = origin,
                                        .at_ms = at_ms,
                                        .key = key,
                                        .text = value};
    add(notes, &note, strlen(value));
}

void notes_emit_row(const struct store_evidence *row, const struct evidence_sink *sink)
{
    enum side side = side_of_name(row->side);
    const struct evidence_message message = {.text = row->text,
                                             .length = strlen(row->text),
                                             .origin = row->origin,
                                             .side = side < SIDES ? side : SIDE_UNKNOWN,
                                             .at_ms = row->at_ms};
    const struct evidence_fact fact = {
        .key = row->key, .value = row->text, .origin = row->origin, .at_ms = row->at_ms};
    if (row->key[0] == '\0')
        sink->message(sink->ctx, &message);
    else
        sink->fact(sink->ctx, &fact);
}

void notes_emit(const struct notes *notes, const struct evidence_sink *sink)
{
    for (size_t i = 0; i < notes->n; i++)
        notes_emit_row(&notes->rows[i], sink);
}
