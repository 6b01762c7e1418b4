/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forwards files to the file store. A rule may request that a file be stored when a part of the file has already been
 * received, or when the file is complete and its digest known. While the inspection window contains the whole file,
 * nothing is written before such a request. When the start of the file is about to be removed from the window and
 * loaded rules may store files, writing starts without a request. If no rule has requested storage by the end of the
 * transaction, the file is discarded.
 */
#include "file_priv.h"
#include "sluice/file_store.h"

static void refuse_storage(struct file_engine *engine, struct file *file)
{
    if (file->spooled)
        file_spool_discard(engine->options.spool, file->spooled);
    file->spooled = 0;
    file->store_refused = true;
    if (file->store_requested)
        engine->counts.store_refused++;
}

static bool is_too_large(const struct file_engine *engine, uint64_t size)
{
    return engine->options.store_limit > 0 && size > engine->options.store_limit;
}

static void write_bytes(struct file_engine *engine, struct file *file, const void *bytes, size_t length)
{
    if (length > 0 && !file_spool_write(engine->options.spool, file->spooled, bytes, length))
        refuse_storage(engine, file);
}

/* Starts storing: writes the content of the window, and spool_append() writes later bytes. If the window no longer has
 * the start of the file, or the file is too large, storing is refused. */
static void start_storing(struct file_engine *engine, struct file *file)
{
    if (file->data_offset > 0 || file->data.length < file->size || is_too_large(engine, file->size)) {
        refuse_storage(engine, file);
        return;
    }
    file->spooled = file_spool_open(engine->options.spool);
    if (file->spooled)
        write_bytes(engine, file, file->data.bytes, file->data.length);
    else
        refuse_storage(engine, file);
}

static void finish_storing(struct file_engine *engine, struct file *file)
{
    if (!file->has_store_name || file->state == FILE_ERROR ||
        !file_spool_finish(engine->options.spool, file->spooled, file->digest[FILE_SHA256])) {
        refuse_storage(engine, file);
        return;
    }
    file->spooled = 0;
    file->stored = true;
    file->stored_tick = engine->tick;
    engine->counts.stored++;
}

static void add_sid(struct file *file, uint32_t sid)
{
    for (unsigned i = 0; i < file->sid_count; i++)
        if (file->sids[i] == sid)
            return;
    if (file->sid_count == FILE_MAX_SIDS)
        return;
    unsigned at = file->sid_count++;

    /* keep the sids ascending, so that events do not depend on the order of the matches */
    for (; at > 0 && file->sids[at - 1] > sid; at--)
        file->sids[at] = file->sids[at - 1];
    file->sids[at] = sid;
}

void file_request_store(struct file_engine *engine, struct file *file, uint32_t sid)
{
    bool is_new = !file->store_requested;

    if (sid)
        add_sid(file, sid);
    file->store_requested = true;
    if (!engine->options.spool || !is_new)
        return;
    if (file->store_refused)
        engine->counts.store_refused++;
    else if (!file->spooled)
        start_storing(engine, file);
    if (file->spooled && file->state != FILE_OPEN)
        finish_storing(engine, file);
}

void file_list_request_store(struct file_engine *engine, struct file_list *list, uint32_t sid)
{
    list->store_requested = true;
    list->store_sid = sid;
    for (struct file *file = list->first; file; file = file->next)
        file_request_store(engine, file, sid);
}

void spool_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length)
{
    if (!file->spooled)
        return;
    if (is_too_large(engine, file->size + length))
        refuse_storage(engine, file);
    else
        write_bytes(engine, file, bytes, length);
}

void spool_before_sliding(struct file_engine *engine, struct file *file)
{
    if (engine->options.spool && engine->may_store && !file->spooled && !file->store_refused && !file->stored)
        start_storing(engine, file);
}

void spool_close(struct file_engine *engine, struct file *file)
{
    if (file->spooled && file->store_requested)
        finish_storing(engine, file);
}

void spool_clear(struct file_engine *engine, struct file *file)
{
    if (file->spooled)
        file_spool_discard(engine->options.spool, file->spooled);
    file->spooled = 0;
}
