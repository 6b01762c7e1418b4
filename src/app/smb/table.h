/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables that keep parameters of requests until a response or a later message needs them. A table has a limit; an entry
 * that is added to a full table replaces the oldest one.
 *
 * Ownership: the entries and their bytes belong to the table; a returned entry is valid until the next call that adds
 * to the table or removes from it.
 */
#ifndef SLUICE_APP_SMB_TABLE_H
#define SLUICE_APP_SMB_TABLE_H

#include "sluice/app.h"

#include "numbers.h"

enum {
    SMB_BUCKETS = 32, /* hash buckets of a table */
    SMB_KEY = 32,     /* maximum bytes of a key */
};

/* Entry of one of the tables in struct smb_state. The table determines which of the last members are used. */
struct smb_entry {
    struct smb_entry *next, *newer, *older; /* next in the hash bucket; links in the order of smb_table_add() */
    uint8_t key_length;
    uint8_t key[SMB_KEY];
    bool is_pipe;          /* the tree is a pipe share */
    uint64_t offset;       /* offset of a read in the file */
    struct smb_file_id id; /* file of a read, close or SMB 1 transaction */
    struct buffer bytes;   /* name of a tree or file, or bytes of a DCE/RPC fragment */
};

struct smb_table {
    struct smb_entry *bucket[SMB_BUCKETS], *newest, *oldest;
    uint32_t count;
};

struct smb_table_key {
    uint8_t length;
    uint8_t bytes[SMB_KEY];
};

/* Returns the entry of the key; NULL for none. */
struct smb_entry *smb_table_find(struct smb_table *table, const struct smb_table_key *key);
/* Returns the entry of the key, with empty bytes. Adds it if there is none; if the table has `limit` entries, first
 * removes the oldest one. Returns NULL if out of memory. */
struct smb_entry *smb_table_add(struct heap *heap, struct smb_table *table, uint32_t limit,
                                const struct smb_table_key *key);
void smb_table_remove(struct heap *heap, struct smb_table *table, struct smb_entry *entry); /* NULL is allowed */
void smb_table_clear(struct heap *heap, struct smb_table *table);

#endif
