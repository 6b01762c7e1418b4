/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions of `sluice nft` that have a file of their own. */
#ifndef SLUICE_CLI_NFT_PRIV_H
#define SLUICE_CLI_NFT_PRIV_H

#include "sluice/config.h"
#include "sluice/firewall.h"

/* Exit codes of doctor: the worst finding is a warning, or the ruleset is broken, or it could not be read; 0: no
 * problem was found. */
enum { EXIT_WARNINGS = 1, EXIT_BROKEN = 2, EXIT_UNREADABLE = 3 };

/* Reads the active ruleset and prints the doctor's findings. Returns an exit code: 0 or one of the above. */
int nft_doctor(const struct config *config, const struct firewall_options *options, bool json);

#endif
