/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selective acknowledgments (RFC 2018): the ranges beyond last_ack that the receiver reports as received. Their bytes
 * extend the window (peer_extend_window()), and new ranges distinguish an old ACK from one with new information. A few
 * ranges suffice: a range that does not fit is discarded, which makes the window smaller and never larger.
 */
#include <string.h>

#include "sluice/bytes.h"
#include "stream_priv.h"

static bool read_block(const struct packet *pkt, unsigned index, struct sack_range *out)
{
    out->from = load_be32(pkt->tcp.sack + index * 8u);
    out->to = load_be32(pkt->tcp.sack + index * 8u + 4u);
    return seq_before(out->from, out->to);
}

static void remove_range(struct tcp_peer *peer, unsigned index)
{
    memmove(&peer->sack[index], &peer->sack[index + 1], (peer->sack_count - index - 1u) * sizeof(peer->sack[0]));
    peer->sack_count--;
}

static void insert_range(struct tcp_peer *peer, struct sack_range range)
{
    unsigned at = 0;

    while (at < peer->sack_count && seq_before(peer->sack[at].to, range.from))
        at++;
    while (at < peer->sack_count && seq_at_or_before(peer->sack[at].from, range.to)) {
        if (seq_before(peer->sack[at].from, range.from))
            range.from = peer->sack[at].from;
        if (seq_after(peer->sack[at].to, range.to))
            range.to = peer->sack[at].to;
        remove_range(peer, at);
    }
    if (peer->sack_count == SACK_RANGES)
        return;
    memmove(&peer->sack[at + 1], &peer->sack[at], (peer->sack_count - at) * sizeof(peer->sack[0]));
    peer->sack[at] = range;
    peer->sack_count++;
}

void sack_update(struct tcp_peer *peer, const struct packet *pkt)
{
    struct sack_range range;

    for (unsigned i = 0; i < pkt->tcp.sack_count; i++) {
        if (!read_block(pkt, i, &range) || seq_at_or_before(range.to, peer->last_ack) ||
            seq_after(range.to, peer->next_win))
            continue;
        if (seq_before(range.from, peer->last_ack))
            range.from = peer->last_ack;
        insert_range(peer, range);
    }
}

void sack_prune(struct tcp_peer *peer)
{
    while (peer->sack_count > 0 && seq_at_or_before(peer->sack[0].to, peer->last_ack))
        remove_range(peer, 0);
    if (peer->sack_count > 0 && seq_before(peer->sack[0].from, peer->last_ack))
        peer->sack[0].from = peer->last_ack;
}

uint32_t sack_size(const struct tcp_peer *peer)
{
    uint32_t size = 0;

    for (unsigned i = 0; i < peer->sack_count; i++)
        size += peer->sack[i].to - peer->sack[i].from;
    return size;
}

bool sack_is_outdated(const struct tcp_peer *peer, const struct packet *pkt)
{
    for (unsigned i = 0; i < pkt->tcp.sack_count; i++) {
        struct sack_range range;

        if (!read_block(pkt, i, &range))
            return false;
        bool is_known = seq_at_or_before(range.to, peer->last_ack);

        for (unsigned k = 0; k < peer->sack_count && !is_known; k++)
            is_known = seq_at_or_after(range.from, peer->sack[k].from) && seq_at_or_before(range.to, peer->sack[k].to);
        if (!is_known)
            return false;
    }
    return true;
}
