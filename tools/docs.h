/* docs.h - what the files of the tool docs share. */
#ifndef TOOLS_DOCS_H
#define TOOLS_DOCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the file, or with is_check compares it. 0: it holds exactly this text. */
int docs_put(const char *path, const char *text, size_t n, bool is_check);
/* The regions of docs/architecture.md; the text around them stays. 0: they are up to date. */
int docs_architecture(const char *path, bool is_check);
/* A chapter with a table, and one of its rows. */
void docs_head(FILE *out, const char *title, const char *why, const char *columns);
void docs_row(FILE *out, const char *name, const char *help);
/* Planes, families, causes. */
void docs_causes(FILE *out);

#endif
