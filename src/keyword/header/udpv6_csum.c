/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

static bool udpv6_csum_match(const struct match_input *in, const void *data)
{
    return checksum_match_transport(in->packet, 6, IPPROTO_UDP, data);
}

static void udpv6_csum_narrow(const void *data, struct packet_needs *needs)
{
    checksum_narrow(PACKET_BAD_L4_CHECKSUM, data, needs);
}

const struct keyword keyword_udpv6_csum = {
    .name = "udpv6-csum",
    .value = CHECKSUM_FORM,
    .help = "validity of the UDP checksum over IPv6",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_NEEDS_CHECKSUMS | KEYWORD_STATE,
    .parse = checksum_parse,
    .packet = { .match = udpv6_csum_match },
    .hints = &(const struct prefilter_hints){ .narrow = udpv6_csum_narrow },
};
