/* fake.h - a libvirt that answers what a test tells it, in place of the library's functions: the
 * program test-libvirt is linked with --wrap for each FAKE() of fake*.c (tests/targets.mk), so
 * hypervisor/libvirt/ runs unchanged and nothing is sent anywhere. Typed parameters and the event
 * loop are the library's own.
 *
 * One world for the process: a host that every URI leads to. What is asked of it is written down,
 * one line for each call with its arguments; a call can be told to fail, to block, or to find its
 * connection dead; so can pthread_create. As in libvirt a thread's last error is reset by its next
 * call. Objects are counted: after each test all must be freed again.
 *
 * Threads: any; set the world up while nothing runs, except by the functions here.
 */
#ifndef TESTS_LIBVIRT_FAKE_H
#define TESTS_LIBVIRT_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

enum { FAKE_GUESTS_MAX = 8, FAKE_PARAMS_MAX = 8, FAKE_NAMED_MAX = 8 };

struct fake_param {
    const char *name;
    long long value;
    bool is_int;
};

struct fake_guest {
    const char *uuid, *name;
    int state, reason, persistent, autostart, snapshots;
    bool hides_state; /* its record in a list has no state */
    unsigned long memory_kib, balloon_kib;
    unsigned short vcpus;
    const char *xml, *stored, *migratable, *metadata; /* NULL: none */
    int job_type;
    struct fake_param job[FAKE_PARAMS_MAX];       /* statistics, up to one without a name */
    struct fake_param completed[FAKE_PARAMS_MAX]; /* of the last job */
    struct fake_param dirty[FAKE_PARAMS_MAX];     /* of a measurement */
    const char *answers[3];                       /* of its monitor, in turn */
    unsigned long long capacity, allocation;      /* of each of its disks */
};

struct fake_named { /* a network, interface, device, pool or volume */
    const char *name;
    int active;
    const char *xml, *path; /* path of a volume; directory of a pool */
    unsigned long long size;
};
struct fake_list {
    bool missing; /* the host has no such driver */
    int n;
    struct fake_named of[FAKE_NAMED_MAX];
    int claims; /* more than n: so many are listed, all like the first */
};

struct fake {
    struct fake_guest guests[FAKE_GUESTS_MAX];
    size_t n_guests;
    size_t claims_guests; /* more than n_guests: so many are listed, all like the first */
    const char *hostname, *capabilities;
    unsigned long libvirt_version, qemu_version;
    unsigned long long free_memory;
    virNodeInfo node;
    int compared, compared_host; /* answers about a CPU */
    struct fake_list networks, interfaces, devices, pools, volumes;
    unsigned long long free_pages[4];
    int free_pages_n; /* answer of the call; 0: as many as were asked for */
};
extern struct fake fake;

/* A host with nothing on it. Frees nothing: see fake_objects(). */
void fake_reset(void);
/* Connections, guests and others that were handed out and not given back. */
int fake_objects(void);

/* All calls so far, one line each: "virDomainSuspend a". Calls that only look a guest up or free
 * something are not written down. The text is the fake's until the next call of fake_log(). */
const char *fake_log(void);
void fake_log_clear(void);
int fake_count(const char *call); /* how often it was made */

/* The nth call from now on of that function fails (1: the next; 0: all of them). breaks: and its
 * connection is dead from then on. */
void fake_fail(const char *call, int nth, int code, const char *text);
void fake_fail_broken(const char *call, int nth);
void fake_heal(void); /* no call fails or blocks any more */
/* Calls of that function wait until fake_release() or fake_heal(). */
void fake_block(const char *call);
void fake_release(void);       /* they go on, and fail if they were told to */
void fake_wait_blocked(int n); /* until so many wait */

/* Every open connection is dead; its close callback runs when tell is set. */
void fake_break(int reason, bool tell);

/* Events: calls the callbacks registered for that event as libvirt's loop would. */
void fake_lifecycle(const char *uuid, int what, int detail);
void fake_iteration(const char *uuid, int iteration);
void fake_job_completed(const char *uuid, int operation, unsigned long long downtime);
void fake_device(const char *uuid, int id); /* DEVICE_ADDED or DEVICE_REMOVED */
void fake_metadata_changed(const char *uuid);
void fake_block_job(const char *uuid);
int fake_callbacks(void); /* registered now, the close callback included */

#endif
