/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sctp.h"
#include "sluice/number_range.h"

static bool sctp_vtag_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_SCTP) && pkt->transport_header_length >= SCTP_COMMON_HEADER_LENGTH &&
           number_range_has(data, load_be32(pkt->transport + 4));
}

static int sctp_vtag_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_sctp_vtag = {
    .name = "sctp.vtag",
    .value = NUMBER_RANGE_FORM,
    .help = "SCTP verification tag",
    .kind = KEYWORD_PACKET,
    .parse = sctp_vtag_parse,
    .packet = { .match = sctp_vtag_match },
};
