/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IEC 60870-5-104 in EVE events. Suricata has no such event, so all members are in the object "sluice". */
#include "iec104_priv.h"

void iec104_log_own(const struct app_tx *tx, struct fields *out)
{
    static const char *const formats[] = { [IEC104_I] = "I", [IEC104_S] = "S", [IEC104_U] = "U" };
    const struct iec104_tx *message = (const struct iec104_tx *)tx;

    if (!message->is_parsed)
        return;
    fields_object_open(out, "iec104");
    fields_string(out, "apci_type", formats[message->format]);
    if (message->format == IEC104_U)
        fields_string(out, "function", iec104_function_name(message->function));
    if (message->format == IEC104_I)
        fields_uint(out, "send_sequence", message->sent);
    if (message->format != IEC104_U)
        fields_uint(out, "receive_sequence", message->received);
    if (message->has_asdu) {
        fields_object_open(out, "asdu");
        fields_uint(out, "type", message->type);
        fields_string(out, "type_name", iec104_type_name(message->type));
        fields_uint(out, "objects", message->count);
        fields_bool(out, "sequence", message->is_sequence);
        fields_uint(out, "cause", message->cause);
        fields_bool(out, "test", message->is_test);
        fields_bool(out, "negative", message->is_negative);
        fields_uint(out, "originator", message->originator);
        fields_uint(out, "address", message->address);
        fields_object_close(out);
    }
    fields_object_close(out);
}
