/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of xtables: the legacy tables of iptables and ip6tables, and the matches and targets that iptables-nft puts
 * into rules of nf_tables. No library decodes them: libiptc returns the kernel's structures, and libxtables prints
 * text.
 *
 * Threads: one for each ruleset; reading needs CAP_NET_ADMIN.
 */
#ifndef SLUICE_XTABLES_H
#define SLUICE_XTABLES_H

#include "sluice/bytes.h"
#include "sluice/netrules.h"

/* Adds the legacy tables of iptables and ip6tables that the kernel has loaded. Returns 0 or -errno: -EPERM, -EAGAIN
 * when another process keeps changing a table, -ENOMEM, -E2BIG when the ruleset exceeds the memory limit. */
int xtables_read(struct netrules *ruleset);

/* Adds a table of ip_tables or ip6_tables, from the results of IPT_SO_GET_INFO (struct ipt_getinfo) and
 * IPT_SO_GET_ENTRIES (only the entries). Returns 0, or -errno as xtables_read(); -EBADMSG when `info` is too short. */
int xtables_add_table(struct netrules *ruleset, bool ipv6, const void *info, size_t info_length, const void *entries,
                      size_t length);

/* Adds a match or target to a rule: decodes its properties if they matter to a queue, and appends it to the rule's text
 * in the syntax of iptables. The text of an unknown match is "-m NAME ...", without its values. `data` is the kernel's
 * structure for this name and revision. */
void xtables_add_match(struct netrules_builder *builder, const char *name, uint32_t revision, struct cursor data);
void xtables_add_target(struct netrules_builder *builder, const char *name, uint32_t revision, struct cursor data);

#endif
