/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A copy of a session for events of type stream_tcp. The names of the flags are Suricata's. */
#include <string.h>

#include "stream_priv.h"

static const struct {
    const char *name;
    uint16_t flag; /* enum session_flag */
} session_flags[] = {
    { "midstream", SESSION_MIDSTREAM },
    { "midstream_established", SESSION_MIDSTREAM_ESTABLISHED },
    { "midstream_synack", SESSION_MIDSTREAM_SYNACK },
    { "timestamp", SESSION_TIMESTAMP },
    { "server_wscale", SESSION_WINDOW_SCALE },
    { "closed_by_rst", 0 }, /* computed from state and TCP flags */
    { "async", SESSION_ASYNC },
    { "4whs", SESSION_FOUR_WAY },
    { "detect_evasion_attempt", SESSION_EVASION },
    { "client_sackok", SESSION_SYN_SACK },
    { "sackok", SESSION_SACK },
    { "3whs_confirmed", SESSION_CONFIRMED },
    { "tcp_fast_open", SESSION_FAST_OPEN },
    { "tfo_data_ignored", SESSION_FAST_OPEN_IGNORED },
};
enum { CLOSED_BY_RESET = 5 };
_Static_assert(sizeof(session_flags) / sizeof(session_flags[0]) == STREAM_SESSION_FLAGS, "one row for each flag");

static const struct {
    const char *name;
    uint16_t flag; /* enum peer_flag */
} side_flags[] = {
    { "has_gap", 0 }, /* set from assembly.has_gap */
    { "noreassembly", PEER_STOPPED },
    { "keepalive", PEER_KEEPALIVE },
    { "depth_reached", PEER_DEPTH_REACHED },
    { "timestamp", PEER_TIMESTAMP },
    { "zero_timestamp", PEER_ZERO_TIMESTAMP },
    { "rst_recv", PEER_RESET_RECEIVED },
    { "zero_window_probe", PEER_WINDOW_PROBE },
};
_Static_assert(sizeof(side_flags) / sizeof(side_flags[0]) == STREAM_SIDE_FLAGS, "one row for each flag");

const char *stream_session_flag_name(unsigned bit)
{
    return session_flags[bit].name;
}

const char *stream_side_flag_name(unsigned bit)
{
    return side_flags[bit].name;
}

static uint32_t sequence_at(const struct tcp_peer *peer, int64_t offset)
{
    return peer->next_seq + (uint32_t)(offset - peer->next_offset);
}

bool stream_session_facts(const struct flow *flow, struct tcp_session_facts *out)
{
    const struct tcp_session *session = flow->tcp;
    bool was_reset;

    memset(out, 0, sizeof(*out));
    if (!session)
        return false;
    out->state = (enum tcp_state)session->reported;
    out->previous = (enum tcp_state)session->previous;
    was_reset = session->state == TCP_STATE_CLOSED &&
                (session->peer[FLOW_TO_SERVER].tcp_flags | session->peer[FLOW_TO_CLIENT].tcp_flags) & TCP_RST;
    for (unsigned i = 0; i < STREAM_SESSION_FLAGS; i++)
        out->flags |= (uint16_t)((session->flags & session_flags[i].flag ? 1u : 0u) << i);
    out->flags |= (uint16_t)((unsigned)was_reset << CLOSED_BY_RESET);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        const struct tcp_peer *peer = &session->peer[i];
        struct tcp_side_facts *side = &out->side[i];

        side->isn = peer->isn;
        side->next_seq = peer->next_seq;
        side->last_ack = peer->last_ack;
        side->next_win = peer->next_win;
        side->window = peer->window;
        side->window_scale = peer->window_scale;
        side->is_reassembled = !(peer->flags & PEER_STOPPED);
        side->base_seq = sequence_at(peer, (int64_t)peer->assembly.base);
        side->right_edge = peer->edge > 0 ? sequence_at(peer, peer->edge) : 0;
        for (unsigned k = 0; k < STREAM_SIDE_FLAGS; k++)
            side->flags |= (uint8_t)((peer->flags & side_flags[k].flag ? 1u : 0u) << k);
        side->flags |= peer->assembly.has_gap;
    }
    return true;
}
