/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of addresses: `any`, one address, CIDR, address/netmask, ranges a-b, groups, negation, variables. As in Suricata
 * each family is evaluated separately: negated addresses are subtracted from the other addresses of the set, or, if the
 * set has only negated addresses of the family, from the whole family. So `!10.0.0.0/8` matches IPv4 addresses only,
 * and `[any, !10.0.0.0/8]` also matches all IPv6 addresses.
 */
#include <errno.h>
#include <string.h>

#include "rule_priv.h"
#include "sluice/bytes.h"

enum family { IPV4, IPV6 };

static const wide max_address[2] = { UINT32_MAX, ~(wide)0 };

struct address_parts {
    struct range_list in[2], out[2]; /* addresses of positive and of negated parts; indexed by enum family */
};

static int address_item(struct set_walk *walk, struct span item, bool negated)
{
    struct address_parts *parts = walk->user;
    struct range_list *lists = negated ? parts->out : parts->in;
    struct range range;
    int version;

    if (span_equal_nocase(item, "any")) {
        int err = range_list_add(&lists[IPV4], 0, max_address[IPV4]);

        return err ? err : range_list_add(&lists[IPV6], 0, max_address[IPV6]);
    }
    version = address_range_parse(item, &range);
    if (version < 0)
        return set_walk_error(walk, item, "'" SPAN_FORMAT "' is not an address, network or address range",
                              SPAN_ARGS(span_shown(item)));
    if (range.low > range.high)
        return set_walk_error(walk, item, "the range " SPAN_FORMAT " is upside down: its end is before its start",
                              SPAN_ARGS(span_shown(item)));
    return range_list_add(&lists[version == 6 ? IPV6 : IPV4], range.low, range.high);
}

static int merge(struct set_walk *walk, struct span text)
{
    struct address_parts *parts = walk->user;
    int err = 0;

    for (int family = IPV4; family <= IPV6 && !err; family++) {
        struct range_list *in = &parts->in[family], *out = &parts->out[family];

        range_list_normalise(out);
        if (family == IPV4 && range_list_is(out, 0, max_address[IPV4]))
            return rule_parser_error(walk->parser, text, "all addresses are negated");
        if (in->count == 0 && out->count > 0)
            err = range_list_add(in, 0, max_address[family]);
        if (err)
            break;
        range_list_normalise(in);
        err = range_list_subtract(in, out);
    }
    if (!err && parts->in[IPV4].count + parts->in[IPV6].count == 0)
        return rule_parser_error(walk->parser, text, "no address is left: the negated ones cover all others");
    return err;
}

static void *make_set(struct set_walk *walk, const char *text)
{
    const struct range_list *lists = ((struct address_parts *)walk->user)->in;
    struct arena *arena = walk->parser->list->arena;
    struct address_set *set = arena_alloc(arena, sizeof(*set));
    struct address_range4 *range4 = arena_alloc(arena, lists[IPV4].count * sizeof(*range4));
    struct address_range6 *range6 = arena_alloc(arena, lists[IPV6].count * sizeof(*range6));

    if (!set || !range4 || !range6)
        return NULL;
    for (size_t i = 0; i < lists[IPV4].count; i++) {
        const struct range *range = &lists[IPV4].range[i];

        range4[i] = (struct address_range4){ (uint32_t)range->low, (uint32_t)range->high };
    }
    for (size_t i = 0; i < lists[IPV6].count; i++) {
        const struct range *range = &lists[IPV6].range[i];

        range6[i] = (struct address_range6){ address_from_number(range->low, 6), address_from_number(range->high, 6) };
    }
    *set = (struct address_set){
        .any = range_list_is(&lists[IPV4], 0, max_address[IPV4]) && range_list_is(&lists[IPV6], 0, max_address[IPV6]),
        .count4 = (uint32_t)lists[IPV4].count,
        .count6 = (uint32_t)lists[IPV6].count,
        .range4 = range4,
        .range6 = range6,
        .text = text,
    };
    return set;
}

const struct address_set *rule_parser_addresses(struct rule_parser *parser, struct span text)
{
    struct address_parts parts = { 0 };
    struct set_walk walk = {
        .parser = parser,
        .kind = VARIABLE_ADDRESS,
        .double_negation = true,
        .item = address_item,
        .merge = merge,
        .make = make_set,
        .user = &parts,
    };
    const struct address_set *set = set_cache_get(&parser->list->address_sets, &walk, text);

    for (int family = IPV4; family <= IPV6; family++) {
        range_list_clear(&parts.in[family]);
        range_list_clear(&parts.out[family]);
    }
    return set;
}

static bool has4(const struct address_set *set, uint32_t address)
{
    uint32_t low = 0, high = set->count4;

    while (low < high) { /* the first range that ends at or after the address */
        uint32_t middle = low + (high - low) / 2;

        if (set->range4[middle].high < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count4 && set->range4[low].low <= address;
}

static bool has6(const struct address_set *set, const struct address *address)
{
    uint32_t low = 0, high = set->count6;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (memcmp(&set->range6[middle].high, address, sizeof(*address)) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count6 && memcmp(&set->range6[low].low, address, sizeof(*address)) <= 0;
}

bool address_set_has(const struct address_set *set, int ip_version, const struct address *address)
{
    if (set->any)
        return true;
    if (ip_version == 4)
        return has4(set, load_be32(address->bytes));
    return ip_version == 6 && has6(set, address);
}
