/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers of DCE/RPC messages, for TCP connections and SMB pipes. */
#include "dce.h"
#include "sluice/hex.h"
#include "sluice/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BIND_FIXED = 12, BIND_SYNTAX = 20, ACK_RESULT = 24, NO_TYPE = 99 };

static const char *const type_names[DCE_TYPES] = {
    "REQUEST",   "PING",     "RESPONSE",   "FAULT",    "WORKING", "NOCALL",  "REJECT",        "ACK",
    "CL_CANCEL", "FACK",     "CANCEL_ACK", "BIND",     "BINDACK", "BINDNAK", "ALTER_CONTEXT", "ALTER_CONTEXT_RESP",
    "AUTH3",     "SHUTDOWN", "CO_CANCEL",  "ORPHANED", "RTS",
};

const char *dce_type_name(uint8_t type)
{
    return type < DCE_TYPES ? type_names[type] : NULL;
}

static uint16_t load_u16(const uint8_t *p, bool little)
{
    return little ? load_le16(p) : load_be16(p);
}

bool dce_header_read(const uint8_t *bytes, size_t length, struct dce_header *out)
{
    if (length < DCE_HEADER)
        return false;
    out->major = bytes[0];
    out->minor = bytes[1];
    out->type = bytes[2];
    out->flags = bytes[3];
    out->little = bytes[4] & 0x10;
    out->length = load_u16(bytes + 8, out->little);
    out->call_id = out->little ? load_le32(bytes + 12) : load_be32(bytes + 12);
    return true;
}

bool dce_header_is_plausible(const struct dce_header *header)
{
    return header->major == 5 && header->minor <= 1 && header->type < DCE_TYPES && header->length >= DCE_HEADER;
}

uint8_t dce_response_type(uint8_t request)
{
    switch (request) {
    case DCE_REQUEST:
        return DCE_RESPONSE;
    case DCE_BIND:
        return DCE_BIND_ACK;
    case DCE_ALTER_CONTEXT:
        return DCE_ALTER_CONTEXT_RESPONSE;
    default:
        return NO_TYPE;
    }
}

uint8_t dce_request_type(uint8_t response)
{
    switch (response) {
    case DCE_RESPONSE:
    case DCE_FAULT:
        return DCE_REQUEST;
    case DCE_BIND_ACK:
    case DCE_BIND_NAK:
        return DCE_BIND;
    case DCE_ALTER_CONTEXT_RESPONSE:
        return DCE_ALTER_CONTEXT;
    default:
        return NO_TYPE;
    }
}

void dce_uuid_read(const uint8_t *bytes, bool little, uint8_t out[DCE_UUID])
{
    static const uint8_t order[8] = { 3, 2, 1, 0, 5, 4, 7, 6 };

    memcpy(out, bytes, DCE_UUID);
    for (unsigned i = 0; little && i < sizeof(order); i++)
        out[i] = bytes[order[i]];
}

void dce_uuid_text(const uint8_t uuid[DCE_UUID], char out[DCE_UUID_TEXT])
{
    for (unsigned i = 0; i < DCE_UUID; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        out = hex_write_byte(out, uuid[i]);
    }
    *out = '\0';
}

/* --- Bindings ---------------------------------------------------------------------------------------- */

struct dce_bindings *dce_bindings_ref(struct dce_bindings *bindings)
{
    if (bindings)
        bindings->references++;
    return bindings;
}

void dce_bindings_unref(struct heap *heap, struct dce_bindings *bindings)
{
    if (bindings && --bindings->references == 0)
        heap_release(heap, bindings);
}

/* Returns a new list with the last `kept` entries of `old`, or fewer because of DCE_BINDINGS_MAX, and room for `more`
 * entries. The caller owns the only reference. Returns NULL without memory. */
static struct dce_bindings *copy_bindings(struct heap *heap, const struct dce_bindings *old, uint32_t kept,
                                          uint32_t more)
{
    struct dce_bindings *list;

    if (kept + more > DCE_BINDINGS_MAX)
        kept = DCE_BINDINGS_MAX - more;
    list = heap_alloc_uncleared(heap, sizeof(*list) + (kept + more) * sizeof(list->at[0]));
    if (!list)
        return NULL;
    list->references = 1;
    list->count = kept;
    if (kept > 0)
        memcpy(list->at, old->at + old->count - kept, kept * sizeof(list->at[0]));
    return list;
}

static bool read_interface(struct cursor *cur, const struct dce_header *header, struct dce_interface *out)
{
    const uint8_t *fixed = cursor_read(cur, 24);

    if (!fixed || !cursor_skip(cur, (size_t)BIND_SYNTAX * fixed[2]))
        return false;
    *out = (struct dce_interface){
        .call_id = header->call_id,
        .context = load_u16(fixed, header->little),
        .version = load_u16(fixed + (header->little ? 20 : 22), header->little),
        .minor = load_u16(fixed + (header->little ? 22 : 20), header->little),
        .first_fragment = header->flags & DCE_FIRST_FRAGMENT,
    };
    dce_uuid_read(fixed + 4, header->little, out->uuid);
    return true;
}

int dce_bind_parse(struct heap *heap, struct dce_bindings **bindings, const struct dce_header *header,
                   const uint8_t *body, size_t length, bool add)
{
    struct cursor cur = cursor_of(body, length);
    const uint8_t *fixed = cursor_read(&cur, BIND_FIXED);
    uint32_t kept = add && *bindings ? (*bindings)->count : 0;
    struct dce_bindings *list;

    if (!fixed)
        return -EINVAL;
    list = copy_bindings(heap, *bindings, kept, fixed[8]);
    if (!list)
        return -ENOMEM;
    for (uint16_t i = 0; i < fixed[8]; i++) {
        if (!read_interface(&cur, header, &list->at[list->count])) {
            dce_bindings_unref(heap, list);
            return -EINVAL;
        }
        list->at[list->count++].position = i;
    }
    dce_bindings_unref(heap, *bindings);
    *bindings = list;
    return 0;
}

int dce_bindings_set(struct heap *heap, struct dce_bindings **bindings, const struct dce_interface *interface)
{
    struct dce_bindings *list = copy_bindings(heap, NULL, 0, 1);

    if (!list)
        return -ENOMEM;
    list->at[list->count++] = *interface;
    dce_bindings_unref(heap, *bindings);
    *bindings = list;
    return 0;
}

/* Replaces a shared list by a private copy, so that the caller may write to it. */
static int unshare_bindings(struct heap *heap, struct dce_bindings **bindings)
{
    struct dce_bindings *list;

    if ((*bindings)->references == 1)
        return 0;
    list = copy_bindings(heap, *bindings, (*bindings)->count, 0);
    if (!list)
        return -ENOMEM;
    dce_bindings_unref(heap, *bindings);
    *bindings = list;
    return 0;
}

int dce_bind_ack_parse(struct heap *heap, struct dce_bindings **bindings, const struct dce_header *header,
                       const uint8_t *body, size_t length, bool any_call)
{
    struct cursor cur = cursor_of(body, length);
    const uint8_t *fixed = cursor_read(&cur, 10);
    uint16_t address = fixed ? load_u16(fixed + 8, header->little) : 0;
    const uint8_t *count;

    /* The secondary address is padded to a multiple of four bytes. */
    if (!fixed || !cursor_skip(&cur, (size_t)address + (4 - (address + 2) % 4) % 4))
        return -EINVAL;
    count = cursor_read(&cur, 4);
    if (!count)
        return -EINVAL;
    if (!*bindings)
        return 0;
    if (unshare_bindings(heap, bindings))
        return -ENOMEM;
    for (unsigned position = 0; position < count[0]; position++) {
        const uint8_t *result = cursor_read(&cur, ACK_RESULT);

        if (!result)
            return -EINVAL;
        for (uint32_t i = 0; i < (*bindings)->count; i++) {
            struct dce_interface *interface = &(*bindings)->at[i];

            if (interface->position != position || (!any_call && interface->call_id != header->call_id))
                continue;
            interface->acked = true;
            interface->result = load_u16(result, header->little);
        }
    }
    return 0;
}

/* --- Calls ------------------------------------------------------------------------------------------- */

/* As in Suricata, the UUID of an object (PFC_OBJECT_UUID, [C706, 12.6.4.9]) counts as the first bytes of the stub data.
 */
static bool read_stub(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out)
{
    if (header->length < DCE_HEADER + 8 || length < 8)
        return false;
    out->stub = body + 8;
    out->stub_length = header->length - DCE_HEADER - 8u;
    return out->stub_length <= length - 8;
}

bool dce_request_read(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out)
{
    if (!read_stub(header, body, length, out))
        return false;
    out->context = load_u16(body + 4, header->little);
    out->opnum = load_u16(body + 6, header->little);
    return true;
}

bool dce_response_read(const struct dce_header *header, const uint8_t *body, size_t length, struct dce_body *out)
{
    return read_stub(header, body, length, out);
}

bool dce_stub_append(struct heap *heap, struct dce_call *call, enum flow_direction direction, const uint8_t *bytes,
                     size_t length, uint32_t limit)
{
    call->fragments[direction]++;
    return buffer_append(heap, &call->stub[direction], bytes, (uint32_t)length, limit) == length;
}

void dce_call_clear(struct heap *heap, struct dce_call *call)
{
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        buffer_clear(heap, &call->stub[i]);
    dce_bindings_unref(heap, call->bindings);
    call->bindings = NULL;
}

/* --- Transfer to the next engine --------------------------------------------------------------------- */

void dce_bindings_transfer(struct transfer *t, struct heap *heap, struct dce_bindings **bindings)
{
    uint32_t count = *bindings ? (*bindings)->count : 0;

    transfer_u32(t, &count);
    transfer_require(t, count <= DCE_BINDINGS_MAX);
    if (t->error || count == 0)
        return;
    if (t->reading && !(*bindings = copy_bindings(heap, NULL, 0, count))) {
        t->error = -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct dce_interface interface = { .call_id = 0 };

        if (!t->reading)
            interface = (*bindings)->at[i];
        transfer_bytes(t, interface.uuid, sizeof(interface.uuid));
        transfer_u32(t, &interface.call_id);
        transfer_u16(t, &interface.version);
        transfer_u16(t, &interface.minor);
        transfer_u16(t, &interface.context);
        transfer_u16(t, &interface.position);
        transfer_u16(t, &interface.result);
        transfer_bool(t, &interface.acked);
        transfer_bool(t, &interface.first_fragment);
        (*bindings)->at[i] = interface;
    }
    (*bindings)->count = count;
}

void dce_call_transfer(struct app_context *context, struct transfer *t, struct dce_call *call,
                       struct dce_bindings *bindings)
{
    transfer_u8(t, &call->request);
    transfer_u8(t, &call->response);
    transfer_bool(t, &call->has_request);
    transfer_bool(t, &call->has_response);
    transfer_bool(t, &call->little);
    transfer_bool(t, &call->has_opnum);
    transfer_bool(t, &call->in_pipe);
    transfer_bool(t, &call->in_datagram);
    transfer_u8(t, &call->minor);
    transfer_u16(t, &call->opnum);
    transfer_u16(t, &call->context);
    transfer_u32(t, &call->call_id);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        transfer_u32(t, &call->fragments[i]);
        app_transfer_buffer(context, t, &call->stub[i]);
    }
    transfer_bytes(t, call->activity, sizeof(call->activity));
    transfer_u32(t, &call->sequence);
    if (t->reading)
        call->bindings = dce_bindings_ref(bindings);
}
