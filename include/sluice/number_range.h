/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as the integer keywords write them (Suricata: "Integer Keywords"):
 *
 *     N, =N, !N, !=N, <N, <=N, >N, >=N      decimal, or hexadecimal after 0x; 2kb, 2kib, 1mb, 1gb
 *     A-B, A<>B, !A-B                       between A and B, or not; neither A nor B belongs to it
 *     &MASK=N, &MASK!=N                     the bits of MASK
 *     name, !name                           where the keyword has names
 *
 * All of them become one interval under a mask, so that a match is a subtraction and a compare. Forms that always or
 * never match are mistakes.
 */
#ifndef SLUICE_NUMBER_RANGE_H
#define SLUICE_NUMBER_RANGE_H

#include <stdint.h>

#include "sluice/keyword.h"

struct number_range {
    uint64_t mask;
    uint64_t low, width; /* low .. low + width */
    bool negated;
};

struct number_name {
    const char *name; /* NULL ends the table; case does not matter */
    uint64_t value;
};

/* The form for struct keyword's `value`. */
#define NUMBER_RANGE_FORM "[!|<|<=|>|>=]NUMBER, [!]LOW-HIGH or &MASK[!]=NUMBER"

static inline bool number_range_has(const struct number_range *range, uint64_t number)
{
    return ((number & range->mask) - range->low <= range->width) != range->negated;
}

/* Numbers from 0 to `limit`; `names` may be NULL. 0 or -EINVAL after an error; *out only on success. */
int number_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                       struct number_range *out);

/* For parse(): the same, added as the data of a condition on the packet, or on the transaction. 0 or -errno. */
int number_range_condition(struct rule_parser *parser, struct span text, uint64_t limit,
                           const struct number_name *names);
int number_range_transaction_condition(struct rule_parser *parser, struct span text, uint64_t limit,
                                       const struct number_name *names);

/* One plain number in decimal or hexadecimal with an optional unit. 0 or -EINVAL after an error. */
int number_range_number(struct rule_parser *parser, struct span text, uint64_t limit, uint64_t *out);

/* For other forms of ranges. Takes `prefix` off the text, and blanks behind it; false when it has another beginning. */
bool number_range_take(struct span *text, const char *prefix);
/* The place of `-` or `<>` between two numbers and its length, or 0. */
size_t number_range_separator(struct span text, size_t *length);

#endif
