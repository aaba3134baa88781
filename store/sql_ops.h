/* sql_ops.h - the operations of store.h on rows: puts (objects.c) and readers (read.c). For sql.c.
 */
#ifndef STORE_SQL_OPS_H
#define STORE_SQL_OPS_H

#include "store/store.h"

#define PUT(name) void objects_put_##name(struct store *s, const struct store_##name *row);
PUT(job)
PUT(transition)
PUT(intent)
PUT(observation)
PUT(error)
PUT(mode)
PUT(event)
PUT(object)
PUT(decision)
PUT(rejection)
PUT(verdict)
PUT(point)
PUT(number)
PUT(evidence)
PUT(incident)
#undef PUT
void objects_clear_rejections(struct store *s, const char *job_uid);
void objects_clear_verdict(struct store *s, const char *job_uid);

bool read_each_audit(struct store *s, store_audit_fn *fn, void *ctx, struct err *err);
bool read_each_job(struct store *s, bool unfinished, store_job_fn *fn, void *ctx, struct err *err);
bool read_each_unjudged(struct store *s, store_job_fn *fn, void *ctx, struct err *err);
bool read_each_verdict(struct store *s, const char *job_uid, store_verdict_fn *fn, void *ctx,
                       struct err *err);
bool read_each_incident(struct store *s, bool only_open, store_incident_fn *fn, void *ctx,
                        struct err *err);
bool read_each_recent_job(struct store *s, int64_t limit, store_job_fn *fn, void *ctx,
                          struct err *err);
bool read_find_job(struct store *s, const char *ns, const char *name, store_job_fn *fn, void *ctx,
                   struct err *err);
bool read_each_object(struct store *s, store_object_fn *fn, void *ctx, struct err *err);
bool read_each_event(struct store *s, const char *uid, size_t limit, store_event_fn *fn, void *ctx,
                     struct err *err);
#define READ(name)                                                                                \
    bool read_each_##name(struct store *s, const char *job_uid, store_##name##_fn *fn, void *ctx, \
                          struct err *err);
READ(transition)
READ(intent)
READ(observation)
READ(error)
READ(mode)
READ(decision)
READ(rejection)
READ(point)
READ(number)
READ(evidence)
READ(sample)
READ(monitor_input)
#undef READ

#define SQL_PUTS                                                                                  \
    .put_job = objects_put_job, .put_transition = objects_put_transition,                         \
    .put_intent = objects_put_intent, .put_observation = objects_put_observation,                 \
    .put_error = objects_put_error, .put_mode = objects_put_mode, .put_event = objects_put_event, \
    .put_object = objects_put_object, .put_decision = objects_put_decision,                       \
    .clear_rejections = objects_clear_rejections, .put_rejection = objects_put_rejection,         \
    .clear_verdict = objects_clear_verdict, .put_verdict = objects_put_verdict,                   \
    .put_point = objects_put_point, .put_number = objects_put_number,                             \
    .put_evidence = objects_put_evidence, .put_incident = objects_put_incident
#define SQL_READERS                                                                                \
    .each_job = read_each_job, .each_recent_job = read_each_recent_job, .find_job = read_find_job, \
    .each_transition = read_each_transition, .each_intent = read_each_intent,                      \
    .each_observation = read_each_observation, .each_error = read_each_error,                      \
    .each_mode = read_each_mode, .each_event = read_each_event, .each_object = read_each_object,   \
    .each_decision = read_each_decision, .each_rejection = read_each_rejection,                    \
    .each_unjudged = read_each_unjudged, .each_verdict = read_each_verdict,                        \
    .each_point = read_each_point, .each_number = read_each_number,                                \
    .each_evidence = read_each_evidence, .each_incident = read_each_incident,                      \
    .each_sample = read_each_sample, .each_monitor_input = read_each_monitor_input,                \
    .each_audit = read_each_audit

#endif
