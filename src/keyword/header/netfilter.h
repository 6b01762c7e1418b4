/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metadata that the kernel reports with a queued packet: marks, interfaces, conntrack data. It describes the queued
 * packet, so the inner packet of a tunnel, or a reassembled one, has the metadata of the packet that carried or
 * completed it. A packet from another source has none, and none of these keywords matches it, not even a negated one.
 */
#ifndef SLUICE_KEYWORD_NETFILTER_H
#define SLUICE_KEYWORD_NETFILTER_H

#include "sluice/conntrack.h"
#include "sluice/keyword.h"

/* A value under a mask. */
struct mark_bits {
    uint32_t value, mask;
    bool negated;
};

/* Returns the packet as queued by the kernel; NULL when it was not queued. */
static inline const struct packet *netfilter_packet(const struct packet *pkt)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;

    return root->meta.id != 0 && !(pkt->flags & PACKET_PSEUDO) ? root : NULL;
}

/* Reads the conntrack data of the packet; false without any. */
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

/* Parses VALUE or VALUE/MASK and adds the condition. 0 or -errno after an error. */
int mark_bits_condition(struct rule_parser *parser, struct span value);
/* Parses VALUE/MASK, each of any 32 bits. 0 or -errno after an error. */
int mark_bits_parse(struct rule_parser *parser, struct span text, bool mask_required, struct mark_bits *out);

/* Parses interface names or indexes. */
struct interface_list;
int interface_list_condition(struct rule_parser *parser, struct span value);
/* True when either one is listed: the interface or, with a bridge, its port. */
bool interface_list_holds(const struct interface_list *list, uint32_t index, uint32_t physical);

#endif
