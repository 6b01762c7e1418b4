/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File engine. It adds the received bytes of a file to the file's digests and to its inspection window (file->data),
 * which rules inspect, and, if the file is stored, writes them to the file store.
 *
 * The window starts at the beginning of the file. When it is full, with FILE_INSPECT_LIMIT plus FILE_INSPECT_WINDOW
 * bytes, all inspected bytes except the last FILE_INSPECT_WINDOW ones are removed at once, so that the window is not
 * moved in memory for each segment. Bytes received since the last file_engine_tick() have not been inspected yet and
 * are kept. If the window would exceed HEAP_OBJECT_MAX bytes, or the heap is exhausted, the window is cleared and
 * restarts at the next byte.
 */
#include "file_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_TEXT_MAX = 512 };

const char *file_state_name(enum file_state state)
{
    static const char *const names[] = {
        [FILE_OPEN] = "UNKNOWN", [FILE_CLOSED] = "CLOSED", [FILE_TRUNCATED] = "TRUNCATED", [FILE_ERROR] = "ERROR"
    };

    return names[state];
}

/* --- Engine --------------------------------------------------------------------------------------- */

/* Sets engine->digests and engine->magic from the options and the needs of the loaded rules, and loads libmagic when
 * it is needed for the first time. */
static void update_needs(struct file_engine *engine)
{
    engine->digests = engine->options.digests | engine->rule_digests;
    engine->magic = engine->options.magic || engine->rule_magic;
    if (engine->options.spool && (engine->options.store_all || engine->may_store))
        engine->digests |= 1 << FILE_SHA256; /* the SHA-256 is the file's name in the file store */
    if (engine->magic && !engine->libmagic)
        engine->libmagic = file_magic_new();
}

int file_engine_new(struct file_engine **out, const struct file_options *options, struct heap *heap)
{
    struct file_engine *engine = calloc(1, sizeof(*engine));

    if (!engine)
        return -ENOMEM;
    engine->heap = heap;
    engine->options = *options;
    engine->tick = 1;
    update_needs(engine);
    *out = engine;
    return 0;
}

void file_engine_free(struct file_engine *engine)
{
    if (!engine)
        return;
    file_magic_free(engine->libmagic);
    free(engine);
}

void file_engine_set_needs(struct file_engine *engine, unsigned digests, bool magic)
{
    engine->rule_digests = digests;
    engine->rule_magic = magic;
    update_needs(engine);
}

void file_engine_set_magic(struct file_engine *engine, struct file_magic **magic)
{
    if (engine->libmagic || !*magic)
        return;
    engine->libmagic = *magic;
    *magic = NULL;
}

void file_engine_set_may_store(struct file_engine *engine, bool may_store)
{
    engine->may_store = may_store;
    update_needs(engine);
}

void file_engine_tick(struct file_engine *engine)
{
    engine->tick++;
}

const struct file_counts *file_engine_counts(const struct file_engine *engine)
{
    return &engine->counts;
}

/* --- Files ---------------------------------------------------------------------------------------- */

struct file *file_open(struct file_engine *engine, struct file_list *list, uint32_t id, const void *name,
                       size_t name_length)
{
    struct file *file = heap_alloc(engine->heap, sizeof(*file));

    if (!file) {
        engine->counts.no_memory++;
        return NULL;
    }
    file->id = id;
    name_length = name_length < FILE_NAME_MAX ? name_length : FILE_NAME_MAX;
    if (name && name_length > 0 &&
        buffer_append(engine->heap, &file->name, name, (uint32_t)name_length, FILE_NAME_MAX) < name_length)
        engine->counts.no_memory++;
    if (engine->digests && !(file->hash = hash_new(engine->heap, engine->digests)))
        engine->counts.no_memory++;
    engine->counts.opened++;
    if (engine->options.store_all)
        file_request_store(engine, file, 0);
    file_list_add(engine, list, file);
    return file;
}

void file_list_add(struct file_engine *engine, struct file_list *list, struct file *file)
{
    file->next = NULL;
    if (list->last)
        list->last->next = file;
    else
        list->first = file;
    list->last = file;
    list->count++;
    if (list->store_requested)
        file_request_store(engine, file, list->store_sid);
}

void file_list_remove(struct file_list *list, struct file *file)
{
    struct file *previous = NULL;

    for (struct file *other = list->first; other != file; other = other->next)
        previous = other;
    *(previous ? &previous->next : &list->first) = file->next;
    if (list->last == file)
        list->last = previous;
    file->next = NULL;
    list->count--;
}

size_t file_heap_size(const struct file_engine *engine, const struct file *file)
{
    const void *const objects[] = { file,       file->name.bytes, file->other_names.bytes, file->data.bytes,
                                    file->hash, file->magic };
    size_t size = 0;

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        size += objects[i] ? heap_size(engine->heap, objects[i]) : 0;
    return size;
}

void file_add_names(struct file_engine *engine, struct file *file, const void *names, size_t length)
{
    length = length < FILE_NAME_MAX ? length : FILE_NAME_MAX;
    if (buffer_append(engine->heap, &file->other_names, names, (uint32_t)length, FILE_NAME_MAX) < length)
        engine->counts.no_memory++;
}

/* Removes inspected bytes from the start of the window, except the last FILE_INSPECT_WINDOW ones. */
static void slide_window(struct file_engine *engine, struct file *file)
{
    uint64_t seen = file->tick == engine->tick ? file->fresh_offset : file_received(file);
    uint64_t start = seen > FILE_INSPECT_WINDOW ? seen - FILE_INSPECT_WINDOW : 0;

    if (start <= file->data_offset)
        return;
    if (file->data_offset == 0)
        spool_before_sliding(engine, file);
    uint64_t behind = start - file->data_offset;
    uint32_t length = behind < file->data.length ? (uint32_t)behind : file->data.length;

    buffer_consume(&file->data, length);
    file->data_offset += length;
}

static void append_part(struct file_engine *engine, struct file *file, const void *bytes, uint32_t length)
{
    uint32_t room = FILE_INSPECT_LIMIT + FILE_INSPECT_WINDOW, kept;

    if ((uint64_t)file->data.length + length > room && file_received(file) > FILE_INSPECT_LIMIT)
        slide_window(engine, file);
    kept = buffer_append(engine->heap, &file->data, bytes, length, HEAP_OBJECT_MAX);
    if (kept < length) {
        file->data.length -= kept;
        if (file->data_offset == 0)
            spool_before_sliding(engine, file);
    }
    spool_append(engine, file, bytes, length);
    file->size += length;
    if (kept < length) { /* the bytes do not fit into the window: clear it, and restart it at the next byte */
        engine->counts.no_memory++;
        buffer_clear(engine->heap, &file->data);
        file->data_offset = file_received(file);
    }
}

static void identify_type(struct file_engine *engine, struct file *file)
{
    uint32_t length = file->data.length < FILE_MAGIC_BYTES ? file->data.length : FILE_MAGIC_BYTES;
    const char *text;

    file->magic_done = true;
    if (!engine->libmagic || file->data_offset > 0 || length == 0)
        return;
    engine->counts.magic++;
    text = magic_identify(engine->libmagic, file->data.bytes, length);
    if (!text)
        return;
    size_t size = strnlen(text, MAGIC_TEXT_MAX);
    char *copy = heap_alloc_uncleared(engine->heap, size + 1);

    if (!copy)
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    file->magic = copy;
}

void file_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    if (file->state != FILE_OPEN || length == 0)
        return;
    if (file->tick != engine->tick) {
        file->tick = engine->tick;
        file->fresh_offset = file_received(file);
    }
    if (file->hash)
        hash_update(file->hash, bytes, length);
    while (length > 0) {
        uint32_t part = length < HEAP_OBJECT_MAX / 2 ? (uint32_t)length : HEAP_OBJECT_MAX / 2;

        append_part(engine, file, at, part);
        at += part;
        length -= part;
    }
    if (engine->magic && !file->magic_done && file->data.length >= FILE_MAGIC_BYTES)
        identify_type(engine, file);
}

/*
 * A gap does not clear the window, because bytes that were acknowledged together with the gap have not been inspected
 * yet. As in Suricata, rules inspect the bytes before and after the gap as if they were contiguous.
 */
void file_gap(struct file_engine *engine, struct file *file, uint64_t length)
{
    if (file->state != FILE_OPEN)
        return;
    if (engine->magic && !file->magic_done)
        identify_type(engine, file);
    file->has_gaps = true;
    if (file->data_offset == 0)
        spool_before_sliding(engine, file);
    file->size += length;
    if (file->data.length > 0) {
        file->missing += length;
        return;
    }
    /* a window that starts after the gap does not contain the start of the file */
    file->data_offset = file_received(file);
    file->fresh_offset = file->data_offset;
}

void file_close(struct file_engine *engine, struct file *file, enum file_state state)
{
    if (file->state != FILE_OPEN || state == FILE_OPEN)
        return;
    file->state = state == FILE_CLOSED && file->has_gaps ? FILE_TRUNCATED : state;
    const bool whole = file->state == FILE_CLOSED;

    if (engine->magic && !file->magic_done)
        identify_type(engine, file);
    for (unsigned kind = 0; kind < FILE_DIGESTS; kind++) {
        if (!(hash_kinds(file->hash) >> kind & 1))
            continue;
        hash_digest(file->hash, kind, file->digest[kind]);
        file->has_store_name |= kind == FILE_SHA256;
        /* As in Suricata, the SHA-256 of a truncated file is reported, too: it covers the received part and is its name
         * in the file store. */
        if (whole || (kind == FILE_SHA256 && file->state == FILE_TRUNCATED))
            file->digests |= 1 << kind;
    }
    spool_close(engine, file);
    heap_release(engine->heap, file->hash);
    file->hash = NULL;
}

void file_list_shed(struct file_engine *engine, struct file_list *list)
{
    for (struct file *file = list->first; file; file = file->next) {
        if (file->data.capacity == 0)
            continue;
        if (engine->magic && !file->magic_done)
            identify_type(engine, file);
        if (file->data_offset == 0)
            spool_before_sliding(engine, file);
        buffer_clear(engine->heap, &file->data);
        file->data_offset = file->fresh_offset = file_received(file);
    }
}

void file_list_clear(struct file_engine *engine, struct file_list *list)
{
    for (struct file *file = list->first, *next; file; file = next) {
        next = file->next;
        file_close(engine, file, FILE_TRUNCATED);
        spool_clear(engine, file);
        buffer_clear(engine->heap, &file->name);
        buffer_clear(engine->heap, &file->other_names);
        buffer_clear(engine->heap, &file->data);
        heap_release(engine->heap, (void *)(uintptr_t)file->magic);
        heap_release(engine->heap, file);
    }
    *list = (struct file_list){ 0 };
}
