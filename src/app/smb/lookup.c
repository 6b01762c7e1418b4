/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of a connection: trees, pending reads, pending requests, names of open files. Later messages refer to them. */
#include <string.h>

#include "smb_priv.h"

static void add_bytes(struct smb_table_key *key, const void *bytes, size_t length)
{
    memcpy(key->bytes + key->length, bytes, length);
    key->length = (uint8_t)(key->length + length);
}

static struct smb_table_key tree_key(const struct smb_message *message)
{
    struct smb_table_key key = { .length = 0 };

    add_bytes(&key, &message->session, sizeof(message->session));
    add_bytes(&key, &message->tree, sizeof(message->tree));
    return key;
}

struct smb_entry *smb_tree_find(const struct smb_parser *parser, const struct smb_message *message)
{
    const struct smb_table_key key = tree_key(message);

    return smb_table_find(&parser->state->trees, &key);
}

void smb_tree_add(struct smb_parser *parser, const struct smb_message *message, const uint8_t *name, size_t length,
                  bool is_pipe)
{
    const struct smb_table_key key = tree_key(message);
    struct smb_entry *entry = smb_table_add(parser->heap, &parser->state->trees, parser->settings->max_trees, &key);

    if (!entry) {
        parser->failed = true;
        return;
    }
    entry->is_pipe = is_pipe;
    smb_store_bytes(parser, &entry->bytes, name, length);
}

void smb_tree_remove(struct smb_parser *parser, const struct smb_message *message)
{
    smb_table_remove(parser->heap, &parser->state->trees, smb_tree_find(parser, message));
}

/* --- Pending reads ----------------------------------------------------------------------------------- */

static struct smb_table_key read_key(const struct smb_message *message)
{
    struct smb_table_key key = { .length = 0 };

    add_bytes(&key, &message->session, sizeof(message->session));
    add_bytes(&key, &message->message, sizeof(message->message));
    return key;
}

void smb_read_add(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id,
                  uint64_t offset)
{
    const struct smb_table_key key = read_key(message);
    struct smb_entry *entry = smb_table_add(parser->heap, &parser->state->reads, parser->settings->max_reads, &key);

    if (!entry) {
        parser->failed = true;
        return;
    }
    entry->id = *id;
    entry->offset = offset;
}

bool smb_read_remove(struct smb_parser *parser, const struct smb_message *message, struct smb_file_id *id,
                     uint64_t *offset)
{
    const struct smb_table_key key = read_key(message);
    struct smb_entry *entry = smb_table_find(&parser->state->reads, &key);

    if (!entry)
        return false;
    *id = entry->id;
    *offset = entry->offset;
    smb_table_remove(parser->heap, &parser->state->reads, entry);
    return true;
}

/* --- Pending requests -------------------------------------------------------------------------------- */

static struct smb_table_key pending_key(enum smb_pending type, uint64_t session, uint64_t message)
{
    struct smb_table_key key = { .length = 1, .bytes = { (uint8_t)type } };

    add_bytes(&key, &session, sizeof(session));
    add_bytes(&key, &message, sizeof(message));
    return key;
}

struct smb_entry *smb_pending_add(struct smb_parser *parser, enum smb_pending type, const struct smb_message *message)
{
    const struct smb_table_key key = pending_key(type, message->session, message->message);
    struct smb_entry *entry = smb_table_add(parser->heap, &parser->state->pending, parser->settings->max_pending, &key);

    parser->failed |= !entry;
    return entry;
}

struct smb_entry *smb_pending_find(const struct smb_parser *parser, enum smb_pending type, uint64_t session,
                                   uint64_t message)
{
    const struct smb_table_key key = pending_key(type, session, message);

    return smb_table_find(&parser->state->pending, &key);
}

/* --- Names of open files ----------------------------------------------------------------------------- */

static struct smb_table_key name_key(const struct smb_file_id *id)
{
    struct smb_table_key key = { .length = 0 };

    add_bytes(&key, id->bytes, id->length);
    return key;
}

void smb_name_add(struct smb_parser *parser, const struct smb_file_id *id, const uint8_t *name, size_t length)
{
    const struct smb_table_key key = name_key(id);
    struct smb_entry *entry = smb_table_add(parser->heap, &parser->state->names, parser->settings->max_names, &key);

    if (entry)
        smb_store_bytes(parser, &entry->bytes, name, length);
    else
        parser->failed = true;
}

const struct buffer *smb_name_find(const struct smb_parser *parser, const struct smb_file_id *id)
{
    const struct smb_table_key key = name_key(id);
    const struct smb_entry *entry = smb_table_find(&parser->state->names, &key);

    return entry ? &entry->bytes : NULL;
}

void smb_name_copy(struct smb_parser *parser, const struct smb_file_id *id, const char *fallback, struct buffer *out)
{
    const struct buffer *name = smb_name_find(parser, id);

    if (name)
        smb_store_bytes(parser, out, name->bytes, name->length);
    else
        smb_store_bytes(parser, out, (const uint8_t *)fallback, strlen(fallback));
}
