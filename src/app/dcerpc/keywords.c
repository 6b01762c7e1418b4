/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keywords for DCE/RPC calls over TCP, UDP and SMB pipes. */
#include <errno.h>
#include <string.h>

#include "dce.h"
#include "sluice/arena.h"
#include "sluice/hex.h"
#include "sluice/number_range.h"
#include "sluice/text.h"

static const char *const applications[] = { "dcerpc", "smb", NULL };

static const struct dce_call *get_request(const struct app_tx *tx)
{
    const struct dce_call *call = ((const struct dce_tx *)tx)->call;

    return call && call->has_opnum ? call : NULL;
}

/* --- dcerpc.iface ------------------------------------------------------------------------------------ */

struct interface_condition {
    uint8_t uuid[DCE_UUID];
    struct number_range version;
    /* has_version: the version must be in the range `version`. any_fragment (any_frag): interfaces of bind requests
     * without DCE_FIRST_FRAGMENT match, too. */
    bool has_version, any_fragment;
};

static bool dcerpc_iface_match(const struct match_input *in, const void *data)
{
    const struct interface_condition *condition = data;
    const struct dce_call *call = get_request(in->transaction);

    for (uint32_t i = 0; call && call->bindings && i < call->bindings->count; i++) {
        const struct dce_interface *interface = &call->bindings->at[i];

        if (!interface->acked || interface->result != 0 || memcmp(interface->uuid, condition->uuid, DCE_UUID) != 0)
            continue;
        /* Suricata does not compare the context in SMB pipes. */
        if (!call->in_pipe &&
            (interface->context != call->context || (!condition->any_fragment && !interface->first_fragment)))
            continue;
        if (!condition->has_version || number_range_has(&condition->version, interface->version))
            return true;
    }
    return false;
}

/* Parses 32 hexadecimal digits, with or without the four hyphens. */
static bool parse_uuid(struct span text, uint8_t uuid[DCE_UUID])
{
    unsigned digits = 0;

    for (size_t i = 0; i < text.length; i++) {
        int digit = hex_digit(text.at[i]);

        if (digit < 0 && (text.at[i] != '-' || digits % 4 != 0 || digits < 8 || digits > 20))
            return false;
        if (digit < 0)
            continue;
        if (digits == 2 * DCE_UUID)
            return false;
        uuid[digits / 2] = (uint8_t)(digits % 2 ? uuid[digits / 2] | digit : digit << 4);
        digits++;
    }
    return digits == 2 * DCE_UUID;
}

/* Returns the text up to the next comma, without surrounding blanks, and advances *rest past the comma. */
static struct span next_part(struct span *rest)
{
    const char *comma = memchr(rest->at, ',', rest->length);
    struct span part = { .at = rest->at, .length = comma ? (size_t)(comma - rest->at) : rest->length };

    rest->length -= part.length + (comma != NULL);
    rest->at += part.length + (comma != NULL);
    return span_trim(part);
}

static int dcerpc_iface_parse(struct rule_parser *parser, struct span value)
{
    struct interface_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span rest = value, part = next_part(&rest);

    if (!condition)
        return -ENOMEM;
    *condition = (struct interface_condition){ .has_version = false };
    if (!parse_uuid(part, condition->uuid))
        return rule_parser_error(parser, part.length ? part : value, "expected a UUID");
    while (rest.length > 0) {
        part = next_part(&rest);
        if (!condition->any_fragment && span_equal(part, "any_frag")) {
            condition->any_fragment = true;
            continue;
        }
        if (condition->has_version || condition->any_fragment)
            return rule_parser_error(parser, part.length ? part : value, "expected any_frag");
        if (number_range_parse(parser, part.length ? part : value, UINT16_MAX, NULL, &condition->version))
            return -EINVAL;
        condition->has_version = true;
    }
    return rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_dcerpc_iface = {
    .name = "dcerpc.iface",
    .aliases = { "dce_iface" },
    .value = "UUID[,[<|>|=|!]VERSION][,any_frag]",
    .help = "interface (UUID) of a DCE/RPC call, if the server has accepted it",
    .manual = "Matches requests and responses, not the bind. In an SMB pipe, all interfaces of the last bind are "
              "compared; over "
              "TCP, the interface of the call's context. any_frag: also match an interface that was bound in another "
              "than the "
              "first fragment of the bind.",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = dcerpc_iface_parse,
    .transaction = { .match = dcerpc_iface_match },
};

/* --- dcerpc.opnum ------------------------------------------------------------------------------------ */

enum { OPNUM_RANGES_MAX = 64 };

struct opnum_condition {
    struct number_range range; /* the numbers that match, if count is 0 */
    unsigned count;            /* number of entries in `ranges`; 0: `range` is used */
    struct {
        uint32_t low, high;
    } ranges[OPNUM_RANGES_MAX];
};

static bool dcerpc_opnum_match(const struct match_input *in, const void *data)
{
    const struct opnum_condition *condition = data;
    const struct dce_call *call = get_request(in->transaction);

    if (call && condition->count == 0)
        return number_range_has(&condition->range, call->opnum);
    for (unsigned i = 0; call && i < condition->count; i++)
        if (call->opnum >= condition->ranges[i].low && call->opnum <= condition->ranges[i].high)
            return true;
    return false;
}

static bool parse_opnum(struct span text, uint32_t *out)
{
    uint64_t number;

    if (!span_to_uint(span_trim(text), 0, UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

/* Parses "12", "5-9" or "12,15-18"; ranges include both ends. Returns false for any other form. */
static bool parse_opnum_list(struct span value, struct opnum_condition *out)
{
    while (value.length > 0) {
        struct span part = next_part(&value), high = part;
        const char *hyphen = memchr(part.at, '-', part.length);

        if (out->count == OPNUM_RANGES_MAX)
            return false;
        if (hyphen) {
            high = (struct span){ .at = hyphen + 1, .length = part.length - (size_t)(hyphen + 1 - part.at) };
            part.length = (size_t)(hyphen - part.at);
        }
        if (!parse_opnum(part, &out->ranges[out->count].low) || !parse_opnum(high, &out->ranges[out->count].high) ||
            out->ranges[out->count].high < out->ranges[out->count].low)
            return false;
        out->count++;
    }
    return out->count > 0;
}

static int dcerpc_opnum_parse(struct rule_parser *parser, struct span value)
{
    struct opnum_condition condition = { .count = 0 }, *copy = arena_alloc(rule_parser_arena(parser), sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    if (!parse_opnum_list(value, &condition)) {
        condition.count = 0;
        if (number_range_parse(parser, value, UINT16_MAX, NULL, &condition.range))
            return -EINVAL;
    }
    *copy = condition;
    return rule_parser_add_transaction_condition(parser, copy, false);
}

const struct keyword keyword_dcerpc_opnum = {
    .name = "dcerpc.opnum",
    .aliases = { "dce_opnum" },
    .value = "NUMBER or LOW-HIGH, separated by commas, or [<|>|=|!]NUMBER",
    .help = "operation number (opnum) of a DCE/RPC call",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = dcerpc_opnum_parse,
    .transaction = { .match = dcerpc_opnum_match },
};

/* --- dcerpc.stub_data -------------------------------------------------------------------------------- */

bool dce_get_stub(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct dce_call *call = ((const struct dce_tx *)tx)->call;

    if (!call || call->stub[which.direction].length == 0)
        return false;
    *out = (struct app_bytes){
        .bytes = call->stub[which.direction].bytes,
        .length = call->stub[which.direction].length,
        .little = call->little,
    };
    return true;
}

const struct keyword keyword_dcerpc_stub_data = {
    .name = "dcerpc.stub_data",
    .aliases = { "dce_stub_data" },
    .help = "stub data (arguments or results) of a DCE/RPC call, reassembled from all fragments",
    .manual =
        "With `dce`, byte_test, byte_jump, byte_extract and byte_math read numbers in the byte order of the call.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};
