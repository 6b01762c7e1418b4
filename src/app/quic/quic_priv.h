/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QUIC: version 1 (RFC 9000, RFC 9001), version 2 (RFC 9369), the drafts 23 to 34, and Google's QUIC up to Q046.
 * Initial packets are decrypted, because their keys derive from a connection ID that is visible; all later packets are
 * encrypted with secret keys.
 *
 *   quic.c        protocol detection, datagrams, connections, the protocol's table
 *   header.c      headers of packets, versions
 *   protection.c  keys of Initial packets, decryption, the tag of Retry packets
 *   crypto.c      frames of Initial packets; CRYPTO data in order; hellos
 *   google.c      packets of Google's QUIC: CHLO messages and their CYU fingerprint
 *   keywords.c    rule buffers
 *   log.c         EVE object
 *   transfer.c    state transfer to the next engine
 *
 * The hello messages in CRYPTO frames are those of TLS, and are parsed by src/app/tls: a transaction of QUIC begins
 * with one of TLS, which stores the hello. Each transaction has one direction: the Initial packets of one side up to
 * its hello, a Retry packet, a Version Negotiation packet, or a CHLO message.
 */
#ifndef SLUICE_APP_QUIC_PRIV_H
#define SLUICE_APP_QUIC_PRIV_H

#include "app/tls/keyword.h"
#include "app/tls/parse.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    QUIC_ID_MAX = 20, /* bytes of a connection ID in the known versions */
    QUIC_TAG = 16,    /* bytes of an AEAD tag */
    QUIC_KEY = 16,
    QUIC_IV = 12,
    QUIC_CRYPTO_MAX = 65535,    /* bytes of CRYPTO data of one side */
    QUIC_HELLOS_MAX = 4,        /* hellos of one side; a HelloRetryRequest makes it two */
    QUIC_CONNECTIONS = 4,       /* connections of a flow whose state is kept: the latest ones */
    QUIC_DATAGRAM_ATTEMPTS = 8, /* decryptions for one datagram */
    QUIC_KEYS_BURST = 64,       /* derivations of keys for a flow at once */
    QUIC_KEYS_PER_SECOND = 8,   /* derivations of keys for a flow, on average */
    QUIC_EVENTS_MAX = 16,       /* transactions of a flow that exist only for an event */
    QUIC_TAGS_MAX = 128,        /* tags of a CHLO message */
    QUIC_MESSAGE_MAX = 16384,   /* bytes of a CHLO message */
    QUIC_MD5_DIGITS = 32,
};

enum quic_event {
    QUIC_FAILED_DECRYPT,
    QUIC_ERROR_ON_DATA,
    QUIC_ERROR_ON_HEADER,
    QUIC_CRYPTO_FRAG_TOO_LONG,
    QUIC_EVENTS,
};

/* Progress of a direction. QUIC_VERSION: the version is known. */
enum { QUIC_VERSION = 1, QUIC_HELLO = 2 };

/* --- header.c ------------------------------------------------------------------------------------- */

enum quic_type {
    QUIC_INITIAL,
    QUIC_ZERO_RTT,
    QUIC_HANDSHAKE,
    QUIC_RETRY,
    QUIC_VERSION_NEGOTIATION,
};

struct quic_id {
    uint8_t length;
    uint8_t bytes[QUIC_ID_MAX];
};

static inline bool quic_id_is_equal(const struct quic_id *a, const struct quic_id *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* A version whose Initial packets can be decrypted. */
struct quic_version {
    uint32_t first, last; /* range of version numbers */
    uint8_t salt[20];
    /* Key and nonce of the integrity tag of Retry packets; all zero: Retry packets have no such tag. */
    uint8_t retry_key[QUIC_KEY], retry_nonce[QUIC_IV];
    bool is_second; /* version 2: other packet types and labels */
};
/* Returns NULL if Initial packets of the version cannot be decrypted. */
const struct quic_version *quic_version_find(uint32_t version);
/* Returns the number in the version of Google's QUIC, 46 for Q046; 0 for other versions. */
unsigned quic_google_version(uint32_t version);

/* A packet with a long header. */
struct quic_packet {
    const uint8_t *bytes;
    size_t length; /* of the packet, without those that follow in the datagram */
    uint32_t version;
    enum quic_type type;
    struct quic_id destination, source; /* empty in unknown versions, whose IDs may be longer */
    size_t number_at; /* offset of the packet number, of Google's packet number and hash, or of the Retry token */
};
/* Consumes a packet with a long header. Returns false if the header is malformed, or if the packet is truncated. */
bool quic_read_packet(struct cursor *cur, struct quic_packet *out);
/* Reads an integer of variable length (RFC 9000 §16). */
bool quic_read_integer(struct cursor *cur, uint64_t *out);

/* --- protection.c --------------------------------------------------------------------------------- */

struct quic_keys {
    uint8_t key[QUIC_KEY], iv[QUIC_IV], header[QUIC_KEY];
};
/* Derives the keys of the Initial packets of both sides, indexed by the direction in which the side sends. */
void quic_derive_keys(const struct quic_version *version, const struct quic_id *id,
                      struct quic_keys keys[FLOW_DIRECTIONS]);
/*
 * Decrypts an Initial packet into `out`, which has room for packet->length bytes. `largest` is the largest packet
 * number of the sender so far plus 1; it is updated. Returns false if the packet was not encrypted with these keys.
 * Sets *payload to the frames in `out`.
 */
bool quic_decrypt(const struct quic_keys *keys, const struct quic_packet *packet, uint64_t *next_number, uint8_t *out,
                  struct cursor *payload);
/* Whether the tag of a Retry packet is valid; true in versions without such a tag. `scratch` has room for
 * packet->length + QUIC_ID_MAX + 1 bytes. */
bool quic_retry_is_valid(const struct quic_version *version, const struct quic_packet *packet,
                         const struct quic_id *original, uint8_t *scratch);

/* --- Connections ---------------------------------------------------------------------------------- */

/* CRYPTO data of one side. */
struct quic_stream {
    struct buffer bytes;   /* from offset 0 on; with gaps */
    struct buffer present; /* a bit for each byte that was received */
    uint32_t end;          /* all bytes before this offset were received */
    uint32_t parsed;       /* offset of the next message */
    uint8_t hellos;        /* hellos that were parsed */
    bool finished;         /* no more data is parsed: the last hello was seen, or the data is invalid */
};

struct quic_connection {
    uint32_t number; /* counts from 0 in each flow */
    uint32_t version;
    uint8_t client; /* direction in which the client sends */
    /* original: the ID from which the keys derive. source: the client's ID. server: the server's ID, if has_server.
     * retry: the server's ID in a Retry packet, if has_retry. */
    struct quic_id original, source, server, retry;
    bool has_server, has_retry;
    struct quic_keys keys[FLOW_DIRECTIONS];     /* by side: FLOW_TO_SERVER is the client */
    uint64_t next_number[FLOW_DIRECTIONS];      /* by side: largest packet number plus 1 */
    struct quic_stream stream[FLOW_DIRECTIONS]; /* by side */
};

struct quic_state {
    struct quic_connection *connection[QUIC_CONNECTIONS]; /* owned; the latest one first */
    uint32_t next_connection;
    uint32_t noted[FLOW_DIRECTIONS]; /* latest version that has a transaction without hello, by direction */
    bool has_noted[FLOW_DIRECTIONS];
    uint8_t event_transactions; /* transactions that exist only for an event */
    uint16_t keys_left;         /* derivations of keys that are allowed */
    uint64_t keys_ns;           /* time of the last increase of keys_left */
};

struct quic_tx {
    struct tls_tx tls; /* hello in tls.side[side] */
    uint32_t version;
    uint8_t side; /* FLOW_TO_SERVER: of the client */
    bool has_connection;
    uint32_t connection; /* with has_connection: number of the connection */
    /* Google's QUIC: a CHLO message, with the location of its SNI and UAID, and its CYU fingerprint. */
    struct buffer message, cyu;
    bool has_sni, has_agent;
    struct tls_piece sni, agent;
    char cyu_hash[QUIC_MD5_DIGITS];
    uint8_t version_bytes[4];
};

/* Context passed to the parser functions, for one datagram. */
struct quic_parser {
    struct app_context *context;
    struct quic_state *state;
    enum flow_direction direction;
    unsigned attempts; /* decryptions so far */
    bool failed;       /* the datagram could not be inspected completely: APP_ERROR */
};

/* --- quic.c --------------------------------------------------------------------------------------- */

/* Creates a transaction of the direction; NULL without memory. */
struct quic_tx *quic_new_transaction(struct quic_parser *parser, uint32_t version, uint8_t side);
/* Completes the transaction. */
void quic_complete(struct quic_parser *parser, struct quic_tx *tx);
/* Sets an event on the transaction; NULL: on a transaction that exists only for events. */
void quic_set_event(struct quic_parser *parser, struct quic_tx *tx, enum quic_event event, uint32_t version);
/* Creates a complete transaction that has a version only, unless the last one of the direction has the same version. */
void quic_note_version(struct quic_parser *parser, uint32_t version);
/* Records that the direction has a transaction with this version. */
void quic_mark_version(struct quic_parser *parser, uint32_t version);

/* --- crypto.c ------------------------------------------------------------------------------------- */

/* Parses the frames of an Initial packet of one side of the connection. */
void quic_read_frames(struct quic_parser *parser, struct quic_connection *connection, uint8_t side,
                      struct cursor frames);
void quic_free_stream(struct heap *heap, struct quic_stream *stream);
/* Makes room for `length` bytes of CRYPTO data. Returns false without memory. */
bool quic_reserve_stream(struct heap *heap, struct quic_stream *stream, uint32_t length);

/* --- google.c ------------------------------------------------------------------------------------- */

/* Whether a datagram begins with a public header that has a version (Q043 and before). */
bool quic_is_public_header(const uint8_t *bytes, size_t length, uint32_t *version);
/* Parses a datagram with a public header. */
void quic_read_public_packet(struct quic_parser *parser, struct cursor datagram);
/* Parses the frames of a client's Initial packet with a long header. */
void quic_read_google_packet(struct quic_parser *parser, const struct quic_packet *packet);

/* --- keywords.c, log.c, transfer.c ---------------------------------------------------------------- */

enum { QUIC_BUFFERS = 10 };
extern const struct app_buffer quic_buffers[QUIC_BUFFERS];

/* Set *out to the server name or user agent number `index`, counted from 0. Return false if there is none. */
bool quic_server_name_at(const struct quic_tx *tx, unsigned index, struct cursor *out);
bool quic_user_agent(const struct quic_tx *tx, struct cursor *out);

enum quic_encryption { QUIC_TRACK_ONLY, QUIC_BYPASS };
struct quic_settings {
    enum quic_encryption encryption;
};

void quic_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool quic_logs_from_server(const struct app_tx *tx, const void *settings);
void quic_transfer(struct app_context *context, void *data, struct transfer *t);

#endif
