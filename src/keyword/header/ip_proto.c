/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

/* Names of /etc/protocols, built in so that a rule means the same on every host. */
static const struct number_name names[] = {
    /* clang-format off */
    { "hopopt", 0 }, { "hopopts", 0 }, { "ip", 0 }, { "icmp", 1 }, { "igmp", 2 }, { "ggp", 3 }, { "ip-encap", 4 },
    { "ip-in-ip", 4 }, { "ipencap", 4 }, { "ipv4", 4 }, { "st", 5 }, { "tcp", 6 }, { "egp", 8 }, { "igp", 9 },
    { "pup", 12 }, { "udp", 17 }, { "mux", 18 }, { "hmp", 20 }, { "xns-idp", 22 }, { "rdp", 27 }, { "iso-tp4", 29 },
    { "dccp", 33 }, { "xtp", 36 }, { "ddp", 37 }, { "idpr-cmtp", 38 }, { "ipv6", 41 }, { "ipv6-route", 43 },
    { "ipv6-frag", 44 }, { "idrp", 45 }, { "rsvp", 46 }, { "gre", 47 }, { "esp", 50 }, { "ipsec-esp", 50 },
    { "ah", 51 }, { "ipsec-ah", 51 }, { "skip", 57 }, { "icmp6", 58 }, { "icmpv6", 58 }, { "ipv6-icmp", 58 },
    { "ipv6-nonxt", 59 }, { "ipv6-opts", 60 }, { "cphb", 73 }, { "rspf", 73 }, { "vmtp", 81 }, { "eigrp", 88 },
    { "ospf", 89 }, { "ospfigp", 89 }, { "ax.25", 93 }, { "ipip", 94 }, { "etherip", 97 }, { "encap", 98 },
    { "pim", 103 }, { "ipcomp", 108 }, { "vrrp", 112 }, { "l2tp", 115 }, { "isis", 124 }, { "sctp", 132 },
    { "fc", 133 }, { "mobility-header", 135 }, { "udplite", 136 }, { "mpls-in-ip", 137 }, { "manet", 138 },
    { "hip", 139 }, { "shim6", 140 }, { "wesp", 141 }, { "rohc", 142 }, { "ethernet", 143 }, { NULL, 0 },
    /* clang-format on */
};

static bool ip_proto_match(const struct match_input *in, const void *data)
{
    return in->packet->ip_version != 0 && number_range_has(data, in->packet->protocol);
}

static void ip_proto_narrow(const void *data, struct packet_needs *needs)
{
    const struct number_range *range = data;

    if (!range->negated && range->mask == UINT64_MAX)
        packet_needs_protocols(needs, (uint8_t)range->low, (uint8_t)(range->low + range->width));
}

static int ip_proto_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT8_MAX, names);
}

const struct keyword keyword_ip_proto = {
    .name = "ip_proto",
    .value = NUMBER_RANGE_FORM ", or [!]NAME",
    .help = "IP protocol of the transport header, after all IPv6 extension headers",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_IP_ONLY,
    .parse = ip_proto_parse,
    .packet = { .match = ip_proto_match },
    .hints = &(const struct prefilter_hints){ .narrow = ip_proto_narrow },
};
