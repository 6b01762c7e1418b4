/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks and parses string formats that several modules use: ranges of numbers, marks, permissions, times, networks. */
#include "config_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int config_ranges(const char *value, uint32_t high, uint32_t *out, size_t max)
{
    struct span rest = span_of(value);
    size_t count = 0;

    for (struct span part; span_next(&rest, ',', &part);) {
        struct span range = part, low;
        uint64_t first, last;

        if (!span_next(&range, '-', &low) || !span_to_uint(low, 0, high, &first))
            return -EINVAL;
        last = first;
        if ((range.at && !span_to_uint(span_trim(range), first, high, &last)) || last - first >= max - count)
            return -EINVAL;
        for (uint64_t number = first; number <= last; number++) {
            for (size_t i = 0; i < count; i++)
                if (out[i] == number)
                    return -EINVAL;
            out[count++] = (uint32_t)number;
        }
    }
    return (int)count;
}

bool config_mark(const char *value, uint32_t *mark, uint32_t *mask)
{
    struct span rest = span_of(value), first;
    uint64_t bits, under;

    if (!span_next(&rest, '/', &first) || !rest.at)
        return false;
    if (!span_to_uint(first, 0, UINT32_MAX, &bits) || !span_to_uint(span_trim(rest), 1, UINT32_MAX, &under))
        return false;
    if (bits & ~under)
        return false;
    *mark = (uint32_t)bits;
    *mask = (uint32_t)under;
    return true;
}

bool config_size(const char *value, int64_t *bytes)
{
    return value_to_size(value, bytes);
}

bool config_mode(const char *value, unsigned *mode)
{
    size_t length = strlen(value);

    if (length < 3 || length > 4 || strspn(value, "01234567") != length)
        return false;
    *mode = (unsigned)strtoul(value, NULL, 8);
    return *mode <= 0777;
}

bool config_duration(const char *value, uint64_t *seconds)
{
    static const struct {
        const char *name;
        uint64_t seconds;
    } units[] = { { "", 1 },
                  { "s", 1 },
                  { "m", 60 },
                  { "min", 60 },
                  { "h", 60 * 60 },
                  { "d", 24 * 60 * 60 },
                  { "w", 7 * 24 * 60 * 60 } };
    size_t digits = strspn(value, "0123456789"), gap = strspn(value + digits, " \t");
    uint64_t number;

    if (!text_to_uint(value, digits, 0, UINT32_MAX, &number))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(value + digits + gap, units[i].name) == 0) {
            *seconds = number * units[i].seconds;
            return true;
        }
    }
    return false;
}

const char *config_check_mark(const char *value)
{
    uint32_t mark, mask;

    return config_mark(value, &mark, &mask) ? NULL
                                            : "MARK/MASK such as 0x1/0x1, with no bit of the mark outside the mask";
}

int config_network(const char *value, struct address *network, unsigned *prefix)
{
    struct span rest = span_of(value), address;
    uint64_t bits;

    if (!span_next(&rest, '/', &address))
        return -EINVAL;
    int version = address_parse(address.at, address.length, network);

    if (version < 0)
        return -EINVAL;
    bits = version == 4 ? 32 : 128;
    if (rest.at && !span_to_uint(span_trim(rest), 0, bits, &bits))
        return -EINVAL;
    *prefix = (unsigned)bits;
    address_mask(network, *prefix);
    return version;
}
