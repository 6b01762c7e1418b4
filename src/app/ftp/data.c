/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FTP data connections: each carries one file or one listing until the connection ends. A connection is parsed as
 * ftp-data only if a control connection has announced it. A listing is not a file.
 */
#include <string.h>

#include "ftp_priv.h"
#include "sluice/transfer.h"

struct ftp_data_state {
    struct ftp_data_tx *tx; /* NULL before the first bytes and after the end of the data */
    struct file *file;      /* NULL: no open file, as for a listing */
    bool done;              /* the connection has ended */
};

static struct ftp_data_tx *start_transaction(struct app_context *context, struct ftp_data_state *state)
{
    uint32_t length;
    const struct ftp_tag *tag = app_expectation_tag(context, &length);
    const uint32_t fixed_length = (uint32_t)offsetof(struct ftp_tag, name);
    struct heap *heap = app_heap(context);

    if (!tag || length < fixed_length || length < fixed_length + tag->name_length)
        return NULL;
    struct ftp_data_tx *tx = (struct ftp_data_tx *)app_tx_new(context);

    if (!tx)
        return NULL;
    tx->command = (enum ftp_command)tag->command;
    tx->direction = (enum flow_direction)tag->direction;
    if (buffer_append(heap, &tx->name, tag->name, tag->name_length, FTP_NAME_MAX) < tag->name_length)
        return NULL;
    app_tx_advance(&tx->tx, tx->direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER, FTP_COMPLETE);
    state->tx = tx;
    return tx;
}

static bool append_to_file(struct app_context *context, struct ftp_data_state *state, const struct app_input *in)
{
    struct ftp_data_tx *tx = state->tx;

    if (!ftp_transfers_file(tx->command) || (in->length == 0 && in->gap == 0))
        return true;
    if (!state->file) {
        state->file = file_open(app_files(context), &tx->tx.files[in->direction], app_next_file_id(context),
                                tx->name.bytes, tx->name.length);
        if (!state->file)
            return false;
    }
    if (in->gap)
        file_gap(app_files(context), state->file, in->gap);
    file_append(app_files(context), state->file, in->bytes, in->length);
    app_tx_mark_changed(&tx->tx, in->direction);
    return true;
}

static struct app_result ftp_data_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct ftp_data_state *state = data;
    struct app_result result = { .status = APP_OK, .consumed = in->length };

    if (state->done)
        return result;
    if (!state->tx && !start_transaction(context, state))
        return (struct app_result){ .status = APP_ERROR };
    if (in->direction != state->tx->direction)
        return result;
    if (!append_to_file(context, state, in))
        return (struct app_result){ .status = APP_ERROR };
    if (!in->end)
        return result;
    if (state->file)
        file_close(app_files(context), state->file, state->file->has_gaps ? FILE_TRUNCATED : FILE_CLOSED);
    app_tx_mark_changed(&state->tx->tx, in->direction);
    app_tx_advance(&state->tx->tx, in->direction, FTP_COMPLETE);
    state->tx = NULL;
    state->file = NULL;
    state->done = true;
    return result;
}

/* Transfers the state to the next engine, without the bytes of the file: the next engine starts the file with a gap of
 * the length received so far. */
static void ftp_data_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct ftp_data_state *state = data;
    bool has_tx = state->tx != NULL, has_file = state->file != NULL;
    uint64_t size = has_file ? state->file->size : 0;

    transfer_bool(t, &state->done);
    transfer_bool(t, &has_tx);
    transfer_bool(t, &has_file);
    transfer_u64(t, &size);
    transfer_require(t, size < UINT64_MAX / 4);
    if (t->error || !has_tx || (t->reading && !start_transaction(context, state)))
        return;
    if (t->reading && has_file && size > 0) {
        const struct app_input gap_input = { .direction = state->tx->direction,
                                             .bytes = (const uint8_t *)"",
                                             .gap = size };

        append_to_file(context, state, &gap_input);
    }
    app_transfer_tx(context, t, &state->tx->tx);
}

static void ftp_data_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct ftp_data_tx *)tx)->name);
}

static const struct app_buffer buffers[FTP_DATA_BUFFERS] = {
    { &keyword_file_data, APP_BOTH, 0, .get = app_file_data, .grows = true },
};

const struct app_proto app_ftp_data = {
    .name = "ftp-data",
    .help = "FTP data connections",
    .transports = APP_TCP,
    .state_size = sizeof(struct ftp_data_state),
    .feed = ftp_data_feed,
    .transfer = ftp_data_transfer,
    .accepts_gaps = true,
    .tx_size = sizeof(struct ftp_data_tx),
    .tx_free = ftp_data_tx_free,
    .complete = { FTP_COMPLETE, FTP_COMPLETE },
    .tx_max = 1,
    .buffers = buffers,
    .buffer_count = FTP_DATA_BUFFERS,
    .conditions = ftp_data_conditions,
    .condition_count = FTP_DATA_CONDITIONS,
    .log_type = "ftp_data",
    .log_key = "ftp_data",
    .log_setting = "ftp",
    .log = ftp_data_log,
};
