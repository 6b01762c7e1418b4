/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Actions of `sluice nft` that have a file of their own. */
#ifndef SLUICE_CLI_NFT_PRIV_H
#define SLUICE_CLI_NFT_PRIV_H

#include "sluice/config.h"
#include "sluice/firewall.h"

/* Exit codes of doctor. EXIT_WARNINGS: the worst finding is a warning. EXIT_BROKEN: a finding says that the ruleset is
 * broken. EXIT_UNREADABLE: the ruleset or the configuration could not be read. */
enum { EXIT_WARNINGS = 1, EXIT_BROKEN = 2, EXIT_UNREADABLE = 3 };

/* Reads the active ruleset and prints the doctor's findings. Returns an exit code: 0 or one of the above. */
int nft_doctor(const struct config *config, const struct firewall_options *options, bool json);

#endif
