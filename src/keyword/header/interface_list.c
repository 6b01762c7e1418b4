/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface lists of iif and oif. Names are resolved to indexes when the rules are loaded, as with nft's iif: packets
 * carry an index, and resolving it to a name would cost a system call per packet.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>

#include "netfilter.h"

enum { MAX_INTERFACES = 16 };

struct interface_list {
    bool negated;
    uint32_t count;
    uint32_t index[MAX_INTERFACES];
};

/* Parses the name or index of an interface and sets *out to the index, or to 0 with a warning if no interface has the
 * name. Returns 0, or -EINVAL after an error was reported. */
static int parse_interface(struct rule_parser *parser, struct span text, uint32_t *out)
{
    char name[IF_NAMESIZE];
    uint64_t number;

    if (span_to_uint(text, 1, INT32_MAX, &number)) {
        *out = (uint32_t)number;
        return 0;
    }
    if (text.length == 0 || text.length >= sizeof(name))
        return rule_parser_error(parser, text, "'" SPAN_FORMAT "' is not an interface name", SPAN_ARGS(text));
    snprintf(name, sizeof(name), SPAN_FORMAT, SPAN_ARGS(text));
    *out = if_nametoindex(name);
    if (*out == 0)
        rule_parser_warning(parser, text, "no interface is named '%s': reload the rules when it exists", name);
    return 0;
}

int interface_list_condition(struct rule_parser *parser, struct span value)
{
    struct interface_list *list = arena_alloc(rule_parser_arena(parser), sizeof(*list));
    int err = 0;

    if (!list)
        return -ENOMEM;
    *list = (struct interface_list){ .negated = rule_parser_is_negated(parser) };
    for (struct span rest = value, part; !err && span_next(&rest, ',', &part);) {
        if (list->count == MAX_INTERFACES)
            return rule_parser_error(parser, part, "more than %d interfaces", MAX_INTERFACES);
        err = parse_interface(parser, part, &list->index[list->count]);
        list->count++;
    }
    return err ? err : rule_parser_add_packet_condition(parser, list, false);
}

bool interface_list_holds(const struct interface_list *list, uint32_t index, uint32_t physical)
{
    bool found = false;

    if (index == 0)
        return false;
    for (uint32_t i = 0; i < list->count; i++)
        found |= list->index[i] != 0 && (list->index[i] == index || list->index[i] == physical);
    return found != list->negated;
}
