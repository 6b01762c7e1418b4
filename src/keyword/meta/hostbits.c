/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostbits:set,NAME[,src|dst]; bits that rules set on an address. They expire after five minutes, as in Suricata. */
#include "host_bit.h"

enum { HOSTBITS_SECONDS = 300 };

static int hostbits_parse(struct rule_parser *parser, struct span value)
{
    struct host_bit bit = { .expire_seconds = HOSTBITS_SECONDS, .track = HOST_BIT_SOURCE };
    struct span name, rest = value;
    bool done;
    int err = host_bit_parse_command(parser, &rest, &bit.command, &done);

    if (err || done)
        return err;
    span_next(&rest, ',', &name);
    rest = rest.at ? span_trim(rest) : rest;
    if (rest.at && !span_equal(rest, "src")) {
        if (!span_equal(rest, "dst"))
            return rule_parser_error(parser, rest, "expected src or dst, got '" SPAN_FORMAT "'", SPAN_ARGS(rest));
        bit.track = HOST_BIT_DESTINATION;
    }
    return host_bit_add(parser, name, &bit);
}

const struct keyword keyword_hostbits = {
    .name = "hostbits",
    .value = "set|unset|toggle|isset|isnotset,NAME[,src|dst]; or noalert",
    .help = "test or change named bits of the packet's source or destination address",
    .manual = "isset and isnotset are conditions; set, unset and toggle run after the rule has matched. A "
              "bit expires after five minutes. The default address is src. xbits with track ip_src or "
              "ip_dst uses the same bits.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE | KEYWORD_IP_ONLY,
    .parse = hostbits_parse,
    .packet = { .cost = 2, .match = host_bit_match },
};
