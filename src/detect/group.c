/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of rules by port. Literals of rules for port 445 need not be searched in traffic of port 80: half of the rules
 * in a typical ruleset are for a few ports only, and many of their literals are so short that they would be found in
 * all traffic.
 *
 * A rule with few destination ports is in the groups of these ports. Otherwise a rule with few source ports is in the
 * groups of its source ports. All other rules are in the generic group of their traffic. Ports with the same rules
 * share a group; all ports without rules of their own share an empty one. A packet is scanned with at most three
 * groups: the generic group and the groups of its two ports.
 *
 * In TCP, a rule whose literal is seldom found by chance is in the generic group regardless of its ports, so that most
 * packets need one scan.
 *
 * Each group is divided by the direction of the `flow` keyword.
 *
 * Gain (docs/detection.md): without groups by port, captures of many protocols take 1.27 times as many instructions.
 * Without rare literals in the generic group, HTTP traffic (W6) takes 1.10 times as many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

enum {
    WIDE_PORTS = 8192, /* number of ports; a rule for more ports is treated as a rule for any port */
    MAX_GROUPS = 1024, /* limit of the groups for each kind of traffic and each end (source or destination port); if the
                          rules of an end may need more, all of them are added to the generic group of their traffic */
    PORTS = 65536,
    CHEAP_EVERYWHERE = 12, /* minimum strength of a TCP literal that is searched in the generic group for any port */
    CHEAP_LENGTH = 4,      /* its minimum length, in bytes */
};

/* A rule that is still to be assigned to its groups. */
struct port_rule {
    struct group_entry entry;
    const struct port_set *ports;
};

struct group_builder {
    struct port_rule *port_rule[PORT_TRAFFICS][PORT_ENDS];
    uint32_t count[PORT_TRAFFICS][PORT_ENDS], capacity[PORT_TRAFFICS][PORT_ENDS];
};

int signature_list_add(struct signature_list *list, uint32_t signature)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
        uint32_t *index = realloc(list->index, capacity * sizeof(*index));

        if (!index)
            return -ENOMEM;
        list->index = index;
        list->capacity = capacity;
    }
    list->index[list->count++] = signature;
    return 0;
}

static int unfiltered_add(struct unfiltered_list *list, const struct unfiltered *entry)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct unfiltered *entries = realloc(list->entries, capacity * sizeof(*entries));

        if (!entries)
            return -ENOMEM;
        list->entries = entries;
        list->capacity = capacity;
    }
    list->entries[list->count++] = *entry;
    return 0;
}

/* --- Groups --------------------------------------------------------------------------------------- */

int group_add(struct rule_group *group, const struct group_entry *entry)
{
    struct unfiltered in_stream = { entry->needs, entry->signature, entry->needs_variables, entry->applications },
                      in_packet = in_stream;

    if (entry->has_payload && in_packet.needs.payload_low == 0)
        in_packet.needs.payload_low = 1; /* no candidate for packets without payload */
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct group_side *side = &group->to[direction];
        uint32_t flag = direction == FLOW_TO_CLIENT ? PACKET_TO_CLIENT : 0;

        if ((entry->needs.properties ^ flag) & entry->needs.properties_mask & PACKET_TO_CLIENT)
            continue; /* the rule is for the other direction */
        if (entry->has_literal) {
            if (!side->prefilter && prefilter_new(&side->prefilter))
                return -ENOMEM;
            if (prefilter_add(side->prefilter, &entry->literal, entry->signature))
                return -ENOMEM;
            continue;
        }
        if (entry->in_stream && unfiltered_add(&side->stream_unfiltered, &in_stream))
            return -ENOMEM;
        if (unfiltered_add(&side->unfiltered, &in_packet))
            return -ENOMEM;
    }
    return 0;
}

void group_share(struct rule_group *group)
{
    struct group_side *to_server = &group->to[FLOW_TO_SERVER], *to_client = &group->to[FLOW_TO_CLIENT];

    if (prefilter_equal(to_server->prefilter, to_client->prefilter)) {
        prefilter_free(to_client->prefilter);
        to_client->prefilter = to_server->prefilter;
    }
}

void group_prefilters(const struct rule_group *group, struct prefilter *out[GROUP_PREFILTERS])
{
    struct prefilter *to_server = group->to[FLOW_TO_SERVER].prefilter;
    struct prefilter *to_client = group->to[FLOW_TO_CLIENT].prefilter;

    out[0] = to_server;
    out[1] = to_client == to_server ? NULL : to_client;
}

void group_clear(struct rule_group *group)
{
    struct prefilter *prefilters[GROUP_PREFILTERS];

    group_prefilters(group, prefilters);
    for (unsigned i = 0; i < GROUP_PREFILTERS; i++)
        prefilter_free(prefilters[i]);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        free(group->to[direction].unfiltered.entries);
        free(group->to[direction].stream_unfiltered.entries);
    }
}

/* --- Ports ---------------------------------------------------------------------------------------- */

int group_builder_new(struct group_builder **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -ENOMEM;
}

void group_builder_free(struct group_builder *builder)
{
    if (!builder)
        return;
    for (unsigned traffic = 0; traffic < PORT_TRAFFICS; traffic++) {
        for (unsigned end = 0; end < PORT_ENDS; end++)
            free(builder->port_rule[traffic][end]);
    }
    free(builder);
}

static bool is_narrow(const struct port_set *ports)
{
    uint32_t total = 0;

    if (!ports)
        return false;
    for (uint32_t i = 0; i < ports->count; i++)
        total += (uint32_t)ports->range[i].high - ports->range[i].low + 1;
    return total <= WIDE_PORTS;
}

static int add_port_rule(struct group_builder *builder, unsigned traffic, unsigned end,
                         const struct port_rule *port_rule)
{
    uint32_t *count = &builder->count[traffic][end], *capacity = &builder->capacity[traffic][end];

    if (*count == *capacity) {
        uint32_t larger = *capacity ? *capacity * 2 : 64;
        struct port_rule *list = realloc(builder->port_rule[traffic][end], larger * sizeof(*list));

        if (!list)
            return -ENOMEM;
        builder->port_rule[traffic][end] = list;
        *capacity = larger;
    }
    builder->port_rule[traffic][end][(*count)++] = *port_rule;
    return 0;
}

/* A bidirectional rule is in the generic group, because it would have to be in the groups of both ends. */
const struct port_set *group_ports(const struct signature *signature, enum traffic traffic,
                                   const struct literal *literal, enum port_end *end)
{
    if (traffic == TRAFFIC_OTHER || signature->bidirectional)
        return NULL;
    /* A TCP literal that is seldom found by chance is searched in the generic group: an additional scan with the group
     * of a port would cost more than a few hundred additional literals in one scan. UDP has too few rules for such a
     * gain. */
    if (traffic == TRAFFIC_TCP && literal && literal->strength >= CHEAP_EVERYWHERE && literal->length >= CHEAP_LENGTH)
        return NULL;
    *end = PORT_DESTINATION;
    if (is_narrow(signature->destination_port))
        return signature->destination_port;
    *end = PORT_SOURCE;
    return is_narrow(signature->source_port) ? signature->source_port : NULL;
}

int group_builder_add(struct group_builder *builder, struct ruleset *ruleset, enum traffic traffic,
                      const struct group_entry *entry)
{
    const struct signature *signature = &ruleset->signatures[entry->signature];
    struct port_rule port_rule = { .entry = *entry };
    enum port_end end;

    port_rule.entry.literal.is_whole = traffic != TRAFFIC_TCP;
    port_rule.ports = group_ports(signature, traffic, entry->has_literal ? &entry->literal : NULL, &end);
    if (port_rule.ports)
        return add_port_rule(builder, traffic, end, &port_rule);
    return group_add(&ruleset->generic[traffic], &port_rule.entry);
}

/* Assigns each port of an end to the group of its rules. Returns 0 or -ENOMEM. */
static int build_end(struct ruleset *ruleset, const struct group_builder *builder, enum traffic traffic, unsigned end)
{
    const struct port_rule *rules = builder->port_rule[traffic][end];
    uint32_t count = builder->count[traffic][end], edge_count = 0, first_group = ruleset->group_count;
    uint16_t *group_of = ruleset->group_of + ((size_t)traffic * PORT_ENDS + end) * PORTS, group = 0;
    /* true for ports at which the set of rules may change: the first port of a range and the port behind its last one
     */
    bool *edges = calloc(PORTS + 1, sizeof(*edges));
    /* members of each group of this end, then of the current port: indices into `rules` */
    struct signature_list *members = calloc(MAX_GROUPS + 1, sizeof(*members));
    int err = edges && members ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < count && !err; i++) {
        for (uint32_t k = 0; k < rules[i].ports->count; k++) {
            const struct port_range *range = &rules[i].ports->range[k];

            edge_count += !edges[range->low] + !edges[range->high + 1u];
            edges[range->low] = edges[range->high + 1u] = true;
        }
    }
    for (uint32_t i = 0; i < count && edge_count > MAX_GROUPS && !err; i++)
        err = group_add(&ruleset->generic[traffic], &rules[i].entry);
    for (uint32_t port = 0; port < PORTS && edge_count <= MAX_GROUPS && !err; port++) {
        if (edges[port]) {
            uint32_t used = ruleset->group_count - first_group, same = 0;
            struct signature_list *found = &members[used];

            found->count = 0;
            for (uint32_t i = 0; i < count && !err; i++) {
                if (port_set_has(rules[i].ports, (uint16_t)port))
                    err = signature_list_add(found, i);
            }
            while (same < used &&
                   (members[same].count != found->count ||
                    memcmp(members[same].index, found->index, found->count * sizeof(*found->index)) != 0))
                same++;
            group = found->count > 0 ? (uint16_t)(first_group + same) : 0;
            if (found->count > 0 && same == used) {
                ruleset->group_count++;
                for (uint32_t i = 0; i < found->count && !err; i++)
                    err = group_add(&ruleset->groups[group], &rules[found->index[i]].entry);
            }
        }
        group_of[port] = group;
    }
    for (uint32_t i = 0; members && i <= MAX_GROUPS; i++)
        free(members[i].index);
    free(members);
    free(edges);
    return err;
}

int group_builder_finish(struct ruleset *ruleset, const struct group_builder *builder)
{
    int err = 0;

    ruleset->groups = calloc(PORT_TRAFFICS * PORT_ENDS * MAX_GROUPS + 1, sizeof(*ruleset->groups));
    ruleset->group_of = calloc((size_t)PORT_TRAFFICS * PORT_ENDS * PORTS, sizeof(*ruleset->group_of));
    if (!ruleset->groups || !ruleset->group_of)
        return -ENOMEM;
    ruleset->group_count = 1; /* group 0 is empty, for ports without rules */
    for (unsigned traffic = 0; traffic < PORT_TRAFFICS && !err; traffic++) {
        for (unsigned end = 0; end < PORT_ENDS && !err; end++)
            err = build_end(ruleset, builder, traffic, end);
    }
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++)
        group_share(&ruleset->generic[traffic]);
    for (uint32_t i = 0; i < ruleset->group_count; i++)
        group_share(&ruleset->groups[i]);
    return err;
}

unsigned groups_of_packet(const struct evaluation *ev, enum traffic traffic,
                          const struct group_side *out[GROUPS_PER_PACKET])
{
    const struct packet *pkt = ev->input->packet;
    const uint16_t ports[PORT_ENDS] = { [PORT_DESTINATION] = pkt->destination_port, [PORT_SOURCE] = pkt->source_port };
    unsigned count = 0;

    out[count++] = &ev->ruleset->generic[traffic].to[ev->direction];
    if (traffic == TRAFFIC_OTHER || pkt->flags & PACKET_FRAGMENT)
        return count;
    for (unsigned end = 0; end < PORT_ENDS; end++) {
        uint16_t group = ev->ruleset->group_of[((size_t)traffic * PORT_ENDS + end) * PORTS + ports[end]];

        if (group == 0) /* most ports */
            continue;
        const struct group_side *side = &ev->ruleset->groups[group].to[ev->direction];

        if (side->prefilter || side->unfiltered.count > 0)
            out[count++] = side;
    }
    return count;
}
