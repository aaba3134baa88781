/* top.h - what `ferry top` shows and what its keys do. Pure: rows and keys go in, orders for the
 * verb come out; draw.h makes a frame of it.
 */
#ifndef CLI_TOP_TOP_H
#define CLI_TOP_TOP_H

#include "cli/common/kinds.h"
#include "cli/top/now.h"

enum { TOP_MESSAGE_MAX = 512, TOP_MESSAGE_MS = 8000, TOP_TITLE_MAX = 320 };

enum top_view { VIEW_LIST, VIEW_PAGE, VIEW_CONFIRM };
enum top_sort { SORT_ETA, SORT_REMAINING, SORT_DIRTY, SORT_AGE, SORT_NAME, SORT_COUNT };

/* Keys besides characters, which stand for themselves. */
enum top_key {
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_REDRAW
};

/* What the verb has to do. */
enum top_command { COMMAND_NOTHING, COMMAND_QUIT, COMMAND_DESCRIBE, COMMAND_ABORT, COMMAND_REDRAW };
struct top_target {
    enum kind kind;
    char ns[NOW_NODE_MAX], name[NOW_NAME_MAX], guest[NOW_NAME_MAX];
};

/* How the appliance is reached. */
struct top_link {
    bool is_connected, was_connected;
    int64_t since_ms; /* wall: of the last answer, or of the start */
    int64_t retry_in_ms;
    char why[ERR_TEXT_MAX];
};
/* May this client abort migrations of that namespace? Asked for what is selected. */
enum top_right { RIGHT_UNKNOWN, RIGHT_NO, RIGHT_YES };

struct top {
    struct now now;
    struct top_link link;
    const char *server, *ns; /* ns NULL: all */
    int64_t wall_ms;
    bool is_plain; /* one frame of everything, without keys */
    enum top_sort sort;
    bool is_reversed;
    uint64_t selected;  /* key of a row; 0: none */
    bool is_chosen;     /* by a key; until then the first row is selected, whichever that is */
    size_t selected_at; /* its place among all rows, for when it goes */
    enum top_view view;
    struct top_target target; /* of a confirmation or page */
    char right_ns[NOW_NODE_MAX];
    enum top_right right;
    char *page; /* owned */
    size_t page_first, page_lines;
    char page_title[TOP_TITLE_MAX];
    char message[TOP_MESSAGE_MAX];
    bool is_failure;         /* the message */
    int64_t message_ends_ms; /* wall */
};
void top_init(struct top *top);
void top_fini(struct top *top);

/* All rows in the order in which they are shown, one section after the other. */
struct top_rows {
    const struct now_row **rows; /* owned */
    size_t n, of[SECTIONS];
};
bool top_rows(const struct top *top, struct top_rows *out); /* false: no memory */
void top_rows_fini(struct top_rows *rows);

/* A key; page_rows: how many rows a page has. */
enum top_command top_press(struct top *top, int key, size_t page_rows);
/* After rows changed: the selected row is one that is there, or the one that took its place. */
void top_settle(struct top *top);
const struct now_row *top_selected(const struct top *top); /* NULL: none */
/* What can be aborted is selected; the namespace it is in. */
const char *top_right_wanted(const struct top *top);
bool top_may_abort(const struct top *top);

/* A message in the last line, for a while. */
void top_say(struct top *top, bool is_failure, const char *text);
/* Shows a text until a key ends it. */
void top_show_page(struct top *top, const char *title, char *take_text);
const char *top_sort_name(enum top_sort sort);
/* The text of the keys' page. */
const char *top_help(void);

#endif
