/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of numbers as lists of ranges, for addresses of both families and ports.
 *
 * Ownership: the owner initialises a list with zeros and calls range_list_clear(), also after an error.
 */
#ifndef SLUICE_RANGES_H
#define SLUICE_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/address.h"
#include "sluice/text.h"

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

/* --- Ranges of addresses ------------------------------------------------------------------------------ */

/* The address as a number. `version` is 4 or 6. */
wide address_to_number(const struct address *address, int version);
struct address address_from_number(wide number, int version);
/* The highest address as a number: 255.255.255.255, or ffff: ... :ffff. */
wide address_highest(int version);

/* Parses an address, a network (10.0.0.0/8, 10.0.0.0/255.0.0.0, fd00::/8; bits behind the prefix are ignored) or a
 * range (10.0.0.1-10.0.0.9). Returns the IP version, 4 or 6; or -EINVAL, with *out unchanged, when the text is none of
 * these. The ends of a range are returned as written: the caller checks that `low` is not above `high`. */
int address_range_parse(struct span text, struct range *out);

/* Writes a range as text, as ADDRESS, ADDRESS/PREFIX or FIRST-LAST; at most RANGE_TEXT_SIZE bytes, NUL included. */
enum { RANGE_TEXT_SIZE = 2 * ADDRESS_TEXT_SIZE };
void address_range_format(const struct range *range, int version, char *out);

#endif
