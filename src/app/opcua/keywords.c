/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OPC UA keywords. Keywords with an alias are those of Snort 3. */
#include <errno.h>

#include "opcua_priv.h"
#include "sluice/text.h"

static const char *const applications[] = { "opcua", NULL };

/* --- Buffers ----------------------------------------------------------------------------------------- */

enum part { PART_BODY, PART_URL, PART_POLICY };

static bool get_bytes(const struct app_tx *base, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];
    const struct opcua_tx *tx = (const struct opcua_tx *)base;
    const struct buffer *buffer = which.part == PART_BODY ? &tx->body : &tx->text;
    bool exists = which.part == PART_BODY  ? tx->length > 0 && !tx->is_opaque
                  : which.part == PART_URL ? tx->type == OPCUA_HELLO || tx->type == OPCUA_REVERSE_HELLO
                                           : tx->type == OPCUA_OPEN;

    *out = (struct app_bytes){ .bytes = buffer->bytes ? buffer->bytes : nothing, .length = buffer->length };
    return exists;
}

static bool get_item(const struct app_tx *base, struct app_selector which, struct app_bytes *out)
{
    const struct opcua_tx *tx = (const struct opcua_tx *)base;
    const uint32_t *ends = (const uint32_t *)(const void *)tx->item_ends.bytes;
    uint32_t start;

    if (which.index >= tx->item_ends.length / sizeof(*ends))
        return false;
    start = which.index > 0 ? ends[which.index - 1] : 0;
    *out = (struct app_bytes){ .bytes = tx->items.bytes + start, .length = ends[which.index] - start };
    return true;
}

const struct keyword keyword_opcua_body = {
    .name = "opcua.body",
    .help = "body of an OPC UA message: its type id, and the parameters of the service",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_opcua_endpoint_url = {
    .name = "opcua.endpoint_url",
    .help = "endpoint URL of an OPC UA message HEL or RHE",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_opcua_security_policy = {
    .name = "opcua.security_policy",
    .help = "URI of the security policy in an OPC UA message OPN",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_opcua_item = {
    .name = "opcua.item",
    .help = "node id of each item of an OPC UA request that reads, writes, calls, browses or monitors, as text: "
            "ns=2;s=Pump",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer opcua_buffers[OPCUA_BUFFERS] = {
    { &keyword_opcua_body, APP_BOTH, OPCUA_COMPLETE, .get = get_bytes, .part = PART_BODY },
    { &keyword_opcua_endpoint_url, APP_BOTH, OPCUA_COMPLETE, .get = get_bytes, .part = PART_URL },
    { &keyword_opcua_security_policy, APP_BOTH, OPCUA_COMPLETE, .get = get_bytes, .part = PART_POLICY },
    { &keyword_opcua_item, APP_BOTH, OPCUA_COMPLETE, .get = get_item },
};

/* --- Conditions -------------------------------------------------------------------------------------- */

static bool type_match(const struct match_input *in, const void *data)
{
    const struct opcua_tx *tx = (const struct opcua_tx *)in->transaction;

    return tx->type != OPCUA_NO_TYPE && number_range_has(data, tx->type);
}

static int type_parse(struct rule_parser *parser, struct span value)
{
    const struct number_name *name = opcua_type_names;
    struct span text = span_trim(value);

    if (text.length > 0 && *text.at == '!')
        text = span_trim((struct span){ text.at + 1, text.length - 1 });
    while (name->name && !span_equal_nocase(text, name->name))
        name++;
    if (!name->name) /* the numbers of enum opcua_type are internal */
        return rule_parser_error(parser, text,
                                 "expected HEL, ACK, ERR, RHE, OPN, MSG or CLO, or the name of one of "
                                 "these types");
    return number_range_transaction_condition(parser, value, OPCUA_TYPES, opcua_type_names);
}

const struct keyword keyword_opcua_msg_type = {
    .name = "opcua.msg_type",
    .aliases = { "opcua_msg_type" },
    .value = "[!]NAME",
    .help = "type of an OPC UA message: HEL (hello), ACK (acknowledge), ERR (error), RHE (reverse_hello), OPN "
            "(open_secure_channel), MSG (message) or CLO (close_secure_channel)",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = type_parse,
    .transaction = { .match = type_match },
};

static bool service_match(const struct match_input *in, const void *data)
{
    const struct opcua_tx *tx = (const struct opcua_tx *)in->transaction;

    return tx->is_numeric && tx->namespace_index == 0 && number_range_has(data, tx->type_id);
}

static bool node_id_match(const struct match_input *in, const void *data)
{
    const struct opcua_tx *tx = (const struct opcua_tx *)in->transaction;

    return tx->is_numeric && number_range_has(data, tx->type_id);
}

static int number_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

static int service_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, opcua_services);
}

const struct keyword keyword_opcua_service = {
    .name = "opcua.service",
    .aliases = { "opcua_msg_service" },
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "service of an OPC UA message by name or by numeric type id: WriteRequest or 673",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = service_parse,
    .transaction = { .match = service_match },
};

const struct keyword keyword_opcua_node_id = {
    .name = "opcua.node_id",
    .aliases = { "opcua_node_id" },
    .value = NUMBER_RANGE_FORM,
    .help = "numeric type id (node id of the service) of an OPC UA message, in any namespace: 673",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = node_id_match },
};

static bool namespace_match(const struct match_input *in, const void *data)
{
    const struct opcua_tx *tx = (const struct opcua_tx *)in->transaction;

    return tx->has_type_id && number_range_has(data, tx->namespace_index);
}

static int namespace_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_opcua_node_namespace_index = {
    .name = "opcua.node_namespace_index",
    .aliases = { "opcua_node_namespace_index" },
    .value = NUMBER_RANGE_FORM,
    .help = "namespace index of the type id of an OPC UA message; 0 for all standard services",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = namespace_parse,
    .transaction = { .match = namespace_match },
};

static bool status_match(const struct match_input *in, const void *data)
{
    const struct opcua_tx *tx = (const struct opcua_tx *)in->transaction;

    return tx->has_status && number_range_has(data, tx->status);
}

const struct keyword keyword_opcua_status = {
    .name = "opcua.status",
    .value = NUMBER_RANGE_FORM,
    .help = "status code of an OPC UA response, error or abort; &0xc0000000=0x80000000: any code of severity Bad",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = status_match },
};

const struct app_condition opcua_conditions[OPCUA_CONDITIONS] = {
    { &keyword_opcua_msg_type, APP_BOTH, OPCUA_COMPLETE },
    { &keyword_opcua_service, APP_BOTH, OPCUA_COMPLETE },
    { &keyword_opcua_node_id, APP_BOTH, OPCUA_COMPLETE },
    { &keyword_opcua_node_namespace_index, APP_BOTH, OPCUA_COMPLETE },
    { &keyword_opcua_status, APP_BOTH, OPCUA_COMPLETE },
};
