/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RTSP in EVE events. Suricata has no such event, so all members are in the object "sluice". */
#include "rtsp_priv.h"

static void log_text(const struct rtsp_tx *tx, const char *key, const struct rtsp_text *text, struct fields *out)
{
    fields_bytes(out, key, text->length > 0 ? (const char *)tx->head.bytes + text->at : "", text->length);
}

void rtsp_log_own(const struct app_tx *tx, struct fields *out)
{
    const struct rtsp_tx *rtsp = (const struct rtsp_tx *)tx;

    if (!rtsp->is_parsed)
        return;
    fields_object_open(out, "rtsp");
    if (rtsp->is_request) {
        log_text(rtsp, "method", &rtsp->method, out);
        log_text(rtsp, "uri", &rtsp->uri, out);
    } else {
        log_text(rtsp, "code", &rtsp->code, out);
        log_text(rtsp, "reason", &rtsp->reason, out);
    }
    log_text(rtsp, "version", &rtsp->version, out);
    fields_array_open(out, "headers");
    for (uint32_t i = 0; i < rtsp_header_count(rtsp); i++)
        log_text(rtsp, NULL, rtsp_get_header(rtsp, i), out);
    fields_array_close(out);
    fields_object_close(out);
}
