/* volumes.c - see volumes.h. */
#include "engine/model/definition/volumes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define WHERE "spec.ferry.volumes"

/* ---- reading ---- */

static bool is_clean(const char *text)
{
    for (; *text != '\0'; text++)
        if (iscntrl((unsigned char)*text))
            return false;
    return true;
}

static bool is_path(const char *path)
{
    size_t n = strlen(path);
    return path[0] == '/' && n > 1 && path[n - 1] != '/' && strstr(path, "/../") == NULL &&
           strstr(path, "//") == NULL && is_clean(path) &&
           !(n >= 3 && strcmp(path + n - 3, "/..") == 0);
}

static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL && is_clean(name);
}

static bool read_location(struct json_object *object, const char *key, struct hv_location *out,
                          struct err *err)
{
    const char *path, *pool, *volume;
    struct json_object *location = json_at(object, key);
    if (location != NULL && !json_object_is_type(location, json_type_object))
        return err_set(err, ERR_INVALID, WHERE ": %s: expected an object", key);
    if (!json_get_text(location, "path", "", &path, err) ||
        !json_get_text(location, "pool", "", &pool, err) ||
        !json_get_text(location, "volume", "", &volume, err))
        return false;
    bool has_path = *path != '\0', has_volume = *pool != '\0' || *volume != '\0';
    if (has_path == has_volume)
        return err_set(err, ERR_UNPROCESSABLE,
                       WHERE ": %s: needs either a path or a pool and a volume", key);
    if (has_path && !is_path(path))
        return err_set(err, ERR_UNPROCESSABLE, WHERE ": '%.200s' is not an absolute path", path);
    if (has_volume && (!is_plain_name(pool) || !is_plain_name(volume)))
        return err_set(err, ERR_UNPROCESSABLE,
                       WHERE ": pool '%.60s' and volume '%.200s' must be plain names", pool,
                       volume);
    if (!text_copy(out->pool, sizeof out->pool, pool) ||
        !text_copy(out->name, sizeof out->name, has_path ? path : volume))
        return err_set(err, ERR_UNPROCESSABLE, WHERE ": '%.60s...' is too long",
                       has_path ? path : volume);
    return true;
}

static bool only_known(struct json_object *object, bool stored, struct err *err)
{
    static const char *const known[] = {"name",   "destination", "path",     "pool",
                                        "volume", "source",      "capacity", "slice"};
    size_t n = stored ? COUNT(known) : COUNT(known) - 3;
    json_object_object_foreach(object, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
            found = strcmp(key, known[i]) == 0;
        if (!found)
            return err_set(err, ERR_UNPROCESSABLE,
                           WHERE ": unknown field '%.60s'; valid: name, "
                                 "destination",
                           key);
        if (json_object_is_type(value, json_type_object) && !only_known(value, stored, err))
            return false;
    }
    return true;
}

static bool read_number(struct json_object *object, const char *key, uint64_t *out, struct err *err)
{
    int64_t number;
    if (!json_get_i64(object, key, 0, &number, err))
        return false;
    *out = number > 0 ? (uint64_t)number : 0;
    return true;
}

static bool read_volume(struct json_object *object, bool stored, struct volumes *out,
                        struct err *err)
{
    const char *name;
    if (!json_object_is_type(object, json_type_object))
        return err_set(err, ERR_INVALID, WHERE ": the list must contain objects");
    if (!only_known(object, stored, err) || !json_get_text(object, "name", "", &name, err))
        return false;
    struct hv_volume *is = &out->list[out->n].is;
    if (*name == '\0' || !is_plain_name(name) || !text_copy(is->disk, sizeof is->disk, name))
        return err_set(err, ERR_UNPROCESSABLE, WHERE ": name: '%.60s' is not a disk name", name);
    if (!read_location(object, "destination", &is->to, err))
        return false;
    if (stored && (!read_number(object, "slice", &is->slice, err) ||
                   !read_number(object, "capacity", &out->list[out->n].capacity, err)))
        return false;
    if (stored && json_at(object, "source") != NULL &&
        !read_location(object, "source", &out->list[out->n].from, err))
        return false;
    out->n++;
    return true;
}

static bool same_location(const struct hv_location *a, const struct hv_location *b)
{
    return strcmp(a->pool, b->pool) == 0 && strcmp(a->name, b->name) == 0;
}

static bool has_no_doubles(const struct volumes *volumes, struct err *err)
{
    for (size_t i = 0; i < volumes->n; i++)
        for (size_t j = 0; j < i; j++) {
            const struct hv_volume *a = &volumes->list[i].is, *b = &volumes->list[j].is;
            if (strcmp(a->disk, b->disk) == 0)
                return err_set(err, ERR_UNPROCESSABLE, WHERE ": disk %s is named twice", a->disk);
            if (same_location(&a->to, &b->to))
                return err_set(err, ERR_UNPROCESSABLE,
                               WHERE ": disks %s and %s cannot both go to %s", b->disk, a->disk,
                               a->to.name);
        }
    return true;
}

bool volumes_parse(const char *text, bool stored, struct volumes *out_volumes, struct err *err)
{
    struct volumes volumes = {0};
    OWNED(json_object) list = json_parse(text, strlen(text), WHERE, err);
    if (list == NULL)
        return false;
    if (!json_object_is_type(list, json_type_array))
        return err_set(err, ERR_INVALID, WHERE ": expected a list");
    size_t n = json_object_array_length(list);
    if (n == 0)
        return err_set(err, ERR_UNPROCESSABLE, WHERE ": must name at least one disk");
    if (n > HV_VOLUMES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, WHERE ": %zu disks, at most %d", n, HV_VOLUMES_MAX);
    for (size_t i = 0; i < n; i++)
        if (!read_volume(json_object_array_get_idx(list, i), stored, &volumes, err))
            return false;
    if (!has_no_doubles(&volumes, err))
        return false;
    *out_volumes = volumes;
    return true;
}

/* ---- writing ---- */

static void add_location(struct json_object *object, const char *key,
                         const struct hv_location *location)
{
    struct json_object *to = json_add_object(object, key);
    if (location->pool[0] == '\0') {
        json_add_text(to, "path", location->name);
        return;
    }
    json_add_text(to, "pool", location->pool);
    json_add_text(to, "volume", location->name);
}

char *volumes_text(const struct volumes *volumes)
{
    OWNED(json_object) list = json_object_new_array();
    for (size_t i = 0; list != NULL && i < volumes->n; i++) {
        struct json_object *object = json_object_new_object();
        const struct hv_volume *is = &volumes->list[i].is;
        json_add_text(object, "name", is->disk);
        add_location(object, "destination", &is->to);
        if (volumes->list[i].from.name[0] != '\0')
            add_location(object, "source", &volumes->list[i].from);
        if (volumes->list[i].capacity != 0)
            json_add_i64(object, "capacity", (int64_t)volumes->list[i].capacity);
        if (is->slice != 0)
            json_add_i64(object, "slice", (int64_t)is->slice);
        json_add(list, "", object);
    }
    return list != NULL
               ? strdup(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN |
                                                                 JSON_C_TO_STRING_NOSLASHESCAPE))
               : NULL;
}

/* ---- may the disks be migrated? ---- */

static const struct host_requirements_disk *find_disk(const struct host_requirements *requirements,
                                                      const char *name)
{
    for (unsigned i = 0; i < requirements->facts.n_disks; i++)
        if (strcmp(requirements->facts.disks[i].target, name) == 0)
            return &requirements->facts.disks[i];
    return NULL;
}

static bool is_named(const struct volumes *volumes, const char *disk)
{
    for (size_t i = 0; i < volumes->n; i++)
        if (strcmp(volumes->list[i].is.disk, disk) == 0)
            return true;
    return false;
}

/* All named disks that cannot be migrated, by kind, as KubeVirt lists them. */
static bool kinds_allow(const struct volumes *volumes, const struct host_requirements *requirements,
                        struct err *err)
{
    static const struct {
        unsigned flag;
        const char *kind;
    } kinds[] = {
        {REQUIREMENTS_DISK_FILESYSTEM, "filesystems"},
        {REQUIREMENTS_DISK_SHAREABLE, "shareable"},
        {REQUIREMENTS_DISK_LUN, "luns"},
        {REQUIREMENTS_DISK_REMOVABLE, "removable"},
        {REQUIREMENTS_DISK_READONLY, "readonly"},
    };
    for (size_t k = 0; k < COUNT(kinds); k++) {
        char names[VOLUMES_TEXT_MAX] = "";
        size_t at = 0;
        for (size_t i = 0; i < volumes->n && at < sizeof names; i++) {
            const struct host_requirements_disk *disk =
                find_disk(requirements, volumes->list[i].is.disk);
            if (disk != NULL && (disk->flags & kinds[k].flag) != 0)
                at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at > 0 ? " " : "",
                                       disk->target);
        }
        if (at > 0)
            return err_set(err, ERR_REFUSED, "invalid volumes to update with migration: %s: [%s]",
                           kinds[k].kind, names);
    }
    return true;
}

static bool guest_allows(const struct migratable *migratable, struct err *err)
{
    char text[MIGRATABLE_TEXT_MAX];
    enum unmovable row = migratable_first_storage(migratable);
    if (row != UNMOVABLE_COUNT) {
        unmovable_text(row, migratable, text);
        return err_set(err, ERR_REFUSED,
                       "cannot migrate the volumes as the VMI isn't migratable: %s", text);
    }
    for (row = 0; row < UNMOVABLE_COUNT; row++)
        if (row != UNMOVABLE_DISKS && row != UNMOVABLE_HOTPLUG && migratable_has(migratable, row) &&
            unmovable_blocks_live(row))
            break;
    if (row == UNMOVABLE_COUNT)
        return true;
    unmovable_text(row, migratable, text);
    return err_set(err, ERR_REFUSED, "Cannot migrate VMI, Reason: %s, Message: %s",
                   unmovable_name(row), text);
}

/* Disks that do not migrate along must be shared. */
static bool others_are_shared(const struct volumes *volumes,
                              const struct host_requirements *requirements, struct err *err)
{
    for (unsigned i = 0; i < requirements->facts.n_disks; i++) {
        const struct host_requirements_disk *disk = &requirements->facts.disks[i];
        if ((disk->flags & (REQUIREMENTS_DISK_SHARED | REQUIREMENTS_DISK_FILESYSTEM)) == 0 &&
            !is_named(volumes, disk->target))
            return err_set(err, ERR_REFUSED,
                           "cannot migrate the VM. The volume %s is RWO and not included in the "
                           "migration volumes",
                           disk->target);
    }
    return true;
}

bool volumes_check(const struct volumes *volumes, const struct host_requirements *requirements,
                   const struct migratable *migratable, struct err *err)
{
    if (requirements == NULL || !migratable->known)
        return true;
    for (size_t i = 0; i < volumes->n; i++)
        if (find_disk(requirements, volumes->list[i].is.disk) == NULL &&
            !requirements->facts.disks_cut)
            return err_set(err, ERR_UNPROCESSABLE, WHERE ": the guest has no disk %s",
                           volumes->list[i].is.disk);
    return kinds_allow(volumes, requirements, err) && guest_allows(migratable, err) &&
           others_are_shared(volumes, requirements, err);
}

/* ---- are the destinations suitable? ---- */

#define SMALLER                                                                            \
    "Volume migration cannot be performed because the destination volume is smaller than " \
    "the source volume: "
#define NUMBER(n) ((unsigned long long)(n))

/* A copy has the size of its source, so that the guest sees the same disk; a bigger raw
 * destination is used in part. */
static bool size_fits(const struct hv_volume *v, const struct hv_block_info *block,
                      const struct hv_volume_info *at, char out_text[static VOLUMES_TEXT_MAX])
{
    if (block->capacity == 0)
        return true;
    uint64_t needed = block->raw ? block->capacity : block->allocation;
    if (!at->exists && at->free < needed)
        (void)snprintf(out_text, VOLUMES_TEXT_MAX,
                       "%s needs %llu bytes, its destination has %llu bytes free", v->disk,
                       NUMBER(needed), NUMBER(at->free));
    else if (at->exists && at->capacity < block->capacity)
        (void)snprintf(out_text, VOLUMES_TEXT_MAX,
                       SMALLER "%s has %llu bytes, its destination %llu", v->disk,
                       NUMBER(block->capacity), NUMBER(at->capacity));
    else if (at->exists && at->capacity > block->capacity && !block->raw)
        (void)snprintf(out_text, VOLUMES_TEXT_MAX,
                       "%s has %llu bytes, its destination %llu, and only raw images may be bigger",
                       v->disk, NUMBER(block->capacity), NUMBER(at->capacity));
    else
        return true;
    return false;
}

enum volumes_result volumes_check_facts(struct volumes *volumes, const struct volume_facts *facts,
                                        char out_text[static VOLUMES_TEXT_MAX])
{
    enum volumes_result verdict = VOLUMES_FIT;
    out_text[0] = '\0';
    for (size_t i = 0; i < volumes->n && i < facts->n; i++) {
        struct hv_volume *v = &volumes->list[i].is;
        const struct hv_block_info *block = &facts->list[i].block;
        const struct hv_volume_info *at = &facts->list[i].at;
        volumes->list[i].from = block->location;
        volumes->list[i].capacity = block->capacity;
        v->slice = at->exists && block->capacity != 0 && at->capacity > block->capacity
                       ? block->capacity
                       : 0;
        if (!at->known)
            continue; /* the migration itself will show it */
        if (!at->exists && !at->creatable) {
            if (verdict == VOLUMES_FIT)
                (void)snprintf(out_text, VOLUMES_TEXT_MAX,
                               "One of the destination volumes doesn't exist: %s%s%.150s",
                               v->to.pool, v->to.pool[0] != '\0' ? "/" : "", v->to.name);
            verdict = VOLUMES_MISSING;
        } else if (!size_fits(v, block, at, out_text)) {
            return VOLUMES_SMALL;
        }
    }
    return verdict;
}

/* ---- nodes without enough space ---- */

const char *volumes_small_at(const struct volumes_report *report, const char *node)
{
    for (size_t i = 0; report != NULL && i < report->n_small; i++)
        if (strcmp(report->small[i].node, node) == 0)
            return report->small[i].detail;
    return NULL;
}

void volumes_note_small(struct volumes_report *report, const char *node, int64_t now_ms)
{
    if (report->n_small == VOLUMES_SMALL_MAX) /* the oldest may be asked again */
        memmove(&report->small[0], &report->small[1], --report->n_small * sizeof report->small[0]);
    const char *sizes =
        strstr(report->text, SMALLER) != NULL ? report->text + strlen(SMALLER) : report->text;
    TEXT_SET(report->small[report->n_small].node, node);
    TEXT_SET(report->small[report->n_small].detail, sizes);
    report->small[report->n_small++].at_ms = now_ms;
}

void volumes_forget_small(struct volumes_report *report, int64_t before_ms)
{
    size_t kept = 0;
    for (size_t i = 0; report != NULL && i < report->n_small; i++)
        if (report->small[i].at_ms > before_ms)
            report->small[kept++] = report->small[i];
    if (report != NULL)
        report->n_small = kept;
}

bool volumes_by_name(const struct host_requirements *requirements, struct volumes *out)
{
    out->n = 0;
    for (unsigned i = 0; requirements != NULL && i < requirements->facts.n_disks; i++) {
        const struct host_requirements_disk *disk = &requirements->facts.disks[i];
        if ((disk->flags & REQUIREMENTS_DISK_BY_NAME) == 0 || out->n == HV_VOLUMES_MAX)
            continue;
        memset(&out->list[out->n], 0, sizeof out->list[0]);
        TEXT_SET(out->list[out->n++].is.disk, disk->target);
    }
    return out->n > 0;
}

enum volumes_result volumes_check_by_name(const struct volume_facts *facts,
                                          char out_text[static VOLUMES_TEXT_MAX])
{
    out_text[0] = '\0';
    for (size_t i = 0; i < facts->n; i++) {
        const struct hv_block_info *block = &facts->list[i].block;
        const struct hv_volume_info *at = &facts->list[i].at;
        const char *name = block->location.name;
        if (!at->known || block->capacity == 0)
            (void)snprintf(out_text, VOLUMES_TEXT_MAX,
                           "whether it has %.150s of the guest could not be checked",
                           name[0] != '\0' ? name : "a disk");
        else if (!at->exists)
            (void)snprintf(out_text, VOLUMES_TEXT_MAX, "it has no %.150s", name);
        else if (at->capacity != block->capacity)
            (void)snprintf(out_text, VOLUMES_TEXT_MAX,
                           "its %.120s is another one: %llu bytes there, %llu on the source", name,
                           (unsigned long long)at->capacity, (unsigned long long)block->capacity);
        else
            continue;
        return VOLUMES_SMALL;
    }
    return VOLUMES_FIT;
}
