/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handshakes: three-way, four-way (the server answers with a SYN instead of a SYN/ACK: simultaneous or split open),
 * with data in the SYN (TCP fast open, RFC 7413), with only one side seen, and with lost segments.
 */
#include <errno.h>

#include "stream_priv.h"

static struct tcp_peer *client_of(struct segment *seg)
{
    return &seg->session->peer[FLOW_TO_SERVER];
}

static struct tcp_peer *server_of(struct segment *seg)
{
    return &seg->session->peer[FLOW_TO_CLIENT];
}

/*
 * Handles a SYN with another sequence number than that of the session. Either the sender of the SYN has lost the
 * connection, or the sender opens a new one on the same ports. The SYN must reach its receiver. The receiver answers
 * with a SYN/ACK or, if it still has the old connection, with an ACK of it; the sender of the SYN then resets the old
 * connection (RFC 9293 §3.5.1, RFC 5961 §4.2). The session does not change; a SYN/ACK that acknowledges this SYN starts
 * a new session (stream_is_port_reuse()). Inline, a SYN with payload is rejected, because its payload would not be
 * inspected at its offset in the stream. In passive mode every such SYN is rejected.
 */
int handle_other_syn(struct segment *seg, enum stream_event event)
{
    segment_add_event(seg, event);
    half_open_record_syn(seg);
    return segment_is_inline(seg) && seg->length == 0 ? 0 : -EINVAL;
}

/* --- SYN_SENT ------------------------------------------------------------------------------------- */

/*
 * Handles a SYN/ACK that answers another SYN of the client. It must reach the client, which answers with a reset:
 * otherwise the server keeps its half-open connection and answers later SYNs with the same wrong SYN/ACK.
 */
static int pass_wrong_syn_ack(struct segment *seg, enum stream_event event)
{
    segment_add_event(seg, event);
    if (!segment_is_inline(seg) || seg->length > 0)
        return -EINVAL;
    client_of(seg)->flags |= PEER_CHALLENGED;
    return 0;
}

int syn_sent_on_syn_ack(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = client_of(seg);
    bool fast_open = seg->pkt->tcp.has_fast_open || (session->flags & SESSION_FAST_OPEN);

    if (!fast_open && seg->ack != client->isn + 1)
        return pass_wrong_syn_ack(seg, STREAM_EVENT_3WHS_SYNACK_WITH_WRONG_ACK);
    if (!check_syn_echo(seg) && !handshake_use_queued_syn(seg) && !check_older_syn_echo(seg)) {
        if (client->flags & PEER_TIMESTAMP)
            return segment_reject(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
        segment_add_event(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP); /* the client ignores the timestamp */
    }
    /* Fast open: if the server accepted the data of the SYN, it has checked the cookie, which proves the client's
     * address, so the connection is established. Otherwise the connection is half-open. */
    if (fast_open && seg->ack != client->next_seq) {
        if (seg->ack != client->isn + 1)
            return pass_wrong_syn_ack(seg, STREAM_EVENT_3WHS_SYNACK_WITH_WRONG_ACK);
        segment_add_event(seg, STREAM_EVENT_3WHS_SYNACK_TFO_DATA_IGNORED);
        session->flags |= SESSION_FAST_OPEN_IGNORED;
        peer_set_next_seq(client, client->isn + 1);
    } else if (fast_open && seg->ack != client->isn + 1) {
        session->flags |= SESSION_FAST_OPEN_TAKEN;
        session_set_state(seg, TCP_STATE_ESTABLISHED);
    }
    if (fast_open)
        session->flags |= SESSION_FAST_OPEN;
    handshake_clear(seg->stream, session);
    handshake_apply_syn_ack(seg);
    if (fast_open && seg->length > 0) { /* with fast open, the SYN/ACK may contain the server's first data */
        data_add(seg);
        peer_set_next_seq(seg->sender, seg->sender->next_seq + seg->length);
    }
    return 0;
}

/* Handles a SYN/ACK of the client: in a four-way handshake, it answers the SYN of the server. */
int syn_sent_on_wrong_syn_ack(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = client_of(seg), *server = server_of(seg);

    if (!(session->flags & SESSION_FOUR_WAY))
        return segment_reject(seg, STREAM_EVENT_3WHS_SYNACK_IN_WRONG_DIRECTION);
    if (seg->ack != server->isn + 1)
        return segment_reject(seg, STREAM_EVENT_4WHS_SYNACK_WITH_WRONG_ACK);
    if (seg->seq != client->isn)
        return segment_reject(seg, STREAM_EVENT_4WHS_SYNACK_WITH_WRONG_SYN);
    session_set_state(seg, TCP_STATE_SYN_RECV);
    peer_start_sequence(seg, client, seg->seq);
    peer_set_window(server, seg->pkt->tcp.window);
    if (seg->pkt->tcp.has_timestamp && (server->flags & PEER_TIMESTAMP)) {
        client->last_timestamp = seg->pkt->tcp.timestamp_value;
        client->last_seconds = segment_seconds(seg);
        session->flags |= SESSION_TIMESTAMP;
        if (client->last_timestamp == 0)
            client->flags |= PEER_ZERO_TIMESTAMP;
    } else {
        client->last_timestamp = server->last_timestamp = 0;
        server->flags &= (uint16_t)~PEER_ZERO_TIMESTAMP;
    }
    server->last_ack = seg->ack;
    client->last_ack = client->isn + 1;
    server->window_scale = session->flags & SESSION_WINDOW_SCALE ? segment_scale(seg) : 0;
    if ((session->flags & SESSION_SYN_SACK) && seg->pkt->tcp.has_sack_permitted)
        session->flags |= SESSION_SACK;
    client->next_win = client->last_ack + client->window;
    server->next_win = server->last_ack + server->window;
    return 0;
}

int syn_sent_on_other(struct segment *seg)
{
    if (!check_syn_echo(seg))
        return segment_reject(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
    return without_flags(seg);
}

/*
 * Returns whether a reset of the server answers the SYN. The server has sent nothing before, so only the acknowledgment
 * number shows whether the reset belongs to the SYN. Receivers ignore a reset without ACK (RFC 9293 §3.10.7.3, second);
 * in passive mode such a reset is accepted if its sequence number is the expected one, as in Suricata.
 */
static bool answers_syn(struct segment *seg)
{
    if (seg->length > 0)
        segment_add_event(seg, STREAM_EVENT_RST_WITH_DATA);
    if (!seg->has_ack)
        return !segment_is_inline(seg) && seg->seq == seg->sender->next_seq;
    if (check_ack(seg))
        return true;
    segment_add_event(seg, STREAM_EVENT_RST_INVALID_ACK);
    return false;
}

static bool is_within_window_of(uint32_t seq, uint32_t first)
{
    return seq_at_or_after(seq, first) && seq_at_or_before(seq, first + WINDOW_UNKNOWN);
}

/*
 * Returns true if the connection may be established already: the SYN that was seen was a retransmission, and the rest
 * of the handshake passed before the program started. Stream offsets of the client's bytes count from the SYN, so
 * segments whose numbers do not fit to it are excluded.
 */
static bool was_established(const struct segment *seg)
{
    const struct tcp_peer *client = &seg->session->peer[FLOW_TO_SERVER];

    return segment_may_be_older(seg) && seg->has_ack &&
           !(seg->session->flags & (SESSION_FOUR_WAY | SESSION_NEEDS_ANSWER)) &&
           is_within_window_of(seg->direction == FLOW_TO_SERVER ? seg->seq : seg->ack, client->isn + 1);
}

int syn_sent_on_reset(struct segment *seg)
{
    bool to_server = seg->direction == FLOW_TO_SERVER;
    uint32_t isn = seg->sender->isn;
    bool takes_syn_back = seg->seq == isn && seg->pkt->tcp.window == 0 && seg->ack == isn + 1;

    /* The client answers a challenge ACK (syn_sent_on_ack()) or a SYN/ACK for another SYN with a reset. */
    if (to_server && segment_is_inline(seg) && seg->length == 0 && !seg->has_ack &&
        (seg->sender->flags & PEER_CHALLENGED))
        return 0;
    if (!check_syn_echo(seg))
        return segment_reject(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
    if (to_server && !takes_syn_back && !was_established(seg))
        return check_reset(seg) ? 0 : -EINVAL; /* the session stays: the server may receive the SYN after the reset, or
                                                  may ignore the reset */
    if (!to_server && !answers_syn(seg))
        return -EINVAL;
    seg->receiver->flags |= PEER_RESET_RECEIVED;
    session_close_by_reset(seg);
    handshake_clear(seg->stream, seg->session);
    return 0;
}

/*
 * Inspects the data of a SYN at its offset in the stream. A server that requires no fast open cookie accepts such data
 * (Linux: net.ipv4.tcp_fastopen); its SYN/ACK shows whether it did. Not called for a SYN with none of the options fast
 * open, MSS and SACK, which no real client sends: its data is inspected as the payload of the packet only, and a
 * SYN/ACK that acknowledges it is rejected (docs/security.md).
 */
static void add_syn_data(struct segment *seg)
{
    uint32_t end = seg->seq + 1 + seg->length;

    seg->session->flags |= SESSION_FAST_OPEN;
    if (seg->length == 0)
        return;
    data_add(seg);
    if (seq_after(end, seg->sender->next_seq))
        peer_set_next_seq(seg->sender, end);
}

static bool has_syn_data_to_inspect(const struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;

    return segment_is_inline(seg) && seg->length > 0 && (tcp->has_fast_open || tcp->has_mss || tcp->has_sack_permitted);
}

void handshake_begin(struct segment *seg)
{
    peer_start_sequence(seg, seg->sender, seg->seq);
    seg->sender->last_ack = seg->sender->next_seq;
    handshake_apply_syn(seg);
    if (seg->pkt->tcp.has_fast_open || has_syn_data_to_inspect(seg))
        add_syn_data(seg);
}

/* Handles another SYN of the client. A retransmission may have other options: the last SYN is used until the SYN/ACK
 * shows which one was accepted. A SYN with another sequence number is a new connection attempt. */
int syn_sent_on_syn(struct segment *seg)
{
    if (seg->seq != seg->sender->isn) {
        half_open_record_session(seg->stream, seg->session);
        handshake_queue_syn(seg);
        handshake_begin(seg);
        return 0;
    }
    handshake_queue_syn(seg);
    handshake_apply_syn(seg);
    if (has_syn_data_to_inspect(seg))
        add_syn_data(seg);
    else if ((seg->session->flags & SESSION_FAST_OPEN) && seg->length > 0)
        data_add(seg);
    return 0;
}

/* Handles a SYN of the server, which starts a four-way handshake. */
int syn_sent_on_server_syn(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *server = seg->sender;
    const struct tcp_info *tcp = &seg->pkt->tcp;

    if (!check_syn_echo(seg))
        return segment_reject(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
    session->flags |= SESSION_FOUR_WAY;
    session->flags &= (uint16_t) ~(SESSION_WINDOW_SCALE | SESSION_SYN_SACK);
    peer_start_sequence(seg, server, seg->seq);
    if (tcp->has_timestamp) {
        server->last_timestamp = tcp->timestamp_value;
        server->last_seconds = segment_seconds(seg);
        server->flags |= PEER_TIMESTAMP;
        if (tcp->timestamp_value == 0)
            server->flags |= PEER_ZERO_TIMESTAMP;
    }
    /* The SYN announces the server's window, so it limits what the client sends. The scale of the client's SYN stays in
     * use until its SYN/ACK announces another one. */
    peer_set_window(seg->receiver, tcp->window);
    seg->receiver->window_scale = segment_scale(seg);
    if (tcp->has_window_scale)
        session->flags |= SESSION_WINDOW_SCALE;
    if (tcp->has_sack_permitted)
        session->flags |= SESSION_SYN_SACK;
    return 0;
}

/* Establishes the session at a later segment, if the handshake passed before the program started: see
 * was_established(). */
static void establish_late(struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = client_of(seg), *server = server_of(seg);
    bool to_server = seg->direction == FLOW_TO_SERVER;
    uint32_t server_seq = to_server ? seg->ack : seg->seq;

    session->flags |= SESSION_MIDSTREAM | SESSION_SACK;
    session_set_state(seg, TCP_STATE_ESTABLISHED);
    handshake_clear(seg->stream, session);
    client->window_scale = server->window_scale = WINDOW_SCALE_MAX;
    peer_start_sequence(seg, server, server_seq - 1);
    server->last_ack = server->next_win = server_seq;
    client->last_ack = to_server ? client->isn + 1 : seg->ack;
    client->next_win = client->last_ack;
    client->flags &= (uint16_t)~PEER_ZERO_TIMESTAMP;
    if (tcp->has_timestamp) {
        session->flags |= SESSION_TIMESTAMP;
        seg->sender->last_timestamp = tcp->timestamp_value;
        seg->sender->last_seconds = segment_seconds(seg);
        seg->receiver->last_timestamp = tcp->timestamp_echo;
    }
}

int syn_sent_on_fin(struct segment *seg)
{
    if (!was_established(seg))
        return syn_sent_on_other(seg);
    establish_late(seg);
    return established_on_fin(seg);
}

/* Handles an ACK although no SYN/ACK was seen: possibly only one side of the connection is seen. */
int syn_sent_on_ack(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = client_of(seg), *server = server_of(seg);
    bool to_client = seg->direction == FLOW_TO_CLIENT, async_oneside = seg->stream->options.async_oneside;

    if (!async_oneside && was_established(seg)) {
        establish_late(seg);
        return established_on_ack(seg);
    }
    /* A challenge ACK: the server may still have an older connection on these ports that the client has lost. It
     * answers the SYN with an ACK of that connection; the client answers with a reset and retransmits its SYN (RFC 9293
     * §3.5.1, RFC 5961 §4). The ACK and the reset have sequence numbers of the older connection, and do not change this
     * session. */
    if (!async_oneside && segment_is_inline(seg) && to_client && seg->length == 0 && seg->has_ack) {
        client->flags |= PEER_CHALLENGED;
        return 0;
    }
    if (!check_syn_echo(seg))
        return segment_reject(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);

    /* Inline the client's data is accepted without a SYN/ACK if only its side is seen (asymmetric routing). If segments
     * of the server were seen, in this session or in the one before it (SESSION_NEEDS_ANSWER), the server has not
     * answered this SYN, and the data may continue an older connection that it still holds. */
    bool is_next = !to_client && seg->seq == client->next_seq;
    bool needs_answer = server->tcp_flags != 0 || session->flags & SESSION_NEEDS_ANSWER;

    if (!async_oneside && (!segment_is_inline(seg) || !is_next || needs_answer))
        return without_flags(seg);
    if (!is_next)
        return segment_reject(seg, STREAM_EVENT_3WHS_ASYNC_WRONG_SEQ);
    session->flags |= SESSION_ASYNC;
    session_set_state(seg, TCP_STATE_ESTABLISHED);
    handshake_clear(seg->stream, session);
    peer_set_window(client, seg->pkt->tcp.window);
    client->last_ack = seg->seq;
    client->next_win = client->last_ack + client->window;
    peer_start_sequence(seg, server, seg->ack - 1);
    server->last_ack = server->next_win = server->next_seq;
    if (session->flags & SESSION_WINDOW_SCALE)
        client->window_scale = WINDOW_SCALE_MAX;
    if (seg->pkt->tcp.has_timestamp && (client->flags & PEER_TIMESTAMP)) {
        session->flags |= SESSION_TIMESTAMP;
        client->last_seconds = segment_seconds(seg);
    } else {
        client->last_timestamp = 0;
        client->flags &= (uint16_t)~PEER_ZERO_TIMESTAMP;
    }
    if (session->flags & SESSION_SYN_SACK)
        session->flags |= SESSION_SACK;
    data_add(seg);
    peer_advance(seg, client, seg->end);
    return 0;
}

/* --- SYN_RECV ------------------------------------------------------------------------------------- */

int syn_recv_on_reset(struct segment *seg)
{
    if (!check_reset(seg))
        return -EINVAL;
    if (seg->session->flags & SESSION_EVASION) {
        enum host_os os = peer_os(seg, seg->receiver);

        /* These systems answer an ACK with a wrong acknowledgment number by a reset, and keep the half-open connection.
         */
        if (os == HOST_OS_LINUX || os == HOST_OS_OLD_LINUX || os == HOST_OS_SOLARIS)
            return 0;
    }
    session_close_by_reset(seg);
    record_timestamp(seg);
    return 0;
}

int syn_recv_on_fin(struct segment *seg)
{
    return established_on_fin(seg);
}

/* Inline: returns true for a SYN/ACK with the initial sequence numbers of both sides. After the SYN/ACK of the server,
 * it is the client's SYN/ACK of a simultaneous open. */
bool is_simultaneous_syn_ack(const struct segment *seg)
{
    return segment_is_inline(seg) && seg->length == 0 && seg->seq == seg->sender->isn &&
           seg->ack == seg->receiver->isn + 1;
}

int syn_recv_on_syn_ack_to_server(struct segment *seg)
{
    if (is_simultaneous_syn_ack(seg)) {
        segment_add_event(seg, STREAM_EVENT_3WHS_SYNACK_TOSERVER_ON_SYN_RECV);
        seg->session->flags |= SESSION_FOUR_WAY;
        return 0;
    }
    return segment_reject(seg, STREAM_EVENT_3WHS_SYNACK_TOSERVER_ON_SYN_RECV);
}

int syn_recv_on_syn_ack(struct segment *seg)
{
    if (seg->ack != seg->receiver->last_ack)
        return segment_reject(seg, STREAM_EVENT_3WHS_SYNACK_RESEND_WITH_DIFFERENT_ACK);
    if (seg->seq != seg->sender->isn && handshake_queue_syn_ack(seg) != 0)
        return -EINVAL;
    return 0;
}

int syn_recv_on_syn_to_client(struct segment *seg)
{
    return handle_other_syn(seg, STREAM_EVENT_3WHS_SYN_TOCLIENT_ON_SYN_RECV);
}

int syn_recv_on_syn(struct segment *seg)
{
    if (seg->seq != seg->sender->isn)
        return handle_other_syn(seg, STREAM_EVENT_3WHS_SYN_RESEND_DIFF_SEQ_ON_SYN_RECV);
    if (!segment_is_inline(seg) || seg->length == 0)
        return 0;
    /* If the server has discarded the first SYN, it may accept the data of this SYN. If the data of the first SYN is in
     * the stream, both are compared; otherwise the segment is rejected. */
    if (!(seg->session->flags & SESSION_FAST_OPEN))
        return -EINVAL;
    data_add(seg);
    return 0;
}

/* Sets TCP_STATE_ESTABLISHED and updates both peers from the segment that completes the handshake. Returns 0. */
static int establish(struct segment *seg)
{
    record_timestamp(seg);
    peer_update_ack(seg->receiver, seg->ack);
    peer_advance(seg, seg->sender, seg->end);
    peer_set_window(seg->receiver, segment_window(seg));
    seg->receiver->next_win = seg->receiver->last_ack + seg->receiver->window;
    session_set_state(seg, TCP_STATE_ESTABLISHED);
    handshake_clear(seg->stream, seg->session);
    data_add(seg);
    return 0;
}

/* Assumes the largest window scale and SACK for both sides, whose options were not seen. */
static void assume_scales(struct segment *seg)
{
    seg->sender->window_scale = seg->receiver->window_scale = WINDOW_SCALE_MAX;
    seg->session->flags |= SESSION_SACK;
}

static int finish_normally(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = seg->sender;

    if (session->flags & SESSION_MIDSTREAM) {
        if (!(session->flags & SESSION_MIDSTREAM_SYNACK))
            assume_scales(seg);
        peer_set_window(client, (uint32_t)seg->pkt->tcp.window << client->window_scale);
        client->next_win = client->last_ack + client->window;
    }
    establish(seg);
    /* The handshake's ACK may have been lost; then the first segment with data completes the handshake. */
    if (seg->length > 0)
        seg->pkt->flags |= PACKET_ESTABLISHED;
    return 0;
}

static int continue_one_sided(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *server = seg->sender, *client = seg->receiver;

    session->flags |= SESSION_ASYNC;
    record_timestamp(seg);
    server->last_ack = seg->seq;
    peer_set_window(client, segment_window(seg));
    client->last_ack = seg->ack;
    if (session->flags & SESSION_MIDSTREAM) {
        peer_set_window(server, seg->pkt->tcp.window);
        server->next_win = server->last_ack + server->window;
        assume_scales(seg);
    }
    peer_advance(seg, server, seg->end);
    session_set_state(seg, TCP_STATE_ESTABLISHED);
    data_add(seg);
    return 0;
}

static int finish_from_client(struct segment *seg)
{
    const struct tcp_peer *client = seg->sender, *server = seg->receiver;
    bool seq_is_next = seg->seq == client->next_seq, ack_is_next = seg->ack == server->next_seq;

    if (seq_is_next && ack_is_next)
        return finish_normally(seg);
    /* The handshake's ACK, and possibly later segments, passed before the program started. */
    if (segment_may_be_older(seg) && is_within_window_of(seg->seq, client->next_seq) &&
        is_within_window_of(seg->ack, server->next_seq)) {
        seg->session->flags |= SESSION_MIDSTREAM;
        assume_scales(seg);
        return establish(seg);
    }
    if (seq_is_next) {
        seg->session->flags |= SESSION_EVASION;
        return segment_reject(seg, STREAM_EVENT_3WHS_RIGHT_SEQ_WRONG_ACK_EVASION);
    }
    /* The sequence number is within the window but beyond the expected one: a segment was lost. */
    if (seq_after(seg->seq, client->next_seq) && seq_at_or_before(seg->seq, client->next_win) && ack_is_next) {
        if (seg->session->flags & SESSION_MIDSTREAM)
            assume_scales(seg);
        return establish(seg);
    }
    return segment_reject(seg, STREAM_EVENT_3WHS_WRONG_SEQ_WRONG_ACK);
}

int syn_recv_on_ack(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    const struct tcp_peer *sender = seg->sender, *receiver = seg->receiver;
    bool may_be_server = session->flags & (SESSION_MIDSTREAM_SYNACK | SESSION_FAST_OPEN) || segment_may_be_older(seg);

    if (!check_timestamp(seg))
        return -EINVAL;
    if (seg->direction == FLOW_TO_SERVER) {
        handshake_use_queued_syn_ack(seg);
        return finish_from_client(seg);
    }
    if (session->flags & SESSION_FOUR_WAY) {
        if (seg->seq != sender->next_seq)
            return segment_reject(seg, STREAM_EVENT_4WHS_WRONG_SEQ);
        if (!check_ack(seg))
            return segment_reject(seg, STREAM_EVENT_4WHS_INVALID_ACK);
        return establish(seg);
    }
    if (!may_be_server && segment_is_inline(seg)) {
        /* The server sends before the handshake's ACK was seen. Inline the server cannot have received an ACK that did
         * not pass here. But an ACK without data may be a challenge ACK, which answers a SYN with another sequence
         * number and to which the client responds with a reset, so it passes. */
        bool fits = seg->ack == receiver->last_ack && seg->seq == sender->next_seq;

        if (seg->length > 0)
            return segment_reject(seg, fits ? STREAM_EVENT_3WHS_ACK_DATA_INJECT : STREAM_EVENT_3WHS_ACK_IN_WRONG_DIR);
        segment_add_event(seg, STREAM_EVENT_3WHS_ACK_IN_WRONG_DIR);
        return 0;
    }
    if (segment_may_be_older(seg) && seg->length == 0 && seg->seq == sender->isn)
        return 0; /* a keep-alive or a window probe */
    if (seg->stream->options.async_oneside && seg->seq == sender->next_seq)
        return continue_one_sided(seg);
    /* The server sends, though the handshake's ACK was not seen. With fast open, the server need not wait for it. */
    if (seq_before(seg->seq, sender->next_seq) || seq_before(seg->ack, receiver->last_ack) ||
        (segment_is_inline(seg) && (!check_window(seg) || !check_ack(seg))))
        return segment_reject(seg, STREAM_EVENT_3WHS_WRONG_SEQ_WRONG_ACK);
    return establish(seg);
}
