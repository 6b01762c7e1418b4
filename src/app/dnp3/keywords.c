/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNP3 keywords. */
#include <errno.h>

#include "dnp3_priv.h"
#include "sluice/arena.h"
#include "sluice/text.h"

static const char *const applications[] = { "dnp3", NULL };

static const struct dnp3_name function_names[] = {
    { "confirm", 0 },
    { "read", 1 },
    { "write", 2 },
    { "select", 3 },
    { "operate", 4 },
    { "direct_operate", 5 },
    { "direct_operate_nr", 6 },
    { "immed_freeze", 7 },
    { "immed_freeze_nr", 8 },
    { "freeze_clear", 9 },
    { "freeze_clear_nr", 10 },
    { "freeze_at_time", 11 },
    { "freeze_at_time_nr", 12 },
    { "cold_restart", 13 },
    { "warm_restart", 14 },
    { "initialize_data", 15 },
    { "initialize_appl", 16 },
    { "start_appl", 17 },
    { "stop_appl", 18 },
    { "save_config", 19 },
    { "enable_unsolicited", 20 },
    { "disable_unsolicited", 21 },
    { "assign_class", 22 },
    { "delay_measure", 23 },
    { "record_current_time", 24 },
    { "open_file", 25 },
    { "close_file", 26 },
    { "delete_file", 27 },
    { "get_file_info", 28 },
    { "authenticate_file", 29 },
    { "abort_file", 30 },
    { "activate_config", 31 },
    { "authenticate_req", 32 },
    { "authenticate_err", 33 },
    { "response", 129 },
    { "unsolicited_response", 130 },
    { "authenticate_resp", 131 },
    { NULL, 0 },
};

/* In the order in which Suricata logs them. */
const struct dnp3_name dnp3_indication_names[] = {
    { "device_restart", 0x8000 },
    { "device_trouble", 0x4000 },
    { "local_control", 0x2000 },
    { "need_time", 0x1000 },
    { "class_3_events", 0x800 },
    { "class_2_events", 0x400 },
    { "class_1_events", 0x200 },
    { "all_stations", 0x100 },
    { "reserved_1", 0x80 },
    { "reserved_2", 0x40 },
    { "config_corrupt", 0x20 },
    { "already_executing", 0x10 },
    { "event_buffer_overflow", 0x8 },
    { "parameter_error", 0x4 },
    { "object_unknown", 0x2 },
    { "no_func_code_support", 0x1 },
    { NULL, 0 },
};

static const struct dnp3_name *find_name(const struct dnp3_name *names, struct span text)
{
    while (names->name && !span_equal(text, names->name))
        names++;
    return names->name ? names : NULL;
}

/* --- Data --------------------------------------------------------------------------------------------- */

static bool get_data(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct dnp3_tx *dnp3 = (const struct dnp3_tx *)tx;

    (void)which;
    if (!dnp3->has_message)
        return false;
    *out = (struct app_bytes){ .bytes = dnp3->data.bytes, .length = dnp3->data.length };
    return true;
}

const struct keyword keyword_dnp3_data = {
    .name = "dnp3.data",
    .aliases = { "dnp3_data" },
    .help = "reassembled DNP3 application message, without the CRCs of the link layer",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer dnp3_buffers[DNP3_BUFFERS] = {
    { &keyword_dnp3_data, APP_BOTH, DNP3_COMPLETE, .get = get_data },
};

/* --- Function ----------------------------------------------------------------------------------------- */

static bool func_match(const struct match_input *in, const void *data)
{
    const struct dnp3_tx *dnp3 = (const struct dnp3_tx *)in->transaction;

    return dnp3->has_message && dnp3->function == *(const uint8_t *)data;
}

static int func_parse(struct rule_parser *parser, struct span value)
{
    uint8_t *function = arena_alloc(rule_parser_arena(parser), sizeof(*function));
    struct span text = span_trim(value);
    const struct dnp3_name *name = find_name(function_names, text);
    int64_t number = 0;

    if (!function)
        return -ENOMEM;
    if (name)
        number = name->value;
    else if (!span_to_int(text, 0, UINT8_MAX, &number))
        return rule_parser_error(parser, text, "expected the name or number of a DNP3 function");
    *function = (uint8_t)number;
    return rule_parser_add_transaction_condition(parser, function, false);
}

const struct keyword keyword_dnp3_func = {
    .name = "dnp3.func",
    .aliases = { "dnp3_func" },
    .value = "NUMBER or NAME",
    .help = "function of a DNP3 message by number or name: 2 or write",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = func_parse,
    .transaction = { .match = func_match },
};

/* --- Internal indications ----------------------------------------------------------------------------- */

static bool ind_match(const struct match_input *in, const void *data)
{
    const struct dnp3_tx *dnp3 = (const struct dnp3_tx *)in->transaction;

    return dnp3->has_message && (dnp3->indications & *(const uint16_t *)data) != 0;
}

static int ind_parse(struct rule_parser *parser, struct span value)
{
    uint16_t *mask = arena_alloc(rule_parser_arena(parser), sizeof(*mask));
    struct span rest = span_trim(value);
    int64_t number = 0;

    if (!mask)
        return -ENOMEM;
    if (span_to_int(rest, 0, UINT16_MAX, &number)) {
        *mask = (uint16_t)number;
        return rule_parser_add_transaction_condition(parser, mask, false);
    }
    while (rest.length > 0) {
        const char *comma = memchr(rest.at, ',', rest.length);
        size_t length = comma ? (size_t)(comma - rest.at) : rest.length;
        struct span word = span_trim((struct span){ rest.at, length });
        const struct dnp3_name *name = find_name(dnp3_indication_names, word);

        if (!name)
            return rule_parser_error(parser, word, "expected the name of an internal indication");
        *mask |= name->value;
        length += comma != NULL;
        rest = (struct span){ rest.at + length, rest.length - length };
    }
    if (*mask == 0)
        return rule_parser_error(parser, value, "expected internal indications");
    return rule_parser_add_transaction_condition(parser, mask, false);
}

const struct keyword keyword_dnp3_ind = {
    .name = "dnp3.ind",
    .aliases = { "dnp3_ind" },
    .value = "NAME, ... or NUMBER",
    .help = "internal indications of a DNP3 response, of which one must be set: device_trouble,device_restart",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = ind_parse,
    .transaction = { .match = ind_match },
};

/* --- Objects ------------------------------------------------------------------------------------------ */

struct object_condition {
    uint8_t group, variation;
};

static bool obj_match(const struct match_input *in, const void *data)
{
    const struct dnp3_tx *dnp3 = (const struct dnp3_tx *)in->transaction;
    const struct object_condition *condition = data;

    for (uint32_t i = 0; i < dnp3->object_count; i++) {
        const struct dnp3_object *object = dnp3_get_object(dnp3, i);

        if (object->group == condition->group && object->variation == condition->variation)
            return true;
    }
    return false;
}

static int obj_parse(struct rule_parser *parser, struct span value)
{
    struct object_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    const char *comma = value.length > 0 ? memchr(value.at, ',', value.length) : NULL;
    size_t length = comma ? (size_t)(comma - value.at) : value.length;
    int64_t group = 0, variation = 0;

    if (!condition)
        return -ENOMEM;
    if (!comma || !span_to_int(span_trim((struct span){ value.at, length }), 0, UINT8_MAX, &group) ||
        !span_to_int(span_trim((struct span){ comma + 1, value.length - length - 1 }), 0, UINT8_MAX, &variation))
        return rule_parser_error(parser, value, "expected GROUP,VARIATION, two numbers from 0 to 255");
    *condition = (struct object_condition){ (uint8_t)group, (uint8_t)variation };
    return rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_dnp3_obj = {
    .name = "dnp3.obj",
    .aliases = { "dnp3_obj" },
    .value = "GROUP,VARIATION",
    .help = "object in a DNP3 message by group and variation: 12,1",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = obj_parse,
    .transaction = { .match = obj_match },
};

const struct app_condition dnp3_conditions[DNP3_CONDITIONS] = {
    { &keyword_dnp3_func, APP_BOTH, DNP3_COMPLETE },
    { &keyword_dnp3_ind, APP_TO_CLIENT, DNP3_COMPLETE },
    { &keyword_dnp3_obj, APP_BOTH, DNP3_COMPLETE },
};
