/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handlers for the first segment of a session: a SYN, or, if midstream pick-up is allowed, any segment of a connection
 * whose beginning was not seen. Unknown values are set to the most permissive ones: the largest window scale, SACK
 * permitted. Conntrack data, attached to the packet or from conntrack's table, shows which connections exist, which
 * side is the client, and which window scales are used.
 */
#include <errno.h>

#include "sluice/conntrack.h"
#include "stream_priv.h"

/* Conntrack data of a segment that has no session. */
struct pick_up {
    bool has_conntrack; /* `conntrack` is valid */
    bool for_conntrack; /* pick-up is allowed because the connection is established in conntrack */
    bool undecided;     /* the lookup failed temporarily */
    struct conntrack conntrack;
};

/* Fills *known with the conntrack data that is attached to the packet, or else with the entry in conntrack's table. The
 * table is searched neither for packets that the queue marked as unknown to conntrack (PACKET_CONNTRACK_NONE), nor for
 * packets inside tunnels, which conntrack does not see. */
static void query_conntrack(struct segment *seg, struct pick_up *known)
{
    struct stream *stream = seg->stream;
    bool uses_conntrack = stream->options.conntrack != STREAM_CONNTRACK_NO;

    known->undecided = false;
    known->has_conntrack = conntrack_parse_packet(&known->conntrack, seg->pkt);
    if (!known->has_conntrack && uses_conntrack && stream->find_connection && segment_is_inline(seg) &&
        seg->pkt->tunnel_depth == 0 && seg->pkt->conntrack.info != PACKET_CONNTRACK_NONE) {
        int err = stream->find_connection(stream->find_user, seg->pkt, &known->conntrack);

        stream_count(stream, STREAM_CONNTRACK_QUERIES);
        known->has_conntrack = err == 0;
        known->undecided = err == -EAGAIN;
        if (!err)
            segment_swap_sides(seg, conntrack_is_reply_direction(&known->conntrack) ? FLOW_TO_CLIENT : FLOW_TO_SERVER);
    }
    known->for_conntrack = known->has_conntrack && uses_conntrack && conntrack_is_established(&known->conntrack);
}

/* Returns true during midstream-grace, if the connection may have begun before the program started. */
static bool may_be_older(const struct segment *seg, const struct pick_up *known)
{
    const struct stream_options *options = &seg->stream->options;

    if (seg->pkt->time_ns >= options->midstream_until_ns)
        return false;
    return options->conntrack != STREAM_CONNTRACK_ONLY ||
           (known->has_conntrack && !conntrack_is_new(&known->conntrack));
}

/* Returns true for the last segments of a connection that conntrack knows and that was idle before: a reset, a
 * retransmitted FIN, the acknowledgment of the last FIN. They contain no data, and the other side waits for them, so
 * they pass. */
static bool is_known_end(const struct segment *seg, const struct pick_up *known)
{
    return segment_is_inline(seg) && seg->length == 0 && known->has_conntrack &&
           seg->stream->options.conntrack != STREAM_CONNTRACK_NO && conntrack_has_ended(&known->conntrack);
}

/* Returns whether the session may be picked up at this segment. Always returns true if the connection is established in
 * conntrack or may be older than the program. Always returns false at the end of a connection (is_known_end()). In all
 * other cases, sets the midstream exception and returns `allowed`. */
static bool may_pick_up(struct segment *seg, bool allowed, struct pick_up *known)
{
    query_conntrack(seg, known);
    if (known->for_conntrack || may_be_older(seg, known))
        return true;
    if (is_known_end(seg, known))
        return false;
    seg->verdict->exception = EXCEPTION_STREAM_MIDSTREAM;
    seg->verdict->undecided = known->undecided;
    if (known->undecided)
        stream_count(seg->stream, STREAM_CONNTRACK_UNDECIDED);
    return allowed;
}

static int begin_midstream(struct segment *seg, const struct pick_up *known)
{
    int err = session_new(seg);

    if (err)
        return err;
    stream_count(seg->stream, STREAM_MIDSTREAM_PICKUPS);
    if (known->for_conntrack) {
        stream_count(seg->stream, STREAM_MIDSTREAM_CONNTRACK);
        seg->pkt->flags |= PACKET_ESTABLISHED;
    }
    return 0;
}

static void begin_timestamps(struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;

    if (!tcp->has_timestamp)
        return;
    seg->session->flags |= SESSION_TIMESTAMP;
    seg->sender->last_timestamp = tcp->timestamp_value;
    seg->receiver->last_timestamp = tcp->timestamp_echo;
    seg->sender->last_seconds = segment_seconds(seg);
    if (tcp->timestamp_value == 0)
        seg->sender->flags |= PEER_ZERO_TIMESTAMP;
    if (tcp->timestamp_echo == 0)
        seg->receiver->flags |= PEER_ZERO_TIMESTAMP;
}

static void set_async_as_configured(struct segment *seg)
{
    if (seg->stream->options.async_oneside)
        seg->session->flags |= SESSION_ASYNC;
}

/* Initializes a session that is picked up within the data. `next_seq`: next sequence number of the sender. The window
 * of the other side is not known yet. */
static void begin_within_data(struct segment *seg, uint32_t next_seq, const struct pick_up *known)
{
    struct tcp_peer *sender = seg->sender, *receiver = seg->receiver;
    const struct conntrack *conntrack = &known->conntrack;

    seg->session->flags |= SESSION_MIDSTREAM | SESSION_MIDSTREAM_ESTABLISHED | SESSION_SACK;
    set_async_as_configured(seg);
    sender->window_scale = receiver->window_scale = WINDOW_SCALE_MAX;
    if (known->has_conntrack && conntrack_has_window_scales(conntrack)) {
        bool is_reply = conntrack_is_reply_direction(conntrack);

        seg->session->flags |= SESSION_SCALES_KNOWN;
        /* peer.window_scale applies to the windows that the other side announces */
        receiver->window_scale = conntrack->window_scale[is_reply ? CONNTRACK_REPLY : CONNTRACK_ORIGINAL];
        sender->window_scale = conntrack->window_scale[is_reply ? CONNTRACK_ORIGINAL : CONNTRACK_REPLY];
    }
    peer_start_sequence(seg, sender, seg->seq - 1);
    peer_set_next_seq(sender, next_seq);
    sender->flags |= PEER_HEARD;
    peer_set_window(sender, (uint32_t)seg->pkt->tcp.window << WINDOW_SCALE_MAX);
    sender->last_ack = seg->seq;
    sender->next_win = sender->last_ack + sender->window;
    peer_start_sequence(seg, receiver, seg->ack - 1);
    receiver->last_ack = receiver->next_win = seg->ack;
    if (seg->session->flags & SESSION_SCALES_KNOWN) {
        peer_set_window(receiver, segment_window(seg));
        receiver->next_win += receiver->window;
    }
    begin_timestamps(seg);
    data_add(seg);
}

/* Handles a reset without session. Inline it passes if it refuses a SYN or SYN/ACK of which there is a record, if the
 * connection may be older than the program, or if it ends a known connection: the other side would wait for data
 * forever without it. */
int none_on_reset(struct segment *seg)
{
    struct pick_up known;

    if (segment_is_inline(seg) && half_open_is_reset(seg))
        return 0;
    segment_add_event(seg, STREAM_EVENT_RST_BUT_NO_SESSION);
    query_conntrack(seg, &known);
    return segment_is_inline(seg) && (may_be_older(seg, &known) || is_known_end(seg, &known)) ? 0 : -EINVAL;
}

int none_on_fin(struct segment *seg)
{
    struct pick_up known;

    switch (half_open_restore_by_ack(seg)) {
    case 0:
        return syn_recv_on_fin(seg);
    case -ENOMEM:
        return 0;
    }
    if (!may_pick_up(seg, seg->stream->options.midstream, &known) || seg->length == 0) {
        segment_add_event(seg, STREAM_EVENT_FIN_BUT_NO_SESSION);
        return 0;
    }
    if (begin_midstream(seg, &known) != 0)
        return 0;
    session_set_state(seg, TCP_STATE_FIN_WAIT1);
    begin_within_data(seg, seg->end + 1, &known);
    peer_record_fin(seg);
    return 0;
}

int none_on_ack(struct segment *seg)
{
    struct pick_up known;

    switch (half_open_restore_by_ack(seg)) {
    case 0:
        return syn_recv_on_ack(seg);
    case -ENOMEM:
        return 0;
    }
    if (!may_pick_up(seg, seg->stream->options.midstream, &known) || begin_midstream(seg, &known) != 0)
        return 0;
    session_set_state(seg, TCP_STATE_ESTABLISHED);
    begin_within_data(seg, seg->end, &known);
    return 0;
}

int none_on_syn_ack(struct segment *seg)
{
    const struct stream_options *options = &seg->stream->options;
    struct pick_up known;

    switch (half_open_restore_by_syn_ack(seg)) {
    case 0:
        return syn_sent_on_syn_ack(seg);
    case -ENOMEM:
        return 0;
    }
    if (!may_pick_up(seg, options->midstream || options->async_oneside, &known))
        return 0;
    segment_swap_sides(seg, FLOW_TO_CLIENT); /* the sender of a SYN/ACK is the server */
    if (begin_midstream(seg, &known) != 0)
        return 0;
    struct tcp_peer *server = seg->sender, *client = seg->receiver;

    session_set_state(seg, TCP_STATE_SYN_RECV);
    seg->session->flags |= SESSION_MIDSTREAM | SESSION_MIDSTREAM_SYNACK;
    set_async_as_configured(seg);
    peer_start_sequence(seg, server, seg->seq);
    peer_set_window(server, seg->pkt->tcp.window);
    server->last_ack = seg->seq + 1;
    server->next_win = server->last_ack + server->window;
    peer_start_sequence(seg, client, seg->ack - 1);
    client->last_ack = seg->ack;
    if (seg->pkt->tcp.has_window_scale) { /* so the SYN had the option, too */
        client->window_scale = segment_scale(seg);
        server->window_scale = WINDOW_SCALE_MAX;
    }
    begin_timestamps(seg);
    if (seg->pkt->tcp.has_sack_permitted)
        seg->session->flags |= SESSION_SACK;
    return 0;
}

int none_on_syn(struct segment *seg)
{
    segment_swap_sides(seg, FLOW_TO_SERVER);
    if (session_new(seg) != 0)
        return 0;
    session_set_state(seg, TCP_STATE_SYN_SENT);
    set_async_as_configured(seg);
    if (seg->pkt->stream_flags & PACKET_STREAM_NEEDS_ANSWER)
        seg->session->flags |= SESSION_NEEDS_ANSWER;
    handshake_begin(seg);
    return 0;
}
