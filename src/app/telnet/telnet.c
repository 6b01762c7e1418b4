/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telnet (RFC 854): detection only. A session has no requests and responses; its bytes are inspected as a stream.
 */
#include <string.h>

#include "sluice/app.h"

enum {
    IAC = 255, /* starts a command */
    SB = 250,  /* starts a subnegotiation */
    WILL = 251,
    DONT = 254,
    NEGOTIATION = 3, /* bytes of WILL, WONT, DO or DONT with its option */
    TEXT_MAX = 24,   /* bytes of text that suffice for the patterns of all other protocols */
};

/* Whether the bytes are WILL, WONT, DO or DONT, as far as there are any. */
static bool is_negotiation(const uint8_t *bytes, uint32_t length)
{
    return (length < 1 || bytes[0] == IAC) && (length < 2 || (bytes[1] >= WILL && bytes[1] <= DONT));
}

/* On a port of Telnet accepts a command and any line of text that is not another protocol. On other ports a direction
 * must begin with two commands that negotiate options. */
static enum app_probe_result probe(const struct app_probe *in)
{
    if (in->port_hint && in->length > 0 && in->bytes[0] == IAC)
        return in->length < 2 ? APP_UNSURE : APP_YES;
    if (in->port_hint)
        return in->length >= TEXT_MAX || memchr(in->bytes, '\n', in->length) ? APP_YES : APP_UNSURE;
    if (!is_negotiation(in->bytes, in->length))
        return APP_NO;
    if (in->length < NEGOTIATION + 2)
        return in->length <= NEGOTIATION || in->bytes[NEGOTIATION] == IAC ? APP_UNSURE : APP_NO;
    return is_negotiation(in->bytes + NEGOTIATION, in->length - NEGOTIATION) ||
                   (in->bytes[NEGOTIATION] == IAC && in->bytes[NEGOTIATION + 1] == SB)
               ? APP_YES
               : APP_NO;
}

static struct app_result feed(struct app_context *context, void *state, const struct app_input *in)
{
    (void)context;
    (void)state;
    return (struct app_result){ .status = APP_OK, .consumed = in->length };
}

const struct app_proto app_telnet = {
    .name = "telnet",
    .help = "Telnet (detection only)",
    .transports = APP_TCP,
    .tcp_ports = "23",
    .probe = probe,
    .probe_any_port = true,
    .feed = feed,
    .accepts_gaps = true,
    .tx_size = sizeof(struct app_tx),
};
