/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DCE/RPC over TCP, and the parts shared with UDP. A call is a transaction: a request or bind, and the response with
 * the same call id. A fragment is parsed when it is complete (at most 64 KiB), and the stub data of the fragments of a
 * call is concatenated.
 *
 * After a gap, the parser searches for the next plausible header, and completes the open calls of the direction,
 * because the gap may have contained their remaining fragments.
 */
#include <errno.h>
#include <stdlib.h>

#include "sluice/transfer.h"
#include "dce.h"

struct dcerpc_state {
    struct dce_bindings *bindings;
    bool lost[FLOW_DIRECTIONS];    /* after a gap: the parser searches for the next header */
    bool has_gap[FLOW_DIRECTIONS]; /* a gap has occurred in this direction */
};

/* --- Transactions ------------------------------------------------------------------------------------ */

static struct dcerpc_tx *get_first_open(const struct app_context *context)
{
    return (struct dcerpc_tx *)app_tx_first_open(context);
}

static struct dcerpc_tx *get_next_open(const struct dcerpc_tx *tx)
{
    return (struct dcerpc_tx *)app_tx_next_open(&tx->head.tx);
}

uint32_t dcerpc_stub_max(const struct app_context *context)
{
    const struct dcerpc_settings *settings = app_get_settings(context);

    return settings->stub_max;
}

static void complete_direction(struct app_tx *tx, enum flow_direction direction)
{
    app_tx_advance(tx, direction, DCE_COMPLETE);
    app_tx_mark_changed(tx, direction);
}

struct dcerpc_tx *dcerpc_tx_new(struct app_context *context)
{
    const struct dcerpc_settings *settings = app_get_settings(context);
    struct dcerpc_tx *oldest = get_first_open(context);

    if (oldest && app_tx_open_count(context) >= settings->tx_max) {
        complete_direction(&oldest->head.tx, FLOW_TO_SERVER);
        complete_direction(&oldest->head.tx, FLOW_TO_CLIENT);
    }
    struct dcerpc_tx *tx = (struct dcerpc_tx *)app_tx_new(context);

    if (tx)
        tx->head.call = &tx->call;
    return tx;
}

static struct dcerpc_tx *new_call(struct app_context *context, const struct dcerpc_state *state,
                                  const struct dce_header *header)
{
    struct dcerpc_tx *tx = dcerpc_tx_new(context);

    if (!tx)
        return NULL;
    tx->call.call_id = header->call_id;
    tx->call.little = header->little;
    tx->call.minor = header->minor;
    tx->call.response = DCE_RESPONSE;
    tx->call.bindings = dce_bindings_ref(state->bindings);
    return tx;
}

/* Returns the open call that a fragment belongs to. A request matches a call whose response came first or whose request
 * is still incomplete; a response matches a call that is still without a complete response. Returns NULL if no call
 * matches. */
static struct dcerpc_tx *find_call(const struct app_context *context, enum flow_direction direction,
                                   const struct dce_header *header)
{
    for (struct dcerpc_tx *tx = get_first_open(context); tx; tx = get_next_open(tx)) {
        const struct dce_call *call = &tx->call;

        if (call->call_id != header->call_id || tx->head.tx.progress[direction] >= DCE_COMPLETE)
            continue;
        if (direction == FLOW_TO_SERVER ? call->response == dce_response_type(header->type)
                                        : call->request == dce_request_type(header->type))
            return tx;
    }
    return NULL;
}

static struct dcerpc_tx *find_or_add_call(struct app_context *context, struct dcerpc_state *state,
                                          enum flow_direction direction, const struct dce_header *header)
{
    struct dcerpc_tx *tx = find_call(context, direction, header);

    if (tx)
        return tx;
    tx = new_call(context, state, header);
    if (tx && direction == FLOW_TO_CLIENT && state->has_gap[FLOW_TO_SERVER])
        complete_direction(&tx->head.tx, FLOW_TO_SERVER);
    return tx;
}

/* --- Fragments --------------------------------------------------------------------------------------- */

static int handle_bind(struct app_context *context, struct dcerpc_state *state, const struct dce_header *header,
                       const uint8_t *body, size_t length)
{
    int err = dce_bind_parse(app_heap(context), &state->bindings, header, body, length, true);
    struct dcerpc_tx *tx = err ? NULL : new_call(context, state, header);

    if (err)
        return err;
    if (!tx)
        return -ENOMEM;
    tx->call.request = header->type;
    tx->call.response = dce_response_type(header->type);
    tx->call.has_request = true;
    tx->call.fragments[FLOW_TO_SERVER] = 1;
    complete_direction(&tx->head.tx, FLOW_TO_SERVER);
    return 0;
}

static int handle_bind_ack(struct app_context *context, struct dcerpc_state *state, const struct dce_header *header,
                           const uint8_t *body, size_t length)
{
    struct dcerpc_tx *tx;
    int err = 0;

    if (header->type != DCE_BIND_NAK)
        err = dce_bind_ack_parse(app_heap(context), &state->bindings, header, body, length, false);
    if (err)
        return err;
    tx = find_or_add_call(context, state, FLOW_TO_CLIENT, header);
    if (!tx)
        return -ENOMEM;
    dce_bindings_unref(app_heap(context), tx->call.bindings);
    tx->call.bindings = dce_bindings_ref(state->bindings);
    tx->call.response = header->type;
    tx->call.has_response = true;
    tx->call.fragments[FLOW_TO_CLIENT] = 1;
    complete_direction(&tx->head.tx, FLOW_TO_CLIENT);
    return 0;
}

static int handle_request(struct app_context *context, struct dcerpc_state *state, const struct dce_header *header,
                          const uint8_t *body, size_t length)
{
    struct dce_body request;
    struct dcerpc_tx *tx;

    if (!dce_request_read(header, body, length, &request))
        return -EINVAL;
    tx = find_or_add_call(context, state, FLOW_TO_SERVER, header);
    if (!tx)
        return -ENOMEM;
    tx->call.request = header->type;
    tx->call.has_request = tx->call.has_opnum = true;
    tx->call.context = request.context;
    tx->call.opnum = request.opnum;
    if (!dce_stub_append(app_heap(context), &tx->call, FLOW_TO_SERVER, request.stub, request.stub_length,
                         dcerpc_stub_max(context)) ||
        header->flags & DCE_LAST_FRAGMENT)
        complete_direction(&tx->head.tx, FLOW_TO_SERVER);
    return 0;
}

static int handle_response(struct app_context *context, struct dcerpc_state *state, const struct dce_header *header,
                           const uint8_t *body, size_t length)
{
    struct dce_body response;
    struct dcerpc_tx *tx;

    if (!dce_response_read(header, body, length, &response))
        return -EINVAL;
    /* Suricata includes the eight bytes before the stub data over TCP, but not in SMB pipes. */
    response.stub = body;
    response.stub_length = length;
    tx = find_or_add_call(context, state, FLOW_TO_CLIENT, header);
    if (!tx)
        return -ENOMEM;
    tx->call.response = header->type;
    tx->call.has_response = true;
    if (header->type == DCE_FAULT ||
        !dce_stub_append(app_heap(context), &tx->call, FLOW_TO_CLIENT, response.stub, response.stub_length,
                         dcerpc_stub_max(context)) ||
        header->flags & DCE_LAST_FRAGMENT)
        complete_direction(&tx->head.tx, FLOW_TO_CLIENT);
    return 0;
}

/* Handles a complete fragment of a bind, request or response. Fragments of other types (authentication, cancel,
 * shutdown) are neither inspected nor logged. Returns 0 or -errno. */
static int handle_fragment(struct app_context *context, struct dcerpc_state *state, const struct dce_header *header,
                           const uint8_t *bytes)
{
    const uint8_t *body = bytes + DCE_HEADER;
    size_t length = (size_t)header->length - DCE_HEADER;

    switch (header->type) {
    case DCE_BIND:
    case DCE_ALTER_CONTEXT:
        return handle_bind(context, state, header, body, length);
    case DCE_BIND_ACK:
    case DCE_BIND_NAK:
    case DCE_ALTER_CONTEXT_RESPONSE:
        return handle_bind_ack(context, state, header, body, length);
    case DCE_REQUEST:
        return handle_request(context, state, header, body, length);
    case DCE_RESPONSE:
    case DCE_FAULT:
        return handle_response(context, state, header, body, length);
    default:
        return 0;
    }
}

/* Returns the number of bytes before the next plausible header; if there is none, the number of leading bytes at which
 * no header starts. */
static uint32_t find_header(const uint8_t *bytes, uint32_t length)
{
    struct dce_header header;
    uint32_t at = 0;

    while (dce_header_read(bytes + at, length - at, &header) && !dce_header_is_plausible(&header))
        at++;
    return at;
}

enum { FRAME_PDU, FRAME_HDR, FRAME_DATA };
static const char *const frames[] = { [FRAME_PDU] = "pdu", [FRAME_HDR] = "hdr", [FRAME_DATA] = "data", NULL };

static struct app_result feed_stream(struct app_context *context, struct dcerpc_state *state,
                                     const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    bool *lost = &state->lost[in->direction];
    struct dce_header header;

    if (in->gap > 0) {
        *lost = state->has_gap[in->direction] = true;
        for (struct dcerpc_tx *tx = get_first_open(context), *next; tx; tx = next) {
            next = get_next_open(tx);
            if (tx->head.tx.progress[in->direction] < DCE_COMPLETE)
                complete_direction(&tx->head.tx, in->direction);
        }
    }
    for (;;) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed;

        if (*lost) {
            uint32_t skipped = find_header(at, left);

            result.consumed += skipped;
            at += skipped;
            left -= skipped;
        }
        result.needed = left > 0 ? DCE_HEADER : 0;
        if (!dce_header_read(at, left, &header))
            return result;
        *lost = false;
        if (!dce_header_is_plausible(&header))
            break;
        result.needed = header.length;
        app_frame(context, in, result.consumed, header.length, FRAME_PDU, NULL);
        app_frame(context, in, result.consumed, DCE_HEADER, FRAME_HDR, NULL);
        if (header.length > DCE_HEADER)
            app_frame(context, in, result.consumed + DCE_HEADER, header.length - DCE_HEADER, FRAME_DATA, NULL);
        if (left < header.length)
            return result;
        if (handle_fragment(context, state, &header, at))
            break;
        result.consumed += header.length;
    }
    result.status = APP_ERROR;
    return result;
}

static struct app_result dcerpc_feed(struct app_context *context, void *state, const struct app_input *in)
{
    return in->transport == APP_UDP ? dcerpc_feed_datagram(context, in) : feed_stream(context, state, in);
}

static void transfer_tx(struct app_context *context, const struct dcerpc_state *state, struct transfer *t,
                        struct dcerpc_tx *tx)
{
    uint8_t progress[FLOW_DIRECTIONS] = { tx->head.tx.progress[0], tx->head.tx.progress[1] };

    dce_call_transfer(context, t, &tx->call, state->bindings);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_u8(t, &progress[direction]);
        transfer_require(t, progress[direction] <= DCE_COMPLETE);
        if (t->reading && !t->error)
            app_tx_advance(&tx->head.tx, direction, progress[direction]);
    }
    if (!t->error)
        app_transfer_tx(context, t, &tx->head.tx);
}

static void dcerpc_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct dcerpc_state *state = data;
    uint32_t count = t->reading ? 0 : app_tx_open_count(context);

    dce_bindings_transfer(t, app_heap(context), &state->bindings);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_bool(t, &state->lost[direction]);
        transfer_bool(t, &state->has_gap[direction]);
    }
    transfer_u32(t, &count);
    struct dcerpc_tx *tx = t->reading ? NULL : get_first_open(context);

    for (uint32_t i = 0; i < count && !t->error; i++) {
        if (t->reading)
            tx = dcerpc_tx_new(context);
        if (!tx)
            return;
        struct dcerpc_tx *next = t->reading ? NULL : get_next_open(tx);

        transfer_tx(context, state, t, tx);
        tx = next;
    }
}

static void dcerpc_stop(struct app_context *context, void *data)
{
    struct dcerpc_state *state = data;

    dce_bindings_unref(app_heap(context), state->bindings);
    state->bindings = NULL;
}

static void dcerpc_tx_free(struct app_context *context, struct app_tx *tx)
{
    dce_call_clear(app_heap(context), &((struct dcerpc_tx *)tx)->call);
}

/* --- Detection --------------------------------------------------------------------------------------- */

static bool is_server_type(uint8_t type)
{
    return type == DCE_RESPONSE || type == DCE_FAULT || type == DCE_BIND_ACK || type == DCE_BIND_NAK ||
           type == DCE_ALTER_CONTEXT_RESPONSE;
}

static enum app_probe_result dcerpc_probe(const struct app_probe *in)
{
    static const uint8_t version[2] = { 5, 0 };
    struct dce_header header;

    if (in->transport == APP_UDP)
        return dcerpc_probe_datagram(in);
    for (uint32_t i = 0; i < in->length && i < sizeof(version); i++)
        if (in->bytes[i] != version[i])
            return APP_NO;
    if (!dce_header_read(in->bytes, in->length, &header))
        return APP_UNSURE;
    if (!dce_header_is_plausible(&header) || in->bytes[4] & 0xee || in->bytes[5] > 3)
        return APP_NO;
    return is_server_type(header.type) == (in->direction == FLOW_TO_CLIENT) ? APP_YES : APP_REVERSED;
}

/* --- Settings ---------------------------------------------------------------------------------------- */

static const struct setting setting_rows[] = {
    { .name = "eve.types.dcerpc",
      .type = SETTING_SECTION,
      .help = "Event type dcerpc: a DCERPC call with its response" },
    { .name = "app-layer.protocols.dcerpc.max-stub-size",
      SETTING_FIELD(dcerpc_settings, stub_max),
      .type = SETTING_SIZE,
      .default_value = "1mb",
      .low = 1024,
      .high = 4 << 20,
      .help = "Maximum number of bytes of a call's arguments or results that are reassembled from fragments" },
    { .name = "app-layer.protocols.dcerpc.max-tx",
      SETTING_FIELD(dcerpc_settings, tx_max),
      .type = SETTING_NUMBER,
      .default_value = "1024",
      .low = 1,
      .high = 4096,
      .help = "Maximum number of calls without a response; beyond it the oldest is closed" },
    { .name = NULL },
};

static const struct app_buffer buffers[] = {
    { &keyword_dcerpc_stub_data, APP_BOTH, DCE_COMPLETE, .get = dce_get_stub },
};
static const struct app_condition conditions[] = {
    { &keyword_dcerpc_iface, APP_BOTH, DCE_COMPLETE },
    { &keyword_dcerpc_opnum, APP_BOTH, DCE_COMPLETE },
};

/* Start of a datagram: version 4, type request; the reserved bits of flags2 and of the data representation are 0. */
static const struct app_message_start heads[] = {
    { UINT64_C(0xffff00fcee000000), UINT64_C(0x0400000000000000) },
};

const struct app_proto app_dcerpc = {
    .name = "dcerpc",
    .help = "DCE/RPC over TCP and UDP",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "135",
    .probe = dcerpc_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .state_size = sizeof(struct dcerpc_state),
    .stop = dcerpc_stop,
    .feed = dcerpc_feed,
    .frames = frames,
    .transfer = dcerpc_transfer,
    .accepts_gaps = true,
    .pending_max = UINT16_MAX,
    .tx_size = sizeof(struct dcerpc_tx),
    .tx_free = dcerpc_tx_free,
    .complete = { DCE_COMPLETE, DCE_COMPLETE },
    .tx_max = 8192,
    .buffers = buffers,
    .buffer_count = sizeof(buffers) / sizeof(buffers[0]),
    .conditions = conditions,
    .condition_count = sizeof(conditions) / sizeof(conditions[0]),
    .log_type = "dcerpc",
    .log_key = "dcerpc",
    .log = dce_log,
    .settings = setting_rows,
    .settings_size = sizeof(struct dcerpc_settings),
};
