/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OPC UA (OPC 10000-6: UA Connection Protocol, UA Secure Conversation, binary encoding). Each message is a separate
 * transaction in its own direction. */
#ifndef SLUICE_APP_OPCUA_PRIV_H
#define SLUICE_APP_OPCUA_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"
#include "sluice/number_range.h"

enum {
    OPCUA_OPEN_MAX = 8,             /* messages of a flow that wait for further chunks */
    OPCUA_BODY_LIMIT = 1024 * 1024, /* maximum of the setting max-body */
    OPCUA_TEXT_MAX = 4096,          /* maximum length of URLs and reasons (OPC 10000-6, 7.1.2) */
};
enum { OPCUA_COMPLETE = 1 };

enum opcua_event {
    OPCUA_INVALID_SIZE,
    OPCUA_INVALID_TYPE,
    OPCUA_INVALID_CHUNK_TYPE,
    OPCUA_CHUNK_TOO_LARGE,
    OPCUA_BODY_TOO_LARGE,
    OPCUA_TOO_MANY_MESSAGES,
    OPCUA_INVALID_TYPE_ID,
    OPCUA_NONZERO_NAMESPACE_INDEX,
    OPCUA_ABNORMAL_VERSION,
    OPCUA_INVALID_STRING,
    OPCUA_INVALID_BODY,
    OPCUA_EVENTS,
};

enum opcua_type {
    OPCUA_NO_TYPE,
    OPCUA_HELLO,
    OPCUA_ACKNOWLEDGE,
    OPCUA_ERROR,
    OPCUA_REVERSE_HELLO,
    OPCUA_OPEN,
    OPCUA_MESSAGE,
    OPCUA_CLOSE,
    OPCUA_TYPES,
};

/* Protection of the messages in the secure channel, as far as it is known. */
enum opcua_security {
    OPCUA_SECURITY_UNKNOWN, /* OpenSecureChannel was not seen */
    OPCUA_SECURITY_NONE,
    OPCUA_SECURITY_SIGNED, /* signed, and possibly encrypted */
    OPCUA_SECURITY_VALUES,
};

struct opcua_tx {
    struct app_tx tx;
    uint8_t type;     /* enum opcua_type; OPCUA_NO_TYPE: the transaction only has events */
    uint8_t security; /* enum opcua_security, of OPCUA_OPEN, OPCUA_MESSAGE and OPCUA_CLOSE */
    bool is_aborted;  /* the sender ended the message with an abort chunk */
    bool is_opaque;   /* the body is encrypted, or cannot be parsed for another reason */
    bool has_type_id, has_handle, has_status;
    bool is_numeric;          /* the type id is a number: `type_id` is set */
    uint16_t namespace_index; /* of the type id */
    uint32_t type_id;
    uint32_t handle, status;        /* request handle; status of ERR, of an abort chunk and of a response */
    uint32_t version;               /* of HEL and ACK */
    uint32_t channel, request_id;   /* of OPN, MSG and CLO */
    uint32_t chunks;                /* number of chunks of the message */
    uint64_t length;                /* of the whole body in bytes; `body` may have only its start */
    struct buffer body;             /* type id and parameters */
    struct buffer text, server_uri; /* text: URL of HEL and RHE, reason of ERR, security policy of OPN */
    struct buffer items, item_ends; /* node ids as text without separators; end of each, as uint32_t */
};

struct opcua_settings {
    uint64_t max_body;
};

static inline bool opcua_read_u32(struct cursor *cur, uint32_t *out)
{
    const uint8_t *bytes = cursor_read(cur, 4);

    if (bytes)
        *out = load_le32(bytes);
    return bytes;
}

/* Reads a String or ByteString. A null string (length -1) is read as an empty one. */
bool opcua_read_string(struct cursor *cur, struct cursor *out);

/* --- body.c, value.c --------------------------------------------------------------------------------- */

enum opcua_id_kind { OPCUA_ID_NUMBER, OPCUA_ID_STRING, OPCUA_ID_GUID, OPCUA_ID_OPAQUE };
struct opcua_node_id {
    enum opcua_id_kind kind;
    uint16_t namespace_index;
    uint32_t number;
    struct cursor bytes; /* of kinds other than OPCUA_ID_NUMBER */
};
bool opcua_read_node_id(struct cursor *cur, struct opcua_node_id *out);
/* Each function skips one value in binary encoding. It returns false if the value is truncated, invalid or nested too
 * deeply. */
bool opcua_skip_extension_object(struct cursor *cur);
bool opcua_skip_diagnostic_info(struct cursor *cur);
bool opcua_skip_variant(struct cursor *cur);
bool opcua_skip_data_value(struct cursor *cur);

/* Parses the body of a message. Returns the event to set, or OPCUA_EVENTS if there is none; *failed: no memory. */
enum opcua_event opcua_parse_body(struct heap *heap, struct opcua_tx *tx, bool *failed);

/* --- names.c, keywords.c, log.c ---------------------------------------------------------------------- */

extern const struct number_name opcua_type_names[]; /* the first OPCUA_TYPES - 1 names are in the order of the types */
extern const struct number_name opcua_services[];   /* names by numeric type id */
/* Returns the name of the request or response with this type id; NULL: there is none. */
const char *opcua_service_name(uint32_t number);

enum { OPCUA_BUFFERS = 4, OPCUA_CONDITIONS = 5 };
extern const struct app_buffer opcua_buffers[OPCUA_BUFFERS];
extern const struct app_condition opcua_conditions[OPCUA_CONDITIONS];

void opcua_log_own(const struct app_tx *tx, struct fields *out);

#endif
