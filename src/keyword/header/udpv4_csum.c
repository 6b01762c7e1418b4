/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

static bool udpv4_csum_match(const struct match_input *in, const void *data)
{
    /* A checksum of 0 means that the sender computed none (RFC 768): neither `valid` nor `invalid` matches. */
    return checksum_match_transport(in->packet, 4, IPPROTO_UDP, data) && in->packet->udp.checksum != 0;
}

static void udpv4_csum_narrow(const void *data, struct packet_needs *needs)
{
    checksum_narrow(PACKET_BAD_L4_CHECKSUM, data, needs);
}

const struct keyword keyword_udpv4_csum = {
    .name = "udpv4-csum",
    .value = CHECKSUM_FORM,
    .help = "validity of the UDP checksum over IPv4; does not match without a checksum",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_NEEDS_CHECKSUMS | KEYWORD_STATE,
    .parse = checksum_parse,
    .packet = { .match = udpv4_csum_match },
    .hints = &(const struct prefilter_hints){ .narrow = udpv4_csum_narrow },
};
