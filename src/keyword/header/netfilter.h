/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metadata that the kernel reports with a queued packet: marks, interfaces, conntrack data. The inner packet of a
 * tunnel has the metadata of the outer packet. A reassembled packet has the metadata of the fragment that completed it.
 * A packet that was not queued, for example one from a capture file, has no metadata: keywords that test metadata do
 * not match it, not even with a negated value.
 */
#ifndef SLUICE_KEYWORD_NETFILTER_H
#define SLUICE_KEYWORD_NETFILTER_H

#include "sluice/conntrack.h"
#include "sluice/keyword.h"

/* A condition on a mark: (mark & mask) == value. */
struct mark_bits {
    uint32_t value, mask;
    bool negated;
};

/* Returns the queued packet that contains or completed this packet; NULL if the packet was not queued by the kernel. */
static inline const struct packet *netfilter_packet(const struct packet *pkt)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;

    return root->meta.id != 0 && !(pkt->flags & PACKET_PSEUDO) ? root : NULL;
}

/* Reads the conntrack data of the packet. Returns false if it has none. */
static inline bool netfilter_conntrack(struct conntrack *out, const struct packet *pkt)
{
    const struct packet *root = netfilter_packet(pkt);

    if (!root || !root->conntrack.bytes || !conntrack_parse(out, root->conntrack.bytes, root->conntrack.length))
        return false;
    out->info = root->conntrack.info;
    return true;
}

static inline bool mark_bits_hold(const struct mark_bits *bits, uint32_t mark)
{
    return ((mark & bits->mask) == bits->value) != bits->negated;
}

/* Parses VALUE or VALUE/MASK and adds the condition. Returns 0, or -errno after an error was reported. */
int mark_bits_condition(struct rule_parser *parser, struct span value);
/* Parses VALUE/MASK, two 32-bit numbers; the mask is optional unless `mask_required`. Returns 0, or -errno after an
 * error was reported. */
int mark_bits_parse(struct rule_parser *parser, struct span text, bool mask_required, struct mark_bits *out);

/* Parses a list of interface names or indexes and adds the condition, whose data is a struct interface_list. */
struct interface_list;
int interface_list_condition(struct rule_parser *parser, struct span value);
/* Returns whether the condition holds. `index`: the interface, 0: none; `physical`: the bridge port if the interface is
 * a bridge. The condition holds if the list contains one of the two, or, if the list is negated, if it contains none of
 * them. Without an interface the condition never holds. */
bool interface_list_holds(const struct interface_list *list, uint32_t index, uint32_t physical);

#endif
