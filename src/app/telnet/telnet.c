/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telnet (RFC 854). A session has no requests and responses; its bytes are inspected as a stream, and commands and
 * lines of text as frames.
 */
#include <string.h>

#include "sluice/app.h"

enum {
    IAC = 255, /* starts a command */
    SE = 240,  /* ends a subnegotiation */
    SB = 250,  /* starts one */
    WILL = 251,
    DONT = 254,
    PREFIX = 2,      /* IAC and the command */
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

/* --- Frames --------------------------------------------------------------------------------------- */

enum { FRAME_PDU, FRAME_CTL, FRAME_DATA };
static const char *const frames[] = { [FRAME_PDU] = "pdu", [FRAME_CTL] = "ctl", [FRAME_DATA] = "data", NULL };

enum part { BETWEEN, IN_TEXT, IN_SUBNEGOTIATION };
/* The login, during which the server's text ends with a prompt instead of a line end. */
enum step { BEFORE_LOGIN, AT_LOGIN, BEFORE_PASSWORD, AFTER_LOGIN };

struct telnet_state {
    uint8_t part[FLOW_DIRECTIONS]; /* enum part: what the next byte is part of */
    uint8_t last[FLOW_DIRECTIONS]; /* previous byte of the text */
    uint8_t step;                  /* enum step */
};

static void announce(struct app_context *context, const struct app_input *in, uint32_t at, uint64_t length,
                     unsigned type)
{
    app_frame(context, in, at, length, FRAME_PDU, NULL);
    app_frame(context, in, at, length, type, NULL);
}

static void end_part(struct app_context *context, struct telnet_state *state, const struct app_input *in, uint32_t at)
{
    unsigned type = state->part[in->direction] == IN_TEXT ? FRAME_DATA : FRAME_CTL;

    if (state->part[in->direction] == BETWEEN)
        return;
    app_frame_end(context, in, at, FRAME_PDU);
    app_frame_end(context, in, at, type);
    state->part[in->direction] = BETWEEN;
}

/* Returns the number of bytes of the command at the start of the input; 0: more bytes are needed. */
static uint32_t start_command(struct app_context *context, struct telnet_state *state, const struct app_input *in,
                              uint32_t at)
{
    uint32_t left = in->length - at, length = PREFIX;

    if (left < PREFIX)
        return 0;
    if (in->bytes[at + 1] == SB) {
        announce(context, in, at, APP_FRAME_UNKNOWN, FRAME_CTL);
        state->part[in->direction] = IN_SUBNEGOTIATION;
        return PREFIX;
    }
    if (in->bytes[at + 1] >= WILL && in->bytes[at + 1] <= DONT)
        length = NEGOTIATION;
    if (left < length)
        return 0;
    announce(context, in, at, length, FRAME_CTL);
    return length;
}

static uint32_t read_text(struct app_context *context, struct telnet_state *state, const struct app_input *in,
                          uint32_t at)
{
    bool to_client = in->direction == FLOW_TO_CLIENT;
    bool prompts = to_client && (state->step == BEFORE_LOGIN || state->step == BEFORE_PASSWORD);
    uint8_t last = state->last[in->direction];

    for (uint32_t i = at; i < in->length; i++) {
        if (prompts ? last == ':' && in->bytes[i] == ' ' : in->bytes[i] == '\n') {
            end_part(context, state, in, i + 1);
            if (prompts || (!to_client && state->step == AT_LOGIN))
                state->step++;
            return i + 1 - at;
        }
        last = in->bytes[i];
    }
    state->last[in->direction] = last;
    return in->length - at;
}

/* The subnegotiation ends before the command IAC SE. */
static uint32_t read_subnegotiation(struct app_context *context, struct telnet_state *state, const struct app_input *in,
                                    uint32_t at)
{
    uint32_t i = at;

    while (i < in->length && (in->bytes[i] != IAC || (i + 1 < in->length && in->bytes[i + 1] != SE)))
        i += in->bytes[i] == IAC ? PREFIX : 1;
    if (i + 1 < in->length)
        end_part(context, state, in, i);
    return (i < in->length ? i : in->length) - at;
}

static struct app_result feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct telnet_state *state = data;
    uint32_t size = 0;
    uint8_t part;

    if (!app_wants_frames(context)) {
        result.consumed = in->length;
        return result;
    }
    if (in->gap)
        end_part(context, state, in, 0);
    do {
        result.consumed += size;
        part = state->part[in->direction];
        if (result.consumed == in->length)
            break;
        if (part == BETWEEN && in->bytes[result.consumed] != IAC) {
            announce(context, in, result.consumed, APP_FRAME_UNKNOWN, FRAME_DATA);
            state->part[in->direction] = part = IN_TEXT;
            state->last[in->direction] = 0;
        }
        if (part == IN_TEXT)
            size = read_text(context, state, in, result.consumed);
        else if (part == IN_SUBNEGOTIATION)
            size = read_subnegotiation(context, state, in, result.consumed);
        else
            size = start_command(context, state, in, result.consumed);
    } while (size > 0 || part != state->part[in->direction]);
    return result;
}

const struct app_proto app_telnet = {
    .name = "telnet",
    .help = "Telnet",
    .transports = APP_TCP,
    .tcp_ports = "23",
    .probe = probe,
    .probe_any_port = true,
    .state_size = sizeof(struct telnet_state),
    .feed = feed,
    .accepts_gaps = true,
    .frames = frames,
    .tx_size = sizeof(struct app_tx),
};
