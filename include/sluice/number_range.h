/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Number ranges of the integer keywords (Suricata: "Integer Keywords"):
 * - `N`, `=N`, `!N`, `!=N`, `<N`, `<=N`, `>N`, `>=N`: N is decimal, or hexadecimal after 0x; units: 2kb, 2kib, 1mb, 1gb
 * - `A-B`, `A<>B`: greater than A and less than B; `!A-B`, `!A<>B`: the opposite
 * - `&MASK=N`, `&MASK!=N`: compares the bits of MASK
 * - `name`, `!name`: if the keyword has names
 *
 * Each form is stored as a mask and one interval, so that a match is a subtraction and a comparison. Values that always
 * or never match are rejected.
 */
#ifndef SLUICE_NUMBER_RANGE_H
#define SLUICE_NUMBER_RANGE_H

#include <stdint.h>

#include "sluice/keyword.h"

struct number_range {
    uint64_t mask;
    uint64_t low, width; /* matches numbers from low to low + width, inclusive */
    bool negated;
};

struct number_name {
    const char *name; /* NULL ends the table; compared without case */
    uint64_t value;
};

/* Form of the value, for `value` in struct keyword. */
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

/* For keywords that parse ranges of another form: removes `prefix` and the blanks after it from the text. Returns false
 * if the text does not begin with `prefix`. */
bool number_range_skip_prefix(struct span *text, const char *prefix);
/* Returns the offset of the separator `-` or `<>` between two numbers, and sets *length to its length. Returns 0 if
 * there is none. */
size_t number_range_separator(struct span text, size_t *length);

#endif
