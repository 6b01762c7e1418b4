/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Google's QUIC, Q039 to Q046. Its first packets are authenticated, but not encrypted. Versions up to Q043 have a
 * public header, later ones a long header. The client's handshake message is CHLO: tags with values, in stream 1. CYU
 * is a fingerprint of the tags (github.com/salesforce/GQUIC_Protocol_Analyzer).
 *
 * A CHLO message fits into one packet. A client may send several: after a REJ of the server, with the values that the
 * server requires. Each one is a transaction.
 */
#include <nettle/md5.h>

#include "quic_priv.h"
#include "sluice/hex.h"

enum { HASH = 12, LONG_NUMBER = 4, ID = 8, TAG = 4, ENTRY = 8, MESSAGE_HEADER = 8 };

/* Bits of the public header. */
enum { PUBLIC_VERSION = 0x01, PUBLIC_RESET = 0x02, PUBLIC_NONCE = 0x04, PUBLIC_ID = 0x08, PUBLIC_UNUSED = 0x80 };

/* --- CHLO ----------------------------------------------------------------------------------------- */

/* Reads a tag of the message and the range of its value. Returns false if the range is invalid. */
static bool next_value(const struct buffer *message, unsigned index, uint32_t values, uint32_t *from, uint32_t *until)
{
    uint32_t end = load_le32(message->bytes + MESSAGE_HEADER + index * ENTRY + TAG);

    if (end > message->length - values || values + end < *until)
        return false;
    *from = *until;
    *until = values + end;
    return true;
}

/* Appends "-TAG", without the zero bytes at the end of a short tag. */
static bool append_tag(struct heap *heap, struct buffer *out, const uint8_t *tag, bool is_first)
{
    uint32_t length = TAG;

    while (length > 0 && tag[length - 1] == 0)
        length--;
    return (is_first || buffer_append(heap, out, "-", 1, UINT32_MAX) == 1) &&
           buffer_append(heap, out, tag, length, UINT32_MAX) == length;
}

/* Parses a CHLO message and adds its transaction. Invalid messages set an event. */
static void read_message(struct quic_parser *parser, uint32_t version, struct cursor bytes)
{
    struct heap *heap = app_heap(parser->context);
    uint32_t length =
        cursor_remaining(&bytes) < QUIC_MESSAGE_MAX ? (uint32_t)cursor_remaining(&bytes) : QUIC_MESSAGE_MAX;
    unsigned google = quic_google_version(version), count, shown = google == 45 ? 44 : google; /* as in Suricata */
    struct quic_tx *tx = quic_new_transaction(parser, version, FLOW_TO_SERVER);
    char digits[3] = { (char)('0' + shown / 10), (char)('0' + shown % 10), ',' };
    uint8_t digest[MD5_DIGEST_SIZE];
    struct md5_ctx md5;

    quic_mark_version(parser, version);
    if (!tx) {
        parser->failed = true;
        return;
    }
    count = load_le16(bytes.at + TAG);

    uint32_t values = MESSAGE_HEADER + count * ENTRY, from, until = values;
    bool is_complete = true;

    if (count > QUIC_TAGS_MAX || values > length) {
        quic_set_event(parser, tx, QUIC_ERROR_ON_DATA, version);
        parser->failed = true;
        quic_complete(parser, tx);
        return;
    }
    is_complete = buffer_append(heap, &tx->message, bytes.at, length, length) == length &&
                  buffer_append(heap, &tx->cyu, digits, sizeof(digits), UINT32_MAX) == sizeof(digits);
    for (unsigned i = 0; i < count && is_complete; i++) {
        const uint8_t *tag = tx->message.bytes + MESSAGE_HEADER + i * ENTRY;

        if (!next_value(&tx->message, i, values, &from, &until)) {
            quic_set_event(parser, tx, QUIC_ERROR_ON_DATA, version);
            break;
        }
        is_complete = append_tag(heap, &tx->cyu, tag, i == 0);
        if (memcmp(tag, "SNI", TAG) == 0 && !tx->has_sni) {
            tx->has_sni = true;
            tx->sni = (struct tls_piece){ from, until - from };
        } else if (memcmp(tag, "UAID", TAG) == 0 && !tx->has_agent) {
            tx->has_agent = true;
            tx->agent = (struct tls_piece){ from, until - from };
        }
    }
    if (is_complete) {
        md5_init(&md5);
        md5_update(&md5, tx->cyu.length, tx->cyu.bytes);
        md5_digest(&md5, sizeof(digest), digest);
        hex_write(tx->cyu_hash, digest, sizeof(digest));
    } else {
        buffer_clear(heap, &tx->cyu);
    }
    parser->failed |= !is_complete;
    quic_complete(parser, tx);
}

/* --- Frames --------------------------------------------------------------------------------------- */

/* Skips an ACK frame of Q039 and later: 01ntllmm. */
static bool skip_ack(struct cursor *cur, uint8_t type)
{
    static const uint8_t lengths[] = { 1, 2, 4, 6 };
    size_t largest = lengths[type >> 2 & 3], block = lengths[type & 3];
    uint8_t blocks = 0, times = 0;

    return cursor_skip(cur, largest + 2) && (!(type & 0x20) || cursor_u8(cur, &blocks)) && cursor_skip(cur, block) &&
           cursor_skip(cur, blocks * (block + 1)) && cursor_u8(cur, &times) &&
           (times == 0 || cursor_skip(cur, 5 + (times - 1u) * 3));
}

/* Reads the header of a STREAM frame: 1fdooossB. Sets *data to its bytes. */
static bool read_stream(struct cursor *cur, uint8_t type, uint32_t *stream, bool *at_start, struct cursor *data)
{
    size_t id_length = (type & 3) + 1u, offset_length = type >> 2 & 7 ? (type >> 2 & 7) + 1u : 0;
    const uint8_t *id = cursor_read(cur, id_length), *offset = id ? cursor_read(cur, offset_length) : NULL;
    uint16_t length = (uint16_t)cursor_remaining(cur);

    if (!id || !offset || (type & 0x20 && !cursor_be16(cur, &length)) || length > cursor_remaining(cur))
        return false;
    *stream = 0;
    for (size_t i = 0; i < id_length; i++)
        *stream = *stream << 8 | id[i];
    *at_start = true;
    for (size_t i = 0; i < offset_length; i++)
        *at_start &= offset[i] == 0;
    *data = cursor_of(cursor_read(cur, length), length);
    return true;
}

/* Parses the frames of a packet. Frames of other types precede the CHLO only if they are listed here. */
static void read_frames(struct quic_parser *parser, uint32_t version, struct cursor cur, size_t number_length)
{
    enum { PADDING = 0x00, STOP_WAITING = 0x06, PING = 0x07 };
    uint8_t type;

    while (cursor_u8(&cur, &type)) {
        if (type & 0x80) {
            struct cursor data;
            uint32_t stream;
            bool at_start;

            if (!read_stream(&cur, type, &stream, &at_start, &data))
                return;
            const uint8_t *begin = cursor_peek(&data, MESSAGE_HEADER);

            if (stream == 1 && at_start && begin && memcmp(begin, "CHLO", TAG) == 0)
                read_message(parser, version, data);
        } else if (type & 0x40) {
            if (!skip_ack(&cur, type))
                return;
        } else if (type == STOP_WAITING) {
            if (!cursor_skip(&cur, number_length))
                return;
        } else if (type != PING) { /* padding extends to the end */
            return;
        }
    }
}

void quic_read_google_packet(struct quic_parser *parser, const struct quic_packet *packet)
{
    struct cursor cur = cursor_of(packet->bytes + packet->number_at, packet->length - packet->number_at);

    if (cursor_skip(&cur, LONG_NUMBER + HASH))
        read_frames(parser, packet->version, cur, LONG_NUMBER);
    quic_note_version(parser, packet->version);
}

bool quic_is_public_header(const uint8_t *bytes, size_t length, uint32_t *version)
{
    unsigned google;

    if (length < 1 + ID + 4 || bytes[0] & (PUBLIC_UNUSED | PUBLIC_RESET) ||
        (bytes[0] & (PUBLIC_VERSION | PUBLIC_ID)) != (PUBLIC_VERSION | PUBLIC_ID))
        return false;
    *version = load_be32(bytes + 1 + ID);
    google = quic_google_version(*version);
    return google > 0 && google <= 43;
}

void quic_read_public_packet(struct quic_parser *parser, struct cursor datagram)
{
    static const uint8_t lengths[] = { 1, 2, 4, 6 };
    const uint8_t *bytes = datagram.at;
    size_t number_length = lengths[bytes[0] >> 4 & 3];
    uint32_t version = load_be32(bytes + 1 + ID);

    if (cursor_skip(&datagram, 1 + ID + 4 + (bytes[0] & PUBLIC_NONCE ? 32 : 0) + number_length + HASH))
        read_frames(parser, version, datagram, number_length);
    quic_note_version(parser, version);
}
