/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluates the kernel's notifications of transactions by other programs and fills struct firewall_change: whether the
 * sluice table was changed, whether chains were deleted, and which filter chain was added on the wrong side of Sluice's
 * chain. All reads go through a checked cursor, so that malformed messages are harmless.
 *
 * Threads: no state except the caller's.
 */
#include "firewall_priv.h"
#include "image.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/netlink.h"

enum { TABLE_ATTRIBUTE = 1 }; /* the attribute with the name of the table; 1 for every kind of object */

static void copy_string(char *out, size_t size, struct cursor value)
{
    snprintf(out, size, "%.*s", (int)cursor_remaining(&value), (const char *)value.at);
}

static bool is_our_table(const struct notifications *notifications, struct cursor value)
{
    size_t length = strlen(notifications->options->table) + 1;

    return cursor_remaining(&value) == length && memcmp(value.at, notifications->options->table, length) == 0;
}

/* Called when all notifications of a transaction were received: adds the transaction to *out. */
static void end_transaction(const struct notifications *notifications, struct cursor attributes,
                            struct firewall_change *out)
{
    struct firewall_change *pending = notifications->pending;
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value)) {
        if (type == NFTA_GEN_PROC_PID && cursor_remaining(&value) == 4)
            pending->pid = load_be32(value.at);
        if (type == NFTA_GEN_PROC_NAME)
            copy_string(pending->process, sizeof(pending->process), value);
    }
    if (pending->ours || !out->ours) {
        out->pid = pending->pid;
        memcpy(out->process, pending->process, sizeof(out->process));
    }
    out->transactions++;
    out->generation = *notifications->generation;
    out->ours |= pending->ours;
    out->elements |= pending->elements;
    out->removals |= pending->removals;
    if (pending->intruder.found)
        out->intruder = pending->intruder;
    *pending = (struct firewall_change){ .transactions = 0 };
}

static void read_generation(struct cursor attributes, uint32_t *generation)
{
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value))
        if (type == NFTA_GEN_ID && cursor_remaining(&value) == 4)
            *generation = load_be32(value.at);
}

static bool read_hook(struct cursor nested, uint32_t *hook, int32_t *priority)
{
    unsigned found = 0;
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&nested, &type, &value)) {
        if (cursor_remaining(&value) != 4 || (type != NFTA_HOOK_HOOKNUM && type != NFTA_HOOK_PRIORITY))
            continue;
        if (type == NFTA_HOOK_HOOKNUM)
            *hook = load_be32(value.at);
        else
            *priority = (int32_t)load_be32(value.at);
        found |= 1u << type;
    }
    return found == (1u << NFTA_HOOK_HOOKNUM | 1u << NFTA_HOOK_PRIORITY);
}

/* Finds the priority of Sluice's chain on the hook, as installed. Returns false if there is none. */
static bool own_priority(const struct notifications *notifications, uint32_t hook, int32_t *priority)
{
    const struct text *chains = &notifications->image->parts[IMAGE_CHAINS];
    struct cursor left = cursor_of(chains->bytes, chains->length), value;
    const uint8_t *head;
    uint16_t type, length;
    uint32_t of = 0;

    while ((head = cursor_read(&left, 2 * sizeof(uint16_t)))) {
        memcpy(&type, head, sizeof(type));
        memcpy(&length, head + sizeof(type), sizeof(length));

        const uint8_t *bytes = cursor_read(&left, length);

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
    return cursor_remaining(&value) == sizeof("filter") && memcmp(value.at, "filter", sizeof("filter")) == 0;
}

/* Returns true if a chain of Sluice queues packets on the hook; chains of Sluice on other hooks only handle marks. */
static bool is_inspected_hook(const struct notifications *notifications, uint32_t hook)
{
    const char *name = nft_hook_name(hook);

    for (unsigned bit = 1; name && bit <= FIREWALL_OUTPUT; bit <<= 1) {
        if (notifications->options->hooks & bit && strcmp(firewall_hook_name(bit), name) == 0)
            return true;
    }
    return false;
}

/* Records the chain in the notification if it is a filter chain of another program on the wrong side of Sluice's
 * chain. */
static void check_chain(const struct notifications *notifications, uint32_t family, struct cursor attributes)
{
    struct firewall_misplaced_chain intruder = { .found = false };
    bool filter = false, hooked = false, ours = false;
    uint32_t hook = 0;
    int32_t own = 0;
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&attributes, &type, &value)) {
        if (type == NFTA_CHAIN_TABLE) {
            copy_string(intruder.table, sizeof(intruder.table), value);
            ours = is_our_table(notifications, value);
        }
        if (type == NFTA_CHAIN_NAME)
            copy_string(intruder.chain, sizeof(intruder.chain), value);
        if (type == NFTA_CHAIN_TYPE)
            filter = is_filter(value);
        if (type == NFTA_CHAIN_HOOK)
            hooked = read_hook(value, &hook, &intruder.priority);
    }
    if (!filter || !hooked || ours || !is_inspected_hook(notifications, hook) ||
        !own_priority(notifications, hook, &own) ||
        !nft_is_misplaced(notifications->options, family, hook, intruder.priority, own))
        return;
    intruder.found = true;
    intruder.family = nft_family_name(family);
    intruder.hook = nft_hook_name(hook);
    notifications->pending->intruder = intruder;
}

static void read_object(const struct notifications *notifications, unsigned kind, struct cursor attributes)
{
    struct firewall_change *pending = notifications->pending;
    struct cursor value;
    uint16_t type;

    pending->removals |= kind == NFT_MSG_DELCHAIN || kind == NFT_MSG_DELTABLE;
    while (netlink_read_attribute(&attributes, &type, &value)) {
        if (type != TABLE_ATTRIBUTE || !is_our_table(notifications, value))
            continue;
        if (kind == NFT_MSG_NEWSETELEM || kind == NFT_MSG_DELSETELEM)
            pending->elements = true;
        else
            pending->ours = true;
    }
}

static void read_notification(const struct notifications *notifications, const struct nlmsghdr *message,
                              const uint8_t *bytes, size_t length, struct firewall_change *out)
{
    size_t head = MNL_ALIGN(sizeof(struct nfgenmsg));
    unsigned kind = message->nlmsg_type & 0xff;

    if (message->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES || length < head)
        return;

    struct cursor attributes = cursor_of(bytes + head, length - head);

    if (kind == NFT_MSG_NEWGEN)
        read_generation(attributes, notifications->generation);
    if (message->nlmsg_pid == notifications->own_port)
        return;
    if (kind == NFT_MSG_NEWGEN) {
        end_transaction(notifications, attributes, out);
        return;
    }
    read_object(notifications, kind, attributes);
    if (kind == NFT_MSG_NEWCHAIN)
        check_chain(notifications, bytes[0], attributes);
}

void nft_read_notifications(const struct notifications *notifications, const uint8_t *bytes, size_t length,
                            struct firewall_change *out)
{
    struct cursor left = cursor_of(bytes, length);

    while (cursor_remaining(&left) > 0) {
        struct nlmsghdr message;
        const uint8_t *head = cursor_read(&left, sizeof(message)), *payload;

        if (!head)
            return;
        memcpy(&message, head, sizeof(message));
        if (message.nlmsg_len < sizeof(message))
            return;

        size_t size = message.nlmsg_len - sizeof(message);

        payload = cursor_read(&left, size);
        if (!payload)
            return;
        read_notification(notifications, &message, payload, size, out);
        if (!cursor_skip(&left, NLMSG_ALIGN(size) - size))
            return;
    }
}
