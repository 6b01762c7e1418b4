/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/decode_event.h"
#include "header.h"
#include "sluice/number_range.h"

/* An atomic fragment (RFC 6946) lacks PACKET_FRAGMENT but has a fragment header. */
static bool has_fragment_header(const struct packet *pkt)
{
    return (pkt->flags & PACKET_FRAGMENT) || packet_has_event(pkt, DECODE_EVENT_IPV6_EXTHDR_USELESS_FH);
}

static bool fragoffset_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    if (pkt->ip_version == 4)
        return number_range_has(data, pkt->fragment_offset / 8u);
    return pkt->ip_version == 6 && has_fragment_header(pkt) && number_range_has(data, pkt->fragment_offset);
}

static int fragoffset_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_fragoffset = {
    .name = "fragoffset",
    .value = NUMBER_RANGE_FORM,
    .help = "fragment offset: in units of eight bytes for IPv4, in bytes for IPv6",
    .manual = "The units are Suricata's. IPv6 packets without a fragment header do not match.",
    .kind = KEYWORD_PACKET,
    .parse = fragoffset_parse,
    .packet = { .match = fragoffset_match },
};
