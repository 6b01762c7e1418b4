/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are read and written. All reads of a file (a handle), from the first one to the end of the file, form a
 * transaction; so do all writes, up to the COMMIT, the CLOSE, or a write that the server stores at once (FILE_SYNC). In
 * version 2 no call ends the writes, so their transaction ends with the flow, or when too many files are open.
 *
 * The calls of these transactions that wait for a reply are in a list, because the reply to a read contains neither the
 * handle nor the offset. The list refers to transactions by their ids: they may be freed as soon as they are complete.
 */
#include <string.h>

#include "nfs_priv.h"

static struct nfs_tx *find_tx(struct app_context *context, uint64_t id)
{
    for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx))
        if (tx->id == id)
            return (struct nfs_tx *)tx;
    return NULL;
}

/* --- Calls that wait for a reply --------------------------------------------------------------------- */

/* Removes the request after `previous`; NULL: the oldest one. */
static void remove_request(struct app_context *context, struct nfs_state *state, struct nfs_request *previous)
{
    struct nfs_request **link = previous ? &previous->next : &state->oldest_request, *request = *link;
    struct nfs_tx *tx = find_tx(context, request->tx_id);

    *link = request->next;
    if (state->newest_request == request)
        state->newest_request = previous;
    state->request_count--;
    if (tx)
        tx->file.pending--;
    heap_release(app_heap(context), request);
}

/* Finds the oldest request with the xid; sets *previous to the request before it. */
static struct nfs_request *find_request(const struct nfs_state *state, uint32_t xid, struct nfs_request **previous)
{
    struct nfs_request *request = state->oldest_request;

    for (*previous = NULL; request && request->xid != xid; request = request->next)
        *previous = request;
    return request;
}

static void add_request(struct nfs_parse *parse, enum nfs_request_kind kind, struct nfs_tx *tx, uint64_t offset)
{
    struct nfs_state *state = parse->state;
    struct nfs_request *request = heap_alloc(parse->heap, sizeof(*request));

    if (!request) {
        parse->no_memory = true;
        return;
    }
    if (state->request_count >= NFS_CALLS_MAX)
        remove_request(parse->context, state, NULL);
    request->kind = kind;
    request->xid = parse->xid;
    request->tx_id = tx->tx.id;
    request->offset = offset;
    if (state->newest_request)
        state->newest_request->next = request;
    else
        state->oldest_request = request;
    state->newest_request = request;
    state->request_count++;
    tx->file.pending++;
}

void nfs_file_forget_calls(struct nfs_parse *parse)
{
    struct nfs_request *previous;

    while (find_request(parse->state, parse->xid, &previous))
        remove_request(parse->context, parse->state, previous);
}

void nfs_requests_clear(struct heap *heap, struct nfs_state *state)
{
    while (state->oldest_request) {
        struct nfs_request *request = state->oldest_request;

        state->oldest_request = request->next;
        heap_release(heap, request);
    }
    state->newest_request = NULL;
    state->request_count = 0;
}

struct nfs_tx *nfs_file_find_call(struct app_context *context, const struct nfs_state *state, uint32_t xid)
{
    struct nfs_request *previous, *request = find_request(state, xid, &previous);

    return request ? find_tx(context, request->tx_id) : NULL;
}

/* --- Transactions ------------------------------------------------------------------------------------ */

/* Closes the file and completes the direction of its data. */
static void close_file(struct app_context *context, struct nfs_state *state, struct nfs_tx *tx)
{
    struct file_engine *files = app_files(context);
    struct nfs_file *file = &tx->file;

    if (file->is_last)
        return;
    if (file->file) {
        file_chunks_flush(files, &file->chunks, file->file);
        bool whole = !file->file->has_gaps && (!file->has_end || file->chunks.tracked >= file->end);

        file_close(files, file->file, whole ? FILE_CLOSED : FILE_TRUNCATED);
    }
    file->file = NULL;
    file->is_last = true;
    state->file_count--;
    app_tx_advance(&tx->tx, file->direction, NFS_COMPLETE);
    app_tx_mark_changed(&tx->tx, file->direction);
}

void nfs_complete_tx(struct app_context *context, struct nfs_state *state, struct nfs_tx *tx)
{
    if (tx->is_file)
        close_file(context, state, tx);
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, NFS_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, NFS_COMPLETE);
}

void nfs_files_close(struct app_context *context, struct nfs_state *state, enum flow_direction direction)
{
    for (struct app_tx *tx = app_tx_first_open(context), *next; tx; tx = next) {
        struct nfs_tx *nfs = (struct nfs_tx *)tx;

        next = app_tx_next_open(tx);
        if (nfs->is_file && nfs->file.direction == direction)
            close_file(context, state, nfs);
    }
}

void nfs_limit_calls(struct app_context *context, struct nfs_state *state)
{
    struct app_tx *oldest = app_tx_first_open(context);

    if (!oldest || app_tx_open_count(context) < NFS_CALLS_MAX)
        return;
    app_event(context, oldest, NFS_TOO_MANY_TRANSACTIONS);
    nfs_complete_tx(context, state, (struct nfs_tx *)oldest);
}

/* Completes the oldest transaction of a file, preferably one whose calls have all been answered, if there are
 * NFS_FILES_MAX. Clients read parts of files, so many files stay open. */
static void limit_files(struct app_context *context, struct nfs_state *state)
{
    struct nfs_tx *oldest = NULL;

    if (state->file_count < NFS_FILES_MAX)
        return;
    for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx)) {
        struct nfs_tx *nfs = (struct nfs_tx *)tx;

        if (!nfs->is_file || nfs->file.is_last || (oldest && nfs->file.pending > 0))
            continue;
        oldest = nfs;
        if (nfs->file.pending == 0)
            break;
    }
    if (oldest)
        nfs_complete_tx(context, state, oldest);
}

/* Returns the transaction of the file, which is created if there is none; NULL without memory. */
static struct nfs_tx *get_file(struct nfs_parse *parse, struct cursor handle, enum flow_direction direction)
{
    struct nfs_tx *call = parse->tx;
    uint32_t crc = nfs_crc32(handle);
    struct cursor name;

    for (struct app_tx *tx = app_tx_first_open(parse->context); tx; tx = app_tx_next_open(tx)) {
        struct nfs_tx *nfs = (struct nfs_tx *)tx;
        struct cursor known = nfs_text_bytes(nfs, &nfs->handle);

        if (nfs->is_file && !nfs->file.is_last && nfs->file.direction == direction && nfs->handle_crc == crc &&
            cursor_remaining(&known) == cursor_remaining(&handle) &&
            memcmp(known.at, handle.at, cursor_remaining(&handle)) == 0)
            return nfs;
    }
    nfs_limit_calls(parse->context, parse->state);
    limit_files(parse->context, parse->state);
    struct nfs_tx *tx = (struct nfs_tx *)app_tx_new(parse->context);

    if (!tx) {
        parse->no_memory = true;
        return NULL;
    }
    tx->parsed = tx->is_file = true;
    tx->version = call->version;
    tx->xid = call->xid;
    if (direction == FLOW_TO_CLIENT)
        tx->procedure = call->version == 4 ? NFS4_READ : NFS3_READ; /* as in version 2 */
    else
        tx->procedure = call->version == 4 ? NFS4_WRITE : call->version == 3 ? NFS3_WRITE : NFS2_WRITE;
    tx->has_handle = true;
    tx->handle_crc = crc;
    tx->file.direction = direction;
    parse->state->file_count++;
    parse->tx = tx; /* for nfs_store() */
    nfs_store(parse, handle, &tx->handle);
    if (nfs_name_find(parse->state, handle, &name))
        nfs_store(parse, name, &tx->name);
    tx->auth_type = call->auth_type;
    tx->uid = call->uid;
    tx->gid = call->gid;
    nfs_store(parse, nfs_text_bytes(call, &call->machine), &tx->machine);
    parse->tx = call;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, direction == FLOW_TO_SERVER ? NFS_STARTED : NFS_COMPLETE);
    return tx;
}

/* --- Data -------------------------------------------------------------------------------------------- */

/* Completes the file if all data up to its end has been received, or no more data is expected. */
static void check_end(struct app_context *context, struct nfs_state *state, struct nfs_tx *tx)
{
    const struct nfs_file *file = &tx->file;
    const struct nfs_side *side = &state->side[file->direction];
    bool is_receiving = side->chunk_left > 0 && side->tx_id == tx->tx.id;
    bool is_complete = file->direction == FLOW_TO_SERVER || file->pending == 0 || file->chunks.tracked >= file->end;

    if (file->has_end && !file->is_last && !is_receiving && is_complete)
        close_file(context, state, tx);
}

void nfs_file_data(struct app_context *context, struct nfs_state *state, enum flow_direction direction,
                   const uint8_t *bytes, uint64_t length)
{
    struct nfs_side *side = &state->side[direction];
    uint32_t taken = length < side->chunk_left ? (uint32_t)length : side->chunk_left;
    struct nfs_tx *tx = taken > 0 ? find_tx(context, side->tx_id) : NULL;
    uint64_t at = side->chunk_at;

    side->chunk_at += taken;
    side->chunk_left -= taken;
    if (!tx || !tx->file.file)
        return;
    if (file_chunks_add(app_files(context), &tx->file.chunks, tx->file.file, at, bytes, taken))
        app_tx_mark_changed(&tx->tx, direction);
    check_end(context, state, tx);
}

/* Starts a read or write: opens the file if necessary, and appends the data that has been received. */
static void start_data(struct nfs_parse *parse, struct nfs_tx *tx, const struct nfs_data *data)
{
    struct nfs_file *file = &tx->file;
    struct nfs_side *side = &parse->state->side[file->direction];
    struct file_engine *files = app_files(parse->context);
    struct cursor name = nfs_text_bytes(tx, &tx->name);

    if (data->offset > UINT64_MAX - data->length || file->is_last)
        return;
    if (!file->file)
        file->file = file_open(files, &tx->tx.files[file->direction], app_next_file_id(parse->context), name.at,
                               cursor_remaining(&name));
    if (!file->file) {
        parse->no_memory = true;
        return;
    }
    if (data->offset > file->chunks.tracked &&
        (file->chunks.queued + data->length > NFS_QUEUE_MAX || file->chunks.count >= NFS_CHUNKS_MAX)) {
        /* The bytes before are not expected anymore: all data up to here is inspected now. */
        file_chunks_flush(files, &file->chunks, file->file);
        if (data->offset > file->chunks.tracked)
            file_chunks_add(files, &file->chunks, file->file, file->chunks.tracked, NULL,
                            data->offset - file->chunks.tracked);
    }
    side->tx_id = tx->tx.id;
    side->chunk_at = data->offset;
    side->chunk_left = data->length;
    app_tx_mark_changed(&tx->tx, file->direction);
    nfs_file_data(parse->context, parse->state, file->direction, data->received.at, cursor_remaining(&data->received));
    check_end(parse->context, parse->state, tx);
}

/* --- Calls and replies ------------------------------------------------------------------------------- */

void nfs_file_read_call(struct nfs_parse *parse, struct cursor handle, uint64_t offset)
{
    struct nfs_tx *tx = get_file(parse, handle, FLOW_TO_CLIENT);

    parse->is_file_call = true;
    if (tx)
        add_request(parse, NFS_REQUEST_READ, tx, offset);
}

void nfs_file_write_call(struct nfs_parse *parse, struct cursor handle, const struct nfs_data *data, bool ends_file)
{
    struct nfs_tx *tx = get_file(parse, handle, FLOW_TO_SERVER);

    parse->is_file_call = true;
    if (!tx)
        return;
    if (tx->file.file)
        tx->file.messages++;
    if (ends_file) {
        tx->file.has_end = true;
        tx->file.end = data->offset + data->length;
        tx->file.last_xid = parse->xid;
    }
    add_request(parse, NFS_REQUEST_WRITE, tx, data->offset);
    start_data(parse, tx, data);
}

void nfs_file_close_call(struct nfs_parse *parse, struct cursor handle)
{
    uint32_t crc = nfs_crc32(handle);

    for (struct app_tx *head = app_tx_first_open(parse->context); head; head = app_tx_next_open(head)) {
        struct nfs_tx *tx = (struct nfs_tx *)head;

        if (!tx->is_file || tx->file.is_last || tx->file.direction != FLOW_TO_SERVER || tx->handle_crc != crc)
            continue;
        tx->file.last_xid = parse->xid;
        tx->file.messages++;
        close_file(parse->context, parse->state, tx);
        add_request(parse, NFS_REQUEST_CLOSE, tx, 0);
        return;
    }
}

void nfs_file_read_reply(struct nfs_parse *parse, struct nfs_data *data, bool is_end, uint64_t size)
{
    struct nfs_request *previous, *request = find_request(parse->state, parse->xid, &previous);
    struct nfs_tx *tx = request ? find_tx(parse->context, request->tx_id) : NULL;

    if (!request)
        return;
    data->offset = request->offset;
    remove_request(parse->context, parse->state, previous);
    if (!tx || tx->file.direction != FLOW_TO_CLIENT)
        return;
    tx->answered = true;
    tx->file.messages++;
    if (data->offset <= UINT64_MAX - data->length && (is_end || data->offset + data->length >= size)) {
        tx->file.has_end = true;
        tx->file.end = data->offset + data->length;
        tx->file.last_xid = parse->xid;
    }
    start_data(parse, tx, data);
}

void nfs_file_reply(struct nfs_parse *parse, uint32_t rpc_status, uint32_t status)
{
    struct nfs_request *previous, *request;

    while ((request = find_request(parse->state, parse->xid, &previous))) {
        struct nfs_tx *tx = find_tx(parse->context, request->tx_id);

        remove_request(parse->context, parse->state, previous);
        if (!tx)
            continue;
        tx->answered = true;
        tx->rpc_status = rpc_status;
        tx->status = status;
        /* A read without data has failed. */
        if (tx->file.direction == FLOW_TO_CLIENT && !tx->file.file && tx->file.pending == 0)
            close_file(parse->context, parse->state, tx);
        check_end(parse->context, parse->state, tx);
        if (tx->file.direction == FLOW_TO_SERVER && tx->file.is_last && tx->file.last_xid == parse->xid)
            app_tx_advance(&tx->tx, FLOW_TO_CLIENT, NFS_COMPLETE);
    }
}
