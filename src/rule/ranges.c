/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of numbers as lists of ranges, for addresses of both families and ports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

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
