/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFB in EVE events. */
#include <stdio.h>

#include "rfb_priv.h"

static void log_version(const char *key, const struct rfb_version *version, struct fields *out)
{
    fields_object_open(out, key);
    fields_bytes(out, "major", version->major, RFB_VERSION_DIGITS);
    fields_bytes(out, "minor", version->minor, RFB_VERSION_DIGITS);
    fields_object_close(out);
}

static void log_authentication(const struct rfb_tx *tx, struct fields *out)
{
    static const char *const results[] = { "OK", "FAIL", "TOOMANY" };
    char text[32];

    fields_object_open(out, "authentication");
    if (tx->seen & RFB_SEEN_TYPE)
        fields_uint(out, "security_type", tx->type);
    if (tx->seen & (RFB_SEEN_CHALLENGE | RFB_SEEN_RESPONSE)) {
        fields_object_open(out, "vnc");
        if (tx->seen & RFB_SEEN_CHALLENGE)
            fields_hex(out, "challenge", tx->challenge, RFB_CHALLENGE);
        if (tx->seen & RFB_SEEN_RESPONSE)
            fields_hex(out, "response", tx->response, RFB_CHALLENGE);
        fields_object_close(out);
    }
    if (tx->seen & RFB_SEEN_RESULT) {
        snprintf(text, sizeof(text), "UNKNOWN (%u)", (unsigned)tx->result);
        fields_string(out, "security_result", tx->result <= RFB_TOO_MANY ? results[tx->result] : text);
    }
    fields_object_close(out);
}

static void log_framebuffer(const struct rfb_tx *tx, struct fields *out)
{
    const struct rfb_pixel_format *format = &tx->format;

    fields_object_open(out, "framebuffer");
    fields_uint(out, "width", tx->width);
    fields_uint(out, "height", tx->height);
    fields_bytes(out, "name", tx->name.length > 0 ? tx->name.bytes : (const uint8_t *)"", tx->name.length);
    fields_object_open(out, "pixel_format");
    fields_uint(out, "bits_per_pixel", format->bits_per_pixel);
    fields_uint(out, "depth", format->depth);
    fields_bool(out, "big_endian", format->big_endian);
    fields_bool(out, "true_color", format->true_color);
    fields_uint(out, "red_max", format->red_max);
    fields_uint(out, "green_max", format->green_max);
    fields_uint(out, "blue_max", format->blue_max);
    fields_uint(out, "red_shift", format->red_shift);
    fields_uint(out, "green_shift", format->green_shift);
    fields_uint(out, "blue_shift", format->blue_shift);
    fields_object_close(out);
    fields_object_close(out);
}

void rfb_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct rfb_tx *rfb = (const struct rfb_tx *)tx;

    (void)settings;
    if (rfb->seen & RFB_SEEN_SERVER_VERSION)
        log_version("server_protocol_version", &rfb->version[FLOW_TO_CLIENT], out);
    if (rfb->seen & RFB_SEEN_CLIENT_VERSION)
        log_version("client_protocol_version", &rfb->version[FLOW_TO_SERVER], out);
    log_authentication(rfb, out);
    if (rfb->seen & RFB_SEEN_REASON)
        fields_bytes(out, "server_security_failure_reason",
                     rfb->reason.length > 0 ? rfb->reason.bytes : (const uint8_t *)"", rfb->reason.length);
    if (rfb->seen & RFB_SEEN_CLIENT_INIT)
        fields_bool(out, "screen_shared", rfb->shared);
    if (rfb->seen & RFB_SEEN_SERVER_INIT)
        log_framebuffer(rfb, out);
}
