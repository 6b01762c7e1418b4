/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kerberos 5 over UDP and TCP; on TCP a 32-bit length precedes each message. A malformed message sets its event and is
 * skipped, because the length gives the position of the next one. AP-REQ and AP-REP, which clients and services
 * exchange inside other protocols, are ignored.
 */
#include <errno.h>

#include "krb5_priv.h"
#include "sluice/der.h"
#include "sluice/transfer.h"

struct krb5_state {
    uint8_t request; /* type of the last message if it was a request, otherwise 0 */
};

static const struct app_event events[KRB5_EVENTS] = {
    [KRB5_MALFORMED_DATA] = { "malformed_data", "a message is malformed or too long" },
    [KRB5_WEAK_ENCRYPTION] = { "weak_encryption", "a reply is encrypted with neither AES nor Camellia" },
};

static struct krb5_tx *new_tx(struct app_context *context, enum flow_direction direction)
{
    struct krb5_tx *tx = (struct krb5_tx *)app_tx_new(context);

    if (!tx)
        return NULL;
    tx->tx.directions = (uint8_t)(1u << direction);
    app_tx_advance(&tx->tx, direction, KRB5_COMPLETE);
    return tx;
}

static void mark_malformed(struct app_context *context, struct krb5_tx *tx)
{
    tx->tx.log_never = true;
    app_event(context, &tx->tx, KRB5_MALFORMED_DATA);
}

static bool add_malformed_tx(struct app_context *context, enum flow_direction direction)
{
    struct krb5_tx *tx = new_tx(context, direction);

    if (tx)
        mark_malformed(context, tx);
    return tx != NULL;
}

static bool is_parsed_type(uint8_t type)
{
    return (type >= KRB5_AS_REQ && type <= KRB5_TGS_REP) || type == KRB5_ERROR;
}

static bool is_request(uint8_t type)
{
    return type == KRB5_AS_REQ || type == KRB5_TGS_REQ || type == KRB5_AP_REQ;
}

/* Handles a message whose DER header has been parsed. Returns false if out of memory. */
static bool handle_content(struct app_context *context, struct krb5_state *state, enum flow_direction direction,
                           uint8_t type, const struct cursor *content)
{
    struct krb5_tx *tx = is_parsed_type(type) ? new_tx(context, direction) : NULL;
    int err = 0;

    if (is_parsed_type(type) && !tx)
        return false;
    if (tx) {
        tx->type = type;
        tx->request = type == KRB5_ERROR ? state->request : 0;
        err = krb5_parse(app_heap(context), tx, content->at, (uint32_t)cursor_remaining(content));
        tx->parsed = !err;
        if (err)
            mark_malformed(context, tx);
        else if (tx->has_encryption && krb5_is_weak(tx->encryption))
            app_event(context, &tx->tx, KRB5_WEAK_ENCRYPTION);
    }
    state->request = is_request(type) ? type : 0;
    return err != -ENOMEM;
}

static bool handle_message(struct app_context *context, struct krb5_state *state, enum flow_direction direction,
                           const uint8_t *bytes, uint32_t length)
{
    struct cursor cur = cursor_of(bytes, length);
    struct der_header header;

    if (der_read_header(&cur, DER_DEFINITE, &header) != DER_OK)
        return add_malformed_tx(context, direction);
    if ((header.identifier & 0xc0) != 0x40) /* not of class APPLICATION: no Kerberos message */
        return true;
    return handle_content(context, state, direction, (uint8_t)header.number, &cur);
}

static struct app_result feed_stream(struct app_context *context, struct krb5_state *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };

    while (in->length - result.consumed >= 4) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t length = load_be32(at);

        if (length > KRB5_RECORD_MAX) {
            add_malformed_tx(context, in->direction);
            result.status = APP_ERROR;
            return result;
        }
        if (in->length - result.consumed - 4 < length) {
            result.needed = 4 + length;
            return result;
        }
        if (length && !handle_message(context, state, in->direction, at + 4, length)) {
            result.status = APP_ERROR;
            return result;
        }
        result.consumed += 4 + length;
    }
    result.needed = in->length > result.consumed ? 4 : 0;
    return result;
}

/* Whether the message type in the tag contradicts the direction of the flow. */
static bool contradicts_direction(const struct app_input *in)
{
    return in->length > 0 && (in->bytes[0] & 0xe0) == DER_APPLICATION_CONSTRUCTED &&
           is_request(in->bytes[0] & 0x1f) != (in->direction == FLOW_TO_SERVER);
}

static struct app_result krb5_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };

    if (in->transport == APP_TCP)
        return feed_stream(context, data, in);
    if (contradicts_direction(in))
        app_report_ambiguous_direction(context);
    if (in->length && !handle_message(context, data, in->direction, in->bytes, in->length))
        result.status = APP_ERROR;
    return result;
}

static void krb5_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct krb5_state *state = data;

    (void)context;
    transfer_u8(t, &state->request);
}

static void krb5_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct krb5_tx *)tx)->text);
}

/* --- Detection --------------------------------------------------------------------------------------- */

static enum app_probe_result expect_bytes(struct cursor *cur, const uint8_t *expected, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        uint8_t byte;

        if (!cursor_u8(cur, &byte))
            return APP_UNSURE;
        if (byte != expected[i])
            return APP_NO;
    }
    return APP_YES;
}

static enum app_probe_result expect_header(struct cursor *cur, uint8_t *tag)
{
    struct der_header header;

    switch (der_read_header(cur, DER_DEFINITE, &header)) {
    case DER_OK:
        *tag = header.identifier;
        return APP_YES;
    case DER_TRUNCATED:
        return APP_UNSURE;
    default:
        return APP_NO;
    }
}

/* Checks the start of a message: the application tag, which is the message type, and a SEQUENCE whose first two fields
 * are the version (pvno) and again the message type (msg-type). */
static enum app_probe_result probe_message_start(struct cursor cur, uint8_t *type)
{
    static const uint8_t version[] = { 3, 2, 1, 5 };
    uint8_t tag = 0, field;
    enum app_probe_result guess = expect_header(&cur, &tag);

    if (guess != APP_YES)
        return guess;
    *type = tag & 0x1f;
    if ((tag & 0xe0) != DER_APPLICATION_CONSTRUCTED ||
        !(is_parsed_type(*type) || *type == KRB5_AP_REQ || *type == KRB5_AP_REP))
        return APP_NO;
    guess = expect_header(&cur, &tag);
    if (guess != APP_YES || tag != DER_SEQUENCE)
        return guess == APP_YES ? APP_NO : guess;
    if (!cursor_u8(&cur, &field))
        return APP_UNSURE;
    if (field != DER_CONTEXT_CONSTRUCTED && field != (DER_CONTEXT_CONSTRUCTED | 1))
        return APP_NO;
    guess = expect_bytes(&cur, version, sizeof(version));
    if (guess != APP_YES)
        return guess;
    const uint8_t own_type[] = { (uint8_t)(field + 1), 3, 2, 1, *type };

    return expect_bytes(&cur, own_type, sizeof(own_type));
}

/* The tests of probe_message_start() are strict enough for any port. */
static enum app_probe_result krb5_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    uint32_t record;
    uint8_t type = 0;

    if (in->transport == APP_TCP && !cursor_be32(&cur, &record))
        return APP_UNSURE;
    if (in->transport == APP_TCP && record > KRB5_RECORD_FIRST)
        return APP_NO;
    enum app_probe_result guess = probe_message_start(cur, &type);

    if (guess != APP_YES)
        return in->transport == APP_TCP ? guess : APP_NO;
    return is_request(type) == (in->direction == FLOW_TO_SERVER) ? APP_YES : APP_REVERSED;
}

static bool krb5_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.krb5",
      .type = SETTING_SECTION,
      .help = "Event type krb5: a Kerberos request, its reply or an error" },
    { .name = NULL },
};

/* The application tag, followed by either a length of one byte and the tag of a SEQUENCE, or a longer length. */
static const struct app_message_start heads[] = {
    { UINT64_C(0xe080ff0000000000), UINT64_C(0x6000300000000000) },
    { UINT64_C(0xe080000000000000), UINT64_C(0x6080000000000000) },
};

const struct app_proto app_krb5 = {
    .name = "krb5",
    .help = "Kerberos 5: clients and key distribution centers",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "88",
    .udp_ports = "88",
    .probe = krb5_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .state_size = sizeof(struct krb5_state),
    .feed = krb5_feed,
    .transfer = krb5_transfer,
    .pending_max = 4 + KRB5_RECORD_MAX,
    .tx_size = sizeof(struct krb5_tx),
    .tx_free = krb5_tx_free,
    .complete = { KRB5_COMPLETE, KRB5_COMPLETE },
    .tx_max = 8192, /* more than the number of messages of minimum size that can arrive at once */
    .events = events,
    .event_count = KRB5_EVENTS,
    .buffers = krb5_buffers,
    .buffer_count = KRB5_BUFFERS,
    .conditions = krb5_conditions,
    .condition_count = KRB5_CONDITIONS,
    .log_type = "krb5",
    .log_key = "krb5",
    .log = krb5_log,
    .logs_from_server = krb5_logs_from_server,
    .settings = setting_rows,
};
