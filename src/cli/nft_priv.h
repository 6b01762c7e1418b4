/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions of `sluice nft` that have a file of their own. */
#ifndef SLUICE_CLI_NFT_PRIV_H
#define SLUICE_CLI_NFT_PRIV_H

#include "sluice/config.h"
#include "sluice/firewall.h"

/* Exit codes of doctor, beside 0 for clean: those that look at a host are told by them. */
enum { EXIT_WARNINGS = 1, EXIT_BROKEN = 2, EXIT_NOT_JUDGED = 3 };

int nft_doctor(const struct config *config, const struct firewall_options *options, bool json);

#endif
