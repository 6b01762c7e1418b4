/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sets of blocked hosts and networks in the sluice table, one of each for each IP version. The sets of hosts are
 * hash sets with a timeout and a counter for each element, and a size that limits the kernel's memory. The sets of
 * networks contain intervals, and are always replaced as a whole. As for rules (rule.c), one file writes both the nft
 * text and the netlink messages.
 */
#include "firewall_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <stdio.h> /* expr.h of libnftnl needs FILE */

#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

static const struct {
    const char *name, *type;
    uint32_t type_number, length; /* data type number of nft; length of an address in bytes */
    bool networks;
} sets[BLOCK_SETS] = {
    { SET_BLOCKED4, "ipv4_addr", 7, 4, false },
    { SET_BLOCKED6, "ipv6_addr", 8, 16, false },
    { SET_NETWORKS4, "ipv4_addr", 7, 4, true },
    { SET_NETWORKS6, "ipv6_addr", 8, 16, true },
};

const char *nft_set_name(unsigned index)
{
    return sets[index].name;
}

bool nft_set_fits(unsigned index, uint32_t family)
{
    return family != (index % 2 == 0 ? (uint32_t)NFPROTO_IPV6 : (uint32_t)NFPROTO_IPV4);
}

bool nft_is_block_set(const char *name, size_t length)
{
    for (unsigned i = 0; i < BLOCK_SETS; i++)
        if (strlen(sets[i].name) == length && memcmp(sets[i].name, name, length) == 0)
            return true;
    return false;
}

void nft_set_print(struct text *out, const char *indent, unsigned index, const struct plan *plan)
{
    if (!nft_set_fits(index, plan->families[0]))
        return;
    text_printf(out, "%sset %s {\n%s\ttype %s\n", indent, sets[index].name, indent, sets[index].type);
    if (sets[index].networks)
        text_printf(out, "%s\tflags interval\n", indent);
    else
        text_printf(out, "%s\tsize %u\n%s\tflags timeout\n%s\tcounter\n", indent, plan->options->blocklist_size, indent,
                    indent);
    text_printf(out, "%s}\n\n", indent);
}

static int put_set(struct batch *batch, uint16_t type, uint32_t family, unsigned index,
                   const struct firewall_options *options)
{
    struct nftnl_set *set = nftnl_set_alloc();
    const bool creates = type == NFT_MSG_NEWSET, has_counter = creates && !sets[index].networks;
    struct nftnl_expr *counter = set && has_counter ? nftnl_expr_alloc("counter") : NULL;
    struct nlmsghdr *message;

    if (!set || (has_counter && !counter)) {
        nftnl_set_free(set);
        return -ENOMEM;
    }
    nftnl_set_set_u32(set, NFTNL_SET_FAMILY, family);
    nftnl_set_set_str(set, NFTNL_SET_TABLE, options->table);
    nftnl_set_set_str(set, NFTNL_SET_NAME, sets[index].name);
    if (creates) {
        nftnl_set_set_u32(set, NFTNL_SET_ID, index + 1);
        nftnl_set_set_u32(set, NFTNL_SET_FLAGS, sets[index].networks ? NFT_SET_INTERVAL : NFT_SET_TIMEOUT);
        nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, sets[index].type_number);
        nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, sets[index].length);
    }
    if (counter) {
        nftnl_set_set_u32(set, NFTNL_SET_DESC_SIZE, options->blocklist_size);
        nftnl_set_add_expr(set, counter);
    }
    message = nft_batch_open(batch, SUBJECT_SET, type, (uint16_t)family, creates ? NLM_F_CREATE : 0);
    nftnl_set_nlmsg_build_payload(message, set);
    nft_batch_close(batch, message);
    nftnl_set_free(set);
    return 0;
}

int nft_build_sets(struct batch *batch, unsigned family_index, const struct plan *plan)
{
    uint32_t family = plan->families[family_index];
    int err = 0;

    for (unsigned i = 0; i < BLOCK_SETS && !err && plan->options->blocklist; i++)
        if (nft_set_fits(i, family) && !plan->has_set[family_index][i])
            err = put_set(batch, NFT_MSG_NEWSET, family, i, plan->options);
    return err;
}

int nft_build_set_removals(struct batch *batch, unsigned family_index, const struct plan *plan)
{
    int err = 0;

    for (unsigned i = 0; i < BLOCK_SETS && !err && !plan->options->blocklist; i++)
        if (plan->has_set[family_index][i])
            err = put_set(batch, NFT_MSG_DELSET, plan->families[family_index], i, plan->options);
    return err;
}

static int ignore(const struct nlmsghdr *message, void *user)
{
    (void)message;
    (void)user;
    return 0;
}

int nft_set_find(struct session *session, uint32_t family, const char *table, unsigned index)
{
    const struct session_query query = {
        .type = NFT_MSG_GETSET,
        .family = (uint16_t)family,
        .table = table,
        .name_attribute = NFTA_SET_NAME,
        .name = sets[index].name,
    };

    return nft_session_query(session, &query, ignore, NULL);
}
