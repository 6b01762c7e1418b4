/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Payloads of IKE version 1. An SA payload contains proposals, which contain transforms, which contain attributes. Key
 * exchange, nonce and vendor ID payloads contain bytes. */
#include <string.h>

#include "ike_priv.h"
#include "sluice/hex.h"

enum {
    PAYLOAD_SA = 1,
    PAYLOAD_PROPOSAL = 2,
    PAYLOAD_TRANSFORM = 3,
    PAYLOAD_KEY_EXCHANGE = 4,
    PAYLOAD_NONCE = 10,
    PAYLOAD_VENDOR = 13,
    DOI_IPSEC = 1,
};

static void record_payload_type(struct ike_parse *parse, uint8_t type)
{
    if (type < 32)
        parse->tx->payload_types |= UINT32_C(1) << type;
}

/* The highest bit of the type is the attribute format bit (RFC 2408 §3.3). If it is 1, a value of two bytes follows;
 * otherwise a length and the value. */
static bool read_attribute(struct ike_parse *parse, struct cursor *cur)
{
    struct buffer *list = &parse->tx->attributes.list;
    const uint32_t limit = IKE_ATTRIBUTES_MAX * sizeof(struct ike_attribute);
    struct ike_attribute attribute = { 0 };
    uint16_t type, value;

    if (!cursor_be16(cur, &type) || !cursor_be16(cur, &value))
        return false;
    attribute.type = type & 0x7fff;
    if (type & 0x8000) {
        attribute.has_number = true;
        attribute.number = value;
    } else {
        const uint8_t *bytes = cursor_read(cur, value);

        if (!bytes)
            return false;
        attribute.has_number = value == 4;
        if (value == 4)
            attribute.number = load_be32(bytes);
        else if (value <= IKE_RAW_MAX)
            memcpy(attribute.raw, bytes, value);
        attribute.raw_length = value != 4 && value <= IKE_RAW_MAX ? (uint8_t)value : 0;
    }
    if (list->length < limit &&
        buffer_append(parse->heap, list, &attribute, sizeof(attribute), limit) != sizeof(attribute))
        parse->no_memory = true;
    return true;
}

static bool read_transform(struct ike_parse *parse, struct cursor body)
{
    if (!cursor_skip(&body, 4)) /* transform number, transform id, reserved */
        return false;
    while (cursor_remaining(&body))
        if (!read_attribute(parse, &body))
            return false;
    if (parse->tx->transforms == 0)
        parse->tx->first_count = (uint32_t)ike_attribute_count(&parse->tx->attributes);
    parse->tx->transforms++;
    return true;
}

static bool read_proposal(struct ike_parse *parse, struct cursor body)
{
    const uint8_t *head = cursor_read(&body, 4); /* number, protocol, SPI length, number of transforms */
    uint8_t type = PAYLOAD_TRANSFORM;
    struct ike_payload payload;

    if (!head || !cursor_skip(&body, head[2]))
        return false;
    while (cursor_remaining(&body) && type == PAYLOAD_TRANSFORM) {
        if (!ike_payload_read(&body, &type, &payload) || !read_transform(parse, payload.body))
            return false;
        record_payload_type(parse, PAYLOAD_TRANSFORM);
    }
    return true;
}

static bool read_sa(struct ike_parse *parse, struct cursor body)
{
    struct ike_state *state = parse->state;
    uint8_t type = PAYLOAD_PROPOSAL;
    struct ike_payload payload;

    if (!cursor_be32(&body, &state->doi))
        return false;
    state->has_doi = true;
    if (state->doi != DOI_IPSEC)
        return true;
    if (!cursor_skip(&body, 4)) /* situation */
        return false;
    while (cursor_remaining(&body) && type == PAYLOAD_PROPOSAL) {
        if (!ike_payload_read(&body, &type, &payload) || !read_proposal(parse, payload.body))
            return false;
        record_payload_type(parse, PAYLOAD_PROPOSAL);
    }
    return true;
}

static void store_vendor(struct ike_parse *parse, struct cursor body)
{
    struct ike_tx *tx = parse->tx;
    char text[2 * IKE_VENDOR_MAX];
    uint32_t length = 0;
    uint8_t byte;

    if (tx->vendors == IKE_VENDORS_MAX)
        return;
    while (length < sizeof(text) && cursor_u8(&body, &byte)) {
        hex_write_byte(text + length, byte);
        length += 2;
    }
    tx->vendor[tx->vendors] = (struct ike_vendor){ .at = tx->text.length, .length = length };
    if (buffer_append(parse->heap, &tx->text, text, length, IKE_VENDORS_MAX * sizeof(text)) == length)
        tx->vendors++;
    else
        parse->no_memory = true;
}

static bool read_payload(struct ike_parse *parse, const struct ike_payload *payload)
{
    struct ike_tx *tx = parse->tx;

    record_payload_type(parse, payload->type);
    switch (payload->type) {
    case PAYLOAD_SA:
        return read_sa(parse, payload->body);
    case PAYLOAD_KEY_EXCHANGE:
        ike_store(parse, &tx->in_message.key_exchange, payload->body.at, cursor_remaining(&payload->body));
        return true;
    case PAYLOAD_NONCE:
        ike_store(parse, &tx->in_message.nonce, payload->body.at, cursor_remaining(&payload->body));
        return true;
    case PAYLOAD_VENDOR:
        store_vendor(parse, payload->body);
        return true;
    default:
        return true;
    }
}

/* Stores a payload in the state of the flow, from which the events of this and later messages take it. Payloads
 * longer than IKE_SECRET_MAX are not stored, so that events stay small; a message without the payload removes the
 * stored one. */
static void store_for_events(struct ike_parse *parse, struct buffer *kept, const struct buffer *bytes)
{
    ike_store(parse, kept, bytes->bytes, bytes->length <= IKE_SECRET_MAX ? bytes->length : 0);
}

/* Updates the state of the flow with this message. An SA payload of the server starts a new exchange. */
static void update_state(struct ike_parse *parse)
{
    struct ike_state *state = parse->state;
    struct ike_tx *tx = parse->tx;
    bool from_server = parse->direction == FLOW_TO_CLIENT;

    store_for_events(parse, &state->party[parse->direction].key_exchange, &tx->in_message.key_exchange);
    store_for_events(parse, &state->party[parse->direction].nonce, &tx->in_message.nonce);
    if (!from_server)
        return;
    if (tx->payload_types >> PAYLOAD_SA & 1) {
        state->server_transforms = 0;
        buffer_clear(parse->heap, &state->chosen.list);
    }
    if (state->server_transforms <= 1 && (uint64_t)state->server_transforms + tx->transforms > 1)
        ike_set_event(parse, IKE_MULTIPLE_SERVER_PROPOSAL);
    if (state->server_transforms == 0 && tx->transforms > 0)
        ike_store(parse, &state->chosen.list, tx->attributes.list.bytes,
                  tx->first_count * sizeof(struct ike_attribute));
    if ((uint64_t)state->server_transforms + tx->transforms > 1)
        state->server_transforms = 2; /* more than one: the exact number is not needed */
    else
        state->server_transforms += tx->transforms;
}

void ike_read_v1(struct ike_parse *parse, struct cursor cur, uint8_t first)
{
    uint8_t type = first;
    struct ike_payload payload;
    bool ok = true;

    record_payload_type(parse, first);
    parse->tx->encrypted = parse->tx->flags & 1;
    if (parse->tx->encrypted)
        return;
    while (ok && type != 0 && cursor_remaining(&cur))
        ok = ike_payload_read(&cur, &type, &payload) && read_payload(parse, &payload);
    if (!ok || type != 0)
        ike_set_event(parse, IKE_MALFORMED_DATA);
    else if (cursor_remaining(&cur))
        ike_set_event(parse, IKE_PAYLOAD_EXTRA_DATA);
    update_state(parse);
}
