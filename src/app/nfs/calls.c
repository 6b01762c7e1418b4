/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and replies of versions 2 and 3: file handle and name in a call, the handles and names in replies, and the data
 * of files. */
#include "nfs_priv.h"

enum { HANDLE_2 = 32, ATTRIBUTES_2 = 68, SIZE_AT_2 = 20, ATTRIBUTES_3 = 84, FILE_SYNC = 2 };

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

static bool read_rename_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;

    parse->tx->has_target =
        read_name_call(parse, cur) && read_handle(parse, cur, &handle) && read_name(parse, cur, &parse->tx->target);
    return parse->tx->has_target;
}

static bool read_read_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor handle;
    uint32_t high = 0, low;

    if (!read_handle(parse, cur, &handle) || (parse->tx->version == 3 && !cursor_be32(cur, &high)) ||
        !cursor_be32(cur, &low) || !cursor_skip(cur, parse->tx->version == 3 ? 4 : 8))
        return false;
    nfs_file_read_call(parse, handle, (uint64_t)high << 32 | low);
    return true;
}

/* In version 3, a WRITE call that the server must store before it replies (FILE_SYNC) completes the file. In version 2
 * the server always stores the data first, but clients write files in parts, and no call marks the last part. */
static bool read_write_call(struct nfs_parse *parse, struct cursor *cur)
{
    const struct nfs_settings *settings = app_get_settings(parse->context);
    bool is_version_3 = parse->tx->version == 3;
    uint32_t words[4]; /* version 3: offset in two words, count, stability; version 2: begin, offset, count */
    struct cursor handle;
    struct nfs_data data;

    if (!is_version_3 && !settings->has_version_2_writes)
        return read_handle_call(parse, cur);
    if (!read_handle(parse, cur, &handle))
        return false;
    for (unsigned i = 0; i < (is_version_3 ? 4 : 3); i++)
        if (!cursor_be32(cur, &words[i]))
            return false;
    if (!nfs_read_data(parse, cur, &data))
        return false;
    data.offset = is_version_3 ? (uint64_t)words[0] << 32 | words[1] : words[1];
    nfs_file_write_call(parse, handle, &data, is_version_3 && words[3] == FILE_SYNC);
    return true;
}

static bool read_commit_call(struct nfs_parse *parse, struct cursor *cur)
{
    struct cursor at = *cur, handle;

    if (!read_handle_call(parse, cur) || !read_handle(parse, &at, &handle))
        return false;
    nfs_file_close_call(parse, handle);
    return true;
}

static bool read_call_2(struct nfs_parse *parse, struct cursor *cur)
{
    switch (parse->tx->procedure) {
    case NFS2_GETATTR:
        return read_handle_call(parse, cur);
    case NFS2_WRITE:
        return read_write_call(parse, cur);
    case NFS2_READ:
        return read_read_call(parse, cur);
    case NFS2_LOOKUP: /* the handle of the file in the reply replaces the handle of the directory */
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
        return read_handle_call(parse, cur);
    case NFS3_READ:
        return read_read_call(parse, cur);
    case NFS3_WRITE:
        return read_write_call(parse, cur);
    case NFS3_COMMIT:
        return read_commit_call(parse, cur);
    case NFS3_LOOKUP: /* as in version 2 */
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
        nfs_name_add(parse, handle, nfs_text_bytes(parse->tx, &parse->tx->name));
}

void nfs_read_reply(struct nfs_parse *parse, struct cursor cur)
{
    const struct nfs_tx *tx = parse->tx;
    struct cursor handle;
    bool has_handle;

    if (tx->version == 2 && tx->procedure == NFS2_LOOKUP)
        read_lookup_reply(parse, &cur);
    if (tx->version == 2 && tx->procedure == NFS2_CREATE && read_handle(parse, &cur, &handle))
        nfs_name_add(parse, handle, nfs_text_bytes(tx, &tx->name));
    if (tx->version != 3)
        return;
    if (tx->procedure == NFS3_LOOKUP)
        read_lookup_reply(parse, &cur);
    if (tx->procedure == NFS3_CREATE && read_flag(&cur, &has_handle) && has_handle && read_handle(parse, &cur, &handle))
        nfs_name_add(parse, handle, nfs_text_bytes(tx, &tx->name));
    if (tx->procedure == NFS3_READDIRPLUS)
        read_readdirplus_reply(parse, &cur);
}

bool nfs_read_read_reply(struct nfs_parse *parse, uint8_t version, struct cursor cur)
{
    struct nfs_data data = { .offset = 0 };
    bool has_attributes, is_end;
    const uint8_t *attributes;

    if (version == 3) {
        if (!read_flag(&cur, &has_attributes) || (has_attributes && !cursor_skip(&cur, ATTRIBUTES_3)) ||
            !cursor_skip(&cur, 4) || !read_flag(&cur, &is_end) || !nfs_read_data(parse, &cur, &data))
            return false;
        nfs_file_read_reply(parse, &data, is_end, UINT64_MAX);
        return true;
    }
    attributes = cursor_read(&cur, ATTRIBUTES_2);
    if (!attributes || !nfs_read_data(parse, &cur, &data))
        return false;
    nfs_file_read_reply(parse, &data, false, load_be32(attributes + SIZE_AT_2));
    return true;
}
