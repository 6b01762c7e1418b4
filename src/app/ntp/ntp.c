/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NTP versions 3 and 4 over UDP. Requests and responses are not paired: each message is a transaction of one direction.
 * The bytes after the header (extension fields, MAC) are ignored. A datagram that is not an NTP message sets an event.
 *
 * Messages of modes 6 and 7 (control, private) have another format. Most of them are malformed data to this parser, as
 * in Suricata, because they have another version or fewer bytes than an NTP header.
 */
#include <string.h>

#include "ntp_priv.h"
#include "sluice/bytes.h"

static const struct app_event events[NTP_EVENTS] = {
    [NTP_UNSOLICITED_RESPONSE] = { "unsolicited_response", "never set; exists for rules that use it" },
    [NTP_MALFORMED_DATA] = { "malformed_data", "a message is truncated, or its version is neither 3 nor 4" },
    [NTP_NOT_REQUEST] = { "not_request", "never set; exists for rules that use it" },
    [NTP_NOT_RESPONSE] = { "not_response", "never set; exists for rules that use it" },
};

struct header {
    uint8_t version, mode, stratum;
    const uint8_t *reference;
};

static bool read_header(const uint8_t *bytes, size_t length, struct header *out)
{
    struct cursor cur = cursor_of(bytes, length);
    const uint8_t *header = cursor_read(&cur, NTP_HEADER_LENGTH);

    if (!header)
        return false;
    out->version = header[0] >> 3 & 7;
    out->mode = header[0] & 7;
    out->stratum = header[1];
    out->reference = header + 12;
    return out->version == 3 || out->version == 4;
}

static struct app_result ntp_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct header header;

    (void)state;
    if (in->length == 0)
        return result;
    struct ntp_tx *tx = (struct ntp_tx *)app_tx_new(context);

    if (!tx) {
        result.status = APP_ERROR;
        return result;
    }
    tx->tx.directions = (uint8_t)(1u << in->direction);
    app_tx_advance(&tx->tx, in->direction, NTP_COMPLETE);
    tx->parsed = read_header(in->bytes, in->length, &header);
    if (!tx->parsed) {
        tx->tx.log_never = true;
        app_event(context, &tx->tx, NTP_MALFORMED_DATA);
        return result;
    }
    tx->version = header.version;
    tx->mode = header.mode;
    tx->stratum = header.stratum;
    memcpy(tx->reference, header.reference, NTP_REFERENCE_LENGTH);
    return result;
}

/* If the first message of a flow is a response from port 123, the request was sent before inspection started: client
 * and server are swapped. */
static enum app_probe_result ntp_probe(const struct app_probe *in)
{
    struct header header;

    if (!read_header(in->bytes, in->length, &header))
        return APP_NO;
    bool from_server = in->direction == FLOW_TO_CLIENT;
    uint16_t source = from_server ? in->server_port : in->client_port;
    uint16_t destination = from_server ? in->client_port : in->server_port;

    if (!from_server && header.mode == NTP_SERVER && source == NTP_PORT && destination != NTP_PORT)
        return APP_REVERSED;
    return APP_YES;
}

static void ntp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct ntp_tx *ntp = (const struct ntp_tx *)tx;

    (void)settings;
    if (!ntp->parsed)
        return;
    fields_uint(out, "version", ntp->version);
    fields_uint(out, "mode", ntp->mode);
    fields_uint(out, "stratum", ntp->stratum);
    fields_colon_hex(out, "reference_id", ntp->reference, NTP_REFERENCE_LENGTH);
}

static bool ntp_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.ntp", .type = SETTING_SECTION, .help = "Event type ntp: an NTP message" },
    { .name = NULL },
};

const struct app_proto app_ntp = {
    .name = "ntp",
    .help = "NTP 3 and 4",
    .transports = APP_UDP,
    .udp_ports = "123",
    .probe = ntp_probe,
    .feed = ntp_feed,
    .tx_size = sizeof(struct ntp_tx),
    .complete = { NTP_COMPLETE, NTP_COMPLETE },
    .events = events,
    .event_count = NTP_EVENTS,
    .buffers = ntp_buffers,
    .buffer_count = NTP_BUFFERS,
    .conditions = ntp_conditions,
    .condition_count = NTP_CONDITIONS,
    .log_type = "ntp",
    .log_key = "ntp",
    .log = ntp_log,
    .logs_from_server = ntp_logs_from_server,
    .settings = setting_rows,
};
