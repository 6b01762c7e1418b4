/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MCS Connect-Initial (T.125, BER) with a GCC Conference Create Request (T.124, PER), which contains the client's data
 * blocks (MS-RDPBCGR 2.2.1.3).
 */
#include "rdp_priv.h"
#include "sluice/der.h"

enum { BLOCK_CORE = 0xc001, BLOCK_NET = 0xc003, BLOCKS_MAX = 32 };

static bool read_le16(struct cursor *cur, uint16_t *out)
{
    const uint8_t *bytes = cursor_read(cur, 2);

    if (bytes)
        *out = load_le16(bytes);
    return bytes != NULL;
}

static bool read_le32(struct cursor *cur, uint32_t *out)
{
    const uint8_t *bytes = cursor_read(cur, 4);

    if (bytes)
        *out = load_le32(bytes);
    return bytes != NULL;
}

static bool read_bytes(struct cursor *cur, uint8_t *out, size_t length)
{
    const uint8_t *bytes = cursor_read(cur, length);

    if (bytes)
        memcpy(out, bytes, length);
    return bytes != NULL;
}

/* Skips a length of PER: one byte, or two if the highest bit is set. */
static bool skip_per_length(struct cursor *cur)
{
    uint8_t byte;

    return cursor_u8(cur, &byte) && (!(byte & 0x80) || cursor_skip(cur, 1));
}

/* The fields up to the input method are mandatory, the others optional, each with all fields before it. */
static void parse_core(struct rdp_client *client, struct cursor cur)
{
    uint16_t unused;
    uint32_t subtype;

    client->is_present = read_le32(&cur, &client->version) && read_le16(&cur, &client->width) &&
                         read_le16(&cur, &client->height) && read_le16(&cur, &client->color_depth) &&
                         read_le16(&cur, &unused) && read_le32(&cur, &client->keyboard_layout) &&
                         read_le32(&cur, &client->build) && read_bytes(&cur, client->name, sizeof(client->name)) &&
                         read_le32(&cur, &client->keyboard_type) && read_le32(&cur, &subtype) &&
                         read_le32(&cur, &client->function_keys) && cursor_skip(&cur, 64);
    if (!client->is_present || !read_le16(&cur, &client->color_depth))
        return;
    client->has_product = read_le16(&cur, &client->product) && cursor_skip(&cur, 4); /* serial number */
    client->has_high_color = client->has_product && read_le16(&cur, &client->high_color_depth);
    client->has_capabilities =
        client->has_high_color && read_le16(&cur, &unused) && read_le16(&cur, &client->capabilities);
    if (client->has_capabilities)
        read_bytes(&cur, client->product_id, sizeof(client->product_id));
}

static void parse_channels(struct rdp_tx *tx, struct cursor cur)
{
    uint32_t count = 0;

    read_le32(&cur, &count);
    while (tx->channel_count < count && tx->channel_count < RDP_CHANNELS_MAX &&
           read_bytes(&cur, tx->channel[tx->channel_count], RDP_CHANNEL_NAME) && cursor_skip(&cur, 4))
        tx->channel_count++;
}

void rdp_parse_connect(struct rdp_tx *tx, const uint8_t *bytes, uint32_t length)
{
    static const uint8_t key[] = { 0x00, 0x05, 0x00, 0x14, 0x7c, 0x00, 0x01 };
    enum { CREATE_REQUEST = 8, H221_KEY = 4 };
    struct cursor cur = cursor_of(bytes, length), body;
    const uint8_t *start;
    struct der_value value;

    /* calling and called domain, upward flag, three sets of parameters */
    for (unsigned i = 0; i < 6; i++)
        if (!der_next(&cur, &value))
            return;
    if (!der_read(&cur, DER_OCTET_STRING, &body))
        return;
    start = cursor_read(&body, sizeof(key));
    if (!start || memcmp(start, key, sizeof(key)) != 0 || !skip_per_length(&body) ||
        !cursor_skip(&body, CREATE_REQUEST + H221_KEY) || !skip_per_length(&body))
        return;
    for (unsigned i = 0; i < BLOCKS_MAX; i++) {
        struct cursor block = body;
        uint16_t type, size;

        if (!read_le16(&block, &type) || !read_le16(&block, &size) || size < 4 || !cursor_skip(&body, size))
            return;
        block.end = body.at;
        if (type == BLOCK_CORE)
            parse_core(&tx->client, block);
        else if (type == BLOCK_NET)
            parse_channels(tx, block);
    }
}
