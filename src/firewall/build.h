/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages that install a plan: functions that add them to a transaction (session.h), which the kernel applies as a
 * whole or not at all.
 */
#ifndef SLUICE_FIREWALL_BUILD_H
#define SLUICE_FIREWALL_BUILD_H

#include <stdint.h>

#include "plan.h"
#include "session.h"

int nft_build_delete_table(struct batch *batch, uint32_t family, const char *table);
/* Adds messages that replace the tables, whether they exist or not: create, delete, create. Returns 0 or -errno. */
int nft_build_tables(struct batch *batch, const struct plan *plan);
/* Adds messages that replace the rules of the plan's chains, which must exist in the kernel. Returns 0 or -errno. */
int nft_build_rule_replacement(struct batch *batch, const struct plan *plan);
int nft_build_flush_chain(struct batch *batch, uint32_t family, const char *table, const char *chain);
int nft_build_rule(struct batch *batch, uint32_t family, const char *chain, enum plan_rule kind,
                   const struct plan *plan);
/* Adds messages for a table of another name with one chain without a hook, to validate the queue rule without changing
 * the ruleset. Returns 0 or -errno. */
int nft_build_probe(struct batch *batch, const struct plan *plan);

#endif
