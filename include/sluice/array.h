/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays of malloc()ed items, for lists whose length is not known in advance. Not for the packet path.
 */
#ifndef SLUICE_ARRAY_H
#define SLUICE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for one more item behind the first `count` items. `array` is the address of the pointer to the items,
 * which changes when the items move (NULL: no items yet). *capacity is in items, and is doubled when all are used. The
 * owner frees the items. Returns 0, or -ENOMEM with the array unchanged.
 */
int array_grow(void *array, size_t count, size_t *capacity, size_t item_size);

#endif
