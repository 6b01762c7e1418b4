/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool ttl_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return pkt->ip_version != 0 && number_range_has(data, pkt->ttl);
}

static int ttl_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_ttl = {
    .name = "ttl",
    .value = NUMBER_RANGE_FORM,
    .help = "IPv4 TTL or IPv6 hop limit",
    .kind = KEYWORD_PACKET,
    .parse = ttl_parse,
    .packet = { .match = ttl_match },
};
