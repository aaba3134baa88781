/* top.c - see top.h. */
#include "cli/top/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

static const char *const sort_names[SORT_COUNT] = {
    [SORT_ETA] = "ETA", [SORT_REMAINING] = "remaining", [SORT_DIRTY] = "dirty rate",
    [SORT_AGE] = "age", [SORT_NAME] = "name",
};

const char *top_sort_name(enum top_sort sort)
{
    return sort < SORT_COUNT ? sort_names[sort] : "";
}

const char *top_help(void)
{
    return "up, down, j, k     select a row\n"
           "PgUp, PgDn, g, G   a page up or down; first row, last row\n"
           "s, r               sort by ETA, remaining, dirty rate, age, name; reverse the order\n"
           "d, Enter           describe the selected migration, incident or drain\n"
           "a                  abort the selected migration; asks first\n"
           "Ctrl-L             draw the screen again\n"
           "?                  this list\n"
           "q, Ctrl-C          quit; migrations go on\n"
           "\n"
           "MODE        PreCopy, PostCopy or Paused, or a condition: Aborting, Resolving,\n"
           "            Recovering (exhausted: it needs an operator)\n"
           "DIRTY/RATE  how fast the guest writes memory, against how fast it is sent; red when\n"
           "            pre-copy cannot end this way\n"
           "IT          iteration over the memory\n"
           "DOWNTIME    expected, of the limit that its policy sets\n"
           "ETA         of the whole migration\n"
           "WAITING     for how long, until when at most (then it fails), and why\n";
}

void top_init(struct top *top)
{
    *top = (struct top){.server = ""};
    now_init(&top->now);
}

void top_fini(struct top *top)
{
    now_fini(&top->now);
    free(top->page);
    top->page = NULL;
}

/* ---- order ---- */

struct order {
    enum top_sort sort;
    bool is_reversed;
};

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Unknown is last. */
static int by_known(int64_t a, int64_t b)
{
    return by_number(a >= 0 ? a : INT64_MAX, b >= 0 ? b : INT64_MAX);
}

static int by_name(const struct now_row *a, const struct now_row *b)
{
    int order = strcmp(a->ns, b->ns);
    if (order == 0)
        order = strcmp(a->guest, b->guest);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static int by_sort(const struct now_row *a, const struct now_row *b, enum top_sort sort)
{
    const struct progress *p = &a->progress, *q = &b->progress;
    switch (sort) {
    case SORT_ETA: return by_known(p->eta_ms, q->eta_ms);
    case SORT_REMAINING: return by_number((int64_t)q->remaining, (int64_t)p->remaining);
    case SORT_DIRTY: return by_number((int64_t)q->dirty_bps, (int64_t)p->dirty_bps);
    case SORT_AGE: return by_number(a->created_ms, b->created_ms);
    case SORT_NAME:
    case SORT_COUNT: break;
    }
    return by_name(a, b);
}

/* What waits: who fails first. Incidents: the newest first. */
static int by_section(const struct now_row *a, const struct now_row *b, const struct order *order)
{
    bool by_choice = order->sort == SORT_AGE || order->sort == SORT_NAME;
    switch (a->section) {
    case SECTION_MOVING: return by_sort(a, b, order->sort);
    case SECTION_WAITING:
        return by_choice ? by_sort(a, b, order->sort)
                         : by_known(a->deadline_ms > 0 ? a->deadline_ms : -1,
                                    b->deadline_ms > 0 ? b->deadline_ms : -1);
    case SECTION_INCIDENTS: return by_number(b->since_ms, a->since_ms);
    case SECTION_DRAINS:
    case SECTIONS: break;
    }
    return by_name(a, b);
}

static int compare(const void *a, const void *b, void *ctx)
{
    const struct now_row *one = *(const struct now_row *const *)a;
    const struct now_row *other = *(const struct now_row *const *)b;
    const struct order *order = ctx;
    if (one->section != other->section)
        return (int)one->section - (int)other->section;
    int result = by_section(one, other, order);
    if (result == 0)
        result = by_name(one, other);
    return order->is_reversed && one->section <= SECTION_WAITING ? -result : result;
}

bool top_rows(const struct top *top, struct top_rows *out)
{
    struct order order = {top->sort, top->is_reversed};
    *out = (struct top_rows){.n = top->now.n};
    out->rows = calloc(out->n > 0 ? out->n : 1, sizeof(const struct now_row *));
    if (out->rows == NULL)
        return false;
    for (size_t i = 0; i < out->n; i++) {
        out->rows[i] = &top->now.rows[i];
        out->of[out->rows[i]->section]++;
    }
    qsort_r(out->rows, out->n, sizeof(const struct now_row *), compare, &order);
    return true;
}

void top_rows_fini(struct top_rows *rows)
{
    free(rows->rows);
    *rows = (struct top_rows){0};
}

/* ---- selection ---- */

const struct now_row *top_selected(const struct top *top)
{
    return top->selected != 0 ? now_find(&top->now, top->selected) : NULL;
}

static size_t place_of(const struct top_rows *rows, uint64_t key)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->rows[i]->key == key)
            return i;
    return SIZE_MAX;
}

static void select_at(struct top *top, const struct top_rows *rows, size_t place)
{
    if (place >= rows->n)
        place = rows->n > 0 ? rows->n - 1 : 0;
    top->selected = rows->n > 0 ? rows->rows[place]->key : 0;
    top->selected_at = place;
}

void top_settle(struct top *top)
{
    struct top_rows rows;
    if (top->message[0] != '\0' && top->wall_ms >= top->message_ends_ms)
        top->message[0] = '\0';
    if (!top_rows(top, &rows))
        return;
    size_t place = top->is_chosen ? place_of(&rows, top->selected) : 0;
    select_at(top, &rows, place != SIZE_MAX ? place : top->selected_at);
    top_rows_fini(&rows);
}

static bool can_be_aborted(const struct now_row *row)
{
    return row != NULL && (row->section == SECTION_MOVING || row->section == SECTION_WAITING);
}

const char *top_right_wanted(const struct top *top)
{
    const struct now_row *row = top_selected(top);
    bool is_known =
        row != NULL && top->right != RIGHT_UNKNOWN && text_equal(top->right_ns, row->ns);
    return can_be_aborted(row) && !is_known ? row->ns : NULL;
}

bool top_may_abort(const struct top *top)
{
    const struct now_row *row = top_selected(top);
    return can_be_aborted(row) && top->link.is_connected && top->right == RIGHT_YES &&
           text_equal(top->right_ns, row->ns);
}

/* ---- keys ---- */

void top_say(struct top *top, bool is_failure, const char *text)
{
    TEXT_SET(top->message, text);
    top->is_failure = is_failure;
    top->message_ends_ms = top->wall_ms + TOP_MESSAGE_MS;
}

void top_show_page(struct top *top, const char *title, char *take_text)
{
    free(top->page);
    top->page = take_text;
    top->page_first = 0;
    top->page_lines = 0;
    for (const char *c = take_text; c != NULL && *c != '\0'; c++)
        top->page_lines += *c == '\n';
    TEXT_SET(top->page_title, title);
    top->view = VIEW_PAGE;
}

static void move_selection(struct top *top, int key, size_t page_rows)
{
    struct top_rows rows;
    if (!top_rows(top, &rows))
        return;
    size_t at = place_of(&rows, top->selected);
    if (at == SIZE_MAX)
        at = top->selected_at;
    switch (key) {
    case TOP_KEY_UP: at -= at > 0; break;
    case TOP_KEY_DOWN: at++; break;
    case TOP_KEY_PAGE_UP: at -= at < page_rows ? at : page_rows; break;
    case TOP_KEY_PAGE_DOWN: at += page_rows; break;
    case TOP_KEY_HOME: at = 0; break;
    case TOP_KEY_END: at = rows.n; break;
    default: break;
    }
    top->is_chosen = true;
    select_at(top, &rows, at);
    top_rows_fini(&rows);
}

static void scroll_page(struct top *top, int key, size_t page_rows)
{
    size_t last = top->page_lines > page_rows ? top->page_lines - page_rows : 0;
    size_t *first = &top->page_first;
    switch (key) {
    case TOP_KEY_UP: *first -= *first > 0; break;
    case TOP_KEY_DOWN: (*first)++; break;
    case TOP_KEY_PAGE_UP: *first -= *first < page_rows ? *first : page_rows; break;
    case TOP_KEY_PAGE_DOWN: *first += page_rows; break;
    case TOP_KEY_HOME: *first = 0; break;
    case TOP_KEY_END: *first = last; break;
    default: break;
    }
    if (*first > last)
        *first = last;
}

static void aim(struct top *top, const struct now_row *row)
{
    top->is_chosen = true;
    top->target.kind = row->section == SECTION_INCIDENTS ? KIND_INCIDENT
                       : row->section == SECTION_DRAINS  ? KIND_DRAIN
                                                         : KIND_MIGRATION;
    TEXT_SET(top->target.ns, row->ns);
    TEXT_SET(top->target.name, row->name);
    TEXT_SET(top->target.guest, row->guest);
}

static void begin_abort(struct top *top)
{
    const struct now_row *row = top_selected(top);
    if (row == NULL)
        top_say(top, true, "nothing is selected");
    else if (!can_be_aborted(row))
        top_say(top, true, "only a migration can be aborted");
    else if (!top->link.is_connected)
        top_say(top, true, "not connected: nothing can be aborted now");
    else if (!top_may_abort(top))
        top_say(top, true, "your role may not abort migrations here (docs/access.md)");
    else {
        aim(top, row);
        top->view = VIEW_CONFIRM;
    }
}

static enum top_command describe(struct top *top)
{
    const struct now_row *row = top_selected(top);
    if (row == NULL)
        return COMMAND_NOTHING;
    aim(top, row);
    return COMMAND_DESCRIBE;
}

static void show_help(struct top *top)
{
    char *text = strdup(top_help());
    if (text != NULL)
        top_show_page(top, "Keys and columns", text);
}

/* vi's and less's keys for the same. */
static int translate(int key)
{
    static const struct {
        int key, means;
    } keys[] = {{'k', TOP_KEY_UP},
                {'j', TOP_KEY_DOWN},
                {'g', TOP_KEY_HOME},
                {'G', TOP_KEY_END},
                {' ', TOP_KEY_PAGE_DOWN},
                {'b', TOP_KEY_PAGE_UP},
                {'\r', TOP_KEY_ENTER},
                {'\n', TOP_KEY_ENTER},
                {27, TOP_KEY_ESCAPE},
                {12, TOP_KEY_REDRAW},
                {'h', '?'}};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (keys[i].key == key)
            return keys[i].means;
    return key;
}

static enum top_command press_in_list(struct top *top, int key, size_t page_rows)
{
    switch (key) {
    case 'q': return COMMAND_QUIT;
    case 's': top->sort = (enum top_sort)((top->sort + 1) % SORT_COUNT); break;
    case 'r': top->is_reversed = !top->is_reversed; break;
    case 'a': begin_abort(top); break;
    case '?': show_help(top); break;
    case 'd':
    case TOP_KEY_ENTER: return describe(top);
    case TOP_KEY_REDRAW: return COMMAND_REDRAW;
    default: move_selection(top, key, page_rows); break;
    }
    return COMMAND_NOTHING;
}

static enum top_command press_in_page(struct top *top, int key, size_t page_rows)
{
    if (key == TOP_KEY_REDRAW)
        return COMMAND_REDRAW;
    if (key == 'q' || key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER || key == '?')
        top->view = VIEW_LIST;
    else
        scroll_page(top, key, page_rows);
    return COMMAND_NOTHING;
}

enum top_command top_press(struct top *top, int key, size_t page_rows)
{
    if (top->view == VIEW_CONFIRM) {
        top->view = VIEW_LIST;
        if (key == 'y' || key == 'Y')
            return COMMAND_ABORT;
        top_say(top, false, "nothing was aborted");
        return COMMAND_NOTHING;
    }
    top->message[0] = '\0';
    key = translate(key);
    if (top->view == VIEW_PAGE)
        return press_in_page(top, key, page_rows);
    return press_in_list(top, key, page_rows);
}
