/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DHCP over UDP. Each message is a separate transaction in its own direction. Requests and replies are not paired,
 * because they may belong to different flows: clients without an address, and relays, use other addresses and ports.
 * Datagrams that are too short for a message are ignored.
 */
#include <errno.h>
#include <stdlib.h>

#include "dhcp_priv.h"

static const struct app_event events[DHCP_EVENTS] = {
    [DHCP_TRUNCATED_OPTIONS] = { "truncated_options", "options are truncated, or the end option is missing" },
    [DHCP_MALFORMED_OPTIONS] = { "malformed_options", "a time or client identifier option has an invalid length" },
};

static struct app_result dhcp_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    unsigned event_bits = 0;

    (void)state;
    if (in->length < DHCP_HEADER)
        return result;
    struct dhcp_tx *tx = (struct dhcp_tx *)app_tx_new(context);

    if (!tx || dhcp_parse(app_heap(context), tx, in->bytes, in->length, &event_bits)) {
        result.status = APP_ERROR;
        return result;
    }
    tx->tx.directions = (uint8_t)(1u << in->direction);
    app_tx_advance(&tx->tx, in->direction, DHCP_COMPLETE);
    for (unsigned event = 0; event < DHCP_EVENTS; event++)
        if (event_bits >> event & 1)
            app_event(context, &tx->tx, event);
    return result;
}

static void dhcp_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct dhcp_tx *)tx)->message);
}

/* Accepts each datagram that is long enough for a message: the probe is called for the DHCP ports only. */
static enum app_probe_result dhcp_probe(const struct app_probe *in)
{
    return in->length >= DHCP_HEADER ? APP_YES : APP_NO;
}

static bool dhcp_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.dhcp", .type = SETTING_SECTION, .help = "Event type dhcp: a DHCP message" },
    { .name = "eve.types.dhcp.extended",
      SETTING_FIELD(dhcp_settings, extended),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Write all messages with all fields; otherwise acknowledgements only, with few fields" },
    { .name = NULL },
};

const struct app_proto app_dhcp = {
    .name = "dhcp",
    .help = "DHCP for IPv4, and BOOTP",
    .transports = APP_UDP,
    .udp_ports = "67,68",
    .probe = dhcp_probe,
    .feed = dhcp_feed,
    .tx_size = sizeof(struct dhcp_tx),
    .tx_free = dhcp_tx_free,
    .complete = { DHCP_COMPLETE, DHCP_COMPLETE },
    .events = events,
    .event_count = DHCP_EVENTS,
    .buffers = dhcp_buffers,
    .buffer_count = DHCP_BUFFERS,
    .conditions = dhcp_conditions,
    .condition_count = DHCP_CONDITIONS,
    .log_type = "dhcp",
    .log_key = "dhcp",
    .log = dhcp_log,
    .wants_log = dhcp_wants_log,
    .logs_from_server = dhcp_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct dhcp_settings),
};
