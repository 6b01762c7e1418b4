/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SSH. A connection is one transaction. Each side sends a banner, then unencrypted records (RFC 4253: binary packets)
 * up to its NEWKEYS. Only KEXINIT is parsed; other records are skipped. After NEWKEYS of both sides all data is
 * encrypted, and parsing ends.
 *
 * A banner longer than SSH_BANNER_MAX bytes is truncated, and the rest of its line is skipped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/transfer.h"
#include "ssh_priv.h"

enum {
    RECORD_HEADER = 6, /* length, padding length, message code */
    KEX_MAX = 65535,
    MESSAGE_KEXINIT = 20,
    MESSAGE_NEWKEYS = 21,
};

struct ssh_state {
    struct ssh_tx *tx;              /* NULL before the first bytes and after completion */
    bool finished;                  /* parsing has ended: all later bytes are skipped */
    uint32_t skip[FLOW_DIRECTIONS]; /* remaining bytes to skip; UINT32_MAX: all later bytes (encrypted) */
};

static const struct app_event events[SSH_EVENTS] = {
    [SSH_INVALID_BANNER] = { "invalid_banner", "the first line is not an SSH banner" },
    [SSH_LONG_BANNER] = { "long_banner", "a banner has 256 bytes or more" },
    [SSH_INVALID_RECORD] = { "invalid_record", "a record has an invalid length" },
    [SSH_LONG_KEX_RECORD] = { "long_kex_record", "a KEXINIT message is too long to be parsed" },
};

static const char *const request_steps[] = { "request_in_progress",  "request_banner_wait_eol", "request_banner_done",
                                             "request_key_exchange", "request_finished",        NULL };
static const char *const response_steps[] = { "response_in_progress", "response_banner_wait_eol",
                                              "response_banner_done", "response_key_exchange",
                                              "response_finished",    NULL };

/* --- Banner ------------------------------------------------------------------------------------------ */

enum line { LINE_INCOMPLETE, LINE_COMPLETE, LINE_TOO_LONG };

/* Finds the end of the line: LF, CR LF, or CR followed by any other byte. */
static enum line find_line_end(const uint8_t *bytes, uint32_t length, uint32_t *line_length, uint32_t *consumed)
{
    uint32_t limit = length < SSH_BANNER_MAX + 1 ? length : SSH_BANNER_MAX + 1;

    for (uint32_t i = 0; i < limit; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\r')
            continue;
        if (bytes[i] == '\r' && i + 1 == length)
            return LINE_INCOMPLETE;
        *line_length = i;
        *consumed = i + 1 + (bytes[i] == '\r' && bytes[i + 1] == '\n');
        return LINE_COMPLETE;
    }
    if (length <= SSH_BANNER_MAX)
        return LINE_INCOMPLETE;
    *line_length = *consumed = SSH_BANNER_MAX;
    return LINE_TOO_LONG;
}

/* Parses "SSH-2.0-OpenSSH_9.6 comment" without the comment. Returns 0, -EINVAL if the line is not a banner, or
 * -ENOMEM. */
static int read_banner(struct heap *heap, struct ssh_side *side, const uint8_t *line, uint32_t length)
{
    if (length < 4 || memcmp(line, "SSH-", 4) != 0)
        return -EINVAL;
    const uint8_t *proto = line + 4, *end = line + length, *dash = memchr(proto, '-', (size_t)(end - proto));

    if (!dash || dash == proto)
        return -EINVAL;
    const uint8_t *software = dash + 1, *blank = memchr(software, ' ', (size_t)(end - software));

    if (blank && blank > software)
        end = blank;
    uint32_t stored_length = (uint32_t)(end - proto);

    if (buffer_append(heap, &side->banner, proto, stored_length, SSH_BANNER_MAX) < stored_length)
        return -ENOMEM;
    side->proto_length = (uint32_t)(dash - proto); /* not 0, which stands for a banner without a version */
    side->software_at = side->proto_length + 1;
    side->software_length = (uint32_t)(end - software);
    side->has_software = side->software_length > 0;
    return 0;
}

static struct app_result fail_with_event(struct app_context *context, struct ssh_state *state, enum ssh_event event)
{
    app_event(context, &state->tx->tx, event);
    return (struct app_result){ .status = APP_ERROR };
}

static struct app_result feed_banner(struct app_context *context, struct ssh_state *state, const struct app_input *in)
{
    struct ssh_side *side = &state->tx->side[in->direction];
    uint32_t line_length, consumed;
    enum line line = find_line_end(in->bytes, in->length, &line_length, &consumed);

    if (line == LINE_INCOMPLETE)
        return (struct app_result){ .status = APP_OK };
    int err = read_banner(app_heap(context), side, in->bytes, line_length);

    if (err == -EINVAL)
        return fail_with_event(context, state, SSH_INVALID_BANNER);
    if (err)
        return (struct app_result){ .status = APP_ERROR };
    if (line_length >= SSH_BANNER_MAX)
        app_event(context, &state->tx->tx, SSH_LONG_BANNER);
    app_tx_advance(&state->tx->tx, in->direction, line == LINE_TOO_LONG ? SSH_BANNER_WAIT_EOL : SSH_BANNER_DONE);
    return (struct app_result){ .status = APP_OK, .consumed = consumed };
}

/* Skips the rest of a line that was too long. */
static struct app_result skip_rest_of_line(struct ssh_state *state, const struct app_input *in)
{
    for (uint32_t i = 0; i < in->length; i++) {
        if (in->bytes[i] != '\n' && in->bytes[i] != '\r')
            continue;
        if (in->bytes[i] == '\r' && i + 1 == in->length)
            return (struct app_result){ .status = APP_OK, .consumed = i };
        app_tx_advance(&state->tx->tx, in->direction, SSH_BANNER_DONE);
        return (struct app_result){ .status = APP_OK,
                                    .consumed = i + 1 + (in->bytes[i] == '\r' && in->bytes[i + 1] == '\n') };
    }
    return (struct app_result){ .status = APP_OK, .consumed = in->length };
}

/* --- Records ----------------------------------------------------------------------------------------- */

static void handle_newkeys(struct app_context *context, struct ssh_state *state, enum flow_direction direction)
{
    const struct ssh_settings *settings = app_get_settings(context);
    struct app_tx *tx = &state->tx->tx;
    enum flow_direction other = direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;

    state->skip[direction] = UINT32_MAX;
    app_tx_advance(tx, direction, SSH_KEY_EXCHANGE);
    if (state->skip[other] != UINT32_MAX)
        return;
    app_tx_advance(tx, FLOW_TO_SERVER, SSH_FINISHED);
    app_tx_advance(tx, FLOW_TO_CLIENT, SSH_FINISHED);
    state->finished = true;
    state->tx = NULL;
    if (settings->encryption != SSH_FULL)
        app_stop_parsing(context, true);
    if (settings->encryption == SSH_BYPASS)
        app_allow_bypass(context);
}

static bool is_hassh_enabled(const struct app_context *context)
{
    const struct ssh_settings *settings = app_get_settings(context);

    return settings->hassh != SETTING_NO;
}

/* Parses the record that begins at `bytes`. */
static struct app_result feed_record(struct app_context *context, struct ssh_state *state,
                                     enum flow_direction direction, const uint8_t *bytes, uint32_t length)
{
    struct app_tx *tx = &state->tx->tx;
    struct app_result result = { .status = APP_OK, .consumed = RECORD_HEADER };

    if (length < RECORD_HEADER)
        return (struct app_result){ .status = APP_OK, .needed = RECORD_HEADER };
    uint32_t content = load_be32(bytes);

    if (content < 2)
        return fail_with_event(context, state, SSH_INVALID_RECORD);
    content -= 2; /* the padding length and the message code have been parsed with the header */
    state->skip[direction] = content < UINT32_MAX ? content : UINT32_MAX - 1;
    if (bytes[5] == MESSAGE_NEWKEYS) {
        handle_newkeys(context, state, direction);
    } else if (bytes[5] == MESSAGE_KEXINIT && tx->progress[direction] < SSH_KEY_EXCHANGE) {
        if (content >= KEX_MAX && is_hassh_enabled(context)) {
            app_event(context, tx, SSH_LONG_KEX_RECORD);
        } else if (is_hassh_enabled(context)) {
            if (length < RECORD_HEADER + content)
                return (struct app_result){ .status = APP_OK, .needed = RECORD_HEADER + content };
            if (ssh_hassh(app_heap(context), &state->tx->side[direction], direction, bytes + RECORD_HEADER, content))
                return (struct app_result){ .status = APP_ERROR };
        }
        app_tx_advance(tx, direction, SSH_KEY_EXCHANGE);
    }
    return result;
}

enum { FRAME_HDR, FRAME_DATA, FRAME_PDU };
static const char *const frames[] = {
    [FRAME_HDR] = "record.hdr", [FRAME_DATA] = "record.data", [FRAME_PDU] = "record.pdu", NULL
};

/* Announces the frames of the record at index `at` of the input, whose header has arrived. The length in the header
 * counts from behind itself. */
static void announce_record(struct app_context *context, const struct app_input *in, uint32_t at,
                            const struct app_tx *tx)
{
    uint32_t length = load_be32(in->bytes + at);

    app_frame(context, in, at, RECORD_HEADER, FRAME_HDR, tx);
    app_frame(context, in, at, (uint64_t)length + sizeof(length), FRAME_PDU, tx);
    if (length > 2)
        app_frame(context, in, at + RECORD_HEADER, length - 2, FRAME_DATA, tx);
}

/* Parses the records of the input from index `start` on; the result counts from there. */
static struct app_result feed_records(struct app_context *context, struct ssh_state *state, const struct app_input *in,
                                      uint32_t start)
{
    enum flow_direction direction = in->direction;
    const uint8_t *bytes = in->bytes + start;
    uint32_t length = in->length - start, consumed = 0;

    while (consumed < length && !state->finished) {
        uint32_t *skip = &state->skip[direction], left = length - consumed;
        uint32_t skipped = *skip < left ? *skip : left;

        if (*skip != UINT32_MAX) /* UINT32_MAX stays: all later bytes are encrypted */
            *skip -= skipped;
        consumed += skipped;
        if (consumed == length || skipped > 0)
            continue;
        if (length - consumed >= RECORD_HEADER)
            announce_record(context, in, start + consumed, &state->tx->tx);

        struct app_result result = feed_record(context, state, direction, bytes + consumed, length - consumed);

        if (result.status == APP_ERROR || result.consumed == 0) {
            state->skip[direction] = 0;
            result.consumed = consumed;
            return result;
        }
        consumed += result.consumed;
    }
    return (struct app_result){ .status = APP_OK, .consumed = state->finished ? length : consumed };
}

/* Drops the reference to the transaction if it has been freed. This happens early if both directions were completed at
 * the stream depth, or after an error in one direction. */
static void drop_freed_tx(const struct app_context *context, struct ssh_state *state)
{
    if (!state->tx || app_tx_first(context) == &state->tx->tx)
        return;
    state->tx = NULL;
    state->finished = true;
}

static struct app_result ssh_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct ssh_state *state = data;
    struct app_result result = { .status = APP_OK, .consumed = in->length };

    drop_freed_tx(context, state);
    if (state->finished || in->length == 0)
        return result;
    if (!state->tx) {
        state->tx = (struct ssh_tx *)app_tx_new(context);
        if (!state->tx)
            return (struct app_result){ .status = APP_ERROR };
    }
    uint8_t *progress = &state->tx->tx.progress[in->direction];

    result.consumed = 0;
    if (*progress == SSH_STARTED)
        result = feed_banner(context, state, in);
    struct app_input rest = *in;

    rest.bytes += result.consumed;
    rest.length -= result.consumed;
    if (result.status == APP_OK && *progress == SSH_BANNER_WAIT_EOL) {
        struct app_result skipped = skip_rest_of_line(state, &rest);

        result.consumed += skipped.consumed;
        rest.bytes += skipped.consumed;
        rest.length -= skipped.consumed;
    }
    if (result.status == APP_ERROR || *progress < SSH_BANNER_DONE || rest.length == 0)
        return result;
    struct app_result records = feed_records(context, state, in, result.consumed);

    records.consumed += result.consumed;
    return records;
}

static void ssh_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct ssh_tx *ssh = (struct ssh_tx *)tx;

    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        buffer_clear(app_heap(context), &ssh->side[i].banner);
        buffer_clear(app_heap(context), &ssh->side[i].hassh_string);
    }
}

/* --- Transfer to the next engine --------------------------------------------------------------------- */

static void transfer_side(struct app_context *context, struct transfer *t, struct ssh_tx *tx,
                          enum flow_direction direction)
{
    struct ssh_side *side = &tx->side[direction];
    uint8_t progress = tx->tx.progress[direction];

    app_transfer_buffer(context, t, &side->banner);
    app_transfer_buffer(context, t, &side->hassh_string);
    transfer_bytes(t, side->hassh, sizeof(side->hassh));
    transfer_u32(t, &side->proto_length);
    transfer_u32(t, &side->software_at);
    transfer_u32(t, &side->software_length);
    transfer_bool(t, &side->has_software);
    transfer_u8(t, &progress);
    transfer_require(t, side->proto_length <= side->banner.length && side->software_at <= side->banner.length &&
                            side->software_length <= side->banner.length - side->software_at &&
                            progress <= SSH_FINISHED);
    if (t->reading && !t->error)
        app_tx_advance(&tx->tx, direction, progress);
}

static void ssh_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct ssh_state *state = data;

    drop_freed_tx(context, state);
    bool has_tx = state->tx != NULL;

    transfer_bool(t, &state->finished);
    transfer_u32(t, &state->skip[FLOW_TO_SERVER]);
    transfer_u32(t, &state->skip[FLOW_TO_CLIENT]);
    transfer_bool(t, &has_tx);
    if (!has_tx || t->error)
        return;
    if (t->reading)
        state->tx = (struct ssh_tx *)app_tx_new(context);
    if (!state->tx)
        return;
    transfer_side(context, t, state->tx, FLOW_TO_SERVER);
    transfer_side(context, t, state->tx, FLOW_TO_CLIENT);
    if (!t->error)
        app_transfer_tx(context, t, &state->tx->tx);
}

/* --- Settings ---------------------------------------------------------------------------------------- */

static const char *const encryption_choices[] = { "track-only", "bypass", "full", NULL };

static const struct setting setting_rows[] = {
    { .name = "eve.types.ssh",
      .type = SETTING_SECTION,
      .help = "Event type ssh: an SSH connection with versions, software and fingerprints" },
    { .name = "app-layer.protocols.ssh.hassh",
      SETTING_FIELD(ssh_settings, hassh),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Compute HASSH fingerprints of the algorithms that both sides offer; auto: yes" },
    { .name = "app-layer.protocols.ssh.encryption-handling",
      SETTING_FIELD(ssh_settings, encryption),
      .type = SETTING_ENUM,
      .default_value = "track-only",
      .choices = encryption_choices,
      .help = "Treatment of a connection once it is encrypted: track-only (not inspected), bypass (the flow is "
              "bypassed), full (inspected)" },
    { .name = NULL },
};

static const struct app_pattern patterns[] = {
    { .bytes = "SSH-", .length = 4, .direction = FLOW_TO_SERVER },
    { .bytes = "SSH-", .length = 4, .direction = FLOW_TO_CLIENT },
};

const struct app_proto app_ssh = {
    .name = "ssh",
    .help = "SSH: banners and key exchange",
    .transports = APP_TCP,
    .tcp_ports = "22",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .state_size = sizeof(struct ssh_state),
    .feed = ssh_feed,
    .frames = frames,
    .transfer = ssh_transfer,
    .pending_max = RECORD_HEADER + KEX_MAX,
    .tx_size = sizeof(struct ssh_tx),
    .tx_free = ssh_tx_free,
    .complete = { SSH_FINISHED, SSH_FINISHED },
    .tx_max = 1,
    .steps = { request_steps, response_steps },
    .events = events,
    .event_count = SSH_EVENTS,
    .buffers = ssh_buffers,
    .buffer_count = SSH_BUFFERS,
    .conditions = ssh_conditions,
    .condition_count = SSH_CONDITIONS,
    .log_type = "ssh",
    .log_key = "ssh",
    .log_progress = { SSH_BANNER_DONE, SSH_BANNER_DONE },
    .log = ssh_log,
    .wants_log = ssh_wants_log,
    .settings = setting_rows,
    .settings_size = sizeof(struct ssh_settings),
};
