/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

static bool ipv4_csum_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return pkt->ip_version == 4 && checksum_match(pkt, PACKET_BAD_L3_CHECKSUM, data);
}

static void ipv4_csum_narrow(const void *data, struct packet_needs *needs)
{
    checksum_narrow(PACKET_BAD_L3_CHECKSUM, data, needs);
}

const struct keyword keyword_ipv4_csum = {
    .name = "ipv4-csum",
    .value = CHECKSUM_FORM,
    .help = "validity of the IPv4 header checksum",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_NEEDS_CHECKSUMS | KEYWORD_STATE,
    .parse = checksum_parse,
    .packet = { .match = ipv4_csum_match },
    .hints = &(const struct prefilter_hints){ .narrow = ipv4_csum_narrow },
};
