/* files.h - files embedded in the program: documents, alerts, dashboards, the page at /. The
 * table is made by the build (tools/embed_files). */
#ifndef EXPORTER_API_FILES_H
#define EXPORTER_API_FILES_H

#include <stddef.h>

#include "base/text.h"

struct served_file {
    const char *path; /* in the source tree: "docs/runbooks/FerryDown.md" */
    const char *text;
    size_t bytes;
};
extern const struct served_file served_files[]; /* ends with an empty one */

/* The file of that folder and name; the extension may be omitted. NULL: not found. */
const struct served_file *served_file_find(const char *folder, const char *name);
const char *served_file_type(const char *path); /* a MIME type */
/* The file, its links to the appliance as people reach it (`externalUrl`). "": they lead to the
 * address that Prometheus scrapes. */
void served_file_add(const struct served_file *file, const char *external_url, struct buf *out);

#endif
