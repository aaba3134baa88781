/* explain_recorded.c - see explain_recorded.h.
 *
 * One migration: its stored verdict, from the appliance or from a state directory. All migrations:
 * analyzed again from their stored facts with the present rules, and compared with their stored
 * verdicts. Reads only, also beside a running appliance.
 */
#include "cli/explain_recorded.h"

#include <stdio.h>
#include <unistd.h>

#include "analyzer/record/recorded.h"
#include "appliance/config.h"
#include "base/clock.h"
#include "cli/common/client.h"
#include "cli/common/names.h"
#include "cli/common/view.h"
#include "cli/pages/pages.h"
#include "store/any/any.h"

static void warn(void *ctx, const struct err *problem)
{
    (void)ctx;
    (void)fprintf(stderr, "ferry: %s\n", problem->text);
}

#define STATE_HINT "name the state directory of the appliance with --state DIR"

/* ---- one ---- */

static struct json_object *from_appliance(const struct explain_recorded *what,
                                          struct client *client, struct err *err)
{
    char path[KINDS_PATH_MAX], full[KINDS_PATH_MAX + 16];
    if (client == NULL || !kind_path(KIND_MIGRATION, what->common->ns, what->name, path, err))
        return NULL;
    (void)snprintf(full, sizeof full, "%s/verdict", path);
    return client_call(client, "GET", full, NULL, err);
}

struct found {
    char uid[SNAPSHOT_UID_MAX], name[SNAPSHOT_NAME_MAX], guest[HV_NAME_MAX];
};

static bool take_job(void *ctx, const struct store_job *row)
{
    struct found *found = ctx;
    TEXT_SET(found->uid, row->uid);
    TEXT_SET(found->name, row->name);
    TEXT_SET(found->guest, row->guest_name);
    return true;
}

static struct json_object *from_store(const struct explain_recorded *what, struct err *err)
{
    struct found found = {0};
    struct verdict_rows *verdict_rows = NULL;
    OWNED(store) store = store_read(what->state, err);
    if (store == NULL ||
        !store->ops->find_job(store, what->common->ns, what->name, take_job, &found, err))
        return NULL;
    if (found.uid[0] == '\0') {
        (void)err_set(err, ERR_NOT_FOUND, "no migration '%s' in namespace '%s' in %s", what->name,
                      what->common->ns, what->state);
        return NULL;
    }
    if (!verdict_rows_load(store, found.uid, &verdict_rows, err))
        return NULL;
    if (verdict_rows == NULL) {
        (void)err_set(err, ERR_NOT_FOUND, "%s has no verdict yet", found.name);
        return NULL;
    }
    struct json_object *document = recorded_json(verdict_rows, found.name);
    json_add_text(document, "vmiName", found.guest);
    verdict_rows_unref(verdict_rows);
    return document;
}

static int explain_one(const struct explain_recorded *what)
{
    struct err err = {0};
    OWNED(client) client = what->state == NULL ? client_new(what->common->server, &err) : NULL;
    OWNED(json_object) verdict =
        what->state != NULL ? from_store(what, &err) : from_appliance(what, client, &err);
    const struct named migration = {KIND_MIGRATION, what->common->ns, what->name};
    if (verdict == NULL)
        return name_fail(client, &migration, &err, what->state != NULL ? STATE_HINT : NULL);
    if (what->common->output == OUTPUT_JSON)
        return cli_print_json(verdict);
    struct buf page;
    buf_init(&page, PAGE_MAX);
    page_verdict(verdict, &page);
    return cli_print(&page);
}

/* ---- all ---- */

struct again {
    const struct explain_recorded *what;
    struct store *store;
    struct ruleset *rules;
    struct judge *judge;
    struct verdict verdict;
    struct table table;
    struct json_object *changes;
    int64_t from_ms;
    unsigned judged, changed, before; /* before: had no verdict */
    struct err *err;
};

struct old_verdict {
    bool is_there;
    char plane[32], cause[64];
};

static bool take_verdict(void *ctx, const struct store_verdict *row)
{
    struct old_verdict *old_verdict = ctx;
    old_verdict->is_there = true;
    TEXT_SET(old_verdict->plane, row->plane);
    TEXT_SET(old_verdict->cause, row->cause);
    return true;
}

static void add_change(struct again *a, const struct gathered *job,
                       const struct old_verdict *old_verdict)
{
    char was[TABLE_CELL_MAX], is[TABLE_CELL_MAX];
    (void)snprintf(was, sizeof was, "%s", old_verdict->is_there ? old_verdict->cause : "-");
    (void)snprintf(is, sizeof is, "%s", cause_row(a->verdict.cause)->name);
    table_add_row(&a->table);
    const char *const cells[] = {job->name, job->guest, outcome_name(job->outcome),
                                 was,       is,         a->verdict.rule};
    for (size_t i = 0; i < COUNT(cells); i++)
        table_set(&a->table, i, cells[i]);
    struct json_object *one = json_add_object(a->changes, "");
    json_add_text(one, "migration", job->name);
    json_add_text(one, "namespace", job->ns);
    json_add_text(one, "uid", job->uid);
    json_add_time(one, "ended", job->ended_ms);
    json_add_text(one, "before", old_verdict->cause);
    json_add_text(one, "planeBefore", old_verdict->plane);
    json_add(one, "verdict", verdict_json(&a->verdict, job->name));
}

static bool judge_job(struct again *a, const char *uid)
{
    struct gathered job;
    struct old_verdict old_verdict = {0};
    if (!gather_job(a->store, uid, &job, a->err) ||
        !a->store->ops->each_verdict(a->store, uid, take_verdict, &old_verdict, a->err))
        return false;
    if (recorded_is_plain(&job))
        recorded_plain(&job, a->rules, &a->verdict);
    else if (!recorded_judge(a->store, &job, NULL, a->judge, &a->verdict, a->err))
        return false;
    a->judged++;
    a->before += !old_verdict.is_there;
    bool same = old_verdict.is_there &&
                text_equal(old_verdict.cause, cause_row(a->verdict.cause)->name) &&
                text_equal(old_verdict.plane, plane_name(a->verdict.plane));
    if (!same) {
        add_change(a, &job, &old_verdict);
        a->changed++;
    }
    return true;
}

static bool see_job(void *ctx, const struct store_job *row)
{
    struct again *a = ctx;
    char uid[SNAPSHOT_UID_MAX];
    if (row->result.outcome[0] == '\0' || row->times.ended_ms < a->from_ms)
        return true;
    TEXT_SET(uid, row->uid);
    return judge_job(a, uid);
}

static int print_again(struct again *a)
{
    OWNED(json_object) answer = json_object_new_object();
    json_add_i64(answer, "judged", a->judged);
    json_add_i64(answer, "changed", a->changed);
    json_add_text(answer, "rulesVersion", ruleset_version(a->rules));
    json_add(answer, "changes", TAKE(a->changes));
    if (a->what->common->output == OUTPUT_JSON)
        return cli_print_json(answer);
    struct buf page;
    buf_init(&page, CLI_PAGE_MAX);
    size_t width = cli_table_width(a->what->common->output);
    if (a->changed > 0 && !table_render(&a->table, width, false, &page))
        page.failed = true;
    buf_addf(&page, "%u analyzed again, %u with a different verdict", a->judged, a->changed);
    if (a->before > 0)
        buf_addf(&page, " (%u had no verdict)", a->before);
    buf_add(&page, "; no verdict was stored\n");
    return cli_print(&page);
}

static bool open_again(struct again *a, struct err *err)
{
    static const char *const titles[] = {"MIGRATION", "GUEST", "OUTCOME", "WAS", "IS", "RULE"};
    const struct explain_recorded *what = a->what;
    table_init(&a->table, titles, COUNT(titles));
    a->table.optional[1] = a->table.optional[5] = true;
    a->changes = json_object_new_array();
    a->store = store_read(what->state != NULL ? what->state : CONFIG_STATE_DEFAULT, err);
    a->rules = a->store != NULL ? ruleset_new(what->rules, warn, NULL, err) : NULL;
    a->judge = a->rules != NULL ? judge_new(a->rules, err) : NULL;
    a->from_ms = what->since_ms < 0 ? INT64_MIN : clock_wall_ms(clock_system()) - what->since_ms;
    return a->judge != NULL;
}

static int explain_all(const struct explain_recorded *what)
{
    struct err err = {0};
    struct again *a = calloc(1, sizeof *a);
    if (a == NULL) {
        (void)err_set(&err, ERR_NOMEM, "no memory");
        return cli_fail(&err, NULL);
    }
    a->what = what;
    a->err = &err;
    bool done = open_again(a, &err) && a->store->ops->each_job(a->store, false, see_job, a, &err) &&
                err.code == ERR_NONE;
    int status =
        done ? print_again(a) : cli_fail(&err, err.code == ERR_NOT_FOUND ? STATE_HINT : NULL);
    table_fini(&a->table);
    json_object_free(a->changes);
    judge_free(a->judge);
    ruleset_free(a->rules);
    store_free(a->store);
    free(a);
    return status;
}

int explain_recorded(const struct explain_recorded *what)
{
    return what->name != NULL ? explain_one(what) : explain_all(what);
}
