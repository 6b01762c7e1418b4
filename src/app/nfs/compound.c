/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS version 4: a call is a list of operations, most of which prepare the main one. Operations are parsed as long as
 * their arguments are simple; the operations after the first complex one are not parsed.
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

enum walk { WALK_ON, WALK_END, WALK_BROKEN };

static bool read_name(struct nfs_parse *parse, struct cursor *cur, struct nfs_text *out)
{
    struct cursor name;

    if (!nfs_opaque(cur, UINT16_MAX, &name))
        return false;
    nfs_keep(parse, name, out);
    return true;
}

static bool use_handle(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    if (!nfs_opaque(cur, NFS_HANDLE_MAX, &handle))
        return false;
    parse->tx->has_handle = cursor_left(&handle) > 0;
    parse->tx->handle_crc = nfs_crc32(handle);
    return true;
}

static bool skip_bitmap(struct cursor *cur)
{
    uint32_t words;

    return cursor_be32(cur, &words) && words <= BITMAP_MAX && cursor_skip(cur, 4 * (size_t)words);
}

/* Parses an operation that prepares the main one; WALK_END if it is another operation. */
static enum walk prepare(struct nfs_parse *parse, struct cursor *cur, uint32_t operation)
{
    bool fine;

    switch (operation) {
    case OP_GETATTR:
        fine = skip_bitmap(cur);
        break;
    case OP_PUTFH:
        fine = use_handle(parse, cur);
        break;
    case OP_SEQUENCE:
        fine = cursor_skip(cur, SEQUENCE_BYTES);
        break;
    case OP_GETFH:
    case OP_PUTPUBFH:
    case OP_PUTROOTFH:
    case OP_RESTOREFH:
    case OP_SAVEFH:
        fine = true;
        break;
    default:
        return WALK_END;
    }
    return fine ? WALK_ON : WALK_BROKEN;
}

static enum walk walk(struct nfs_parse *parse, struct cursor *cur, uint32_t operation)
{
    struct nfs_tx *tx = parse->tx;
    enum walk result = prepare(parse, cur, operation);

    if (result != WALK_END)
        return result;
    tx->procedure = operation;
    switch (operation) {
    case OP_ACCESS:
        return cursor_skip(cur, 4) ? WALK_ON : WALK_BROKEN;
    case OP_LOOKUPP:
    case OP_READLINK:
        return WALK_ON;
    case OP_LOOKUP:
    case OP_REMOVE:
        return read_name(parse, cur, &tx->name) ? WALK_ON : WALK_BROKEN;
    case OP_RENAME:
        tx->has_target = read_name(parse, cur, &tx->name) && read_name(parse, cur, &tx->target);
        return tx->has_target ? WALK_ON : WALK_BROKEN;
    default:
        return WALK_END;
    }
}

bool nfs_read_compound(struct nfs_parse *parse, struct cursor cur)
{
    uint32_t minor, count, operation;
    enum walk result = WALK_ON;

    if (parse->tx->procedure != COMPOUND)
        return true;
    if (!nfs_skip_opaque(&cur) || !cursor_be32(&cur, &minor) || !cursor_be32(&cur, &count))
        return false;
    for (uint32_t i = 0; i < count && i < NFS_OPERATIONS_MAX && result == WALK_ON; i++)
        result = cursor_be32(&cur, &operation) ? walk(parse, &cur, operation) : WALK_BROKEN;
    return result != WALK_BROKEN;
}
