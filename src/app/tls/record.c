/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record layer. A record is parsed when it is complete, except for application data, which is skipped as it arrives.
 * The result therefore does not depend on segment boundaries.
 *
 * A record whose first byte has one of the two high bits set is SSLv2: TLS has no such record types. Clients of the
 * SSLv3 era start with a ClientHello in an SSLv2 record and continue with SSLv3.
 *
 * Application data ends the handshake. Depending on the setting encryption-handling, parsing then stops, the flow is
 * bypassed, or heartbeats and alerts are still parsed.
 */
#include <errno.h>

#include "tls_priv.h"

enum {
    RECORD_HEADER = 5,
    RECORD_MAX = (1 << 14) + 1024, /* RFC 5246 §6.2.3 allows 2^14 + 2,048, Suricata 2^14 + 1,024 */
    ALERT_FATAL = 2,
    HEARTBEAT_HEADER = 3,
    HEARTBEAT_PADDING = 16, /* RFC 6520 §4 */
};

enum record_type {
    RECORD_CHANGE_CIPHER_SPEC = 20,
    RECORD_ALERT,
    RECORD_HANDSHAKE,
    RECORD_APPLICATION,
    RECORD_HEARTBEAT,
};

/* --- Progress ------------------------------------------------------------------------------------- */

void tls_finish(const struct tls_parser *parser)
{
    tls_advance(parser, FLOW_TO_SERVER, TLS_CLIENT_FINISHED);
    tls_advance(parser, FLOW_TO_CLIENT, TLS_SERVER_FINISHED);
    parser->state->finished = true;
}

void tls_handshake_done(const struct tls_parser *parser)
{
    tls_advance(parser, FLOW_TO_SERVER, TLS_CLIENT_HANDSHAKE_DONE);
    tls_advance(parser, FLOW_TO_CLIENT, TLS_SERVER_HANDSHAKE_DONE);
}

/* --- Record types --------------------------------------------------------------------------------- */

/*
 * Handles ChangeCipherSpec, which starts encryption in its direction. It has no effect before the hello of the
 * direction. It does not start encryption in TLS 1.3 (RFC 8446 appendix D.4), where a second ClientHello may follow,
 * nor as long as the peers have no keys: before a ServerHello or a client key exchange.
 */
static void handle_change_cipher_spec(const struct tls_parser *parser)
{
    const bool from_client = parser->direction == FLOW_TO_SERVER;
    const unsigned flags = parser->tx->flags;

    if (!(flags & (from_client ? TLS_SAW_CLIENT_HELLO : TLS_SAW_SERVER_HELLO)))
        return;
    if (flags & TLS_SAW_CLIENT_KEY || (flags & (TLS_SAW_SERVER_HELLO | TLS_NO_CERTIFICATE)) == TLS_SAW_SERVER_HELLO)
        tls_reader_of(parser)->encrypted = true;
    tls_advance(parser, parser->direction, from_client ? TLS_CLIENT_HANDSHAKE_DONE : TLS_SERVER_HANDSHAKE_DONE);
}

static int handle_alert(const struct tls_parser *parser, struct cursor body)
{
    uint8_t level = 0;

    if (cursor_remaining(&body) < 2) {
        tls_event(parser, TLS_INVALID_ALERT_MESSAGE);
        return -EINVAL;
    }
    /* Longer alerts are encrypted. A server's alert before any ClientHello does not end the handshake. */
    if (cursor_remaining(&body) == 2 && cursor_u8(&body, &level) && level == ALERT_FATAL &&
        (parser->direction == FLOW_TO_SERVER || parser->tx->flags & TLS_SAW_CLIENT_HELLO))
        tls_finish(parser);
    return 0;
}

/* Handles a heartbeat (RFC 6520). After the handshake the type of a heartbeat (request or response) is encrypted.
 * Therefore a heartbeat counts as a response if a request is pending, otherwise as a request. */
static int handle_heartbeat(const struct tls_parser *parser, struct cursor body)
{
    enum { REQUEST = 1, RESPONSE = 2 };
    struct tls_state *state = parser->state;
    const bool encrypted = state->reader[FLOW_TO_SERVER].encrypted || state->reader[FLOW_TO_CLIENT].encrypted;
    const uint32_t length = (uint32_t)cursor_remaining(&body);
    uint16_t payload = 0;
    uint8_t type;

    if (length < HEARTBEAT_HEADER || !cursor_u8(&body, &type) || !cursor_be16(&body, &payload))
        return 0;
    if (!encrypted && type != REQUEST && type != RESPONSE) {
        tls_event(parser, TLS_INVALID_HEARTBEAT_MESSAGE);
        return -EINVAL;
    }
    if (state->heartbeat) {
        const bool leaks = encrypted && state->heartbeat_length > 0 && state->heartbeat_length < length;

        if (state->heartbeat_from == parser->direction) { /* a second request of the same side before the response */
            tls_event(parser, TLS_INVALID_HEARTBEAT_MESSAGE);
            return -EINVAL;
        }
        state->heartbeat = false;
        state->heartbeat_length = 0;
        if (leaks)
            tls_event(parser, TLS_DATALEAK_HEARTBEAT_MISMATCH);
        return leaks ? -EINVAL : 0;
    }
    state->heartbeat = true;
    state->heartbeat_from = (uint8_t)parser->direction;
    if (encrypted) {
        state->heartbeat_length = length;
        return 0;
    }
    if ((uint32_t)payload + HEARTBEAT_HEADER > length) { /* payload beyond the record: Heartbleed, CVE-2014-0160 */
        tls_event(parser, TLS_OVERFLOW_HEARTBEAT_MESSAGE);
        return -EINVAL;
    }
    if (length - payload - HEARTBEAT_HEADER < HEARTBEAT_PADDING) {
        tls_event(parser, TLS_INVALID_HEARTBEAT_MESSAGE);
        return -EINVAL;
    }
    return 0;
}

/* --- Records of SSLv3 and TLS --------------------------------------------------------------------- */

static enum tls_encrypted encryption_handling(const struct tls_parser *parser)
{
    const struct tls_settings *settings = app_get_settings(parser->context);

    return settings->encrypted;
}

/* Stops parsing the flow, because further data is encrypted; bypasses the flow if configured. */
static void stop_parsing(const struct tls_parser *parser)
{
    parser->state->finished = true;
    app_stop_parsing(parser->context, true);
    if (encryption_handling(parser) == TLS_ENCRYPTED_BYPASS)
        app_allow_bypass(parser->context);
}

static void handle_application_data(const struct tls_parser *parser)
{
    unsigned flags = parser->tx->flags;

    if ((flags & TLS_EARLY_DATA) && !(flags & TLS_SAW_SERVER_HELLO)) /* 0-RTT data: the handshake continues */
        return;
    tls_handshake_done(parser);
    /* As in Suricata, frames of encrypted records are inspected unless the flow is to be bypassed. */
    if (encryption_handling(parser) == TLS_ENCRYPTED_BYPASS ||
        (encryption_handling(parser) != TLS_ENCRYPTED_FULL && !app_wants_frames(parser->context)))
        stop_parsing(parser);
}

struct record {
    uint8_t type;
    uint16_t version, length;
};

/* Validates a record header. Returns 0, 1 if the record must be skipped, or -EINVAL. */
static int check_header(const struct tls_parser *parser, const struct record *record)
{
    struct tls_side *side = tls_side_of(parser);
    uint16_t previous_version = side->version;
    unsigned hello = parser->direction == FLOW_TO_SERVER ? TLS_SAW_CLIENT_HELLO : TLS_SAW_SERVER_HELLO;

    if (record->type < RECORD_CHANGE_CIPHER_SPEC || record->type > RECORD_HEARTBEAT) {
        tls_event(parser, TLS_INVALID_RECORD_TYPE);
        /* As in Suricata, records of an unknown type are skipped in TLS 1.0 and 1.1, and an error in other versions. */
        return previous_version == TLS_10 || previous_version == TLS_11 ? 1 : -EINVAL;
    }
    if (record->length == 0 || record->length > RECORD_MAX) {
        tls_event(parser, TLS_INVALID_RECORD_LENGTH);
        if (record->length > 0)
            return -EINVAL;
    }
    if (!(parser->tx->flags & hello) || previous_version == TLS_VERSION_NONE)
        side->version = record->version;
    /* Parsing continues: OpenSSL and GnuTLS check the major version only, NSS and Go do not check the version. */
    if (!tls_version_is_known(side->version))
        tls_event(parser, TLS_INVALID_RECORD_VERSION);
    return 0;
}

static int handle_record(struct tls_parser *parser, uint8_t type, struct cursor body)
{
    switch (type) {
    case RECORD_CHANGE_CIPHER_SPEC:
        handle_change_cipher_spec(parser);
        return 0;
    case RECORD_ALERT:
        return handle_alert(parser, body);
    case RECORD_HANDSHAKE:
        return tls_reader_of(parser)->encrypted ? 0 : tls_handshake_bytes(parser, body);
    default:
        return handle_heartbeat(parser, body);
    }
}

/* Announces the frames of the record that begins at *cur. */
static void announce_record(const struct tls_parser *parser, const struct cursor *cur, const struct record *record)
{
    const struct app_input *in = parser->in;
    uint32_t at = in->length - (uint32_t)cursor_remaining(cur);
    unsigned contents = record->type == RECORD_ALERT       ? TLS_FRAME_ALERT
                        : record->type == RECORD_HEARTBEAT ? TLS_FRAME_HEARTBEAT
                                                           : TLS_FRAME_DATA;

    app_frame(parser->context, in, at, RECORD_HEADER, TLS_FRAME_HDR, &parser->tx->tx);
    app_frame(parser->context, in, at + RECORD_HEADER, record->length, TLS_FRAME_DATA, &parser->tx->tx);
    app_frame(parser->context, in, at, (uint64_t)RECORD_HEADER + record->length, TLS_FRAME_PDU, &parser->tx->tx);
    if (contents != TLS_FRAME_DATA)
        app_frame(parser->context, in, at + RECORD_HEADER, record->length, contents, &parser->tx->tx);
}

/* Parses one record. Returns 0, -EAGAIN with *needed if it is incomplete, or another -errno. */
static int read_record(struct tls_parser *parser, struct cursor *cur, uint32_t *needed)
{
    struct cursor at = *cur;
    struct record record;

    *needed = RECORD_HEADER;
    if (!cursor_u8(&at, &record.type) || !cursor_be16(&at, &record.version) || !cursor_be16(&at, &record.length))
        return -EAGAIN;
    announce_record(parser, cur, &record);
    int result = check_header(parser, &record);

    if (result < 0)
        return result;
    bool is_skipped = result > 0;

    if (record.length == 0) { /* servers ignore empty records */
        *cur = at;
        return 0;
    }
    if (is_skipped || record.type == RECORD_APPLICATION) {
        tls_reader_of(parser)->skip = record.length;
        *cur = at;
        if (!is_skipped)
            handle_application_data(parser);
        return 0;
    }
    const uint8_t *body = cursor_read(&at, record.length);

    *needed = (uint32_t)RECORD_HEADER + record.length;
    if (!body)
        return -EAGAIN;
    *cur = at;
    return handle_record(parser, record.type, cursor_of(body, record.length));
}

/* --- SSLv2 ---------------------------------------------------------------------------------------- */

enum ssl2_type { SSL2_ERROR, SSL2_CLIENT_HELLO, SSL2_CLIENT_MASTER_KEY, SSL2_CLIENT_FINISHED, SSL2_SERVER_HELLO };

static int handle_ssl2_message(const struct tls_parser *parser, struct cursor body)
{
    uint8_t type;

    if (!cursor_u8(&body, &type)) {
        tls_event(parser, TLS_INVALID_SSLV2_HEADER);
        return -EINVAL;
    }
    if (type == SSL2_CLIENT_HELLO && parser->direction == FLOW_TO_SERVER) {
        uint16_t version, ciphers, session;

        if (!cursor_be16(&body, &version) || !cursor_be16(&body, &ciphers) || !cursor_be16(&body, &session)) {
            tls_event(parser, TLS_INVALID_SSL_RECORD);
            return -EINVAL;
        }
        parser->tx->flags |= TLS_SAW_CLIENT_HELLO;
        tls_side_of(parser)->version = version;
        tls_advance(parser, FLOW_TO_SERVER, TLS_CLIENT_HELLO_DONE);
        return 0;
    }
    if (type == SSL2_ERROR)
        tls_event(parser, TLS_ERROR_MESSAGE_ENCOUNTERED);
    if (type == SSL2_CLIENT_MASTER_KEY && parser->direction == FLOW_TO_SERVER) {
        parser->tx->flags |= TLS_SAW_CLIENT_KEY;
        if (parser->tx->flags & TLS_SAW_SERVER_HELLO) { /* all later records are encrypted, with their message types */
            tls_handshake_done(parser);
            parser->state->finished = true;
            if (encryption_handling(parser) != TLS_ENCRYPTED_FULL)
                stop_parsing(parser);
        }
    }
    if (type == SSL2_SERVER_HELLO && parser->direction == FLOW_TO_CLIENT) {
        parser->tx->flags |= TLS_SAW_SERVER_HELLO;
        tls_advance(parser, FLOW_TO_CLIENT, TLS_SERVER_HELLO);
    }
    return 0;
}

/* Parses one SSLv2 record. Its header has two bytes, or three bytes of which the last one contains the padding
 * length. */
static int read_ssl2_record(const struct tls_parser *parser, struct cursor *cur, uint32_t *needed)
{
    struct cursor at = *cur;
    uint16_t word;
    uint8_t padding = 0;

    *needed = *at.at & 0x80 ? 2 : 3;
    if (!cursor_be16(&at, &word) || (!(word & 0x8000) && !cursor_u8(&at, &padding)))
        return -EAGAIN;
    uint32_t header = word & 0x8000 ? 2 : 3, length = word & (word & 0x8000 ? 0x7fff : 0x3fff);
    const uint8_t *body = cursor_read(&at, length);
    uint32_t begin = parser->in->length - (uint32_t)cursor_remaining(cur);

    app_frame(parser->context, parser->in, begin, header, TLS_FRAME_SSL2_HDR, &parser->tx->tx);
    app_frame(parser->context, parser->in, begin, header + length, TLS_FRAME_SSL2_PDU, &parser->tx->tx);
    tls_side_of(parser)->version = TLS_SSL2;
    if (length == 0) {
        tls_event(parser, TLS_INVALID_SSLV2_HEADER);
        return -EINVAL;
    }
    *needed = header + length;
    if (!body)
        return -EAGAIN;
    *cur = at;
    return handle_ssl2_message(parser, cursor_of(body, length));
}

/* --- Parser entry --------------------------------------------------------------------------------- */

static void skip_record_bytes(struct tls_reader *reader, struct cursor *cur)
{
    uint32_t count = cursor_remaining(cur) < reader->skip ? (uint32_t)cursor_remaining(cur) : reader->skip;

    cursor_skip(cur, count);
    reader->skip -= count;
}

/* Parses all complete records. Returns 0, -EAGAIN if the last one is incomplete, or another -errno. */
static int read_records(struct tls_parser *parser, struct cursor *cur, uint32_t *needed)
{
    struct tls_reader *reader = tls_reader_of(parser);
    int err = 0;

    skip_record_bytes(reader, cur);
    while (err == 0 && !parser->state->finished && cursor_remaining(cur) > 0) {
        struct tls_side *side = tls_side_of(parser);

        if (*cur->at & 0xc0 && !side->hello.body.bytes) { /* after a TLS hello this is a record of unknown type */
            err = read_ssl2_record(parser, cur, needed);
        } else {
            if (side->version == TLS_SSL2)
                side->version = TLS_VERSION_NONE;
            err = read_record(parser, cur, needed);
        }
        skip_record_bytes(reader, cur);
    }
    return err;
}

struct tls_tx *tls_transaction(struct app_context *context, struct tls_state *state, int *err)
{
    struct tls_tx *tx = (struct tls_tx *)app_tx_last(context);

    if (tx || state->has_transaction)
        return tx;
    tx = tls_new_transaction(context);
    if (!tx) {
        *err = -ENOMEM;
        return NULL;
    }
    state->has_transaction = true;
    return tx;
}

struct tls_tx *tls_new_transaction(struct app_context *context)
{
    const struct tls_settings *settings = app_get_settings(context);
    struct tls_tx *tx = (struct tls_tx *)app_tx_new(context);

    if (!tx)
        return NULL;
    tx->heap = app_heap(context);
    tx->ja3_off = settings->ja3 == TLS_FINGERPRINT_NEVER;
    tx->ja4_off = settings->ja4 == TLS_FINGERPRINT_NEVER;
    tx->from_proto = (uint8_t)app_original_protocol(app_context_flow(context));
    return tx;
}

struct app_result tls_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct tls_parser parser = { .context = context, .state = state, .in = in, .direction = in->direction };
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct cursor cur = cursor_of(in->length > 0 ? in->bytes : (const uint8_t *)"", in->length);
    int err = 0;

    if (parser.state->finished)
        return result;
    parser.tx = tls_transaction(context, state, &err);
    if (!parser.tx) {
        parser.state->finished = true;
        result.status = err ? APP_ERROR : APP_OK;
        return result;
    }
    err = read_records(&parser, &cur, &result.needed);
    if (err == -EAGAIN)
        result.consumed = in->length - (uint32_t)cursor_remaining(&cur);
    else
        result.needed = 0;
    if (err && err != -EAGAIN)
        result.status = APP_ERROR;
    if (in->end)
        tls_advance(&parser, in->direction,
                    in->direction == FLOW_TO_SERVER ? TLS_CLIENT_FINISHED : TLS_SERVER_FINISHED);
    return result;
}
