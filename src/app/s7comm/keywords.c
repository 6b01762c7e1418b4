/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "s7comm_priv.h"
#include "sluice/arena.h"
#include "sluice/text.h"

static const char *const applications[] = { "s7comm", NULL };

/* --- Buffers ----------------------------------------------------------------------------------------- */

enum part { PART_CONTENT, PART_BLOCK, PART_SERVICE };

static bool get_bytes(const struct app_tx *base, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];
    const struct s7comm_tx *tx = (const struct s7comm_tx *)base;

    if (which.part == PART_CONTENT) {
        *out = (struct app_bytes){ .bytes = tx->content.bytes ? tx->content.bytes : nothing,
                                   .length = tx->content.length };
        return tx->is_parsed;
    }
    if (tx->name_at == 0 || s7comm_names_block(tx) != (which.part == PART_BLOCK))
        return false;
    *out = (struct app_bytes){ .bytes = tx->content.bytes + tx->name_at, .length = tx->name_length };
    return true;
}

const struct keyword keyword_s7comm_content = {
    .name = "s7comm.content",
    .help = "selects the parameters and data of an S7comm PDU",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_s7comm_block = {
    .name = "s7comm.block",
    .help = "name of the block that an S7comm job downloads or starts to upload: _0A00001P is DB 1",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_s7comm_service = {
    .name = "s7comm.service",
    .help = "name of the service that an S7comm job plc_control or plc_stop requests: P_PROGRAM or _DELE",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer s7comm_buffers[S7COMM_BUFFERS] = {
    { &keyword_s7comm_content, APP_BOTH, S7COMM_COMPLETE, .get = get_bytes, .part = PART_CONTENT },
    { &keyword_s7comm_block, APP_BOTH, S7COMM_COMPLETE, .get = get_bytes, .part = PART_BLOCK },
    { &keyword_s7comm_service, APP_BOTH, S7COMM_COMPLETE, .get = get_bytes, .part = PART_SERVICE },
};

/* --- Header ------------------------------------------------------------------------------------------ */

static bool rosctr_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->is_parsed && number_range_has(data, tx->rosctr);
}

static int rosctr_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, s7comm_rosctr_names);
}

const struct keyword keyword_s7comm_rosctr = {
    .name = "s7comm.rosctr",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "type of an S7comm PDU by name or number: job, ack, ack_data or userdata",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = rosctr_parse,
    .transaction = { .match = rosctr_match },
};

static bool reference_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->is_parsed && number_range_has(data, tx->reference);
}

static int reference_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_s7comm_pdu_reference = {
    .name = "s7comm.pdu_reference",
    .value = NUMBER_RANGE_FORM,
    .help = "PDU reference of an S7comm PDU; a response has the reference of its request",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = reference_parse,
    .transaction = { .match = reference_match },
};

static bool error_class_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->has_error && number_range_has(data, tx->error_class);
}

static int error_class_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, s7comm_error_class_names);
}

const struct keyword keyword_s7comm_error_class = {
    .name = "s7comm.error_class",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "error class of an S7comm response by name or number: no_error, application_relationship, "
            "object_definition, no_resources, service_processing, supplies or access",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = error_class_parse,
    .transaction = { .match = error_class_match },
};

static bool error_code_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->has_error && number_range_has(data, tx->error_code);
}

static int byte_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_s7comm_error_code = {
    .name = "s7comm.error_code",
    .value = NUMBER_RANGE_FORM,
    .help = "error code of an S7comm response, within its error class",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = byte_parse,
    .transaction = { .match = error_code_match },
};

/* --- Functions --------------------------------------------------------------------------------------- */

static bool function_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->has_function && number_range_has(data, tx->function);
}

static int function_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, s7comm_function_names);
}

const struct keyword keyword_s7comm_function = {
    .name = "s7comm.function",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "function of an S7comm job or its response by name or number: cpu_services, read_var, write_var, "
            "request_download, download_block, download_ended, start_upload, upload, end_upload, plc_control, plc_stop "
            "or setup_communication",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = function_parse,
    .transaction = { .match = function_match },
};

static bool group_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->has_userdata && number_range_has(data, tx->group);
}

static int group_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, s7comm_group_names);
}

const struct keyword keyword_s7comm_userdata_group = {
    .name = "s7comm.userdata_group",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "function group of S7comm user data by name or number: mode_transition, programmer, cyclic_data, "
            "blocks, cpu, security, pbc or time",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = group_parse,
    .transaction = { .match = group_match },
};

static bool subfunction_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;

    return tx->has_userdata && number_range_has(data, tx->subfunction);
}

const struct keyword keyword_s7comm_userdata_subfunction = {
    .name = "s7comm.userdata_subfunction",
    .value = NUMBER_RANGE_FORM,
    .help = "number of the function of S7comm user data within its function group",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = byte_parse,
    .transaction = { .match = subfunction_match },
};

/* --- Items ------------------------------------------------------------------------------------------- */

struct item_condition {
    bool has_area, has_db, has_address;
    struct number_range area, db;
    struct number_range address; /* of any byte of the item */
};

/* Returns whether any byte of the item has an address in the range. */
static bool has_address(const struct number_range *range, const struct s7comm_item *item)
{
    uint64_t first = item->address, last = first + item->size - 1;

    /* A negated range matches if the first or the last byte is outside of it. Another range matches if it contains the
     * first byte, or if it begins within the item. */
    if (range->negated)
        return number_range_has(range, first) || number_range_has(range, last);
    return number_range_has(range, first) || (range->low >= first && range->low <= last);
}

static bool item_match(const struct match_input *in, const void *data)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)in->transaction;
    const struct item_condition *condition = data;

    for (uint32_t i = 0; i < s7comm_item_count(tx); i++) {
        const struct s7comm_item *item = s7comm_get_item(tx, i);
        bool is_db = item->area == S7COMM_AREA_DB || item->area == S7COMM_AREA_INSTANCE_DB;

        if ((!condition->has_area || number_range_has(&condition->area, item->area)) &&
            (!condition->has_db || (is_db && number_range_has(&condition->db, item->db))) &&
            (!condition->has_address || has_address(&condition->address, item)))
            return true;
    }
    return false;
}

static int item_parse(struct rule_parser *parser, struct span value)
{
    struct item_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    const struct {
        const char *name;
        bool *has;
        struct number_range *range;
        uint64_t limit;
        const struct number_name *names;
    } parts[] = {
        { "area ", condition ? &condition->has_area : NULL, condition ? &condition->area : NULL, UINT8_MAX,
          s7comm_area_names },
        { "db ", condition ? &condition->has_db : NULL, condition ? &condition->db : NULL, UINT16_MAX, NULL },
        { "address ", condition ? &condition->has_address : NULL, condition ? &condition->address : NULL, UINT32_MAX,
          NULL },
    };
    struct span rest = value;

    if (!condition)
        return -ENOMEM;
    *condition = (struct item_condition){ .has_area = false };
    for (struct span text; span_next(&rest, ',', &text);) {
        size_t i = 0;

        while (i < sizeof(parts) / sizeof(parts[0]) &&
               (*parts[i].has || !number_range_skip_prefix(&text, parts[i].name)))
            i++;
        if (i == sizeof(parts) / sizeof(parts[0]))
            return rule_parser_error(parser, text,
                                     "expected area, db and address, each at most once, with a value: "
                                     "area db, db 5, address <100");
        int err = number_range_parse(parser, text, parts[i].limit, parts[i].names, parts[i].range);

        if (err < 0)
            return err;
        if (parts[i].range == &condition->address && condition->address.mask != UINT64_MAX)
            return rule_parser_error(parser, text, "an address cannot have a mask");
        *parts[i].has = true;
    }
    return rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_s7comm_item = {
    .name = "s7comm.item",
    .value = "[area NAME|NUMBER][, db NUMBER][, address NUMBER]",
    .help =
        "one variable that an S7comm job reads or writes: its area by name or number (db, flags, inputs, outputs, "
        "peripherals, timers, counters), number of the data block, and address of any of its bytes; NUMBER may be a "
        "range: db 5, address <100",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = item_parse,
    .transaction = { .match = item_match },
};

const struct app_condition s7comm_conditions[S7COMM_CONDITIONS] = {
    { &keyword_s7comm_rosctr, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_pdu_reference, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_error_class, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_error_code, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_function, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_userdata_group, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_userdata_subfunction, APP_BOTH, S7COMM_COMPLETE },
    { &keyword_s7comm_item, APP_BOTH, S7COMM_COMPLETE },
};
