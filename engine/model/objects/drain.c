/* drain.c - a Drain object: parses spec and status, writes the status; see drain.h.
 *
 * A restart has only the status, so everything that decisions need (attempts, job of each guest)
 * is in it. No value in it changes with time alone: without a change it stays the same text and
 * is not stored again. */
#include "engine/model/objects/drain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"

#define YES true
#define NO false
static const struct {
    const char *name;
    bool final;
} states[DRAIN_COUNT] = {
#define DRAIN(id, name, final, help) [DRAIN_##id] = {name, final},
#include "engine/model/objects/drain.def"
#undef DRAIN
};
#undef YES
#undef NO
static const char *const guest_states[DRAIN_GUEST_COUNT] = {
#define DRAIN_GUEST(id, name, help) [DRAIN_GUEST_##id] = name,
#include "engine/model/objects/drain.def"
#undef DRAIN_GUEST
};
/* Counts per state in the status. */
static const char *const count_names[DRAIN_GUEST_COUNT] = {
    [DRAIN_GUEST_WAITING] = "waiting", [DRAIN_GUEST_MOVING] = "moving",
    [DRAIN_GUEST_MOVED] = "moved",     [DRAIN_GUEST_BLOCKED] = "blocked",
    [DRAIN_GUEST_FAILED] = "failed",   [DRAIN_GUEST_STOPPING] = "stopping",
};
static const struct {
    const char *name, *help, *unblock;
} blocks[BLOCK_COUNT] = {
#define BLOCK(id, name, help, unblock) [BLOCK_##id] = {name, help, unblock},
#include "engine/model/objects/drain.def"
#undef BLOCK
};

const char *drain_state_name(enum drain_state state)
{
    assert(state < DRAIN_COUNT);
    return states[state].name;
}

bool drain_is_final(enum drain_state state)
{
    assert(state < DRAIN_COUNT);
    return states[state].final;
}

const char *drain_guest_state_name(enum drain_guest_state state)
{
    assert(state < DRAIN_GUEST_COUNT);
    return guest_states[state];
}

const char *block_name(enum block block)
{
    assert(block < BLOCK_COUNT);
    return blocks[block].name;
}

const char *block_help(enum block block)
{
    assert(block < BLOCK_COUNT);
    return blocks[block].help;
}

const char *block_unblock(enum block block)
{
    assert(block < BLOCK_COUNT);
    return blocks[block].unblock;
}

/* ---- the list of guests ---- */

static int64_t expected(const struct drain_guest *guest)
{
    return guest->expected_ms > 0 ? guest->expected_ms : INT64_MAX;
}

/* Smallest first, then shortest: quick migrations free memory and prove the path. The other keys
 * only make equal fleets give equal plans. */
static int by_plan(const void *a, const void *b)
{
    const struct drain_guest *one = a, *other = b;
    if (one->memory_kib != other->memory_kib)
        return one->memory_kib < other->memory_kib ? -1 : 1;
    if (expected(one) != expected(other))
        return expected(one) < expected(other) ? -1 : 1;
    int order = strcmp(one->ns, other->ns);
    if (order == 0)
        order = strcmp(one->name, other->name);
    return order != 0 ? order : strcmp(one->uuid, other->uuid);
}

static int by_uuid(const void *a, const void *b, void *guests)
{
    const struct drain_guest *list = guests;
    return strcmp(list[*(const unsigned *)a].uuid, list[*(const unsigned *)b].uuid);
}

void drain_order(struct drain *drain)
{
    if (drain->n > 0)
        qsort(drain->guests, drain->n, sizeof *drain->guests, by_plan);
    for (unsigned i = 0; i < drain->n; i++)
        drain->by_uuid[i] = i;
    if (drain->n > 0)
        qsort_r(drain->by_uuid, drain->n, sizeof *drain->by_uuid, by_uuid, drain->guests);
    drain->n_indexed = drain->n;
}

struct drain_guest *drain_find(const struct drain *drain, const char *uuid)
{
    size_t low = 0, high = drain->n_indexed;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct drain_guest *guest = &drain->guests[drain->by_uuid[middle]];
        int order = strcmp(uuid, guest->uuid);
        if (order == 0)
            return guest;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static bool grow(struct drain *drain)
{
    size_t capacity = drain->capacity == 0 ? 16 : drain->capacity * 2;
    struct drain_guest *guests = reallocarray(drain->guests, capacity, sizeof *guests);
    if (guests == NULL)
        return false;
    drain->guests = guests;
    unsigned *index = reallocarray(drain->by_uuid, capacity, sizeof *index);
    if (index == NULL)
        return false;
    drain->by_uuid = index;
    drain->capacity = capacity;
    return true;
}

/* Forgets guests that left: a node whose guests come and go for weeks must not grow the drain
 * without bound. */
static void forget_left(struct drain *drain)
{
    size_t kept = 0;
    for (size_t i = 0; i < drain->n; i++)
        if (drain->guests[i].state != DRAIN_GUEST_MOVED)
            drain->guests[kept++] = drain->guests[i];
    drain->n = kept;
    drain_order(drain);
}

bool drain_add_guest(struct drain *drain, const struct drain_guest *guest)
{
    if (drain->n == DRAIN_GUESTS_MAX)
        forget_left(drain);
    if (drain->n == DRAIN_GUESTS_MAX || (drain->n == drain->capacity && !grow(drain)))
        return false;
    drain->guests[drain->n++] = *guest;
    return true;
}

void drain_free(struct drain *drain)
{
    if (drain == NULL)
        return;
    free(drain->guests);
    free(drain->by_uuid);
    free(drain);
}

/* ---- writing ---- */

void drain_count(const struct drain *drain, unsigned out_counts[static DRAIN_GUEST_COUNT])
{
    memset(out_counts, 0, DRAIN_GUEST_COUNT * sizeof *out_counts);
    for (size_t i = 0; i < drain->n; i++)
        out_counts[drain->guests[i].state]++;
}

void drain_count_blocks(const struct drain *drain, unsigned out_counts[static BLOCK_COUNT])
{
    memset(out_counts, 0, BLOCK_COUNT * sizeof *out_counts);
    for (size_t i = 0; i < drain->n; i++)
        if (drain->guests[i].block != BLOCK_NONE)
            out_counts[drain->guests[i].block]++;
}

int64_t drain_eta_s(const struct drain *drain)
{
    uint64_t moved_kib = 0, left_kib = 0;
    for (size_t i = 0; i < drain->n; i++) {
        const struct drain_guest *guest = &drain->guests[i];
        if (guest->state == DRAIN_GUEST_MOVED)
            moved_kib += guest->memory_kib;
        else if (guest->state == DRAIN_GUEST_WAITING || guest->state == DRAIN_GUEST_MOVING)
            left_kib += guest->memory_kib;
    }
    int64_t spent_ms = drain->last_moved_ms - drain->began_ms;
    if (drain_is_final(drain->state) || moved_kib == 0 || drain->last_moved_ms == 0 ||
        spent_ms <= 0 || left_kib == 0)
        return -1;
    return (int64_t)((double)left_kib / (double)moved_kib * (double)spent_ms / 1000.0);
}

static const char *unblock_of(const struct drain_guest *guest)
{
    return guest->block == BLOCK_NOT_MIGRATABLE && guest->unmovable < UNMOVABLE_COUNT
               ? unmovable_help(guest->unmovable)
               : block_unblock(guest->block);
}

static void add_guest(struct json_object *list, const struct drain_guest *guest)
{
    struct json_object *row = json_add_object(list, NULL);
    json_add_text(row, "namespace", guest->ns);
    json_add_text(row, "name", guest->name);
    json_add_text(row, "uuid", guest->uuid);
    json_add_i64(row, "memoryKiB", (int64_t)guest->memory_kib);
    if (guest->expected_ms > 0)
        json_add_i64(row, "expectedMs", guest->expected_ms);
    json_add_text(row, "state", drain_guest_state_name(guest->state));
    json_add_i64(row, "attempts", guest->attempts);
    json_add_text(row, "migration", guest->job_name[0] != '\0' ? guest->job_name : NULL);
    json_add_text(row, "migrationUID", guest->job_uid[0] != '\0' ? guest->job_uid : NULL);
    json_add_text(row, "target", guest->target[0] != '\0' ? guest->target : NULL);
    json_add_text(row, "message", guest->message[0] != '\0' ? guest->message : NULL);
    if (guest->block == BLOCK_NONE)
        return;
    json_add_text(row, "reason", block_name(guest->block));
    json_add_text(row, "unblock", unblock_of(guest));
    if (guest->unmovable < UNMOVABLE_COUNT)
        json_add_text(row, "condition", unmovable_name(guest->unmovable));
}

/* A drain leaves them where they are: whoever wipes the host loses them. */
static void add_shut_off(struct json_object *status, const struct drain *drain)
{
    char text[HV_HOST_MAX + HV_NAME_MAX];
    json_add_i64(status, "shutOff", (int64_t)drain->n_shut_off);
    struct json_object *names = json_add_array(status, "shutOffGuests");
    for (size_t i = 0; i < drain->n_shut_off && i < DRAIN_SHUT_OFF_MAX; i++) {
        (void)snprintf(text, sizeof text, "%s/%s", drain->shut_off[i].ns, drain->shut_off[i].name);
        json_add_text(names, "", text);
    }
}

char *drain_status(const struct drain *drain)
{
    OWNED(json_object) status = json_object_new_object();
    unsigned counts[DRAIN_GUEST_COUNT];
    drain_count(drain, counts);
    json_add_text(status, "state", drain_state_name(drain->state));
    json_add_time(status, "since", drain->since_ms);
    json_add_text(status, "message", drain->message[0] != '\0' ? drain->message : NULL);
    json_add_time(status, "deadline", drain->deadline_ms);
    json_add_i64(status, "total", (int64_t)drain->n);
    for (unsigned i = 0; i < DRAIN_GUEST_COUNT; i++)
        json_add_i64(status, count_names[i], counts[i]);
    json_add_time(status, "lastMoved", drain->last_moved_ms);
    int64_t eta_s = drain_eta_s(drain);
    if (eta_s >= 0)
        json_add_i64(status, "etaSeconds", eta_s);
    else
        json_add(status, "etaSeconds", NULL);
    struct json_object *guests = json_add_array(status, "guests");
    for (size_t i = 0; i < drain->n; i++)
        add_guest(guests, &drain->guests[i]);
    json_add_i64(status, "strategyUnset", (int64_t)drain->n_unset);
    add_shut_off(status, drain);
    const char *text =
        status != NULL ? json_object_to_json_string_ext(status, JSON_C_TO_STRING_PLAIN) : NULL;
    return text != NULL ? strdup(text) : NULL;
}

/* ---- parsing ---- */

static bool wrong(struct err *err, const char *part, const struct err *why)
{
    return err_set(err, why->code == ERR_NOMEM ? ERR_NOMEM : ERR_UNPROCESSABLE, "%s.%s", part,
                   why->text);
}

static struct json_object *object_of(const char *json, const char *part, struct err *err)
{
    struct err why = {0};
    struct json_object *value = json_parse(json, strlen(json), part, &why);
    if (value == NULL) {
        (void)err_set(err, ERR_UNPROCESSABLE, "%s", why.text);
        return NULL;
    }
    if (json_object_is_type(value, json_type_object))
        return value;
    json_object_free(value);
    (void)err_set(err, ERR_UNPROCESSABLE, "%s: expected an object", part);
    return NULL;
}

struct number {
    const char *name;
    int64_t fallback, min, max;
};

static bool number_of(struct json_object *spec, const struct number *number, int64_t *out_value,
                      struct err *err)
{
    struct err why = {0};
    if (!json_get_i64(spec, number->name, number->fallback, out_value, &why))
        return wrong(err, "spec", &why);
    if (*out_value < number->min || *out_value > number->max)
        return err_set(err, ERR_UNPROCESSABLE, "spec.%s: must be %lld to %lld, is %lld",
                       number->name, (long long)number->min, (long long)number->max,
                       (long long)*out_value);
    return true;
}

static bool only_known_fields(struct json_object *spec, struct err *err)
{
    static const char *const known[] = {"nodeName", "deadlineSeconds", "retryBudget", "shutdown"};
    json_object_object_foreach(spec, name, value)
    {
        (void)value;
        size_t i = 0;
        while (i < COUNT(known) && strcmp(known[i], name) != 0)
            i++;
        if (i == COUNT(known))
            return err_set(err, ERR_UNPROCESSABLE, "spec.%s: unknown field", name);
    }
    return true;
}

static bool read_spec(struct drain *drain, const char *json, struct err *err)
{
    static const struct number deadline = {"deadlineSeconds", 0, 0, DRAIN_DEADLINE_MAX_S};
    static const struct number budget = {"retryBudget", DRAIN_TRIES_DEFAULT, 1, DRAIN_TRIES_MAX};
    struct err why = {0};
    OWNED(json_object) spec = object_of(json, "spec", err);
    const char *node;
    int64_t deadline_s, tries;
    if (spec == NULL || !only_known_fields(spec, err))
        return false;
    if (!json_get_text(spec, "nodeName", "", &node, &why) ||
        !json_get_bool(spec, "shutdown", false, &drain->shutdown, &why))
        return wrong(err, "spec", &why);
    if (node[0] == '\0')
        return err_set(err, ERR_UNPROCESSABLE, "spec.nodeName: must name the node to drain");
    if (!text_copy(drain->node, sizeof drain->node, node))
        return err_set(err, ERR_UNPROCESSABLE, "spec.nodeName: too long for the name of a node");
    if (!number_of(spec, &deadline, &deadline_s, err) || !number_of(spec, &budget, &tries, err))
        return false;
    drain->deadline_ms = deadline_s > 0 ? drain->began_ms + deadline_s * 1000 : 0;
    drain->retry_budget = (unsigned)tries;
    return true;
}

/* Looks up a name in a table; an unknown one makes the status invalid. */
static bool find_name(struct json_object *object, const char *field,
                      const char *(*name_of)(unsigned), unsigned count, unsigned *out_index,
                      struct err *err)
{
    const char *text;
    if (!json_get_text(object, field, "", &text, err))
        return false;
    for (*out_index = 0; *out_index < count; ++*out_index)
        if (strcmp(name_of(*out_index), text) == 0)
            return true;
    return err_set(err, ERR_UNPROCESSABLE, "%s: unknown value \"%.40s\"", field, text);
}

static const char *state_from_name(unsigned i)
{
    return drain_state_name((enum drain_state)i);
}

static const char *guest_state_from_name(unsigned i)
{
    return drain_guest_state_name((enum drain_guest_state)i);
}

static const char *block_from_name(unsigned i)
{
    return block_name((enum block)i);
}

static const char *unmovable_from_name(unsigned i)
{
    return i < UNMOVABLE_COUNT ? unmovable_name((enum unmovable)i) : "";
}

static bool time_of(struct json_object *object, const char *field, int64_t *out_wall_ms,
                    struct err *err)
{
    const char *text;
    struct tm parts = {0};
    if (!json_get_text(object, field, NULL, &text, err))
        return false;
    if (text == NULL)
        return true;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (end == NULL || strcmp(end, "Z") != 0)
        return err_set(err, ERR_UNPROCESSABLE, "%s: not a timestamp", field);
    *out_wall_ms = (int64_t)timegm(&parts) * 1000;
    return true;
}

static bool read_guest(struct json_object *row, struct drain_guest *out_guest, struct err *err)
{
    struct drain_guest guest = {0};
    const struct {
        const char *field;
        char *into;
        size_t bytes;
    } texts[] = {
        {"namespace", guest.ns, sizeof guest.ns},
        {"name", guest.name, sizeof guest.name},
        {"uuid", guest.uuid, sizeof guest.uuid},
        {"migration", guest.job_name, sizeof guest.job_name},
        {"migrationUID", guest.job_uid, sizeof guest.job_uid},
        {"target", guest.target, sizeof guest.target},
        {"message", guest.message, sizeof guest.message},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const char *text;
        if (!json_get_text(row, texts[i].field, "", &text, err))
            return false;
        (void)text_copy(texts[i].into, texts[i].bytes, text);
    }
    int64_t memory_kib, attempts, expected_ms;
    unsigned state, block, unmovable;
    if (!json_get_i64(row, "memoryKiB", 0, &memory_kib, err) ||
        !json_get_i64(row, "attempts", 0, &attempts, err) ||
        !json_get_i64(row, "expectedMs", 0, &expected_ms, err) ||
        !find_name(row, "state", guest_state_from_name, DRAIN_GUEST_COUNT, &state, err) ||
        !find_name(row, "reason", block_from_name, BLOCK_COUNT, &block, err) ||
        !find_name(row, "condition", unmovable_from_name, UNMOVABLE_COUNT + 1, &unmovable, err))
        return false;
    if (guest.uuid[0] == '\0' || memory_kib < 0 || attempts < 0 || attempts > DRAIN_TRIES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "guests: an entry is invalid");
    guest.memory_kib = (uint64_t)memory_kib;
    guest.expected_ms = expected_ms > 0 ? expected_ms : 0;
    guest.attempts = (unsigned)attempts;
    guest.state = (enum drain_guest_state)state;
    guest.block = (enum block)block;
    guest.unmovable = (enum unmovable)unmovable;
    *out_guest = guest;
    return true;
}

static bool read_guests(struct drain *drain, struct json_object *list, struct err *err)
{
    if (!json_object_is_type(list, json_type_array))
        return err_set(err, ERR_UNPROCESSABLE, "guests: expected an array");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct drain_guest guest;
        if (!read_guest(json_object_array_get_idx(list, i), &guest, err))
            return err_wrap(err, "guests.%zu", i);
        if (!drain_add_guest(drain, &guest))
            return err_set(err, ERR_LIMIT, "guests: too many for one drain");
    }
    drain_order(drain);
    return true;
}

static bool read_status(struct drain *drain, const char *json, struct err *err)
{
    struct err why = {0};
    OWNED(json_object) status = object_of(json, "status", err);
    const char *message;
    unsigned state;
    if (status == NULL)
        return false;
    struct json_object *guests = json_at(status, "guests");
    if (!find_name(status, "state", state_from_name, DRAIN_COUNT, &state, &why) ||
        !json_get_text(status, "message", "", &message, &why) ||
        !time_of(status, "since", &drain->since_ms, &why) ||
        !time_of(status, "lastMoved", &drain->last_moved_ms, &why) ||
        (guests != NULL && !read_guests(drain, guests, &why)))
        return wrong(err, "status", &why);
    drain->state = (enum drain_state)state;
    TEXT_SET(drain->message, message);
    return true;
}

struct drain *drain_parse(const char *spec_json, const char *status_json, int64_t created_ms,
                          struct err *err)
{
    OWNED(drain) drain = calloc(1, sizeof *drain);
    if (drain == NULL) {
        (void)err_set(err, ERR_NOMEM, "out of memory: drain");
        return NULL;
    }
    drain->began_ms = created_ms;
    drain->since_ms = created_ms / 1000 * 1000;
    if (!read_spec(drain, spec_json != NULL ? spec_json : "", err))
        return NULL;
    if (status_json != NULL && !read_status(drain, status_json, err))
        return NULL;
    return TAKE(drain);
}
