/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS version 4: a COMPOUND call is a list of operations, most of which prepare the main one (PUTFH, GETATTR). Parsing
 * ends at the first operation whose arguments are not supported.
 */
#include "nfs_priv.h"

enum {
    COMPOUND = 1,
    OP_ACCESS = 3,
    OP_GETATTR = 9,
    OP_GETFH = 10,
    OP_LOOKUP = 15,
    OP_LOOKUPP = 16,
    OP_PUTFH = 22,
    OP_PUTPUBFH = 23,
    OP_PUTROOTFH = 24,
    OP_READLINK = 27,
    OP_REMOVE = 28,
    OP_RENAME = 29,
    OP_RESTOREFH = 31,
    OP_SAVEFH = 32,
    OP_SEQUENCE = 53,
    SEQUENCE_BYTES = 32,
    BITMAP_MAX = 8, /* 32-bit words */
};

enum operation_result { OPERATION_CONTINUE, OPERATION_LAST, OPERATION_MALFORMED };

static bool read_name(struct nfs_parse *parse, struct cursor *cur, struct nfs_text *out)
{
    struct cursor name;

    if (!nfs_read_opaque(cur, UINT16_MAX, &name))
        return false;
    nfs_store(parse, name, out);
    return true;
}

static bool skip_bitmap(struct cursor *cur)
{
    uint32_t words;

    return cursor_be32(cur, &words) && words <= BITMAP_MAX && cursor_skip(cur, 4 * (size_t)words);
}

/* Parses an operation that prepares the main one. Returns OPERATION_LAST for any other operation. */
static enum operation_result parse_preparation(struct nfs_parse *parse, struct cursor *cur, uint32_t operation)
{
    struct cursor handle;
    bool ok;

    switch (operation) {
    case OP_GETATTR:
        ok = skip_bitmap(cur);
        break;
    case OP_PUTFH:
        ok = nfs_read_opaque(cur, NFS_HANDLE_MAX, &handle);
        if (ok) {
            parse->tx->has_handle = cursor_remaining(&handle) > 0;
            parse->tx->handle_crc = nfs_crc32(handle);
        }
        break;
    case OP_SEQUENCE:
        ok = cursor_skip(cur, SEQUENCE_BYTES);
        break;
    case OP_GETFH:
    case OP_PUTPUBFH:
    case OP_PUTROOTFH:
    case OP_RESTOREFH:
    case OP_SAVEFH:
        ok = true;
        break;
    default:
        return OPERATION_LAST;
    }
    return ok ? OPERATION_CONTINUE : OPERATION_MALFORMED;
}

static enum operation_result parse_operation(struct nfs_parse *parse, struct cursor *cur, uint32_t operation)
{
    struct nfs_tx *tx = parse->tx;
    enum operation_result result = parse_preparation(parse, cur, operation);

    if (result != OPERATION_LAST)
        return result;
    tx->procedure = operation;
    switch (operation) {
    case OP_ACCESS:
        return cursor_skip(cur, 4) ? OPERATION_CONTINUE : OPERATION_MALFORMED;
    case OP_LOOKUPP:
    case OP_READLINK:
        return OPERATION_CONTINUE;
    case OP_LOOKUP:
    case OP_REMOVE:
        return read_name(parse, cur, &tx->name) ? OPERATION_CONTINUE : OPERATION_MALFORMED;
    case OP_RENAME:
        tx->has_target = read_name(parse, cur, &tx->name) && read_name(parse, cur, &tx->target);
        return tx->has_target ? OPERATION_CONTINUE : OPERATION_MALFORMED;
    default:
        return OPERATION_LAST;
    }
}

bool nfs_read_compound(struct nfs_parse *parse, struct cursor cur)
{
    uint32_t minor, count, operation;
    enum operation_result result = OPERATION_CONTINUE;

    if (parse->tx->procedure != COMPOUND)
        return true;
    if (!nfs_skip_opaque(&cur) || !cursor_be32(&cur, &minor) || !cursor_be32(&cur, &count))
        return false;
    for (uint32_t i = 0; i < count && i < NFS_OPERATIONS_MAX && result == OPERATION_CONTINUE; i++)
        result = cursor_be32(&cur, &operation) ? parse_operation(parse, &cur, operation) : OPERATION_MALFORMED;
    return result != OPERATION_MALFORMED;
}
