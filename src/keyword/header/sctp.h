/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chunks of an SCTP packet (RFC 9260 §3), for the sctp keywords. */
#ifndef SLUICE_KEYWORD_SCTP_H
#define SLUICE_KEYWORD_SCTP_H

#include "header.h"

enum {
    SCTP_CHUNK_DATA = 0,
    SCTP_COMMON_HEADER_LENGTH = 12,
    SCTP_CHUNK_HEADER_LENGTH = 4,
    SCTP_DATA_HEADER_LENGTH = 16, /* including the chunk header */
    SCTP_MAX_CHUNKS = 256,        /* maximum number of chunks inspected per packet */
};

struct sctp_chunk {
    const uint8_t *bytes; /* the chunk, starting with its header */
    uint16_t length;      /* including the header, without padding */
    uint8_t type;
};

/* Returns the bytes after the common header; empty when the packet is not SCTP. */
struct cursor sctp_chunks(const struct packet *pkt);

/* Reads the next chunk; false at the end and at a truncated chunk. */
bool sctp_next_chunk(struct cursor *chunks, struct sctp_chunk *out);

#endif
