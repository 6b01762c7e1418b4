/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of a plan as netlink messages, in nft syntax, and as arguments of iptables-restore.
 */
#ifndef SLUICE_FIREWALL_RULE_H
#define SLUICE_FIREWALL_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/text.h"

#include "plan.h"

struct nftnl_rule;

/* Adds the expressions of the rule. Returns 0 or -ENOMEM. */
int nft_rule_build(struct nftnl_rule *rule, enum plan_rule kind, const struct plan *plan);
void nft_rule_print(struct text *out, enum plan_rule kind, const struct plan *plan);
/* Prints the rule as arguments of iptables-restore. Returns false when iptables has no such rule. */
bool nft_rule_print_iptables(struct text *out, enum plan_rule kind, const struct plan *plan);

/* Whether tables of that family contain the rule: rules for blocked hosts are for one IP version. */
bool nft_rule_fits(enum plan_rule kind, uint32_t family);

#endif
