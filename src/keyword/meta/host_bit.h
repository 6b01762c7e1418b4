/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common code of hostbits and xbits: bits that rules set on an address or on a pair of addresses, and conditions on
 * these bits.
 *
 * As in Suricata, hostbits and xbits with `track ip_src` or `ip_dst` share their bits: a bit that one keyword sets on
 * an address is tested by the other under the same name. The bits of pairs are separate.
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

/* Parses the command at the start of a value and removes it from `rest`. The command `noalert` is applied to the rule
 * at once and sets *done to true: nothing else is to be parsed. Returns 0, or -EINVAL after an error was reported. */
int host_bit_parse_command(struct rule_parser *parser, struct span *rest, enum host_bit_command *command, bool *done);

/* Adds a copy of the bit, with the number of its name, as a condition or an action to the rule. Returns 0 or -errno. */
int host_bit_add(struct rule_parser *parser, struct span name, const struct host_bit *bit);

bool host_bit_match(const struct match_input *in, const void *data);
void host_bit_act(const struct match_input *in, const void *data);

#endif
