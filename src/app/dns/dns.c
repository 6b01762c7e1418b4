/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS over UDP and TCP. Each message is a transaction of one direction. Requests and responses are not paired: no rule
 * needs it, and retransmitted requests and responses from other addresses are common.
 *
 * A message with an impossible header is skipped, unless its first question can be parsed: dnsmasq answers the question
 * regardless of the counts in the header. If queries or answers are malformed, rules inspect the records before the
 * error, and only the event is logged. On a TCP connection the length field locates the next message even after a
 * malformed one, because servers answer a malformed message and continue reading. After a gap, parsing continues at the
 * next bytes that look like a message with one query.
 *
 * If the QR bit of a datagram contradicts the direction of its flow, the transaction belongs to both directions: the
 * first datagram of the flow, which determined the direction, may have been forged.
 */
#include <errno.h>
#include <string.h>

#include "dns_priv.h"
#include "sluice/transfer.h"
#include "sluice/bytes.h"

const struct app_event dns_events[DNS_EVENTS] = {
    [DNS_MALFORMED_DATA] = { "malformed_data", "a query or an answer is truncated or malformed" },
    [DNS_NOT_REQUEST] = { "not_request", "the client sent a response" },
    [DNS_NOT_RESPONSE] = { "not_response", "the server sent a request" },
    [DNS_Z_FLAG_SET] = { "z_flag_set", "the reserved bit of the header is set" },
    [DNS_INVALID_OPCODE] = { "invalid_opcode", "the opcode is not assigned" },
    [DNS_NAME_TOO_LONG] = { "name_too_long",
                            "a name is longer than 1,025 bytes, or the names of the message together exceed 256 KiB" },
    [DNS_INFINITE_LOOP] = { "infinite_loop", "a name contains a pointer to itself" },
    [DNS_TOO_MANY_LABELS] = { "too_many_labels", "a name has more than 255 labels and pointers" },
    [DNS_INVALID_ADDITIONALS] = { "invalid_additionals", "the additional section is malformed" },
    [DNS_INVALID_AUTHORITIES] = { "invalid_authorities", "the authority section is malformed" },
    [DNS_UNSOLICITED_RESPONSE] = { "unsolicited_response", "never set; exists for old rules" },
    [DNS_STATE_MEMCAP_REACHED] = { "state_memcap_reached", "never set; exists for old rules" },
    [DNS_FLOODED] = { "flooded", "never set; exists for old rules" },
};

void dns_tx_free(struct app_context *context, struct app_tx *tx)
{
    dns_tx_clear(app_heap(context), (struct dns_tx *)tx);
}

unsigned dns_header_events(uint16_t flags, enum flow_direction direction, bool multicast)
{
    bool response = flags & DNS_RESPONSE;
    unsigned events = 0;

    if (!multicast && response && direction == FLOW_TO_SERVER)
        events |= 1u << DNS_NOT_REQUEST;
    if (!multicast && !response && direction == FLOW_TO_CLIENT)
        events |= 1u << DNS_NOT_RESPONSE;
    if (flags & DNS_Z)
        events |= 1u << DNS_Z_FLAG_SET;
    if ((flags >> 11 & 15) >= 7)
        events |= 1u << DNS_INVALID_OPCODE;
    return events;
}

enum message_result { MESSAGE_OK, MESSAGE_SKIPPED, MESSAGE_NO_MEMORY };

static enum message_result handle_message(struct app_context *context, enum flow_direction direction, bool multicast,
                                          const uint8_t *bytes, uint32_t length)
{
    struct dns_header header;
    struct dns_question question;
    unsigned events = 0;
    bool possible = dns_parse_header(bytes, length, length, &header);

    if (!possible && (length < DNS_HEADER_LENGTH || !dns_parse_first_question(bytes, length, &header, &question)))
        return MESSAGE_SKIPPED;
    struct dns_tx *tx = (struct dns_tx *)app_tx_new(context);

    if (!tx)
        return MESSAGE_NO_MEMORY;
    int err = dns_parse(app_heap(context), tx, &header, bytes, length, &events);

    tx->response = multicast ? header.flags & DNS_RESPONSE : direction == FLOW_TO_CLIENT;
    tx->tx.directions = (uint8_t)(1u << direction);
    app_tx_advance(&tx->tx, direction, DNS_COMPLETE);
    unsigned header_events = dns_header_events(header.flags, direction, multicast);

    if (!err)
        events |= header_events;
    if (header_events & (1u << DNS_NOT_REQUEST | 1u << DNS_NOT_RESPONSE)) {
        tx->tx.directions = APP_BOTH;
        app_tx_advance(&tx->tx, !direction, DNS_COMPLETE);
        app_report_ambiguous_direction(context);
    }
    tx->parsed = err != -ENOMEM;
    tx->tx.only_events = err || !possible || events >> DNS_NOT_REQUEST & 1;
    if (!tx->parsed)
        dns_tx_clear(app_heap(context), tx);
    for (unsigned i = 0; i < DNS_EVENTS; i++)
        if (events >> i & 1)
            app_event(context, &tx->tx, i);
    if (err == -ENOMEM)
        return MESSAGE_NO_MEMORY;
    return MESSAGE_OK;
}

/* A message, over TCP without the length in front of it. */
enum { FRAME_PDU };
static const char *const frames[] = { [FRAME_PDU] = "pdu", NULL };

static struct app_result feed_datagram(struct app_context *context, const struct app_input *in, bool multicast)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };

    if (in->length && !multicast)
        app_frame(context, in, 0, in->length, FRAME_PDU, NULL);

    if (in->length && handle_message(context, in->direction, multicast, in->bytes, in->length) == MESSAGE_NO_MEMORY)
        result.status = APP_ERROR;
    return result;
}

enum { RESUME_BYTES = 2 + DNS_HEADER_LENGTH + 1 }; /* the length field, the header, and the length of the first label */

/* After a gap: whether the first RESUME_BYTES look like the start of a message with one query. */
static bool is_message_start(const uint8_t *bytes)
{
    uint32_t length = load_be16(bytes);
    uint8_t label = bytes[RESUME_BYTES - 1];
    struct dns_header header;

    if (length < DNS_HEADER_LENGTH + DNS_RECORD_MIN || !dns_parse_header(bytes + 2, DNS_HEADER_LENGTH, length, &header))
        return false;
    return header.count[DNS_QUERIES] == 1 && !(header.flags & DNS_Z) && (header.flags >> 11 & 15) < 7 && label > 0 &&
           label < 64;
}

/* Returns the offset of the next message and sets *found. If there is none, returns the first offset at which more
 * bytes are needed to decide. Each byte is a candidate, so that the result does not depend on segmentation. */
static uint32_t find_message_start(const uint8_t *bytes, uint32_t length, bool *found)
{
    uint32_t at = 0;

    for (; length - at >= RESUME_BYTES; at++) {
        *found = is_message_start(bytes + at);
        if (*found)
            break;
    }
    return at;
}

static struct app_result feed_stream(struct app_context *context, struct dns_state *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };

    if (in->gap)
        state->lost_start[in->direction] = true;
    if (state->lost_start[in->direction]) {
        bool found = false;

        result.consumed = find_message_start(in->bytes, in->length, &found);
        if (!found)
            return result;
        state->lost_start[in->direction] = false;
    }
    while (in->length - result.consumed >= 2) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t length = load_be16(at);

        if (length > 0)
            app_frame(context, in, result.consumed + 2, length, FRAME_PDU, NULL);
        if (in->length - result.consumed < 2 + length) {
            result.needed = 2 + length;
            return result;
        }
        if (length && handle_message(context, in->direction, false, at + 2, length) == MESSAGE_NO_MEMORY) {
            result.status = APP_ERROR;
            return result;
        }
        result.consumed += 2 + length;
    }
    result.needed = in->length > result.consumed ? 2 : 0;
    return result;
}

struct app_result dns_feed(struct app_context *context, void *state, const struct app_input *in)
{
    return in->transport == APP_TCP ? feed_stream(context, state, in) : feed_datagram(context, in, false);
}

struct app_result dns_feed_multicast(struct app_context *context, void *state, const struct app_input *in)
{
    (void)state;
    return feed_datagram(context, in, true);
}

/* A transaction is complete with its message, so no transactions are transferred. */
void dns_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct dns_state *state = data;

    (void)context;
    transfer_bool(t, &state->lost_start[FLOW_TO_SERVER]);
    transfer_bool(t, &state->lost_start[FLOW_TO_CLIENT]);
}

/* --- Detection --------------------------------------------------------------------------------------- */

static enum app_probe_result get_direction(const struct app_probe *in, const struct dns_header *header)
{
    bool from_server = header->flags & DNS_RESPONSE;

    return from_server == (in->direction == FLOW_TO_CLIENT) ? APP_YES : APP_REVERSED;
}

enum {
    PROBE_STREAM_MAX = 4096, /* bytes of a message on TCP; for a longer message the probe tests the header only */
    QUESTIONS_MAX = 15,
    QUESTION_MAX = 512, /* bytes within which the first question must end, with the targets of its pointers */
    DNS_PORT = 53,
};

/* The first message, as far as it has been received. */
struct first_message {
    const uint8_t *bytes;
    uint32_t length, whole; /* number of bytes received, and of the whole message */
    struct dns_header header;
    bool possible; /* the counts in the header are possible for this length */
    bool is_datagram;
};

/* Parses the header of the first message into *out. Returns false if the header is incomplete. */
static bool parse_first_message(const struct app_probe *in, struct first_message *out)
{
    uint32_t prefix = in->transport == APP_TCP ? 2 : 0;

    if (in->length < prefix + DNS_HEADER_LENGTH)
        return false;
    out->bytes = in->bytes + prefix;
    out->length = out->whole = in->length - prefix;
    out->is_datagram = prefix == 0;
    if (prefix) {
        out->whole = load_be16(in->bytes);
        if (out->length > out->whole)
            out->length = out->whole;
    }
    out->possible = dns_parse_header(out->bytes, out->length, out->whole, &out->header);
    return true;
}

/* Parses the first question within the first `limit` bytes, so that the result does not depend on segmentation. Returns
 * false if it is malformed or incomplete. */
static bool parse_question(const struct first_message *message, uint32_t limit, struct dns_question *out)
{
    uint32_t length = message->length < limit ? message->length : limit;

    return dns_parse_first_question(message->bytes, length, &message->header, out) &&
           !(out->incomplete && length < message->whole);
}

enum app_probe_result dns_probe_lenient(const struct app_probe *in)
{
    struct first_message message;
    struct dns_question question;

    if (!parse_first_message(in, &message))
        return in->transport == APP_TCP ? APP_UNSURE : APP_NO;
    if (message.whole < DNS_HEADER_LENGTH)
        return APP_NO;
    if (in->transport == APP_TCP &&
        !message.possible) /* on these ports the bytes are parsed in any case (continues_after_errors) */
        return APP_NO;
    if (parse_question(&message, UINT16_MAX, &question))
        return get_direction(in, &message.header);
    if (!message.possible)
        return APP_NO;
    /* A longer message on TCP is accepted by its header alone. */
    if (message.whole <= PROBE_STREAM_MAX || in->transport == APP_UDP) {
        if (message.length < message.whole)
            return APP_UNSURE;
        if (!dns_is_well_formed(message.bytes, message.whole, &message.header))
            return APP_NO;
    }
    return get_direction(in, &message.header);
}

/* Whether resolvers usually send messages with such flags, counts and types. */
static bool is_usual(const struct dns_header *header, const struct dns_question *question)
{
    unsigned opcode = header->flags >> 11 & 15;

    if ((opcode != 0 && opcode != 4 && opcode != 5) || header->flags & DNS_Z || header->count[DNS_QUERIES] != 1)
        return false;
    if (!(header->flags & DNS_RESPONSE) && header->flags & DNS_RCODE)
        return false;
    return question->type > 0 && question->type <= 260;
}

/* Whether the class is IN, CH, HS, NONE or ANY. The highest bit is ignored, because mDNS uses it as a flag. */
static bool class_is_known(uint16_t class)
{
    class &= 0x7fff;
    return class == 1 || class == 3 || class == 4 || class == 254 || class == 255;
}

/*
 * Whether a message on a port other than those of DNS is accepted. Two of three conditions must hold: the name has
 * printable bytes only; resolvers send such flags and types (is_usual()); the whole message is well-formed. Servers
 * also answer messages that are unusual in one respect, so not all three are required unless the class is unknown.
 */
static bool is_plausible(const struct first_message *message, const struct dns_question *question)
{
    bool usual = is_usual(&message->header, question);

    bool well_formed = message->possible && message->length == message->whole &&
                       (message->is_datagram || message->whole <= PROBE_STREAM_MAX) &&
                       dns_is_well_formed(message->bytes, message->whole, &message->header);

    if (!class_is_known(question->class))
        return question->printable && usual && well_formed;
    return question->printable ? usual || well_formed : usual && well_formed;
}

/* Whether the server's port is that of NetBIOS, mDNS or LLMNR, whose messages have the format of DNS. Which of the two
 * ports is the server's is determined by the QR bit (`response`). */
static bool is_other_protocol(const struct app_probe *in, bool response)
{
    bool to_client = in->direction == FLOW_TO_CLIENT;
    uint16_t port = to_client == response ? in->server_port : in->client_port;

    return port == 137 || port == 5353 || port == 5355;
}

static enum app_probe_result probe_strict(const struct app_probe *in)
{
    struct first_message message;
    struct dns_question question;

    if (!parse_first_message(in, &message))
        return in->transport == APP_TCP &&
                       (in->length < 2 || load_be16(in->bytes) >= DNS_HEADER_LENGTH + DNS_RECORD_MIN)
                   ? APP_UNSURE
                   : APP_NO;
    if (message.whole < DNS_HEADER_LENGTH + DNS_RECORD_MIN ||
        is_other_protocol(in, message.header.flags & DNS_RESPONSE) || message.header.count[DNS_QUERIES] == 0)
        return APP_NO;
    if (!parse_question(&message, DNS_HEADER_LENGTH + QUESTION_MAX, &question))
        return message.length < message.whole && message.length < DNS_HEADER_LENGTH + QUESTION_MAX &&
                       message.header.count[DNS_QUERIES] <= QUESTIONS_MAX
                   ? APP_UNSURE /* more bytes may complete the question */
                   : APP_NO;
    if (question.labels == 0 || message.header.count[DNS_QUERIES] > QUESTIONS_MAX)
        return APP_NO;
    if (is_plausible(&message, &question))
        return get_direction(in, &message.header);
    return message.possible && message.length < message.whole && message.whole <= PROBE_STREAM_MAX ? APP_UNSURE
                                                                                                   : APP_NO;
}

static enum app_probe_result dns_probe(const struct app_probe *in)
{
    return in->port_hint || in->client_port == DNS_PORT ? dns_probe_lenient(in) : probe_strict(in);
}

static const char *const event_aliases[] = { "not_a_request", "not_request", "not_a_response", "not_response", NULL };

/* probe_strict() accepts at most QUESTIONS_MAX queries, so the upper 12 bits of QDCOUNT are 0. */
static const struct app_message_start heads[] = {
    { UINT64_C(0x00000000fff00000), 0 },
};

const struct app_proto app_dns = {
    .name = "dns",
    .help = "DNS over UDP and TCP",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "53",
    .udp_ports = "53",
    .probe = dns_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .continues_after_errors = true,
    .state_size = sizeof(struct dns_state),
    .feed = dns_feed,
    .frames = frames,
    .transfer = dns_transfer,
    .accepts_gaps = true,
    .pending_max = 2 + UINT16_MAX,
    .tx_max = 4096,
    .tx_size = sizeof(struct dns_tx),
    .tx_free = dns_tx_free,
    .complete = { DNS_COMPLETE, DNS_COMPLETE },
    .events = dns_events,
    .event_count = DNS_EVENTS,
    .event_aliases = event_aliases,
    .buffers = dns_buffers,
    .buffer_count = DNS_BUFFERS,
    .conditions = dns_conditions,
    .condition_count = DNS_CONDITIONS,
    .script_value = dns_script_value,
    .log_type = "dns",
    .log_key = "dns",
    .log = dns_log,
    .describe = dns_log_alert,
    .log_own = dns_log_own,
    .wants_log = dns_wants_log,
    .logs_from_server = dns_logs_from_server,
    .settings = dns_setting_rows,
    .settings_size = sizeof(struct dns_settings),
    .configure = dns_configure,
};
