/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

static bool tcpv4_csum_match(const struct match_input *in, const void *data)
{
    return checksum_match_transport(in->packet, 4, IPPROTO_TCP, data);
}

static void tcpv4_csum_narrow(const void *data, struct packet_needs *needs)
{
    checksum_narrow(PACKET_BAD_L4_CHECKSUM, data, needs);
}

const struct keyword keyword_tcpv4_csum = {
    .name = "tcpv4-csum",
    .value = CHECKSUM_FORM,
    .help = "validity of the TCP checksum over IPv4",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_NEEDS_CHECKSUMS | KEYWORD_STATE,
    .parse = checksum_parse,
    .packet = { .match = tcpv4_csum_match },
    .hints = &(const struct prefilter_hints){ .narrow = tcpv4_csum_narrow },
};
