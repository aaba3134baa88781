/* budget.c - see budget.h. */
#include "store/sqlite/budget.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { CALLS_PER_CLOCK = 64, INTERRUPT_AGAIN_MS = 50 };

static _Thread_local struct budget *current;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_installed;

/* ---- memory ---- */

static sqlite3_mem_methods plain; /* SQLite's own */

static bool is_late(struct budget *budget)
{
    if (budget->exceeded == BUDGET_TIME)
        return true;
    if (++budget->calls % CALLS_PER_CLOCK != 0 || clock_mono_ms(clock_system()) <= budget->until_ms)
        return false;
    budget->exceeded = BUDGET_TIME;
    return true;
}

static bool may_allocate(struct budget *budget, int64_t more)
{
    if (is_late(budget))
        return false;
    if (budget->memory + more <= budget->memory_max)
        return true;
    budget->exceeded = BUDGET_MEMORY;
    return false;
}

static void *limited_malloc(int n)
{
    struct budget *budget = current;
    if (budget == NULL)
        return plain.xMalloc(n);
    void *bytes = may_allocate(budget, n) ? plain.xMalloc(n) : NULL;
    if (bytes != NULL)
        budget->memory += plain.xSize(bytes);
    return bytes;
}

static void limited_free(void *bytes)
{
    if (current != NULL && bytes != NULL)
        current->memory -= plain.xSize(bytes);
    plain.xFree(bytes);
}

static void *limited_realloc(void *bytes, int n)
{
    struct budget *budget = current;
    if (budget == NULL)
        return plain.xRealloc(bytes, n);
    int before = plain.xSize(bytes);
    void *moved = may_allocate(budget, (int64_t)n - before) ? plain.xRealloc(bytes, n) : NULL;
    if (moved != NULL)
        budget->memory += plain.xSize(moved) - before;
    return moved;
}

/* ---- temporary files ---- */

struct temp_file {
    sqlite3_file base;
    struct budget *budget;
    int64_t bytes;
    sqlite3_file *real; /* behind this struct */
};

static sqlite3_vfs *real_vfs, limited_vfs;

static struct temp_file *temp_of(sqlite3_file *file)
{
    return (struct temp_file *)(void *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return temp_of(file)->real;
}

static int temp_close(sqlite3_file *file)
{
    temp_of(file)->budget->temp -= temp_of(file)->bytes;
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int temp_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), to, n, at);
}

static int temp_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct temp_file *mine = temp_of(file);
    int64_t more = at + n > mine->bytes ? at + n - mine->bytes : 0;
    if (mine->budget->temp + more > mine->budget->temp_max) {
        mine->budget->exceeded = BUDGET_TEMP;
        return SQLITE_FULL;
    }
    mine->bytes += more;
    mine->budget->temp += more;
    return mine->real->pMethods->xWrite(mine->real, from, n, at);
}

static int temp_truncate(sqlite3_file *file, sqlite3_int64 n)
{
    struct temp_file *mine = temp_of(file);
    if (n < mine->bytes) {
        mine->budget->temp -= mine->bytes - n;
        mine->bytes = n;
    }
    return mine->real->pMethods->xTruncate(mine->real, n);
}

static int temp_sync(sqlite3_file *file, int flags)
{
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int temp_size(sqlite3_file *file, sqlite3_int64 *out_bytes)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), out_bytes);
}

static int temp_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int temp_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int temp_reserved(sqlite3_file *file, int *out_is)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out_is);
}

/* None: a size hint would let a file grow without a write. */
static int temp_control(sqlite3_file *file, int op, void *arg)
{
    (void)file, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int temp_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int temp_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

/* Version 1: without memory mapping, so that every byte comes through temp_write(). */
static const sqlite3_io_methods temp_methods = {
    .iVersion = 1,
    .xClose = temp_close,
    .xRead = temp_read,
    .xWrite = temp_write,
    .xTruncate = temp_truncate,
    .xSync = temp_sync,
    .xFileSize = temp_size,
    .xLock = temp_lock,
    .xUnlock = temp_unlock,
    .xCheckReservedLock = temp_reserved,
    .xFileControl = temp_control,
    .xSectorSize = temp_sector,
    .xDeviceCharacteristics = temp_traits,
};

static int limited_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *out_flags)
{
    (void)vfs;
    const int temporary = SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB |
                          SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL;
    if (current == NULL || (flags & temporary) == 0)
        return real_vfs->xOpen(real_vfs, name, file, flags, out_flags);
    struct temp_file *mine = temp_of(file);
    *mine = (struct temp_file){.budget = current, .real = (sqlite3_file *)(void *)(mine + 1)};
    int rc = real_vfs->xOpen(real_vfs, name, mine->real, flags, out_flags);
    if (mine->real->pMethods != NULL)
        mine->base.pMethods = &temp_methods;
    return rc;
}

/* ---- lifecycle ---- */

static void install(void)
{
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
        return;
    sqlite3_mem_methods limited = plain;
    limited.xMalloc = limited_malloc;
    limited.xFree = limited_free;
    limited.xRealloc = limited_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &limited) != SQLITE_OK)
        return;
    real_vfs = sqlite3_vfs_find(NULL);
    if (real_vfs == NULL)
        return;
    limited_vfs = *real_vfs;
    limited_vfs.zName = "ferry-budget";
    limited_vfs.pNext = NULL;
    limited_vfs.szOsFile += (int)sizeof(struct temp_file);
    limited_vfs.xOpen = limited_open;
    is_installed = sqlite3_vfs_register(&limited_vfs, 0) == SQLITE_OK;
}

void budget_install(void)
{
    (void)pthread_once(&once, install);
}

bool budget_begin(struct budget *budget, struct err *err)
{
    assert(current == NULL);
    budget_install();
    if (!is_installed)
        return err_set(err, ERR_INTERNAL, "SQLite was in use before its limits could be set");
    current = budget;
    return true;
}

void budget_end(void)
{
    current = NULL;
}

const char *budget_vfs(void)
{
    return current != NULL ? limited_vfs.zName : NULL;
}

/* ---- the deadline of a running statement ---- */

/* Repeatedly: SQLite drops an interrupt between two statements. */
static void *interrupt_late(void *arg)
{
    struct watchdog *dog = arg;
    int64_t at_ms = dog->until_ms;
    (void)pthread_mutex_lock(&dog->lock);
    while (!dog->is_stopping) {
        const struct timespec at = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000};
        (void)pthread_cond_timedwait(&dog->changed, &dog->lock, &at);
        if (dog->is_stopping || clock_mono_ms(clock_system()) < at_ms)
            continue;
        sqlite3_interrupt(dog->db);
        at_ms = clock_mono_ms(clock_system()) + INTERRUPT_AGAIN_MS;
    }
    (void)pthread_mutex_unlock(&dog->lock);
    return NULL;
}

bool watchdog_start(struct watchdog *dog, sqlite3 *db, int64_t until_ms, struct err *err)
{
    pthread_condattr_t attr;
    *dog = (struct watchdog){.db = db, .until_ms = until_ms};
    (void)pthread_mutex_init(&dog->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&dog->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (pthread_create(&dog->thread, NULL, interrupt_late, dog) == 0)
        return true;
    (void)pthread_cond_destroy(&dog->changed);
    (void)pthread_mutex_destroy(&dog->lock);
    return err_set(err, ERR_NOMEM, "cannot start the thread that ends a query");
}

void watchdog_stop(struct watchdog *dog)
{
    (void)pthread_mutex_lock(&dog->lock);
    dog->is_stopping = true;
    (void)pthread_cond_signal(&dog->changed);
    (void)pthread_mutex_unlock(&dog->lock);
    (void)pthread_join(dog->thread, NULL);
    (void)pthread_cond_destroy(&dog->changed);
    (void)pthread_mutex_destroy(&dog->lock);
}
