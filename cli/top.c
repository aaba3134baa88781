/* top.c - `ferry top`: what moves, what waits and what is wrong, as it changes. On a terminal a
 * screen; elsewhere, or with --once, one frame as text. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/common/cli.h"
#include "cli/common/parse.h"
#include "cli/common/table.h"
#include "cli/top/draw.h"
#include "cli/top/screen.h"
#include "cli/top/session.h"

enum {
    KEY_ONCE = 0x200,
    DRAW_MS = 150,      /* between two frames, unless a key was pressed */
    CLOCK_MS = 1000,    /* without a change: ages and the clock */
    ONCE_MS = 10000,    /* of --once */
    VERDICTS_MS = 3000, /* of that, for the verdicts */
};

struct top_options {
    struct cli_options common;
    bool is_once;
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
    struct top_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; return 0;
    case KEY_ONCE: o->is_once = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
    case ARGP_KEY_END:
        if (o->common.output != OUTPUT_TABLE)
            argp_error(state, "top has one form; `ferry get vmim -A -o json` prints objects");
        if (o->common.ns != NULL && o->common.all_namespaces)
            argp_error(state, "-A and -n exclude each other");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* ---- one frame ---- */

static int print_frame(struct top *top)
{
    struct frame frame;
    struct buf text;
    struct err err = {0};
    top_settle(top);
    if (!frame_init(&frame, top_plain_rows(top), (int)cli_width(STDOUT_FILENO, TABLE_WIDTH))) {
        (void)err_set(&err, ERR_NOMEM, "no memory for a frame");
        return cli_fail(&err, NULL);
    }
    top_draw(top, &frame);
    buf_init(&text, CLI_PAGE_MAX);
    frame_text(&frame, frame.rows, &text);
    frame_fini(&frame);
    return cli_print(&text);
}

static int run_once(struct session *session, struct top *top)
{
    const struct clock *clock = clock_system();
    int64_t begun_ms = clock_mono_ms(clock), took_ms = 0;
    struct err err = {0};
    top->is_plain = true;
    for (; took_ms < ONCE_MS; took_ms = clock_mono_ms(clock) - begun_ms) {
        (void)session_wait(session, NULL, 0, 100);
        if (session_failure(session, &err))
            return cli_fail(&err, NULL);
        top->wall_ms = clock_wall_ms(clock);
        if (session_is_complete(session) || (now_is_synced(&top->now) && took_ms > VERDICTS_MS))
            return print_frame(top);
    }
    (void)err_set(&err, ERR_UNREACHABLE, "%s did not answer in time", top->server);
    return cli_fail(&err, NULL);
}

/* ---- on a terminal ---- */

static void draw(struct top *top)
{
    struct frame frame;
    int rows, columns;
    screen_size(&rows, &columns);
    top->wall_ms = clock_wall_ms(clock_system());
    top_settle(top);
    if (!frame_init(&frame, rows, columns))
        return; /* the next one may have memory */
    top_draw(top, &frame);
    screen_draw(&frame);
    frame_fini(&frame);
}

/* False: quit. */
static bool read_keys(struct session *session, struct top *top)
{
    bool is_gone = false;
    int rows, columns;
    for (int key; (key = screen_key(&is_gone)) >= 0;) {
        screen_size(&rows, &columns);
        enum top_command command = top_press(top, key, top_page_rows(top, rows));
        if (command == COMMAND_QUIT)
            return false;
        if (command == COMMAND_REDRAW)
            screen_redraw();
        session_command(session, command, columns);
    }
    return !is_gone;
}

/* False: quit. */
static bool read_signals(void)
{
    for (;;) {
        switch (screen_next_signal()) {
        case SCREEN_NOTHING: return true;
        case SCREEN_ENDS: return false;
        case SCREEN_RESIZED: break;
        }
    }
}

/* What will not be better by itself: a role that may not read, a server that is not Ferry. */
static bool is_hopeless(const struct session *session, const struct top *top, struct err *err)
{
    struct err failure = {0};
    bool is_failed = !top->link.was_connected && session_failure(session, &failure);
    bool is_hopeless =
        is_failed && (failure.code == ERR_FORBIDDEN || failure.code == ERR_INVALID ||
                      failure.code == ERR_UNPROCESSABLE || failure.code == ERR_NOT_FOUND);
    if (is_hopeless)
        *err = failure;
    return is_hopeless;
}

static bool run_screen(struct session *session, struct top *top, struct err *err)
{
    const struct clock *clock = clock_system();
    const int descriptors[] = {STDIN_FILENO, screen_signals()};
    int64_t drawn_ms = 0;
    bool is_dirty = true, goes_on = true;
    while (goes_on && !is_hopeless(session, top, err)) {
        int64_t age_ms = clock_mono_ms(clock) - drawn_ms, wait_ms = is_dirty ? DRAW_MS : CLOCK_MS;
        if (age_ms >= wait_ms) {
            draw(top);
            drawn_ms = clock_mono_ms(clock);
            is_dirty = false;
            age_ms = 0;
            wait_ms = CLOCK_MS;
        }
        unsigned readable =
            session_wait(session, descriptors, COUNT(descriptors), wait_ms - age_ms);
        is_dirty = session_has_changed(session) || is_dirty;
        if (readable == 0)
            continue;
        goes_on = ((readable & 2) == 0 || read_signals()) &&
                  ((readable & 1) == 0 || read_keys(session, top));
        drawn_ms = 0; /* at once */
    }
    return err->code == ERR_NONE;
}

static int run(struct top *top, struct client *client, bool is_once)
{
    struct err err = {0};
    OWNED(session) session = session_new(client, top, clock_system(), &err);
    if (session == NULL)
        return cli_fail(&err, NULL);
    if (is_once || !cli_is_terminal(STDIN_FILENO) || !cli_is_terminal(STDOUT_FILENO))
        return run_once(session, top);
    if (!screen_open(cli_wants_colour(STDOUT_FILENO), &err))
        return cli_fail(&err, "set TERM, or print one frame with `ferry top --once`");
    (void)signal(SIGPIPE, SIG_IGN);
    bool is_done = run_screen(session, top, &err);
    screen_close();
    return is_done ? EXIT_DONE : cli_fail(&err, NULL);
}

int verb_top(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"once", KEY_ONCE, NULL, 0, "print one frame as text and end; also without a terminal", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = on_option,
        .doc = "What moves, what waits and why, and open incidents, as they change. All namespaces "
               "unless -n names one. Keys: q quits, ? lists the others.",
        .children = cli_options_children,
    };
    struct top_options o = {0};
    cli_options_init(&o.common);
    o.common.ns = NULL;
    if (!cli_parse(&argp, argc, argv, &o))
        return EXIT_USAGE;
    struct err err = {0};
    struct top top;
    (void)setlocale(LC_CTYPE, ""); /* for names that are not ASCII */
    OWNED(client) client = client_new(o.common.server, &err);
    if (client == NULL)
        return cli_fail(&err, NULL);
    top_init(&top);
    top.server = client_url(client);
    top.ns = o.common.ns;
    int status = run(&top, client, o.is_once);
    top_fini(&top);
    return status;
}
