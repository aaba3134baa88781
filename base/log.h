/* log.h - one line per fact: time, level, fixed event name, typed fields.
 *
 *     LOG(INFO, "migration_step", FIELD_TEXT(MIGRATION, uid), FIELD_I64(SPENT_MS, spent));
 *
 * Text lines for people, JSON lines for machines, or journald's own protocol with a journal field
 * for each field (FERRY_EVENT, FERRY_NODE, ...); all to one file descriptor (stderr by default),
 * one write(2) per line so that threads do not mix. Long values are cut, control bytes escaped.
 * Format and descriptor are set once by main before threads start.
 *
 * These are mutable file-level state. Only four other files have such state: base/fault.c (the
 * crash point that is armed), store/sqlite/budget.c (SQLite's memory and files, limited),
 * hypervisor/libvirt/loop.c (libvirt's event loop) and exporter/prom/prom.c (libprom's default
 * registry).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_COUNT
};
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_JOURNAL };

enum log_field_id {
#define LOG_FIELD(id, name) LOG_FIELD_##id,
#include "base/log.def"
#undef LOG_FIELD
    LOG_FIELD_IDS
};

struct log_field {
    enum log_field_id id;
    bool is_number;
    int64_t number;
    const char *text; /* NULL is written as "" */
};

void log_setup(enum log_level level, enum log_format format, int fd);
/* A socket to journald, if stderr leads there (JOURNAL_STREAM); else -1. For LOG_FORMAT_JOURNAL. */
int log_open_journal(void);
void log_set_level(enum log_level level);                              /* any thread */
bool log_level_from_name(const char *name, enum log_level *out_level); /* debug info warn error */
bool log_enabled(enum log_level level);
void log_line(enum log_level level, const char *event, const struct log_field *fields, unsigned n);

#define FIELD_TEXT(field, value) ((struct log_field){LOG_FIELD_##field, false, 0, (value)})
#define FIELD_I64(field, value) \
    ((struct log_field){LOG_FIELD_##field, true, (int64_t)(value), NULL})
#define LOG(level, event, ...)                                              \
    do {                                                                    \
        if (log_enabled(LOG_LEVEL_##level)) {                               \
            const struct log_field log_fields_[] = {__VA_ARGS__};           \
            log_line(LOG_LEVEL_##level, event, log_fields_,                 \
                     (unsigned)(sizeof log_fields_ / sizeof *log_fields_)); \
        }                                                                   \
    } while (0)

#endif
