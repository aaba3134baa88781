/* object.h - an object that users write (object.def): its texts and the parsed form of its kind. */
#ifndef ENGINE_MODEL_OBJECTS_OBJECT_H
#define ENGINE_MODEL_OBJECTS_OBJECT_H

#include "engine/model/job/job.h"
#include "engine/model/objects/object_kind.h"

/* Of one object's spec and metadata, and of all of them together. */
enum { OBJECT_BYTES_MAX = 32 * 1024, OBJECTS_BYTES_MAX = 64 * 1024 * 1024 };

struct object {
    enum object_kind kind;
    char uid[JOB_UID_MAX], ns[HV_HOST_MAX], name[JOB_NAME_MAX], requester[JOB_WHO_MAX];
    char *spec_json;     /* owned; the requested state */
    char *metadata_json; /* owned or NULL: {"labels":{},"annotations":{}} */
    char *status_json;   /* owned or NULL: status */
    int64_t created_ms;
    uint64_t version;
    bool removed;          /* stored as removed with the next commit, then freed */
    struct policy *policy; /* POLICY */
    struct quota *quota;   /* QUOTA */
    struct drain *drain;   /* DRAIN */
    struct object *next_changed;
    bool changed; /* must be stored */
    bool stored;  /* a row of it is on disk */
    char key[HV_HOST_MAX + JOB_NAME_MAX + 32];
    struct object *prev, *next;           /* of its kind, by creation */
    struct object *prev_here, *next_here; /* QUOTA: of its namespace, by creation */
    UT_hash_handle hh;
};

void object_free(struct object *object); /* NULL is fine */

#define OBJECT_OURS "ferry:evacuation" /* requester of an object that Ferry itself created */
struct json_object;
/* A part of the object as JSON; an empty object when there is none or it cannot be parsed. */
struct json_object *object_read_part(const char *json);
/* Replaces the text; unchanged when there is no memory. */
bool object_write_part(struct json_object *value, char **text);

#endif
