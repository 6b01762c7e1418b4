/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Community ID version 1: a hash of the addresses, ports and protocol of a flow, the same for both directions and in
 * all programs that use the same seed.
 */
#ifndef SLUICE_OUTPUT_COMMUNITY_ID_H
#define SLUICE_OUTPUT_COMMUNITY_ID_H

#include <stdint.h>

#include "record.h"

enum { COMMUNITY_ID_SIZE = 31 }; /* "1:", 28 characters in Base64, and NUL */

/* `icmp_type` and `icmp_code` are read only if ends->protocol is ICMP or ICMPv6. */
void community_id(const struct endpoints *ends, uint8_t icmp_type, uint8_t icmp_code, uint16_t seed,
                  char out[COMMUNITY_ID_SIZE]);

#endif
