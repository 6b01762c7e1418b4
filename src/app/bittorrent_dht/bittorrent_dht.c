/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BitTorrent's distributed hash table (BEP 5, BEP 32). Each datagram is a bencoded dictionary: a request, a response or
 * an error. Both peers send requests, so each message is a transaction in its own direction. The datagram is stored;
 * values are spans of it.
 */
#include <string.h>

#include "sluice/address.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

enum { DHT_COMPLETE = 1 };
enum { DHT_MALFORMED_PACKET, DHT_EVENTS };
enum {
    DEPTH_MAX = 16, /* nested lists and dictionaries */
    NODE_ID = 20,
    NODES_MAX = 256, /* logged nodes or values of a message */
};

/* Values of a message, in the order of `keys`. */
enum value {
    VALUE_TRANSACTION,
    VALUE_TYPE,
    VALUE_METHOD,
    VALUE_VERSION,
    VALUE_ERROR,
    VALUE_ARGUMENTS,
    VALUE_RESPONSE,
    /* in the arguments or the response */
    VALUE_ID,
    VALUE_TARGET,
    VALUE_INFO_HASH,
    VALUE_TOKEN,
    VALUE_IMPLIED_PORT,
    VALUE_PORT,
    VALUE_NODES,
    VALUE_NODES6,
    VALUE_VALUES,
    VALUES,
};

struct span32 {
    uint32_t at, length; /* location in dht_tx.packet */
    bool is_present;
};

struct dht_tx {
    struct app_tx tx;
    uint8_t type; /* q, r or e; 0: unknown, nothing is logged */
    struct span32 value[VALUES];
    struct buffer packet;
};

static const struct app_event events[DHT_EVENTS] = {
    [DHT_MALFORMED_PACKET] = { "malformed_packet", "a datagram is no valid message" },
};

/* --- Bencoding ---------------------------------------------------------------------------------------- */

/* Consumes decimal digits up to `end`. */
static bool read_number(struct cursor *cur, char end, bool may_be_negative, int64_t *out)
{
    bool negative = false;
    unsigned digits = 0;
    int64_t number = 0;
    uint8_t byte;

    while (cursor_u8(cur, &byte)) {
        if (byte == (uint8_t)end && digits > 0) {
            *out = negative ? -number : number;
            return true;
        }
        if (byte == '-' && may_be_negative && digits == 0 && !negative) {
            negative = true;
            continue;
        }
        if (byte < '0' || byte > '9' || ++digits > 18)
            return false;
        number = number * 10 + (byte - '0');
    }
    return false;
}

static bool read_string(struct cursor *cur, struct cursor *out)
{
    int64_t length;

    if (!read_number(cur, ':', false, &length) || (uint64_t)length > cursor_remaining(cur))
        return false;
    *out = cursor_of(cur->at, (size_t)length);
    return cursor_skip(cur, (size_t)length);
}

/* Consumes a value of any type. */
static bool skip_value(struct cursor *cur)
{
    unsigned depth = 0;
    const uint8_t *next;
    struct cursor text;
    int64_t number;

    do {
        next = cursor_peek(cur, 1);
        if (!next)
            return false;
        if (*next == 'd' || *next == 'l') {
            if (++depth > DEPTH_MAX)
                return false;
            cursor_skip(cur, 1);
        } else if (*next == 'e') {
            if (depth == 0)
                return false;
            depth--;
            cursor_skip(cur, 1);
        } else if (*next == 'i') {
            cursor_skip(cur, 1);
            if (!read_number(cur, 'e', true, &number))
                return false;
        } else if (!read_string(cur, &text)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static const char *const top_keys[] = {
    [VALUE_TRANSACTION] = "t", [VALUE_TYPE] = "y",      [VALUE_METHOD] = "q",  [VALUE_VERSION] = "v",
    [VALUE_ERROR] = "e",       [VALUE_ARGUMENTS] = "a", [VALUE_RESPONSE] = "r"
};
static const char *const inner_keys[] = { "id",   "target", "info_hash", "token", "implied_port",
                                          "port", "nodes",  "nodes6",    "values" };

/* Parses a dictionary and stores the spans of the values whose keys are known, without the length before strings. */
static bool parse_dictionary(struct dht_tx *tx, struct cursor *cur, const char *const *keys, unsigned count,
                             struct span32 *out)
{
    const uint8_t *start = tx->packet.bytes;
    uint8_t byte;

    if (!cursor_u8(cur, &byte) || byte != 'd')
        return false;
    for (;;) {
        const uint8_t *next = cursor_peek(cur, 1);
        struct cursor key, value, text;
        unsigned i = 0;

        if (!next)
            return false;
        if (*next == 'e')
            return cursor_skip(cur, 1);
        if (!read_string(cur, &key))
            return false;
        value = *cur;
        if (!skip_value(cur))
            return false;
        value.end = cur->at;
        while (i < count &&
               (strlen(keys[i]) != cursor_remaining(&key) || memcmp(keys[i], key.at, cursor_remaining(&key)) != 0))
            i++;
        if (i == count)
            continue;
        if (value.at[0] >= '0' && value.at[0] <= '9') {
            if (!read_string(&value, &text))
                return false;
            value = text;
        }
        out[i] = (struct span32){ .at = (uint32_t)(value.at - start),
                                  .length = (uint32_t)cursor_remaining(&value),
                                  .is_present = true };
    }
}

static struct cursor get_value(const struct dht_tx *tx, enum value value)
{
    return cursor_of(tx->packet.bytes + tx->value[value].at, tx->value[value].length);
}

/* Parses the datagram as far as it is valid. Returns false if it is no complete message. */
static bool parse_packet(struct dht_tx *tx)
{
    struct cursor cur = cursor_of(tx->packet.bytes, tx->packet.length);
    enum value inner;

    if (!parse_dictionary(tx, &cur, top_keys, VALUE_ID, tx->value) || tx->value[VALUE_TYPE].length != 1)
        return false;
    tx->type = tx->packet.bytes[tx->value[VALUE_TYPE].at];
    inner = tx->type == 'q' ? VALUE_ARGUMENTS : VALUE_RESPONSE;
    if (tx->type == 'e')
        return tx->value[VALUE_ERROR].is_present && tx->value[VALUE_TRANSACTION].is_present;
    if ((tx->type != 'q' && tx->type != 'r') || !tx->value[inner].is_present)
        return false;
    cur = get_value(tx, inner);
    return parse_dictionary(tx, &cur, inner_keys, VALUES - VALUE_ID, tx->value + VALUE_ID) &&
           tx->value[VALUE_ID].is_present && tx->value[VALUE_TRANSACTION].is_present &&
           (tx->type == 'r' || tx->value[VALUE_METHOD].is_present);
}

/* --- Protocol ----------------------------------------------------------------------------------------- */

static struct app_result dht_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct dht_tx *tx;
    bool is_valid;

    (void)state;
    if (in->length == 0)
        return result;
    tx = (struct dht_tx *)app_tx_new(context);
    if (!tx || buffer_append(app_heap(context), &tx->packet, in->bytes, in->length, in->length) != in->length) {
        result.status = APP_ERROR;
        return result;
    }
    tx->tx.directions = (uint8_t)(1u << in->direction);
    is_valid = parse_packet(tx);
    tx->tx.log_never = tx->type != 'q' && tx->type != 'r' && tx->type != 'e';
    app_tx_advance(&tx->tx, in->direction, DHT_COMPLETE);
    if (!is_valid)
        app_event(context, &tx->tx, DHT_MALFORMED_PACKET);
    return result;
}

static void dht_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct dht_tx *)tx)->packet);
}

/* Starts of messages: arguments or response whose first key is the node id, a list of an error, and the address of the
 * requester (BEP 42), which some peers send first. */
static enum app_probe_result dht_probe(const struct app_probe *in)
{
    static const char *const starts[] = { "d1:ad2:id20:", "d1:rd2:id20:", "d2:ip6:", "d2:ip18:", "d1:eli20" };

    if (in->length < 8 || in->bytes[in->length - 1] != 'e')
        return APP_NO;
    for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (in->length > strlen(starts[i]) && memcmp(in->bytes, starts[i], strlen(starts[i])) == 0)
            return APP_YES;
    return APP_NO;
}

static bool dht_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

/* --- EVE ---------------------------------------------------------------------------------------------- */

static void log_hex(const struct dht_tx *tx, enum value value, const char *key, struct fields *out)
{
    if (tx->value[value].is_present)
        fields_hex(out, key, tx->packet.bytes + tx->value[value].at, tx->value[value].length);
}

static void log_integer(const struct dht_tx *tx, enum value value, const char *key, struct fields *out)
{
    struct cursor cur = get_value(tx, value);
    int64_t number;
    uint8_t byte;

    if (tx->value[value].is_present && cursor_u8(&cur, &byte) && byte == 'i' && read_number(&cur, 'e', true, &number))
        fields_int(out, key, number);
}

/* Logs an IPv4 (4 bytes) or IPv6 address (16 bytes), and a port. */
static void log_peer(const uint8_t *bytes, size_t length, struct fields *out)
{
    struct address address = { 0 };

    memcpy(&address, bytes, length);
    fields_address(out, "ip", length == 4 ? 4 : 6, &address);
    fields_uint(out, "port", load_be16(bytes + length));
}

/* Logs nodes: id, address and port. */
static void log_nodes(const struct dht_tx *tx, enum value value, const char *key, size_t address, struct fields *out)
{
    struct cursor cur = get_value(tx, value);
    const uint8_t *node;

    if (!tx->value[value].is_present)
        return;
    fields_array_open(out, key);
    for (unsigned i = 0; i < NODES_MAX && (node = cursor_read(&cur, NODE_ID + address + 2)); i++) {
        fields_object_open(out, NULL);
        fields_hex(out, "id", node, NODE_ID);
        log_peer(node + NODE_ID, address, out);
        fields_object_close(out);
    }
    fields_array_close(out);
}

/* Logs peers: a list of strings with address and port. */
static void log_values(const struct dht_tx *tx, struct fields *out)
{
    struct cursor cur = get_value(tx, VALUE_VALUES), peer;
    uint8_t byte;

    if (!tx->value[VALUE_VALUES].is_present || !cursor_u8(&cur, &byte) || byte != 'l')
        return;
    fields_array_open(out, "values");
    for (unsigned i = 0; i < NODES_MAX && read_string(&cur, &peer); i++) {
        size_t length = cursor_remaining(&peer);

        if (length != 6 && length != 18)
            continue;
        fields_object_open(out, NULL);
        log_peer(peer.at, length - 2, out);
        fields_object_close(out);
    }
    fields_array_close(out);
}

static void log_error(const struct dht_tx *tx, struct fields *out)
{
    struct cursor cur = get_value(tx, VALUE_ERROR), text;
    int64_t number;
    uint8_t byte;

    fields_object_open(out, "error");
    if (cursor_u8(&cur, &byte) && byte == 'l' && cursor_u8(&cur, &byte) && byte == 'i' &&
        read_number(&cur, 'e', true, &number)) {
        fields_int(out, "num", number);
        if (read_string(&cur, &text))
            fields_bytes(out, "msg", cursor_remaining(&text) > 0 ? (const char *)text.at : "", cursor_remaining(&text));
    }
    fields_object_close(out);
}

static void dht_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct dht_tx *dht = (const struct dht_tx *)tx;

    (void)settings;
    if (tx->log_never || !dht->packet.bytes) /* there was no memory for the message */
        return;
    if (dht->value[VALUE_TRANSACTION].is_present)
        log_hex(dht, VALUE_TRANSACTION, "transaction_id", out);
    else
        fields_string(out, "transaction_id", "");
    log_hex(dht, VALUE_VERSION, "client_version", out);
    if (dht->type == 'e') {
        log_error(dht, out);
        return;
    }
    if (dht->type == 'r' && !dht->value[VALUE_ID].is_present)
        return;
    if (dht->type == 'r') {
        fields_object_open(out, "response");
        log_hex(dht, VALUE_ID, "id", out);
        log_nodes(dht, VALUE_NODES, "nodes", 4, out);
        log_nodes(dht, VALUE_NODES6, "nodes6", 16, out);
        log_values(dht, out);
        log_hex(dht, VALUE_TOKEN, "token", out);
        fields_object_close(out);
        return;
    }
    fields_bytes(out, "request_type", dht->packet.bytes + dht->value[VALUE_METHOD].at, dht->value[VALUE_METHOD].length);
    fields_object_open(out, "request");
    log_hex(dht, VALUE_ID, "id", out);
    log_hex(dht, VALUE_TARGET, "target", out);
    log_hex(dht, VALUE_INFO_HASH, "info_hash", out);
    log_hex(dht, VALUE_TOKEN, "token", out);
    log_integer(dht, VALUE_IMPLIED_PORT, "implied_port", out);
    log_integer(dht, VALUE_PORT, "port", out);
    fields_object_close(out);
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.bittorrent-dht",
      .type = SETTING_SECTION,
      .help = "Event type bittorrent_dht: a message of BitTorrent's distributed hash table" },
    { .name = NULL },
};

/* "d1:" and "d2:ip" */
static const struct app_message_start heads[] = {
    { UINT64_C(0xffffff0000000000), UINT64_C(0x64313a0000000000) },
    { UINT64_C(0xffffffffff000000), UINT64_C(0x64323a6970000000) },
};

const struct app_proto app_bittorrent_dht = {
    .name = "bittorrent-dht",
    .help = "BitTorrent's distributed hash table",
    .transports = APP_UDP,
    .probe = dht_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .feed = dht_feed,
    .tx_size = sizeof(struct dht_tx),
    .tx_free = dht_tx_free,
    .complete = { DHT_COMPLETE, DHT_COMPLETE },
    .events = events,
    .event_count = DHT_EVENTS,
    .log_type = "bittorrent_dht",
    .log_key = "bittorrent_dht",
    .log_setting = "bittorrent-dht",
    .log = dht_log,
    .logs_from_server = dht_logs_from_server,
    .settings = setting_rows,
};
