/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EtherNet/IP and CIP keywords. */
#include <errno.h>

#include "enip_priv.h"
#include "sluice/arena.h"
#include "sluice/text.h"

static const char *const applications[] = { "enip", NULL };

static const struct enip_pdu *pdu_of(const struct match_input *in)
{
    const struct enip_tx *tx = (const struct enip_tx *)in->transaction;

    return in->direction == FLOW_TO_SERVER ? &tx->request : &tx->response;
}

/* --- Buffers ----------------------------------------------------------------------------------------- */

enum part { PART_PRODUCT, PART_SERVICE };

static bool get_name(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct enip_pdu *pdu = &((const struct enip_tx *)tx)->response;

    if (which.part == PART_PRODUCT ? !pdu->has_identity : !pdu->has_services)
        return false;
    *out = (struct app_bytes){ .bytes = pdu->name.bytes, .length = pdu->name.length };
    return true;
}

const struct keyword keyword_enip_product_name = {
    .name = "enip.product_name",
    .help = "product name in an EtherNet/IP ListIdentity response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
};

const struct keyword keyword_enip_service_name = {
    .name = "enip.service_name",
    .help = "service name in an EtherNet/IP ListServices response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_CLIENT },
};

const struct app_buffer enip_buffers[ENIP_BUFFERS] = {
    { &keyword_enip_product_name, APP_TO_CLIENT, ENIP_COMPLETE, .get = get_name, .part = PART_PRODUCT },
    { &keyword_enip_service_name, APP_TO_CLIENT, ENIP_COMPLETE, .get = get_name, .part = PART_SERVICE },
};

/* --- Numbers of the encapsulation -------------------------------------------------------------------- */

static bool command_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->is_present) && number_range_has(data, pdu->command);
}

static int command_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, enip_command_names);
}

const struct keyword keyword_enip_command = {
    .name = "enip.command",
    .aliases = { "enip_command" },
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "command of an EtherNet/IP message by number or name: 99 or list_identity",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = command_parse,
    .transaction = { .match = command_match },
};

static bool status_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->is_present) && number_range_has(data, pdu->status);
}

static int status_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, enip_status_names);
}

const struct keyword keyword_enip_status = {
    .name = "enip.status",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "status of an EtherNet/IP message by number or name: 100 or invalid_session",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = status_parse,
    .transaction = { .match = status_match },
};

static bool protocol_version_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_register || pdu->has_services || pdu->has_identity) && number_range_has(data, pdu->version);
}

static int protocol_version_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_protocol_version = {
    .name = "enip.protocol_version",
    .value = NUMBER_RANGE_FORM,
    .help = "protocol version in EtherNet/IP RegisterSession, ListServices and ListIdentity messages: 1",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = protocol_version_parse,
    .transaction = { .match = protocol_version_match },
};

static bool capabilities_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_services) && number_range_has(data, pdu->capabilities);
}

static int capabilities_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_capabilities = {
    .name = "enip.capabilities",
    .value = NUMBER_RANGE_FORM,
    .help = "capabilities in an EtherNet/IP ListServices response: &32=32",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = capabilities_parse,
    .transaction = { .match = capabilities_match },
};

static bool revision_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, (unsigned)pdu->revision_major << 8 | pdu->revision_minor);
}

static int revision_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_revision = {
    .name = "enip.revision",
    .value = NUMBER_RANGE_FORM,
    .help = "revision in an EtherNet/IP ListIdentity response, the major one in the upper eight bits: 0x403",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = revision_parse,
    .transaction = { .match = revision_match },
};

static bool identity_status_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, pdu->identity_status);
}

static int identity_status_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_identity_status = {
    .name = "enip.identity_status",
    .value = NUMBER_RANGE_FORM,
    .help = "status in an EtherNet/IP ListIdentity response: 0x30",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = identity_status_parse,
    .transaction = { .match = identity_status_match },
};

static bool state_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, pdu->state);
}

static int state_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_enip_state = {
    .name = "enip.state",
    .value = NUMBER_RANGE_FORM,
    .help = "state in an EtherNet/IP ListIdentity response: 3",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = state_parse,
    .transaction = { .match = state_match },
};

static bool serial_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, pdu->serial);
}

static int serial_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_enip_serial = {
    .name = "enip.serial",
    .value = NUMBER_RANGE_FORM,
    .help = "serial number in an EtherNet/IP ListIdentity response: 0x524d8e",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = serial_parse,
    .transaction = { .match = serial_match },
};

static bool product_code_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, pdu->product_code);
}

static int product_code_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_product_code = {
    .name = "enip.product_code",
    .value = NUMBER_RANGE_FORM,
    .help = "product code in an EtherNet/IP ListIdentity response: 58",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = product_code_parse,
    .transaction = { .match = product_code_match },
};

static bool device_type_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, pdu->device_type);
}

static int device_type_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_device_type = {
    .name = "enip.device_type",
    .value = NUMBER_RANGE_FORM,
    .help = "device type in an EtherNet/IP ListIdentity response: 12",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = device_type_parse,
    .transaction = { .match = device_type_match },
};

static bool vendor_id_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    return (pdu->has_identity) && number_range_has(data, pdu->vendor);
}

static int vendor_id_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_vendor_id = {
    .name = "enip.vendor_id",
    .value = NUMBER_RANGE_FORM,
    .help = "vendor in an EtherNet/IP ListIdentity response: 1",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = vendor_id_parse,
    .transaction = { .match = vendor_id_match },
};

/* --- CIP --------------------------------------------------------------------------------------------- */

static bool match_segments(const struct match_input *in, const void *data, uint8_t kind)
{
    const struct enip_pdu *pdu = pdu_of(in);

    for (uint32_t i = 0; i < pdu->segment_count; i++) {
        const struct enip_segment *segment = enip_get_segment(pdu, i);

        if ((segment->kind == kind || (kind == ENIP_ATTRIBUTE && segment->kind == ENIP_LISTED)) &&
            number_range_has(data, segment->value))
            return true;
    }
    return false;
}

static int segment_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

static bool cip_attribute_match(const struct match_input *in, const void *data)
{
    return match_segments(in, data, ENIP_ATTRIBUTE);
}

const struct keyword keyword_enip_cip_attribute = {
    .name = "enip.cip_attribute",
    .value = NUMBER_RANGE_FORM,
    .help = "attribute in the path or the list of attributes of a CIP request: 5",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = segment_parse,
    .transaction = { .match = cip_attribute_match },
};

static bool cip_class_match(const struct match_input *in, const void *data)
{
    return match_segments(in, data, ENIP_CLASS);
}

const struct keyword keyword_enip_cip_class = {
    .name = "enip.cip_class",
    .value = NUMBER_RANGE_FORM,
    .help = "class in the path of a CIP request: 1",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = segment_parse,
    .transaction = { .match = cip_class_match },
};

static bool cip_instance_match(const struct match_input *in, const void *data)
{
    return match_segments(in, data, ENIP_INSTANCE);
}

const struct keyword keyword_enip_cip_instance = {
    .name = "enip.cip_instance",
    .value = NUMBER_RANGE_FORM,
    .help = "instance in the path of a CIP request: 1",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = segment_parse,
    .transaction = { .match = cip_instance_match },
};

static bool cip_status_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    for (uint32_t i = 0; i < pdu->service_count; i++) {
        const struct enip_service *service = enip_get_service(pdu, i);

        if (service->is_response && number_range_has(data, service->status))
            return true;
    }
    return false;
}

static int cip_status_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_enip_cip_status = {
    .name = "enip.cip_status",
    .value = NUMBER_RANGE_FORM,
    .help = "general status of a CIP response: 8",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = cip_status_parse,
    .transaction = { .match = cip_status_match },
};

static bool cip_extendedstatus_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);

    for (uint32_t i = 0; i < pdu->service_count; i++) {
        const struct enip_service *service = enip_get_service(pdu, i);

        if (service->has_extended_status && number_range_has(data, service->extended_status))
            return true;
    }
    return false;
}

static int cip_extendedstatus_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_enip_cip_extendedstatus = {
    .name = "enip.cip_extendedstatus",
    .value = NUMBER_RANGE_FORM,
    .help = "extended status of a CIP response: 0x100",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = cip_extendedstatus_parse,
    .transaction = { .match = cip_extendedstatus_match },
};

/* Condition on a service, and optionally on the class and attribute that it accesses. */
struct service_condition {
    uint8_t service;
    bool has_class, has_attribute;
    uint32_t class, attribute;
};

static bool has_segment(const struct enip_pdu *pdu, const struct enip_service *service, bool is_attribute,
                        uint32_t value)
{
    for (uint32_t i = service->first; i < (uint32_t)service->first + service->count; i++) {
        const struct enip_segment *segment = enip_get_segment(pdu, i);
        bool is_kind = is_attribute ? segment->kind == ENIP_ATTRIBUTE || segment->kind == ENIP_LISTED
                                    : segment->kind == ENIP_CLASS;

        if (is_kind && segment->value == value)
            return true;
    }
    return false;
}

static bool cip_service_match(const struct match_input *in, const void *data)
{
    const struct enip_pdu *pdu = pdu_of(in);
    const struct service_condition *condition = data;

    for (uint32_t i = 0; i < pdu->service_count; i++) {
        const struct enip_service *service = enip_get_service(pdu, i);

        if (service->service == condition->service &&
            (!condition->has_class || has_segment(pdu, service, false, condition->class)) &&
            (!condition->has_attribute || has_segment(pdu, service, true, condition->attribute)))
            return true;
    }
    return false;
}

/* Removes the text up to the next comma from *rest, and reads it as a number. */
static int parse_part(struct rule_parser *parser, struct span *rest, uint32_t limit, uint32_t *out)
{
    const char *comma = rest->length > 0 ? memchr(rest->at, ',', rest->length) : NULL;
    size_t length = comma ? (size_t)(comma - rest->at) : rest->length;
    struct span part = span_trim((struct span){ rest->at, length });
    int64_t number = 0;

    if (!span_to_int(part, 0, limit, &number))
        return rule_parser_error(parser, part, "expected a number from 0 to %u", limit);
    *out = (uint32_t)number;
    length += comma != NULL;
    *rest = (struct span){ rest->at + length, rest->length - length };
    return 0;
}

static int cip_service_parse(struct rule_parser *parser, struct span value)
{
    struct service_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span rest = span_trim(value);
    bool is_negated;
    uint32_t service = 0;
    int err;

    if (!condition)
        return -ENOMEM;
    err = parse_part(parser, &rest, 127, &service);
    if (err)
        return err;
    condition->service = (uint8_t)service;
    condition->has_class = rest.length > 0;
    if (condition->has_class)
        err = parse_part(parser, &rest, UINT32_MAX, &condition->class);
    if (!err && rest.length > 0) {
        rest = span_trim(rest);
        is_negated = rest.length > 0 && rest.at[0] == '!';
        if (is_negated)
            rest = (struct span){ rest.at + 1, rest.length - 1 };
        err = parse_part(parser, &rest, UINT32_MAX, &condition->attribute);
        condition->has_attribute = !is_negated;
    }
    if (!err && rest.length > 0)
        err = rule_parser_error(parser, rest, "unexpected text");
    return err ? err : rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_cip_service = {
    .name = "cip_service",
    .value = "SERVICE[, CLASS[, [!]ATTRIBUTE]]",
    .help = "service of a CIP message, and the class and attribute that a request accesses: 14, 1, 7",
    .manual = "As in Suricata, !ATTRIBUTE is ignored. Services in a multiple service packet are inspected, too.",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = cip_service_parse,
    .transaction = { .match = cip_service_match },
};

const struct app_condition enip_conditions[ENIP_CONDITIONS] = {
    { &keyword_enip_command, APP_BOTH, ENIP_COMPLETE },
    { &keyword_enip_status, APP_BOTH, ENIP_COMPLETE },
    { &keyword_enip_protocol_version, APP_BOTH, ENIP_COMPLETE },
    { &keyword_enip_capabilities, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_revision, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_identity_status, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_state, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_serial, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_product_code, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_device_type, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_vendor_id, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_cip_attribute, APP_TO_SERVER, ENIP_COMPLETE },
    { &keyword_enip_cip_class, APP_TO_SERVER, ENIP_COMPLETE },
    { &keyword_enip_cip_instance, APP_TO_SERVER, ENIP_COMPLETE },
    { &keyword_enip_cip_status, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_enip_cip_extendedstatus, APP_TO_CLIENT, ENIP_COMPLETE },
    { &keyword_cip_service, APP_BOTH, ENIP_COMPLETE },
};
