/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handshakes with more than one SYN or SYN/ACK. Only the answer shows which one was accepted: the timestamp echo of the
 * SYN/ACK identifies the SYN, the acknowledgment number of the ACK identifies the SYN/ACK. Until then the session
 * stores them in a list of limited length (stream_options.max_syn_queued and max_synack_queued).
 */
#include <errno.h>

#include "stream_priv.h"

static struct handshake_entry entry_of(const struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;

    return (struct handshake_entry){
        .seq = seg->seq,
        .ack = seg->ack,
        .window = tcp->window,
        .seconds = segment_seconds(seg),
        .has_sack = tcp->has_sack_permitted,
        .has_window_scale = tcp->has_window_scale,
        .window_scale = segment_scale(seg),
        .has_timestamp = tcp->has_timestamp,
        .timestamp = tcp->has_timestamp ? tcp->timestamp_value : 0,
    };
}

/* Returns an entry with the values of the session's current SYN. */
static struct handshake_entry entry_of_session(const struct tcp_session *session)
{
    const struct tcp_peer *client = &session->peer[FLOW_TO_SERVER], *server = &session->peer[FLOW_TO_CLIENT];

    return (struct handshake_entry){
        .seq = client->isn,
        .window = (uint16_t)server->window,
        .seconds = client->last_seconds,
        .has_sack = session->flags & SESSION_SYN_SACK,
        .has_window_scale = session->flags & SESSION_WINDOW_SCALE,
        .window_scale = server->window_scale,
        .has_timestamp = client->flags & PEER_TIMESTAMP,
        .timestamp = client->flags & PEER_TIMESTAMP ? client->last_timestamp : 0,
    };
}

static bool have_same_options(const struct handshake_entry *a, const struct handshake_entry *b)
{
    return a->window == b->window && a->has_sack == b->has_sack && a->has_window_scale == b->has_window_scale &&
           a->window_scale == b->window_scale && a->has_timestamp == b->has_timestamp && a->timestamp == b->timestamp;
}

static void put_entry(struct segment *seg, const struct handshake_entry *entry)
{
    struct tcp_session *session = seg->session;
    struct handshake_entry *kept = pool_alloc(seg->stream->handshakes);

    if (!kept)
        return;
    *kept = *entry;
    kept->next = session->queue;
    session->queue = kept;
    session->queued++;
}

static void replace_entry(struct handshake_entry *entry, const struct handshake_entry *with)
{
    struct handshake_entry *next = entry->next;

    *entry = *with;
    entry->next = next;
}

void handshake_clear(struct stream *stream, struct tcp_session *session)
{
    while (session->queue) {
        struct handshake_entry *next = session->queue->next;

        pool_release(stream->handshakes, session->queue);
        session->queue = next;
    }
    session->queued = 0;
    session->repeated_syns = 0;
}

int handshake_queue_syn_ack(struct segment *seg)
{
    struct handshake_entry wanted = entry_of(seg);

    for (const struct handshake_entry *entry = seg->session->queue; entry; entry = entry->next) {
        if (entry->seq == wanted.seq && entry->ack == wanted.ack && have_same_options(entry, &wanted))
            return 0;
    }
    if (seg->session->queued >= seg->stream->options.max_synack_queued) {
        segment_add_event(seg, STREAM_EVENT_3WHS_SYNACK_FLOOD);
        return -ENOSPC;
    }
    put_entry(seg, &wanted);
    return 0;
}

/*
 * SYNs are distinguished by their timestamps, because the SYN/ACK echoes the timestamp of the SYN that it answers. A
 * SYN/ACK can only answer a SYN with the sequence number of the session, so the session's SYN replaces an entry with
 * another number if the timestamps are equal or the list is full.
 */
void handshake_queue_syn(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct handshake_entry mine = entry_of_session(session), new_one = entry_of(seg), *outdated = NULL;

    /* Suricata stores every repeated SYN, even an identical one. Here identical SYNs share an entry; repeated_syns
     * counts all of them, up to max_syn_queued. */
    if (session->repeated_syns >= seg->stream->options.max_syn_queued)
        segment_add_event(seg, STREAM_EVENT_3WHS_SYN_FLOOD);
    else
        session->repeated_syns++;
    if (have_same_options(&mine, &new_one) && mine.seq == new_one.seq)
        return;
    for (struct handshake_entry *entry = session->queue; entry; entry = entry->next) {
        if (entry->has_timestamp == mine.has_timestamp && entry->timestamp == mine.timestamp) {
            if (entry->seq != mine.seq)
                replace_entry(entry, &mine);
            return;
        }
        if (entry->seq != mine.seq)
            outdated = entry;
    }
    if (session->queued < seg->stream->options.max_syn_queued)
        put_entry(seg, &mine);
    else if (outdated)
        replace_entry(outdated, &mine);
}

static void set_flag(struct tcp_session *session, enum session_flag flag, bool on)
{
    session->flags = (uint16_t)(on ? session->flags | flag : session->flags & ~(unsigned)flag);
}

static void apply_syn(struct tcp_session *session, const struct handshake_entry *entry)
{
    struct tcp_peer *client = &session->peer[FLOW_TO_SERVER], *server = &session->peer[FLOW_TO_CLIENT];

    if (entry->has_timestamp) {
        client->last_seconds = entry->seconds;
        client->last_timestamp = entry->timestamp;
        client->flags |= PEER_TIMESTAMP;
        if (entry->timestamp == 0)
            client->flags |= PEER_ZERO_TIMESTAMP;
    }
    set_flag(session, SESSION_WINDOW_SCALE, entry->has_window_scale);
    set_flag(session, SESSION_SYN_SACK, entry->has_sack);
    server->window_scale = entry->window_scale;
    peer_set_window(server, entry->window);
}

bool handshake_use_queued_syn(struct segment *seg)
{
    bool has_timestamp = seg->pkt->tcp.has_timestamp;
    uint32_t echo = has_timestamp ? seg->pkt->tcp.timestamp_echo : 0;
    uint32_t client_isn = seg->session->peer[FLOW_TO_SERVER].isn;

    for (const struct handshake_entry *entry = seg->session->queue; entry; entry = entry->next) {
        if (entry->seq == client_isn && entry->has_timestamp == has_timestamp && entry->timestamp == echo) {
            apply_syn(seg->session, entry);
            return true;
        }
    }
    return false;
}

void handshake_apply_syn(struct segment *seg)
{
    struct handshake_entry entry = entry_of(seg);

    apply_syn(seg->session, &entry);
}

static void apply_syn_ack(struct segment *seg, const struct handshake_entry *entry)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = &session->peer[FLOW_TO_SERVER], *server = &session->peer[FLOW_TO_CLIENT];

    session_set_state(seg, TCP_STATE_SYN_RECV);
    peer_start_sequence(seg, server, entry->seq);
    peer_set_window(client, entry->window);
    if (entry->has_timestamp && (client->flags & PEER_TIMESTAMP)) {
        session->flags |= SESSION_TIMESTAMP;
        server->last_timestamp = entry->timestamp;
        server->last_seconds = entry->seconds;
        if (entry->timestamp == 0)
            server->flags |= PEER_ZERO_TIMESTAMP;
    } else {
        client->last_timestamp = server->last_timestamp = 0;
        client->flags &= (uint16_t)~PEER_ZERO_TIMESTAMP;
    }
    client->last_ack = entry->ack;
    server->last_ack = server->isn + 1;
    client->window_scale = entry->has_window_scale && (session->flags & SESSION_WINDOW_SCALE) ? entry->window_scale : 0;
    set_flag(session, SESSION_SACK, entry->has_sack && (session->flags & SESSION_SYN_SACK));
    server->next_win = server->last_ack + server->window;
    client->next_win = client->last_ack + client->window;
    set_flag(session, SESSION_FOUR_WAY, false);
}

void handshake_apply_syn_ack(struct segment *seg)
{
    struct handshake_entry entry = entry_of(seg);

    apply_syn_ack(seg, &entry);
}

void handshake_use_queued_syn_ack(struct segment *seg)
{
    for (const struct handshake_entry *entry = seg->session->queue; entry; entry = entry->next) {
        if (entry->seq == seg->ack - 1 && entry->ack == seg->seq) {
            apply_syn_ack(seg, entry);
            return;
        }
    }
}
