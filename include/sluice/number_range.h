/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Number ranges of the integer keywords (Suricata: "Integer Keywords"):
 *
 *     N, =N, !N, !=N, <N, <=N, >N, >=N      decimal, or hexadecimal after 0x; 2kb, 2kib, 1mb, 1gb
 *     A-B, A<>B, !A-B                       between A and B, or not; A and B themselves are excluded
 *     &MASK=N, &MASK!=N                     the bits of MASK
 *     name, !name                           if the keyword has names
 *
 * Each of them is stored as one interval under a mask, so that a match is a subtraction and a comparison. Forms that
 * always or never match are rejected.
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
    const char *name; /* NULL ends the table; compared without case */
    uint64_t value;
};

/* The form for struct keyword's `value`. */
#define NUMBER_RANGE_FORM "[!|<|<=|>|>=]NUMBER, [!]LOW-HIGH or &MASK[!]=NUMBER"

static inline bool number_range_has(const struct number_range *range, uint64_t number)
{
    return ((number & range->mask) - range->low <= range->width) != range->negated;
}

/* Parses a range of numbers from 0 to `limit`; `names` may be NULL. Returns 0, or -EINVAL after reporting an error;
 * *out is written only on success. */
int number_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                       struct number_range *out);

/* For a keyword's parse(): parses a range and adds it as the data of a condition on the packet, or on the transaction.
 * Returns 0 or -errno. */
int number_range_condition(struct rule_parser *parser, struct span text, uint64_t limit,
                           const struct number_name *names);
int number_range_transaction_condition(struct rule_parser *parser, struct span text, uint64_t limit,
                                       const struct number_name *names);

/* Parses one number in decimal or hexadecimal with an optional unit. Returns 0, or -EINVAL after reporting an error. */
int number_range_number(struct rule_parser *parser, struct span text, uint64_t limit, uint64_t *out);

/* For other forms of ranges: removes `prefix` and following blanks from the text; returns false if the text begins
 * differently. */
bool number_range_skip_prefix(struct span *text, const char *prefix);
/* Returns the offset of `-` or `<>` between two numbers, and its length; 0: none. */
size_t number_range_separator(struct span text, size_t *length);

#endif
