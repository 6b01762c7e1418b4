/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on a list of numbers (Suricata: "Multi-integers"): a condition on one number, the numbers of the list
 * that must match, and the part of the list to inspect:
 *
 *     NUMBER[,any
 * all
 * all_or_absent
 * or_absent
 * INDEX
 * oob_or INDEX
 * nb NUMBERS[,FROM:TO]]
 *     count NUMBERS
 *
 * A negative index counts from the end.
 */
#ifndef SLUICE_NUMBER_LIST_H
#define SLUICE_NUMBER_LIST_H

#include "sluice/number_range.h"

enum number_list_mode {
    NUMBER_LIST_ANY,
    NUMBER_LIST_ALL,
    NUMBER_LIST_ALL_OR_ABSENT,
    NUMBER_LIST_ANY_OR_ABSENT,
    NUMBER_LIST_INDEX,
    NUMBER_LIST_INDEX_OR_OUTSIDE, /* or the list has no such index */
    NUMBER_LIST_MATCHES,          /* number of matching elements */
    NUMBER_LIST_COUNT,            /* number of elements */
};

struct number_list {
    enum number_list_mode mode;
    struct number_range number;
    struct number_range count; /* for NUMBER_LIST_MATCHES and NUMBER_LIST_COUNT */
    int32_t index;             /* for NUMBER_LIST_INDEX and NUMBER_LIST_INDEX_OR_OUTSIDE */
    int32_t from, to;          /* the part to inspect; to == 0: the end of the list */
};

/* The form for struct keyword's `value`. */
#define NUMBER_LIST_FORM NUMBER_RANGE_FORM "[,WHICH[,FROM:TO]], or count NUMBER"

/* Parses a list condition on numbers from 0 to `limit`; `names` may be NULL. Indices are in [-max_count, max_count).
 * Returns 0, or -EINVAL after reporting an error; *out is written only on success. */
int number_list_parse(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                      unsigned max_count, struct number_list *out);

/* `number` returns the index-th number of `of`. */
typedef uint64_t number_list_get(const void *of, unsigned index);
bool number_list_match(const struct number_list *list, number_list_get *number, const void *of, unsigned count);

#endif
