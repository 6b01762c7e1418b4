/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the binary encoding (OPC 10000-6, 5.2), which have to be skipped to find the values after them. Variants,
 * DataValues and DiagnosticInfos can be nested. Each element of an array takes at least one byte, so the time to skip a
 * value is proportional to its length.
 */
#include "opcua_priv.h"

enum {
    DEPTH_MAX = 16, /* of nested values */
    GUID = 16,
    NULL_STRING = -1,
};

bool opcua_read_string(struct cursor *cur, struct cursor *out)
{
    uint32_t length;

    if (!opcua_read_u32(cur, &length))
        return false;
    if (length == (uint32_t)NULL_STRING)
        length = 0;
    *out = cursor_of(cur->at, length <= cursor_remaining(cur) ? length : 0);
    return cursor_skip(cur, length);
}

static bool skip_string(struct cursor *cur)
{
    struct cursor string;

    return opcua_read_string(cur, &string);
}

/* Reads a node id after its first byte, of which `encoding` is the part without flags. */
static bool read_node_id(struct cursor *cur, uint8_t encoding, struct opcua_node_id *out)
{
    static const uint8_t sizes[] = { 1, 3, 6, 2, 2 + GUID, 2 }; /* without the string of kinds that have one */
    static const enum opcua_id_kind kinds[] = { OPCUA_ID_NUMBER, OPCUA_ID_NUMBER, OPCUA_ID_NUMBER,
                                                OPCUA_ID_STRING, OPCUA_ID_GUID,   OPCUA_ID_OPAQUE };
    const uint8_t *at = encoding < sizeof(sizes) ? cursor_read(cur, sizes[encoding]) : NULL;

    if (!at)
        return false;
    *out = (struct opcua_node_id){ .kind = kinds[encoding] };
    if (encoding == 0) {
        out->number = at[0];
        return true;
    }
    if (encoding == 1) {
        out->namespace_index = at[0];
        out->number = load_le16(at + 1);
        return true;
    }
    out->namespace_index = load_le16(at);
    if (out->kind == OPCUA_ID_NUMBER)
        out->number = load_le32(at + 2);
    else if (out->kind == OPCUA_ID_GUID)
        out->bytes = cursor_of(at + 2, GUID);
    else
        return opcua_read_string(cur, &out->bytes);
    return true;
}

bool opcua_read_node_id(struct cursor *cur, struct opcua_node_id *out)
{
    uint8_t encoding;

    return cursor_u8(cur, &encoding) && read_node_id(cur, encoding, out);
}

static bool skip_node_id(struct cursor *cur)
{
    enum { NAMESPACE_URI = 0x80, SERVER_INDEX = 0x40 }; /* flags of an ExpandedNodeId */
    struct opcua_node_id id;
    uint8_t encoding;

    return cursor_u8(cur, &encoding) && read_node_id(cur, encoding & ~(NAMESPACE_URI | SERVER_INDEX), &id) &&
           (!(encoding & NAMESPACE_URI) || skip_string(cur)) && (!(encoding & SERVER_INDEX) || cursor_skip(cur, 4));
}

bool opcua_skip_extension_object(struct cursor *cur)
{
    struct opcua_node_id id;
    uint8_t has_body;

    return opcua_read_node_id(cur, &id) && cursor_u8(cur, &has_body) && (!has_body || skip_string(cur));
}

static bool skip_localized_text(struct cursor *cur)
{
    uint8_t mask;

    return cursor_u8(cur, &mask) && (!(mask & 1) || skip_string(cur)) && (!(mask & 2) || skip_string(cur));
}

static bool skip_qualified_name(struct cursor *cur)
{
    return cursor_skip(cur, 2) && skip_string(cur);
}

/* A DiagnosticInfo contains at most one other, so this is a loop. */
bool opcua_skip_diagnostic_info(struct cursor *cur)
{
    enum { NUMBERS = 0x0f, INFO = 0x10, STATUS = 0x20, INNER = 0x40 };

    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        uint8_t mask;

        if (!cursor_u8(cur, &mask) || !cursor_skip(cur, (size_t)4 * (unsigned)__builtin_popcount(mask & NUMBERS)) ||
            (mask & INFO && !skip_string(cur)) || (mask & STATUS && !cursor_skip(cur, 4)))
            return false;
        if (!(mask & INNER))
            return true;
    }
    return false;
}

/* --- Variants ---------------------------------------------------------------------------------------- */

static bool skip_variant(struct cursor *cur, unsigned depth);

static bool skip_data_value(struct cursor *cur, unsigned depth)
{
    static const uint8_t sizes[] = { 0, 4, 8, 8, 2, 2 }; /* by the bits of the mask; bit 0 is the value */
    size_t size = 0;
    uint8_t mask;

    if (!cursor_u8(cur, &mask) || (mask & 1 && !skip_variant(cur, depth)))
        return false;
    for (unsigned i = 0; i < sizeof(sizes); i++)
        size += mask >> i & 1 ? sizes[i] : 0;
    return cursor_skip(cur, size);
}

/* Built-in types by their number, for values in a variant: the size, or the function that skips a value. */
enum { TYPE_DATA_VALUE = 23, TYPE_VARIANT = 24, TYPE_DIAGNOSTIC_INFO = 25 };
static const struct {
    uint8_t size;
    bool (*skip)(struct cursor *cur);
} types[] = {
    { 0, NULL },
    { 1, NULL },
    { 1, NULL },
    { 1, NULL },
    { 2, NULL },
    { 2, NULL },
    { 4, NULL },
    { 4, NULL },
    { 8, NULL },
    { 8, NULL },
    { 4, NULL },
    { 8, NULL },
    { 0, skip_string },
    { 8, NULL },
    { GUID, NULL },
    { 0, skip_string },
    { 0, skip_string },
    { 0, skip_node_id },
    { 0, skip_node_id },
    { 4, NULL },
    { 0, skip_qualified_name },
    { 0, skip_localized_text },
    { 0, opcua_skip_extension_object },
    [TYPE_DIAGNOSTIC_INFO] = { 0, opcua_skip_diagnostic_info },
};

static bool skip_variant(struct cursor *cur, unsigned depth)
{
    enum { TYPE = 0x3f, TYPE_MAX = 31, DIMENSIONS = 0x40, ARRAY = 0x80 };
    uint32_t count = 1, dimensions = 0;
    uint8_t mask, type;

    if (depth >= DEPTH_MAX || !cursor_u8(cur, &mask))
        return false;
    type = mask & TYPE;
    if (type > TYPE_MAX || (mask & ARRAY && !opcua_read_u32(cur, &count)))
        return false;
    if (type == 0) /* null */
        return mask == 0;
    if (mask & ARRAY && count > INT32_MAX) /* -1: a null array */
        count = 0;
    if (type < sizeof(types) / sizeof(types[0]) && types[type].size > 0) {
        if (!cursor_skip(cur, (size_t)types[type].size * count))
            return false;
    } else {
        for (uint32_t i = 0; i < count; i++)
            if (type == TYPE_DATA_VALUE       ? !skip_data_value(cur, depth + 1)
                : type == TYPE_VARIANT        ? !skip_variant(cur, depth + 1)
                : type > TYPE_DIAGNOSTIC_INFO ? !skip_string(cur) /* unassigned types are encoded as byte strings */
                                              : !types[type].skip(cur))
                return false;
    }
    return !(mask & DIMENSIONS) ||
           (opcua_read_u32(cur, &dimensions) && (dimensions > INT32_MAX || cursor_skip(cur, (size_t)4 * dimensions)));
}

bool opcua_skip_variant(struct cursor *cur)
{
    return skip_variant(cur, 0);
}

bool opcua_skip_data_value(struct cursor *cur)
{
    return skip_data_value(cur, 0);
}
