/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DCE/RPC (C706, [MS-RPCE]) without what carries it: src/app/dcerpc reads it from connections and datagrams,
 * src/app/smb from pipes.
 *
 * Both have transactions that begin with struct dce_tx, so that one set of keywords serves both. What was bound is a
 * list that a connection's state shares with its calls: whoever changes it makes a copy first, so that a call keeps
 * what held when it was made.
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

enum { DCE_FIRST_FRAGMENT = 1, DCE_LAST_FRAGMENT = 2, DCE_HAS_OBJECT = 0x80 }; /* flags of a connection's header */

enum {
    DCE_HEADER = 16,
    DCE_UUID = 16,
    DCE_UUID_TEXT = 37,
    DCE_STUB_MAX = 1 << 20, /* the field's default for what is kept of the fragments of one call */
    DCE_BINDINGS_MAX = 256, /* of a connection; older ones are forgotten */
    DCE_COMPLETE = 1,       /* progress */
};

/* The header of a fragment on a connection. */
struct dce_header {
    uint8_t major, minor, type, flags;
    bool little;
    uint16_t length; /* of the fragment with this header */
    uint32_t call_id;
};

struct dce_interface {
    uint8_t uuid[DCE_UUID];
    uint32_t call_id;
    uint16_t version, minor, context;
    uint16_t position; /* in its bind: results come in this order */
    uint16_t result;
    bool acked, first_fragment;
};

struct dce_bindings {
    uint32_t references, count;
    struct dce_interface at[];
};

/* One request with its response. */
struct dce_call {
    uint8_t request, response; /* types */
    bool has_request, has_response;
    bool little;
    bool has_opnum;
    bool in_pipe, in_datagram;
    uint8_t minor;
    uint16_t opnum, context;
    uint32_t call_id;
    uint32_t fragments[FLOW_DIRECTIONS];
    struct buffer stub[FLOW_DIRECTIONS];
    struct dce_bindings *bindings; /* a reference; NULL for none */
    uint8_t activity[DCE_UUID];    /* of datagrams */
    uint32_t sequence;
};

struct dce_tx {
    struct app_tx tx;
    struct dce_call *call; /* NULL: another kind of transaction */
};

/* --- dce.c ---------------------------------------------------------------------------------------- */

/* False when there are too few bytes. */
bool dce_header_read(const uint8_t *bytes, size_t length, struct dce_header *out);
/* Whether a fragment may begin so. */
bool dce_header_is_plausible(const struct dce_header *header);
const char *dce_type_name(uint8_t type); /* EVE's; NULL for an unknown one */
/* The response that a request has, and the reverse; 99 for none. */
uint8_t dce_response_of(uint8_t request);
uint8_t dce_request_of(uint8_t response);
void dce_uuid_read(const uint8_t *bytes, bool little, uint8_t out[DCE_UUID]);
void dce_uuid_text(const uint8_t uuid[DCE_UUID], char out[DCE_UUID_TEXT]);

struct dce_bindings *dce_bindings_keep(struct dce_bindings *bindings); /* one more reference; NULL is allowed */
void dce_bindings_drop(struct heap *heap, struct dce_bindings *bindings);
/* The interfaces of a bind's body; `add`: those that were there stay. 0, -EINVAL when it is broken, or -ENOMEM. */
int dce_bind(struct heap *heap, struct dce_bindings **bindings, const struct dce_header *header, const uint8_t *body,
             size_t length, bool add);
/* The results of its answer. `any_call`: they are those of the last bind, whatever its call. */
int dce_bind_ack(struct heap *heap, struct dce_bindings **bindings, const struct dce_header *header,
                 const uint8_t *body, size_t length, bool any_call);
/* An interface that needs no bind. 0 or -ENOMEM. */
int dce_bind_one(struct heap *heap, struct dce_bindings **bindings, const struct dce_interface *interface);

/* The context, opnum and stub of a request's fragment, or the stub of a response's. `body` lies behind the header.
 * False: broken. */
struct dce_body {
    uint16_t context, opnum;
    const uint8_t *stub;
    size_t stub_length;
};
bool dce_request_read(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out);
bool dce_response_read(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out);
/* Appends to the stub. False when no more will be kept: there is no room for all of it. */
bool dce_stub_append(struct heap *heap, struct dce_call *call, enum flow_direction direction, const uint8_t *bytes,
                     size_t length, uint32_t limit);
void dce_call_clear(struct heap *heap, struct dce_call *call);

/* To another process: a list, made when it is read; and a call, with whatever list holds then. */
void dce_bindings_transfer(struct transfer *t, struct heap *heap, struct dce_bindings **bindings);
void dce_call_transfer(struct app_context *context, struct transfer *t, struct dce_call *call,
                       struct dce_bindings *bindings);

/* --- interfaces.c --------------------------------------------------------------------------------- */

/* Names of well-known interfaces; NULL for others. `procedure`: of the operation with this number. */
const char *dce_service(const uint8_t uuid[DCE_UUID]);
const char *dce_procedure(const uint8_t uuid[DCE_UUID], uint16_t opnum, size_t *length);

/* --- log.c ---------------------------------------------------------------------------------------- */

/* The array of interfaces: those of the call's context, or all of a bind. `reasons`: why they were refused, too. */
void dce_log_interfaces(const struct dce_call *call, bool reasons, struct fields *out);
void dce_log_type(const char *key, uint8_t type, struct fields *out);
void dce_log(const struct app_tx *tx, const void *settings, struct fields *out);

/* --- keywords.c ----------------------------------------------------------------------------------- */

extern const struct keyword keyword_dcerpc_iface, keyword_dcerpc_opnum, keyword_dcerpc_stub_data;
/* For the tables of buffers: transactions that begin with struct dce_tx. */
bool dce_get_stub(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);

/* --- datagram.c ----------------------------------------------------------------------------------- */

struct dcerpc_tx {
    struct dce_tx head;
    struct dce_call call;
};
struct dcerpc_settings {
    uint32_t stub_max, tx_max;
};

/* A new transaction; when too many are open the oldest is closed for it. NULL when there is no memory. */
struct dcerpc_tx *dcerpc_tx_new(struct app_context *context);
uint32_t dcerpc_stub_max(const struct app_context *context);
struct app_result dcerpc_feed_datagram(struct app_context *context, const struct app_input *in);
enum app_guess dcerpc_probe_datagram(const struct app_probe *in);

#endif
