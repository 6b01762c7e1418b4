/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluates the kernel's notifications of transactions by other programs and fills struct firewall_change: whether the
 * sluice table was changed, whether chains were deleted, and which filter chain was added on the wrong side of
 * Sluice's. All reads go through a checked cursor, so that any bytes are safe.
 *
 * Threads: no state except the caller's.
 */
#include "firewall_priv.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/netlink.h"

enum { TABLE_ATTRIBUTE = 1 }; /* of every kind of object */

static void copy_string(char *out, size_t size, struct cursor value)
{
    snprintf(out, size, "%.*s", (int)cursor_left(&value), (const char *)value.at);
}

static bool is_our_table(const struct hearing *hearing, struct cursor value)
{
    size_t length = strlen(hearing->options->table) + 1;

    return cursor_left(&value) == length && memcmp(value.at, hearing->options->table, length) == 0;
}

/* Completes a transaction: all its notifications were received. */
static void end_transaction(const struct hearing *hearing, struct cursor attributes, struct firewall_change *out)
{
    struct firewall_change *heard = hearing->heard;
    struct cursor value;
    uint16_t type;

    while (netlink_take(&attributes, &type, &value)) {
        if (type == NFTA_GEN_PROC_PID && cursor_left(&value) == 4)
            heard->pid = load_be32(value.at);
        if (type == NFTA_GEN_PROC_NAME)
            copy_string(heard->process, sizeof(heard->process), value);
    }
    if (heard->ours || !out->ours) {
        out->pid = heard->pid;
        memcpy(out->process, heard->process, sizeof(out->process));
    }
    out->transactions++;
    out->generation = *hearing->generation;
    out->ours |= heard->ours;
    out->elements |= heard->elements;
    out->removals |= heard->removals;
    if (heard->intruder.found)
        out->intruder = heard->intruder;
    *heard = (struct firewall_change){ .transactions = 0 };
}

static void read_generation(struct cursor attributes, uint32_t *generation)
{
    struct cursor value;
    uint16_t type;

    while (netlink_take(&attributes, &type, &value))
        if (type == NFTA_GEN_ID && cursor_left(&value) == 4)
            *generation = load_be32(value.at);
}

static bool read_hook(struct cursor nested, uint32_t *hook, int32_t *priority)
{
    unsigned found = 0;
    struct cursor value;
    uint16_t type;

    while (netlink_take(&nested, &type, &value)) {
        if (cursor_left(&value) != 4 || (type != NFTA_HOOK_HOOKNUM && type != NFTA_HOOK_PRIORITY))
            continue;
        if (type == NFTA_HOOK_HOOKNUM)
            *hook = load_be32(value.at);
        else
            *priority = (int32_t)load_be32(value.at);
        found |= 1u << type;
    }
    return found == (1u << NFTA_HOOK_HOOKNUM | 1u << NFTA_HOOK_PRIORITY);
}

/* Returns the priority of Sluice's chain on a hook, from the image. */
static bool own_priority(const struct hearing *hearing, uint32_t hook, int32_t *priority)
{
    const struct text *chains = &hearing->image->parts[IMAGE_CHAINS];
    struct cursor left = cursor_of(chains->bytes, chains->length), value;
    const uint8_t *head;
    uint16_t type, length;
    uint32_t of = 0;

    while ((head = cursor_take(&left, 2 * sizeof(uint16_t)))) {
        memcpy(&type, head, sizeof(type));
        memcpy(&length, head + sizeof(type), sizeof(length));

        const uint8_t *bytes = cursor_take(&left, length);

        if (!bytes)
            break;
        value = cursor_of(bytes, length);
        if (type == NFTA_CHAIN_HOOK && read_hook(value, &of, priority) && of == hook)
            return true;
    }
    return false;
}

static bool is_filter(struct cursor value)
{
    return cursor_left(&value) == sizeof("filter") && memcmp(value.at, "filter", sizeof("filter")) == 0;
}

/* Whether packets are queued on the hook; other chains of Sluice only clear a mark. */
static bool is_inspected_hook(const struct hearing *hearing, uint32_t hook)
{
    const char *name = nft_hook_name(hook);

    for (unsigned bit = 1; name && bit <= FIREWALL_OUTPUT; bit <<= 1) {
        if (hearing->options->hooks & bit && strcmp(firewall_hook_name(bit), name) == 0)
            return true;
    }
    return false;
}

/* Records a filter chain of another program that is on the wrong side of Sluice's chain. */
static void look_at_chain(const struct hearing *hearing, uint32_t family, struct cursor attributes)
{
    struct firewall_intruder intruder = { .found = false };
    bool filter = false, hooked = false, ours = false;
    uint32_t hook = 0;
    int32_t own = 0;
    struct cursor value;
    uint16_t type;

    while (netlink_take(&attributes, &type, &value)) {
        if (type == NFTA_CHAIN_TABLE) {
            copy_string(intruder.table, sizeof(intruder.table), value);
            ours = is_our_table(hearing, value);
        }
        if (type == NFTA_CHAIN_NAME)
            copy_string(intruder.chain, sizeof(intruder.chain), value);
        if (type == NFTA_CHAIN_TYPE)
            filter = is_filter(value);
        if (type == NFTA_CHAIN_HOOK)
            hooked = read_hook(value, &hook, &intruder.priority);
    }
    if (!filter || !hooked || ours || !is_inspected_hook(hearing, hook) || !own_priority(hearing, hook, &own) ||
        !nft_is_in_the_way(hearing->options, family, hook, intruder.priority, own))
        return;
    intruder.found = true;
    intruder.family = nft_family_name(family);
    intruder.hook = nft_hook_name(hook);
    hearing->heard->intruder = intruder;
}

static void hear_object(const struct hearing *hearing, unsigned kind, struct cursor attributes)
{
    struct firewall_change *heard = hearing->heard;
    struct cursor value;
    uint16_t type;

    heard->removals |= kind == NFT_MSG_DELCHAIN || kind == NFT_MSG_DELTABLE;
    while (netlink_take(&attributes, &type, &value)) {
        if (type != TABLE_ATTRIBUTE || !is_our_table(hearing, value))
            continue;
        if (kind == NFT_MSG_NEWSETELEM || kind == NFT_MSG_DELSETELEM)
            heard->elements = true;
        else
            heard->ours = true;
    }
}

static void hear(const struct hearing *hearing, const struct nlmsghdr *message, const uint8_t *bytes, size_t length,
                 struct firewall_change *out)
{
    size_t head = MNL_ALIGN(sizeof(struct nfgenmsg));
    unsigned kind = message->nlmsg_type & 0xff;

    if (message->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES || length < head)
        return;

    struct cursor attributes = cursor_of(bytes + head, length - head);

    if (kind == NFT_MSG_NEWGEN)
        read_generation(attributes, hearing->generation);
    if (message->nlmsg_pid == hearing->own_port)
        return;
    if (kind == NFT_MSG_NEWGEN) {
        end_transaction(hearing, attributes, out);
        return;
    }
    hear_object(hearing, kind, attributes);
    if (kind == NFT_MSG_NEWCHAIN)
        look_at_chain(hearing, bytes[0], attributes);
}

void nft_hear(const struct hearing *hearing, const uint8_t *bytes, size_t length, struct firewall_change *out)
{
    struct cursor left = cursor_of(bytes, length);

    while (cursor_left(&left) > 0) {
        struct nlmsghdr message;
        const uint8_t *head = cursor_take(&left, sizeof(message)), *payload;

        if (!head)
            return;
        memcpy(&message, head, sizeof(message));
        if (message.nlmsg_len < sizeof(message))
            return;

        size_t size = message.nlmsg_len - sizeof(message);

        payload = cursor_take(&left, size);
        if (!payload)
            return;
        hear(hearing, &message, payload, size, out);
        if (!cursor_skip(&left, NLMSG_ALIGN(size) - size))
            return;
    }
}
