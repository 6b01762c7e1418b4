/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of OPC UA messages: the type id (the node id of a request or response), the header of the request or response,
 * and the node ids of the items of requests. A body that is signed but not encrypted is parsed like one without
 * security. The connection does not show whether bodies are encrypted. So, unless the security policy is None, a body
 * that does not start with the type id of a service counts as encrypted.
 */
#include "opcua_priv.h"
#include "sluice/base64.h"

/* --- Node ids as text -------------------------------------------------------------------------------- */

static bool append(struct heap *heap, struct buffer *buffer, const void *bytes, size_t length)
{
    return buffer_append(heap, buffer, bytes, (uint32_t)length, UINT32_MAX) == length;
}

static char *write_hex(char *at, uint64_t value, unsigned digits)
{
    for (unsigned i = 0; i < digits; i++)
        at[i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 0xf];
    return at + digits;
}

static char *write_decimal(char *at, uint32_t value)
{
    char digits[10];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* Adds a node id to the items, in the usual form: "ns=2;s=Pump". Returns false if there is no memory. */
static bool add_item(struct heap *heap, struct opcua_tx *tx, const struct opcua_node_id *id)
{
    static const char kinds[] = {
        [OPCUA_ID_NUMBER] = 'i', [OPCUA_ID_STRING] = 's', [OPCUA_ID_GUID] = 'g', [OPCUA_ID_OPAQUE] = 'b'
    };
    size_t length = cursor_remaining(&id->bytes);
    const uint8_t *bytes = id->bytes.at;
    char text[64], *at = text;

    if (id->namespace_index > 0) {
        memcpy(at, "ns=", 3);
        at = write_decimal(at + 3, id->namespace_index);
        *at++ = ';';
    }
    *at++ = kinds[id->kind];
    *at++ = '=';
    if (id->kind == OPCUA_ID_NUMBER)
        at = write_decimal(at, id->number);
    if (id->kind == OPCUA_ID_GUID) {
        at = write_hex(at, load_le32(bytes), 8);
        *at++ = '-';
        at = write_hex(at, load_le16(bytes + 4), 4);
        *at++ = '-';
        at = write_hex(at, load_le16(bytes + 6), 4);
        *at++ = '-';
        at = write_hex(at, load_be16(bytes + 8), 4);
        *at++ = '-';
        at = write_hex(at, load_be64(bytes + 8) & 0xffffffffffff, 12);
    }
    if (!append(heap, &tx->items, text, (size_t)(at - text)))
        return false;
    if (id->kind == OPCUA_ID_STRING && length > 0 && !append(heap, &tx->items, bytes, length))
        return false;
    if (id->kind == OPCUA_ID_OPAQUE && length > 0) {
        uint32_t size = (uint32_t)base64_encoded_size(length);

        if (!buffer_require(heap, &tx->items, tx->items.length + size))
            return false;
        base64_encode(bytes, length, (char *)tx->items.bytes + tx->items.length);
        tx->items.length += size;
    }
    return append(heap, &tx->item_ends, &tx->items.length, sizeof(tx->items.length));
}

/* --- Items of requests ------------------------------------------------------------------------------- */

/* Skips ReadValueId after its node id: attribute, index range, encoding. */
static bool skip_read_value(struct cursor *cur)
{
    struct cursor string;

    return cursor_skip(cur, 4) && opcua_read_string(cur, &string) && cursor_skip(cur, 2) &&
           opcua_read_string(cur, &string);
}

static bool skip_history_read_value(struct cursor *cur)
{
    struct cursor string;

    return opcua_read_string(cur, &string) && cursor_skip(cur, 2) && opcua_read_string(cur, &string) &&
           opcua_read_string(cur, &string);
}

static bool skip_write_value(struct cursor *cur)
{
    struct cursor string;

    return cursor_skip(cur, 4) && opcua_read_string(cur, &string) && opcua_skip_data_value(cur);
}

static bool skip_browse_description(struct cursor *cur)
{
    struct opcua_node_id type;

    return cursor_skip(cur, 4) && opcua_read_node_id(cur, &type) && cursor_skip(cur, 1 + 4 + 4);
}

static bool skip_monitored_item(struct cursor *cur)
{
    return skip_read_value(cur) && cursor_skip(cur, 4 + 4 + 8) && opcua_skip_extension_object(cur) &&
           cursor_skip(cur, 4 + 1);
}

/* Skips the arguments of a call, after the node ids of its object and method. */
static bool skip_arguments(struct cursor *cur)
{
    uint32_t count;

    if (!opcua_read_u32(cur, &count))
        return false;
    for (uint32_t i = 0; i < count && count <= INT32_MAX; i++)
        if (!opcua_skip_variant(cur))
            return false;
    return true;
}

static bool skip_nothing(struct cursor *cur)
{
    (void)cur;
    return true;
}

static bool skip_target_deletion(struct cursor *cur)
{
    return cursor_skip(cur, 1);
}

/* Skips the start of HistoryRead: details, timestamps to return, flag to release continuation points. */
static bool skip_history_read_start(struct cursor *cur)
{
    return opcua_skip_extension_object(cur) && cursor_skip(cur, 4 + 1);
}

/* Skips the start of Browse: view (node id, time, version) and the maximum number of references. */
static bool skip_browse_start(struct cursor *cur)
{
    struct opcua_node_id view;

    return opcua_read_node_id(cur, &view) && cursor_skip(cur, 8 + 4 + 4);
}

/* Requests with an array of items: the parameters before the array, the number of node ids at the start of each item,
 * and the rest of an item. */
static const struct items_format {
    uint16_t type_id;
    uint8_t start_size, ids;
    bool (*skip_start)(struct cursor *cur); /* after start_size bytes */
    bool (*skip_rest)(struct cursor *cur);
} formats[] = {
    { 500, 0, 1, skip_nothing, skip_target_deletion },               /* DeleteNodes */
    { 527, 0, 1, skip_browse_start, skip_browse_description },       /* Browse */
    { 560, 0, 1, skip_nothing, skip_nothing },                       /* RegisterNodes */
    { 566, 0, 1, skip_nothing, skip_nothing },                       /* UnregisterNodes */
    { 631, 8 + 4, 1, skip_nothing, skip_read_value },                /* Read: age, timestamps */
    { 664, 0, 1, skip_history_read_start, skip_history_read_value }, /* HistoryRead */
    { 673, 0, 1, skip_nothing, skip_write_value },                   /* Write */
    { 712, 0, 2, skip_nothing, skip_arguments },                     /* Call: object and method */
    { 751, 4 + 4, 1, skip_nothing, skip_monitored_item }, /* CreateMonitoredItems: subscription, timestamps */
};

/* Parses the parameters of a request, and stores the node ids of its items. Returns false if they are invalid. */
static bool parse_items(struct heap *heap, struct opcua_tx *tx, struct cursor cur, bool *failed)
{
    const struct items_format *format = formats, *end = formats + sizeof(formats) / sizeof(formats[0]);
    struct opcua_node_id id;
    uint32_t count;

    while (format < end && format->type_id != tx->type_id)
        format++;
    if (format == end)
        return true;
    if (!cursor_skip(&cur, format->start_size) || !format->skip_start(&cur) || !opcua_read_u32(&cur, &count))
        return false;
    for (uint32_t i = 0; i < count && count <= INT32_MAX; i++) {
        for (unsigned k = 0; k < format->ids; k++) {
            if (!opcua_read_node_id(&cur, &id))
                return false;
            *failed = !add_item(heap, tx, &id);
            if (*failed)
                return true;
        }
        if (!format->skip_rest(&cur))
            return false;
    }
    return true;
}

/* --- Bodies ------------------------------------------------------------------------------------------ */

static bool parse_request_header(struct opcua_tx *tx, struct cursor *cur)
{
    struct opcua_node_id token;
    struct cursor audit;

    tx->has_handle = opcua_read_node_id(cur, &token) && cursor_skip(cur, 8) && opcua_read_u32(cur, &tx->handle);
    return tx->has_handle && cursor_skip(cur, 4) && opcua_read_string(cur, &audit) && cursor_skip(cur, 4) &&
           opcua_skip_extension_object(cur);
}

static bool parse_response_header(struct opcua_tx *tx, struct cursor *cur)
{
    tx->has_handle = cursor_skip(cur, 8) && opcua_read_u32(cur, &tx->handle);
    tx->has_status = tx->has_handle && opcua_read_u32(cur, &tx->status);
    return tx->has_status && opcua_skip_diagnostic_info(cur);
}

enum opcua_event opcua_parse_body(struct heap *heap, struct opcua_tx *tx, bool *failed)
{
    struct cursor cur = cursor_of(tx->body.bytes, tx->body.length);
    bool is_plain = tx->security == OPCUA_SECURITY_NONE, is_request, is_valid;
    struct opcua_node_id id;
    const char *name = NULL;
    bool has_id = opcua_read_node_id(&cur, &id);

    *failed = false;
    if (has_id && id.kind == OPCUA_ID_NUMBER && id.namespace_index == 0)
        name = opcua_service_name(id.number);
    if (!has_id || (!name && !is_plain)) {
        tx->is_opaque = true;
        return is_plain ? OPCUA_INVALID_TYPE_ID : OPCUA_EVENTS;
    }
    tx->has_type_id = true;
    tx->namespace_index = id.namespace_index;
    tx->is_numeric = id.kind == OPCUA_ID_NUMBER;
    tx->type_id = id.number;
    if (id.namespace_index > 0)
        return OPCUA_NONZERO_NAMESPACE_INDEX;
    if (!name)
        return OPCUA_INVALID_TYPE_ID;
    is_request = strstr(name, "Request");
    is_valid = is_request ? parse_request_header(tx, &cur) && parse_items(heap, tx, cur, failed)
                          : parse_response_header(tx, &cur);
    /* A body larger than max-body is truncated here, so a parse error does not mean that it is invalid. */
    return is_valid || tx->body.length < tx->length ? OPCUA_EVENTS : OPCUA_INVALID_BODY;
}
