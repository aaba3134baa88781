/* screen.c - see screen.h. */
#include "cli/top/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define NCURSES_NOMACROS
#include <curses.h>

#include "base/own.h"
#include "cli/top/top.h"

enum { RESTORE_MAX = 256 };

static const int waited[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

/* A signal handler needs it: one screen in a process. */
static struct {
    bool is_open;
    int signals;
    sigset_t before;
    struct termios terminal;   /* as it was */
    char restore[RESTORE_MAX]; /* what ends the alternate screen */
    size_t n_restore;
    SCREEN *screen;
} the = {.signals = -1};

/* Async-signal-safe: a tcsetattr and a write. */
static void on_crash(int number)
{
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &the.terminal);
    ssize_t n = write(STDOUT_FILENO, the.restore, the.n_restore);
    (void)n;
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void catch_crashes(bool is_on)
{
    struct sigaction action = {.sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    if (is_on)
        action.sa_handler = on_crash;
    else
        action.sa_handler = SIG_DFL;
    for (size_t i = 0; i < COUNT(crashes); i++)
        (void)sigaction(crashes[i], &action, NULL);
}

static bool open_signals(struct err *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < COUNT(waited); i++)
        (void)sigaddset(&set, waited[i]);
    (void)sigprocmask(SIG_BLOCK, &set, &the.before);
    the.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return the.signals >= 0 || err_set(err, ERR_IO, "cannot handle signals: %s", strerror(errno));
}

static void close_signals(void)
{
    if (the.signals < 0)
        return;
    (void)close(the.signals);
    the.signals = -1;
    (void)sigprocmask(SIG_SETMASK, &the.before, NULL);
}

static bool has_sequence(const char *capability)
{
    const char *sequence = tigetstr(capability);
    return sequence != NULL && sequence != (const char *)-1 && *sequence != '\0';
}

/* The terminal's own sequences: end of attributes, cursor, keys, end of the alternate screen. */
static void keep_restore(void)
{
    static const char *const names[] = {"sgr0", "cnorm", "rmkx", "rmcup"};
    the.n_restore = 0;
    for (size_t i = 0; i < COUNT(names); i++) {
        const char *part = has_sequence(names[i]) ? tigetstr(names[i]) : "";
        size_t n = strlen(part);
        if (n == 0 || the.n_restore + n > RESTORE_MAX)
            continue;
        memcpy(the.restore + the.n_restore, part, n);
        the.n_restore += n;
    }
}

static void set_colours(bool coloured)
{
    static const short colours[STYLE_COUNT] = {
        [STYLE_GOOD] = COLOR_GREEN, [STYLE_BUSY] = COLOR_YELLOW, [STYLE_BAD] = COLOR_RED};
    if (!coloured || !has_colors())
        return;
    (void)start_color();
    (void)use_default_colors();
    for (short style = 0; style < STYLE_COUNT; style++)
        if (colours[style] != 0)
            (void)init_pair(style, colours[style], -1);
}

bool screen_open(bool coloured, struct err *err)
{
    const char *name = getenv("TERM");
    if (!open_signals(err))
        return false;
    (void)tcgetattr(STDIN_FILENO, &the.terminal);
    the.screen = newterm(NULL, stdout, stdin);
    if (the.screen == NULL) {
        close_signals();
        return err_set(err, ERR_INVALID, "TERM '%.60s' is not a terminal that ncurses can draw on",
                       name != NULL ? name : "");
    }
    the.is_open = true;
    if (!has_sequence("cup")) {
        screen_close();
        return err_set(err, ERR_INVALID, "TERM '%.60s' cannot move its cursor", name);
    }
    keep_restore();
    catch_crashes(true);
    (void)cbreak(); /* Ctrl-C and Ctrl-Z are signals */
    (void)noecho();
    (void)nonl();
    (void)curs_set(0);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(25);
    set_colours(coloured);
    return true;
}

void screen_close(void)
{
    if (!the.is_open)
        return;
    the.is_open = false;
    (void)curs_set(1);
    (void)endwin();
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &the.terminal);
    delscreen(the.screen);
    the.screen = NULL;
    catch_crashes(false);
    close_signals();
}

/* ---- frames ---- */

void screen_size(int *out_rows, int *out_columns)
{
    *out_rows = LINES;
    *out_columns = COLS;
}

static attr_t attributes_of(const struct frame_cell *cell)
{
    static const attr_t styles[STYLE_COUNT] = {[STYLE_TITLE] = A_BOLD, [STYLE_DIM] = A_DIM};
    return styles[cell->style] | (cell->reversed ? A_REVERSE : 0);
}

static short pair_of(const struct frame_cell *cell)
{
    bool is_coloured =
        cell->style == STYLE_GOOD || cell->style == STYLE_BUSY || cell->style == STYLE_BAD;
    return is_coloured && has_colors() ? (short)cell->style : 0;
}

void screen_draw(const struct frame *frame)
{
    (void)werase(stdscr);
    for (int row = 0; row < frame->rows && row < LINES; row++) {
        for (int column = 0; column < frame->columns && column < COLS; column++) {
            const struct frame_cell *cell = frame_cell(frame, row, column);
            wchar_t text[2] = {(wchar_t)cell->code, 0};
            cchar_t character;
            bool is_blank = cell->code == ' ' && !cell->reversed;
            if (cell->code == 0 || is_blank ||
                setcchar(&character, text, attributes_of(cell), pair_of(cell), NULL) != OK)
                continue;
            (void)wmove(stdscr, row, column);
            (void)wadd_wch(stdscr, &character);
        }
    }
    (void)wrefresh(stdscr);
}

void screen_redraw(void)
{
    (void)clearok(stdscr, TRUE);
}

/* ---- keys ---- */

static int translate(int key)
{
    static const struct {
        int key, means;
    } keys[] = {{KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},
                {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
                {KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},
                {KEY_ENTER, TOP_KEY_ENTER},   {KEY_RESIZE, TOP_KEY_REDRAW}};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (keys[i].key == key)
            return keys[i].means;
    return key < 128 ? key : 0; /* another key: nothing */
}

static bool is_terminal_gone(void)
{
    struct pollfd poller = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&poller, 1, 0) > 0 && (poller.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

int screen_key(bool *out_is_gone)
{
    int key = wgetch(stdscr);
    *out_is_gone = key == ERR && is_terminal_gone();
    return key == ERR ? -1 : translate(key);
}

/* ---- signals ---- */

int screen_signals(void)
{
    return the.signals;
}

static void fit(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        (void)resize_term(size.ws_row, size.ws_col);
    screen_redraw();
}

/* As the shell expects it: the terminal as it was, then stopped; back when it goes on. */
static void stop(void)
{
    (void)endwin();
    (void)raise(SIGSTOP);
    (void)wrefresh(stdscr);
    fit();
}

enum screen_signal screen_next_signal(void)
{
    struct signalfd_siginfo info;
    if (read(the.signals, &info, sizeof info) != (ssize_t)sizeof info)
        return SCREEN_NOTHING;
    switch (info.ssi_signo) {
    case SIGTSTP: stop(); return SCREEN_RESIZED;
    case SIGWINCH:
    case SIGCONT: fit(); return SCREEN_RESIZED;
    default: return SCREEN_ENDS;
    }
}
