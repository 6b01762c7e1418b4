/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chunks of an SCTP packet (RFC 9260 §3), for the sctp keywords. */
#ifndef SLUICE_KEYWORD_SCTP_H
#define SLUICE_KEYWORD_SCTP_H

#include "header.h"

enum {
    SCTP_CHUNK_DATA = 0,
    SCTP_COMMON_HEADER_LENGTH = 12,
    SCTP_CHUNK_HEADER_LENGTH = 4,
    SCTP_DATA_HEADER_LENGTH = 16, /* bytes before the user data of a DATA chunk, including the chunk header */
    SCTP_MAX_CHUNKS = 256,        /* maximum number of chunks inspected per packet */
};

struct sctp_chunk {
    const uint8_t *bytes; /* the chunk in the packet, starting with its header */
    uint16_t length;      /* bytes, including the header, without padding */
    uint8_t type;
};

/* Returns the bytes after the common header; an empty cursor if the packet is not SCTP. */
struct cursor sctp_chunks(const struct packet *pkt);

/* Reads the next chunk. Returns false at the end of the packet and at a truncated chunk. */
bool sctp_next_chunk(struct cursor *chunks, struct sctp_chunk *out);

#endif
