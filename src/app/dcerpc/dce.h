/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DCE/RPC (C706, [MS-RPCE]) independent of the transport: src/app/dcerpc parses it in TCP connections and UDP
 * datagrams, src/app/smb in pipes.
 *
 * Transactions of both protocols begin with struct dce_tx, so the keywords apply to both. A connection and its calls
 * share the list of bound interfaces by reference. A change to a shared list is made to a copy, so that each call keeps
 * the bindings that existed when it was made.
 */
#ifndef SLUICE_APP_DCE_H
#define SLUICE_APP_DCE_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum dce_type {
    DCE_REQUEST = 0,
    DCE_RESPONSE = 2,
    DCE_FAULT = 3,
    DCE_BIND = 11,
    DCE_BIND_ACK = 12,
    DCE_BIND_NAK = 13,
    DCE_ALTER_CONTEXT = 14,
    DCE_ALTER_CONTEXT_RESPONSE = 15,
    DCE_AUTH3 = 16,
    DCE_TYPES = 21,
};

enum { DCE_FIRST_FRAGMENT = 1, DCE_LAST_FRAGMENT = 2 }; /* dce_header.flags */

enum {
    DCE_HEADER = 16,
    DCE_UUID = 16,
    DCE_UUID_TEXT = 37,
    DCE_STUB_MAX = 1 << 20, /* limit of the stub data of a call over SMB; over TCP and UDP it is a setting */
    DCE_BINDINGS_MAX = 256, /* interfaces stored per connection; when there are more, the oldest are dropped */
    DCE_COMPLETE = 1,       /* transaction progress */
};

/* Header of a fragment on a connection. */
struct dce_header {
    uint8_t major, minor, type, flags;
    bool little;     /* integers are little-endian */
    uint16_t length; /* bytes of the fragment, including this header */
    uint32_t call_id;
};

/* An interface of a bind request, with its result in the bind ack. */
struct dce_interface {
    uint8_t uuid[DCE_UUID];
    uint32_t call_id;                 /* call id of the bind request */
    uint16_t version, minor, context; /* version of the interface; context id, by which requests refer to it */
    uint16_t position; /* index of the interface in the bind request, and of the result in the bind ack */
    uint16_t result;   /* with `acked`: result in the bind ack; 0: accepted */
    /* acked: the bind ack has been received. first_fragment: the bind request has DCE_FIRST_FRAGMENT. */
    bool acked, first_fragment;
};

/* List of bound interfaces, shared by reference; see the head of this file. */
struct dce_bindings {
    uint32_t references, count; /* number of references to the list; number of interfaces in `at` */
    struct dce_interface at[];
};

/* A request and its response. */
struct dce_call {
    uint8_t request, response;      /* values of enum dce_type */
    bool has_request, has_response; /* the request or response has been received: its type is set */
    bool little;                    /* integers of the request are little-endian */
    bool has_opnum;                 /* opnum and context are set */
    bool in_pipe, in_datagram; /* the call is in an SMB pipe or in UDP datagrams; both false: in a TCP connection */
    uint8_t minor;             /* minor version of the protocol */
    uint16_t opnum, context;
    uint32_t call_id;
    uint32_t fragments[FLOW_DIRECTIONS]; /* number of fragments received */
    struct buffer stub[FLOW_DIRECTIONS]; /* stub data of all fragments */
    struct dce_bindings *bindings;       /* a counted reference; NULL if nothing was bound */
    uint8_t activity[DCE_UUID];          /* datagrams only: activity UUID and sequence number of the call */
    uint32_t sequence;
};

struct dce_tx {
    struct app_tx tx;
    struct dce_call *call; /* NULL if the transaction is not a DCE/RPC call */
};

/* --- dce.c ------------------------------------------------------------------------------------------- */

/* Parses the header of a fragment. Returns false if there are fewer than DCE_HEADER bytes. */
bool dce_header_read(const uint8_t *bytes, size_t length, struct dce_header *out);
/* Whether the version, type and length are valid for the start of a fragment. */
bool dce_header_is_plausible(const struct dce_header *header);
const char *dce_type_name(uint8_t type); /* name in EVE events; NULL for an unknown type */
/* dce_response_type() returns the response type of a request type, dce_request_type() the reverse. Both return 99 if
 * there is none. */
uint8_t dce_response_type(uint8_t request);
uint8_t dce_request_type(uint8_t response);
void dce_uuid_read(const uint8_t *bytes, bool little, uint8_t out[DCE_UUID]);
void dce_uuid_text(const uint8_t uuid[DCE_UUID], char out[DCE_UUID_TEXT]);

struct dce_bindings *dce_bindings_ref(struct dce_bindings *bindings); /* adds a reference; NULL is allowed */
void dce_bindings_unref(struct heap *heap, struct dce_bindings *bindings);
/* Parses the interfaces of a bind request; if `add` is true, the interfaces bound before are kept. Returns 0, -EINVAL
 * if the body is malformed, or -ENOMEM. */
int dce_bind_parse(struct heap *heap, struct dce_bindings **bindings, const struct dce_header *header,
                   const uint8_t *body, size_t length, bool add);
/* Parses the results of a bind ack. The results apply to the interfaces of the bind with the same call id; if
 * `any_call` is true, to all stored interfaces. Returns as dce_bind_parse(). */
int dce_bind_ack_parse(struct heap *heap, struct dce_bindings **bindings, const struct dce_header *header,
                       const uint8_t *body, size_t length, bool any_call);
/* Replaces the list by a new one that contains only this interface. Used for datagrams, which have no bind. Returns 0
 * or -ENOMEM. */
int dce_bindings_set(struct heap *heap, struct dce_bindings **bindings, const struct dce_interface *interface);

/* Result of dce_request_read(), which parses the context, opnum and stub data of a request fragment, and of
 * dce_response_read(), which parses the stub data of a response fragment. The `body` that both parse starts after the
 * header. Both return false if the fragment is malformed. */
struct dce_body {
    uint16_t context, opnum;
    const uint8_t *stub;
    size_t stub_length;
};
bool dce_request_read(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out);
bool dce_response_read(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out);
/* Appends to the stub data of a direction. Returns false if not all bytes were stored: `limit` was reached, or memory
 * is exhausted. */
bool dce_stub_append(struct heap *heap, struct dce_call *call, enum flow_direction direction, const uint8_t *bytes,
                     size_t length, uint32_t limit);
void dce_call_clear(struct heap *heap, struct dce_call *call);

/* Transfer a list of bindings, or a call, to the next engine. When reading, the list is allocated, and the call gets a
 * reference to `bindings`. */
void dce_bindings_transfer(struct transfer *t, struct heap *heap, struct dce_bindings **bindings);
void dce_call_transfer(struct app_context *context, struct transfer *t, struct dce_call *call,
                       struct dce_bindings *bindings);

/* --- interfaces.c ------------------------------------------------------------------------------------ */

/* Return the name of a well-known interface, and of one of its procedures by opnum; NULL if unknown. The name of a
 * procedure has *length bytes and no terminating zero. */
const char *dce_service_name(const uint8_t uuid[DCE_UUID]);
const char *dce_procedure_name(const uint8_t uuid[DCE_UUID], uint16_t opnum, size_t *length);

/* --- log.c ------------------------------------------------------------------------------------------- */

/* Logs the array of interfaces: for a request the interface with the context id of the request, otherwise all
 * interfaces of the bind. `is_bind`: also log ack_reason, and in a pipe ack_result. */
void dce_log_interfaces(const struct dce_call *call, bool is_bind, struct fields *out);
void dce_log_type(const char *key, uint8_t type, struct fields *out);
void dce_log(const struct app_tx *tx, const void *settings, struct fields *out);

/* --- keywords.c -------------------------------------------------------------------------------------- */

extern const struct keyword keyword_dcerpc_iface, keyword_dcerpc_opnum, keyword_dcerpc_stub_data;
/* Buffer getter for transactions that begin with struct dce_tx. */
bool dce_get_stub(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);

/* --- datagram.c -------------------------------------------------------------------------------------- */

struct dcerpc_tx {
    struct dce_tx head;
    struct dce_call call;
};
struct dcerpc_settings {
    uint32_t stub_max, tx_max; /* limits: bytes of stub data stored for a call; number of open calls */
};

/* Allocates a transaction. If dcerpc_settings.tx_max transactions are open, first completes the oldest one. Returns
 * NULL if out of memory. */
struct dcerpc_tx *dcerpc_tx_new(struct app_context *context);
uint32_t dcerpc_stub_max(const struct app_context *context);
struct app_result dcerpc_feed_datagram(struct app_context *context, const struct app_input *in);
enum app_probe_result dcerpc_probe_datagram(const struct app_probe *in);

#endif
