/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DCE/RPC over UDP (C706, chapter 12). The header of each datagram contains the interface and the operation number. The
 * datagrams of a call have the same activity UUID and sequence number. Datagrams of other types than request and
 * response only control the exchange and are ignored.
 */
#include <string.h>

#include "dce.h"

enum { DATAGRAM_HEADER = 80, LAST_FRAGMENT = 2, FRAGMENT = 4 };

/* Header of a datagram. */
struct datagram {
    uint8_t version, type, flags1, flags2;
    bool little; /* integers are little-endian */
    uint8_t interface[DCE_UUID], activity[DCE_UUID];
    uint32_t interface_version, sequence;
    uint16_t opnum, length;
};

static bool read_datagram(const uint8_t *bytes, size_t length, struct datagram *out)
{
    if (length < DATAGRAM_HEADER)
        return false;
    out->version = bytes[0];
    out->type = bytes[1];
    out->flags1 = bytes[2];
    out->flags2 = bytes[3];
    out->little = bytes[4] & 0x10;
    dce_uuid_read(bytes + 24, out->little, out->interface);
    dce_uuid_read(bytes + 40, out->little, out->activity);
    out->interface_version = out->little ? load_le32(bytes + 60) : load_be32(bytes + 60);
    out->sequence = out->little ? load_le32(bytes + 64) : load_be32(bytes + 64);
    out->opnum = out->little ? load_le16(bytes + 68) : load_be16(bytes + 68);
    out->length = out->little ? load_le16(bytes + 74) : load_be16(bytes + 74);
    return true;
}

enum app_probe_result dcerpc_probe_datagram(const struct app_probe *in)
{
    struct datagram header;

    if (!read_datagram(in->bytes, in->length, &header) || header.version != 4 || header.type != DCE_REQUEST)
        return APP_NO;
    /* The six reserved bits of flags2 must be 0. The data representation has two formats of integers and of characters,
     * and four of floats. */
    if (header.flags2 & 0xfc || in->bytes[4] & 0xee || in->bytes[5] > 3)
        return APP_NO;
    return in->direction == FLOW_TO_SERVER ? APP_YES : APP_REVERSED;
}

static struct dcerpc_tx *find_call(const struct app_context *context, enum flow_direction direction,
                                   const struct datagram *header)
{
    for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx)) {
        struct dce_call *call = ((struct dce_tx *)tx)->call;

        if (tx->progress[direction] < DCE_COMPLETE && call->sequence == header->sequence &&
            memcmp(call->activity, header->activity, DCE_UUID) == 0)
            return (struct dcerpc_tx *)tx;
    }
    return NULL;
}

static struct dcerpc_tx *new_call(struct app_context *context, const struct datagram *header)
{
    struct dcerpc_tx *tx = dcerpc_tx_new(context);
    struct dce_interface interface = {
        .version = (uint16_t)header->interface_version,
        .minor = (uint16_t)(header->interface_version >> 16),
        .acked = true,
        .first_fragment = true,
    };

    if (!tx)
        return NULL;
    memcpy(interface.uuid, header->interface, DCE_UUID);
    memcpy(tx->call.activity, header->activity, DCE_UUID);
    tx->call.in_datagram = true;
    tx->call.little = header->little;
    tx->call.sequence = header->sequence;
    return dce_bindings_set(app_heap(context), &tx->call.bindings, &interface) ? NULL : tx;
}

static void append_stub_data(struct app_context *context, struct dcerpc_tx *tx, enum flow_direction direction,
                             const struct datagram *header, const uint8_t *stub)
{
    struct dce_call *call = &tx->call;

    if (direction == FLOW_TO_SERVER) {
        call->request = DCE_REQUEST;
        call->has_request = call->has_opnum = true;
        call->opnum = header->opnum;
    } else {
        call->response = DCE_RESPONSE;
        call->has_response = true;
    }
    bool more = dce_stub_append(app_heap(context), call, direction, stub, header->length, dcerpc_stub_max(context));

    if (!more || !(header->flags1 & FRAGMENT) || header->flags1 & LAST_FRAGMENT)
        app_tx_advance(&tx->head.tx, direction, DCE_COMPLETE);
    app_tx_mark_changed(&tx->head.tx, direction);
}

struct app_result dcerpc_feed_datagram(struct app_context *context, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct datagram header;
    enum flow_direction direction;
    struct dcerpc_tx *tx;

    if (!read_datagram(in->bytes, in->length, &header) || header.version != 4 ||
        header.length > in->length - DATAGRAM_HEADER || header.type >= DCE_TYPES) {
        result.status = APP_ERROR;
        return result;
    }
    if (header.type != DCE_REQUEST && header.type != DCE_RESPONSE)
        return result;
    direction = header.type == DCE_REQUEST ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    if (direction != in->direction)
        app_report_ambiguous_direction(context);
    tx = find_call(context, direction, &header);
    if (!tx)
        tx = new_call(context, &header);
    if (tx)
        append_stub_data(context, tx, direction, &header, in->bytes + DATAGRAM_HEADER);
    else
        result.status = APP_ERROR;
    return result;
}
