/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE events of S7comm. Suricata has no such event, so all members are in the object "sluice". */
#include "s7comm_priv.h"

enum { LOGGED_ITEMS = 32 }; /* item_count is the number of all items */

static void log_items(const struct s7comm_tx *tx, struct fields *out)
{
    uint32_t count = s7comm_item_count(tx);

    if (count == 0)
        return;
    fields_uint(out, "item_count", count);
    fields_array_open(out, "items");
    for (uint32_t i = 0; i < count && i < LOGGED_ITEMS; i++) {
        const struct s7comm_item *item = s7comm_get_item(tx, i);

        fields_object_open(out, NULL);
        fields_uint(out, "area_code", item->area);
        fields_string(out, "area", s7comm_find_name(s7comm_area_names, item->area));
        if (item->area == S7COMM_AREA_DB || item->area == S7COMM_AREA_INSTANCE_DB)
            fields_uint(out, "db", item->db);
        fields_uint(out, "address", item->address);
        fields_uint(out, "bit", item->bit);
        fields_uint(out, "transport_size", item->type);
        fields_uint(out, "count", item->count);
        fields_object_close(out);
    }
    fields_array_close(out);
}

static void log_userdata(const struct s7comm_tx *tx, struct fields *out)
{
    static const char *const kinds[16] = { [0] = "push", [4] = "request", [8] = "response" };

    fields_object_open(out, "userdata");
    fields_string(out, "type", kinds[tx->kind]);
    fields_uint(out, "group_code", tx->group);
    fields_string(out, "group", s7comm_find_name(s7comm_group_names, tx->group));
    fields_uint(out, "subfunction", tx->subfunction);
    fields_object_close(out);
}

void s7comm_log_own(const struct app_tx *base, struct fields *out)
{
    const struct s7comm_tx *tx = (const struct s7comm_tx *)base;

    if (!tx->is_parsed)
        return;
    fields_object_open(out, "s7comm");
    fields_string(out, "rosctr", s7comm_find_name(s7comm_rosctr_names, tx->rosctr));
    fields_uint(out, "pdu_reference", tx->reference);
    if (tx->has_function) {
        fields_uint(out, "function_code", tx->function);
        fields_string(out, "function", s7comm_find_name(s7comm_function_names, tx->function));
    }
    if (tx->pdu_length > 0)
        fields_uint(out, "pdu_length", tx->pdu_length);
    log_items(tx, out);
    if (tx->name_length > 0)
        fields_bytes(out, s7comm_names_block(tx) ? "block" : "service", tx->content.bytes + tx->name_at,
                     tx->name_length);
    if (tx->has_userdata)
        log_userdata(tx, out);
    if (tx->has_error) {
        fields_uint(out, "error_class", tx->error_class);
        fields_uint(out, "error_code", tx->error_code);
    }
    fields_object_close(out);
}
