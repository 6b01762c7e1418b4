/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of ports: `any`, 80, 1024:2000, 1024:, :1023, groups, negation, variables. Negated ports are subtracted from the
 * other ports of the set, or, if the set has only negated ports, from all ports.
 */
#include <errno.h>
#include <string.h>

#include "rule_priv.h"

enum { MAX_PORT = 65535 };

struct port_parts {
    struct range_list in, out;
};

static bool to_port(struct span text, uint64_t when_empty, uint64_t *out)
{
    text = span_trim(text);
    if (text.length == 0) {
        *out = when_empty;
        return true;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    }
    return span_to_uint(text, 0, MAX_PORT, out);
}

static int port_item(struct set_walk *walk, struct span item, bool negated)
{
    struct port_parts *parts = walk->user;
    struct range_list *list = negated ? &parts->out : &parts->in;
    const char *colon = memchr(item.at, ':', item.length);
    struct span low_text = item, high_text = item;
    uint64_t low, high;

    if (span_equal_nocase(item, "any"))
        return range_list_add(list, 0, MAX_PORT);
    if (colon) {
        low_text.length = (size_t)(colon - item.at);
        high_text = (struct span){ .at = colon + 1, .length = item.length - low_text.length - 1 };
    }
    if (memchr(item.at, '!', item.length))
        return set_walk_error(walk, item, "a range can't have a '!' inside");
    if ((colon && item.length == 1) || !to_port(low_text, 0, &low) || !to_port(high_text, MAX_PORT, &high))
        return set_walk_error(walk, item, "'" SPAN_FORMAT "' is not a port or port range (0 to 65535)",
                              SPAN_ARGS(span_shown(item)));
    if (low > high)
        return set_walk_error(walk, item, "the range " SPAN_FORMAT " is upside down: its end is before its start",
                              SPAN_ARGS(item));
    return range_list_add(list, low, high);
}

static void *make_set(struct set_walk *walk, const char *text)
{
    const struct range_list *list = &((struct port_parts *)walk->user)->in;
    struct arena *arena = walk->parser->list->arena;
    struct port_set *set = arena_alloc(arena, sizeof(*set));
    struct port_range *range = arena_alloc(arena, list->count * sizeof(*range));

    if (!set || !range)
        return NULL;
    for (size_t i = 0; i < list->count; i++)
        range[i] = (struct port_range){ (uint16_t)list->range[i].low, (uint16_t)list->range[i].high };
    *set = (struct port_set){
        .any = range_list_is(list, 0, MAX_PORT),
        .count = (uint32_t)list->count,
        .range = range,
        .text = text,
    };
    return set;
}

/* Subtracts the negated ports (`out`) from the others (`in`). Returns 0, or -errno after an error was reported if no
 * port is left. */
static int merge(struct set_walk *walk, struct span text)
{
    struct port_parts *parts = walk->user;
    int err = 0;

    range_list_normalise(&parts->out);
    if (range_list_is(&parts->out, 0, MAX_PORT))
        return rule_parser_error(walk->parser, text, "all ports are negated");
    if (parts->in.count == 0)
        err = range_list_add(&parts->in, 0, MAX_PORT);
    if (err)
        return err;
    range_list_normalise(&parts->in);
    err = range_list_subtract(&parts->in, &parts->out);
    if (!err && parts->in.count == 0)
        return rule_parser_error(walk->parser, text, "no port is left: the negated ones cover all others");
    return err;
}

const struct port_set *rule_parser_ports(struct rule_parser *parser, struct span text)
{
    struct port_parts parts = { 0 };
    struct set_walk walk = {
        .parser = parser,
        .kind = VARIABLE_PORT,
        .item = port_item,
        .merge = merge,
        .make = make_set,
        .user = &parts,
    };
    const struct port_set *set = set_cache_get(&parser->list->port_sets, &walk, text);

    range_list_clear(&parts.in);
    range_list_clear(&parts.out);
    return set;
}

bool port_set_has(const struct port_set *set, uint16_t port)
{
    uint32_t low = 0, high = set->count;

    if (set->any)
        return true;
    while (low < high) { /* the first range that ends at or after the port */
        uint32_t middle = low + (high - low) / 2;

        if (set->range[middle].high < port)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && set->range[low].low <= port;
}
