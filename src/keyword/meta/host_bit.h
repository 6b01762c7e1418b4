/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What hostbits and xbits share: a bit of an address or of a pair of addresses, and what is asked of it or done with
 * it.
 *
 * A bit that a rule sets on a host by `hostbits` is the one that `xbits` with `track ip_src` or `ip_dst` finds under
 * the same name, as in the field; pairs have names of their own.
 */
#ifndef SLUICE_KEYWORD_HOST_BIT_H
#define SLUICE_KEYWORD_HOST_BIT_H

#include "sluice/keyword.h"

enum host_bit_track { HOST_BIT_SOURCE, HOST_BIT_DESTINATION, HOST_BIT_PAIR };
enum host_bit_command { HOST_BIT_IS_SET, HOST_BIT_IS_NOT_SET, HOST_BIT_SET, HOST_BIT_UNSET, HOST_BIT_TOGGLE };

struct host_bit {
    enum host_bit_track track;
    enum host_bit_command command;
    uint32_t number;
    uint32_t expire_seconds;
};

/* The command that a value begins with, cut off `rest`. `noalert` is applied to the rule at once: then *done.
 * 0 or -EINVAL after an error. */
int host_bit_parse_command(struct rule_parser *parser, struct span *rest, enum host_bit_command *command, bool *done);

/* Gives the bit its number by its name, and adds it to the rule as a condition or an action. 0 or -errno. */
int host_bit_add(struct rule_parser *parser, struct span name, const struct host_bit *bit);

bool host_bit_match(const struct match_input *in, const void *data);
void host_bit_act(const struct match_input *in, const void *data);

#endif
