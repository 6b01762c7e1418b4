/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS, SSLv3 and SSLv2: protocol detection and the protocol's table. tls_priv.h lists the source files.
 */
#include "tls_priv.h"

/* --- Protocol detection --------------------------------------------------------------------------- */

#define TO_SERVER(text)                                                                                                \
    {                                                                                                                  \
        .bytes = text, .length = 3, .direction = FLOW_TO_SERVER                                                        \
    }
#define TO_CLIENT(text)                                                                                                \
    {                                                                                                                  \
        .bytes = text, .length = 3, .direction = FLOW_TO_CLIENT                                                        \
    }

static const struct app_pattern patterns[] = {
    TO_SERVER("\x16\x03\x00"), TO_SERVER("\x16\x03\x01"), TO_SERVER("\x16\x03\x02"), TO_SERVER("\x16\x03\x03"),
    TO_SERVER("\x01\x03\x00"), TO_SERVER("\x01\x03\x01"), TO_SERVER("\x01\x03\x02"), TO_SERVER("\x01\x03\x03"),
    TO_CLIENT("\x15\x03\x00"), TO_CLIENT("\x15\x03\x01"), TO_CLIENT("\x15\x03\x02"), TO_CLIENT("\x15\x03\x03"),
    TO_CLIENT("\x16\x03\x00"), TO_CLIENT("\x16\x03\x01"), TO_CLIENT("\x16\x03\x02"), TO_CLIENT("\x16\x03\x03"),
    TO_CLIENT("\x17\x03\x00"), TO_CLIENT("\x17\x03\x01"), TO_CLIENT("\x17\x03\x02"), TO_CLIENT("\x17\x03\x03"),
};

/* Detects a ClientHello in SSLv2 format. On the usual port any version is accepted; on other ports version 2, and the
 * hellos of SSLv3 and later that servers accept (RFC 5246 appendix E.2). */
static enum app_probe_result probe_ssl2(const struct app_probe *in, struct cursor cur)
{
    uint16_t record, version, ciphers, session, challenge;
    uint8_t type;

    if (!cursor_be16(&cur, &record) || !cursor_u8(&cur, &type))
        return APP_UNSURE;
    if (type != 1)
        return APP_NO;
    if (in->port_hint)
        return APP_YES;
    if (!cursor_be16(&cur, &version))
        return APP_UNSURE;
    if (version == TLS_SSL2 >> 8)
        return APP_YES;
    if (version >> 8 != 3)
        return APP_NO;
    if (!cursor_be16(&cur, &ciphers) || !cursor_be16(&cur, &session) || !cursor_be16(&cur, &challenge))
        return APP_UNSURE;
    return ciphers > 0 && ciphers % 3 == 0 && (record & 0x7fff) == 9 + ciphers + session + challenge ? APP_YES : APP_NO;
}

enum {
    RECORDS_MAX = 64,
    CHANGE_CIPHER_SPEC = 20,
    ALERT = 21,
    HANDSHAKE = 22,
    HEARTBEAT = 24,
    LENGTH_MAX = 17 << 10,
    HELLO_BEGIN = 6, /* bytes of type, length and version */
};

/* First bytes of the handshake, reassembled from records. */
struct handshake_start {
    uint8_t bytes[HELLO_BEGIN];
    unsigned count;
    bool odd_version; /* at least one of the records has a major version other than 3 */
};

/* Whether the bytes start a ClientHello. If odd_version is set, the length and version of the hello are checked as
 * well. */
static enum app_probe_result probe_hello(const struct handshake_start *start)
{
    if (start->count == 0)
        return APP_UNSURE;
    if (start->bytes[0] != 1)
        return APP_NO;
    if (!start->odd_version)
        return APP_YES;
    if (start->count < HELLO_BEGIN)
        return APP_UNSURE;
    uint32_t length = load_be32(start->bytes) & 0xffffff;

    return length >= TLS_HELLO_MIN && length <= TLS_MESSAGE_MAX && start->bytes[4] >= 3 ? APP_YES : APP_NO;
}

/*
 * Reads records up to the first handshake bytes, which must be a ClientHello. Before the hello, servers accept records
 * of any version (RFC 8446 appendix D permits any minor version; Go and NSS ignore the major one, too), records of
 * length 0, and some servers warning alerts. The usual versions are detected by patterns.
 */
static enum app_probe_result probe_records(struct cursor cur)
{
    struct handshake_start start = { .count = 0 };

    for (unsigned i = 0; i < RECORDS_MAX; i++) {
        uint8_t type, major, minor;
        uint16_t length;
        enum app_probe_result guess;

        if (!cursor_u8(&cur, &type))
            return APP_UNSURE;
        if (type < CHANGE_CIPHER_SPEC || type > HEARTBEAT)
            return APP_NO;
        if (!cursor_u8(&cur, &major) || !cursor_u8(&cur, &minor) || !cursor_be16(&cur, &length))
            return APP_UNSURE;
        start.odd_version |= major != 3;
        if (length > LENGTH_MAX)
            return APP_NO;
        for (; type == HANDSHAKE && length > 0 && start.count < HELLO_BEGIN; length--)
            if (!cursor_u8(&cur, &start.bytes[start.count]))
                break;
            else
                start.count++;
        guess = probe_hello(&start);
        if (guess != APP_UNSURE)
            return guess;
        if (!cursor_skip(&cur, length))
            return APP_UNSURE;
    }
    return APP_NO;
}

/* APP_NO would also exclude detection by pattern, so it is not returned before the three bytes of a pattern have been
 * received. */
static enum app_probe_result probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    const uint8_t *bytes = cursor_peek(&cur, 3);

    if (!bytes)
        return APP_UNSURE;
    if (in->direction != FLOW_TO_SERVER)
        return APP_NO;
    return bytes[0] & 0x80 ? probe_ssl2(in, cur) : probe_records(cur);
}

/* --- Cleanup -------------------------------------------------------------------------------------- */

static void free_state(struct app_context *context, void *data)
{
    struct tls_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        buffer_clear(app_heap(context), &state->reader[direction].message);
}

static void free_tx(struct app_context *context, struct app_tx *base)
{
    struct tls_tx *tx = (struct tls_tx *)base;
    struct heap *heap = app_heap(context);

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        tls_free_hello(heap, &tx->side[direction].hello);
        tls_free_certificates(heap, &tx->side[direction].certificates);
        tls_free_fingerprints(heap, tx->side[direction].fingerprints);
    }
}

/* --- Names ---------------------------------------------------------------------------------------- */

const char *const tls_applications[] = { "tls", NULL };
static const char *const tls_aliases[] = { "ssl", NULL };

static const char *const client_steps[] = { "client_in_progress",    "client_hello_done", "client_cert_done",
                                            "client_handshake_done", "client_finished",   NULL };
static const char *const server_steps[] = { "server_in_progress",
                                            "server_hello",
                                            "server_cert_done",
                                            "server_hello_done",
                                            "server_handshake_done",
                                            "server_finished",
                                            NULL };

/* In the order of enum tls_event. Names are in upper case because EVE events contain them in upper case. Rules may use
 * any case. */
static const struct app_event events[] = {
    { "INVALID_SSLV2_HEADER", "empty SSLv2 record" },
    { "INVALID_TLS_HEADER", "never set; accepted for compatibility with existing rules" },
    { "INVALID_RECORD_VERSION", "unknown record version" },
    { "INVALID_RECORD_TYPE", "unknown record type" },
    { "INVALID_RECORD_LENGTH", "record of length 0 or longer than 17,408 bytes" },
    { "INVALID_HANDSHAKE_MESSAGE", "handshake message of unknown type, invalid, or in the wrong direction" },
    { "HEARTBEAT_MESSAGE", "never set; accepted for compatibility with existing rules" },
    { "INVALID_HEARTBEAT_MESSAGE",
      "heartbeat of unknown type, with too little padding, or before the response to the previous one" },
    { "OVERFLOW_HEARTBEAT_MESSAGE", "heartbeat request longer than its record (CVE-2014-0160)" },
    { "DATALEAK_HEARTBEAT_MISMATCH", "response to an encrypted heartbeat is longer than the request" },
    { "HANDSHAKE_INVALID_LENGTH", "length in a hello exceeds the message, or message longer than 132 KiB" },
    { "MULTIPLE_SNI_EXTENSIONS", "ClientHello with more than one server name extension" },
    { "INVALID_SNI_TYPE", "server name of a type other than host name" },
    { "INVALID_SNI_LENGTH", "server name empty or longer than 255 bytes" },
    { "TOO_MANY_RECORDS_IN_PACKET", "never set; accepted for compatibility with existing rules" },
    { "INVALID_ALERT_MESSAGE", "truncated alert" },
    { "INVALID_CERTIFICATE", "truncated certificate or chain" },
    { "CERTIFICATE_INVALID_LENGTH", "certificate truncated within its first headers" },
    { "CERTIFICATE_INVALID_VERSION", "invalid certificate version" },
    { "CERTIFICATE_INVALID_SERIAL", "invalid certificate serial number" },
    { "CERTIFICATE_INVALID_ALGORITHMIDENTIFIER", "invalid certificate algorithm identifier" },
    { "CERTIFICATE_INVALID_X509NAME", "invalid certificate issuer or subject" },
    { "CERTIFICATE_INVALID_DATE", "invalid certificate validity period" },
    { "CERTIFICATE_INVALID_EXTENSIONS", "invalid certificate extensions" },
    { "CERTIFICATE_INVALID_DER", "invalid DER structure of a certificate" },
    { "CERTIFICATE_INVALID_SUBJECT", "never set: certificate_invalid_x509name is set instead" },
    { "CERTIFICATE_INVALID_ISSUER", "never set: certificate_invalid_x509name is set instead" },
    { "CERTIFICATE_INVALID_VALIDITY", "never set: certificate_invalid_date is set instead" },
    { "ERROR_MESSAGE_ENCOUNTERED", "SSLv2 error message" },
    { "TOO_MANY_SUBJECT_ALTERNATIVE_NAMES",
      "certificate with 4,096 or more subject alternative names; the rest is not inspected" },
    { "INVALID_SSL_RECORD", "truncated SSLv2 ClientHello" },
    { "CERTIFICATE_MISSING_ELEMENT", "never set; accepted for compatibility with existing rules" },
    { "CERTIFICATE_UNKNOWN_ELEMENT", "never set; accepted for compatibility with existing rules" },
    { "CERTIFICATE_INVALID_STRING", "never set; accepted for compatibility with existing rules" },
};
_Static_assert(sizeof(events) / sizeof(events[0]) == TLS_EVENT_COUNT, "an event for each of enum tls_event");

static const struct app_condition conditions[] = {
    { &keyword_tls_version, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_tls_version, APP_TO_CLIENT, TLS_SERVER_HELLO },
    { &keyword_ssl_version, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_ssl_version, APP_TO_CLIENT, TLS_SERVER_HELLO },
    { &keyword_ssl_state, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_ssl_state, APP_TO_CLIENT, TLS_SERVER_HELLO },
    { &keyword_tls_subject, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_issuerdn, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_fingerprint, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_chain_len, APP_TO_SERVER, TLS_CLIENT_CERT_DONE },
    { &keyword_tls_cert_chain_len, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_notbefore, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_notafter, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_expired, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_valid, APP_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_store, APP_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_tls_store, APP_TO_CLIENT, TLS_SERVER_HELLO },
};

static const char *const frames[] = {
    [TLS_FRAME_PDU] = "pdu",
    [TLS_FRAME_HDR] = "hdr",
    [TLS_FRAME_DATA] = "data",
    [TLS_FRAME_ALERT] = "alert",
    [TLS_FRAME_HEARTBEAT] = "heartbeat",
    [TLS_FRAME_SSL2_HDR] = "ssl2.hdr",
    [TLS_FRAME_SSL2_PDU] = "ssl2.pdu",
    [TLS_FRAME_COUNT] = NULL,
};

const struct app_proto app_tls = {
    .name = "tls",
    .words = tls_aliases,
    .help = "TLS 1.0 to 1.3, SSLv3 and SSLv2 (handshake)",
    .transports = APP_TCP,
    .tcp_ports = "443",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = probe,
    .probe_any_port = true,
    .parsed_alongside = true, /* the first bytes of TLS may also be a DNS message over TCP */
    .state_size = sizeof(struct tls_state),
    .stop = free_state,
    .feed = tls_feed,
    .transfer = tls_transfer,
    .tx_size = sizeof(struct tls_tx),
    .tx_free = free_tx,
    .complete = { TLS_CLIENT_FINISHED, TLS_SERVER_FINISHED },
    .steps = { client_steps, server_steps },
    .frames = frames,
    .events = events,
    .event_count = TLS_EVENT_COUNT,
    .buffers = tls_buffers,
    .buffer_count = TLS_BUFFER_COUNT,
    .conditions = conditions,
    .condition_count = sizeof(conditions) / sizeof(conditions[0]),
    .script_value = tls_script_value,
    .log_type = "tls",
    .log_key = "tls",
    .log_progress = { TLS_CLIENT_HANDSHAKE_DONE, TLS_SERVER_HANDSHAKE_DONE },
    .log = tls_log,
    .get_chain = tls_get_chain,
    .wants_log = tls_is_logged,
    .settings = tls_settings_table,
    .settings_size = sizeof(struct tls_settings),
    .configure = tls_configure,
};
