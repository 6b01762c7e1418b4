/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DHCP in EVE events. If an option is repeated, the first occurrence is logged. */
#include <stdio.h>

#include "dhcp_priv.h"
#include "sluice/bytes.h"

enum { ADDRESS_TEXT = 16 };
/* Offsets of header fields. */
enum {
    HARDWARE_LENGTH_OFFSET = 2,
    ID_OFFSET = 4,
    CLIENT_OFFSET = 12,
    ASSIGNED_OFFSET = 16,
    NEXT_SERVER_OFFSET = 20,
    RELAY_OFFSET = 24,
    HARDWARE_OFFSET = 28
};

static void log_address(struct fields *out, const char *key, const uint8_t *bytes)
{
    char text[ADDRESS_TEXT];

    snprintf(text, sizeof(text), "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
    fields_string(out, key, text);
}

static void log_header(const struct dhcp_tx *tx, bool extended, struct fields *out)
{
    const uint8_t *header = tx->message.bytes;
    uint8_t hardware = header[HARDWARE_LENGTH_OFFSET];

    fields_string(out, "type", header[0] == DHCP_REQUEST ? "request" : header[0] == DHCP_REPLY ? "reply" : "<unknown>");
    fields_uint(out, "id", load_be32(header + ID_OFFSET));
    fields_colon_hex(out, "client_mac", header + HARDWARE_OFFSET,
                     hardware < DHCP_HARDWARE_MAX ? hardware : DHCP_HARDWARE_MAX);
    log_address(out, "assigned_ip", header + ASSIGNED_OFFSET);
    if (!extended)
        return;
    log_address(out, "client_ip", header + CLIENT_OFFSET);
    if (header[0] != DHCP_REPLY)
        return;
    log_address(out, "relay_ip", header + RELAY_OFFSET);
    log_address(out, "next_server_ip", header + NEXT_SERVER_OFFSET);
}

static void log_type(const struct dhcp_tx *tx, struct fields *out)
{
    static const char *const names[] = { NULL,  "discover", "offer",   "request", "decline",
                                         "ack", "nak",      "release", "inform" };
    uint8_t length = 0;
    const uint8_t *type = dhcp_option(tx, DHCP_TYPE, &length);

    if (!type || length == 0)
        return;
    bool known = type[0] > 0 && type[0] < sizeof(names) / sizeof(names[0]);

    fields_string(out, "dhcp_type", known ? names[type[0]] : "unknown");
}

static void log_option_address(const struct dhcp_tx *tx, enum dhcp_option code, const char *key, struct fields *out)
{
    uint8_t length = 0;
    const uint8_t *value = dhcp_option(tx, code, &length);

    if (value && length >= 4)
        log_address(out, key, value);
}

static void log_option_addresses(const struct dhcp_tx *tx, enum dhcp_option code, const char *key, struct fields *out)
{
    uint8_t length = 0;
    const uint8_t *value = dhcp_option(tx, code, &length);

    if (!value || length < 4)
        return;
    fields_array_open(out, key);
    for (unsigned i = 0; i + 4 <= length; i += 4)
        log_address(out, NULL, value + i);
    fields_array_close(out);
}

static void log_option_text(const struct dhcp_tx *tx, enum dhcp_option code, const char *key, struct fields *out)
{
    uint8_t length = 0;
    const uint8_t *value = dhcp_option(tx, code, &length);

    if (value && length > 0)
        fields_bytes(out, key, value, length);
}

static void log_number(const struct dhcp_tx *tx, enum dhcp_option code, const char *key, struct fields *out)
{
    uint32_t number;

    if (dhcp_number(tx, code, &number))
        fields_uint(out, key, number);
}

static const char *parameter_name(uint8_t code)
{
    static const struct {
        uint8_t code;
        const char *name;
    } names[] = {
        { 1, "subnet_mask" },  { 3, "router" },      { 6, "dns_server" },        { 15, "domain" },
        { 35, "arp_timeout" }, { 42, "ntp_server" }, { 66, "tftp_server_name" }, { 150, "tftp_server_ip" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].code == code)
            return names[i].name;
    return NULL;
}

/* Logs the requested parameters that have a name in EVE events. */
static void log_parameters(const struct dhcp_tx *tx, struct fields *out)
{
    uint8_t length = 0;
    const uint8_t *value = dhcp_option(tx, DHCP_PARAMETERS, &length);
    bool any = false;

    for (unsigned i = 0; value && i < length; i++) {
        const char *name = parameter_name(value[i]);

        if (name && !any)
            fields_array_open(out, "params");
        if (name)
            fields_string(out, NULL, name);
        any |= name != NULL;
    }
    if (any)
        fields_array_close(out);
}

static void log_extended(const struct dhcp_tx *tx, struct fields *out)
{
    log_number(tx, DHCP_LEASE_TIME, "lease_time", out);
    log_number(tx, DHCP_REBINDING_TIME, "rebinding_time", out);
    log_option_address(tx, DHCP_SUBNET_MASK, "subnet_mask", out);
    log_option_address(tx, DHCP_REQUESTED_IP, "requested_ip", out);
    log_option_addresses(tx, DHCP_ROUTERS, "routers", out);
    log_option_addresses(tx, DHCP_DNS_SERVERS, "dns_servers", out);
    log_option_text(tx, DHCP_VENDOR_CLASS, "vendor_class_identifier", out);
    log_parameters(tx, out);
}

void dhcp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct dhcp_tx *dhcp = (const struct dhcp_tx *)tx;
    const struct dhcp_settings *log_settings = settings;
    bool extended = log_settings->extended;
    uint8_t length = 0;

    if (dhcp->message.length == 0)
        return;
    log_header(dhcp, extended, out);
    const uint8_t *client = dhcp_option(dhcp, DHCP_CLIENT_ID, &length);

    if (client && length > 1) /* skip the hardware type */
        fields_colon_hex(out, "client_id", client + 1, length - 1u);
    log_type(dhcp, out);
    log_number(dhcp, DHCP_RENEWAL_TIME, "renewal_time", out);
    log_option_text(dhcp, DHCP_HOSTNAME, "hostname", out);
    if (extended)
        log_extended(dhcp, out);
}

bool dhcp_wants_log(const struct app_tx *tx, const void *settings)
{
    const struct dhcp_tx *dhcp = (const struct dhcp_tx *)tx;
    const struct dhcp_settings *log_settings = settings;
    uint8_t length = 0;
    const uint8_t *type = dhcp_option(dhcp, DHCP_TYPE, &length);

    if (dhcp->message.length == 0)
        return false;
    return log_settings->extended || (type && length > 0 && type[0] == DHCP_ACK);
}
