/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHCP message parser. If the end option is missing, or an option extends beyond the datagram, `truncated_options` is
 * set. An option with an invalid length sets `malformed_options` and is skipped; the options after it are still parsed.
 */
#include <errno.h>

#include "dhcp_priv.h"
#include "sluice/bytes.h"

enum { OPTIONS_KEPT = sizeof((struct dhcp_tx){ 0 }.option) / sizeof((struct dhcp_tx){ 0 }.option[0]) };

static bool has_valid_length(uint8_t code, uint8_t length)
{
    switch (code) {
    case DHCP_LEASE_TIME:
    case DHCP_RENEWAL_TIME:
    case DHCP_REBINDING_TIME:
        return length == 4;
    case DHCP_CLIENT_ID:
        return length > 1;
    default:
        return true;
    }
}

/* Parses one option. Returns false at the end of the options, or if the option is truncated. */
static bool read_option(struct dhcp_tx *tx, struct cursor *cur, const uint8_t *start, unsigned *events)
{
    uint8_t code, length;

    if (!cursor_u8(cur, &code)) {
        *events |= 1u << DHCP_TRUNCATED_OPTIONS;
        return false;
    }
    if (code == DHCP_PAD)
        return true;
    if (code == DHCP_END)
        return false;
    const uint8_t *value = cursor_u8(cur, &length) ? cursor_read(cur, length) : NULL;

    if (!value) {
        *events |= 1u << DHCP_TRUNCATED_OPTIONS;
        return false;
    }
    if (!has_valid_length(code, length)) {
        *events |= 1u << DHCP_MALFORMED_OPTIONS;
        return true;
    }
    if (code < OPTIONS_KEPT && tx->option[code].at == 0) {
        tx->option[code].at = (uint32_t)(value - start);
        tx->option[code].length = length;
    }
    return true;
}

int dhcp_parse(struct heap *heap, struct dhcp_tx *tx, const uint8_t *bytes, uint32_t length, unsigned *events)
{
    struct cursor cur = cursor_of(bytes, length);

    if (!cursor_skip(&cur, DHCP_HEADER))
        return -EINVAL;
    while (read_option(tx, &cur, bytes, events))
        ;
    uint32_t used = (uint32_t)(cur.at - bytes);

    return buffer_append(heap, &tx->message, bytes, used, used) == used ? 0 : -ENOMEM;
}

const uint8_t *dhcp_option(const struct dhcp_tx *tx, enum dhcp_option code, uint8_t *length)
{
    if (tx->message.length == 0 || (unsigned)code >= OPTIONS_KEPT || tx->option[code].at == 0)
        return NULL;
    *length = tx->option[code].length;
    return tx->message.bytes + tx->option[code].at;
}

bool dhcp_number(const struct dhcp_tx *tx, enum dhcp_option code, uint32_t *out)
{
    uint8_t length = 0;
    const uint8_t *value = dhcp_option(tx, code, &length);

    if (!value || length != 4)
        return false;
    *out = load_be32(value);
    return true;
}
