/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DCE/RPC calls in EVE events. */
#include <stdio.h>

#include "dce.h"

void dce_log_type(const char *key, uint8_t type, struct fields *out)
{
    const char *name = dce_type_name(type);
    char number[8];

    snprintf(number, sizeof(number), "%u", type);
    fields_string(out, key, name ? name : number);
}

static void log_interface(const struct dce_call *call, const struct dce_interface *interface, bool is_bind,
                          struct fields *out)
{
    char text[DCE_UUID_TEXT];
    size_t length = 0;
    const char *procedure;

    fields_object_open(out, NULL);
    dce_uuid_text(interface->uuid, text);
    fields_string(out, "uuid", text);
    snprintf(text, sizeof(text), "%u.%u", interface->version, interface->minor);
    fields_string(out, "version", text);
    if (interface->acked && (!call->in_pipe || is_bind))
        fields_uint(out, "ack_result", interface->result);
    if (interface->acked && is_bind)
        fields_uint(out, "ack_reason", 0); /* as in Suricata, which does not parse the reason */
    fields_string(out, "service", dce_service_name(interface->uuid));
    procedure = call->request == DCE_REQUEST ? dce_procedure_name(interface->uuid, call->opnum, &length) : NULL;
    fields_bytes(out, "procedure", procedure, length);
    fields_object_close(out);
}

void dce_log_interfaces(const struct dce_call *call, bool is_bind, struct fields *out)
{
    const struct dce_bindings *list = call->bindings;
    bool any = false;

    for (uint32_t i = 0; list && i < list->count; i++) {
        const struct dce_interface *interface = &list->at[i];

        if (call->request == DCE_REQUEST ? interface->context != call->context
                                         : !call->in_pipe && interface->call_id != call->call_id)
            continue;
        if (!any)
            fields_array_open(out, "interfaces");
        any = true;
        log_interface(call, interface, is_bind, out);
    }
    if (any)
        fields_array_close(out);
}

void dce_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct dce_call *call = ((const struct dce_tx *)tx)->call;
    char text[DCE_UUID_TEXT];

    (void)settings;
    if (call->has_request)
        dce_log_type("request", call->request, out);
    else
        fields_string(out, "request", "REQUEST_LOST");
    if (call->has_request && call->request == DCE_REQUEST) {
        fields_object_open(out, "req");
        fields_uint(out, "opnum", call->opnum);
        fields_uint(out, "frag_cnt", call->fragments[FLOW_TO_SERVER]);
        fields_uint(out, "stub_data_size", call->stub[FLOW_TO_SERVER].length);
        fields_object_close(out);
    }
    if (call->has_request && !call->in_datagram && (call->request == DCE_REQUEST || call->request == DCE_BIND))
        dce_log_interfaces(call, false, out);
    if (call->has_response)
        dce_log_type("response", call->response, out);
    else
        fields_string(out, "response", "UNREPLIED");
    if (call->has_response && call->response == DCE_RESPONSE) {
        fields_object_open(out, "res");
        fields_uint(out, "frag_cnt", call->fragments[FLOW_TO_CLIENT]);
        fields_uint(out, "stub_data_size", call->stub[FLOW_TO_CLIENT].length);
        fields_object_close(out);
    }
    if (call->in_datagram) {
        dce_uuid_text(call->activity, text);
        fields_string(out, "activityuuid", text);
        fields_uint(out, "seqnum", call->sequence);
        fields_string(out, "rpc_version", "4.0");
        return;
    }
    fields_uint(out, "call_id", call->call_id);
    snprintf(text, sizeof(text), "5.%u", call->minor);
    fields_string(out, "rpc_version", text);
}
