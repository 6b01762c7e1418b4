/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS over UDP and TCP. On TCP each RPC message is a record (RFC 5531 §11). Only the first NFS_READ_MAX bytes of a
 * record are parsed; data of a file in the others is appended to the file as it is received, and the rest is skipped. A
 * record of several fragments is skipped.
 *
 * A gap inside such bytes does not affect the parsing of records. After any other gap the start of the next record is
 * unknown: the parser searches for the next one that starts with a header of RPC.
 */
#include <errno.h>

#include "nfs_priv.h"
#include "sluice/transfer.h"

/* As in Suricata, shorter datagrams do not identify the protocol: calls without credentials, such as those by which
 * clients find out whether there is a server, and the replies to them. */
enum { DATAGRAM_CALL = 48, DATAGRAM_REPLY = 32 };

enum { RPC_CALL = 0, RPC_REPLY = 1, RPC_VERSION = 2, RPC_ACCEPTED = 0, RPC_DENIED = 1, RPC_PROBE = 24 };

static const struct app_event events[NFS_EVENTS] = {
    [NFS_MALFORMED_DATA] = { "malformed_data", "a call or a reply is truncated or malformed" },
    [NFS_NON_EXISTING_VERSION] = { "non_existing_version", "a call has a version below 2 or above 4" },
    [NFS_UNSUPPORTED_VERSION] = { "unsupported_version", "never set; accepted for compatibility with existing rules" },
    [NFS_TOO_MANY_TRANSACTIONS] = { "too_many_transactions", "more than 1,000 calls are without a reply" },
};

/* Adds a transaction that carries only an event. Returns false if out of memory. */
static bool add_event_tx(struct app_context *context, enum flow_direction direction, enum nfs_event event)
{
    struct app_tx *tx = app_tx_new(context);

    if (!tx)
        return false;
    tx->directions = (uint8_t)(1u << direction);
    app_tx_advance(tx, direction, NFS_COMPLETE);
    tx->log_never = true;
    app_event(context, tx, event);
    return true;
}

/* --- Calls ------------------------------------------------------------------------------------------- */

static bool read_credentials(struct nfs_parse *parse, struct cursor *cur)
{
    struct nfs_tx *tx = parse->tx;
    struct cursor body, machine;

    if (!cursor_be32(cur, &tx->auth_type) || !nfs_read_opaque(cur, UINT16_MAX, &body))
        return false;
    if (tx->auth_type == RPC_AUTH_UNIX) { /* stamp, machine name, uid, gid */
        if (!cursor_skip(&body, 4) || !nfs_read_opaque(&body, NFS_NAME_MAX, &machine) ||
            !cursor_be32(&body, &tx->uid) || !cursor_be32(&body, &tx->gid))
            return false;
        nfs_store(parse, machine, &tx->machine);
    }
    return cursor_skip(cur, 4) && nfs_skip_opaque(cur); /* the verifier */
}

/* Parses a call and adds its transaction, unless the call belongs to the transaction of a file. Returns false if out of
 * memory. */
static bool handle_call(struct nfs_parse *parse, struct cursor cur)
{
    struct app_context *context = parse->context;
    struct nfs_tx call = { .xid = parse->xid };
    uint32_t rpc, program, version;

    if (!cursor_be32(&cur, &rpc) || !cursor_be32(&cur, &program) || !cursor_be32(&cur, &version) || rpc != RPC_VERSION)
        return add_event_tx(context, FLOW_TO_SERVER, NFS_MALFORMED_DATA);
    if (program != NFS_PROGRAM)
        return true;
    if (version < 2 || version > 4)
        return add_event_tx(context, FLOW_TO_SERVER, NFS_NON_EXISTING_VERSION);
    if (parse->in_datagram)
        nfs_file_forget_calls(parse);
    parse->tx = &call;
    call.version = (uint8_t)version;
    call.parsed = cursor_be32(&cur, &call.procedure) && read_credentials(parse, &cur);
    /* Arguments protected by RPCSEC_GSS may be encrypted. */
    bool ok = call.parsed && (call.auth_type == RPC_AUTH_GSS || nfs_read_call(parse, cur));
    struct nfs_tx *tx = NULL;

    if (!ok || !parse->is_file_call) {
        nfs_limit_calls(context, parse->state);
        tx = (struct nfs_tx *)app_tx_new(context);
        parse->no_memory |= !tx;
    }
    if (!tx) {
        buffer_clear(parse->heap, &call.text);
        return !parse->no_memory;
    }
    call.tx = tx->tx; /* the framework's part */
    *tx = call;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, NFS_COMPLETE);
    tx->tx.log_never = !tx->parsed;
    if (!ok && (parse->missing == 0 || !tx->parsed))
        app_event(context, &tx->tx, NFS_MALFORMED_DATA);
    return !parse->no_memory;
}

/* --- Replies ----------------------------------------------------------------------------------------- */

struct reply {
    uint32_t rpc_status, status; /* status: of the procedure */
    bool has_results, has_status;
    struct cursor results; /* after the status */
};

static struct nfs_tx *find_call(struct app_context *context, uint32_t xid)
{
    for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx))
        if (!((struct nfs_tx *)tx)->is_file && ((struct nfs_tx *)tx)->xid == xid)
            return (struct nfs_tx *)tx;
    return NULL;
}

static bool read_reply(struct cursor cur, struct reply *out)
{
    uint32_t accept_status;

    *out = (struct reply){ .rpc_status = RPC_ACCEPTED };
    if (!cursor_be32(&cur, &out->rpc_status) || out->rpc_status > RPC_DENIED)
        return false;
    if (out->rpc_status == RPC_DENIED)
        return true;
    /* the verifier first */
    if (!cursor_skip(&cur, 4) || !nfs_skip_opaque(&cur) || !cursor_be32(&cur, &accept_status))
        return false;
    out->has_results = accept_status == 0;
    out->has_status = out->has_results && cursor_be32(&cur, &out->status);
    out->results = cur;
    return true;
}

/* Parses the results for the call itself and for the files that it reads. Returns false if they are malformed. */
static bool read_results(struct nfs_parse *parse, const struct nfs_tx *file, const struct reply *reply)
{
    struct nfs_tx *tx = parse->tx;
    uint8_t version = tx ? tx->version : file->version;

    if (!reply->has_results || (tx && (tx->procedure == 0 || tx->auth_type == RPC_AUTH_GSS || !tx->parsed)))
        return true;
    if (!reply->has_status)
        return false;
    if (tx)
        tx->status = reply->status;
    if (version == 4) {
        /* The operations before the one that failed have results. */
        nfs_read_compound_reply(parse, reply->results);
        return true;
    }
    if (reply->status != 0)
        return true;
    if (tx)
        nfs_read_reply(parse, reply->results);
    return !file || file->file.direction != FLOW_TO_CLIENT || nfs_read_read_reply(parse, version, reply->results);
}

/* Assigns a reply to its call. A reply without a call is ignored: it belongs to another program, or its call was sent
 * before inspection started. Returns false if out of memory. */
static bool handle_reply(struct nfs_parse *parse, struct cursor cur)
{
    struct nfs_tx *tx = parse->tx = find_call(parse->context, parse->xid);
    struct nfs_tx *file = nfs_file_find_call(parse->context, parse->state, parse->xid);
    struct reply reply;

    if (!tx && !file)
        return true;
    bool ok = read_reply(cur, &reply);

    if (tx) {
        tx->answered = true;
        tx->rpc_status = reply.rpc_status;
    }
    if (!(ok && read_results(parse, file, &reply)))
        app_event(parse->context, tx ? &tx->tx : &file->tx, NFS_MALFORMED_DATA);
    if (tx)
        app_tx_advance(&tx->tx, FLOW_TO_CLIENT, NFS_COMPLETE);
    nfs_file_reply(parse, reply.rpc_status, reply.status);
    return !parse->no_memory;
}

/* Handles a call or a reply, of which `missing` bytes have not been received. Returns false if out of memory. */
static bool handle_message(struct app_context *context, struct nfs_state *state, enum flow_direction direction,
                           struct cursor cur, uint32_t missing, bool in_datagram)
{
    struct nfs_parse parse = {
        .context = context,
        .heap = app_heap(context),
        .state = state,
        .missing = missing,
        .in_datagram = in_datagram,
    };
    uint32_t type;

    if (!cursor_be32(&cur, &parse.xid) || !cursor_be32(&cur, &type))
        return add_event_tx(context, direction, NFS_MALFORMED_DATA);
    if (in_datagram && type <= RPC_REPLY && (type == RPC_CALL) != (direction == FLOW_TO_SERVER)) {
        direction = type == RPC_CALL ? FLOW_TO_SERVER : FLOW_TO_CLIENT; /* the direction of the flow may be wrong */
        app_report_ambiguous_direction(context);
    }
    if (type == RPC_CALL && direction == FLOW_TO_SERVER)
        return handle_call(&parse, cur);
    if (type == RPC_REPLY && direction == FLOW_TO_CLIENT)
        return handle_reply(&parse, cur);
    /* Messages of the other direction belong to callbacks and are ignored. */
    return type <= RPC_REPLY || add_event_tx(context, direction, NFS_MALFORMED_DATA);
}

/* --- Frames ------------------------------------------------------------------------------------------ */

enum {
    FRAME_RPC_PDU,
    FRAME_RPC_HDR,
    FRAME_RPC_DATA,
    FRAME_RPC_CREDS,
    FRAME_NFS_PDU,
    FRAME_NFS_STATUS,
    FRAME_NFS4_PDU,
    FRAME_NFS4_HDR,
    FRAME_NFS4_OPS,
    FRAME_NFS4_STATUS,
};
static const char *const frames[] = {
    [FRAME_RPC_PDU] = "rpc.pdu",
    [FRAME_RPC_HDR] = "rpc.hdr",
    [FRAME_RPC_DATA] = "rpc.data",
    [FRAME_RPC_CREDS] = "rpc.creds",
    [FRAME_NFS_PDU] = "nfs.pdu",
    [FRAME_NFS_STATUS] = "nfs.status",
    [FRAME_NFS4_PDU] = "nfs4.pdu",
    [FRAME_NFS4_HDR] = "nfs4.hdr",
    [FRAME_NFS4_OPS] = "nfs4.ops",
    [FRAME_NFS4_STATUS] = "nfs4.status",
    NULL,
};

/* Announces the frames of the arguments of a call, or of the result of a reply, at index `at` of the input. */
static void announce_procedure(struct app_context *context, const struct app_input *in, uint32_t at, uint32_t length,
                               unsigned version)
{
    enum { NFS4_HDR = 8, STATUS = 4 };
    bool is_reply = in->direction == FLOW_TO_CLIENT;

    app_frame(context, in, at, length, version == 4 ? FRAME_NFS4_PDU : FRAME_NFS_PDU, NULL);
    if (is_reply && length >= STATUS)
        app_frame(context, in, at, STATUS, version == 4 ? FRAME_NFS4_STATUS : FRAME_NFS_STATUS, NULL);
    if (version != 4 || length <= NFS4_HDR)
        return;
    app_frame(context, in, at, NFS4_HDR, FRAME_NFS4_HDR, NULL);
    app_frame(context, in, at + NFS4_HDR, length - NFS4_HDR, FRAME_NFS4_OPS, NULL);
}

/* Announces the frames of a message of `length` bytes at index `at` of the input, of which `received` bytes have
 * arrived. The frames of RPC include the record mark of `mark` bytes in front of it. */
static void announce_message(struct app_context *context, const struct nfs_state *state, const struct app_input *in,
                             uint32_t at, uint32_t received, uint32_t length, uint32_t mark)
{
    struct cursor cur = cursor_of(in->bytes + at, received), credentials;
    uint32_t header = 8, xid, type, word = 0, version = 0;
    const struct nfs_tx *call;

    app_frame(context, in, at - mark, length + mark, FRAME_RPC_PDU, NULL);
    if (length > header && in->direction == FLOW_TO_CLIENT) {
        app_frame(context, in, at - mark, header + mark, FRAME_RPC_HDR, NULL);
        app_frame(context, in, at + header, length - header, FRAME_RPC_DATA, NULL);
    }
    if (!cursor_be32(&cur, &xid) || !cursor_be32(&cur, &type))
        return;
    if (type == RPC_CALL) {
        uint32_t begin;

        if (!cursor_skip(&cur, 8) || !cursor_be32(&cur, &version) || !cursor_skip(&cur, 4))
            return;
        begin = (uint32_t)(cur.at - in->bytes);
        if (!cursor_be32(&cur, &word) || !nfs_read_opaque(&cur, UINT16_MAX, &credentials))
            return;
        app_frame(context, in, begin, (uint32_t)(cur.at - in->bytes) - begin, FRAME_RPC_CREDS, NULL);
    } else {
        call = find_call(context, xid);
        call = call ? call : nfs_file_find_call(context, state, xid);
        version = call ? call->version : 0;
        if (!cursor_be32(&cur, &word) || word != RPC_ACCEPTED)
            return;
    }
    if (!cursor_skip(&cur, 4) || !nfs_skip_opaque(&cur) || (type != RPC_CALL && !cursor_skip(&cur, 4))) /* verifier */
        return;
    uint32_t begin = (uint32_t)(cur.at - in->bytes);

    if (version >= 2 && version <= 4 && begin - at < length)
        announce_procedure(context, in, begin, length - (begin - at), version);
}

/* --- Records ----------------------------------------------------------------------------------------- */

/* Parses one record, or its first NFS_READ_MAX bytes; result.consumed is 0 if more bytes are required. */
static struct app_result handle_record(struct app_context *context, struct nfs_state *state, const struct app_input *in,
                                       uint32_t at)
{
    enum flow_direction direction = in->direction;
    const uint8_t *bytes = in->bytes + at;
    uint32_t left = in->length - at;
    struct app_result result = { .status = APP_OK };
    struct nfs_side *side = &state->side[direction];
    uint32_t mark = load_be32(bytes), length = mark & 0x7fffffff;
    uint32_t parsed_length = length < NFS_READ_MAX ? length : NFS_READ_MAX;
    bool is_last = mark >> 31;

    if (length > NFS_RECORD_MAX) {
        add_event_tx(context, direction, NFS_MALFORMED_DATA);
        result.status = APP_ERROR;
        return result;
    }
    if (!is_last || side->in_fragments || length == 0) {
        side->in_fragments = !is_last;
        side->skip = length;
        result.consumed = 4;
        return result;
    }
    app_frame(context, in, at, 4 + length, FRAME_RPC_PDU, NULL);
    if (left - 4 >= parsed_length && app_wants_frames(context))
        announce_message(context, state, in, at + 4, parsed_length, length, 4);
    if (left - 4 < parsed_length) {
        result.needed = 4 + parsed_length;
        return result;
    }
    side->skip = length - parsed_length;
    if (!handle_message(context, state, direction, cursor_of(bytes + 4, parsed_length), length - parsed_length, false))
        result.status = APP_ERROR;
    result.consumed = 4 + parsed_length;
    return result;
}

static bool is_call(const uint8_t *bytes)
{
    uint32_t version = load_be32(bytes + 16);

    return load_be32(bytes + 4) == RPC_CALL && load_be32(bytes + 8) == RPC_VERSION &&
           load_be32(bytes + 12) == NFS_PROGRAM && version >= 2 && version <= 4;
}

static bool is_reply(const uint8_t *bytes)
{
    return load_be32(bytes + 4) == RPC_REPLY && load_be32(bytes + 8) == RPC_ACCEPTED &&
           load_be32(bytes + 12) <= RPC_AUTH_GSS;
}

/* Searches for the next record after a gap, and clears side->lost if there is one. Returns the number of bytes before
 * it, or, without one, the number of leading bytes at which no record starts. */
static uint32_t find_record(struct nfs_side *side, enum flow_direction direction, const uint8_t *bytes, uint32_t length)
{
    uint32_t at = 0;

    for (; length - at >= 4 + RPC_PROBE; at++) {
        uint32_t mark = load_be32(bytes + at);

        if (!(mark >> 31) || (mark & 0x7fffffff) < RPC_PROBE || (mark & 0x7fffffff) > NFS_RECORD_MAX)
            continue;
        side->lost = direction == FLOW_TO_SERVER ? !is_call(bytes + at + 4) : !is_reply(bytes + at + 4);
        if (!side->lost)
            break;
    }
    return at;
}

static struct app_result feed_stream(struct app_context *context, struct nfs_state *state, const struct app_input *in)
{
    enum flow_direction direction = in->direction;
    struct nfs_side *side = &state->side[direction];
    struct app_result result = { .status = APP_OK };
    uint32_t consumed = 0;

    if (in->gap > 0) {
        uint64_t skipped = in->gap < side->skip ? in->gap : side->skip;

        nfs_file_data(context, state, direction, NULL, skipped);
        side->skip -= skipped;
        if (in->gap > skipped) {
            side->lost = true;
            side->in_fragments = false;
        }
    }
    while (result.status == APP_OK && consumed < in->length) {
        uint32_t left = in->length - consumed;
        uint32_t skipped = side->skip < left ? (uint32_t)side->skip : left;

        nfs_file_data(context, state, direction, in->bytes + consumed, skipped);
        side->skip -= skipped;
        consumed += skipped;
        if (side->lost)
            consumed += find_record(side, direction, in->bytes + consumed, in->length - consumed);
        left = in->length - consumed;
        result.needed = side->lost ? 4 + RPC_PROBE : 4;
        if (left == 0 || side->lost || left < 4)
            break;
        result = handle_record(context, state, in, consumed);
        consumed += result.consumed;
        if (result.consumed == 0)
            break;
    }
    if (consumed == in->length)
        result.needed = 0;
    result.consumed = consumed;
    if (in->end || result.status == APP_ERROR)
        nfs_files_close(context, state, direction);
    return result;
}

static struct app_result nfs_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };

    if (in->transport == APP_TCP)
        return feed_stream(context, state, in);
    if (in->length && app_wants_frames(context))
        announce_message(context, state, in, 0, in->length, in->length, 0);
    if (in->length && !handle_message(context, state, in->direction, cursor_of(in->bytes, in->length), 0, true))
        result.status = APP_ERROR;
    return result;
}

static void nfs_stop(struct app_context *context, void *state)
{
    nfs_requests_clear(app_heap(context), state);
    nfs_names_clear(app_heap(context), state);
}

static void nfs_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct nfs_tx *nfs = (struct nfs_tx *)tx;

    file_chunks_clear(app_files(context), &nfs->file.chunks);
    buffer_clear(app_heap(context), &nfs->text);
}

/* Transfers the position in the records. Names and files are not transferred: names are stored again when replies
 * contain them, and the rest of a file is inspected as a separate file, from the next read or write on. */
static void nfs_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct nfs_state *state = data;

    (void)context;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_u64(t, &state->side[direction].skip);
        transfer_bool(t, &state->side[direction].lost);
        transfer_bool(t, &state->side[direction].in_fragments);
    }
}

/* --- Detection: calls of this program on any port, replies on port 2049 only ------------------------- */

static enum app_probe_result nfs_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    bool stream = in->transport == APP_TCP;
    uint32_t mark;

    if (stream && !cursor_be32(&cur, &mark))
        return APP_UNSURE;
    if (stream && (!(mark >> 31) || (mark & 0x7fffffff) < RPC_PROBE || (mark & 0x7fffffff) > NFS_RECORD_MAX))
        return APP_NO;
    const uint8_t *bytes = cursor_peek(&cur, RPC_PROBE);

    if (!bytes)
        return stream ? APP_UNSURE : APP_NO;
    if (is_call(bytes) && (stream || in->length >= DATAGRAM_CALL))
        return in->direction == FLOW_TO_SERVER ? APP_YES : APP_REVERSED;
    if (in->port_hint && is_reply(bytes) && (stream || in->length >= DATAGRAM_REPLY))
        return in->direction == FLOW_TO_CLIENT ? APP_YES : APP_REVERSED;
    return APP_NO;
}

static bool nfs_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return ((const struct nfs_tx *)tx)->answered;
}

static const struct setting setting_rows[] = {
    { .name = "app-layer.protocols.nfs.version-2-writes",
      SETTING_FIELD(nfs_settings, has_version_2_writes),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Inspect files written with NFS version 2. Suricata inspects only files read with it" },
    { .name = "eve.types.nfs", .type = SETTING_SECTION, .help = "Event type nfs: an NFS call with its reply" },
    { .name = NULL },
};

/* The first bytes of a call: a transaction id, and RPC_CALL. */
static const struct app_message_start heads[] = {
    { UINT64_C(0x00000000ffffffff), RPC_CALL },
};

const struct app_proto app_nfs = {
    .name = "nfs",
    .help = "NFS versions 2, 3 and 4",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "2049",
    .udp_ports = "2049",
    .probe = nfs_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .state_size = sizeof(struct nfs_state),
    .stop = nfs_stop,
    .feed = nfs_feed,
    .frames = frames,
    .transfer = nfs_transfer,
    .accepts_gaps = true,
    .pending_max = 4 + NFS_READ_MAX,
    .tx_size = sizeof(struct nfs_tx),
    .tx_free = nfs_tx_free,
    .complete = { NFS_COMPLETE, NFS_COMPLETE },
    .tx_max = 2 * NFS_CALLS_MAX,
    .events = events,
    .event_count = NFS_EVENTS,
    .buffers = nfs_buffers,
    .buffer_count = NFS_BUFFERS,
    .conditions = nfs_conditions,
    .condition_count = NFS_CONDITIONS,
    .log_type = "nfs",
    .log_key = "nfs",
    .log = nfs_log,
    .log_top_level = nfs_log_rpc,
    .wants_log = nfs_wants_log,
    .logs_from_server = nfs_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct nfs_settings),
};
