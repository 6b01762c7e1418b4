/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IKE: version 1 with ISAKMP (RFC 2408, 2409) and version 2 (RFC 7296). Each message is a separate transaction in its
 * own direction. The event of an unencrypted version 1 message contains the key exchange and nonce of the last
 * unencrypted message of each side, so its transaction has a copy of them.
 */
#ifndef SLUICE_APP_IKE_PRIV_H
#define SLUICE_APP_IKE_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    IKE_HEADER = 28,
    IKE_SPI_TEXT = 16,
    IKE_RAW_MAX = 16,         /* stored bytes of an attribute */
    IKE_ATTRIBUTES_MAX = 256, /* stored attributes of a message */
    IKE_VENDORS_MAX = 32,     /* stored vendor IDs of a message */
    IKE_VENDOR_MAX = 256,     /* stored bytes of a vendor ID */
    IKE_NOTIFIES_MAX = 32,    /* stored notifications of a message */
    IKE_PAYLOADS_MAX = 64,    /* logged payloads of a version 2 message */
    IKE_SECRET_MAX = 4096,    /* bytes of a version 1 key exchange or nonce; a longer one is not logged */
};
enum { IKE_COMPLETE = 1 };

enum ike_event {
    IKE_MALFORMED_DATA,
    IKE_NO_ENCRYPTION,
    IKE_WEAK_CRYPTO_ENC,
    IKE_WEAK_CRYPTO_PRF,
    IKE_WEAK_CRYPTO_DH,
    IKE_WEAK_CRYPTO_AUTH,
    IKE_WEAK_CRYPTO_NODH,
    IKE_WEAK_CRYPTO_NOAUTH,
    IKE_INVALID_PROPOSAL,
    IKE_UNKNOWN_PROPOSAL,
    IKE_PAYLOAD_EXTRA_DATA,
    IKE_MULTIPLE_SERVER_PROPOSAL,
    IKE_EVENTS,
};

/* An SA attribute of version 1. A value in the type-value format or of four bytes is a number; others are stored as
 * bytes. */
struct ike_attribute {
    uint16_t type;
    bool has_number;    /* the value is `number`; false: it is `raw` */
    uint8_t raw_length; /* bytes in `raw` */
    uint32_t number;
    uint8_t raw[IKE_RAW_MAX];
};
struct ike_attributes {
    struct buffer list; /* array of struct ike_attribute */
};

/* Transform types of version 2. */
enum { IKE2_ENC = 1, IKE2_PRF = 2, IKE2_AUTH = 3, IKE2_DH = 4, IKE2_ESN = 5, IKE2_TRANSFORMS = 6 };
struct ike_choice {
    bool is_set;
    uint16_t id;
};

/* Payloads that one side has sent. */
struct ike_party {
    struct buffer key_exchange, nonce;
};

struct ike_state {
    bool has_marker; /* messages have the non-ESP marker (RFC 3948) */
    struct ike_party party[FLOW_DIRECTIONS];
    bool has_doi;
    uint32_t doi;
    uint32_t server_transforms;                /* transforms sent by the server in this exchange: 0, 1, or 2 for more */
    struct ike_attributes chosen;              /* version 1: attributes of the server's first transform */
    struct ike_choice choice[IKE2_TRANSFORMS]; /* version 2: chosen transforms by type */
};

struct ike_vendor {
    uint32_t at, length; /* location of the vendor ID's hexadecimal digits in ike_tx.text */
};

struct ike_tx {
    struct app_tx tx;
    /* parsed: the header is valid; otherwise the transaction only has events. encrypted: the payloads are encrypted.
     * has_doi: `doi` is set. */
    bool parsed, encrypted, has_doi;
    uint8_t major, minor, exchange, flags; /* version, exchange type and flags in the header */
    uint32_t message_id, doi;
    char initiator[IKE_SPI_TEXT], responder[IKE_SPI_TEXT];
    struct ike_party in_message;             /* contents of this message */
    struct ike_party party[FLOW_DIRECTIONS]; /* contents of the last unencrypted message of each side */
    struct ike_attributes chosen;            /* version 1: attributes that the server has chosen so far */
    struct ike_attributes attributes;        /* version 1: all attributes in this message */
    uint32_t transforms;                     /* number of transforms in this message */
    uint32_t first_count;                    /* number of attributes of the first transform in this message */
    struct ike_choice choice[IKE2_TRANSFORMS];
    struct buffer text; /* vendor IDs in hexadecimal digits */
    struct ike_vendor vendor[IKE_VENDORS_MAX];
    uint8_t vendors, payloads, notifies; /* number of entries in `vendor`, `payload` and `notify` */
    uint32_t payload_types;              /* version 1: a bit per payload type */
    uint8_t payload[IKE_PAYLOADS_MAX];
    uint16_t notify[IKE_NOTIFIES_MAX];
    uint32_t errors; /* number of error notifications */
};

struct ike_settings {
    bool extended;
};

/* Context while a message is parsed. */
struct ike_parse {
    struct heap *heap;
    struct ike_state *state;
    struct ike_tx *tx;
    enum flow_direction direction;
    unsigned events; /* bits 1 << enum ike_event */
    bool no_memory;
};

struct ike_payload {
    uint8_t type;
    struct cursor body;
};
/* Parses the payload at *cur, which has type *type, and sets *type to the type of the next payload. Returns false if
 * the payload is malformed; *cur does not advance then. */
bool ike_payload_read(struct cursor *cur, uint8_t *type, struct ike_payload *out);
void ike_set_event(struct ike_parse *parse, enum ike_event event);
/* Replaces the contents of the buffer; sets parse->no_memory on failure. */
void ike_store(struct ike_parse *parse, struct buffer *buffer, const void *bytes, size_t length);

void ike_read_v1(struct ike_parse *parse, struct cursor cur, uint8_t first);
void ike_read_v2(struct ike_parse *parse, struct cursor cur, uint8_t first);

static inline size_t ike_attribute_count(const struct ike_attributes *attributes)
{
    return attributes->list.length / sizeof(struct ike_attribute);
}

static inline const struct ike_attribute *ike_attribute_at(const struct ike_attributes *attributes, size_t index)
{
    return (const struct ike_attribute *)(const void *)attributes->list.bytes + index;
}

/* --- names.c: NULL if a number has no name ----------------------------------------------------------- */

const char *ike_attribute_key(uint16_t type);
const char *ike_attribute_value(uint16_t type, uint32_t number); /* "Unknown" if it has no name */
const char *ike_payload_name(uint8_t major, uint8_t type);
const char *ike_exchange_name(uint8_t exchange); /* version 1 */
const char *ike_notify_name(uint16_t type);
const char *ike_transform_name(unsigned type, uint16_t id);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { IKE_BUFFERS = 5, IKE_CONDITIONS = 4 };
extern const struct app_buffer ike_buffers[IKE_BUFFERS];
extern const struct app_condition ike_conditions[IKE_CONDITIONS];
extern const struct keyword keyword_ike_exchtype;

void ike_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
