/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EtherNet/IP over TCP and UDP: explicit messages with the encapsulation header, on port 44818. Implicit I/O messages
 * (port 2222) have no such header, and are not parsed. A response has the command, session and context of its request.
 */
#include <errno.h>

#include "enip_priv.h"
#include "sluice/transfer.h"

static const struct app_event events[ENIP_EVENTS] = {
    [ENIP_TOO_MANY_TRANSACTIONS] = { "too_many_transactions", "more than 1024 requests have no response yet" },
    [ENIP_INVALID_PDU] = { "invalid_pdu", "the data of a message is malformed" },
};

static bool is_answered(uint16_t command)
{
    return command != ENIP_NOP && command != ENIP_UNREGISTER_SESSION && command != ENIP_INDICATE_STATUS &&
           command != ENIP_CANCEL;
}

static void complete(struct enip_tx *tx)
{
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, ENIP_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, ENIP_COMPLETE);
}

static struct enip_tx *new_tx(struct app_context *context)
{
    struct enip_tx *tx = (struct enip_tx *)app_tx_first_open(context);

    if (tx && app_tx_open_count(context) >= ENIP_OPEN_MAX) {
        app_event(context, &tx->tx, ENIP_TOO_MANY_TRANSACTIONS);
        complete(tx);
    }
    return (struct enip_tx *)app_tx_new(context);
}

/* Finds the oldest open request with the command, session and context of the response. The session is new in a response
 * to RegisterSession. */
static struct enip_tx *find_request(struct app_context *context, const struct enip_pdu *response)
{
    struct enip_tx *tx = (struct enip_tx *)app_tx_first_open(context);

    while (tx && (tx->request.command != response->command || tx->request.context != response->context ||
                  (tx->request.session != response->session && response->command != ENIP_REGISTER_SESSION)))
        tx = (struct enip_tx *)app_tx_next_open(&tx->tx);
    return tx;
}

/* Handles a message. Returns false if there is no memory. */
static bool handle_message(struct app_context *context, enum flow_direction direction, const uint8_t *bytes,
                           uint32_t length)
{
    const struct enip_pdu start = {
        .is_present = true,
        .command = load_le16(bytes),
        .session = load_le32(bytes + 4),
        .status = load_le32(bytes + 8),
        .context = load_le64(bytes + 12),
        .options = load_le32(bytes + 20),
    };
    struct enip_tx *tx = direction == FLOW_TO_CLIENT ? find_request(context, &start) : NULL;
    struct enip_pdu *pdu;
    bool is_orphan = direction == FLOW_TO_CLIENT && !tx;
    int err;

    if (!tx)
        tx = new_tx(context);
    if (!tx)
        return false;
    if (is_orphan)
        tx->tx.directions = APP_TO_CLIENT;
    pdu = direction == FLOW_TO_SERVER ? &tx->request : &tx->response;
    *pdu = start;
    err = enip_parse(app_heap(context), pdu, direction == FLOW_TO_CLIENT, bytes + ENIP_HEADER, length - ENIP_HEADER);
    if (err == -EINVAL)
        app_event(context, &tx->tx, ENIP_INVALID_PDU);
    if (direction == FLOW_TO_SERVER && !is_answered(pdu->command))
        complete(tx);
    else
        app_tx_advance(&tx->tx, direction, ENIP_COMPLETE);
    return err != -ENOMEM;
}

enum { FRAME_HDR, FRAME_DATA, FRAME_PDU, FRAME_CIP, FRAME_ITEM };
static const char *const frames[] = {
    [FRAME_HDR] = "hdr", [FRAME_DATA] = "data",      [FRAME_PDU] = "pdu",
    [FRAME_CIP] = "cip", [FRAME_ITEM] = "enip.item", NULL,
};

/* Announces the frame of a CIP message of `length` bytes at index `at` of the input. If it is a Multiple Service
 * Packet, also announces a frame for each of its services, as Suricata does. */
static void announce_cip(struct app_context *context, const struct app_input *in, uint32_t at, uint32_t length)
{
    struct enip_place services[ENIP_SERVICES_MAX];
    unsigned count = enip_find_services(in->bytes + at, length, services);

    app_frame(context, in, at, length, FRAME_CIP, NULL);
    for (unsigned i = 0; i < count; i++)
        app_frame(context, in, at + services[i].at, services[i].length, FRAME_CIP, NULL);
}

static void announce_items(struct app_context *context, const struct app_input *in, uint32_t at, uint32_t length)
{
    struct enip_item items[ENIP_ITEMS_MAX];
    unsigned count = enip_find_items(load_le16(in->bytes + at), in->bytes + at, length, items);

    for (unsigned i = 0; i < count; i++) {
        app_frame(context, in, at + items[i].at, items[i].length, FRAME_ITEM, NULL);
        if (items[i].has_cip && items[i].cip_length > 0)
            announce_cip(context, in, at + items[i].at + items[i].length - items[i].cip_length, items[i].cip_length);
    }
}

static struct app_result enip_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };

    (void)state;
    while (in->length - result.consumed >= ENIP_HEADER) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t length = ENIP_HEADER + load_le16(at + 2), left = in->length - result.consumed;

        if (left < length && in->transport == APP_UDP)
            length = left;
        app_frame(context, in, result.consumed, ENIP_HEADER, FRAME_HDR, NULL);
        app_frame(context, in, result.consumed, length, FRAME_PDU, NULL);
        if (length > ENIP_HEADER)
            app_frame(context, in, result.consumed + ENIP_HEADER, length - ENIP_HEADER, FRAME_DATA, NULL);
        if (left < length) {
            result.needed = length;
            return result;
        }
        if (app_wants_frame(context, FRAME_ITEM) || app_wants_frame(context, FRAME_CIP))
            announce_items(context, in, result.consumed, length);
        if (!handle_message(context, in->direction, at, length)) {
            result.status = APP_ERROR;
            return result;
        }
        result.consumed += length;
    }
    if (in->transport == APP_UDP)
        result.consumed = in->length;
    else
        result.needed = in->length > result.consumed ? ENIP_HEADER : 0;
    return result;
}

/* The position between two messages is all that the next process needs. */
static void enip_transfer(struct app_context *context, void *state, struct transfer *t)
{
    (void)context;
    (void)state;
    (void)t;
}

static void enip_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct enip_tx *enip = (struct enip_tx *)tx;

    for (unsigned i = 0; i < 2; i++) {
        struct enip_pdu *pdu = i ? &enip->response : &enip->request;

        buffer_clear(app_heap(context), &pdu->services);
        buffer_clear(app_heap(context), &pdu->segments);
    }
}

/* The header has little that is constant, so the protocol is detected on its ports only. */
static enum app_probe_result enip_probe(const struct app_probe *in)
{
    if (!in->port_hint)
        return APP_NO;
    if (in->length >= 2 && !enip_find_name(enip_command_names, load_le16(in->bytes)))
        return APP_NO;
    if (in->length < ENIP_HEADER)
        return in->transport == APP_TCP ? APP_UNSURE : APP_NO;
    return load_le32(in->bytes + 20) == 0 && enip_find_name(enip_status_names, load_le32(in->bytes + 8)) ? APP_YES
                                                                                                         : APP_NO;
}

static bool enip_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.enip",
      .type = SETTING_SECTION,
      .help = "Event type enip: an EtherNet/IP request with its response" },
    { .name = NULL },
};

const struct app_proto app_enip = {
    .name = "enip",
    .help = "EtherNet/IP and CIP",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "44818",
    .udp_ports = "44818",
    .probe = enip_probe,
    .feed = enip_feed,
    .frames = frames,
    .transfer = enip_transfer,
    .pending_max = ENIP_HEADER + UINT16_MAX,
    .tx_size = sizeof(struct enip_tx),
    .tx_free = enip_tx_free,
    .complete = { ENIP_COMPLETE, ENIP_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = ENIP_EVENTS,
    .buffers = enip_buffers,
    .buffer_count = ENIP_BUFFERS,
    .conditions = enip_conditions,
    .condition_count = ENIP_CONDITIONS,
    .log_type = "enip",
    .log_key = "enip",
    .log = enip_log,
    .logs_from_server = enip_logs_from_server,
    .settings = setting_rows,
};
