/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of numbers as lists of ranges, for addresses of both families and ports. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/ranges.h"

void range_list_clear(struct range_list *list)
{
    free(list->range);
    *list = (struct range_list){ 0 };
}

int range_list_add(struct range_list *list, wide low, wide high)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct range *range = realloc(list->range, capacity * sizeof(*range));

        if (!range)
            return -ENOMEM;
        list->range = range;
        list->capacity = capacity;
    }
    list->range[list->count++] = (struct range){ .low = low, .high = high };
    return 0;
}

static int by_low(const void *a, const void *b)
{
    const struct range *left = a, *right = b;

    return left->low < right->low ? -1 : left->low > right->low;
}

void range_list_normalise(struct range_list *list)
{
    size_t kept = 0;

    if (list->count == 0)
        return;
    qsort(list->range, list->count, sizeof(*list->range), by_low);
    for (size_t i = 1; i < list->count; i++) {
        struct range *last = &list->range[kept];
        const struct range *next = &list->range[i];

        /* low - 1 does not wrap: a low of 0 is never above last->high */
        if (next->low <= last->high || next->low - 1 == last->high) {
            if (next->high > last->high)
                last->high = next->high;
        } else {
            list->range[++kept] = *next;
        }
    }
    list->count = kept + 1;
}

int range_list_subtract(struct range_list *list, const struct range_list *what)
{
    struct range_list left = { 0 };
    size_t from = 0;

    for (size_t i = 0; i < list->count; i++) {
        wide low = list->range[i].low, high = list->range[i].high;
        bool open = true; /* true while a part of the range is left: [low, high] */

        while (from < what->count && what->range[from].high < low)
            from++;
        for (size_t k = from; open && k < what->count && what->range[k].low <= high; k++) {
            if (what->range[k].low > low && range_list_add(&left, low, what->range[k].low - 1))
                goto no_memory;
            open = what->range[k].high < high;
            low = open ? what->range[k].high + 1 : low;
        }
        if (open && range_list_add(&left, low, high))
            goto no_memory;
    }
    range_list_clear(list);
    *list = left;
    return 0;

no_memory:
    range_list_clear(&left);
    return -ENOMEM;
}

bool range_list_is(const struct range_list *list, wide low, wide high)
{
    return list->count == 1 && list->range[0].low == low && list->range[0].high == high;
}

/* --- Ranges of addresses ------------------------------------------------------------------------------ */

wide address_highest(int version)
{
    return version == 4 ? UINT32_MAX : ~(wide)0;
}

wide address_to_number(const struct address *address, int version)
{
    if (version == 4)
        return load_be32(address->bytes);
    return (wide)load_be64(address->bytes) << 64 | load_be64(address->bytes + 8);
}

struct address address_from_number(wide number, int version)
{
    struct address address = { .bytes = { 0 } };

    for (int i = version == 4 ? 3 : 15; i >= 0; i--, number >>= 8)
        address.bytes[i] = (uint8_t)number;
    return address;
}

/* Parses one address. Returns its IP version, or -EINVAL. */
static int parse_number(struct span text, wide *number)
{
    struct span trimmed = span_trim(text);
    struct address address;
    int version = address_parse(trimmed.at, trimmed.length, &address);

    if (version > 0)
        *number = address_to_number(&address, version);
    return version;
}

/* Parses the text after the slash, a prefix length or for IPv4 also a netmask, and sets the bits of the host part in
 * *free_bits. Returns false if the mask is not valid. */
static bool parse_mask(struct span text, int version, wide *free_bits)
{
    uint64_t length;
    wide mask;

    text = span_trim(text);
    if (memchr(text.at, '.', text.length)) {
        if (version != 4 || parse_number(text, &mask) != 4)
            return false;
        *free_bits = mask ^ UINT32_MAX;
        return (*free_bits & (*free_bits + 1)) == 0;
    }
    if (!span_to_uint(text, 0, version == 4 ? 32 : 128, &length))
        return false;
    *free_bits = length == 0 ? address_highest(version) : ((wide)1 << ((version == 4 ? 32 : 128) - length)) - 1;
    return true;
}

int address_range_parse(struct span text, struct range *out)
{
    const char *slash = memchr(text.at, '/', text.length), *dash = memchr(text.at, '-', text.length);
    const char *cut = slash ? slash : dash;
    struct span first = text, second;
    struct range range;
    wide free_bits;
    int version;

    if (cut)
        first.length = (size_t)(cut - text.at);
    version = parse_number(first, &range.low);
    if (version < 0)
        return version;
    range.high = range.low;
    if (cut) {
        second = (struct span){ .at = cut + 1, .length = text.length - first.length - 1 };
        if (!slash && parse_number(second, &range.high) != version)
            return -EINVAL;
        if (slash && !parse_mask(second, version, &free_bits))
            return -EINVAL;
        if (slash) {
            range.low &= ~free_bits;
            range.high = range.low | free_bits;
        }
    }
    *out = range;
    return version;
}

void address_range_format(const struct range *range, int version, char *out)
{
    const wide size = range->high - range->low; /* one less than the number of addresses */
    struct address low = address_from_number(range->low, version), high = address_from_number(range->high, version);
    unsigned prefix = version == 4 ? 32 : 128;

    address_format(&low, version, false, out);
    if (size == 0)
        return;
    if ((size & (size + 1)) == 0 && (range->low & size) == 0) {
        for (wide rest = size; rest > 0; rest >>= 1)
            prefix--;
        snprintf(out + strlen(out), RANGE_TEXT_SIZE - strlen(out), "/%u", prefix);
    } else {
        out[strlen(out) + 1] = '\0';
        out[strlen(out)] = '-';
        address_format(&high, version, false, out + strlen(out));
    }
}
