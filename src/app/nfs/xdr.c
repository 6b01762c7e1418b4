/* SPDX-License-Identifier: GPL-2.0-or-later */
/* XDR (RFC 4506), and the table of file handles and their names. */
#include <string.h>

#include "nfs_priv.h"

bool nfs_read_opaque(struct cursor *cur, uint32_t limit, struct cursor *out)
{
    struct cursor at = *cur;
    uint32_t length;

    if (!cursor_be32(&at, &length) || length > limit)
        return false;
    const uint8_t *bytes = cursor_read(&at, length);

    if (!bytes || !cursor_skip(&at, (4 - length % 4) % 4))
        return false;
    *out = cursor_of(bytes, length);
    *cur = at;
    return true;
}

bool nfs_skip_opaque(struct cursor *cur)
{
    struct cursor ignored;

    return nfs_read_opaque(cur, UINT32_MAX - 4, &ignored);
}

bool nfs_read_data(const struct nfs_parse *parse, struct cursor *cur, struct nfs_data *out)
{
    struct cursor at = *cur;
    uint32_t length, padding;

    if (!cursor_be32(&at, &length) || length > cursor_remaining(&at) + parse->missing)
        return false;
    size_t received = cursor_remaining(&at) < length ? cursor_remaining(&at) : length;

    out->length = length;
    out->received = cursor_of(at.at, received);
    cursor_skip(&at, received);
    padding = (4 - length % 4) % 4;
    cursor_skip(&at, padding < cursor_remaining(&at) ? padding : cursor_remaining(&at));
    *cur = at;
    return true;
}

/* Returns the CRC-32 of IEEE 802.3. Computed bit by bit, without a table, because handles are short. */
uint32_t nfs_crc32(struct cursor bytes)
{
    uint32_t crc = UINT32_MAX;
    uint8_t byte;

    while (cursor_u8(&bytes, &byte)) {
        crc ^= byte;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

void nfs_store(struct nfs_parse *parse, struct cursor bytes, struct nfs_text *out)
{
    struct buffer *text = &parse->tx->text;
    uint32_t length = (uint32_t)cursor_remaining(&bytes);

    if (length > NFS_NAME_MAX)
        length = NFS_NAME_MAX;
    *out = (struct nfs_text){ .at = text->length, .length = length };
    if (length > 0 && buffer_append(parse->heap, text, bytes.at, length, 8 * NFS_NAME_MAX) != length) {
        out->length = 0;
        parse->no_memory = true;
    }
}

struct cursor nfs_text_bytes(const struct nfs_tx *tx, const struct nfs_text *text)
{
    return cursor_of(text->length ? tx->text.bytes + text->at : (const uint8_t *)"", text->length);
}

static struct nfs_handle_name *find_entry(const struct nfs_state *state, struct cursor handle, uint32_t crc)
{
    for (unsigned i = 0; i < NFS_NAMES; i++) {
        const struct nfs_handle_name *entry = &state->handle_names[i];

        if (entry->bytes && entry->crc == crc && entry->handle_length == cursor_remaining(&handle) &&
            memcmp(entry->bytes, handle.at, entry->handle_length) == 0)
            return (struct nfs_handle_name *)entry;
    }
    return NULL;
}

/* Stores the name of a file handle. A new handle replaces the oldest entry of a full table. Without memory the handle
 * has no name, and the framework notices the refused allocation. */
void nfs_name_add(struct nfs_parse *parse, struct cursor handle, struct cursor name)
{
    struct nfs_state *state = parse->state;
    size_t handle_length = cursor_remaining(&handle), name_length = cursor_remaining(&name);

    if (handle_length == 0 || handle_length > NFS_HANDLE_MAX || name_length > NFS_NAME_MAX)
        return;
    uint32_t crc = nfs_crc32(handle);
    struct nfs_handle_name *entry = find_entry(state, handle, crc);

    if (!entry) {
        entry = &state->handle_names[state->next_name];
        state->next_name = (state->next_name + 1) % NFS_NAMES;
    }
    heap_release(parse->heap, entry->bytes);
    entry->bytes = heap_alloc_uncleared(parse->heap, handle_length + name_length);
    if (!entry->bytes)
        return;
    entry->crc = crc;
    entry->handle_length = (uint8_t)handle_length;
    entry->name_length = (uint8_t)name_length;
    memcpy(entry->bytes, handle.at, handle_length);
    if (name_length)
        memcpy(entry->bytes + handle_length, name.at, name_length);
}

bool nfs_name_find(const struct nfs_state *state, struct cursor handle, struct cursor *name)
{
    const struct nfs_handle_name *entry = find_entry(state, handle, nfs_crc32(handle));

    if (!entry)
        return false;
    *name = cursor_of(entry->bytes + entry->handle_length, entry->name_length);
    return true;
}

void nfs_names_clear(struct heap *heap, struct nfs_state *state)
{
    for (unsigned i = 0; i < NFS_NAMES; i++) {
        heap_release(heap, state->handle_names[i].bytes);
        state->handle_names[i].bytes = NULL;
    }
}
