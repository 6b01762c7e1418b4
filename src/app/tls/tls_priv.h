/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal interfaces of the TLS parser:
 *
 *   tls.c          protocol detection, the protocol's table, event names
 *   record.c       record layer of SSLv3 to TLS 1.3, and of SSLv2
 *   handshake.c    reassembly of handshake messages, and their effect on the transaction
 *   hello.c        ClientHello and ServerHello
 *   certificate.c  Certificate message
 *   fingerprint.c  JA3, JA3S and JA4
 *   buffers.c      rule buffers
 *   log.c          EVE object
 *   settings.c     settings
 *   keyword_*.c    keywords
 *   contents.c     checks of content patterns on fingerprints and serial numbers
 *   der.c x509.c   certificate decoding
 *   transfer.c     state transfer to another process
 *
 * A flow has one transaction; a second ClientHello that differs from the first starts another one. A transaction stores
 * the two hellos and the certificates as received; derived data (fingerprints, lists) is computed on first use.
 */
#ifndef APP_TLS_PRIV_H
#define APP_TLS_PRIV_H

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
    TLS_CLIENT_NAMES_VERSIONS = 1 << 4, /* extension supported_versions is present */
    TLS_NO_CERTIFICATE = 1 << 5,        /* TLS 1.3: certificates are encrypted */
    TLS_RESUMES = 1 << 6,               /* session resumption attempted; a certificate shows that it failed */
    TLS_EARLY_DATA = 1 << 7,
    TLS_WANTS_CLIENT_CERTIFICATE = 1 << 8,
    TLS_SAW_CLIENT_CERTIFICATE = 1 << 9, /* the Certificate message, even with an empty list */
};

/* A part of a buffer: offset and length. */
struct tls_piece {
    uint32_t at, length;
};

static inline struct cursor tls_piece_cursor(const struct buffer *of, struct tls_piece piece)
{
    return cursor_of(of->bytes ? of->bytes + piece.at : NULL, of->bytes ? piece.length : 0);
}

/* A hello as received, with the location of its parts. */
struct tls_hello {
    struct buffer body;
    bool whole;       /* valid up to its extensions: fingerprints can be computed */
    uint16_t version; /* version of the fixed part */
    uint16_t offered; /* for JA4: the first known one of supported_versions, or `version` */
    struct tls_piece random, session, ciphers, extensions;
    struct tls_piece sni, curves, formats, algorithms, alpn; /* length 0: absent; sni: the first name */
    uint32_t name_count;                                     /* number of server names */
};

struct tls_certificates {
    struct buffer chain;     /* certificates, each preceded by its length in 3 bytes */
    struct tls_piece *certs; /* in chain */
    uint32_t count;
    bool decoded; /* the fields below are set, from the first valid certificate */
    char fingerprint[59];
    char *text;
    struct tls_piece subject, issuer, serial; /* in text */
    struct tls_piece *names;                  /* in text */
    uint32_t name_count;
    int64_t not_before, not_after;
};

struct tls_fingerprints {
    bool ja3_computed, ja4_computed;
    struct buffer ja3;
    char ja3_hash[32];
    char ja4[36];
    uint32_t alpn_index, alpn_at; /* cache of tls_alpn_at(): index and offset of the next name */
};

struct tls_side {
    uint16_t version;
    struct tls_hello hello;
    struct tls_certificates certificates;
    struct tls_fingerprints *fingerprints; /* allocated with the hello, computed on first use; NULL without hello */
};

struct tls_tx {
    struct app_tx tx;
    struct heap *heap; /* heap of the worker */
    unsigned flags;
    bool ja3_off, ja4_off; /* disabled by configuration */
    uint8_t from_proto;    /* id of the protocol before the upgrade to TLS, or 0 */
    struct tls_side side[FLOW_DIRECTIONS];
};

/* State of the record and message reassembly of one direction. */
struct tls_reader {
    uint32_t skip;            /* bytes of the current record still to be skipped */
    bool encrypted;           /* ChangeCipherSpec was seen */
    uint8_t header[4];        /* header of the current handshake message */
    uint8_t header_length;    /* bytes of it received */
    uint32_t message_length;  /* length of the message being reassembled or skipped */
    uint32_t message_skipped; /* bytes of it skipped so far */
    bool message_skips;
    struct buffer message;
};

struct tls_state {
    struct tls_reader reader[FLOW_DIRECTIONS];
    bool finished;        /* finished: no more data is parsed */
    bool has_transaction; /* a transaction was created */
    bool heartbeat;       /* a request awaits its response */
    uint8_t heartbeat_from;
    uint32_t heartbeat_length; /* length of its record if encrypted, otherwise 0 */
};

/* Context passed to the parser functions. */
struct tls_parser {
    struct app_context *context;
    struct tls_state *state;
    struct tls_tx *tx;
    enum flow_direction direction;
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
    app_event(parser->context, &parser->tx->tx, event);
}

/* Advances the progress of a direction; it never decreases. */
static inline void tls_advance(const struct tls_parser *parser, enum flow_direction direction, uint8_t progress)
{
    if (parser->tx->tx.progress[direction] < progress)
        app_tx_advance(&parser->tx->tx, direction, progress);
}

/* Completes both directions and ends parsing. */
void tls_finish(const struct tls_parser *parser);
/* Marks the handshake as done in both directions: the following data is encrypted. */
void tls_handshake_done(const struct tls_parser *parser);

/* --- record.c ------------------------------------------------------------------------------------- */

struct app_result tls_feed(struct app_context *context, void *state, const struct app_input *in);
/* Returns the current transaction, creating the first one; NULL when it has been freed, or (with *err set) without
 * memory. */
struct tls_tx *tls_transaction(struct app_context *context, struct tls_state *state, int *err);
/* Creates a transaction, which becomes the current one; NULL without memory. */
struct tls_tx *tls_new_transaction(struct app_context *context);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void tls_transfer(struct app_context *context, void *data, struct transfer *t);

/* --- handshake.c ---------------------------------------------------------------------------------- */

/* Parses the bytes of a handshake record. 0, or -errno when parsing of the flow must end. */
int tls_handshake_bytes(struct tls_parser *parser, struct cursor bytes);

/* --- hello.c, certificate.c ----------------------------------------------------------------------- */

/* Whether another ClientHello is equal to the first in everything visible to rules: server names, protocols,
 * fingerprints. */
bool tls_hello_is_equal(const struct tls_hello *before, struct cursor body);
/* Parse the body of a message. 0, -ENOMEM, or (hello) -EMSGSIZE when it exceeds a limit. */
int tls_parse_hello(const struct tls_parser *parser, struct cursor body);
int tls_parse_certificates(const struct tls_parser *parser, struct cursor body);
void tls_free_hello(struct heap *heap, struct tls_hello *hello);
void tls_free_certificates(struct heap *heap, struct tls_certificates *certificates);

/* Returns the ALPN protocol name number `index`; false when there is none. */
bool tls_alpn_at(const struct tls_side *side, unsigned index, struct cursor *name);
/* Returns server name number `index`. There may be several, and servers differ in which one they use. */
bool tls_server_name_at(const struct tls_hello *hello, unsigned index, struct cursor *name);

static inline bool tls_is_grease(uint16_t value) /* RFC 8701 */
{
    return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff);
}

/* --- fingerprint.c -------------------------------------------------------------------------------- */

/* Allocates the JA3 text after the hello was parsed. 0 or -ENOMEM. */
int tls_reserve_ja3(struct tls_tx *tx, enum flow_direction direction);
/* Compute on first use and return JA3 (client) or JA3S (server), and JA4. NULL without a valid hello, or if disabled.
 */
const struct tls_fingerprints *tls_ja3(const struct tls_tx *tx, enum flow_direction direction);
const struct tls_fingerprints *tls_ja4(const struct tls_tx *tx);
void tls_free_fingerprints(struct heap *heap, struct tls_fingerprints *fingerprints);

/* --- log.c, settings.c ---------------------------------------------------------------------------- */

enum { TLS_VERSION_TEXT_MAX = 24 };
/* Writes the name of a version, such as "TLS 1.2". */
void tls_version_text(uint16_t version, char out[TLS_VERSION_TEXT_MAX]);

/* Fields of the EVE object, a bit set. */
enum {
    TLS_FIELD_VERSION = 1 << 0,
    TLS_FIELD_SUBJECT = 1 << 1,
    TLS_FIELD_ISSUER = 1 << 2,
    TLS_FIELD_SERIAL = 1 << 3,
    TLS_FIELD_FINGERPRINT = 1 << 4,
    TLS_FIELD_NOT_BEFORE = 1 << 5,
    TLS_FIELD_NOT_AFTER = 1 << 6,
    TLS_FIELD_SNI = 1 << 7,
    TLS_FIELD_CERTIFICATE = 1 << 8,
    TLS_FIELD_CHAIN = 1 << 9,
    TLS_FIELD_SESSION_RESUMED = 1 << 10,
    TLS_FIELD_JA3 = 1 << 11,
    TLS_FIELD_JA3S = 1 << 12,
    TLS_FIELD_CLIENT = 1 << 13,
    TLS_FIELD_CLIENT_CERTIFICATE = 1 << 14,
    TLS_FIELD_CLIENT_CHAIN = 1 << 15,
    TLS_FIELD_JA4 = 1 << 16,
    TLS_FIELD_ALTERNATIVES = 1 << 17,
    TLS_FIELD_CLIENT_ALPNS = 1 << 18,
    TLS_FIELD_SERVER_ALPNS = 1 << 19,
    TLS_FIELD_CLIENT_HANDSHAKE = 1 << 20,
    TLS_FIELD_SERVER_HANDSHAKE = 1 << 21,
};

enum tls_encrypted {
    TLS_ENCRYPTED_TRACK,  /* encrypted data is not inspected */
    TLS_ENCRYPTED_BYPASS, /* ... and the flow is bypassed */
    TLS_ENCRYPTED_FULL,   /* encrypted data is inspected */
};
enum tls_fingerprint_mode { TLS_FINGERPRINT_AUTO, TLS_FINGERPRINT_ALWAYS, TLS_FINGERPRINT_NEVER };

struct tls_settings {
    enum tls_encrypted encrypted;
    enum tls_fingerprint_mode ja3, ja4;
    unsigned fields, computed; /* computed: fingerprint fields computed for the event even if no rule needs them */
    bool log_resumed;
};

extern const struct setting tls_settings_table[];
int tls_configure(const struct config *config, struct diag *diag, void **out);
void tls_unconfigure(void *settings);
void tls_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool tls_is_logged(const struct app_tx *tx, const void *settings);

/* --- buffers.c ------------------------------------------------------------------------------------ */

enum { TLS_BUFFER_COUNT = 25 };
extern const struct app_buffer tls_buffers[TLS_BUFFER_COUNT];

/* --- contents.c: keyword.finish of buffers -------------------------------------------------------- */

int tls_finish_ja3(struct rule_parser *parser, const struct condition *conditions);
int tls_finish_ja4(struct rule_parser *parser, const struct condition *conditions);
int tls_finish_fingerprint(struct rule_parser *parser, const struct condition *conditions);
int tls_finish_serial(struct rule_parser *parser, const struct condition *conditions);

/* --- keywords ------------------------------------------------------------------------------------- */

extern const char *const tls_applications[]; /* keyword.applications */

extern const struct keyword keyword_tls_sni, keyword_tls_cert_subject, keyword_tls_cert_issuer, keyword_tls_cert_serial,
    keyword_tls_cert_fingerprint, keyword_tls_certs, keyword_tls_subjectaltname, keyword_tls_alpn, keyword_tls_random,
    keyword_tls_random_time, keyword_tls_random_bytes;
extern const struct keyword keyword_ja3_hash, keyword_ja3_string, keyword_ja3s_hash, keyword_ja3s_string,
    keyword_ja4_hash;
extern const struct keyword keyword_tls_version, keyword_ssl_version, keyword_ssl_state;
extern const struct keyword keyword_tls_subject, keyword_tls_issuerdn, keyword_tls_fingerprint,
    keyword_tls_cert_chain_len, keyword_tls_cert_notbefore, keyword_tls_cert_notafter, keyword_tls_cert_expired,
    keyword_tls_cert_valid;

#endif
