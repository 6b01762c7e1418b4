/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small hash tables with a limit; a full table drops its oldest entry. A connection has few entries in each, so the
 * number of buckets is fixed. */
#include <string.h>

#include "smb_priv.h"

static struct smb_entry **bucket_of(struct smb_table *table, const struct smb_table_key *key)
{
    uint32_t hash = 2166136261u;

    for (unsigned i = 0; i < key->length; i++)
        hash = (hash ^ key->bytes[i]) * 16777619u;
    return &table->bucket[(hash ^ hash >> 16) % SMB_BUCKETS];
}

struct smb_entry *smb_table_find(struct smb_table *table, const struct smb_table_key *key)
{
    struct smb_entry *entry = *bucket_of(table, key);

    while (entry && (entry->key_length != key->length || memcmp(entry->key, key->bytes, key->length) != 0))
        entry = entry->next;
    return entry;
}

static void unlink_age(struct smb_table *table, struct smb_entry *entry)
{
    if (entry->newer)
        entry->newer->older = entry->older;
    else
        table->newest = entry->older;
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        table->oldest = entry->newer;
    entry->newer = entry->older = NULL;
}

static void link_newest(struct smb_table *table, struct smb_entry *entry)
{
    entry->older = table->newest;
    if (table->newest)
        table->newest->newer = entry;
    else
        table->oldest = entry;
    table->newest = entry;
}

void smb_table_remove(struct heap *heap, struct smb_table *table, struct smb_entry *entry)
{
    struct smb_table_key key;
    struct smb_entry **link;

    if (!entry)
        return;
    key.length = entry->key_length;
    memcpy(key.bytes, entry->key, sizeof(key.bytes));
    for (link = bucket_of(table, &key); *link != entry; link = &(*link)->next)
        ;
    *link = entry->next;
    unlink_age(table, entry);
    buffer_clear(heap, &entry->bytes);
    heap_release(heap, entry);
    table->count--;
}

struct smb_entry *smb_table_add(struct heap *heap, struct smb_table *table, uint32_t limit,
                                const struct smb_table_key *key)
{
    struct smb_entry *entry = smb_table_find(table, key), **bucket = bucket_of(table, key);

    if (entry) {
        entry->bytes.length = 0;
        unlink_age(table, entry);
        link_newest(table, entry);
        return entry;
    }
    if (table->count >= limit)
        smb_table_remove(heap, table, table->oldest);
    entry = heap_alloc(heap, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->key_length = key->length;
    memcpy(entry->key, key->bytes, key->length);
    entry->next = *bucket;
    *bucket = entry;
    link_newest(table, entry);
    table->count++;
    return entry;
}

void smb_table_clear(struct heap *heap, struct smb_table *table)
{
    while (table->oldest)
        smb_table_remove(heap, table, table->oldest);
}
