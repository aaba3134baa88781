/* now.c - see now.h. */
#include "cli/top/now.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/common/kinds.h"
#include "cli/common/table.h"
#include "cli/common/view.h"
#include "cli/common/wait.h"
#include "engine/model/job/phase.h"
#include "engine/model/objects/drain_types.h"

/* Ended migrations are left out by the appliance: there may be many more of them. */
static const struct {
    enum kind kind;
    const char *fields;
} kinds[NOW_KINDS] = {
    [NOW_MIGRATIONS] = {KIND_MIGRATION, "status.phase!=Succeeded,status.phase!=Failed"},
    [NOW_INCIDENTS] = {KIND_INCIDENT, "status.state=open"},
    [NOW_DRAINS] = {KIND_DRAIN, ""},
};

enum kind now_api_kind(enum now_kind kind)
{
    return kinds[kind].kind;
}

const char *now_field_selector(enum now_kind kind)
{
    return kinds[kind].fields;
}

void now_init(struct now *now)
{
    *now = (struct now){0};
}

void now_fini(struct now *now)
{
    free(now->rows);
    free(now->keys);
    now_init(now);
}

/* ---- a row of an object ---- */

#define CLEAN(array, text) table_clean((array), sizeof(array), (text))

static uint64_t key_of(enum now_kind kind, struct json_object *object)
{
    uint64_t key = hash_number(HASH_START, kind);
    key = hash_word(key, view_text(object, "metadata.namespace"));
    return hash_word(key, view_text(object, "metadata.name"));
}

static enum now_kind kind_of(enum now_section section)
{
    return section == SECTION_INCIDENTS ? NOW_INCIDENTS
           : section == SECTION_DRAINS  ? NOW_DRAINS
                                        : NOW_MIGRATIONS;
}

static bool is_aborting(const struct progress *p)
{
    return text_equal(p->abort_status, "Aborting");
}

static void read_state(struct now_row *row, struct json_object *object)
{
    const struct progress *p = &row->progress;
    const char *word = p->phase[0] != '\0' ? p->phase : "Pending";
    CLEAN(row->state, p->recovering     ? "Recovering"
                      : p->resolving    ? "Resolving"
                      : is_aborting(p)  ? "Aborting"
                      : p->mode[0] != 0 ? p->mode
                                        : word);
    const char *recovery = view_text(object, "status.ferry.recovery.state");
    if (p->recovering && recovery_from_name(recovery) == RECOVERY_EXHAUSTED)
        CLEAN(row->state, "exhausted");
}

static void read_migration(struct now_row *row, struct json_object *object)
{
    static const char settings[] = "status.migrationState.migrationConfiguration.maxDowntimeMs";
    struct progress *p = &row->progress;
    wait_read(object, 0, p);
    bool moves = text_equal(p->phase, phase_name(PHASE_RUNNING)) || p->resolving || p->recovering;
    row->section = moves ? SECTION_MOVING : SECTION_WAITING;
    read_state(row, object);
    CLEAN(row->guest, view_text(object, "spec.vmiName"));
    CLEAN(row->from, view_text(object, "status.migrationState.sourceNode"));
    CLEAN(row->to, view_text(object, "status.migrationState.targetNode"));
    CLEAN(row->reason, view_text(object, "status.ferry.pending.reason"));
    CLEAN(row->text, view_text(object, "status.ferry.pending.message"));
    if (row->text[0] == '\0')
        CLEAN(row->text, view_text(object, "status.ferry.monitor.text"));
    CLEAN(row->note, view_text(object, "status.ferry.etaNote"));
    CLEAN(row->policy, view_text(object, "status.ferry.policy"));
    CLEAN(row->migration, view_text(object, "metadata.name"));
    row->since_ms = view_time(object, "status.ferry.pending.since");
    row->deadline_ms = view_time(object, "status.ferry.pending.deadline");
    row->eta_low_ms = view_i64(object, "status.ferry.etaLowMs", -1);
    row->eta_high_ms = view_i64(object, "status.ferry.etaHighMs", -1);
    row->downtime_ms = view_i64(object, "status.ferry.sample.expectedDowntimeMs", -1);
    row->max_downtime_ms = view_i64(object, settings, -1);
}

/* The verdict is of the migration: it stays when the incident is told again. */
static void read_incident(struct now_row *row, struct json_object *object)
{
    row->section = SECTION_INCIDENTS;
    CLEAN(row->guest, view_text(object, "spec.vmiName"));
    CLEAN(row->migration, view_text(object, "spec.migrationName"));
    CLEAN(row->from, view_text(object, "status.nodeName"));
    CLEAN(row->state, view_text(object, "status.kind"));
    CLEAN(row->reason, view_text(object, "status.cause"));
    CLEAN(row->plane, view_text(object, "status.plane"));
    row->since_ms = view_time(object, "status.since");
}

static void read_drain(struct now_row *row, struct json_object *object)
{
    row->section = SECTION_DRAINS;
    CLEAN(row->from, view_text(object, "spec.nodeName"));
    CLEAN(row->state, view_text(object, "status.state"));
    CLEAN(row->text, view_text(object, "status.message"));
    row->moved = view_i64(object, "status.moved", 0);
    row->total = view_i64(object, "status.total", 0);
    row->blocked = view_i64(object, "status.blocked", 0);
    row->deadline_ms = view_time(object, "status.deadline");
    int64_t eta_s = view_i64(object, "status.etaSeconds", -1);
    row->progress.eta_ms = eta_s >= 0 ? eta_s * 1000 : -1;
}

static void read_row(struct now_row *row, enum now_kind kind, struct json_object *object)
{
    static void (*const readers[NOW_KINDS])(struct now_row *, struct json_object *) = {
        [NOW_MIGRATIONS] = read_migration,
        [NOW_INCIDENTS] = read_incident,
        [NOW_DRAINS] = read_drain};
    CLEAN(row->ns, view_text(object, "metadata.namespace"));
    CLEAN(row->name, view_text(object, "metadata.name"));
    row->created_ms = view_time(object, "metadata.creationTimestamp");
    row->key = key_of(kind, object);
    row->is_told = true;
    readers[kind](row, object);
}

static bool has_drain_ended(const char *word)
{
    for (enum drain_state state = 0; state < DRAIN_COUNT; state++)
        if (drain_is_final(state) && text_equal(word, drain_state_name(state)))
            return true;
    return false;
}

/* Is this object of interest? */
static bool is_of_now(enum now_kind kind, struct json_object *object)
{
    const char *phase = view_text(object, "status.phase");
    const char *state = view_text(object, "status.state");
    switch (kind) {
    case NOW_MIGRATIONS:
        return !(phase_from_name(phase) < PHASE_COUNT && phase_is_final(phase_from_name(phase)));
    case NOW_INCIDENTS: return text_equal(state, "open");
    case NOW_DRAINS: return !has_drain_ended(state);
    case NOW_KINDS: break;
    }
    return false;
}

/* ---- rows ---- */

static struct now_row *find(const struct now *now, uint64_t key)
{
    for (size_t i = 0; i < now->n; i++)
        if (now->keys[i] == key)
            return &now->rows[i];
    return NULL;
}

const struct now_row *now_find(const struct now *now, uint64_t key)
{
    return find(now, key);
}

size_t now_count(const struct now *now, enum now_section section)
{
    size_t n = 0;
    for (size_t i = 0; i < now->n; i++)
        n += now->rows[i].section == section;
    return n;
}

static size_t count_kind(const struct now *now, enum now_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < now->n; i++)
        n += kind_of(now->rows[i].section) == kind;
    return n;
}

static void drop(struct now *now, struct now_row *row)
{
    size_t i = (size_t)(row - now->rows);
    now->n--;
    now->rows[i] = now->rows[now->n];
    now->keys[i] = now->keys[now->n];
}

static bool grow(struct now *now)
{
    size_t capacity = now->capacity > 0 ? now->capacity * 2 : 16;
    struct now_row *rows = reallocarray(now->rows, capacity, sizeof *rows);
    if (rows != NULL)
        now->rows = rows;
    uint64_t *keys = rows != NULL ? reallocarray(now->keys, capacity, sizeof *keys) : NULL;
    if (keys == NULL)
        return false;
    now->keys = keys;
    now->capacity = capacity;
    return true;
}

/* For an object that moves, where all are taken: the row of one that waits. */
static struct now_row *find_waiting(struct now *now)
{
    for (size_t i = now->n; i-- > 0;)
        if (now->rows[i].section == SECTION_WAITING)
            return &now->rows[i];
    return NULL;
}

/* False: it is not kept. */
static bool insert(struct now *now, const struct now_row *row, bool *out_replaced)
{
    bool is_full = count_kind(now, kind_of(row->section)) >= NOW_ROWS_MAX;
    struct now_row *place = NULL;
    *out_replaced = false;
    if (is_full && row->section == SECTION_MOVING)
        place = find_waiting(now);
    *out_replaced = place != NULL;
    if (!is_full && (now->n < now->capacity || grow(now)))
        place = &now->rows[now->n++];
    if (place == NULL)
        return false;
    *place = *row;
    now->keys[place - now->rows] = row->key;
    return true;
}

static void put(struct now *now, enum now_kind kind, enum follow_event event,
                struct json_object *object)
{
    struct now_row fresh = {0}, *row = find(now, key_of(kind, object));
    bool is_replaced;
    if (row != NULL) {
        read_row(row, kind, object);
        return;
    }
    if (event == FOLLOW_MODIFIED && now->omitted[kind] > 0)
        now->omitted[kind]--; /* counted before */
    read_row(&fresh, kind, object);
    bool is_kept = insert(now, &fresh, &is_replaced);
    now->omitted[kind] += !is_kept || is_replaced;
}

static void remove_object(struct now *now, enum now_kind kind, struct json_object *object)
{
    struct now_row *row = find(now, key_of(kind, object));
    if (row != NULL)
        drop(now, row);
    else if (now->omitted[kind] > 0)
        now->omitted[kind]--;
}

static void begin(struct now *now, enum now_kind kind)
{
    for (size_t i = 0; i < now->n; i++)
        if (kind_of(now->rows[i].section) == kind)
            now->rows[i].is_told = false;
    now->omitted[kind] = 0;
}

static void end(struct now *now, enum now_kind kind)
{
    for (size_t i = now->n; i-- > 0;)
        if (kind_of(now->rows[i].section) == kind && !now->rows[i].is_told)
            drop(now, &now->rows[i]);
    now->is_synced[kind] = true;
}

void now_take(struct now *now, enum now_kind kind, enum follow_event event,
              struct json_object *object)
{
    switch (event) {
    case FOLLOW_BEGIN: begin(now, kind); return;
    case FOLLOW_SYNCED: end(now, kind); return;
    case FOLLOW_ADDED:
    case FOLLOW_MODIFIED:
        if (is_of_now(kind, object)) {
            put(now, kind, event, object);
            return;
        }
        remove_object(now, kind, object);
        return;
    case FOLLOW_DELETED: remove_object(now, kind, object); return;
    }
}

bool now_wants_list(const struct now *now, enum now_kind kind)
{
    return now->omitted[kind] > 0 && count_kind(now, kind) < NOW_ROWS_MAX / 4 * 3;
}

bool now_is_synced(const struct now *now)
{
    for (enum now_kind kind = 0; kind < NOW_KINDS; kind++)
        if (!now->is_synced[kind])
            return false;
    return true;
}

/* ---- verdicts ---- */

const struct now_row *now_next_unasked(struct now *now)
{
    for (size_t i = 0; i < now->n; i++) {
        struct now_row *row = &now->rows[i];
        if (row->section == SECTION_INCIDENTS && !row->is_asked && row->migration[0] != '\0') {
            row->is_asked = true;
            return row;
        }
    }
    return NULL;
}

void now_take_verdict(struct now *now, uint64_t key, struct json_object *migration)
{
    struct now_row *row = find(now, key);
    if (row == NULL)
        return;
    row->has_verdict = true;
    CLEAN(row->note, view_text(migration, "status.ferry.verdict.action"));
    CLEAN(row->guest_at, view_text(migration, "status.ferry.guestAt"));
    CLEAN(row->to, view_text(migration, "status.migrationState.targetNode"));
    CLEAN(row->text, view_text(migration, "status.migrationState.failureReason"));
}
