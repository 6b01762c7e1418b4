/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses that rules and `sluice blocklist` never block (nft.blocklist.never).
 */
#ifndef SLUICE_BLOCK_EXEMPTIONS_H
#define SLUICE_BLOCK_EXEMPTIONS_H

#include <stdbool.h>

#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/ranges.h"

struct address;
struct block_exemptions;

/* Reads nft.blocklist.never. Returns 0 or -errno; mistakes are reported in `diag`. */
int block_exemptions_new(struct block_exemptions **out, const struct config *config, struct diag *diag);
void block_exemptions_free(struct block_exemptions *never);
/* Returns true if the address is exempt from blocking: nft.blocklist.never contains it, or it is special (unspecified,
 * loopback, multicast, IPv6 link-local, 0.0.0.0/8, 240.0.0.0/4). */
bool block_exemptions_contain(const struct block_exemptions *never, int version, const struct address *address);
/* Adds all exempt addresses of an IP version to `out`, and normalises the list. Returns 0 or -ENOMEM. */
int block_exemptions_ranges(const struct block_exemptions *never, int version, struct range_list *out);
bool block_exemptions_are_all(const struct block_exemptions *never); /* "any": no address can be blocked */

#endif
