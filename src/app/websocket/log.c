/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WebSocket in EVE events. */
#include <stdio.h>

#include "websocket_priv.h"

void websocket_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct websocket_tx *frame = (const struct websocket_tx *)tx;
    const struct number_name *name = websocket_opcode_names;
    char unknown[sizeof("unknown-255")];

    (void)settings;
    while (name->name && name->value != frame->opcode)
        name++;
    snprintf(unknown, sizeof(unknown), "unknown-%u", (unsigned)frame->opcode);
    fields_bool(out, "fin", frame->flags & WEBSOCKET_FIN);
    if (frame->has_mask)
        fields_uint(out, "mask", frame->mask);
    fields_string(out, "opcode", name->name ? name->name : unknown);
}

void websocket_describe_alert(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct websocket_tx *frame = (const struct websocket_tx *)tx;
    const struct websocket_settings *alert = settings;

    if (frame->payload.length == 0)
        return;
    if (alert->alert_payload)
        fields_base64(out, "payload_base64", frame->payload.bytes, frame->payload.length);
    if (alert->alert_payload_printable)
        fields_bytes(out, "payload_printable", frame->payload.bytes, frame->payload.length);
}
