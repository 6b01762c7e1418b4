/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP/1: the protocol descriptor. A transaction is a request with its response.
 *
 * HTTP is detected on any port by its methods, by the version in a request line, and by the version in a status line,
 * regardless of case. On HTTP ports two words are sufficient, because a request line of HTTP/0.9 has no version.
 */
#include "http_priv.h"

#include <string.h>

#define TO_SERVER(text)                                                                                                \
    {                                                                                                                  \
        .bytes = text, .length = sizeof(text) - 1, .nocase = true, .direction = FLOW_TO_SERVER                         \
    }
#define TO_CLIENT(text)                                                                                                \
    {                                                                                                                  \
        .bytes = text, .length = sizeof(text) - 1, .nocase = true, .direction = FLOW_TO_CLIENT                         \
    }
#define METHOD(name) TO_SERVER(name " "), TO_SERVER(name "\t")

static const struct app_pattern patterns[] = {
    METHOD("GET"),
    METHOD("PUT"),
    METHOD("POST"),
    METHOD("HEAD"),
    METHOD("TRACE"),
    METHOD("OPTIONS"),
    METHOD("CONNECT"),
    METHOD("DELETE"),
    METHOD("PATCH"),
    METHOD("PROPFIND"),
    METHOD("PROPPATCH"),
    METHOD("MKCOL"),
    METHOD("COPY"),
    METHOD("MOVE"),
    METHOD("LOCK"),
    METHOD("UNLOCK"),
    METHOD("CHECKOUT"),
    METHOD("UNCHECKOUT"),
    METHOD("CHECKIN"),
    METHOD("UPDATE"),
    METHOD("LABEL"),
    METHOD("REPORT"),
    METHOD("MKWORKSPACE"),
    METHOD("MKACTIVITY"),
    METHOD("MERGE"),
    METHOD("INVALID"),
    METHOD("VERSION-CONTROL"),
    METHOD("BASELINE-CONTROL"),
    TO_CLIENT("HTTP/0.9"),
    TO_CLIENT("HTTP/1.0"),
    TO_CLIENT("HTTP/1.1"),
};

enum { PATTERN_MAX = 17 }; /* bytes of the longest pattern */

enum {
    METHOD_MAX = 64,   /* a longer first word with non-text bytes is not a method, except on HTTP ports */
    BLANKS_MAX = 1024, /* after this number of leading blanks and line ends the bytes are HTTP: servers skip any number
                          of them */
    LINE_MAX = 1024,   /* an incomplete line of this length is a request line if a path follows the first word, or if it
                          has a version */
};

/* For methods after blank lines: the framework compares the patterns with the first bytes of a direction only. */
static bool begins_with_method(const uint8_t *bytes, uint32_t length)
{
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        const struct app_pattern *pattern = &patterns[i];

        if (pattern->direction == FLOW_TO_SERVER && length >= pattern->length &&
            http_equal_nocase(bytes, pattern->length, pattern->bytes))
            return true;
    }
    return false;
}

/* Servers accept any method, blank lines before it, and tabs between the words, so a version in the line identifies
 * HTTP. On other ports than HTTP's, a first word excludes HTTP if it contains a NUL byte, or if it is long and contains
 * other non-text bytes: only Python accepts such methods, and the result for binary protocols must not stay APP_UNSURE
 * for long. */
static enum app_probe_result probe_request(const struct app_probe *in)
{
    uint32_t at = 0, word, target;
    bool is_text = true;

    while (at < in->length && http_is_separator(in->bytes[at]))
        at++;
    if (at == in->length)
        return in->length >= BLANKS_MAX ? APP_YES : APP_UNSURE;
    if (at > 0 && begins_with_method(in->bytes + at, in->length - at))
        return APP_YES;
    for (word = at; at < in->length && !http_is_separator(in->bytes[at]); at++) {
        is_text &= in->bytes[at] >= ' ' && in->bytes[at] <= '~';
        if (!in->port_hint && (in->bytes[at] == 0 || (!is_text && at - word >= METHOD_MAX)))
            return APP_NO;
    }
    for (target = at; target < in->length && in->bytes[target] != '\n' && http_is_separator(in->bytes[target]);)
        target++;
    const uint8_t *end = memchr(in->bytes + at, '\n', in->length - at);

    if (end)
        return http_has_version(in->bytes + at, (uint32_t)(end - in->bytes) - at) ||
                       (in->port_hint && target > at && in->bytes[target] > ' ')
                   ? APP_YES
                   : APP_NO;
    if (in->length - word < LINE_MAX)
        return APP_UNSURE;
    return (target < in->length && in->bytes[target] == '/') || http_has_version(in->bytes + at, in->length - at)
               ? APP_YES
               : APP_UNSURE;
}

/* Whether the bytes start with the text, or the text with them. */
static bool begins_like(const struct app_probe *in, const char *text, uint32_t length)
{
    return memcmp(in->bytes, text, in->length < length ? in->length : length) == 0;
}

/* The connection preface of HTTP/2 looks like a request: an HTTP/1 server rejects it and closes the connection. If the
 * supposed client sends a status line, it is the server: the start of the connection was not seen, and its
 * directions are swapped. */
static enum app_probe_result probe(const struct app_probe *in)
{
    static const char version[] = "http/1.", http2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    uint32_t length = in->length < sizeof(version) - 1 ? in->length : (uint32_t)sizeof(version) - 1;

    for (uint32_t i = 0; i < length; i++) {
        if (http_lower(in->bytes[i]) == (uint8_t)version[i])
            continue;
        if (in->direction == FLOW_TO_SERVER && in->bytes[0] == 'P' && begins_like(in, http2, sizeof(http2) - 1))
            return in->length < sizeof(http2) - 1 ? APP_UNSURE : APP_NO;
        if (in->direction == FLOW_TO_SERVER)
            return probe_request(in);
        return in->length < PATTERN_MAX ? APP_UNSURE : APP_NO; /* a pattern may still match */
    }
    if (length < sizeof(version) - 1)
        return APP_UNSURE;
    return in->direction == FLOW_TO_SERVER ? APP_REVERSED : APP_YES;
}

static void stop_parser(struct app_context *context, void *state)
{
    http_free_readings(context, state);
    http_free_alternatives(context, state);
}

static const char *const aliases[] = { "http1", NULL };
static const char *const request_steps[] = {
    "request_started", "request_line", "request_headers", "request_body", "request_trailer", "request_complete", NULL
};
static const char *const response_steps[] = { "response_started",
                                              "response_line",
                                              "response_headers",
                                              "response_body",
                                              "response_trailer",
                                              "response_complete",
                                              NULL };

static const char *const frames[] = { [HTTP_FRAME_REQUEST] = "request", [HTTP_FRAME_RESPONSE] = "response", NULL };

const struct app_proto app_http = {
    .name = "http",
    .words = aliases,
    .help = "HTTP/1.1 and older",
    .transports = APP_TCP,
    .tcp_ports = "80,8080",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = probe,
    .probe_any_port = true,
    .parsed_alongside = true,
    .is_text = true,
    .state_size = sizeof(struct http_state),
    .stop = stop_parser,
    .feed = http_feed,
    .accepts_gaps = true,
    .pending_max = HTTP_PENDING_MAX,
    .transfer = http_transfer,
    .tx_size = sizeof(struct http_tx),
    .tx_free = http_tx_free,
    .shed = http_tx_shed,
    .complete = { HTTP_COMPLETE, HTTP_COMPLETE },
    .tx_max = 512,
    .steps = { request_steps, response_steps },
    .frames = frames,
    .events = http_event_table,
    .event_count = HTTP_EVENT_COUNT,
    .buffers = http_buffer_table,
    .buffer_count = HTTP_BUFFERS,
    .grows_at_segment_end = true,
    .log_type = "http",
    .log_key = "http",
    .log = http_log,
    .describe = http_describe,
    .describe_alert = http_describe_alert,
    .header = http_get_named,
    .settings = http_setting_table,
    .settings_size = sizeof(struct http_settings),
    .configure = http_configure,
};
