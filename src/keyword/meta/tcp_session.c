/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp.session:setup,established,closing; the phase of the packet's TCP session. A closing session also matches
 * `established`, as with flow:established.
 */
#include <errno.h>

#include "keyword/header/header.h"
#include "sluice/stream.h"

enum phase { PHASE_SETUP = 1 << 0, PHASE_ESTABLISHED = 1 << 1, PHASE_CLOSING = 1 << 2 };

static const struct {
    const char *name;
    enum phase phase;
} phases[] = {
    { "setup", PHASE_SETUP },
    { "established", PHASE_ESTABLISHED },
    { "closing", PHASE_CLOSING },
};

static bool is_closing(enum tcp_state state)
{
    switch (state) {
    case TCP_STATE_FIN_WAIT1:
    case TCP_STATE_FIN_WAIT2:
    case TCP_STATE_TIME_WAIT:
    case TCP_STATE_LAST_ACK:
    case TCP_STATE_CLOSE_WAIT:
    case TCP_STATE_CLOSING:
        return true;
    default:
        return false;
    }
}

static bool tcp_session_match(const struct match_input *in, const void *data)
{
    const struct flow *flow = in->packet->flow;
    const unsigned *wanted = data;
    struct tcp_summary summary;

    if (!flow || flow->protocol != IPPROTO_TCP)
        return false;
    unsigned phase = in->packet->flags & PACKET_ESTABLISHED ? PHASE_ESTABLISHED : PHASE_SETUP;

    stream_summary(flow, &summary);
    if (is_closing(summary.state))
        phase |= PHASE_CLOSING;
    return phase & *wanted;
}

static int add_phase(struct rule_parser *parser, struct span part, unsigned *out)
{
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        if (!span_equal(part, phases[i].name))
            continue;
        if (*out & phases[i].phase)
            return rule_parser_error(parser, part, "'%s' is given twice", phases[i].name);
        *out |= phases[i].phase;
        return 0;
    }
    return rule_parser_error(parser, part, "expected setup, established or closing, got '" SPAN_FORMAT "'",
                             SPAN_ARGS(part));
}

static int tcp_session_parse(struct rule_parser *parser, struct span value)
{
    unsigned *wanted = arena_alloc(rule_parser_arena(parser), sizeof(*wanted));
    int err = wanted ? 0 : -ENOMEM;

    for (struct span part; !err && span_next(&value, ',', &part);)
        err = add_phase(parser, part, wanted);
    return err ? err : rule_parser_add_packet_condition(parser, wanted, false);
}

const struct keyword keyword_tcp_session = {
    .name = "tcp.session",
    .value = "setup|established|closing[,...]",
    .help = "phase of the packet's TCP session",
    .manual = "Matches when the session is in one of the listed phases. A closing session is established as "
              "well.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = tcp_session_parse,
    .packet = { .cost = 1, .match = tcp_session_match },
};
