/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS version 4: a COMPOUND call is a list of operations, most of which prepare the main one (PUTFH, GETATTR). A reply
 * contains the results of the operations in the same order. Parsing ends at the first operation that is not supported.
 */
#include "nfs_priv.h"

enum {
    COMPOUND = 1,
    OP_ACCESS = 3,
    OP_CLOSE = 4,
    OP_COMMIT = 5,
    OP_CREATE = 6,
    OP_GETATTR = 9,
    OP_GETFH = 10,
    OP_LOOKUP = 15,
    OP_LOOKUPP = 16,
    OP_OPEN = 18,
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
    SEQUENCE_RESULT = 36,
    STATE_ID = 16,
    VERIFIER = 8,
    CHANGE_INFO = 20,
    FILE_SYNC = 2,
    BITMAP_MAX = 8, /* 32-bit words */
};

enum operation_result { OPERATION_CONTINUE, OPERATION_LAST, OPERATION_MALFORMED };

/* A compound call while it is parsed. */
struct compound {
    struct cursor handle; /* the current file handle; empty: unknown */
    struct cursor saved;  /* by SAVEFH */
    bool has_main;        /* the main operation is known */
};

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

static bool skip_attributes(struct cursor *cur)
{
    return skip_bitmap(cur) && nfs_skip_opaque(cur);
}

/* --- Calls ------------------------------------------------------------------------------------------- */

/* Parses an operation that prepares the main one. Returns OPERATION_LAST for any other operation. */
static enum operation_result parse_preparation(struct nfs_parse *parse, struct compound *compound, struct cursor *cur,
                                               uint32_t operation)
{
    bool ok = true;

    switch (operation) {
    case OP_GETATTR:
        ok = skip_bitmap(cur);
        break;
    case OP_PUTFH:
        ok = nfs_read_opaque(cur, NFS_HANDLE_MAX, &compound->handle);
        if (ok) {
            parse->tx->has_handle = cursor_remaining(&compound->handle) > 0;
            parse->tx->handle_crc = nfs_crc32(compound->handle);
        }
        break;
    case OP_SEQUENCE:
        ok = cursor_skip(cur, SEQUENCE_BYTES);
        break;
    case OP_PUTPUBFH:
    case OP_PUTROOTFH:
        compound->handle = cursor_of(NULL, 0);
        break;
    case OP_SAVEFH:
        compound->saved = compound->handle;
        break;
    case OP_RESTOREFH:
        compound->handle = compound->saved;
        break;
    case OP_GETFH:
        break;
    default:
        return OPERATION_LAST;
    }
    return ok ? OPERATION_CONTINUE : OPERATION_MALFORMED;
}

static bool skip_open_how(struct cursor *cur)
{
    enum { CREATE = 1, EXCLUSIVE = 2, EXCLUSIVE_WITH_ATTRIBUTES = 3 };
    uint32_t type, mode;

    if (!cursor_be32(cur, &type))
        return false;
    if (type != CREATE)
        return true;
    if (!cursor_be32(cur, &mode))
        return false;
    if (mode >= EXCLUSIVE && !cursor_skip(cur, VERIFIER))
        return false;
    return mode == EXCLUSIVE || skip_attributes(cur);
}

static bool read_open(struct nfs_parse *parse, struct cursor *cur)
{
    enum { CLAIM_NULL, CLAIM_PREVIOUS, CLAIM_DELEGATE_CUR, CLAIM_DELEGATE_PREV, CLAIM_FH, CLAIM_DELEG_CUR_FH };
    uint32_t claim;

    /* seqid, share_access, share_deny, client id; the owner */
    if (!cursor_skip(cur, 12 + 8) || !nfs_skip_opaque(cur) || !skip_open_how(cur) || !cursor_be32(cur, &claim))
        return false;
    switch (claim) {
    case CLAIM_DELEGATE_CUR:
        return cursor_skip(cur, STATE_ID) && read_name(parse, cur, &parse->tx->name);
    case CLAIM_NULL:
    case CLAIM_DELEGATE_PREV:
        return read_name(parse, cur, &parse->tx->name);
    case CLAIM_PREVIOUS:
        return cursor_skip(cur, 4);
    case CLAIM_DELEG_CUR_FH:
        return cursor_skip(cur, STATE_ID);
    default:
        return true;
    }
}

static bool read_create(struct nfs_parse *parse, struct cursor *cur)
{
    enum { BLOCK_DEVICE = 3, CHARACTER_DEVICE = 4, LINK = 5 };
    uint32_t type;

    if (!cursor_be32(cur, &type))
        return false;
    if ((type == LINK && !nfs_skip_opaque(cur)) ||
        ((type == BLOCK_DEVICE || type == CHARACTER_DEVICE) && !cursor_skip(cur, 8)))
        return false;
    return read_name(parse, cur, &parse->tx->name) && skip_attributes(cur);
}

static bool read_read(struct nfs_parse *parse, const struct compound *compound, struct cursor *cur)
{
    uint32_t high, low;

    if (!cursor_skip(cur, STATE_ID) || !cursor_be32(cur, &high) || !cursor_be32(cur, &low) || !cursor_skip(cur, 4))
        return false;
    if (compound->handle.at)
        nfs_file_read_call(parse, compound->handle, (uint64_t)high << 32 | low);
    return true;
}

static bool read_write(struct nfs_parse *parse, const struct compound *compound, struct cursor *cur)
{
    uint32_t high, low, stable;
    struct nfs_data data;

    if (!cursor_skip(cur, STATE_ID) || !cursor_be32(cur, &high) || !cursor_be32(cur, &low) ||
        !cursor_be32(cur, &stable) || !nfs_read_data(parse, cur, &data))
        return false;
    data.offset = (uint64_t)high << 32 | low;
    if (compound->handle.at)
        nfs_file_write_call(parse, compound->handle, &data, stable == FILE_SYNC);
    return true;
}

static enum operation_result parse_operation(struct nfs_parse *parse, struct compound *compound, struct cursor *cur,
                                             uint32_t operation)
{
    struct nfs_tx *tx = parse->tx;
    enum operation_result result = parse_preparation(parse, compound, cur, operation);
    bool ok;

    if (result != OPERATION_LAST)
        return result;
    /* An ACCESS after another operation only prepares later calls. */
    if (operation != OP_ACCESS || !compound->has_main)
        tx->procedure = operation;
    compound->has_main = true;
    switch (operation) {
    case OP_ACCESS:
        ok = cursor_skip(cur, 4);
        break;
    case OP_LOOKUPP:
        compound->handle = cursor_of(NULL, 0);
        ok = true;
        break;
    case OP_READLINK:
        ok = true;
        break;
    case OP_LOOKUP:
        compound->handle = cursor_of(NULL, 0);
        ok = read_name(parse, cur, &tx->name);
        break;
    case OP_REMOVE:
        ok = read_name(parse, cur, &tx->name);
        break;
    case OP_RENAME:
        ok = tx->has_target = read_name(parse, cur, &tx->name) && read_name(parse, cur, &tx->target);
        break;
    case OP_OPEN:
        compound->handle = cursor_of(NULL, 0);
        ok = read_open(parse, cur);
        break;
    case OP_CREATE:
        compound->handle = cursor_of(NULL, 0);
        ok = read_create(parse, cur);
        break;
    case NFS4_READ:
        ok = read_read(parse, compound, cur);
        break;
    case NFS4_WRITE:
        ok = read_write(parse, compound, cur);
        break;
    case OP_CLOSE:
    case OP_COMMIT:
        ok = cursor_skip(cur, operation == OP_CLOSE ? 4 + STATE_ID : 8 + 4);
        if (ok && compound->handle.at)
            nfs_file_close_call(parse, compound->handle);
        break;
    default:
        return OPERATION_LAST;
    }
    return ok ? OPERATION_CONTINUE : OPERATION_MALFORMED;
}

bool nfs_read_compound(struct nfs_parse *parse, struct cursor cur)
{
    struct compound compound = { .has_main = false };
    uint32_t minor, count, operation;
    enum operation_result result = OPERATION_CONTINUE;

    if (parse->tx->procedure != COMPOUND)
        return true;
    if (!nfs_skip_opaque(&cur) || !cursor_be32(&cur, &minor) || !cursor_be32(&cur, &count))
        return false;
    for (uint32_t i = 0; i < count && i < NFS_OPERATIONS_MAX && result == OPERATION_CONTINUE; i++) {
        /* The operations after data of which the end is missing have not been received. */
        if (parse->missing > 0 && cursor_remaining(&cur) == 0)
            break;
        result =
            cursor_be32(&cur, &operation) ? parse_operation(parse, &compound, &cur, operation) : OPERATION_MALFORMED;
    }
    if (parse->tx->procedure != NFS4_READ && parse->tx->procedure != NFS4_WRITE)
        parse->is_file_call = false; /* it has another main operation */
    return result != OPERATION_MALFORMED;
}

/* --- Replies ----------------------------------------------------------------------------------------- */

static bool skip_open_result(struct cursor *cur)
{
    enum { DELEGATION_NONE, DELEGATION_READ, DELEGATION_WRITE, DELEGATION_NONE_EXT };
    enum { WHY_CONTENTION = 1, WHY_RESOURCE = 2, SPACE_LIMIT = 4 + 8, ACE = 12 };
    uint32_t delegation, why;

    if (!cursor_skip(cur, STATE_ID + CHANGE_INFO + 4) || !skip_bitmap(cur) || !cursor_be32(cur, &delegation))
        return false;
    switch (delegation) {
    case DELEGATION_READ:
        return cursor_skip(cur, STATE_ID + 4 + ACE) && nfs_skip_opaque(cur);
    case DELEGATION_WRITE:
        return cursor_skip(cur, STATE_ID + 4 + SPACE_LIMIT + ACE) && nfs_skip_opaque(cur);
    case DELEGATION_NONE_EXT:
        return cursor_be32(cur, &why) && ((why != WHY_CONTENTION && why != WHY_RESOURCE) || cursor_skip(cur, 4));
    default:
        return delegation == DELEGATION_NONE;
    }
}

static bool read_read_result(struct nfs_parse *parse, struct cursor *cur)
{
    struct nfs_data data = { .offset = 0 };
    uint32_t is_end;

    if (!cursor_be32(cur, &is_end) || !nfs_read_data(parse, cur, &data))
        return false;
    nfs_file_read_reply(parse, &data, is_end, UINT64_MAX);
    return true;
}

/* Stores the name of the handle if the call looked it up, opened it or created it before. */
static bool read_handle_result(struct nfs_parse *parse, struct cursor *cur, bool is_named)
{
    struct cursor handle;

    if (!nfs_read_opaque(cur, NFS_HANDLE_MAX, &handle))
        return false;
    if (is_named && parse->tx && parse->tx->name.length > 0)
        nfs_name_add(parse, handle, nfs_text_bytes(parse->tx, &parse->tx->name));
    return true;
}

/* Parses the result of an operation that succeeded. Returns false if it is malformed or not supported. */
static bool read_result(struct nfs_parse *parse, struct cursor *cur, uint32_t operation, bool *is_named)
{
    switch (operation) {
    case OP_LOOKUP:
        *is_named = true;
        return true;
    case OP_OPEN:
        *is_named = true;
        return skip_open_result(cur);
    case OP_CREATE:
        *is_named = true;
        return cursor_skip(cur, CHANGE_INFO) && skip_bitmap(cur);
    case OP_PUTFH:
    case OP_PUTPUBFH:
    case OP_PUTROOTFH:
    case OP_RESTOREFH:
    case OP_LOOKUPP:
        *is_named = false;
        return true;
    case OP_SAVEFH:
        return true;
    case OP_GETFH:
        return read_handle_result(parse, cur, *is_named);
    case OP_ACCESS:
        return cursor_skip(cur, 8);
    case OP_CLOSE:
        return cursor_skip(cur, STATE_ID);
    case OP_COMMIT:
        return cursor_skip(cur, VERIFIER);
    case OP_GETATTR:
        return skip_attributes(cur);
    case OP_READLINK:
        return nfs_skip_opaque(cur);
    case OP_REMOVE:
        return cursor_skip(cur, CHANGE_INFO);
    case OP_RENAME:
        return cursor_skip(cur, 2 * CHANGE_INFO);
    case OP_SEQUENCE:
        return cursor_skip(cur, SEQUENCE_RESULT);
    case NFS4_READ:
        return read_read_result(parse, cur);
    case NFS4_WRITE:
        return cursor_skip(cur, 8 + VERIFIER);
    default:
        return false;
    }
}

void nfs_read_compound_reply(struct nfs_parse *parse, struct cursor cur)
{
    uint32_t count, operation, status;
    bool is_named = false;

    if (!nfs_skip_opaque(&cur) || !cursor_be32(&cur, &count))
        return;
    for (uint32_t i = 0; i < count && i < NFS_OPERATIONS_MAX; i++)
        if (!cursor_be32(&cur, &operation) || !cursor_be32(&cur, &status) || status != 0 ||
            !read_result(parse, &cur, operation, &is_named))
            return;
}
