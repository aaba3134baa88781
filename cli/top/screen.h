/* screen.h - the terminal of `ferry top`: frames out, keys in. The only user of ncurses.
 *
 * While a screen is open, signals that would end or stop the process arrive at its descriptor
 * instead. A crash (SIGSEGV and others) puts the terminal back before the process dies. One at a
 * time; one thread.
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "base/err.h"
#include "cli/top/frame.h"

enum screen_signal {
    SCREEN_NOTHING,
    SCREEN_ENDS,    /* SIGINT, SIGTERM, SIGHUP, SIGQUIT */
    SCREEN_RESIZED, /* also after a stop (Ctrl-Z), which has ended when this is returned */
};

/* ERR_INVALID when TERM is not known. */
bool screen_open(bool coloured, struct err *err);
void screen_close(void); /* the terminal as it was; more than once is fine */

void screen_size(int *out_rows, int *out_columns);
void screen_draw(const struct frame *frame);
void screen_redraw(void); /* the next frame is drawn whole */
/* The next key as top_press() takes it; -1: none. is_gone: the terminal is. */
int screen_key(bool *out_is_gone);

int screen_signals(void); /* a descriptor to wait for */
enum screen_signal screen_next_signal(void);

#endif
