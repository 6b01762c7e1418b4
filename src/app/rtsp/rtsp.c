/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RTSP over TCP. Each message, a request or a response, is a transaction in its own direction, because either side
 * sends both. A message is inspected when its head is complete; its body, whose length is in Content-Length, is
 * skipped. So are the frames of media between messages, which start with '$'.
 *
 * A start line or a Content-Length that is invalid ends parsing, because the end of the message is unknown then.
 */
#include <errno.h>
#include <string.h>

#include "rtsp_priv.h"
#include "sluice/bytes.h"
#include "sluice/text.h"
#include "sluice/transfer.h"

enum { FRAME_START = '$', FRAME_HEADER = 4, CODE_LENGTH = 3 };

struct rtsp_state {
    uint64_t skip[FLOW_DIRECTIONS]; /* remaining bytes of a body or frame */
};

static const struct app_event events[RTSP_EVENTS] = {
    [RTSP_INVALID_DATA] = { "invalid_data", "a message has an invalid start line or Content-Length, or a head of more "
                                            "than 16 KiB or 128 headers" },
};

/* --- Heads ------------------------------------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool next_line(struct cursor *cur, struct span *line)
{
    size_t left = cursor_remaining(cur);
    const uint8_t *end = left > 0 ? memchr(cur->at, '\n', left) : NULL;

    if (!end)
        return false;
    *line = (struct span){ .at = (const char *)cur->at, .length = (size_t)(end - cur->at) };
    cursor_skip(cur, line->length + 1);
    if (line->length > 0 && line->at[line->length - 1] == '\r')
        line->length--;
    return true;
}

static struct rtsp_text locate(const struct rtsp_tx *tx, struct span span)
{
    return (struct rtsp_text){ .at = (uint32_t)((const uint8_t *)span.at - tx->head.bytes),
                               .length = (uint32_t)span.length };
}

/* Removes the first word and the blanks after it from the text, and returns it. */
static struct span take_word(struct span *text)
{
    struct span word = { .at = text->at };

    while (word.length < text->length && !is_blank(text->at[word.length]))
        word.length++;
    *text = span_trim((struct span){ .at = text->at + word.length, .length = text->length - word.length });
    return word;
}

static bool is_version(struct span text)
{
    return text.length > 5 && memcmp(text.at, "RTSP/", 5) == 0;
}

static bool parse_start_line(struct rtsp_tx *tx, struct span line)
{
    struct span rest = line, first = take_word(&rest), second = take_word(&rest);

    if (is_version(first)) {
        tx->version = locate(tx, first);
        tx->code = locate(tx, second);
        tx->reason = locate(tx, rest);
        return second.length == CODE_LENGTH;
    }
    tx->is_request = true;
    tx->method = locate(tx, first);
    tx->uri = locate(tx, second);
    tx->version = locate(tx, rest);
    return first.length > 0 && is_version(rest);
}

/* Sets *length if the line is a Content-Length. Returns false if its value is invalid, or contradicts an earlier one:
 * receivers would read different messages. */
static bool read_length(struct span line, uint64_t *length)
{
    const char *colon = memchr(line.at, ':', line.length);
    uint64_t number;

    if (!colon || !span_equal_nocase(span_trim((struct span){ line.at, (size_t)(colon - line.at) }), "Content-Length"))
        return true;
    struct span value = span_trim((struct span){ colon + 1, line.length - (size_t)(colon + 1 - line.at) });

    /* text_to_uint() would also read a hexadecimal number. */
    for (size_t i = 0; i < value.length; i++)
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
    if (!text_to_uint(value.at, value.length, 0, UINT32_MAX, &number) || (*length != UINT64_MAX && *length != number))
        return false;
    *length = number;
    return true;
}

/* Parses a head, and sets *body to the length of the body. Returns 0, -EINVAL or -ENOMEM. */
static int parse_head(struct heap *heap, struct rtsp_tx *tx, const uint8_t *bytes, uint32_t length, uint64_t *body)
{
    struct rtsp_text header;
    struct cursor cur;
    struct span line;

    *body = UINT64_MAX;
    if (buffer_append(heap, &tx->head, bytes, length, RTSP_HEAD_MAX) < length)
        return length > RTSP_HEAD_MAX ? -EINVAL : -ENOMEM;
    cur = cursor_of(tx->head.bytes, length);
    if (!next_line(&cur, &line) || !parse_start_line(tx, line))
        return -EINVAL;
    tx->is_parsed = true;
    while (next_line(&cur, &line) && line.length > 0) {
        if (rtsp_header_count(tx) == RTSP_HEADERS_MAX || !read_length(line, body))
            return -EINVAL;
        header = locate(tx, line);
        if (buffer_append(heap, &tx->headers, &header, sizeof(header), UINT32_MAX) < sizeof(header))
            return -ENOMEM;
    }
    if (*body == UINT64_MAX)
        *body = 0;
    return 0;
}

/* --- Stream ------------------------------------------------------------------------------------------ */

/* Adds the transaction of a message. Returns false if parsing must end. */
static bool handle_head(struct app_context *context, struct rtsp_state *state, enum flow_direction direction,
                        const uint8_t *bytes, uint32_t length)
{
    struct rtsp_tx *tx = (struct rtsp_tx *)app_tx_new(context);
    int err;

    if (!tx)
        return false;
    tx->tx.directions = (uint8_t)(1u << direction);
    err = parse_head(app_heap(context), tx, bytes, length, &state->skip[direction]);
    if (err) {
        tx->tx.log_never = !tx->is_parsed;
        app_event(context, &tx->tx, RTSP_INVALID_DATA);
    }
    app_tx_advance(&tx->tx, direction, RTSP_COMPLETE);
    return !err;
}

static struct app_result rtsp_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct rtsp_state *state = data;
    struct app_result result = { .status = APP_OK };
    uint64_t *skip = &state->skip[in->direction];

    while (result.consumed < in->length) {
        const uint8_t *bytes = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed, taken;

        if (*skip > 0) {
            taken = *skip < left ? (uint32_t)*skip : left;
            *skip -= taken;
        } else if (bytes[0] == '\r' || bytes[0] == '\n') {
            taken = 1;
        } else if (bytes[0] == FRAME_START) {
            if (left < FRAME_HEADER) {
                result.needed = FRAME_HEADER;
                return result;
            }
            taken = FRAME_HEADER;
            *skip = load_be16(bytes + 2); /* the channel is at 1 */
        } else {
            uint32_t from = in->seen > result.consumed ? in->seen - result.consumed : 0;

            taken = text_find_head_end(bytes, left, from);
            if (taken == 0 && left <= RTSP_HEAD_MAX)
                return result;
            if (!handle_head(context, state, in->direction, bytes, taken > 0 ? taken : left)) {
                result.status = APP_ERROR;
                return result;
            }
        }
        result.consumed += taken;
    }
    return result;
}

static void rtsp_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct rtsp_tx *rtsp = (struct rtsp_tx *)tx;

    buffer_clear(app_heap(context), &rtsp->head);
    buffer_clear(app_heap(context), &rtsp->headers);
}

static void rtsp_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct rtsp_state *state = data;

    (void)context;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        transfer_u64(t, &state->skip[direction]);
}

static bool rtsp_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

/* --- Detection and settings -------------------------------------------------------------------------- */

/* Methods with a URI of RTSP. OPTIONS is a method of HTTP, too, whose pattern is shorter. */
#define REQUEST(method)                                                                                                \
    {                                                                                                                  \
        .bytes = method " rtsp", .length = sizeof(method " rtsp") - 1, .nocase = true, .direction = FLOW_TO_SERVER     \
    }
#define START(text, from)                                                                                              \
    {                                                                                                                  \
        .bytes = text, .length = sizeof(text) - 1, .direction = from                                                   \
    }

static const struct app_pattern patterns[] = {
    REQUEST("OPTIONS"),
    REQUEST("DESCRIBE"),
    REQUEST("SETUP"),
    REQUEST("PLAY"),
    REQUEST("PAUSE"),
    REQUEST("TEARDOWN"),
    REQUEST("ANNOUNCE"),
    REQUEST("RECORD"),
    REQUEST("REDIRECT"),
    REQUEST("GET_PARAMETER"),
    REQUEST("SET_PARAMETER"),
    START("OPTIONS * RTSP/", FLOW_TO_SERVER),
    START("RTSP/1.0 ", FLOW_TO_CLIENT),
    START("RTSP/2.0 ", FLOW_TO_CLIENT),
};

static const struct setting setting_rows[] = {
    { .name = "eve.types.rtsp", .type = SETTING_SECTION, .help = "Event type rtsp: an RTSP request or response" },
    { .name = NULL },
};

const struct app_proto app_rtsp = {
    .name = "rtsp",
    .help = "RTSP 1.0 and 2.0",
    .transports = APP_TCP,
    .tcp_ports = "554,8554",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .state_size = sizeof(struct rtsp_state),
    .feed = rtsp_feed,
    .transfer = rtsp_transfer,
    .pending_max = 2 * RTSP_HEAD_MAX,
    .tx_size = sizeof(struct rtsp_tx),
    .tx_free = rtsp_tx_free,
    .complete = { RTSP_COMPLETE, RTSP_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = RTSP_EVENTS,
    .buffers = rtsp_buffers,
    .buffer_count = RTSP_BUFFERS,
    .log_type = "rtsp",
    .log_own = rtsp_log_own,
    .logs_from_server = rtsp_logs_from_server,
    .settings = setting_rows,
};
