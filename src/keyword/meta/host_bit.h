/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common code of hostbits and xbits: a bit of an address or of a pair of addresses, and its conditions and actions.
 *
 * A bit that `hostbits` sets on a host is the one that `xbits` with `track ip_src` or `ip_dst` finds under the same
 * name, as in Suricata; pairs have separate names.
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

/* Parses the command at the start of a value and removes it from `rest`. `noalert` is applied to the rule at once and
 * sets *done. 0 or -EINVAL after an error. */
int host_bit_parse_command(struct rule_parser *parser, struct span *rest, enum host_bit_command *command, bool *done);

/* Assigns the bit the number of its name and adds a condition or an action to the rule. 0 or -errno. */
int host_bit_add(struct rule_parser *parser, struct span name, const struct host_bit *bit);

bool host_bit_match(const struct match_input *in, const void *data);
void host_bit_act(const struct match_input *in, const void *data);

#endif
