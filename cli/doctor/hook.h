/* hook.h - has the libvirt daemon of this machine loaded Ferry's hook (packaging/hooks/ferry)?
 *
 * libvirt looks for hooks once, when its daemon starts: one that was installed later is never
 * called. libvirt does not report it; the files of the machine itself do. */
#ifndef CLI_HOOK_H
#define CLI_HOOK_H

enum hook_state {
    HOOK_NOT_CHECKED, /* another machine, or the daemon's start is not known */
    HOOK_ABSENT,
    HOOK_LATE, /* installed after the daemon started */
    HOOK_LOADED,
};

/* root: before every path, "" for this machine. */
enum hook_state hook_state(const char *root);

#endif
