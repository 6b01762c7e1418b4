/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages in EVE events. Events of DNS have Suricata's format 2 or 3, in which the key of a record's data is `rdata`;
 * in events of mDNS and LLMNR the key of the data is the type of the record. Suricata's schema has the data of some
 * types in some sections only. Elsewhere the record has only its name, and its data is in the object "sluice" of the
 * event.
 */
#include <stdio.h>
#include <string.h>

#include "dns_priv.h"
#include "sluice/bytes.h"

enum record_format { FORMAT_DNS, FORMAT_MDNS, FORMAT_LLMNR };

static void log_name(const struct dns_tx *tx, const struct dns_name *name, const char *key, struct fields *out)
{
    fields_bytes(out, key, tx->text.bytes + name->at, name->length);
}

const char *dns_format_address(const uint8_t *data, uint16_t length, char text[DNS_ADDRESS_TEXT])
{
    size_t at = 0;

    if (length == 4) {
        snprintf(text, DNS_ADDRESS_TEXT, "%u.%u.%u.%u", data[0], data[1], data[2], data[3]);
        return text;
    }
    for (unsigned i = 0; length == 16 && i < 16; i += 2)
        at += (size_t)snprintf(text + at, DNS_ADDRESS_TEXT - at, "%s%02x%02x", i ? ":" : "", data[i], data[i + 1]);
    return length == 16 ? text : "";
}

static void log_soa(const struct dns_tx *tx, const struct dns_record *record, const char *key, struct fields *out)
{
    static const char *const numbers[] = { "serial", "refresh", "retry", "expire", "minimum" };

    fields_object_open(out, key);
    if (record->numbers) {
        log_name(tx, &record->target, "mname", out);
        if (record->target.flags & DNS_NAME_TRUNCATED)
            fields_bool(out, "mname_truncated", true);
        log_name(tx, &record->mailbox, "rname", out);
        for (unsigned i = 0; i < 5; i++)
            fields_uint(out, numbers[i], load_be32(tx->text.bytes + record->numbers + 4 * i));
    }
    fields_object_close(out);
}

static void log_srv(const struct dns_tx *tx, const struct dns_record *record, const char *key, struct fields *out)
{
    static const char *const numbers[] = { "priority", "weight", "port" };

    fields_object_open(out, key);
    if (record->numbers) {
        for (unsigned i = 0; i < 3; i++)
            fields_uint(out, numbers[i], load_be16(tx->text.bytes + record->numbers + 2 * i));
        log_name(tx, &record->target, "name", out);
    }
    fields_object_close(out);
}

static void log_sshfp(const struct dns_tx *tx, const struct dns_record *record, const char *key, struct fields *out)
{
    const uint8_t *data = tx->text.bytes + record->data;

    fields_object_open(out, key);
    if (record->data_length >= 2) {
        fields_colon_hex(out, "fingerprint", data + 2, record->data_length - 2u);
        fields_uint(out, "algo", data[0]);
        fields_uint(out, "type", data[1]);
    }
    fields_object_close(out);
}

static void log_opt(const struct dns_tx *tx, const struct dns_record *record, const char *key, struct fields *out)
{
    struct cursor cur = cursor_of(tx->text.bytes + record->data, record->data_length);
    uint16_t code, length;

    fields_array_open(out, key);
    while (cursor_be16(&cur, &code) && cursor_be16(&cur, &length)) {
        const uint8_t *data = cursor_read(&cur, length);

        fields_object_open(out, NULL);
        fields_uint(out, "code", code);
        fields_hex(out, "data", data, data ? length : 0);
        fields_object_close(out);
    }
    fields_array_close(out);
}

/* Returns the next string of a TXT record, or NULL after the last. */
static const uint8_t *next_string(struct cursor *cur, uint8_t *length)
{
    return cursor_u8(cur, length) ? cursor_read(cur, *length) : NULL;
}

static void log_strings(const struct dns_tx *tx, const struct dns_record *record, struct fields *out)
{
    struct cursor cur = cursor_of(tx->text.bytes + record->data, record->data_length);
    uint8_t length;

    for (const uint8_t *text; (text = next_string(&cur, &length));)
        fields_bytes(out, NULL, text, length);
}

/* Logs the data of a record under the key `key`. The type of the record is not TXT or OPT. */
static void log_data(const struct dns_tx *tx, const struct dns_record *record, const char *key, struct fields *out)
{
    const uint8_t *data = tx->text.bytes + record->data;
    char text[DNS_ADDRESS_TEXT];

    switch (record->type) {
    case DNS_A:
    case DNS_AAAA:
        fields_string(out, key, dns_format_address(data, record->data_length, text));
        break;
    case DNS_CNAME:
    case DNS_NS:
    case DNS_PTR:
    case DNS_MX:
        log_name(tx, &record->target, key, out);
        break;
    case DNS_SOA:
        log_soa(tx, record, key, out);
        break;
    case DNS_SRV:
        log_srv(tx, record, key, out);
        break;
    case DNS_SSHFP:
        log_sshfp(tx, record, key, out);
        break;
    default:
        fields_bytes(out, key, data, record->data_length);
    }
}

static const char *rdata_key(uint16_t type)
{
    switch (type) {
    case DNS_SOA:
        return "soa";
    case DNS_SRV:
        return "srv";
    case DNS_SSHFP:
        return "sshfp";
    case DNS_A:
    case DNS_AAAA:
    case DNS_CNAME:
    case DNS_NS:
    case DNS_PTR:
    case DNS_MX:
    case DNS_NULL:
        return "rdata";
    default:
        return NULL;
    }
}

/* Whether the schema has a member for the data of a record of this type. */
static bool has_place(enum record_format format, enum dns_section section, uint16_t type)
{
    if (format == FORMAT_MDNS)
        return section != DNS_AUTHORITIES && (type == DNS_PTR || type == DNS_TXT);
    switch (type) {
    case DNS_OPT:
        return section == DNS_ADDITIONALS;
    case DNS_SOA:
        return section != DNS_ADDITIONALS;
    case DNS_SRV:
    case DNS_SSHFP:
        return section == DNS_ANSWERS;
    default:
        return true;
    }
}

static void log_record_name(const struct dns_tx *tx, const struct dns_record *record, bool has_flag, struct fields *out)
{
    log_name(tx, &record->name, "rrname", out);
    if (has_flag && record->name.flags & DNS_NAME_TRUNCATED)
        fields_bool(out, "rrname_truncated", true);
}

static void log_record_start(const struct dns_tx *tx, const struct dns_record *record, enum dns_section section,
                             struct fields *out)
{
    char text[DNS_TYPE_NAME];

    fields_object_open(out, NULL);
    log_record_name(tx, record, section == DNS_AUTHORITIES, out);
    fields_string(out, "rrtype", dns_type_name(record->type, false, text));
    fields_uint(out, "ttl", record->ttl);
}

/* Logs a record with `rdata`; a TXT record is logged as one record per string. */
static void log_record(const struct dns_tx *tx, const struct dns_record *record, enum dns_section section,
                       struct fields *out)
{
    const char *key = has_place(FORMAT_DNS, section, record->type) ? rdata_key(record->type) : NULL;
    struct cursor cur = cursor_of(tx->text.bytes + record->data, record->data_length);
    uint8_t length;

    if (record->type == DNS_TXT) {
        for (const uint8_t *text; (text = next_string(&cur, &length));) {
            log_record_start(tx, record, section, out);
            fields_bytes(out, "rdata", text, length);
            fields_object_close(out);
        }
        return;
    }
    log_record_start(tx, record, section, out);
    if (record->type == DNS_OPT && section == DNS_ADDITIONALS)
        log_opt(tx, record, "opt", out);
    else if (key)
        log_data(tx, record, key, out);
    if (record->target.flags & DNS_NAME_TRUNCATED && section == DNS_AUTHORITIES && key && strcmp(key, "rdata") == 0)
        fields_bool(out, "rdata_truncated", true);
    fields_object_close(out);
}

static const char *const typed_keys[] = {
    [DNS_A] = "a",       [DNS_NS] = "ns",   [DNS_CNAME] = "cname", [DNS_SOA] = "soa",
    [DNS_NULL] = "null", [DNS_PTR] = "ptr", [DNS_MX] = "mx",       [DNS_TXT] = "txt",
    [DNS_AAAA] = "aaaa", [DNS_SRV] = "srv", [DNS_OPT] = "opt",     [DNS_SSHFP] = "sshfp",
};

static void log_typed_record(const struct dns_tx *tx, const struct dns_record *record, bool with_data,
                             struct fields *out)
{
    const char *key = record->type < sizeof(typed_keys) / sizeof(typed_keys[0]) ? typed_keys[record->type] : NULL;

    fields_object_open(out, NULL);
    log_record_name(tx, record, true, out);
    if (!with_data) {
        fields_object_close(out);
        return;
    }
    if (record->type == DNS_TXT) {
        fields_array_open(out, key);
        log_strings(tx, record, out);
        fields_array_close(out);
    } else if (record->type == DNS_OPT) {
        log_opt(tx, record, key, out);
    } else {
        log_data(tx, record, key ? key : "unknown", out);
    }
    fields_object_close(out);
}

static void log_section(const struct dns_tx *tx, enum dns_section number, const char *key, enum record_format format,
                        bool own, struct fields *out)
{
    const struct dns_records *section = &tx->section[number];
    bool open = false;

    for (uint16_t i = 0; i < section->count; i++) {
        const struct dns_record *record = &section->first[i];

        if (number == DNS_ADDITIONALS && record->type == DNS_OPT && record->data_length == 0)
            continue; /* an OPT record without data only announces EDNS */
        if (own && has_place(format, number, record->type))
            continue;
        if (!open)
            fields_array_open(out, key);
        open = true;
        if (format == FORMAT_DNS && !own)
            log_record(tx, record, number, out);
        else
            log_typed_record(tx, record, own || has_place(format, number, record->type), out);
    }
    if (open)
        fields_array_close(out);
}

/* Logs the data of all answers of a type as one array. */
static void log_group(const struct dns_tx *tx, uint16_t type, const char *key, struct fields *out)
{
    const struct dns_records *answers = &tx->section[DNS_ANSWERS];
    bool open = false;

    for (uint16_t i = 0; i < answers->count; i++) {
        const struct dns_record *record = &answers->first[i];

        if (record->type != type)
            continue;
        if (!open)
            fields_array_open(out, key);
        open = true;
        if (type == DNS_TXT)
            log_strings(tx, record, out);
        else
            log_data(tx, record, NULL, out);
    }
    if (open)
        fields_array_close(out);
}

static void log_grouped(const struct dns_tx *tx, struct fields *out)
{
    static const struct {
        uint16_t type;
        const char *key;
    } groups[] = { { DNS_A, "A" },     { DNS_AAAA, "AAAA" }, { DNS_CNAME, "CNAME" }, { DNS_MX, "MX" },
                   { DNS_NS, "NS" },   { DNS_PTR, "PTR" },   { DNS_TXT, "TXT" },     { DNS_NULL, "NULL" },
                   { DNS_SOA, "SOA" }, { DNS_SRV, "SRV" },   { DNS_SSHFP, "SSHFP" } };

    fields_object_open(out, "grouped");
    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        log_group(tx, groups[i].type, groups[i].key, out);
    fields_object_close(out);
}

static bool is_type_selected(const struct dns_settings *settings, uint16_t type)
{
    return !settings || settings->all_types || (type < DNS_LOG_TYPES && settings->types[type]);
}

static void log_answers(const struct dns_tx *tx, const struct dns_settings *settings, struct fields *out)
{
    if (tx->section[DNS_ANSWERS].count == 0)
        return;
    if (!settings || settings->detailed)
        log_section(tx, DNS_ANSWERS, "answers", FORMAT_DNS, false, out);
    if (!settings || settings->grouped)
        log_grouped(tx, out);
}

static void log_flags(const struct dns_tx *tx, struct fields *out)
{
    static const struct {
        uint16_t bit;
        const char *key;
    } bits[] = { { DNS_RESPONSE, "qr" },          { DNS_AUTHORITATIVE, "aa" },       { DNS_TRUNCATED, "tc" },
                 { DNS_RECURSION_DESIRED, "rd" }, { DNS_RECURSION_AVAILABLE, "ra" }, { DNS_Z, "z" } };
    char text[8];

    snprintf(text, sizeof(text), "%x", tx->flags);
    fields_string(out, "flags", text);
    for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
        if (tx->flags & bits[i].bit)
            fields_bool(out, bits[i].key, true);
}

static void log_queries(const struct dns_tx *tx, const struct dns_settings *settings, bool lower, struct fields *out)
{
    const struct dns_records *queries = &tx->section[DNS_QUERIES];
    char text[DNS_TYPE_NAME];

    if (queries->count == 0)
        return;
    fields_array_open(out, "queries");
    for (uint16_t i = 0; i < queries->count; i++) {
        if (!is_type_selected(settings, queries->first[i].type))
            continue;
        fields_object_open(out, NULL);
        log_record_name(tx, &queries->first[i], true, out);
        fields_string(out, "rrtype", dns_type_name(queries->first[i].type, lower, text));
        fields_object_close(out);
    }
    fields_array_close(out);
}

/* Version 2 logs one query: in a response the first one, in a request the first one whose type is selected by
 * eve.types.dns.types. */
static void log_first_query(const struct dns_tx *tx, const struct dns_settings *settings, struct fields *out)
{
    const struct dns_records *queries = &tx->section[DNS_QUERIES];
    char text[DNS_TYPE_NAME];

    for (uint16_t i = 0; i < queries->count; i++) {
        if (!tx->response && !is_type_selected(settings, queries->first[i].type))
            continue;
        log_record_name(tx, &queries->first[i], false, out);
        fields_string(out, "rrtype", dns_type_name(queries->first[i].type, false, text));
        return;
    }
}

static void log_version_2(const struct dns_tx *tx, const struct dns_settings *settings, struct fields *out)
{
    char text[DNS_TYPE_NAME];

    fields_string(out, "type", tx->response ? "answer" : "query");
    fields_uint(out, "id", tx->id);
    if (tx->response) {
        log_flags(tx, out);
    } else {
        fields_uint(out, "tx_id", tx->tx.id);
        if (tx->flags & DNS_Z)
            fields_bool(out, "z", true);
    }
    fields_uint(out, "opcode", tx->flags >> 11 & 15);
    log_first_query(tx, settings, out);
    if (!tx->response)
        return;
    fields_string(out, "rcode", dns_rcode_name(tx->flags & DNS_RCODE, text));
    log_answers(tx, settings, out);
    log_section(tx, DNS_AUTHORITIES, "authorities", FORMAT_DNS, false, out);
    log_section(tx, DNS_ADDITIONALS, "additionals", FORMAT_DNS, false, out);
}

static void log_version_3(const struct dns_tx *tx, const struct dns_settings *settings, struct fields *out)
{
    char text[DNS_TYPE_NAME];

    fields_string(out, "type", tx->response ? "response" : "request");
    fields_uint(out, "tx_id", tx->tx.id);
    fields_uint(out, "id", tx->id);
    log_flags(tx, out);
    fields_uint(out, "opcode", tx->flags >> 11 & 15);
    fields_string(out, "rcode", dns_rcode_name(tx->flags & DNS_RCODE, text));
    log_queries(tx, settings, false, out);
    log_answers(tx, settings, out);
    log_section(tx, DNS_AUTHORITIES, "authorities", FORMAT_DNS, false, out);
    log_section(tx, DNS_ADDITIONALS, "additionals", FORMAT_DNS, false, out);
}

void dns_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct dns_tx *dns = (const struct dns_tx *)tx;
    const struct dns_settings *log_settings = settings;

    fields_uint(out, "version", log_settings ? log_settings->version : 3);
    if (!dns->parsed)
        return;
    if (log_settings && log_settings->version == 2)
        log_version_2(dns, log_settings, out);
    else
        log_version_3(dns, log_settings, out);
}

/* Alerts contain the message in version 3 with all details, regardless of the settings of dns events. */
void dns_log_alert(const struct app_tx *tx, const void *settings, struct fields *out)
{
    (void)settings;
    dns_log(tx, NULL, out);
}

/* Whether the event has the direction of the server. In version 2 all events have the direction of the flow. */
bool dns_logs_from_server(const struct app_tx *tx, const void *settings)
{
    const struct dns_settings *log_settings = settings;

    bool from_server =
        tx->directions == APP_TO_CLIENT || (tx->directions == APP_BOTH && ((const struct dns_tx *)tx)->response);

    return from_server && !(log_settings && log_settings->version == 2);
}

bool dns_wants_log_any(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->only_events || ((const struct dns_tx *)tx)->parsed;
}

bool dns_wants_log(const struct app_tx *tx, const void *settings)
{
    const struct dns_tx *dns = (const struct dns_tx *)tx;
    const struct dns_settings *log_settings = settings;
    const struct dns_records *queries = &dns->section[DNS_QUERIES];

    if (!dns->parsed || tx->only_events)
        return tx->only_events;
    if (dns->response ? !log_settings->responses : !log_settings->requests)
        return false;
    for (uint16_t i = 0; i < queries->count; i++)
        if (is_type_selected(log_settings, queries->first[i].type))
            return true;
    return false;
}

/* --- mDNS and LLMNR ---------------------------------------------------------------------------------- */

struct flag_name {
    uint16_t bit;
    const char *name;
};

static void log_flag_names(const struct dns_tx *tx, const struct flag_name *names, unsigned count, struct fields *out)
{
    bool open = false;

    for (unsigned i = 0; i < count; i++) {
        if (!(tx->flags & names[i].bit))
            continue;
        if (!open)
            fields_array_open(out, "flags");
        open = true;
        fields_string(out, NULL, names[i].name);
    }
    if (open)
        fields_array_close(out);
}

static void log_typed_sections(const struct dns_tx *tx, enum record_format format, struct fields *out)
{
    log_queries(tx, NULL, true, out);
    log_section(tx, DNS_ANSWERS, "answers", format, false, out);
    log_section(tx, DNS_AUTHORITIES, "authorities", format, false, out);
    log_section(tx, DNS_ADDITIONALS, "additionals", format, false, out);
}

void mdns_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    static const struct flag_name names[] = {
        { DNS_AUTHORITATIVE, "aa" },       { DNS_TRUNCATED, "tc" }, { DNS_RECURSION_DESIRED, "rd" },
        { DNS_RECURSION_AVAILABLE, "ra" }, { DNS_Z, "z" },          { DNS_AUTHENTIC, "ad" },
        { DNS_CHECKING_DISABLED, "cd" }
    };
    const struct dns_tx *dns = (const struct dns_tx *)tx;

    (void)settings;
    if (!dns->parsed)
        return;
    fields_string(out, "type", dns->response ? "response" : "request");
    fields_uint(out, "id", dns->id);
    log_flag_names(dns, names, sizeof(names) / sizeof(names[0]), out);
    fields_uint(out, "opcode", dns->flags >> 11 & 15);
    fields_uint(out, "rcode", dns->flags & DNS_RCODE);
    log_typed_sections(dns, FORMAT_MDNS, out);
}

void llmnr_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    static const struct flag_name names[] = { { DNS_AUTHORITATIVE, "c" },
                                              { DNS_TRUNCATED, "tc" },
                                              { DNS_RECURSION_DESIRED, "t" } };
    const struct dns_tx *dns = (const struct dns_tx *)tx;

    (void)settings;
    if (!dns->parsed)
        return;
    fields_string(out, "type", dns->response ? "response" : "request");
    fields_uint(out, "id", dns->id);
    log_flag_names(dns, names, sizeof(names) / sizeof(names[0]), out);
    fields_uint(out, "opcode", dns->flags >> 11 & 15);
    log_typed_sections(dns, FORMAT_LLMNR, out);
}

/* --- Records for which the schema has no member ------------------------------------------------------ */

static void log_own(const struct app_tx *tx, enum record_format format, struct fields *out)
{
    static const char *const sections[] = {
        [DNS_ANSWERS] = "answers", [DNS_AUTHORITIES] = "authorities", [DNS_ADDITIONALS] = "additionals"
    };
    const struct dns_tx *dns = (const struct dns_tx *)tx;
    bool is_needed = false;

    if (!dns->parsed)
        return;
    for (enum dns_section number = DNS_ANSWERS; number <= DNS_ADDITIONALS; number++) {
        for (uint16_t i = 0; i < dns->section[number].count; i++)
            is_needed |= !has_place(format, number, dns->section[number].first[i].type);
    }
    if (!is_needed)
        return;
    fields_object_open(out, tx->proto->log_key);
    for (enum dns_section number = DNS_ANSWERS; number <= DNS_ADDITIONALS; number++)
        log_section(dns, number, sections[number], format, true, out);
    fields_object_close(out);
}

void dns_log_own(const struct app_tx *tx, struct fields *out)
{
    log_own(tx, FORMAT_DNS, out);
}

void mdns_log_own(const struct app_tx *tx, struct fields *out)
{
    log_own(tx, FORMAT_MDNS, out);
}

void llmnr_log_own(const struct app_tx *tx, struct fields *out)
{
    log_own(tx, FORMAT_LLMNR, out);
}
