/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE events of OPC UA. Suricata has no such event, so all members are in the object "sluice". */
#include "opcua_priv.h"

enum { LOGGED_ITEMS = 64 }; /* item_count is the number of all items */

static void log_items(const struct opcua_tx *tx, struct fields *out)
{
    const uint32_t *ends = (const uint32_t *)(const void *)tx->item_ends.bytes;
    uint32_t count = tx->item_ends.length / (uint32_t)sizeof(*ends), start = 0;

    if (count == 0)
        return;
    fields_uint(out, "item_count", count);
    fields_array_open(out, "items");
    for (uint32_t i = 0; i < count && i < LOGGED_ITEMS; i++) {
        fields_bytes(out, NULL, tx->items.bytes + start, ends[i] - start);
        start = ends[i];
    }
    fields_array_close(out);
}

void opcua_log_own(const struct app_tx *base, struct fields *out)
{
    static const char *const texts[OPCUA_TYPES] = {
        [OPCUA_HELLO] = "endpoint_url", [OPCUA_REVERSE_HELLO] = "endpoint_url",
        [OPCUA_ERROR] = "reason",       [OPCUA_OPEN] = "security_policy",
        [OPCUA_MESSAGE] = "reason",     [OPCUA_CLOSE] = "reason",
    };
    const struct opcua_tx *tx = (const struct opcua_tx *)base;

    if (tx->type == OPCUA_NO_TYPE)
        return;
    fields_object_open(out, "opcua");
    fields_string(out, "msg_type", opcua_type_names[tx->type - 1].name);
    if (tx->type == OPCUA_HELLO || tx->type == OPCUA_ACKNOWLEDGE)
        fields_uint(out, "version", tx->version);
    if (tx->server_uri.length > 0)
        fields_bytes(out, "server_uri", tx->server_uri.bytes, tx->server_uri.length);
    if (tx->text.length > 0)
        fields_bytes(out, texts[tx->type], tx->text.bytes, tx->text.length);
    if (tx->type >= OPCUA_OPEN) {
        fields_uint(out, "secure_channel_id", tx->channel);
        if (tx->type != OPCUA_OPEN || !tx->is_opaque)
            fields_uint(out, "request_id", tx->request_id);
        fields_uint(out, "chunks", tx->chunks);
        fields_uint(out, "length", tx->length);
        fields_bool(out, "readable", !tx->is_opaque);
    }
    if (tx->is_aborted)
        fields_bool(out, "aborted", true);
    if (tx->has_type_id) {
        fields_uint(out, "node_namespace_index", tx->namespace_index);
        if (tx->is_numeric)
            fields_uint(out, "node_id", tx->type_id);
        if (tx->is_numeric && tx->namespace_index == 0)
            fields_string(out, "service", opcua_service_name(tx->type_id));
    }
    if (tx->has_handle)
        fields_uint(out, "request_handle", tx->handle);
    if (tx->has_status)
        fields_uint(out, "status", tx->status);
    log_items(tx, out);
    fields_object_close(out);
}
