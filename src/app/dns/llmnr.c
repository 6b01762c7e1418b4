/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LLMNR (RFC 4795): names of the hosts of a link. Queries are multicast, responses are unicast to the sender of the
 * query; long responses use TCP. */
#include "dns_priv.h"

enum { LLMNR_PORT = 5355 };

/* The source address of a response differs from the multicast address of the query, so the response starts another
 * flow. In that flow the LLMNR port is the client's port. */
static enum app_probe_result llmnr_probe(const struct app_probe *in)
{
    return in->port_hint || in->client_port == LLMNR_PORT ? dns_probe_lenient(in) : APP_NO;
}

const struct app_proto app_llmnr = {
    .name = "llmnr",
    .help = "Link-Local Multicast Name Resolution",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "5355",
    .udp_ports = "5355",
    .probe = llmnr_probe,
    .probe_any_port = true,
    .default_ports_only = true,
    .state_size = sizeof(struct dns_state),
    .feed = dns_feed,
    .transfer = dns_transfer,
    .accepts_gaps = true,
    .pending_max = 2 + UINT16_MAX,
    .tx_max = 4096,
    .tx_size = sizeof(struct dns_tx),
    .tx_free = dns_tx_free,
    .complete = { DNS_COMPLETE, DNS_COMPLETE },
    .events = dns_events,
    .event_count = DNS_EVENTS,
    .buffers = llmnr_buffers,
    .buffer_count = LLMNR_BUFFERS,
    .script_value = dns_script_value,
    .log_type = "llmnr",
    .log_key = "llmnr",
    .log = llmnr_log,
    .log_own = llmnr_log_own,
    .wants_log = dns_wants_log_any,
    .logs_from_server = dns_logs_from_server,
    .settings = llmnr_setting_rows,
};
