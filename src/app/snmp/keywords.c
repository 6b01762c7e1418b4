/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SNMP keywords. */
#include "snmp_priv.h"

static const char *const applications[] = { "snmp", NULL };

/* --- Numbers ----------------------------------------------------------------------------------------- */

static bool version_match(const struct match_input *in, const void *data)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)in->transaction;

    return snmp->parsed && number_range_has(data, snmp->version);
}

static bool pdu_match(const struct match_input *in, const void *data)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)in->transaction;

    return snmp->parsed && snmp->has_pdu && number_range_has(data, snmp->pdu_type);
}

static bool trap_match(const struct match_input *in, const void *data)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)in->transaction;

    return snmp->parsed && snmp->has_trap && number_range_has(data, (uint32_t)snmp->trap_type);
}

static int number_parse(struct rule_parser *parser, struct span value)
{
    const struct keyword *keyword = rule_parser_keyword(parser);
    const struct number_name *names = keyword == &keyword_snmp_pdu_type    ? snmp_pdu_names
                                      : keyword == &keyword_snmp_trap_type ? snmp_trap_names
                                                                           : NULL;

    return number_range_transaction_condition(parser, value, UINT32_MAX, names);
}

const struct keyword keyword_snmp_version = {
    .name = "snmp.version",
    .value = NUMBER_RANGE_FORM,
    .help = "version of an SNMP message: 1, 2 (2c) or 3",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = version_match },
};

const struct keyword keyword_snmp_pdu_type = {
    .name = "snmp.pdu_type",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help =
        "type of an SNMP PDU by number or name: 0 or get_request; get_next_request, response, set_request, trap_v1, "
        "get_bulk_request, inform_request, trap_v2, report; encrypted PDUs do not match",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = pdu_match },
};

const struct keyword keyword_snmp_trap_type = {
    .name = "snmp.trap_type",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "type of an SNMP trap of version 1 by number or name: 0 or coldstart; warmstart, linkdown, linkup, "
            "authenticationfailure, egpneighborloss, enterprisespecific",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = trap_match },
};

const struct app_condition snmp_conditions[SNMP_CONDITIONS] = {
    { &keyword_snmp_version, APP_BOTH, SNMP_COMPLETE },
    { &keyword_snmp_pdu_type, APP_BOTH, SNMP_COMPLETE },
    { &keyword_snmp_trap_type, APP_BOTH, SNMP_COMPLETE },
};

/* --- Buffers ----------------------------------------------------------------------------------------- */

enum part { COMMUNITY, USM, TRAP_OID };

static bool get_text(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)tx;
    const struct snmp_text *text = which.part == COMMUNITY ? &snmp->community
                                   : which.part == USM     ? &snmp->usm
                                                           : &snmp->trap_oid;

    if (!snmp->parsed || !text->is_present)
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)"", .length = text->length };
    if (text->length > 0)
        out->bytes = snmp->text.bytes + text->at;
    return true;
}

static bool get_address(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)tx;

    (void)which;
    *out = (struct app_bytes){ .bytes = snmp->trap_address, .length = SNMP_ADDRESS };
    return snmp->parsed && snmp->has_trap;
}

const struct keyword keyword_snmp_community = {
    .name = "snmp.community",
    .help = "community string of an SNMP message of version 1 or 2c",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_snmp_usm = {
    .name = "snmp.usm",
    .help = "user name of an SNMP message of version 3 with the User-based Security Model",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_snmp_trap_oid = {
    .name = "snmp.trap_oid",
    .help = "enterprise OID of an SNMP trap of version 1, as text: 1.3.6.1.4.1.4.1.2.21",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_snmp_trap_address = {
    .name = "snmp.trap_address",
    .help = "agent address of an SNMP trap of version 1 (four bytes)",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer snmp_buffers[SNMP_BUFFERS] = {
    { &keyword_snmp_community, APP_BOTH, SNMP_COMPLETE, .get = get_text, .part = COMMUNITY },
    { &keyword_snmp_usm, APP_BOTH, SNMP_COMPLETE, .get = get_text, .part = USM },
    { &keyword_snmp_trap_oid, APP_BOTH, SNMP_COMPLETE, .get = get_text, .part = TRAP_OID },
    { &keyword_snmp_trap_address, APP_BOTH, SNMP_COMPLETE, .get = get_address },
};
