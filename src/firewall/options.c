/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the firewall module: names, defaults, reading them from the configuration, and checks for
 * contradictions. */
#include "firewall_priv.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sluice/config.h"

enum { TABLE_NAME_LENGTH = 32 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const mode_names[] = {
    [ATTACH_NONE] = "none",     [ATTACH_AFTER] = "after", [ATTACH_BEFORE] = "before",
    [ATTACH_REPEAT] = "repeat", [ATTACH_CHAIN] = "chain", [ATTACH_ROUTE] = "route",
};
static const char *const family_names[] = {
    [FIREWALL_INET] = "inet",
    [FIREWALL_IPV4] = "ip",
    [FIREWALL_IPV6] = "ip6",
    [FIREWALL_BRIDGE] = "bridge",
};
static const char *const hook_names[FIREWALL_HOOK_COUNT] = { "forward", "input", "output" };
static const char *const expression_names[] = {
    [QUEUE_EXPRESSION_AUTO] = "auto",
    [QUEUE_EXPRESSION_NATIVE] = "native",
    [QUEUE_EXPRESSION_XT] = "xt",
};

/* Returns the index of the name in `names`, or -1. */
static int find_name(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

enum attach_mode firewall_mode_find(const char *name, bool *found)
{
    int at = find_name(name, mode_names, COUNT(mode_names));

    *found = at >= 0;
    return at >= 0 ? (enum attach_mode)at : ATTACH_NONE;
}

const char *firewall_mode_name(enum attach_mode mode)
{
    return mode_names[mode];
}

const char *firewall_family_name(enum firewall_family family)
{
    return family_names[family];
}

const char *firewall_hook_name(enum firewall_hook hook)
{
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++)
        if (hook == 1u << i)
            return hook_names[i];
    return "?";
}

const char *firewall_expression_name(enum queue_expression expression)
{
    return expression_names[expression];
}

const char *nft_hook_name(uint32_t hook)
{
    switch (hook) {
    case NF_INET_LOCAL_IN:
        return "input";
    case NF_INET_LOCAL_OUT:
        return "output";
    case NF_INET_POST_ROUTING:
        return "postrouting";
    case NF_INET_FORWARD:
        return "forward";
    default:
        return NULL;
    }
}

const char *nft_family_name(uint32_t family)
{
    switch (family) {
    case NFPROTO_IPV4:
        return "ip";
    case NFPROTO_IPV6:
        return "ip6";
    case NFPROTO_BRIDGE:
        return "bridge";
    case NFPROTO_INET:
        return "inet";
    default:
        return "?";
    }
}

int nft_fail(char error[FIREWALL_ERROR_SIZE], int err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, FIREWALL_ERROR_SIZE, format, args);
    va_end(args);
    return err;
}

/* --- Configuration ---------------------------------------------------------------------------------- */

void firewall_settings_read(const struct config *config, struct firewall_settings *out)
{
    enum { ACCEPTED = 1, DROPPED = 2 };
    struct firewall_options *options = &out->options;

    *out = (struct firewall_settings){ .never_blocked = NULL };
    config_fill(config, firewall_settings, NULL, out);
    options->hooks = 0;
    for (const char *const *hook = out->hooks; *hook; hook++) {
        int at = find_name(*hook, hook_names, FIREWALL_HOOK_COUNT);

        options->hooks |= at >= 0 ? 1u << at : 0;
    }
    options->offload.accept = out->offload_flows & ACCEPTED;
    options->offload.drop = out->offload_flows & DROPPED;
    options->offload.acknowledge = out->acknowledgments == ACKNOWLEDGMENTS_AUTO;
    options->offload.saves = out->offload_verdict != OFFLOAD_BY_CONNECTION;
}

/* --- Contradictions --------------------------------------------------------------------------------- */

static int check_offload_mark(const char *name, uint32_t mark, uint32_t mask, char error[FIREWALL_ERROR_SIZE])
{
    if (mark == 0 || mark & ~mask)
        return nft_fail(error, -EINVAL, "%s 0x%x/0x%x is 0, or has bits outside its mask", name, mark, mask);
    return 0;
}

int nft_check_options(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const struct firewall_offload *offload = &options->offload;
    const char *table = options->table ? options->table : "";
    size_t length = strlen(table);
    int err = 0;

    if (length == 0 || length > TABLE_NAME_LENGTH || !memchr(letters, table[0], sizeof(letters) - 1) ||
        strspn(table, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != length)
        return nft_fail(
            error, -EINVAL,
            "'%s' is not a valid table name: a letter, then letters, digits, _, . and -, at most %d characters", table,
            TABLE_NAME_LENGTH);
    if (options->mode == ATTACH_NONE)
        return nft_fail(error, -EINVAL, "no mode: choose --mode after, before, repeat, chain or route (nft.attach)");
    if (options->queue_first > options->queue_last)
        return nft_fail(error, -EINVAL, "queues %u-%u: the range is empty", (unsigned)options->queue_first,
                        (unsigned)options->queue_last);
    if (options->hooks == 0 && options->mode != ATTACH_CHAIN)
        return nft_fail(error, -EINVAL, "no hook: choose --hook forward, input or output (nft.hooks)");
    if (options->reject_mark & ~options->reject_mask)
        return nft_fail(error, -EINVAL, "the mark 0x%x has bits outside its mask 0x%x (nft.reject-mark)",
                        options->reject_mark, options->reject_mask);
    if (options->mode == ATTACH_REPEAT) {
        if (options->mark_mask == 0)
            return nft_fail(error, -EINVAL, "mode repeat needs a mark: --mark MARK/MASK, such as 0x1/0x1 (queue.mark)");
        if (options->mark & ~options->mark_mask)
            return nft_fail(error, -EINVAL, "the mark 0x%x has bits outside its mask 0x%x (queue.mark)", options->mark,
                            options->mark_mask);
        if (options->mark == 0)
            return nft_fail(
                error, -EINVAL,
                "the mark is 0 under its mask (queue.mark): accepted packets would be queued again in a loop");
        if (options->mark_mask & options->reject_mask)
            return nft_fail(error, -EINVAL,
                            "the mask 0x%x of queue.mark shares bits with the mask 0x%x of nft.reject-mark",
                            options->mark_mask, options->reject_mask);
    }
    /* The bits of nft.offload are used in connection marks, and for a short time in packet marks. */
    const uint32_t ours = (offload->accept ? offload->accept_mask : 0) | (offload->drop ? offload->drop_mask : 0);
    const uint32_t own_acknowledge = offload->acknowledge ? offload->acknowledge_mask : 0;
    const uint32_t others = options->reject_mask | (options->mode == ATTACH_REPEAT ? options->mark_mask : 0);

    if (offload->accept)
        err = check_offload_mark("nft.offload.accept-mark", offload->accept_mark, offload->accept_mask, error);
    if (!err && offload->drop)
        err = check_offload_mark("nft.offload.drop-mark", offload->drop_mark, offload->drop_mask, error);
    if (!err && offload->acknowledge)
        err = check_offload_mark("nft.offload.acknowledgment-mark", offload->acknowledge_mark,
                                 offload->acknowledge_mask, error);
    if (err)
        return err;
    if (ours & own_acknowledge)
        return nft_fail(error, -EINVAL,
                        "nft.offload.acknowledgment-mark shares bits with nft.offload.accept-mark or "
                        "nft.offload.drop-mark: 0x%x",
                        ours & own_acknowledge);
    if (offload->accept && offload->drop && offload->accept_mask & offload->drop_mask)
        return nft_fail(error, -EINVAL, "nft.offload.accept-mark and nft.offload.drop-mark share bits: 0x%x",
                        offload->accept_mask & offload->drop_mask);
    if (offload->saves && ours & others)
        return nft_fail(error, -EINVAL, "the marks of nft.offload share bits with queue.mark or nft.reject-mark: 0x%x",
                        ours & others);
    if ((offload->accept || offload->acknowledge) && options->mode == ATTACH_ROUTE && !offload->has_next)
        return nft_fail(error, -EINVAL,
                        "mode route: set queue.route-to to the queue of packets that the kernel accepts "
                        "(nft.offload.flows, nft.offload.acknowledgments)");
    return 0;
}
