/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

static bool icmpv4_csum_match(const struct match_input *in, const void *data)
{
    return checksum_match_transport(in->packet, 4, IPPROTO_ICMP, data);
}

static void icmpv4_csum_narrow(const void *data, struct packet_needs *needs)
{
    checksum_narrow(PACKET_BAD_L4_CHECKSUM, data, needs);
}

const struct keyword keyword_icmpv4_csum = {
    .name = "icmpv4-csum",
    .value = CHECKSUM_FORM,
    .help = "validity of the ICMP checksum",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_NEEDS_CHECKSUMS | KEYWORD_STATE,
    .parse = checksum_parse,
    .packet = { .match = icmpv4_csum_match },
    .hints = &(const struct prefilter_hints){ .narrow = icmpv4_csum_narrow },
};
