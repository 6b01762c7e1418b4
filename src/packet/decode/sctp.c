/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SCTP (RFC 9260): the common header, and the chunks as far as events need them. The payload is the user data of the
 * first DATA chunk, or all chunks if there is no DATA chunk.
 */
#include "decode_priv.h"

enum {
    SCTP_HEADER_LENGTH = 12,
    CHUNK_HEADER_LENGTH = 4,
    CHUNK_DATA = 0,
    CHUNK_INIT = 1,
    CHUNK_INIT_ACK = 2,
    DATA_HEADER_LENGTH = 16,
    /* Maximum numbers of chunks, and of DATA chunks, that a packet may have without an event. */
    CHUNKS_EXPECTED = 16,
    DATA_CHUNKS_EXPECTED = 8,
};

struct chunks {
    unsigned count, data_count;
    bool has_init;
    struct cursor user_data; /* of the first DATA chunk */
};

static void record_chunk(struct packet *pkt, struct chunks *chunks, struct cursor chunk, bool has_tag)
{
    uint8_t type = *chunk.at;

    if (chunks->count < SCTP_MAX_LISTED_CHUNKS)
        pkt->sctp.chunk_types[chunks->count] = type;
    pkt->sctp.chunk_count = ++chunks->count;
    if (type == CHUNK_INIT && has_tag)
        decode_note(pkt, DECODE_EVENT_SCTP_INIT_WITH_NON_ZERO_VTAG);
    if (type == CHUNK_INIT || type == CHUNK_INIT_ACK)
        chunks->has_init = true;
    if (type != CHUNK_DATA)
        return;
    if (!has_tag)
        decode_note(pkt, DECODE_EVENT_SCTP_DATA_WITH_ZERO_VTAG);
    if (chunks->data_count++ == 0 && cursor_skip(&chunk, DATA_HEADER_LENGTH))
        chunks->user_data = chunk;
}

bool decode_sctp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_SCTP);
    struct chunks chunks = { .user_data = { NULL, NULL } };
    struct cursor rest = cur;
    const uint8_t *header = cursor_read(&rest, SCTP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_SCTP_PKT_TOO_SMALL);
    pkt->source_port = load_be16(header);
    pkt->destination_port = load_be16(header + 2);
    pkt->sctp = (struct sctp_info){ .verification_tag = load_be32(header + 4) };
    bool is_sound = true;

    while (cursor_remaining(&rest) > 0 && is_sound) {
        const uint8_t *chunk = cursor_peek(&rest, CHUNK_HEADER_LENGTH);
        unsigned length = chunk ? load_be16(chunk + 2) : 0, padding = -length & 3;

        if (!chunk) {
            is_sound = decode_invalid(pkt, DECODE_EVENT_SCTP_CHUNK_TOO_SMALL);
        } else if (length < CHUNK_HEADER_LENGTH || !cursor_skip(&rest, length)) {
            is_sound = decode_invalid(pkt, DECODE_EVENT_SCTP_CHUNK_LEN_INVALID);
        } else {
            if (!cursor_skip(&rest, padding)) /* padding may be missing after the last chunk */
                rest.at = rest.end;
            record_chunk(pkt, &chunks, cursor_of(chunk, length), pkt->sctp.verification_tag != 0);
        }
    }
    if (chunks.has_init && chunks.count > 1)
        decode_note(pkt, DECODE_EVENT_SCTP_INIT_CHUNK_BUNDLED);
    if (chunks.count > CHUNKS_EXPECTED)
        decode_note(pkt, DECODE_EVENT_SCTP_TOO_MANY_CHUNKS);
    if (chunks.data_count > DATA_CHUNKS_EXPECTED)
        decode_note(pkt, DECODE_EVENT_SCTP_TOO_MANY_DATA_CHUNKS);
    if (!is_sound)
        return false;
    decode_transport(pkt, cur, SCTP_HEADER_LENGTH);
    if (chunks.data_count > 0)
        decode_payload(pkt, chunks.user_data);
    return true;
}
