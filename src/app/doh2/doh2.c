/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS over HTTP/2 (RFC 8484): the protocol of a connection after its first stream with a DNS message. The parser is
 * that of HTTP/2 (src/app/http2/dns.c finds the messages); this protocol adds the keywords and the events of DNS.
 *
 * A stream with a DNS message is logged as an event of type dns, with the objects of both protocols. Other streams and
 * frames of the connection are logged as HTTP/2.
 */
#include "app/dns/dns_priv.h"
#include "app/http2/http2_priv.h"

static const struct app_tx *get_message(const struct app_tx *tx, enum flow_direction direction)
{
    const struct http2_dns *dns = ((const struct http2_tx *)tx)->dns;

    return dns && dns->message[direction].parsed ? &dns->message[direction].tx : NULL;
}

/* --- Keywords ------------------------------------------------------------------------------------- */

/* A message is parsed at the end of its direction. */
static const struct app_buffer buffers[] = {
    { &keyword_dns_query, APP_TO_SERVER, HTTP_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_dns_query_name, APP_BOTH, HTTP_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_dns_queries_rrname, APP_BOTH, HTTP_COMPLETE, .get = dns_get_record_name, .part = DNS_QUERIES },
    { &keyword_dns_answer_name, APP_BOTH, HTTP_COMPLETE, .get = dns_get_record_name, .part = DNS_ANSWERS },
    { &keyword_dns_answers_rrname, APP_BOTH, HTTP_COMPLETE, .get = dns_get_record_name, .part = DNS_ANSWERS },
    { &keyword_dns_authorities_rrname, APP_TO_CLIENT, HTTP_COMPLETE, .get = dns_get_record_name,
      .part = DNS_AUTHORITIES },
    { &keyword_dns_additionals_rrname, APP_TO_CLIENT, HTTP_COMPLETE, .get = dns_get_record_name,
      .part = DNS_ADDITIONALS },
    { &keyword_dns_response_rrname, APP_TO_CLIENT, HTTP_COMPLETE, .get = dns_get_response },
};
static const struct app_condition conditions[] = {
    { &keyword_dns_opcode, APP_BOTH, HTTP_COMPLETE },
    { &keyword_dns_rcode, APP_BOTH, HTTP_COMPLETE },
    { &keyword_dns_rrtype, APP_BOTH, HTTP_COMPLETE },
};

/* --- Events --------------------------------------------------------------------------------------- */

/* Returns the message that is logged: the response or, without one, the request. NULL: none. */
static const struct app_tx *get_logged_message(const struct app_tx *tx)
{
    const struct app_tx *response = get_message(tx, FLOW_TO_CLIENT), *request = get_message(tx, FLOW_TO_SERVER);

    if (response && !response->only_events)
        return response;
    return request && !request->only_events ? request : NULL;
}

static const struct app_proto *logs_as(const struct app_tx *tx)
{
    return get_logged_message(tx) ? &app_doh2 : &app_http2;
}

static bool wants_log(const struct app_tx *tx, const void *settings)
{
    return dns_wants_log(get_logged_message(tx), settings);
}

static void log_message(const struct app_tx *tx, const void *settings, struct fields *out)
{
    dns_log(get_logged_message(tx), settings, out);
}

static void describe_message(const struct app_tx *tx, const void *settings, struct fields *out)
{
    dns_log_alert(get_logged_message(tx), settings, out);
}

static void log_http(const struct app_tx *tx, const void *settings, struct fields *out)
{
    fields_object_open(out, app_http2.log_key);
    http2_log(tx, settings, out);
    fields_object_close(out);
}

static void log_own(const struct app_tx *tx, struct fields *out)
{
    dns_log_own(get_logged_message(tx), out);
}

static int configure(const struct config *config, void *data)
{
    struct dns_settings *settings = data;

    settings->version = 3;
    return dns_configure(config, settings);
}

/* Not the string that app_dns has: outputs tell event types apart by this pointer. */
static const char log_type[] = "dns";

const struct app_proto app_doh2 = {
    .name = "doh2",
    .help = "DNS over HTTP/2",
    .transports = APP_TCP,
    .state_size = sizeof(struct http2_state),
    .start = http2_start,
    .stop = http2_stop,
    .feed = http2_feed,
    .transfer = http2_transfer,
    .tx_size = sizeof(struct http2_tx),
    .tx_free = http2_tx_free,
    .shed = http_tx_shed,
    .complete = { HTTP_COMPLETE, HTTP_COMPLETE },
    .tx_max = HTTP2_TX_MAX,
    .extends = &app_http2,
    .inner = get_message,
    .inner_proto = &app_dns,
    .frames = http2_frame_types,
    .sub_states = http2_sub_states,
    .hooks = { http2_request_hooks, http2_response_hooks },
    .events = http2_events,
    .event_count = HTTP2_EVENTS,
    .buffers = buffers,
    .buffer_count = sizeof(buffers) / sizeof(buffers[0]),
    .conditions = conditions,
    .condition_count = sizeof(conditions) / sizeof(conditions[0]),
    .grows_at_segment_end = true,
    .log_type = log_type,
    .log_key = "dns",
    .log_setting = "doh2",
    .log = log_message,
    .describe = describe_message,
    .log_top_level = log_http,
    .log_own = log_own,
    .logs_as = logs_as,
    .wants_log = wants_log,
    .header = http_get_named,
    .settings = doh2_setting_rows,
    .settings_size = sizeof(struct dns_settings),
    .configure = configure,
};
