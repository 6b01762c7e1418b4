/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WebSocket keywords. */
#include <errno.h>

#include "sluice/arena.h"
#include "websocket_priv.h"

static const char *const applications[] = { "websocket", NULL };

/* --- Payload ----------------------------------------------------------------------------------------- */

static bool get_payload(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];
    const struct websocket_tx *frame = (const struct websocket_tx *)tx;

    *out = (struct app_bytes){
        .bytes = frame->payload.bytes ? frame->payload.bytes : nothing,
        .length = frame->payload.length,
        .partial = tx->progress[which.direction] < WEBSOCKET_COMPLETE,
    };
    return true;
}

const struct keyword keyword_websocket_payload = {
    .name = "websocket.payload",
    .help = "selects the unmasked and decompressed payload of a WebSocket frame",
    .manual =
        "The payload of the last frame of a fragmented message is that of the whole message. It is inspected as it "
        "arrives, up to app-layer.protocols.websocket.max-payload-size bytes.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer websocket_buffers[WEBSOCKET_BUFFERS] = {
    { &keyword_websocket_payload, APP_BOTH, WEBSOCKET_HEADER, .get = get_payload, .grows = true },
};

/* --- Header ------------------------------------------------------------------------------------------ */

static const struct number_name flag_names[] = { { "fin", WEBSOCKET_FIN }, { "comp", WEBSOCKET_RSV1 }, { NULL, 0 } };

const struct number_name websocket_opcode_names[] = {
    { "continuation", WEBSOCKET_CONTINUATION },
    { "text", WEBSOCKET_TEXT },
    { "binary", WEBSOCKET_BINARY },
    { "close", WEBSOCKET_CLOSE },
    { "connection_close", WEBSOCKET_CLOSE }, /* accepted in rules; events have the first name */
    { "ping", WEBSOCKET_PING },
    { "pong", WEBSOCKET_PONG },
    { NULL, 0 },
};

static bool flags_match(const struct match_input *in, const void *data)
{
    return number_range_has(data, ((const struct websocket_tx *)in->transaction)->flags);
}

/* Adds a flag of a list to the range: `fin`, or `!comp` for a flag that is not set. */
static int add_flag(struct rule_parser *parser, struct span item, struct number_range *range)
{
    bool negated = item.length > 0 && item.at[0] == '!';
    struct span name = { item.at + negated, item.length - negated };
    const struct number_name *flag = flag_names;

    name = span_trim(name);
    while (flag->name && !span_equal_nocase(name, flag->name))
        flag++;
    if (!flag->name)
        return rule_parser_error(parser, item, "expected fin or comp");
    if (range->mask & flag->value)
        return rule_parser_error(parser, item, "the flag is in the list twice");
    range->mask |= flag->value;
    range->low |= negated ? 0 : flag->value;
    return 0;
}

static int flags_parse(struct rule_parser *parser, struct span value)
{
    struct span text = span_trim(value);
    size_t first = text.length > 1 && text.at[0] == '!';
    struct number_range *range;
    int err = 0;

    if (text.length == 0 || (text.at[first] | 0x20) < 'a' || (text.at[first] | 0x20) > 'z')
        return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
    range = arena_alloc(rule_parser_arena(parser), sizeof(*range));
    if (!range)
        return -ENOMEM;
    *range = (struct number_range){ .mask = 0 };
    for (size_t at = 0, end; !err && at <= text.length; at = end + 1) {
        for (end = at; end < text.length && text.at[end] != ','; end++)
            ;
        err = add_flag(parser, span_trim((struct span){ text.at + at, end - at }), range);
    }
    return err ? err : rule_parser_add_transaction_condition(parser, range, false);
}

const struct keyword keyword_websocket_flags = {
    .name = "websocket.flags",
    .value = NUMBER_RANGE_FORM " or [!]fin, [!]comp",
    .help = "flags of a WebSocket frame, the upper four bits of its first byte: a number, or a list of fin and comp",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = flags_parse,
    .transaction = { .match = flags_match },
};

static bool mask_match(const struct match_input *in, const void *data)
{
    const struct websocket_tx *frame = (const struct websocket_tx *)in->transaction;

    return frame->has_mask && number_range_has(data, frame->mask);
}

static int mask_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_websocket_mask = {
    .name = "websocket.mask",
    .value = NUMBER_RANGE_FORM,
    .help = "masking key of a WebSocket frame; frames that are not masked do not match",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = mask_parse,
    .transaction = { .match = mask_match },
};

static bool opcode_match(const struct match_input *in, const void *data)
{
    return number_range_has(data, ((const struct websocket_tx *)in->transaction)->opcode);
}

static int opcode_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, websocket_opcode_names);
}

const struct keyword keyword_websocket_opcode = {
    .name = "websocket.opcode",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "opcode of a WebSocket frame by number or name: continuation, text, binary, close, ping, pong",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = opcode_parse,
    .transaction = { .match = opcode_match },
};

const struct app_condition websocket_conditions[WEBSOCKET_CONDITIONS] = {
    { &keyword_websocket_flags, APP_BOTH, WEBSOCKET_HEADER },
    { &keyword_websocket_mask, APP_BOTH, WEBSOCKET_HEADER },
    { &keyword_websocket_opcode, APP_BOTH, WEBSOCKET_HEADER },
};
