/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses conditions on flags that are written as letters, for fragbits and tcp.flags:
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
    char letter; /* letter in upper case; 0 marks the end of the table */
    uint16_t bits;
};

/* Parses a condition. `all` is the mask of the bits that it may test. Returns 0 and sets *out, or returns -EINVAL after
 * an error was reported. */
int flag_letters_parse(struct rule_parser *parser, struct span text, const struct flag_letter *letters, uint16_t all,
                       struct number_range *out);

#endif
