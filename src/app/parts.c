/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembly of files from byte ranges that arrive in several transactions, on one connection or on several. Rules inspect the whole file, with
 * its digests, in addition to each range.
 *
 * Bytes are appended to the file in order. The file is in tx->files of the transaction that brought the last appended bytes, where rules
 * inspect it; when that transaction is released, the table keeps the file until the next range arrives. Bytes after a gap are stored as pieces
 * until the gap is filled. Bytes that were appended are never replaced. Otherwise, where ranges overlap, the one that begins at the lower
 * offset is used.
 *
 * The ranges of a file are joined only if the same worker inspects them. A file is abandoned, and counted, when the waiting data exceeds its
 * limit, when memory is short, when no range arrives within the timeout, or when the table is full.
 *
 * Memory: the worker's heap. Files and pieces in the table belong to no flow (struct app.unowned), so evicting a flow does not free them.
 */
#include "app_priv.h"

#include <string.h>

enum {
    ENTRIES = 256,          /* files */
    PIECE_MAX = 256 << 10,  /* bytes */
    PIECES_MAX = 64,        /* waiting pieces per file */
    WAITING_SHARE = 8,      /* waiting files and pieces may use 1/8 of the memcap */
    WAITING_MIN = 64 << 10, /* bytes; lower bound of that share */
};

/* Bytes after a gap in the file, kept until the gap is filled. */
struct piece {
    struct piece *next;
    uint64_t start;
    struct buffer data;
};

struct file_parts {
    uint64_t serial; /* 0: the entry is free */
    uint64_t total, used_ns, timeout_ns;
    uint8_t *key; /* key_length bytes of the key, followed by name_length bytes of the file name */
    uint32_t key_length, name_length;
    unsigned piece_count;
    struct piece *pieces; /* sorted by start */
    struct file *file;    /* NULL until byte 0 arrives */
    struct app_tx *tx;    /* transaction whose list has the file; NULL: only the table has it */
    enum flow_direction direction;
};

struct app_parts {
    struct file_parts entries[ENTRIES];
    uint64_t last_serial;
};

/* --- Memory ---------------------------------------------------------------------------------------------------------------------- */

/* Call before, and end_unowned() after, code that allocates or frees memory of the table instead of a flow. */
static size_t begin_unowned(const struct app *app)
{
    return heap_memory(app->heap);
}

static void end_unowned(struct app *app, size_t before)
{
    app->unowned += heap_memory(app->heap) - before;
}

/* Evicting a flow does not free memory of the table, so the table has a separate limit. */
static bool has_room(const struct app *app, size_t more)
{
    size_t limit = heap_capacity(app->heap) / WAITING_SHARE;

    return app->unowned + more <= (limit > WAITING_MIN ? limit : WAITING_MIN);
}

static void free_piece(struct app *app, struct file_parts *parts)
{
    struct piece *piece = parts->pieces;
    size_t before = begin_unowned(app);

    parts->pieces = piece->next;
    parts->piece_count--;
    buffer_clear(app->heap, &piece->data);
    heap_give(app->heap, piece);
    end_unowned(app, before);
}

/* Removes the file from its transaction; only the table refers to it afterwards. */
static void take_from_transaction(struct app *app, struct file_parts *parts)
{
    if (!parts->tx)
        return;
    file_list_remove(&parts->tx->files[parts->direction], parts->file);
    app_memory_disown(app, parts->tx->flow->main, file_memory(app->files, parts->file));
    parts->tx = NULL;
}

static void release(struct app *app, struct file_parts *parts)
{
    while (parts->pieces)
        free_piece(app, parts);
    size_t before = begin_unowned(app);

    heap_give(app->heap, parts->key);
    end_unowned(app, before);
    *parts = (struct file_parts){ 0 };
}

static void abandon(struct app *app, struct file_parts *parts)
{
    if (parts->file) {
        take_from_transaction(app, parts);
        struct file_list list = { 0 };
        size_t before = begin_unowned(app);

        parts->file->store_wanted = false; /* do not store an incomplete file: no event would refer to it */
        file_list_add(app->files, &list, parts->file);
        file_list_clear(app->files, &list);
        end_unowned(app, before);
    }
    release(app, parts);
    app->abandoned_files++;
}

void app_forget_parts(struct app *app)
{
    if (!app->parts)
        return;
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (app->parts->entries[i].serial != 0)
            abandon(app, &app->parts->entries[i]);
    }
    size_t before = begin_unowned(app);

    heap_give(app->heap, app->parts);
    end_unowned(app, before);
    app->parts = NULL;
}

void app_parts_keep(struct app *app, struct app_tx *tx, enum flow_direction direction)
{
    for (struct file *file = tx->files[direction].first, *next; file; file = next) {
        next = file->next;
        if (!file->parts)
            continue;
        take_from_transaction(app, file->parts);
        if (!has_room(app, 0))
            abandon(app, file->parts);
    }
}

/* --- Entries --------------------------------------------------------------------------------------------------------------------- */

static bool is_for(const struct file_parts *parts, const struct app_part_of *what)
{
    return parts->serial != 0 && parts->total == what->total && parts->key_length == what->key_length &&
           memcmp(parts->key, what->key, what->key_length) == 0;
}

static bool is_expired(const struct file_parts *parts, uint64_t now_ns)
{
    return parts->used_ns + parts->timeout_ns < now_ns;
}

/* Returns a free entry; if there is none, abandons the file that has waited longest. Returns NULL if all files belong to open
 * transactions. */
static struct file_parts *find_place(struct app *app, uint64_t now_ns)
{
    struct file_parts *unused = NULL, *oldest = NULL;

    for (unsigned i = 0; i < ENTRIES; i++) {
        struct file_parts *parts = &app->parts->entries[i];

        if (parts->serial != 0 && !parts->tx && is_expired(parts, now_ns))
            abandon(app, parts);
        if (parts->serial == 0)
            unused = unused ? unused : parts;
        else if (!parts->tx && (!oldest || parts->used_ns < oldest->used_ns))
            oldest = parts;
    }
    if (!unused && oldest) {
        abandon(app, oldest);
        unused = oldest;
    }
    return unused;
}

static struct file_parts *find_or_make(struct app *app, const struct app_part_of *what, uint64_t now_ns)
{
    size_t before = begin_unowned(app);

    if (!app->parts && !(app->parts = heap_take(app->heap, sizeof(*app->parts))))
        return NULL;
    end_unowned(app, before);
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (is_for(&app->parts->entries[i], what) && !is_expired(&app->parts->entries[i], now_ns))
            return &app->parts->entries[i];
    }
    struct file_parts *parts = find_place(app, now_ns);

    if (!parts)
        return NULL;
    before = begin_unowned(app);
    parts->key = heap_take_raw(app->heap, (size_t)what->key_length + what->name_length);
    end_unowned(app, before);
    if (!parts->key)
        return NULL;
    memcpy(parts->key, what->key, what->key_length);
    if (what->name_length > 0)
        memcpy(parts->key + what->key_length, what->name, what->name_length);
    parts->key_length = what->key_length;
    parts->name_length = what->name_length;
    parts->total = what->total;
    parts->timeout_ns = what->timeout_ns;
    parts->serial = ++app->parts->last_serial;
    return parts;
}

/* Returns the table entry of a range; NULL when its file is complete or was abandoned. */
static struct file_parts *entry_of(const struct app *app, const struct app_part *part)
{
    struct file_parts *parts = app->parts ? &app->parts->entries[part->entry] : NULL;

    return parts && part->serial != 0 && parts->serial == part->serial ? parts : NULL;
}

bool app_part_begin(struct app_context *context, struct app_part *part, const struct app_part_of *what)
{
    struct app *app = context->app;
    struct file_parts *parts = find_or_make(app, what, context->now_ns);

    *part = (struct app_part){ 0 };
    if (!parts) {
        app->abandoned_files++;
        return false;
    }
    parts->used_ns = context->now_ns;
    *part = (struct app_part){
        .entry = (uint32_t)(parts - app->parts->entries),
        .serial = parts->serial,
        .at = what->start,
    };
    return true;
}

/* --- Bytes ----------------------------------------------------------------------------------------------------------------------- */

/* Stores bytes that follow a gap; `at` is their offset, beyond the present end of the file. */
static bool keep(struct app *app, struct file_parts *parts, uint64_t at, const uint8_t *bytes, uint32_t length)
{
    struct piece **place = &parts->pieces, *piece = NULL;

    while (*place && (*place)->start <= at) {
        piece = *place;
        place = &piece->next;
    }
    uint64_t end = piece ? piece->start + piece->data.length : 0;

    if (piece && at + length <= end)
        return true;
    if (!has_room(app, length))
        return false;
    if (!piece || at > end || piece->data.length >= PIECE_MAX) {
        piece = parts->piece_count < PIECES_MAX ? heap_take(app->heap, sizeof(*piece)) : NULL;
        if (!piece)
            return false;
        end = piece->start = at;
        piece->next = *place;
        *place = piece;
        parts->piece_count++;
    }
    length -= (uint32_t)(end - at);
    return buffer_append(app->heap, &piece->data, bytes + (end - at), length, UINT32_MAX) == length;
}

/* Moves the file to tx->files; opens it when byte 0 arrives. */
static bool give_to_transaction(struct app_context *context, struct file_parts *parts, struct app_tx *tx,
                                enum flow_direction direction)
{
    struct app *app = context->app;

    if (parts->tx == tx && parts->direction == direction)
        return true;
    if (!parts->file) {
        parts->file = file_open(app->files, &tx->files[direction], app_next_file_id(context),
                                parts->key + parts->key_length, parts->name_length);
        if (!parts->file)
            return false;
        parts->file->parts = parts;
    } else {
        take_from_transaction(app, parts);
        app->unowned -= file_memory(app->files, parts->file);
        parts->file->id = app_next_file_id(context);
        file_list_add(app->files, &tx->files[direction], parts->file);
    }
    parts->tx = tx;
    parts->direction = direction;
    return true;
}

static void append(struct app *app, struct file_parts *parts, const uint8_t *bytes, uint64_t length)
{
    file_append(app->files, parts->file, bytes, length);
    while (parts->pieces && parts->pieces->start <= parts->file->size) {
        const struct piece *piece = parts->pieces;
        uint64_t known = parts->file->size - piece->start;

        if (known < piece->data.length)
            file_append(app->files, parts->file, piece->data.bytes + known, piece->data.length - known);
        free_piece(app, parts);
    }
}

bool app_part_data(struct app_context *context, struct app_part *part, struct app_tx *tx, enum flow_direction direction,
                   const uint8_t *bytes, uint32_t length)
{
    struct app *app = context->app;
    struct file_parts *parts = entry_of(app, part);
    uint64_t at = part->at, size = parts && parts->file ? parts->file->size : 0;

    part->at += length;
    if (!parts || at >= parts->total || at + length <= size)
        return true;
    if (length > parts->total - at)
        length = (uint32_t)(parts->total - at);
    parts->used_ns = context->now_ns;
    if (at > size) {
        size_t before = begin_unowned(app);
        bool kept = keep(app, parts, at, bytes, length);

        end_unowned(app, before);
        if (!kept)
            abandon(app, parts);
        return kept;
    }
    if (!give_to_transaction(context, parts, tx, direction)) {
        abandon(app, parts);
        return false;
    }
    append(app, parts, bytes + (size - at), at + length - size);
    if (parts->file->size < parts->total)
        return true;
    file_close(app->files, parts->file, FILE_CLOSED);
    parts->file->parts = NULL; /* the complete file belongs to the transaction alone */
    release(app, parts);
    app->reassembled_files++;
    return true;
}
