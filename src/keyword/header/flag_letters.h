/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bits written as letters, for fragbits and tcp.flags:
 *
 *     SA        exactly these        *SA       at least one of them
 *     +SA, SA+  these, maybe more    !SA, -SA  not all of them
 *     SA,CE     exactly these, whatever C and E are
 *
 * The result is a number_range over the bits.
 */
#ifndef SLUICE_KEYWORD_FLAG_LETTERS_H
#define SLUICE_KEYWORD_FLAG_LETTERS_H

#include "sluice/number_range.h"

struct flag_letter {
    char letter; /* upper case; 0 ends the table */
    uint16_t bits;
};

/* Returns 0 or -EINVAL after an error; sets *out only on success. `all` is the mask of bits that a condition may test.
 */
int flag_letters_parse(struct rule_parser *parser, struct span text, const struct flag_letter *letters, uint16_t all,
                       struct number_range *out);

#endif
