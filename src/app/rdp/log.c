/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDP in EVE events. Unknown values are logged as "unknown", as in Suricata. */
#include <stdio.h>
#include <string.h>

#include "rdp_priv.h"
#include "sluice/bytes.h"

struct name {
    uint32_t number;
    const char *text;
};

static const char *find_name(const struct name *names, uint32_t number)
{
    while (names->text && names->number != number)
        names++;
    return names->text ? names->text : "unknown";
}

static const struct name versions[] = {
    { 0x00080001, "v4" },     { 0x00080004, "v5" },     { 0x00080005, "v10.0" },  { 0x00080006, "v10.1" },
    { 0x00080007, "v10.2" },  { 0x00080008, "v10.3" },  { 0x00080009, "v10.4" },  { 0x0008000a, "v10.5" },
    { 0x0008000b, "v10.6" },  { 0x0008000c, "v10.7" },  { 0x0008000d, "v10.8" },  { 0x0008000e, "v10.9" },
    { 0x0008000f, "v10.10" }, { 0x00080010, "v10.11" }, { 0x00080011, "v10.12" }, { 0, NULL },
};
static const struct name keyboards[] = { { 1, "xt" },   { 2, "ico" },  { 3, "at" }, { 4, "enhanced" },
                                         { 5, "1050" }, { 6, "9140" }, { 7, "jp" }, { 0, NULL } };
static const struct name builds[] = {
    { 2195, "Windows 2000" },
    { 2600, "Windows XP" },
    { 3790, "Windows Server 2003" },
    { 6000, "Windows Vista" },
    { 6001, "Windows Vista SP1" },
    { 6002, "Windows Vista SP2" },
    { 7600, "Windows 7" },
    { 7601, "Windows 7 SP1" },
    { 9200, "Windows 8" },
    { 9600, "Windows 8.1" },
    { 10240, "Windows 10" },
    { 10586, "Windows 10 1511" },
    { 14393, "Windows 10 1607" },
    { 15063, "Windows 10 1703" },
    { 16299, "Windows 10 1709" },
    { 17134, "Windows 10 1803" },
    { 17763, "Windows 10 1809" },
    { 18362, "Windows 10 1903" },
    { 18363, "Windows 10 1909" },
    { 19041, "Windows 10 2004" },
    { 19042, "Windows 10 20H2" },
    { 19043, "Windows 10 21H1" },
    { 19044, "Windows 10 21H2" },
    { 19045, "Windows 10 22H2" },
    { 20348, "Windows Server 2022" },
    { 22000, "Windows 11 21H2" },
    { 22621, "Windows 11 22H2" },
    { 22631, "Windows 11 23H2" },
    { 26100, "Windows 11 24H2" },
    { 0, NULL },
};
/* Language identifiers of Windows (MS-LCID). */
static const struct name layouts[] = {
    { 0x0401, "ar-SA" }, { 0x0404, "zh-TW" }, { 0x0405, "cs-CZ" }, { 0x0406, "da-DK" }, { 0x0407, "de-DE" },
    { 0x0408, "el-GR" }, { 0x0409, "en-US" }, { 0x040a, "es-ES" }, { 0x040b, "fi-FI" }, { 0x040c, "fr-FR" },
    { 0x040d, "he-IL" }, { 0x040e, "hu-HU" }, { 0x0410, "it-IT" }, { 0x0411, "ja-JP" }, { 0x0412, "ko-KR" },
    { 0x0413, "nl-NL" }, { 0x0414, "nb-NO" }, { 0x0415, "pl-PL" }, { 0x0416, "pt-BR" }, { 0x0418, "ro-RO" },
    { 0x0419, "ru-RU" }, { 0x041a, "hr-HR" }, { 0x041b, "sk-SK" }, { 0x041d, "sv-SE" }, { 0x041e, "th-TH" },
    { 0x041f, "tr-TR" }, { 0x0422, "uk-UA" }, { 0x0424, "sl-SI" }, { 0x0429, "fa-IR" }, { 0x042a, "vi-VN" },
    { 0x0439, "hi-IN" }, { 0x0804, "zh-CN" }, { 0x0807, "de-CH" }, { 0x0809, "en-GB" }, { 0x080a, "es-MX" },
    { 0x080c, "fr-BE" }, { 0x0813, "nl-BE" }, { 0x0816, "pt-PT" }, { 0x0c07, "de-AT" }, { 0x0c09, "en-AU" },
    { 0x0c0a, "es-ES" }, { 0x0c0c, "fr-CA" }, { 0x1009, "en-CA" }, { 0x100c, "fr-CH" }, { 0x1809, "en-IE" },
    { 0, NULL },
};
static const char *const capabilities[16] = {
    "support_errinfo_pdf",
    "want_32bpp_session",
    "support_statusinfo_pdu",
    "strong_asymmetric_keys",
    NULL,
    "valid_connection_type",
    "support_monitor_layout_pdu",
    "support_netchar_autodetect",
    "support_dynvc_gfx_protocol",
    "support_dynamic_time_zone",
    "support_heartbeat_pdu",
};

/* Logs the names of the bits that are set; nothing if there are none. */
static void log_bits(const char *key, unsigned bits, const char *const *names, unsigned count, struct fields *out)
{
    bool open = false;

    for (unsigned i = 0; i < count; i++) {
        if (!(bits >> i & 1) || !names[i])
            continue;
        if (!open)
            fields_array_open(out, key);
        open = true;
        fields_string(out, NULL, names[i]);
    }
    if (open)
        fields_array_close(out);
}

/* Logs text of UTF-16, up to its terminating zero; characters outside of Latin-1 become question marks. */
static void log_utf16(const char *key, const uint8_t *bytes, size_t size, struct fields *out)
{
    char text[2 * RDP_PRODUCT_ID];
    size_t length = 0;

    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t unit = load_le16(bytes + i);

        if (unit == 0)
            break;
        if (unit >= 0x80 && unit < 0x100)
            text[length++] = (char)(0xc0 | unit >> 6);
        text[length++] = (char)(unit < 0x80 ? unit : unit < 0x100 ? 0x80 | (unit & 0x3f) : '?');
    }
    if (length > 0)
        fields_bytes(out, key, text, length);
}

/* Returns the colour depth that the client requests; 0: unknown. */
static unsigned color_depth_of(const struct rdp_client *client)
{
    static const uint8_t codes[] = { 4, 8, 15, 16, 24 }; /* for 0xca00 and so on */
    enum { WANT_32BPP = 2 };

    if (client->has_capabilities && client->capabilities & WANT_32BPP)
        return 32;
    if (client->has_high_color && client->high_color_depth <= 24)
        return client->high_color_depth;
    return client->color_depth >= 0xca00 && client->color_depth < 0xca00 + sizeof(codes)
               ? codes[client->color_depth - 0xca00]
               : 0;
}

static void log_client(const struct rdp_client *client, struct fields *out)
{
    unsigned depth = color_depth_of(client);

    fields_object_open(out, "client");
    fields_string(out, "version", find_name(versions, client->version));
    fields_uint(out, "desktop_width", client->width);
    fields_uint(out, "desktop_height", client->height);
    if (depth > 0)
        fields_uint(out, "color_depth", depth);
    fields_string(out, "keyboard_layout", find_name(layouts, client->keyboard_layout & 0xffff));
    fields_string(out, "build", find_name(builds, client->build));
    log_utf16("client_name", client->name, sizeof(client->name), out);
    fields_string(out, "keyboard_type", find_name(keyboards, client->keyboard_type));
    if (client->function_keys > 0)
        fields_uint(out, "function_keys", client->function_keys);
    if (client->has_product)
        fields_uint(out, "product_id", client->product);
    if (client->has_capabilities) {
        log_bits("capabilities", client->capabilities, capabilities, 16, out);
        log_utf16("id", client->product_id, sizeof(client->product_id), out);
    }
    fields_object_close(out);
}

void rdp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    static const char *const types[] = { "initial_request", "initial_response", "connect_request", "connect_response" };
    const struct rdp_tx *rdp = (const struct rdp_tx *)tx;

    (void)settings;
    fields_uint(out, "tx_id", tx->number + 1);
    fields_string(out, "event_type", types[rdp->type]);
    if (rdp->has_cookie)
        fields_bytes(out, "cookie", rdp->cookie, rdp->cookie_length);
    if (rdp->client.is_present)
        log_client(&rdp->client, out);
    if (rdp->channel_count == 0)
        return;
    fields_array_open(out, "channels");
    for (unsigned i = 0; i < rdp->channel_count; i++)
        fields_bytes(out, NULL, rdp->channel[i], strnlen((const char *)rdp->channel[i], RDP_CHANNEL_NAME));
    fields_array_close(out);
}

/* The result of the negotiation, which Suricata's schema does not have. */
void rdp_log_own(const struct app_tx *tx, struct fields *out)
{
    static const char *const request_flags[8] = { "restricted_admin_mode_required",
                                                  "redirected_authentication_mode_required", NULL,
                                                  "correlation_info_present" };
    static const char *const response_flags[8] = { "extended_client_data", "dynvc_gfx", NULL, "restricted_admin",
                                                   "redirected_authentication" };
    static const struct name protocols[] = { { 0, "rdp" },     { 1, "ssl" },       { 2, "hybrid" },
                                             { 4, "rds_tls" }, { 8, "hybrid_ex" }, { 0, NULL } };
    static const struct name failures[] = { { 1, "ssl required by server" },
                                            { 2, "ssl not allowed by server" },
                                            { 3, "ssl cert not on server" },
                                            { 4, "inconsistent flags" },
                                            { 5, "hybrid required by server" },
                                            { 6, "ssl with user auth required by server" },
                                            { 0, NULL } };
    const struct rdp_tx *rdp = (const struct rdp_tx *)tx;

    if (!rdp->has_negotiation || (rdp->type == RDP_INITIAL_REQUEST && rdp->flags == 0))
        return;
    fields_object_open(out, "rdp");
    if (rdp->type == RDP_INITIAL_REQUEST) {
        log_bits("flags", rdp->flags, request_flags, 8, out);
    } else if (rdp->failed) {
        fields_uint(out, "error_code", rdp->protocol);
        fields_string(out, "reason", find_name(failures, rdp->protocol));
    } else {
        log_bits("server_supports", rdp->flags, response_flags, 8, out);
        fields_string(out, "protocol", find_name(protocols, rdp->protocol));
    }
    fields_object_close(out);
}
