/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common code of the *-csum keywords, whose values are `valid` and `invalid`. */
#ifndef SLUICE_KEYWORD_CHECKSUM_H
#define SLUICE_KEYWORD_CHECKSUM_H

#include "header.h"

#define CHECKSUM_FORM "valid or invalid"

/* The parse() function of the *-csum keywords. The condition's data is a bool: true if the checksum must be valid,
 * false if it must be invalid. */
int checksum_parse(struct rule_parser *parser, struct span value);

/* Returns whether the packet satisfies the condition; `bad_flag` is the packet flag for an invalid checksum. A checksum
 * that is not verified (see decode_check_checksums) counts as valid. */
static inline bool checksum_match(const struct packet *pkt, uint32_t bad_flag, const void *data)
{
    const bool *valid = data;

    return !(pkt->flags & bad_flag) == *valid;
}

static inline void checksum_narrow(uint32_t bad_flag, const void *data, struct packet_needs *needs)
{
    const bool *valid = data;

    packet_needs_properties(needs, bad_flag, *valid ? 0 : bad_flag);
}

/* Returns like checksum_match() for the checksum of a transport protocol; false if the packet has another protocol or
 * IP version. */
static inline bool checksum_match_transport(const struct packet *pkt, uint8_t ip_version, uint8_t protocol,
                                            const void *data)
{
    return pkt->ip_version == ip_version && header_is(pkt, protocol) &&
           checksum_match(pkt, PACKET_BAD_L4_CHECKSUM, data);
}

#endif
