/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and replies of versions 2 and 3: file handle and name in a call, and the handles and names in replies. */
#include "nfs_priv.h"

enum { HANDLE_2 = 32, ATTRIBUTES_3 = 84 };

static bool read_handle(struct nfs_parse *parse, struct cursor *cur, struct cursor *out)
{
    if (parse->tx->version == 3)
        return nfs_read_opaque(cur, NFS_HANDLE_MAX, out);
    const uint8_t *bytes = cursor_read(cur, HANDLE_2);

    if (bytes)
        *out = cursor_of(bytes, HANDLE_2);
    return bytes != NULL;
}

static bool store_handle(struct nfs_parse *parse, struct cursor *cur, struct cursor *handle)
{
    if (!read_handle(parse, cur, handle))
        return false;
    parse->tx->has_handle = cursor_remaining(handle) > 0;
    parse->tx->handle_crc = nfs_crc32(*handle);
    return true;
}

static bool read_name(struct nfs_parse *parse, struct cursor *cur, struct nfs_text *out)
{
    struct cursor name;

    if (!nfs_read_opaque(cur, UINT16_MAX, &name))
        return false;
    nfs_store(parse, name, out);
    return true;
}

/* Parses a call whose file is identified by its handle only. */
static bool read_handle_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle, name;

    if (!store_handle(parse, cur, &handle))
        return false;
    if (nfs_name_find(parse->state, handle, &name))
        nfs_store(parse, name, &parse->tx->name);
    return true;
}

/* Parses a call with a name in a directory. */
static bool read_name_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    return store_handle(parse, cur, &handle) && read_name(parse, cur, &parse->tx->name);
}

/* Parses a LOOKUP call. The handle of the directory is not stored, because the reply contains the handle of the file.
 */
static bool read_lookup_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    return read_handle(parse, cur, &handle) && read_name(parse, cur, &parse->tx->name);
}

static bool read_rename_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    parse->tx->has_target =
        read_name_call(parse, cur) && read_handle(parse, cur, &handle) && read_name(parse, cur, &parse->tx->target);
    return parse->tx->has_target;
}

static bool read_call_2(struct nfs_parse *parse, struct cursor *cur)
{
    switch (parse->tx->procedure) {
    case NFS2_GETATTR:
    case NFS2_READ:
    case NFS2_WRITE:
        return read_handle_call(parse, cur);
    case NFS2_LOOKUP:
        return read_lookup_call(parse, cur);
    case NFS2_CREATE:
    case NFS2_REMOVE:
    case NFS2_MKDIR:
    case NFS2_RMDIR:
        return read_name_call(parse, cur);
    case NFS2_RENAME:
        return read_rename_call(parse, cur);
    default:
        return true;
    }
}

static bool read_call_3(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    switch (parse->tx->procedure) {
    case NFS3_GETATTR:
    case NFS3_ACCESS:
    case NFS3_READ:
    case NFS3_WRITE:
    case NFS3_COMMIT:
        return read_handle_call(parse, cur);
    case NFS3_LOOKUP:
        return read_lookup_call(parse, cur);
    case NFS3_CREATE:
    case NFS3_MKDIR:
    case NFS3_REMOVE:
    case NFS3_RMDIR:
        return read_name_call(parse, cur);
    case NFS3_RENAME:
        return read_rename_call(parse, cur);
    case NFS3_READDIRPLUS:
        return store_handle(parse, cur, &handle);
    default:
        return true;
    }
}

bool nfs_read_call(struct nfs_parse *parse, struct cursor cur)
{
    if (parse->tx->version == 4)
        return nfs_read_compound(parse, cur);
    return parse->tx->version == 3 ? read_call_3(parse, &cur) : read_call_2(parse, &cur);
}

/* --- Replies ----------------------------------------------------------------------------------------- */

static struct cursor get_name(const struct nfs_tx *tx)
{
    return cursor_of(tx->name.length ? tx->text.bytes + tx->name.at : (const uint8_t *)"", tx->name.length);
}

/* Parses the flag before optional data (RFC 4506 §4.19). */
static bool read_flag(struct cursor *cur, bool *out)
{
    uint32_t flag;

    if (!cursor_be32(cur, &flag))
        return false;
    *out = flag != 0;
    return true;
}

/* Parses a directory entry: its name, optionally with attributes and a handle. */
static bool read_directory_entry(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor name, handle;
    bool has_attributes, has_handle;

    if (!cursor_skip(cur, 8) || !nfs_read_opaque(cur, UINT16_MAX, &name) || !cursor_skip(cur, 8)) /* fileid, cookie */
        return false;
    if (!read_flag(cur, &has_attributes) || (has_attributes && !cursor_skip(cur, ATTRIBUTES_3)))
        return false;
    if (!read_flag(cur, &has_handle) || (has_handle && !nfs_read_opaque(cur, NFS_HANDLE_MAX, &handle)))
        return false;
    if (has_handle)
        nfs_name_add(parse, handle, name);
    return true;
}

static void read_readdirplus_reply(struct nfs_parse *parse, struct cursor *cur)
{
    bool more;

    if (!read_flag(cur, &more) || (more && !cursor_skip(cur, ATTRIBUTES_3)) || !cursor_skip(cur, 8))
        return;
    for (unsigned i = 0; i < NFS_ENTRIES_MAX && read_flag(cur, &more) && more; i++)
        if (!read_directory_entry(parse, cur))
            return;
}

/* Stores the handle of the file, and its name for later calls. */
static void read_lookup_reply(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    if (store_handle(parse, cur, &handle))
        nfs_name_add(parse, handle, get_name(parse->tx));
}

void nfs_read_reply(struct nfs_parse *parse, struct cursor cur)
{
    const struct nfs_tx *tx = parse->tx;
    struct cursor handle;
    bool has_handle;

    if (tx->version == 2 && tx->procedure == NFS2_LOOKUP)
        read_lookup_reply(parse, &cur);
    if (tx->version != 3)
        return;
    if (tx->procedure == NFS3_LOOKUP)
        read_lookup_reply(parse, &cur);
    if (tx->procedure == NFS3_CREATE && read_flag(&cur, &has_handle) && has_handle && read_handle(parse, &cur, &handle))
        nfs_name_add(parse, handle, get_name(tx));
    if (tx->procedure == NFS3_READDIRPLUS)
        read_readdirplus_reply(parse, &cur);
}
