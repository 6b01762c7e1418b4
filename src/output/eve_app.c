/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of application protocols: the common header, and the fields that the protocol wrote. */
#include "output_priv.h"
#include "sluice/json.h"

void eve_application(struct text *out, uint32_t application)
{
    unsigned flow = application & 0xff, to_server = application >> 8 & 0xff, to_client = application >> 16 & 0xff;
    unsigned original = application >> 24;

    if (flow != 0)
        json_member_string(out, "app_proto", app_name_by_id(flow));
    if (to_server != 0 && to_server != flow)
        json_member_string(out, "app_proto_ts", app_name_by_id(to_server));
    if (to_client != 0 && to_client != flow)
        json_member_string(out, "app_proto_tc", app_name_by_id(to_client));
    if (original != 0)
        json_member_string(out, "app_proto_orig", app_name_by_id(original));
}

void eve_app(struct eve *eve, struct text *out, const struct packet_record *record)
{
    bool has_tx = record->kinds & 1u << OUTPUT_APP; /* the event is about a transaction as a whole */

    eve->client = record->client.ip_version != 0 ? &record->client : NULL;
    eve->own = record_fields(record) + record->own_at;
    eve->own_length = record->fields_copied - record->own_at;
    eve_header(eve, out, record, record->app_event_type);
    eve->client = NULL;
    eve->own_length = 0;
    if (has_tx)
        json_member_uint(out, "tx_id", record->app_tx_id);
    else
        eve_application(out, record->flow.application);
    if (!fields_render(record_fields(record), record->own_at, out))
        out->failed = true;
    eve_end(eve, out);
}
