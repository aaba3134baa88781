/* guest.c - a tiny machine that writes memory at a known rate and notices when any of it is lost.
 *
 * A migration is only worth something if the guest arrives with every byte it wrote. So each page
 * of the working set holds its own number and its generation, and is checked before it is written
 * again: a page that a migration lost, mixed up or left stale prints CORRUPT and counts in `bad`.
 * On the first serial port:
 *
 *     BOOT mem=64 ws=16            once; a second BOOT means that the guest was reset
 *     READY
 *     HB t=1200 mib=19 bad=0       heartbeat: guest time in ms, MiB written so far, bad pages
 *     CORRUPT page=7 have=3 want=4
 *
 * Kernel command line, key=number, all optional:
 *     ws=MiB      working set that is written over and over              (32)
 *     rate=MiB/s  how fast; 0 idle, -1 flat out                          (16)
 *     fill=MiB    memory made non-zero at boot, so that it must be moved (all)
 *     cost=N      loops per page; 8000 makes it CPU bound, so that throttling bites (0)
 *     hb=ms       heartbeat period                                       (1000)
 *     poweroff=s, crash=s  ends by itself after so many seconds          (never)
 */
#include <stdbool.h>
#include <stdint.h>

enum {
    HZ = 100,
    MS_PER_TICK = 1000 / HZ,
    BASE_MIB = 8, /* guest's own code, data and stack are below */
    PAGES_PER_MIB = 256,
    WORDS_PER_PAGE = 1024,
    CATCH_UP_TICKS = HZ / 5, /* after a pause the guest does not write the missed pages at once */
    REPORTS_MAX = 20,
    COM1 = 0x3F8,
};

struct multiboot {
    uint32_t flags, memory_low_kib, memory_high_kib, boot_device, command_line;
};
struct gate {
    uint16_t low, selector;
    uint8_t zero, type;
    uint16_t high;
} __attribute__((packed));
struct table_pointer {
    uint16_t limit;
    uint32_t base;
} __attribute__((packed));

struct writer {
    volatile uint32_t *memory;
    uint32_t pages, page, generation;
    uint32_t written, bad; /* pages */
    int cost;
};

volatile uint32_t ticks; /* counted by on_timer in boot.S */
void on_timer(void);
void on_other(void);
void guest_main(const struct multiboot *info);

static void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

static void out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port));
}

static uint8_t in8(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static void put_char(char c)
{
    while ((in8(COM1 + 5) & 0x20) == 0)
        ;
    out8(COM1, (uint8_t)c);
}

static void put_text(const char *text)
{
    while (*text != '\0')
        put_char(*text++);
}

static void put_number(const char *label, uint32_t number)
{
    char digits[11];
    int at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    put_text(label);
    put_text(digits + at);
}

/* The number after "key=" at the start of a word of the command line. */
static int option(const char *line, const char *key, int otherwise)
{
    while (*line != '\0') {
        const char *a = line, *b = key;
        while (*b != '\0' && *a == *b)
            a++, b++;
        if (*b == '\0' && *a == '=') {
            bool negative = *++a == '-';
            int number = 0;
            for (a += negative; *a >= '0' && *a <= '9'; a++)
                number = number * 10 + (*a - '0');
            return negative ? -number : number;
        }
        while (*line != '\0' && *line != ' ')
            line++;
        while (*line == ' ')
            line++;
    }
    return otherwise;
}

static void serial_start(void)
{
    out8(COM1 + 1, 0);
    out8(COM1 + 3, 0x80); /* divisor 1: 115200 baud */
    out8(COM1 + 0, 1);
    out8(COM1 + 1, 0);
    out8(COM1 + 3, 3); /* 8N1 */
}

/* Both interrupt controllers moved to vectors 0x20 and 0x28, only the timer let through. */
static void timer_start(void)
{
    static struct gate gates[256];
    for (int i = 0; i < 256; i++) {
        uint32_t handler = (uint32_t)(i == 0x20 ? on_timer : on_other);
        gates[i] = (struct gate){(uint16_t)handler, 8, 0, 0x8e, (uint16_t)(handler >> 16)};
    }
    struct table_pointer pointer = {sizeof gates - 1, (uint32_t)gates};
    __asm__ volatile("lidt %0" ::"m"(pointer));

    static const uint8_t setup[][2] = {{0x20, 0x11}, {0xA0, 0x11}, {0x21, 0x20}, {0xA1, 0x28},
                                       {0x21, 4},    {0xA1, 2},    {0x21, 1},    {0xA1, 1},
                                       {0x21, 0xFE}, {0xA1, 0xFF}};
    for (unsigned i = 0; i < sizeof setup / sizeof *setup; i++)
        out8(setup[i][0], setup[i][1]);

    enum { DIVISOR = 1193182 / HZ };
    out8(0x43, 0x34);
    out8(0x40, DIVISOR & 0xFF);
    out8(0x40, DIVISOR >> 8);
    __asm__ volatile("sti");
}

static uint32_t page_mark(uint32_t page)
{
    return page ^ 0xDEAD0000u;
}

static void fill(volatile uint32_t *memory, uint32_t pages)
{
    for (uint32_t page = 0; page < pages; page++) {
        volatile uint32_t *at = memory + page * WORDS_PER_PAGE;
        at[0] = 0; /* generation */
        at[1] = page_mark(page);
        at[WORDS_PER_PAGE / 2] = page * 2654435761u; /* no two pages alike: nothing to compress */
    }
}

static void report_bad(struct writer *w, uint32_t have)
{
    if (++w->bad > REPORTS_MAX)
        return;
    put_number("CORRUPT page=", w->page);
    put_number(" have=", have);
    put_number(" want=", w->generation);
    put_char('\n');
}

static void write_next_page(struct writer *w)
{
    volatile uint32_t *at = w->memory + w->page * WORDS_PER_PAGE;
    if (at[0] != w->generation || at[1] != page_mark(w->page))
        report_bad(w, at[0]);
    at[0] = w->generation + 1;
    w->written++;
    for (int i = w->cost; i > 0; i--)
        __asm__ volatile("");
    if (++w->page == w->pages) {
        w->page = 0;
        w->generation++;
    }
}

static void heartbeat(uint32_t now, const struct writer *w)
{
    put_number("HB t=", now * MS_PER_TICK);
    put_number(" mib=", w->written / PAGES_PER_MIB);
    put_number(" bad=", w->bad);
    put_char('\n');
}

static void power_off(void)
{
    put_text("POWEROFF\n");
    out16(0x604, 0x2000); /* ACPI S5 of QEMU's pc machine */
}

static void crash(void)
{
    put_text("CRASH\n");
    struct table_pointer nothing = {0, 0};
    __asm__ volatile("lidt %0; int3" ::"m"(nothing)); /* no handler for the fault: triple fault */
}

/* Sleeps until the next tick; not when one came since `seen`, which would cost a whole tick. */
static void wait_for_tick(uint32_t seen)
{
    __asm__ volatile("cli");
    if (ticks == seen)
        __asm__ volatile("sti; hlt");
    else
        __asm__ volatile("sti");
}

static void run(struct writer *w, const char *line)
{
    const int rate = option(line, "rate", 16);
    const uint32_t beat = (uint32_t)option(line, "hb", 1000) / MS_PER_TICK;
    const uint32_t off_at = (uint32_t)option(line, "poweroff", 0) * HZ;
    const uint32_t crash_at = (uint32_t)option(line, "crash", 0) * HZ;
    uint32_t seen = ticks, last_beat = seen, due = 0; /* due: hundredths of a page */
    for (;;) {
        uint32_t now = ticks, passed = now - seen;
        seen = now;
        if (now - last_beat >= beat) {
            last_beat = now;
            heartbeat(now, w);
        }
        if (off_at != 0 && now >= off_at)
            power_off();
        if (crash_at != 0 && now >= crash_at)
            crash();
        if (rate > 0)
            due += (passed < CATCH_UP_TICKS ? passed : CATCH_UP_TICKS) * (uint32_t)rate *
                   PAGES_PER_MIB;
        uint32_t batch = rate < 0 ? (w->cost > 100 ? 32 : 1024) : due / HZ;
        due %= HZ;
        while (batch-- > 0 && w->pages > 0)
            write_next_page(w);
        if (rate >= 0)
            wait_for_tick(seen);
    }
}

void guest_main(const struct multiboot *info)
{
    enum { HAS_COMMAND_LINE = 4 };
    const char *line = (info->flags & HAS_COMMAND_LINE) ? (const char *)info->command_line : "";
    const int memory_mib = (int)((info->memory_high_kib + 1024) / 1024);
    const int usable_mib = memory_mib - BASE_MIB;
    int ws_mib = option(line, "ws", 32), fill_mib = option(line, "fill", usable_mib);
    if (ws_mib > usable_mib - 1)
        ws_mib = usable_mib - 1;
    if (fill_mib > usable_mib)
        fill_mib = usable_mib;
    if (fill_mib < ws_mib)
        fill_mib = ws_mib;

    serial_start();
    put_number("BOOT mem=", (uint32_t)memory_mib);
    put_number(" ws=", (uint32_t)ws_mib);
    put_char('\n');
    struct writer w = {
        .memory = (volatile uint32_t *)(BASE_MIB << 20),
        .pages = (uint32_t)ws_mib * PAGES_PER_MIB,
        .cost = option(line, "cost", 0),
    };
    fill(w.memory, (uint32_t)fill_mib * PAGES_PER_MIB);
    timer_start();
    put_text("READY\n");
    run(&w, line);
}
