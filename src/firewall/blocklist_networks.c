/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces the sets of blocked networks. The kernel keeps an interval as two elements: its first address, and the
 * address behind its last one with the flag of an end. All elements are sent in one transaction with the removal of the
 * old ones, so that no packet passes in between.
 */
#include "firewall_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>

enum {
    RANGES_PER_MESSAGE = 900, /* maximum of ranges in a message, because the length of an attribute has 16 bits */
    RANGE_BYTES = 64,
    MESSAGE_OVERHEAD = 256,
};

static void put_element(struct nlmsghdr *message, wide number, int version, bool is_end)
{
    const struct address address = address_from_number(number, version);
    struct nlattr *element = mnl_attr_nest_start(message, NFTA_LIST_ELEM), *key;

    if (is_end)
        mnl_attr_put_u32(message, NFTA_SET_ELEM_FLAGS, htonl(NFT_SET_ELEM_INTERVAL_END));
    key = mnl_attr_nest_start(message, NFTA_SET_ELEM_KEY);
    mnl_attr_put(message, NFTA_DATA_VALUE, version == 4 ? 4 : 16, address.bytes);
    mnl_attr_nest_end(message, key);
    mnl_attr_nest_end(message, element);
}

/* Adds the messages that replace the elements of one set. */
static void put_networks(struct batch *batch, uint32_t family, const char *table, unsigned index,
                         const struct range_list *networks)
{
    const int version = index == 0 ? 4 : 6;
    struct nlmsghdr *message = nft_batch_open(batch, SUBJECT_ELEMENT, NFT_MSG_DELSETELEM, (uint16_t)family, 0);

    /* Without elements, a deletion applies to all elements. */
    mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_TABLE, table);
    mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, nft_set_name(2 + index));
    nft_batch_close(batch, message);
    for (size_t at = 0; at < networks->count;) {
        struct nlattr *list;

        message = nft_batch_open(batch, SUBJECT_ELEMENT, NFT_MSG_NEWSETELEM, (uint16_t)family, NLM_F_CREATE);
        mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_TABLE, table);
        mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, nft_set_name(2 + index));
        list = mnl_attr_nest_start(message, NFTA_SET_ELEM_LIST_ELEMENTS);
        if (at == 0 && networks->range[0].low > 0) /* as nft: an end element at 0, because 0 is not blocked */
            put_element(message, 0, version, true);
        for (size_t end = at + RANGES_PER_MESSAGE; at < networks->count && at < end; at++) {
            const struct range *range = &networks->range[at];

            put_element(message, range->low, version, false);
            if (range->high < address_highest(version))
                put_element(message, range->high + 1, version, true);
        }
        mnl_attr_nest_end(message, list);
        nft_batch_close(batch, message);
    }
}

int nft_networks_replace(struct session *session, const struct set_targets *targets,
                         const struct range_list networks[2], enum subject *subject)
{
    struct batch *batch;
    size_t bytes = 0;
    int err;

    for (unsigned i = 0; i < 2; i++)
        bytes += targets->count[i] * ((networks[i].count / RANGES_PER_MESSAGE + 3) * MESSAGE_OVERHEAD +
                                      (networks[i].count + 1) * RANGE_BYTES);
    *subject = SUBJECT_BATCH;
    batch = nft_batch_new_larger(session, bytes);
    if (!batch)
        return -ENOMEM;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned t = 0; t < targets->count[i]; t++)
            put_networks(batch, targets->families[i][t], targets->table, i, &networks[i]);
    err = nft_batch_send(session, batch, true, subject);
    nft_batch_free(batch);
    return err;
}
