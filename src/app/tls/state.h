/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events, versions, the hellos and certificates of a transaction, and the state of a flow.
 */
#ifndef SLUICE_APP_TLS_STATE_H
#define SLUICE_APP_TLS_STATE_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    TLS_MESSAGE_MAX = 132 << 10,  /* bytes of a handshake message: above the maximum of a ClientHello (131,396) */
    TLS_CERTIFICATES_MAX = 64,    /* certificates of a chain */
    TLS_NAMES_MAX = 4096,         /* alternative names of a certificate */
    TLS_ALPN_MAX = 2048,          /* protocol names of a hello; clients offer a few */
    TLS_SERVER_NAMES_MAX = 64,    /* server names of a ClientHello */
    TLS_NAME_TEXT_MAX = 64 << 10, /* bytes of text after which no more alternative names are added */
    TLS_RANDOM_LENGTH = 32,
    TLS_HELLO_MIN = 38, /* minimum bytes of a ClientHello: version, random, empty lists */
};

/* In the order of the names in tls.c. */
enum tls_event {
    TLS_INVALID_SSLV2_HEADER,
    TLS_INVALID_TLS_HEADER,
    TLS_INVALID_RECORD_VERSION,
    TLS_INVALID_RECORD_TYPE,
    TLS_INVALID_RECORD_LENGTH,
    TLS_INVALID_HANDSHAKE_MESSAGE,
    TLS_HEARTBEAT_MESSAGE,
    TLS_INVALID_HEARTBEAT_MESSAGE,
    TLS_OVERFLOW_HEARTBEAT_MESSAGE,
    TLS_DATALEAK_HEARTBEAT_MISMATCH,
    TLS_HANDSHAKE_INVALID_LENGTH,
    TLS_MULTIPLE_SNI_EXTENSIONS,
    TLS_INVALID_SNI_TYPE,
    TLS_INVALID_SNI_LENGTH,
    TLS_TOO_MANY_RECORDS_IN_PACKET,
    TLS_INVALID_ALERT_MESSAGE,
    TLS_INVALID_CERTIFICATE,
    TLS_CERTIFICATE_INVALID_LENGTH,
    TLS_CERTIFICATE_INVALID_VERSION,
    TLS_CERTIFICATE_INVALID_SERIAL,
    TLS_CERTIFICATE_INVALID_ALGORITHMIDENTIFIER,
    TLS_CERTIFICATE_INVALID_X509NAME,
    TLS_CERTIFICATE_INVALID_DATE,
    TLS_CERTIFICATE_INVALID_EXTENSIONS,
    TLS_CERTIFICATE_INVALID_DER,
    TLS_CERTIFICATE_INVALID_SUBJECT,
    TLS_CERTIFICATE_INVALID_ISSUER,
    TLS_CERTIFICATE_INVALID_VALIDITY,
    TLS_ERROR_MESSAGE_ENCOUNTERED,
    TLS_TOO_MANY_SUBJECT_ALTERNATIVE_NAMES,
    TLS_INVALID_SSL_RECORD,
    TLS_CERTIFICATE_MISSING_ELEMENT,
    TLS_CERTIFICATE_UNKNOWN_ELEMENT,
    TLS_CERTIFICATE_INVALID_STRING,
    TLS_EVENT_COUNT,
};

/* Progress of the two directions, in the order of the names in tls.c. */
enum {
    TLS_CLIENT_IN_PROGRESS,
    TLS_CLIENT_HELLO_DONE,
    TLS_CLIENT_CERT_DONE,
    TLS_CLIENT_HANDSHAKE_DONE,
    TLS_CLIENT_FINISHED,
};
enum {
    TLS_SERVER_IN_PROGRESS,
    TLS_SERVER_HELLO,
    TLS_SERVER_CERT_DONE,
    TLS_SERVER_HELLO_DONE,
    TLS_SERVER_HANDSHAKE_DONE,
    TLS_SERVER_FINISHED,
};

enum tls_version {
    TLS_VERSION_NONE = 0,
    TLS_SSL2 = 0x0200,
    TLS_SSL3 = 0x0300,
    TLS_10 = 0x0301,
    TLS_11 = 0x0302,
    TLS_12 = 0x0303,
    TLS_13 = 0x0304,
    TLS_13_EARLY_DRAFT = 0x7f01, /* any draft before 16 */
};
/* Whether the version is valid in a record: SSLv3 to TLS 1.3, or a draft. */
bool tls_version_is_known(uint16_t version);
/* Whether the version is a draft of TLS 1.3. */
bool tls_version_is_draft(uint16_t version);

/* State of the handshake, a bit set. The first four bits are the states of the keyword ssl_state. */
enum {
    TLS_SAW_CLIENT_HELLO = 1 << 0,
    TLS_SAW_SERVER_HELLO = 1 << 1,
    TLS_SAW_CLIENT_KEY = 1 << 2,
    TLS_SAW_SERVER_KEY = 1 << 3,
    TLS_HAS_SUPPORTED_VERSIONS = 1 << 4,   /* the ClientHello has the extension supported_versions */
    TLS_NO_CERTIFICATE = 1 << 5,           /* the version is TLS 1.3, which encrypts certificates */
    TLS_RESUMES = 1 << 6,                  /* the client sent a session ticket, or the server echoed its session ID: the
                                              session is resumed, unless a certificate follows */
    TLS_EARLY_DATA = 1 << 7,               /* the ClientHello announces 0-RTT data */
    TLS_WANTS_CLIENT_CERTIFICATE = 1 << 8, /* the server sent a CertificateRequest */
    TLS_SAW_CLIENT_CERTIFICATE = 1 << 9,   /* the client sent a Certificate message, even with an empty list */
};

/* Location of a part of a buffer: offset and length in bytes. */
struct tls_piece {
    uint32_t at, length;
};

static inline struct cursor tls_piece_cursor(const struct buffer *of, struct tls_piece piece)
{
    return cursor_of(of->bytes ? of->bytes + piece.at : NULL, of->bytes ? piece.length : 0);
}

/* A hello as received, with the location of its parts. */
struct tls_hello {
    struct buffer body; /* without the handshake header */
    bool whole;         /* the part before the extensions is valid, so JA3 can be computed */
    uint16_t version;   /* legacy_version, before the extensions */
    uint16_t offered;   /* first known version in supported_versions; `version` without that extension */
    struct tls_piece random, session, ciphers, extensions;
    struct tls_piece sni, curves, formats, algorithms, alpn; /* length 0: absent; sni: the first name */
    uint32_t name_count;                                     /* number of server names */
};

struct tls_certificates {
    struct buffer chain;     /* certificates, each preceded by its length in 3 bytes */
    struct tls_piece *certs; /* locations of the certificates in chain */
    uint32_t count;
    bool decoded; /* the fields below are set, from the first valid certificate */
    char fingerprint[59];
    char *text;                               /* text of the fields below, owned */
    struct tls_piece subject, issuer, serial; /* in `text` */
    struct tls_piece *names;                  /* alternative names, in `text`; the array is owned */
    uint32_t name_count;                      /* number of entries in `names` */
    int64_t not_before, not_after;            /* validity period, in seconds since 1970 */
};

struct tls_fingerprints {
    bool ja3_computed, ja4_computed; /* the members of the fingerprint are set */
    struct buffer ja3;               /* text of JA3 or JA3S; reserved when the hello is parsed */
    char ja3_hash[32];               /* MD5 of `ja3` in hexadecimal */
    char ja4[36];
    uint32_t alpn_index, alpn_at; /* cache of tls_alpn_at(): index and offset of the next name */
};

struct tls_side {
    uint16_t version; /* enum tls_version or a draft; of the last record until a hello has been parsed */
    struct tls_hello hello;
    struct tls_certificates certificates;
    struct tls_fingerprints *fingerprints; /* allocated with the hello, computed on first use; NULL without hello */
};

struct tls_tx {
    struct app_tx tx;
    struct heap *heap;     /* heap of the worker */
    unsigned flags;        /* TLS_SAW_CLIENT_HELLO and the following bits */
    bool ja3_off, ja4_off; /* the settings disable the fingerprint */
    bool over_quic;        /* the hello is that of a QUIC connection, and the transaction part of one of QUIC */
    uint8_t from_proto;    /* id of the protocol before the upgrade to TLS, or 0 */
    struct tls_side side[FLOW_DIRECTIONS];
};

/* State of the record and message reassembly of one direction. */
struct tls_reader {
    uint32_t skip;            /* bytes of the current record that remain to be skipped */
    bool encrypted;           /* ChangeCipherSpec was seen */
    uint8_t header[4];        /* header of the current handshake message */
    uint8_t header_length;    /* received bytes of header */
    uint32_t message_length;  /* length in the header of the current message */
    bool message_skips;       /* the current message is skipped rather than reassembled */
    uint32_t message_skipped; /* bytes of the current message skipped so far */
    struct buffer message;    /* bytes of the current message reassembled so far */
};

struct tls_state {
    struct tls_reader reader[FLOW_DIRECTIONS];
    bool finished;             /* no more data is parsed */
    bool has_transaction;      /* a transaction was created */
    bool heartbeat;            /* a heartbeat request has no response yet */
    uint8_t heartbeat_from;    /* direction of the request */
    uint32_t heartbeat_length; /* length of the request's record if encrypted, otherwise 0 */
};

/* Types of frames. DATA: the content of a record; ALERT, HEARTBEAT: that of a record of this type. */
enum tls_frame {
    TLS_FRAME_PDU,
    TLS_FRAME_HDR,
    TLS_FRAME_DATA,
    TLS_FRAME_ALERT,
    TLS_FRAME_HEARTBEAT,
    TLS_FRAME_SSL2_HDR,
    TLS_FRAME_SSL2_PDU,
    TLS_FRAME_COUNT,
};

/* Context passed to the parser functions. */
struct tls_parser {
    struct app_context *context;
    struct tls_state *state;
    struct tls_tx *tx;
    const struct app_input *in; /* records only */
    enum flow_direction direction;
    unsigned error_event; /* with tx->over_quic: the event of QUIC that is set in place of any event of TLS */
};

static inline struct tls_reader *tls_reader_of(const struct tls_parser *parser)
{
    return &parser->state->reader[parser->direction];
}

static inline struct tls_side *tls_side_of(const struct tls_parser *parser)
{
    return &parser->tx->side[parser->direction];
}

static inline const struct tls_tx *tls_tx_of(const struct app_tx *tx)
{
    return (const struct tls_tx *)tx;
}

static inline void tls_event(const struct tls_parser *parser, enum tls_event event)
{
    app_event(parser->context, &parser->tx->tx, parser->tx->over_quic ? parser->error_event : event);
}

/* Advances the progress of a direction; it never decreases. */
static inline void tls_advance(const struct tls_parser *parser, enum flow_direction direction, uint8_t progress)
{
    if (parser->tx->tx.progress[direction] < progress)
        app_tx_advance(&parser->tx->tx, direction, progress);
}

/* Completes both directions and ends parsing. */
void tls_finish(const struct tls_parser *parser);
/* Marks the handshake as done in both directions: the data after it is encrypted. */
void tls_handshake_done(const struct tls_parser *parser);

#endif
