/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool id_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return pkt->ip_version == 4 && number_range_has(data, pkt->fragment_id);
}

static int id_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_id = {
    .name = "id",
    .value = NUMBER_RANGE_FORM,
    .help = "identification field of the IPv4 header",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED,
    .parse = id_parse,
    .packet = { .match = id_match },
};
