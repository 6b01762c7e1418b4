/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembly of files from byte ranges that arrive in several transactions, on one connection or on several. Rules
 * inspect the whole file, with its digests, in addition to each range.
 *
 * Bytes are appended to the file in order. The file is in tx->files of the transaction that brought the last appended
 * bytes, where rules inspect it; when that transaction is released, the table keeps the file until the next range
 * arrives. Bytes after a gap are stored as pieces until the gap is filled. Where ranges overlap, bytes that have been
 * appended to the file are kept; of overlapping pieces, the bytes of the piece with the lower offset are used.
 *
 * The ranges of a file are reassembled only if the same worker inspects them. A file is abandoned, and counted, when
 * the waiting data exceeds its limit, when memory is short, when no range arrives within the timeout, or when the table
 * is full.
 *
 * Memory: the worker's heap. Files and pieces in the table belong to no flow (app->byterange_memory), so evicting a
 * flow does not free them.
 */
#include "app_priv.h"

#include <string.h>

enum {
    ENTRIES = 256,          /* files in the table */
    PIECE_MAX = 256 << 10,  /* bytes; a piece that has reached this size is not extended */
    PIECES_MAX = 64,        /* waiting pieces per file */
    WAITING_SHARE = 8,      /* waiting files and pieces may use 1/8 of the memcap */
    WAITING_MIN = 64 << 10, /* bytes; lower bound of that share */
};

/* Bytes after a gap in the file, stored until the gap is filled. */
struct piece {
    struct piece *next;
    uint64_t start; /* offset in the file */
    struct buffer data;
};

struct byterange_file {
    uint64_t serial; /* unique number, by which a range recognises its entry; 0: the entry is free */
    /* total: size of the whole file in bytes. The entry expires at last_data_ns + timeout_ns. */
    uint64_t total, last_data_ns, timeout_ns;
    uint8_t *key; /* key_length bytes of the key, followed by name_length bytes of the file name */
    uint32_t key_length, name_length;
    unsigned piece_count;
    struct piece *pieces; /* sorted by start */
    struct file *file;    /* NULL until byte 0 arrives */
    struct app_tx *tx;    /* transaction whose list has the file; NULL: only the table has it */
    enum flow_direction direction;
};

struct byterange_table {
    struct byterange_file entries[ENTRIES];
    uint64_t last_serial;
};

/* --- Memory --------------------------------------------------------------------------------------- */

/* Accounts memory to the table instead of a flow; call it before code that allocates or frees memory of the table, and
 * pass its result to stop_table_accounting() after that code. */
static size_t start_table_accounting(const struct app *app)
{
    return heap_memory(app->heap);
}

static void stop_table_accounting(struct app *app, size_t before)
{
    app->byterange_memory += heap_memory(app->heap) - before;
}

/* Whether the table may use `more` bytes in addition. The table has a separate limit, because evicting a flow does not
 * free its memory. */
static bool has_room(const struct app *app, size_t more)
{
    size_t limit = heap_capacity(app->heap) / WAITING_SHARE;

    return app->byterange_memory + more <= (limit > WAITING_MIN ? limit : WAITING_MIN);
}

static void free_piece(struct app *app, struct byterange_file *entry)
{
    struct piece *piece = entry->pieces;
    size_t before = start_table_accounting(app);

    entry->pieces = piece->next;
    entry->piece_count--;
    buffer_clear(app->heap, &piece->data);
    heap_release(app->heap, piece);
    stop_table_accounting(app, before);
}

/* Removes the file from its transaction and accounts its memory to the table, which alone refers to it afterwards.
 * `current`: the flow that is fed or freed, or whose transactions are freed; NULL: none. app_memory_update() will
 * subtract the bytes from the account of this flow, although another flow may have had the file. */
static void detach_file(struct app *app, struct byterange_file *entry, struct app_flow *current)
{
    size_t size;

    if (!entry->tx)
        return;
    size = file_heap_size(app->files, entry->file);
    file_list_remove(&entry->tx->files[entry->direction], entry->file);
    app->byterange_memory += size;
    if (entry->tx->flow->main != current)
        app_memory_move(app, entry->tx->flow->main, current, size);
    entry->tx = NULL;
}

static void clear_entry(struct app *app, struct byterange_file *entry)
{
    while (entry->pieces)
        free_piece(app, entry);
    size_t before = start_table_accounting(app);

    heap_release(app->heap, entry->key);
    stop_table_accounting(app, before);
    *entry = (struct byterange_file){ 0 };
}

/* `current`: see detach_file(). */
static void abandon(struct app *app, struct byterange_file *entry, struct app_flow *current)
{
    if (entry->file) {
        detach_file(app, entry, current);
        struct file_list list = { 0 };
        size_t before = start_table_accounting(app);

        entry->file->store_requested = false; /* do not store an incomplete file: no event would refer to it */
        file_list_add(app->files, &list, entry->file);
        file_list_clear(app->files, &list);
        stop_table_accounting(app, before);
    }
    clear_entry(app, entry);
    app->abandoned_files++;
}

void app_byterange_clear(struct app *app)
{
    if (!app->byteranges)
        return;
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (app->byteranges->entries[i].serial != 0)
            abandon(app, &app->byteranges->entries[i], NULL);
    }
    size_t before = start_table_accounting(app);

    heap_release(app->heap, app->byteranges);
    stop_table_accounting(app, before);
    app->byteranges = NULL;
}

void app_byterange_detach_files(struct app *app, struct app_tx *tx, enum flow_direction direction)
{
    for (struct file *file = tx->files[direction].first, *next; file; file = next) {
        next = file->next;
        if (!file->byterange_file)
            continue;
        detach_file(app, file->byterange_file, tx->flow->main);
        if (!has_room(app, 0))
            abandon(app, file->byterange_file, tx->flow->main);
    }
}

/* --- Entries -------------------------------------------------------------------------------------- */

static bool is_expired(const struct byterange_file *entry, uint64_t now_ns)
{
    return entry->last_data_ns + entry->timeout_ns < now_ns;
}

/* Returns a free entry, after abandoning expired files. If no entry is free, abandons the file whose last data is the
 * oldest. Files that are in a transaction are not abandoned; returns NULL if all files are. */
static struct byterange_file *alloc_entry(struct app *app, uint64_t now_ns)
{
    struct byterange_file *unused = NULL, *oldest = NULL;

    for (unsigned i = 0; i < ENTRIES; i++) {
        struct byterange_file *entry = &app->byteranges->entries[i];

        if (entry->serial != 0 && !entry->tx && is_expired(entry, now_ns))
            abandon(app, entry, NULL);
        if (entry->serial == 0)
            unused = unused ? unused : entry;
        else if (!entry->tx && (!oldest || entry->last_data_ns < oldest->last_data_ns))
            oldest = entry;
    }
    if (!unused && oldest) {
        abandon(app, oldest, NULL);
        unused = oldest;
    }
    return unused;
}

static struct byterange_file *find_or_add_entry(struct app *app, const struct app_byterange_info *info, uint64_t now_ns)
{
    size_t before = start_table_accounting(app);

    if (!app->byteranges && !(app->byteranges = heap_alloc(app->heap, sizeof(*app->byteranges))))
        return NULL;
    stop_table_accounting(app, before);
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct byterange_file *found = &app->byteranges->entries[i];

        if (found->serial != 0 && found->total == info->total && found->key_length == info->key_length &&
            memcmp(found->key, info->key, info->key_length) == 0 && !is_expired(found, now_ns))
            return found;
    }
    struct byterange_file *entry = alloc_entry(app, now_ns);

    if (!entry)
        return NULL;
    before = start_table_accounting(app);
    entry->key = heap_alloc_uncleared(app->heap, (size_t)info->key_length + info->name_length);
    stop_table_accounting(app, before);
    if (!entry->key)
        return NULL;
    memcpy(entry->key, info->key, info->key_length);
    if (info->name_length > 0)
        memcpy(entry->key + info->key_length, info->name, info->name_length);
    entry->key_length = info->key_length;
    entry->name_length = info->name_length;
    entry->total = info->total;
    entry->timeout_ns = info->timeout_ns;
    entry->serial = ++app->byteranges->last_serial;
    return entry;
}

/* Returns the table entry of a range; NULL when its file is complete or was abandoned. */
static struct byterange_file *find_entry_of_range(const struct app *app, const struct app_byterange *range)
{
    struct byterange_file *entry = app->byteranges ? &app->byteranges->entries[range->entry] : NULL;

    return entry && range->serial != 0 && entry->serial == range->serial ? entry : NULL;
}

bool app_byterange_start(struct app_context *context, struct app_byterange *range,
                         const struct app_byterange_info *info)
{
    struct app *app = context->app;
    struct byterange_file *entry = find_or_add_entry(app, info, context->now_ns);

    *range = (struct app_byterange){ 0 };
    if (!entry) {
        app->abandoned_files++;
        return false;
    }
    entry->last_data_ns = context->now_ns;
    *range = (struct app_byterange){
        .entry = (uint32_t)(entry - app->byteranges->entries),
        .serial = entry->serial,
        .offset = info->start,
    };
    return true;
}

/* --- Bytes ---------------------------------------------------------------------------------------- */

/* Stores bytes that follow a gap; `offset` is beyond the current end of the file. Returns false without memory or when
 * a limit is reached. */
static bool store_piece(struct app *app, struct byterange_file *entry, uint64_t offset, const uint8_t *bytes,
                        uint32_t length)
{
    struct piece **place = &entry->pieces, *piece = NULL;

    while (*place && (*place)->start <= offset) {
        piece = *place;
        place = &piece->next;
    }
    uint64_t end = piece ? piece->start + piece->data.length : 0;

    if (piece && offset + length <= end)
        return true;
    if (!has_room(app, length))
        return false;
    if (!piece || offset > end || piece->data.length >= PIECE_MAX) {
        piece = entry->piece_count < PIECES_MAX ? heap_alloc(app->heap, sizeof(*piece)) : NULL;
        if (!piece)
            return false;
        end = piece->start = offset;
        piece->next = *place;
        *place = piece;
        entry->piece_count++;
    }
    length -= (uint32_t)(end - offset);
    return buffer_append(app->heap, &piece->data, bytes + (end - offset), length, UINT32_MAX) == length;
}

/* Moves the file from its previous transaction, or from the table, to tx->files; opens it when byte 0 arrives. Returns
 * false without memory. */
static bool attach_file(struct app_context *context, struct byterange_file *entry, struct app_tx *tx,
                        enum flow_direction direction)
{
    struct app *app = context->app;

    if (entry->tx == tx && entry->direction == direction)
        return true;
    if (!entry->file) {
        entry->file = file_open(app->files, &tx->files[direction], app_next_file_id(context),
                                entry->key + entry->key_length, entry->name_length);
        if (!entry->file)
            return false;
        entry->file->byterange_file = entry;
    } else {
        detach_file(app, entry, context->af->main);
        app->byterange_memory -= file_heap_size(app->files, entry->file);
        entry->file->id = app_next_file_id(context);
        file_list_add(app->files, &tx->files[direction], entry->file);
    }
    entry->tx = tx;
    entry->direction = direction;
    return true;
}

bool app_byterange_add(struct app_context *context, struct app_byterange *range, struct app_tx *tx,
                       enum flow_direction direction, const uint8_t *bytes, uint32_t length)
{
    struct app *app = context->app;
    struct byterange_file *entry = find_entry_of_range(app, range);
    uint64_t offset = range->offset, size = entry && entry->file ? entry->file->size : 0;

    range->offset += length;
    if (!entry || offset >= entry->total || offset + length <= size)
        return true;
    if (length > entry->total - offset)
        length = (uint32_t)(entry->total - offset);
    entry->last_data_ns = context->now_ns;
    if (offset > size) {
        size_t before = start_table_accounting(app);
        bool stored = store_piece(app, entry, offset, bytes, length);

        stop_table_accounting(app, before);
        if (!stored)
            abandon(app, entry, context->af->main);
        return stored;
    }
    if (!attach_file(context, entry, tx, direction)) {
        abandon(app, entry, context->af->main);
        return false;
    }
    file_append(app->files, entry->file, bytes + (size - offset), offset + length - size);
    while (entry->pieces && entry->pieces->start <= entry->file->size) {
        const struct piece *piece = entry->pieces;
        uint64_t known = entry->file->size - piece->start;

        if (known < piece->data.length)
            file_append(app->files, entry->file, piece->data.bytes + known, piece->data.length - known);
        free_piece(app, entry);
    }
    if (entry->file->size < entry->total)
        return true;
    file_close(app->files, entry->file, FILE_CLOSED);
    entry->file->byterange_file = NULL; /* the complete file belongs to the transaction alone */
    clear_entry(app, entry);
    app->reassembled_files++;
    return true;
}
