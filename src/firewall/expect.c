/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The expected table, as the messages that would install it. A caller can compare it with the live ruleset without
 * knowing how the rules are built. */
#include "firewall_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

bool firewall_is_sluice_table(const char *comment, enum attach_mode *mode)
{
    return comment && nft_comment_parse(comment, mode);
}

int firewall_expect(const struct firewall_options *options, bool split,
                    int (*each)(void *user, const void *bytes, size_t length), void *user)
{
    struct session nobody = { .socket = NULL }; /* without a socket: the batch is not sent */
    struct batch *batch = nft_batch_new(&nobody, 0);
    struct plan plan;
    int err = batch ? 0 : -ENOMEM;

    if (!err) {
        nft_plan_make(&plan, options, NULL);
        if (split && options->family == FIREWALL_INET)
            nft_plan_split(&plan);
        err = nft_build_tables(batch, &plan);
    }
    const struct nlmsghdr *message = err ? NULL : (const struct nlmsghdr *)batch->bytes;
    int left = err ? 0 : (int)batch->length;

    for (; !err && mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
        switch (message->nlmsg_type) {
        case NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE:
        case NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN:
        case NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE:
            err = each(user, message, message->nlmsg_len);
            break;
        default: /* callers compare no other objects (sets, counters, flowtable), and no deletion of a previous table */
            break;
        }
    }
    nft_batch_free(batch);
    return err;
}
