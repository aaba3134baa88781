/* quantity.c - see quantity.h. Exact: the number is kept as its decimal digits, so that neither a
 * long fraction nor a big unit is rounded before the end. */
#include "base/quantity.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

enum { TEXT_MAX = 64, DIGITS_MAX = TEXT_MAX + 24, EXPONENT_MAX = 1000 };

struct number {
    bool negative;
    unsigned char digits[DIGITS_MAX]; /* least significant first */
    int n;                            /* digits used */
    int power;                        /* of ten: the value is digits * 10^power */
};

static const struct unit {
    const char *name;
    int power; /* of ten */
    int kibi;  /* times 1024 */
} units[] = {
    {"", 0, 0},   {"n", -9, 0}, {"u", -6, 0}, {"m", -3, 0}, {"k", 3, 0},  {"M", 6, 0},
    {"G", 9, 0},  {"T", 12, 0}, {"P", 15, 0}, {"E", 18, 0}, {"Ki", 0, 1}, {"Mi", 0, 2},
    {"Gi", 0, 3}, {"Ti", 0, 4}, {"Pi", 0, 5}, {"Ei", 0, 6},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "12.50": the sign and the digits. False when there are none; *at is left behind them. */
static bool read_digits(const char **at, struct number *out)
{
    if (**at == '+' || **at == '-')
        out->negative = *(*at)++ == '-';
    const char *start = *at;
    bool fraction = false;
    for (; is_digit(**at) || (**at == '.' && !fraction); (*at)++)
        if (**at == '.')
            fraction = true;
        else if (fraction)
            out->power--;
    for (const char *c = *at; c > start; c--)
        if (c[-1] != '.')
            out->digits[out->n++] = (unsigned char)(c[-1] - '0');
    return out->n > 0;
}

/* "e3", "E-6": false when it is none. Saturates: no valid quantity is that big or small. */
static bool read_exponent(const char *at, int *out_power)
{
    if (*at != 'e' && *at != 'E')
        return false;
    at++;
    bool negative = *at == '-';
    if (*at == '+' || *at == '-')
        at++;
    int power = 0;
    if (!is_digit(*at))
        return false;
    for (; is_digit(*at); at++)
        power = power >= EXPONENT_MAX ? EXPONENT_MAX : power * 10 + (*at - '0');
    *out_power = negative ? -power : power;
    return *at == '\0';
}

static void times_1024(struct number *number)
{
    unsigned carry = 0;
    for (int i = 0; i < number->n || carry > 0; i++) {
        if (i == number->n)
            number->digits[number->n++] = 0;
        carry += number->digits[i] * 1024U;
        number->digits[i] = (unsigned char)(carry % 10);
        carry /= 10;
    }
}

static bool read_unit(const char *at, struct number *number)
{
    for (size_t i = 0; i < COUNT(units); i++) {
        if (strcmp(at, units[i].name) != 0)
            continue;
        number->power += units[i].power;
        for (int times = 0; times < units[i].kibi; times++)
            times_1024(number);
        return true;
    }
    int power = 0;
    if (!read_exponent(at, &power))
        return false;
    number->power += power;
    return true;
}

/* The number rounded up to a whole one; false when it is too large. */
static bool round_up(const struct number *number, int64_t *out_value)
{
    int64_t value = 0;
    bool rest = false;
    for (int i = number->n - 1; i >= 0; i--) {
        if (i + number->power < 0)
            rest = rest || number->digits[i] != 0;
        else if (__builtin_mul_overflow(value, 10, &value) ||
                 __builtin_add_overflow(value, number->digits[i], &value))
            return false;
    }
    for (int i = 0; i < number->power && value != 0; i++)
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    *out_value = value;
    return !rest || !__builtin_add_overflow(value, 1, out_value);
}

/* In units of 10^-shift. */
static bool parse(const char *text, const char *where, int shift, int64_t *out, struct err *err)
{
    struct number number = {.power = shift};
    const char *at = text;
    int64_t value = 0;
    if (strlen(text) > TEXT_MAX || !read_digits(&at, &number) || !read_unit(at, &number))
        return err_set(
            err, ERR_INVALID,
            "%s: \"%.40s\" is not a quantity; expected a number with a unit, such as 64Mi, "
            "1.5G or 250m",
            where, text);
    bool fits = round_up(&number, &value);
    if (number.negative && (!fits || value != 0))
        return err_set(err, ERR_INVALID, "%s: must not be negative", where);
    if (!fits)
        return err_set(err, ERR_INVALID, "%s: %.40s is too large", where, text);
    *out = value;
    return true;
}

bool quantity_parse(const char *text, const char *where, int64_t *out_milli, struct err *err)
{
    return parse(text, where, 3, out_milli, err);
}

bool quantity_parse_whole(const char *text, const char *where, int64_t *out_units, struct err *err)
{
    return parse(text, where, 0, out_units, err);
}
