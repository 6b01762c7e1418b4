/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mDNS (RFC 6762): DNS messages that are multicast to all hosts of a link. Requests and responses have the same
 * direction, and only the header distinguishes them. */
#include "dns_priv.h"

enum { MDNS_PORT = 5353 };

static enum app_probe_result mdns_probe(const struct app_probe *in)
{
    if (!in->port_hint && in->client_port != MDNS_PORT)
        return APP_NO;
    return dns_probe_lenient(in) == APP_NO ? APP_NO : APP_YES;
}

const struct app_proto app_mdns = {
    .name = "mdns",
    .help = "multicast DNS",
    .transports = APP_UDP,
    .udp_ports = "5353",
    .probe = mdns_probe,
    .probe_any_port = true,
    .default_ports_only = true,
    .feed = dns_feed_multicast,
    .tx_size = sizeof(struct dns_tx),
    .tx_free = dns_tx_free,
    .complete = { DNS_COMPLETE, DNS_COMPLETE },
    .events = dns_events,
    .event_count = DNS_EVENTS,
    .buffers = mdns_buffers,
    .buffer_count = MDNS_BUFFERS,
    .script_value = dns_script_value,
    .log_type = "mdns",
    .log_key = "mdns",
    .log = mdns_log,
    .log_own = mdns_log_own,
    .wants_log = dns_wants_log_any,
    .logs_from_server = dns_logs_from_server,
    .settings = mdns_setting_rows,
};
