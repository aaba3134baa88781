/* read_folder.h - a folder full of evidence, such as a must-gather. */
#ifndef ANALYZER_READ_READ_FOLDER_H
#define ANALYZER_READ_READ_FOLDER_H

#include "analyzer/read/read.h"

/* As read_evidence_path; the descriptor is the folder's and stays the caller's. */
bool folder_read(int fd, const char *path, const struct read_visitor *visitor,
                 struct read_report *out_report, struct err *err);

#endif
