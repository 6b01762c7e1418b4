/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS, SSLv3 and SSLv2: the protocol's table. See tls_priv.h for where what is.
 */
#include "tls_priv.h"

/* --- How it is found ------------------------------------------------------------------------------ */

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

/* A ClientHello of SSLv2: any on the usual port, elsewhere one of version 2, or of SSLv3 and later in the form that
 * servers accept (RFC 5246 appendix E.2). */
static enum app_guess probe_ssl2(const struct app_probe *in, struct cursor cur)
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
    HELLO_BEGIN = 6, /* bytes: type, length, version */
};

/* The first bytes of the handshake, out of the records. */
struct begun {
    uint8_t bytes[HELLO_BEGIN];
    unsigned count;
    bool odd_version; /* a record with a major version other than 3 */
};

/* In records of another version the hello is read as far as its version: two bytes would say too little. */
static enum app_guess is_hello(const struct begun *begun)
{
    if (begun->count == 0)
        return APP_UNSURE;
    if (begun->bytes[0] != 1)
        return APP_NO;
    if (!begun->odd_version)
        return APP_YES;
    if (begun->count < HELLO_BEGIN)
        return APP_UNSURE;
    uint32_t length = load_be32(begun->bytes) & 0xffffff;

    return length >= TLS_HELLO_MIN && length <= TLS_MESSAGE_MAX && begun->bytes[4] >= 3 ? APP_YES : APP_NO;
}

/*
 * Records up to the first with bytes of a handshake, which must be a ClientHello. Servers accept any version in records
 * before the hello (RFC 8446 appendix D has it for the minor one; Go and NSS look at neither), records of length 0, and
 * some of them warnings. The usual versions are patterns.
 */
static enum app_guess probe_records(struct cursor cur)
{
    struct begun begun = { .count = 0 };

    for (unsigned i = 0; i < RECORDS_MAX; i++) {
        uint8_t type, major, minor;
        uint16_t length;
        enum app_guess guess;

        if (!cursor_u8(&cur, &type))
            return APP_UNSURE;
        if (type < CHANGE_CIPHER_SPEC || type > HEARTBEAT)
            return APP_NO;
        if (!cursor_u8(&cur, &major) || !cursor_u8(&cur, &minor) || !cursor_be16(&cur, &length))
            return APP_UNSURE;
        begun.odd_version |= major != 3;
        if (length > LENGTH_MAX)
            return APP_NO;
        for (; type == HANDSHAKE && length > 0 && begun.count < HELLO_BEGIN; length--)
            if (!cursor_u8(&cur, &begun.bytes[begun.count]))
                break;
            else
                begun.count++;
        guess = is_hello(&begun);
        if (guess != APP_UNSURE)
            return guess;
        if (!cursor_skip(&cur, length))
            return APP_UNSURE;
    }
    return APP_NO;
}

/* A no would hold for the patterns, too: they need three bytes. */
static enum app_guess probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    const uint8_t *bytes = cursor_peek(&cur, 3);

    if (!bytes)
        return APP_UNSURE;
    if (in->direction != FLOW_TO_SERVER)
        return APP_NO;
    return bytes[0] & 0x80 ? probe_ssl2(in, cur) : probe_records(cur);
}

/* --- The flow's end ------------------------------------------------------------------------------- */

static void stop(struct app_context *context, void *data)
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
        tls_free_prints(heap, tx->side[direction].prints);
    }
}

/* --- Names ---------------------------------------------------------------------------------------- */

const char *const tls_words[] = { "tls", NULL };
static const char *const other_words[] = { "ssl", NULL };

static const char *const client_steps[] = { "client_in_progress",    "client_hello_done", "client_cert_done",
                                            "client_handshake_done", "client_finished",   NULL };
static const char *const server_steps[] = { "server_in_progress",
                                            "server_hello",
                                            "server_cert_done",
                                            "server_hello_done",
                                            "server_handshake_done",
                                            "server_finished",
                                            NULL };

/* By enum tls_event. */
static const struct app_event events[] = {
    { "invalid_sslv2_header", "a record of SSLv2 is empty" },
    { "invalid_tls_header", "a record's header is broken; kept for rules, and never set" },
    { "invalid_record_version", "a record has a version that there is not" },
    { "invalid_record_type", "a record has a type that there is not" },
    { "invalid_record_length", "a record is empty or too long" },
    { "invalid_handshake_message", "a handshake message has a type that there is not, or can't be read" },
    { "heartbeat_message", "a heartbeat; kept for rules, and never set" },
    { "invalid_heartbeat_message",
      "a heartbeat of another type, with too little padding, or before the last was answered" },
    { "overflow_heartbeat_message", "a heartbeat asks for more than it has (CVE-2014-0160)" },
    { "dataleak_heartbeat_mismatch", "the answer to an encrypted heartbeat is longer than the request" },
    { "handshake_invalid_length", "a length in a hello reaches beyond it, or a message is longer than 132 KiB" },
    { "multiple_sni_extensions", "a ClientHello has more than one server name extension" },
    { "invalid_sni_type", "the server name is no host name" },
    { "invalid_sni_length", "the server name is empty or longer than 255 bytes" },
    { "too_many_records_in_packet", "kept for rules, and never set: records are not counted by packets" },
    { "invalid_alert_message", "an alert is too short" },
    { "invalid_certificate", "a certificate or its chain breaks off" },
    { "certificate_invalid_length", "a certificate ends where it has hardly begun" },
    { "certificate_invalid_version", "a certificate's version can't be read" },
    { "certificate_invalid_serial", "a certificate's serial number can't be read" },
    { "certificate_invalid_algorithmidentifier", "a certificate's algorithm can't be read" },
    { "certificate_invalid_x509name", "a certificate's issuer or subject can't be read" },
    { "certificate_invalid_date", "a certificate's validity can't be read" },
    { "certificate_invalid_extensions", "a certificate's extensions can't be read" },
    { "certificate_invalid_der", "a certificate's structure can't be read" },
    { "certificate_invalid_subject", "kept for rules, and never set: see certificate_invalid_x509name" },
    { "certificate_invalid_issuer", "kept for rules, and never set: see certificate_invalid_x509name" },
    { "certificate_invalid_validity", "kept for rules, and never set: see certificate_invalid_date" },
    { "error_message_encountered", "an error message of SSLv2" },
    { "too_many_subject_alternative_names", "a certificate has 4,096 alternative names or more: the rest is not seen" },
    { "invalid_ssl_record", "a ClientHello of SSLv2 is too short" },
    { "certificate_missing_element", "kept for old rules, and never set" },
    { "certificate_unknown_element", "kept for old rules, and never set" },
    { "certificate_invalid_string", "kept for old rules, and never set" },
};
_Static_assert(sizeof(events) / sizeof(events[0]) == TLS_EVENT_COUNT, "an event for each of enum tls_event");

static const struct app_condition conditions[] = {
    { &keyword_tls_version, FLOW_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_tls_version, FLOW_TO_CLIENT, TLS_SERVER_HELLO },
    { &keyword_ssl_version, FLOW_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_ssl_version, FLOW_TO_CLIENT, TLS_SERVER_HELLO },
    { &keyword_ssl_state, FLOW_TO_SERVER, TLS_CLIENT_HELLO_DONE },
    { &keyword_ssl_state, FLOW_TO_CLIENT, TLS_SERVER_HELLO },
    { &keyword_tls_subject, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_issuerdn, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_fingerprint, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_chain_len, FLOW_TO_SERVER, TLS_CLIENT_CERT_DONE },
    { &keyword_tls_cert_chain_len, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_notbefore, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_notafter, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_expired, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
    { &keyword_tls_cert_valid, FLOW_TO_CLIENT, TLS_SERVER_CERT_DONE },
};

const struct app_proto app_tls = {
    .name = "tls",
    .words = other_words,
    .help = "TLS 1.0 to 1.3, SSLv3, SSLv2: the handshake",
    .transports = APP_TCP,
    .tcp_ports = "443",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = probe,
    .probe_any_port = true,
    .joins_others = true, /* its first bytes may be those of a message of DNS over TCP */
    .state_size = sizeof(struct tls_state),
    .stop = stop,
    .feed = tls_feed,
    .transfer = tls_transfer,
    .tx_size = sizeof(struct tls_tx),
    .tx_free = free_tx,
    .complete = { TLS_CLIENT_FINISHED, TLS_SERVER_FINISHED },
    .steps = { client_steps, server_steps },
    .events = events,
    .event_count = TLS_EVENT_COUNT,
    .buffers = tls_buffers,
    .buffer_count = TLS_BUFFER_COUNT,
    .conditions = conditions,
    .condition_count = sizeof(conditions) / sizeof(conditions[0]),
    .log_type = "tls",
    .log_key = "tls",
    .log_progress = { TLS_CLIENT_HANDSHAKE_DONE, TLS_SERVER_HANDSHAKE_DONE },
    .log = tls_log,
    .wants_log = tls_wants_log,
    .settings = tls_settings_table,
    .configure = tls_configure,
    .unconfigure = tls_unconfigure,
};
