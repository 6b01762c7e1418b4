/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keywords of DNS, mDNS and LLMNR: the names in a message, and numbers of the header.
 *
 * A record whose name is the root has no buffer; the buffers of the other records are numbered without gaps.
 */
#include <errno.h>

#include "sluice/number_list.h"

#include "dns_priv.h"

/* --- Names ------------------------------------------------------------------------------------------- */

static bool set_bytes(const struct dns_tx *tx, const struct dns_name *name, struct app_bytes *out)
{
    *out = (struct app_bytes){ .bytes = tx->text.bytes + name->at, .length = name->length };
    return true;
}

static bool get_name(const struct dns_tx *tx, const struct dns_records *section, unsigned index, struct app_bytes *out)
{
    if (index >= section->named)
        return false;
    return set_bytes(tx, &section->first[section->first[index].named].name, out);
}

/* Returns the message of a transaction: the transaction itself, or the message of a direction of DNS over HTTP. Returns
 * NULL if there is none. */
static const struct dns_tx *get_message(const struct app_tx *tx, enum flow_direction direction)
{
    return (const struct dns_tx *)(tx->proto->inner ? tx->proto->inner(tx, direction) : tx);
}

bool dns_get_record_name(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct dns_tx *dns = get_message(tx, which.direction);

    return dns && get_name(dns, &dns->section[which.part], which.index, out);
}

bool dns_get_response(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct dns_tx *dns = get_message(tx, which.direction);
    bool response = dns && (dns->response || (dns->tx.directions == APP_BOTH && dns->flags & DNS_RESPONSE));

    for (unsigned i = 0; response && i < DNS_SECTIONS; i++) {
        const struct dns_records *section = &dns->section[i];

        if (which.index < section->named)
            return get_name(dns, section, which.index, out);
        which.index -= section->named;
        if (which.index < section->targeted)
            return set_bytes(dns, &section->first[section->first[which.index].targeted].target, out);
        which.index -= section->targeted;
    }
    return false;
}

static const char *const dns_applications[] = { "dns", "doh2", NULL };
static const char *const mdns_applications[] = { "mdns", NULL };
static const char *const llmnr_applications[] = { "llmnr", NULL };

const struct keyword keyword_dns_query = {
    .name = "dns.query",
    .aliases = { "dns_query" },
    .help = "name in the query section of a DNS request",
    .manual = "Each query has a separate buffer. Names are without length bytes: www.example.com.",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_TO_SERVER },
};

const struct keyword keyword_dns_query_name = {
    .name = "dns.query.name",
    .help = "name in the query section of a DNS message in either direction",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_BOTH },
};

const struct keyword keyword_dns_queries_rrname = {
    .name = "dns.queries.rrname",
    .help = "name in the query section of a DNS message in either direction",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_BOTH },
};

const struct keyword keyword_dns_answer_name = {
    .name = "dns.answer.name",
    .help = "name of an answer record in a DNS message in either direction",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_BOTH },
};

const struct keyword keyword_dns_answers_rrname = {
    .name = "dns.answers.rrname",
    .help = "name of an answer record in a DNS message in either direction",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_BOTH },
};

const struct keyword keyword_dns_authorities_rrname = {
    .name = "dns.authorities.rrname",
    .help = "name of an authority record in a DNS response",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_TO_CLIENT },
};

const struct keyword keyword_dns_additionals_rrname = {
    .name = "dns.additionals.rrname",
    .help = "name of an additional record in a DNS response",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_TO_CLIENT },
};

const struct keyword keyword_dns_response_rrname = {
    .name = "dns.response.rrname",
    .help = "any name in a DNS response, including names in record data",
    .manual = "Names of queries and records, and names in the data of CNAME, NS, PTR, MX and SOA records (MNAME).",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { dns_applications, APP_TO_CLIENT },
};

const struct keyword keyword_mdns_queries_rrname = {
    .name = "mdns.queries.rrname",
    .help = "name in the query section of an mDNS message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { mdns_applications, APP_BOTH },
};

const struct keyword keyword_mdns_answers_rrname = {
    .name = "mdns.answers.rrname",
    .help = "name of an answer record in an mDNS message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { mdns_applications, APP_BOTH },
};

const struct keyword keyword_mdns_authorities_rrname = {
    .name = "mdns.authorities.rrname",
    .help = "name of an authority record in an mDNS message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { mdns_applications, APP_BOTH },
};

const struct keyword keyword_mdns_additionals_rrname = {
    .name = "mdns.additionals.rrname",
    .help = "name of an additional record in an mDNS message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { mdns_applications, APP_BOTH },
};

const struct keyword keyword_mdns_response_rrname = {
    .name = "mdns.response.rrname",
    .help = "any name in an mDNS response; see dns.response.rrname",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { mdns_applications, APP_BOTH },
};

const struct keyword keyword_llmnr_queries_rrname = {
    .name = "llmnr.queries.rrname",
    .help = "name in the query section of an LLMNR message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { llmnr_applications, APP_BOTH },
};

const struct keyword keyword_llmnr_answers_rrname = {
    .name = "llmnr.answers.rrname",
    .help = "name of an answer record in an LLMNR message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { llmnr_applications, APP_BOTH },
};

const struct keyword keyword_llmnr_authorities_rrname = {
    .name = "llmnr.authorities.rrname",
    .help = "name of an authority record in an LLMNR message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { llmnr_applications, APP_BOTH },
};

const struct keyword keyword_llmnr_additionals_rrname = {
    .name = "llmnr.additionals.rrname",
    .help = "name of an additional record in an LLMNR message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { llmnr_applications, APP_BOTH },
};

const struct keyword keyword_llmnr_response_rrname = {
    .name = "llmnr.response.rrname",
    .help = "any name in an LLMNR response; see dns.response.rrname",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { llmnr_applications, APP_BOTH },
};

const struct app_buffer dns_buffers[DNS_BUFFERS] = {
    { &keyword_dns_query, APP_TO_SERVER, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_dns_query_name, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_dns_queries_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_dns_answer_name, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_ANSWERS },
    { &keyword_dns_answers_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_ANSWERS },
    { &keyword_dns_authorities_rrname, APP_TO_CLIENT, DNS_COMPLETE, .get = dns_get_record_name,
      .part = DNS_AUTHORITIES },
    { &keyword_dns_additionals_rrname, APP_TO_CLIENT, DNS_COMPLETE, .get = dns_get_record_name,
      .part = DNS_ADDITIONALS },
    { &keyword_dns_response_rrname, APP_TO_CLIENT, DNS_COMPLETE, .get = dns_get_response },
};

const struct app_buffer mdns_buffers[MDNS_BUFFERS] = {
    { &keyword_mdns_queries_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_mdns_answers_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_ANSWERS },
    { &keyword_mdns_authorities_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_AUTHORITIES },
    { &keyword_mdns_additionals_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_ADDITIONALS },
    { &keyword_mdns_response_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_response },
};

const struct app_buffer llmnr_buffers[LLMNR_BUFFERS] = {
    { &keyword_llmnr_queries_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_llmnr_answers_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_ANSWERS },
    { &keyword_llmnr_authorities_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_AUTHORITIES },
    { &keyword_llmnr_additionals_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_record_name, .part = DNS_ADDITIONALS },
    { &keyword_llmnr_response_rrname, APP_BOTH, DNS_COMPLETE, .get = dns_get_response },
};

/* --- Numbers ----------------------------------------------------------------------------------------- */

static bool dns_opcode_match(const struct match_input *in, const void *data)
{
    const struct dns_tx *dns = get_message(in->transaction, in->direction);

    return dns && dns->parsed && number_range_has(data, dns->flags >> 11 & 15);
}

static int dns_opcode_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_dns_opcode = {
    .name = "dns.opcode",
    .value = NUMBER_RANGE_FORM,
    .help = "opcode of a DNS message",
    .kind = KEYWORD_TRANSACTION,
    .scope = { dns_applications, APP_BOTH },
    .parse = dns_opcode_parse,
    .transaction = { .match = dns_opcode_match },
};

static bool dns_rcode_match(const struct match_input *in, const void *data)
{
    const struct dns_tx *dns = get_message(in->transaction, in->direction);

    return dns && dns->parsed && number_range_has(data, dns->flags & DNS_RCODE);
}

static int dns_rcode_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT16_MAX, dns_rcode_names);
}

const struct keyword keyword_dns_rcode = {
    .name = "dns.rcode",
    .value = NUMBER_RANGE_FORM " or [!]NAME",
    .help = "response code of a DNS message by number or name: 3 or nxdomain",
    .kind = KEYWORD_TRANSACTION,
    .scope = { dns_applications, APP_BOTH },
    .parse = dns_rcode_parse,
    .transaction = { .match = dns_rcode_match },
};

static uint64_t get_type(const void *of, unsigned index)
{
    return ((const struct dns_records *)of)->first[index].type;
}

static bool dns_rrtype_match(const struct match_input *in, const void *data)
{
    const struct dns_tx *dns = get_message(in->transaction, in->direction);
    const struct dns_records *section;

    if (!dns)
        return false;
    section = &dns->section[in->direction == FLOW_TO_SERVER ? DNS_QUERIES : DNS_ANSWERS];
    return number_list_match(data, get_type, section, section->count);
}

static int dns_rrtype_parse(struct rule_parser *parser, struct span value)
{
    struct number_list *list = arena_alloc(rule_parser_arena(parser), sizeof(*list));

    if (!list)
        return -ENOMEM;
    int err = number_list_parse(parser, value, UINT16_MAX, dns_type_names, UINT16_MAX, list);

    return err ? err : rule_parser_add_transaction_condition(parser, list, false);
}

const struct keyword keyword_dns_rrtype = {
    .name = "dns.rrtype",
    .value = NUMBER_LIST_FORM "; a number may be a NAME",
    .help = "type of a query in a DNS request, or of an answer in a response, by number or name: 16 or txt",
    .manual =
        "The condition applies to the type of each query or answer; ! negates it. WHICH selects which of them must\n"
        "match: any (the default), all, all_or_absent, or_absent (any, or the list is empty), an index (0 is the\n"
        "first, -1 the last), oob_or INDEX (that one, or it does not exist), or nb NUMBER (exactly this many).\n"
        "FROM:TO restricts the list to a part.",
    .kind = KEYWORD_TRANSACTION,
    .scope = { dns_applications, APP_BOTH },
    .parse = dns_rrtype_parse,
    .transaction = { .match = dns_rrtype_match },
};

const struct app_condition dns_conditions[DNS_CONDITIONS] = {
    { &keyword_dns_opcode, APP_BOTH, DNS_COMPLETE },
    { &keyword_dns_rcode, APP_BOTH, DNS_COMPLETE },
    { &keyword_dns_rrtype, APP_BOTH, DNS_COMPLETE },
};
