/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first segment of a session: a SYN; or, where that is allowed, whatever comes of a connection of which the beginning was not
 * seen. What was not seen is taken as generously as can be: windows scaled by the most there is, selective acknowledgments allowed.
 */
#include <errno.h>

#include "stream_priv.h"

/* The policy for such sessions is asked in either case, but not for those that are older than the program. */
static bool may_pick_up(struct segment *seg, bool allowed)
{
    if (seg->pkt->time_ns < seg->stream->options.midstream_until_ns)
        return true;
    seg->verdict->exception = EXCEPTION_STREAM_MIDSTREAM;
    return allowed;
}

static int begin_midstream(struct segment *seg)
{
    int err = session_begin(seg);

    if (err == 0)
        stream_count(seg->stream, STREAM_MIDSTREAM_PICKUPS);
    return err;
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

/* In the middle of the data: what comes next of the sender is `next_seq`. */
static void begin_in_the_middle(struct segment *seg, uint32_t next_seq)
{
    struct tcp_peer *sender = seg->sender, *receiver = seg->receiver;

    seg->session->flags |= SESSION_MIDSTREAM | SESSION_MIDSTREAM_ESTABLISHED | SESSION_SACK;
    set_async_as_configured(seg);
    sender->window_scale = receiver->window_scale = WINDOW_SCALE_MAX;
    peer_begin(seg, sender, seg->seq - 1);
    peer_set_next_seq(sender, next_seq);
    sender->window = (uint32_t)seg->pkt->tcp.window << WINDOW_SCALE_MAX;
    sender->last_ack = seg->seq;
    sender->next_win = sender->last_ack + sender->window;
    peer_begin(seg, receiver, seg->ack - 1);
    receiver->last_ack = receiver->next_win = seg->ack;
    begin_timestamps(seg);
    data_take(seg);
}

int none_on_reset(struct segment *seg)
{
    segment_note(seg, STREAM_EVENT_RST_BUT_NO_SESSION);
    return -EINVAL;
}

int none_on_fin(struct segment *seg)
{
    if (!may_pick_up(seg, seg->stream->options.midstream) || seg->length == 0) {
        segment_note(seg, STREAM_EVENT_FIN_BUT_NO_SESSION);
        return 0;
    }
    if (begin_midstream(seg) != 0)
        return 0;
    session_set_state(seg, TCP_STATE_FIN_WAIT1);
    begin_in_the_middle(seg, seg->end + 1);
    peer_take_fin(seg);
    return 0;
}

int none_on_ack(struct segment *seg)
{
    if (!may_pick_up(seg, seg->stream->options.midstream) || begin_midstream(seg) != 0)
        return 0;
    session_set_state(seg, TCP_STATE_ESTABLISHED);
    begin_in_the_middle(seg, seg->end);
    return 0;
}

/* The segment tells who is the server; the flow may be the wrong way round. */
static void turn_round(struct segment *seg, enum flow_direction direction)
{
    if (seg->direction == direction)
        return;
    flow_swap(seg->flow, seg->pkt);
    segment_set_direction(seg, direction);
}

int none_on_syn_ack(struct segment *seg)
{
    const struct stream_options *options = &seg->stream->options;

    if (!may_pick_up(seg, options->midstream || options->async_oneside))
        return 0;
    turn_round(seg, FLOW_TO_CLIENT);
    if (begin_midstream(seg) != 0)
        return 0;
    struct tcp_peer *server = seg->sender, *client = seg->receiver;

    session_set_state(seg, TCP_STATE_SYN_RECV);
    seg->session->flags |= SESSION_MIDSTREAM | SESSION_MIDSTREAM_SYNACK;
    set_async_as_configured(seg);
    peer_begin(seg, server, seg->seq);
    server->window = seg->pkt->tcp.window;
    server->last_ack = seg->seq;
    server->next_win = server->last_ack + server->window;
    peer_begin(seg, client, seg->ack - 1);
    client->last_ack = seg->ack;
    if (seg->pkt->tcp.has_window_scale) { /* then the SYN had it too */
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
    turn_round(seg, FLOW_TO_SERVER);
    if (session_begin(seg) != 0)
        return 0;
    session_set_state(seg, TCP_STATE_SYN_SENT);
    set_async_as_configured(seg);
    handshake_begin(seg);
    return 0;
}
