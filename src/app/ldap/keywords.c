/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LDAP keywords. */
#include <errno.h>

#include "ldap_priv.h"
#include "sluice/arena.h"
#include "sluice/number_list.h"

static const char *const applications[] = { "ldap", NULL };

/* --- Buffers ----------------------------------------------------------------------------------------- */

enum part { REQUEST_DN, REQUEST_ATTRIBUTE, RESPONSE_DN, RESPONSE_MESSAGE, RESPONSE_ATTRIBUTE };

static bool get_text(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct ldap_tx *ldap = (const struct ldap_tx *)tx;
    const struct ldap_spans *const spans[] = { [REQUEST_ATTRIBUTE] = &ldap->request_attributes,
                                               [RESPONSE_DN] = &ldap->dns,
                                               [RESPONSE_MESSAGE] = &ldap->messages,
                                               [RESPONSE_ATTRIBUTE] = &ldap->response_attributes };
    const struct buffer *bytes = which.part <= REQUEST_ATTRIBUTE ? &ldap->request : &ldap->responses;
    struct ldap_span span = ldap->dn;

    if (which.part == REQUEST_DN && !ldap->has_dn)
        return false;
    if (which.part != REQUEST_DN) {
        if (which.index >= spans[which.part]->count)
            return false;
        memcpy(&span, spans[which.part]->buffer.bytes + which.index * sizeof(span), sizeof(span));
    }
    *out = (struct app_bytes){ .bytes = (const uint8_t *)"", .length = span.length };
    if (span.length > 0)
        out->bytes = bytes->bytes + span.at;
    return true;
}

const struct keyword keyword_ldap_request_dn = {
    .name = "ldap.request.dn",
    .help = "distinguished name in an LDAP request",
    .manual =
        "The base object of a search, the name of a bind, the entry that is added, modified, deleted, renamed or\n"
        "compared.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ldap_request_attribute_type = {
    .name = "ldap.request.attribute_type",
    .help = "attribute type in an LDAP request",
    .manual = "Each attribute of a search, modify, add or compare request has a separate buffer.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_ldap_responses_dn = {
    .name = "ldap.responses.dn",
    .help = "distinguished name in an LDAP response",
    .manual = "The name of a search result entry, or the matched name of a result; each response that has one has a\n"
              "separate buffer.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_CLIENT },
};

const struct keyword keyword_ldap_responses_message = {
    .name = "ldap.responses.message",
    .help = "diagnostic message in an LDAP result",
    .manual = "Each result has a separate buffer.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_CLIENT },
};

const struct keyword keyword_ldap_responses_attribute_type = {
    .name = "ldap.responses.attribute_type",
    .help = "attribute type in an LDAP search result entry",
    .manual = "Each attribute of all entries has a separate buffer.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_CLIENT },
};

const struct app_buffer ldap_buffers[LDAP_BUFFERS] = {
    { &keyword_ldap_request_dn, APP_TO_SERVER, LDAP_COMPLETE, .get = get_text, .part = REQUEST_DN },
    { &keyword_ldap_request_attribute_type, APP_TO_SERVER, LDAP_COMPLETE, .get = get_text, .part = REQUEST_ATTRIBUTE },
    { &keyword_ldap_responses_dn, APP_TO_CLIENT, LDAP_COMPLETE, .get = get_text, .part = RESPONSE_DN },
    { &keyword_ldap_responses_message, APP_TO_CLIENT, LDAP_COMPLETE, .get = get_text, .part = RESPONSE_MESSAGE },
    { &keyword_ldap_responses_attribute_type, APP_TO_CLIENT, LDAP_COMPLETE, .get = get_text,
      .part = RESPONSE_ATTRIBUTE },
};

/* --- Numbers ----------------------------------------------------------------------------------------- */

const struct ldap_response *ldap_get_response(const struct ldap_tx *tx, uint32_t index)
{
    return (const struct ldap_response *)(const void *)tx->response_list.bytes + index;
}

static bool request_operation_match(const struct match_input *in, const void *data)
{
    const struct ldap_tx *ldap = (const struct ldap_tx *)in->transaction;

    return ldap->has_request && number_range_has(data, ldap->operation);
}

static int request_operation_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, ldap_operation_names);
}

const struct keyword keyword_ldap_request_operation = {
    .name = "ldap.request.operation",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "operation of an LDAP request by number or name: 3 or search_request",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = request_operation_parse,
    .transaction = { .match = request_operation_match },
};

static int list_parse(struct rule_parser *parser, struct span value, uint64_t limit, const struct number_name *names)
{
    struct number_list *list = arena_alloc(rule_parser_arena(parser), sizeof(*list));

    if (!list)
        return -ENOMEM;
    int err = number_list_parse(parser, value, limit, names, UINT16_MAX, list);

    return err ? err : rule_parser_add_transaction_condition(parser, list, false);
}

static uint64_t get_operation(const void *of, unsigned index)
{
    return ldap_get_response(of, index)->operation;
}

static bool responses_operation_match(const struct match_input *in, const void *data)
{
    const struct ldap_tx *ldap = (const struct ldap_tx *)in->transaction;

    return number_list_match(data, get_operation, ldap, ldap->response_count);
}

static int responses_operation_parse(struct rule_parser *parser, struct span value)
{
    return list_parse(parser, value, UINT8_MAX, ldap_operation_names);
}

const struct keyword keyword_ldap_responses_operation = {
    .name = "ldap.responses.operation",
    .value = NUMBER_LIST_FORM "; a number may be a NAME",
    .help = "operation of an LDAP response by number or name: 4 or search_result_entry",
    .manual = "The responses of a request are a list; see dns.rrtype for the selection of its elements. The condition\n"
              "is evaluated with each response.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_TO_CLIENT },
    .parse = responses_operation_parse,
    .transaction = { .match = responses_operation_match },
};

static uint64_t get_result(const void *of, unsigned index)
{
    uint32_t code;

    memcpy(&code, ((const struct ldap_tx *)of)->results.bytes + index * sizeof(code), sizeof(code));
    return code;
}

static bool result_code_match(const struct match_input *in, const void *data)
{
    const struct ldap_tx *ldap = (const struct ldap_tx *)in->transaction;

    return number_list_match(data, get_result, ldap, ldap->result_count);
}

static int result_code_parse(struct rule_parser *parser, struct span value)
{
    return list_parse(parser, value, UINT32_MAX, ldap_result_names);
}

const struct keyword keyword_ldap_responses_result_code = {
    .name = "ldap.responses.result_code",
    .value = NUMBER_LIST_FORM "; a number may be a NAME",
    .help = "result code of an LDAP response by number or name: 49 or invalid_credentials",
    .manual = "The results of a request are a list, which has no element for responses without a result code, such as\n"
              "search result entries; see dns.rrtype for the selection of its elements.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_TO_CLIENT },
    .parse = result_code_parse,
    .transaction = { .match = result_code_match },
};

static bool count_match(const struct match_input *in, const void *data)
{
    return number_range_has(data, ((const struct ldap_tx *)in->transaction)->response_count);
}

static int count_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_ldap_responses_count = {
    .name = "ldap.responses.count",
    .value = NUMBER_RANGE_FORM,
    .help = "number of LDAP responses to a request: >100",
    .manual = "The condition is evaluated with each response. At most 501 responses are counted.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_TO_CLIENT },
    .parse = count_parse,
    .transaction = { .match = count_match },
};

const struct app_condition ldap_conditions[LDAP_CONDITIONS] = {
    { &keyword_ldap_request_operation, APP_TO_SERVER, LDAP_COMPLETE },
    { &keyword_ldap_responses_operation, APP_TO_CLIENT, LDAP_RESPONDED },
    { &keyword_ldap_responses_result_code, APP_TO_CLIENT, LDAP_RESPONDED },
    { &keyword_ldap_responses_count, APP_TO_CLIENT, LDAP_RESPONDED },
};
