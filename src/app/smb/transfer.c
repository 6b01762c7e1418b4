/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of SMB connections to the next engine: the position in the records, the negotiated parameters, and the data
 * that later messages refer to (trees, names of open files, pending reads and requests, bindings of pipes).
 * Transactions are not transferred; a response without its request is handled as on connections that are picked up
 * midstream.
 */
#include "sluice/transfer.h"

#include <errno.h>
#include <string.h>

#include "smb_priv.h"

enum { ENTRY_SIZE = 12 };

static void transfer_id(struct transfer *t, struct smb_file_id *id)
{
    transfer_u8(t, &id->length);
    transfer_bytes(t, id->bytes, sizeof(id->bytes));
    transfer_require(t, id->length <= sizeof(id->bytes));
}

static void transfer_content(struct app_context *context, struct transfer *t, struct smb_entry *entry)
{
    transfer_bool(t, &entry->is_pipe);
    transfer_u64(t, &entry->offset);
    transfer_id(t, &entry->id);
    app_transfer_buffer(context, t, &entry->bytes);
}

/* Reads a table; if it exceeds the limit of this engine, the newest entries are kept. */
static void read_table(struct app_context *context, struct transfer *t, struct smb_table *table, uint32_t limit)
{
    uint32_t count = 0;

    transfer_u32(t, &count);
    transfer_require(t, transfer_has_room(t, count, ENTRY_SIZE));
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct smb_table_key key = { .length = 0 };
        struct smb_entry *entry;

        transfer_u8(t, &key.length);
        transfer_require(t, key.length <= sizeof(key.bytes));
        if (t->error)
            return;
        transfer_bytes(t, key.bytes, key.length);
        entry = t->error ? NULL : smb_table_add(app_heap(context), table, limit, &key);
        if (!entry) {
            t->error = t->error ? t->error : -ENOMEM;
            return;
        }
        transfer_content(context, t, entry);
    }
}

static void transfer_table(struct app_context *context, struct transfer *t, struct smb_table *table, uint32_t limit)
{
    if (t->reading) {
        read_table(context, t, table, limit > 0 ? limit : 1);
        return;
    }
    transfer_u32(t, &table->count);
    for (struct smb_entry *entry = table->oldest; entry; entry = entry->newer) {
        transfer_u8(t, &entry->key_length);
        transfer_bytes(t, entry->key, entry->key_length);
        transfer_content(context, t, entry);
    }
}

static void transfer_side(struct transfer *t, struct smb_side *side)
{
    transfer_u32(t, &side->chunk_left);
    transfer_u32(t, &side->skip);
    transfer_u64(t, &side->chunk_at);
    transfer_id(t, &side->file);
    transfer_bool(t, &side->lost);
    transfer_bool(t, &side->ended);
}

void smb_transfer(struct app_context *context, void *data, struct transfer *t)
{
    const struct smb_settings *settings = app_get_settings(context);
    struct smb_state *state = data;

    transfer_side(t, &state->side[FLOW_TO_SERVER]);
    transfer_side(t, &state->side[FLOW_TO_CLIENT]);
    transfer_u16(t, &state->dialect);
    transfer_u8(t, &state->dialect_length);
    transfer_bytes(t, state->dialect_name, sizeof(state->dialect_name));
    transfer_u32(t, &state->max_read);
    transfer_u32(t, &state->max_write);
    transfer_require(t, state->dialect_length <= sizeof(state->dialect_name));
    if (!t->error)
        dce_bindings_transfer(t, app_heap(context), &state->bindings);
    transfer_table(context, t, &state->reads, settings->max_reads);
    transfer_table(context, t, &state->trees, settings->max_trees);
    transfer_table(context, t, &state->names, settings->max_names);
    transfer_table(context, t, &state->pending, settings->max_pending);
    transfer_table(context, t, &state->fragments, settings->max_fragments);
}
