/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of numbers as lists of ranges, for addresses of both families and ports.
 *
 * Ownership: the owner initialises a list with zeros and calls range_list_clear(), also after an error.
 */
#ifndef SLUICE_RULE_RANGES_H
#define SLUICE_RULE_RANGES_H

#include <stdbool.h>
#include <stddef.h>

/* Wide enough for an IPv6 address; ports and IPv4 addresses use the low bits. */
__extension__ typedef unsigned __int128 wide;

struct range {
    wide low, high;
};
struct range_list {
    struct range *range;
    size_t count, capacity;
};
void range_list_clear(struct range_list *list);
int range_list_add(struct range_list *list, wide low, wide high); /* returns 0 or -ENOMEM */
void range_list_normalise(struct range_list *list); /* sorts the ranges and merges those that overlap or are adjacent */
/* Removes the numbers of `what` from `list`; both are normalised. Returns 0 or -ENOMEM. */
int range_list_subtract(struct range_list *list, const struct range_list *what);
/* Returns whether a normalised list consists of exactly the range from `low` to `high`. */
bool range_list_is(const struct range_list *list, wide low, wide high);

#endif
