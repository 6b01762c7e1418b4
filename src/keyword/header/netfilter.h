/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says of a packet beside its bytes: marks, interfaces, connection. It says so of the packet that it
 * had, so a packet inside a tunnel, or made of fragments, has what the one has that carried it. Of a packet that came
 * from no queue it says nothing, and no keyword of these matches, not even a negated one.
 */
#ifndef SLUICE_KEYWORD_NETFILTER_H
#define SLUICE_KEYWORD_NETFILTER_H

#include "sluice/conntrack.h"
#include "sluice/keyword.h"

/* Bits under a mask. */
struct mark_bits {
    uint32_t value, mask;
    bool negated;
};

/* The packet that the kernel had; NULL when it came from no queue. */
static inline const struct packet *netfilter_packet(const struct packet *pkt)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;

    return root->meta.id != 0 && !(pkt->flags & PACKET_PSEUDO) ? root : NULL;
}

/* What conntrack knows of it; false where it says nothing. */
static inline bool netfilter_conntrack(struct conntrack *out, const struct packet *pkt)
{
    const struct packet *root = netfilter_packet(pkt);

    if (!root || !root->conntrack.bytes || !conntrack_read(out, root->conntrack.bytes, root->conntrack.length))
        return false;
    out->info = root->conntrack.info;
    return true;
}

static inline bool mark_bits_hold(const struct mark_bits *bits, uint32_t mark)
{
    return ((mark & bits->mask) == bits->value) != bits->negated;
}

/* VALUE or VALUE/MASK, and the condition for it. 0 or -errno after a report. */
int mark_bits_condition(struct rule_parser *parser, struct span value, bool negated);
/* VALUE/MASK; of both any 32 bits. 0 or -errno after a report. */
int mark_bits_parse(struct rule_parser *parser, struct span text, bool mask_required, struct mark_bits *out);

/* Of names or numbers of interfaces. */
struct interface_list;
int interface_list_condition(struct rule_parser *parser, struct span value, bool negated);
/* Either of the two: the interface, and with a bridge the port of it. */
bool interface_list_holds(const struct interface_list *list, uint32_t index, uint32_t physical);

#endif
