/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sctp.h"

static const uint8_t *sctp_chunk_data_buffer(const struct match_input *in, uint32_t *length)
{
    struct cursor chunks = sctp_chunks(in->packet);
    struct sctp_chunk chunk;

    for (unsigned i = 0; i < SCTP_MAX_CHUNKS && sctp_next_chunk(&chunks, &chunk); i++) {
        if (chunk.type == SCTP_CHUNK_DATA && chunk.length > SCTP_DATA_HEADER_LENGTH) {
            *length = chunk.length - SCTP_DATA_HEADER_LENGTH;
            return chunk.bytes + SCTP_DATA_HEADER_LENGTH;
        }
    }
    return NULL;
}

const struct keyword keyword_sctp_chunk_data = {
    .name = "sctp.chunk_data",
    .help = "user data of the first DATA chunk of an SCTP packet",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = sctp_chunk_data_buffer },
};
