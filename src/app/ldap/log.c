/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LDAP in EVE events. The stored operations are parsed again; of a malformed one, the part before the mistake is
 * logged. */
#include <stdio.h>

#include "ldap_priv.h"
#include "sluice/der.h"

static void log_text(const char *key, const struct cursor *text, struct fields *out)
{
    fields_bytes(out, key, cursor_remaining(text) > 0 ? (const char *)text->at : "", cursor_remaining(text));
}

/* Logs a string of this tag. Returns false if there is none. */
static bool log_next(struct cursor *cur, uint8_t tag, const char *key, struct fields *out)
{
    struct cursor text;

    if (!der_read(cur, tag, &text))
        return false;
    log_text(key, &text, out);
    return true;
}

/* Logs all strings that are left, as an array; nothing if there are none. */
static void log_strings(struct cursor list, const char *key, struct fields *out)
{
    if (cursor_remaining(&list) == 0)
        return;
    fields_array_open(out, key);
    while (log_next(&list, DER_OCTET_STRING, NULL, out))
        ;
    fields_array_close(out);
}

/* Logs the type and the values of an attribute. */
static void log_attribute(struct cursor attribute, const char *type, const char *values, struct fields *out)
{
    struct cursor set;

    if (log_next(&attribute, DER_OCTET_STRING, type, out) && der_read(&attribute, DER_SET, &set))
        log_strings(set, values, out);
}

static void log_attributes(struct cursor *cur, const char *type, struct fields *out)
{
    struct cursor list, attribute;

    if (!der_read(cur, DER_SEQUENCE, &list) || cursor_remaining(&list) == 0)
        return;
    fields_array_open(out, "attributes");
    while (der_read(&list, DER_SEQUENCE, &attribute)) {
        fields_object_open(out, NULL);
        log_attribute(attribute, type, "values", out);
        fields_object_close(out);
    }
    fields_array_close(out);
}

/* --- Requests ---------------------------------------------------------------------------------------- */

static void log_bind(struct cursor cur, struct fields *out)
{
    struct cursor sasl, credentials;
    uint32_t version;

    if (!ldap_read_number(&cur, DER_INTEGER, &version))
        return;
    fields_uint(out, "version", version);
    if (!log_next(&cur, DER_OCTET_STRING, "name", out) || !der_read(&cur, DER_CONTEXT_CONSTRUCTED | 3, &sasl))
        return;
    fields_object_open(out, "sasl");
    if (log_next(&sasl, DER_OCTET_STRING, "mechanism", out) && der_read(&sasl, DER_OCTET_STRING, &credentials))
        fields_hex(out, "credentials", credentials.at, cursor_remaining(&credentials));
    fields_object_close(out);
}

static void log_search(struct cursor cur, struct fields *out)
{
    static const struct {
        const char *key;
        uint8_t tag;
    } numbers[] = { { "scope", LDAP_ENUMERATED },
                    { "deref_alias", LDAP_ENUMERATED },
                    { "size_limit", DER_INTEGER },
                    { "time_limit", DER_INTEGER } };
    struct cursor list, types_only;
    struct der_value filter;

    if (!log_next(&cur, DER_OCTET_STRING, "base_object", out))
        return;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uint32_t number;

        if (!ldap_read_number(&cur, numbers[i].tag, &number))
            return;
        fields_uint(out, numbers[i].key, number);
    }
    if (!der_read(&cur, LDAP_BOOLEAN, &types_only) || cursor_remaining(&types_only) != 1)
        return;
    fields_bool(out, "types_only", types_only.at[0] != 0);
    if (der_next(&cur, &filter) && der_read(&cur, DER_SEQUENCE, &list))
        log_strings(list, "attributes", out);
}

static void log_modify(struct cursor cur, struct fields *out)
{
    static const char *const operations[] = { "add", "delete", "replace" };
    struct cursor list, change, attribute;
    uint32_t operation;

    if (!log_next(&cur, DER_OCTET_STRING, "object", out) || !der_read(&cur, DER_SEQUENCE, &list) ||
        cursor_remaining(&list) == 0)
        return;
    fields_array_open(out, "changes");
    while (der_read(&list, DER_SEQUENCE, &change) && ldap_read_number(&change, LDAP_ENUMERATED, &operation) &&
           der_read(&change, DER_SEQUENCE, &attribute)) {
        char number[16];

        snprintf(number, sizeof(number), "%u", operation);
        fields_object_open(out, NULL);
        fields_string(out, "operation", operation < 3 ? operations[operation] : number);
        fields_object_open(out, "modification");
        log_attribute(attribute, "attribute_type", "attribute_values", out);
        fields_object_close(out);
        fields_object_close(out);
    }
    fields_array_close(out);
}

static void log_add(struct cursor cur, struct fields *out)
{
    if (log_next(&cur, DER_OCTET_STRING, "entry", out))
        log_attributes(&cur, "name", out);
}

static void log_del(struct cursor cur, struct fields *out)
{
    log_text("dn", &cur, out);
}

static void log_mod_dn(struct cursor cur, struct fields *out)
{
    struct cursor deletes;

    if (!log_next(&cur, DER_OCTET_STRING, "entry", out) || !log_next(&cur, DER_OCTET_STRING, "new_rdn", out) ||
        !der_read(&cur, LDAP_BOOLEAN, &deletes) || cursor_remaining(&deletes) != 1)
        return;
    fields_bool(out, "delete_old_rdn", deletes.at[0] != 0);
    log_next(&cur, DER_CONTEXT | 0, "new_superior", out);
}

static void log_compare(struct cursor cur, struct fields *out)
{
    struct cursor assertion;

    if (!log_next(&cur, DER_OCTET_STRING, "entry", out) || !der_read(&cur, DER_SEQUENCE, &assertion))
        return;
    fields_object_open(out, "attribute_value_assertion");
    if (log_next(&assertion, DER_OCTET_STRING, "description", out))
        log_next(&assertion, DER_OCTET_STRING, "value", out);
    fields_object_close(out);
}

static void log_abandon(struct cursor cur, struct fields *out)
{
    uint32_t id = 0;
    uint8_t byte;

    while (cursor_u8(&cur, &byte))
        id = id << 8 | byte;
    fields_uint(out, "message_id", id);
}

static void log_extended(struct cursor cur, struct fields *out)
{
    if (log_next(&cur, DER_CONTEXT | 0, "name", out))
        log_next(&cur, DER_CONTEXT | 1, "value", out);
}

/* --- Responses --------------------------------------------------------------------------------------- */

static bool log_result(struct cursor *cur, struct fields *out)
{
    struct ldap_result result;
    const char *name;
    char number[16];

    if (!ldap_read_result(cur, &result))
        return false;
    name = ldap_find_name(ldap_result_names, result.code);
    snprintf(number, sizeof(number), "%u", result.code);
    fields_string(out, "result_code", name ? name : number);
    log_text("matched_dn", &result.dn, out);
    log_text("message", &result.message, out);
    der_skip_optional(cur, DER_CONTEXT_CONSTRUCTED | 3); /* referrals */
    return true;
}

static void log_plain_result(struct cursor cur, struct fields *out)
{
    log_result(&cur, out);
}

static void log_bind_response(struct cursor cur, struct fields *out)
{
    struct cursor credentials;

    if (log_result(&cur, out) && der_read(&cur, DER_CONTEXT | 7, &credentials))
        fields_hex(out, "server_sasl_creds", credentials.at, cursor_remaining(&credentials));
}

static void log_extended_response(struct cursor cur, struct fields *out)
{
    if (!log_result(&cur, out))
        return;
    log_next(&cur, DER_CONTEXT | 10, "name", out);
    log_next(&cur, DER_CONTEXT | 11, "value", out);
}

static void log_entry(struct cursor cur, struct fields *out)
{
    if (log_next(&cur, DER_OCTET_STRING, "base_object", out))
        log_attributes(&cur, "type", out);
}

static void log_intermediate(struct cursor cur, struct fields *out)
{
    log_next(&cur, DER_CONTEXT | 0, "name", out);
    log_next(&cur, DER_CONTEXT | 1, "value", out);
}

/* Operations with details; the key of the details is the name of the operation. */
static const struct operation {
    const char *key;
    void (*log)(struct cursor cur, struct fields *out);
} operations[] = {
    [LDAP_BIND_REQUEST] = { "bind_request", log_bind },
    [LDAP_BIND_RESPONSE] = { "bind_response", log_bind_response },
    [LDAP_SEARCH_REQUEST] = { "search_request", log_search },
    [LDAP_SEARCH_RESULT_ENTRY] = { "search_result_entry", log_entry },
    [LDAP_SEARCH_RESULT_DONE] = { "search_result_done", log_plain_result },
    [LDAP_MODIFY_REQUEST] = { "modify_request", log_modify },
    [LDAP_MODIFY_RESPONSE] = { "modify_response", log_plain_result },
    [LDAP_ADD_REQUEST] = { "add_request", log_add },
    [LDAP_ADD_RESPONSE] = { "add_response", log_plain_result },
    [LDAP_DEL_REQUEST] = { "del_request", log_del },
    [LDAP_DEL_RESPONSE] = { "del_response", log_plain_result },
    [LDAP_MOD_DN_REQUEST] = { "mod_dn_request", log_mod_dn },
    [LDAP_MOD_DN_RESPONSE] = { "mod_dn_response", log_plain_result },
    [LDAP_COMPARE_REQUEST] = { "compare_request", log_compare },
    [LDAP_COMPARE_RESPONSE] = { "compare_response", log_plain_result },
    [LDAP_ABANDON_REQUEST] = { "abandon_request", log_abandon },
    [LDAP_EXTENDED_REQUEST] = { "extended_request", log_extended },
    [LDAP_EXTENDED_RESPONSE] = { "extended_response", log_extended_response },
    [LDAP_INTERMEDIATE_RESPONSE] = { "intermediate_response", log_intermediate },
};

static void log_operation(uint8_t number, const struct buffer *bytes, struct ldap_span body, struct fields *out)
{
    fields_string(out, "operation", ldap_find_name(ldap_operation_names, number));
    if (!operations[number].log || body.length == 0)
        return;
    fields_object_open(out, operations[number].key);
    operations[number].log(cursor_of(bytes->bytes + body.at, body.length), out);
    fields_object_close(out);
}

void ldap_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct ldap_tx *ldap = (const struct ldap_tx *)tx;

    (void)settings;
    if (ldap->has_request) {
        fields_object_open(out, "request");
        fields_uint(out, "message_id", ldap->message_id);
        log_operation(ldap->operation, &ldap->request, (struct ldap_span){ .length = ldap->request.length }, out);
        fields_object_close(out);
    }
    if (ldap->response_count == 0)
        return;
    fields_array_open(out, "responses");
    for (uint32_t i = 0; i < ldap->response_count; i++) {
        const struct ldap_response *response = ldap_get_response(ldap, i);

        fields_object_open(out, NULL);
        if (!ldap->has_request)
            fields_uint(out, "message_id", response->message_id);
        log_operation(response->operation, &ldap->responses, response->body, out);
        fields_object_close(out);
    }
    fields_array_close(out);
}
