/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live ruleset of nf_tables, of all families and programs: read through netlink dumps, and never changed. libnftnl
 * parses the messages; a rule with an expression that libnftnl does not know is treated as conditional.
 *
 * Threads: one for each ruleset; reading needs CAP_NET_ADMIN.
 */
#ifndef SLUICE_NFTABLES_H
#define SLUICE_NFTABLES_H

#include "sluice/netrules.h"

/* Reads all tables, chains, rules, sets and flowtables into `ruleset`, all of the same generation; reads nothing if the
 * kernel has no nf_tables. Returns 0 or -errno: -EPERM, -EINTR when the ruleset changed during the read, -ENOMEM,
 * -E2BIG when the ruleset exceeds the memory limit. */
int nftables_read(struct netrules *ruleset);

/* Identifies a chain by family, table name and chain name. */
struct nftables_place {
    uint32_t family; /* NFPROTO_* */
    const char *table, *chain;
};
/* Reads tables, chains and rules into a new ruleset; with `place` only that chain, if it exists. Returns 0, or -errno
 * as nftables_read() with *out unchanged. */
int nftables_read_rules(struct netrules **out, const struct nftables_place *place);
/* Reads the generation, which counts the changes of the ruleset. Returns 0 or -errno. */
int nftables_read_generation(uint32_t *out);

/* Adds the object of one message: NFT_MSG_NEWTABLE, NEWCHAIN, NEWFLOWTABLE, NEWSET, NEWSETELEM, NEWRULE; `bytes` is a
 * message as the kernel sends it: aligned, with its netlink header, and with a NUL after each string. Objects of
 * unknown tables or chains are ignored. Returns 0, -ENOMEM or -E2BIG; -EBADMSG for other messages. */
int nftables_add_message(struct netrules *ruleset, const void *bytes, size_t length);

#endif
