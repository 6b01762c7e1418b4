/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

int array_grow(void *array, size_t count, size_t *capacity, size_t item_size)
{
    size_t larger = *capacity > 0 ? 2 * *capacity : FIRST_CAPACITY;
    void *items;

    if (count < *capacity)
        return 0;
    memcpy(&items, array, sizeof(items));
    items = larger <= PTRDIFF_MAX / item_size ? realloc(items, larger * item_size) : NULL;
    if (!items)
        return -ENOMEM;
    memcpy(array, &items, sizeof(items));
    *capacity = larger;
    return 0;
}
