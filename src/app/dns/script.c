/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of messages for scripts: header fields, and the records of the sections. */
#include <string.h>

#include "dns_priv.h"

static bool set_number(struct app_script_value *out, int64_t number)
{
    out->is_number = true;
    out->number = number;
    return true;
}

static bool set_text(struct app_script_value *out, const char *text)
{
    out->bytes = (struct app_bytes){ .bytes = (const uint8_t *)text, .length = (uint32_t)strlen(text) };
    return true;
}

static bool set_bytes(const struct dns_tx *tx, uint32_t at, uint32_t length, struct app_script_value *out)
{
    out->bytes = (struct app_bytes){ .bytes = tx->text.bytes + at, .length = length };
    return true;
}

/* The data of a record: an address, a name, or the bytes of other types. */
static bool get_data(const struct dns_tx *tx, const struct dns_record *record, struct app_script_value *out)
{
    switch (record->type) {
    case DNS_A:
    case DNS_AAAA:
        return set_text(out, dns_format_address(tx->text.bytes + record->data, record->data_length, out->text));
    case DNS_CNAME:
    case DNS_NS:
    case DNS_PTR:
    case DNS_MX:
        return set_bytes(tx, record->target.at, record->target.length, out);
    default:
        return set_bytes(tx, record->data, record->data_length, out);
    }
}

static bool get_record_value(const struct dns_tx *tx, const struct dns_record *record, const char *name,
                             struct app_script_value *out)
{
    if (strcmp(name, "rrname") == 0)
        return set_bytes(tx, record->name.at, record->name.length, out);
    if (strcmp(name, "type") == 0)
        return set_text(out, dns_type_name(record->type, false, out->text));
    if (strcmp(name, "ttl") == 0)
        return set_number(out, record->ttl);
    return strcmp(name, "addr") == 0 && get_data(tx, record, out);
}

bool dns_script_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                      struct app_script_value *out)
{
    static const char *const sections[] = {
        [DNS_QUERIES] = "queries.", [DNS_ANSWERS] = "answers.", [DNS_AUTHORITIES] = "authorities."
    };
    const struct dns_tx *dns = (const struct dns_tx *)tx;

    (void)direction;
    if (!dns->parsed)
        return false;
    for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (strncmp(name, sections[i], strlen(sections[i])) == 0)
            return index < dns->section[i].count &&
                   get_record_value(dns, &dns->section[i].first[index], name + strlen(sections[i]), out);
    }
    if (strcmp(name, "id") == 0)
        return set_number(out, dns->id);
    if (strcmp(name, "rcode") == 0)
        return set_number(out, dns->flags & DNS_RCODE);
    if (strcmp(name, "rcode_string") == 0)
        return set_text(out, dns_rcode_name(dns->flags & DNS_RCODE, out->text));
    return strcmp(name, "recursion_desired") == 0 && set_number(out, (dns->flags & DNS_RECURSION_DESIRED) != 0);
}
