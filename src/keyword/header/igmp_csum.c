/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

static bool igmp_csum_match(const struct match_input *in, const void *data)
{
    return checksum_match_transport(in->packet, 4, IPPROTO_IGMP, data);
}

static void igmp_csum_narrow(const void *data, struct packet_needs *needs)
{
    checksum_narrow(PACKET_BAD_L4_CHECKSUM, data, needs);
}

const struct keyword keyword_igmp_csum = {
    .name = "igmp-csum",
    .value = CHECKSUM_FORM,
    .help = "validity of the IGMP checksum",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED | KEYWORD_NEEDS_CHECKSUMS | KEYWORD_STATE,
    .parse = checksum_parse,
    .packet = { .match = igmp_csum_match },
    .hints = &(const struct prefilter_hints){ .narrow = igmp_csum_narrow },
};
