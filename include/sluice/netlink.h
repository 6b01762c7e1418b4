/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing of netlink attributes with the checked cursor: length and type in host order, then the value, padded to four
 * bytes. */
#ifndef SLUICE_NETLINK_H
#define SLUICE_NETLINK_H

#include <linux/netlink.h>

#include "sluice/bytes.h"

/* Consumes one attribute and sets *type and *value. Returns false when no attribute is left or it is malformed. */
static inline bool netlink_read_attribute(struct cursor *attributes, uint16_t *type, struct cursor *value)
{
    struct nlattr head;
    const uint8_t *bytes = cursor_read(attributes, sizeof(head));

    if (!bytes)
        return false;
    memcpy(&head, bytes, sizeof(head));
    if (head.nla_len < sizeof(head))
        return false;

    size_t length = head.nla_len - sizeof(head);

    bytes = cursor_read(attributes, length);
    if (!bytes)
        return false;
    *type = head.nla_type & NLA_TYPE_MASK;
    *value = cursor_of(bytes, length);
    if (!cursor_skip(attributes, NLA_ALIGN(length) - length)) /* the last attribute need not be padded */
        attributes->at = attributes->end;
    return true;
}

#endif
