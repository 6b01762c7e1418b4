/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IKE in EVE events, in the format of Suricata 9, where attributes are a list. Attributes without a key in Suricata's
 * schema are omitted. */
#include "ike_priv.h"

enum { FLAG_INITIATOR = 0x08 };

static void log_attributes(const struct ike_attributes *attributes, const char *key, struct fields *out)
{
    bool any = false;

    for (size_t i = 0; i < ike_attribute_count(attributes); i++) {
        const struct ike_attribute *attribute = ike_attribute_at(attributes, i);

        if (!ike_attribute_key(attribute->type))
            continue;
        if (!any)
            fields_array_open(out, key);
        any = true;
        fields_object_open(out, NULL);
        fields_string(out, "key", ike_attribute_key(attribute->type));
        fields_string(out, "value",
                      attribute->has_number ? ike_attribute_value(attribute->type, attribute->number) : "Unknown");
        if (attribute->has_number)
            fields_uint(out, "raw", attribute->number);
        else if (attribute->raw_length)
            fields_hex(out, "raw", attribute->raw, attribute->raw_length);
        fields_object_close(out);
    }
    if (any)
        fields_array_close(out);
}

/* Logs the transforms chosen by the server (version 2). */
static void log_choices(const struct ike_tx *tx, struct fields *out)
{
    static const struct {
        unsigned type;
        const char *key;
    } keys[] = { { IKE2_ENC, "alg_enc" }, { IKE2_AUTH, "alg_auth" }, { IKE2_DH, "alg_dh" } };
    bool any = false;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct ike_choice *choice = &tx->choice[keys[i].type];
        const char *name = ike_transform_name(keys[i].type, choice->id);

        if (!choice->is_set)
            continue;
        if (!any)
            fields_array_open(out, "attributes");
        any = true;
        fields_object_open(out, NULL);
        fields_string(out, "key", keys[i].key);
        fields_string(out, "value", name ? name : "Unknown");
        fields_uint(out, "raw", choice->id);
        fields_object_close(out);
    }
    if (any)
        fields_array_close(out);
}

static void log_payload(uint8_t major, uint8_t type, bool *any, struct fields *out)
{
    const char *name = ike_payload_name(major, type);

    if (!name)
        return;
    if (!*any)
        fields_array_open(out, "payload");
    *any = true;
    fields_string(out, NULL, name);
}

static void log_payloads(const struct ike_tx *tx, struct fields *out)
{
    bool any = false;

    for (uint8_t i = 0; tx->major == 1 && i < 32; i++)
        if (tx->payload_types >> i & 1)
            log_payload(1, i, &any, out);
    for (unsigned i = 0; tx->major == 2 && i < tx->payloads; i++)
        log_payload(2, tx->payload[i], &any, out);
    if (any)
        fields_array_close(out);
}

static void log_party(const struct ike_party *party, struct fields *out)
{
    if (party->key_exchange.length) {
        fields_hex(out, "key_exchange_payload", party->key_exchange.bytes, party->key_exchange.length);
        fields_uint(out, "key_exchange_payload_length", party->key_exchange.length);
    }
    if (party->nonce.length) {
        fields_hex(out, "nonce_payload", party->nonce.bytes, party->nonce.length);
        fields_uint(out, "nonce_payload_length", party->nonce.length);
    }
}

static void log_exchanged(const struct ike_tx *tx, struct fields *out)
{
    const struct ike_party *server = &tx->party[FLOW_TO_CLIENT];

    fields_object_open(out, "client");
    log_party(&tx->party[FLOW_TO_SERVER], out);
    if (tx->tx.directions == APP_TO_SERVER)
        log_attributes(&tx->attributes, "proposals", out);
    fields_object_close(out);
    if (server->key_exchange.length || server->nonce.length) {
        fields_object_open(out, "server");
        log_party(server, out);
        fields_object_close(out);
    }
    if (tx->vendors == 0)
        return;
    fields_array_open(out, "vendor_ids");
    for (unsigned i = 0; i < tx->vendors; i++)
        fields_bytes(out, NULL, tx->vendor[i].length ? tx->text.bytes + tx->vendor[i].at : (const uint8_t *)"",
                     tx->vendor[i].length);
    fields_array_close(out);
}

static void log_v1(const struct ike_tx *tx, struct fields *out)
{
    fields_object_open(out, "ikev1");
    if (tx->has_doi)
        fields_uint(out, "doi", tx->doi);
    fields_bool(out, "encrypted_payloads", tx->encrypted);
    if (!tx->encrypted)
        log_exchanged(tx, out);
    fields_object_close(out);
}

static void log_v2(const struct ike_tx *tx, struct fields *out)
{
    fields_object_open(out, "ikev2");
    fields_uint(out, "errors", tx->errors);
    if (tx->notifies) {
        fields_array_open(out, "notify");
        for (unsigned i = 0; i < tx->notifies; i++) {
            const char *name = ike_notify_name(tx->notify[i]);

            fields_string(out, NULL, name ? name : "Unknown");
        }
        fields_array_close(out);
    }
    fields_object_close(out);
}

void ike_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct ike_tx *ike = (const struct ike_tx *)tx;
    const struct ike_settings *log_settings = settings;

    if (!ike->parsed)
        return;
    fields_uint(out, "_v", 2);
    fields_uint(out, "version_major", ike->major);
    fields_uint(out, "version_minor", ike->minor);
    fields_bytes(out, "init_spi", ike->initiator, IKE_SPI_TEXT);
    fields_bytes(out, "resp_spi", ike->responder, IKE_SPI_TEXT);
    fields_uint(out, "message_id", ike->message_id);
    fields_uint(out, "exchange_type", ike->exchange);
    if (ike->major == 1) {
        if (log_settings->extended)
            fields_string(out, "exchange_type_verbose", ike_exchange_name(ike->exchange));
        log_attributes(&ike->chosen, "attributes", out);
    } else {
        fields_string(out, "role", ike->flags & FLAG_INITIATOR ? "initiator" : "responder");
        log_choices(ike, out);
    }
    log_payloads(ike, out);
    if (ike->major == 1)
        log_v1(ike, out);
    else
        log_v2(ike, out);
}
