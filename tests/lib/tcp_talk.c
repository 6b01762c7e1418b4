/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tcp_talk.h. */
#include "tcp_talk.h"

#include <string.h>

#include "sluice/bytes.h"
#include "stream_rig.h"

struct talk talk;

uint32_t talk_random(uint32_t below)
{
    talk.state ^= talk.state << 13;
    talk.state ^= talk.state >> 17;
    talk.state ^= talk.state << 5;
    return talk.state % below;
}

static bool talk_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* --- Sending -------------------------------------------------------------------------------------- */

static void talk_put(unsigned side, uint8_t flags, uint32_t seq, uint32_t length)
{
    static const uint32_t rooms[] = { 0, 100, 3000, 3000, 20000, 20000, 60000, 60000 };
    struct talk_host *host = &talk.host[side];
    bool is_syn = flags & TCP_SYN;
    uint8_t scale = is_syn || !talk.scales ? 0 : host->scale;
    struct stream_line line = { .from_server = side, .flags = flags, .seq = seq, .length = length };
    uint32_t room = host->expected + (is_syn ? 20000 : rooms[talk_random(8)]);

    if (talk.count == TALK_MAX)
        return;
    struct talk_segment *segment = &talk.segments[talk.count++];

    if (talk_before(host->told_edge, room) || is_syn)
        host->told_edge = room;
    room = (host->told_edge - host->expected) >> scale;
    line.window = (uint16_t)(room > 65535 ? 65535 : room);
    line.ack = flags & TCP_ACK ? host->expected : 0;
    line.has_timestamp = talk.timestamps && !(flags & TCP_RST && !(flags & TCP_ACK));
    line.timestamp = host->clock;
    line.echo = flags & TCP_ACK ? host->recent : 0;
    line.has_scale = is_syn && talk.scales;
    line.window_scale = host->scale;
    for (uint32_t i = 0; i < length; i++)
        line.data[i] = (char)('a' + (seq + i) * 2654435761u % 26);
    segment->length = stream_rig_put_packet(&line);
    memcpy(segment->bytes, stream_rig.bytes, segment->length);
    segment->time_ns = stream_rig.time_ns;
    segment->from_server = side;
    segment->lost = talk_random(100) < talk.loss;
    segment->seen = host->seen;
    host->owes_ack = false;
}

static void talk_send_new(unsigned side)
{
    struct talk_host *host = &talk.host[side];
    uint32_t room = host->edge - host->next, length = 1 + talk_random(talk_random(3) ? 400 : 20);
    uint8_t flags = TCP_ACK;

    if (talk_before(host->edge, host->next + 1))
        room = 0;
    length = length < room ? length : room;
    length = length < host->left ? length : host->left;
    if (host->fin_sent || (length == 0 && host->left > 0))
        return;
    if (length == host->left && host->wants_fin && talk_random(2))
        flags |= TCP_FIN;
    if (length == 0 && !(flags & TCP_FIN))
        return;
    talk_put(side, (uint8_t)(flags | (length ? TCP_PSH : 0)), host->next, length);
    host->left -= length;
    host->next += length + (flags & TCP_FIN ? 1 : 0);
    host->fin_sent = flags & TCP_FIN;
}

/* Retransmits from the first unacknowledged byte, perhaps with another segmentation. */
static void talk_send_again(unsigned side)
{
    struct talk_host *host = &talk.host[side];
    uint32_t end = host->next - (host->fin_sent ? 1 : 0), length = end - host->una;
    uint8_t flags = TCP_ACK;

    if (host->una == host->next)
        return;
    if (talk_before(end, host->una))
        length = 0;
    if (length > 400 || (length > 1 && talk_random(2)))
        length = 1 + talk_random(length < 400 ? length : 400);
    if (host->fin_sent && host->una + length == end)
        flags |= TCP_FIN;
    stream_rig.time_ns += SECOND / 5;
    host->clock += 200u << talk_random(4);
    talk_put(side, flags, host->una, length);
}

/* Sends a keep-alive (sequence number one too low), or a zero window probe (one byte beyond the window). */
static void talk_probe(unsigned side)
{
    struct talk_host *host = &talk.host[side];
    bool is_closed = host->left > 0 && host->edge == host->next && host->una == host->next;

    if (is_closed && talk.probes_with_byte)
        talk_put(side, TCP_ACK, host->next, 1);
    else if (host->una == host->next && !host->fin_sent)
        talk_put(side, TCP_ACK, host->next - 1, 0);
}

static void talk_reset(unsigned side)
{
    struct talk_host *host = &talk.host[side];

    talk_put(side, TCP_RST | TCP_ACK, host->next, 0);
    host->reset = true;
}

static void talk_handshake(unsigned side)
{
    struct talk_host *host = &talk.host[side];

    if (side == 0 && !host->open) {
        talk_put(0, TCP_SYN, host->isn, 0);
        host->next = host->una + 1;
    } else if (side == 1 && host->synced && !host->open) {
        talk_put(1, TCP_SYN | TCP_ACK, host->isn, 0);
        host->next = host->una + 1;
    }
}

/* --- Receiving ------------------------------------------------------------------------------------ */

static struct stream_line talk_read(const struct talk_segment *segment)
{
    const uint8_t *tcp = segment->bytes + 20;
    struct stream_line line = { .flags = tcp[13], .seq = load_be32(tcp + 4), .ack = load_be32(tcp + 8) };

    line.window = load_be16(tcp + 14);
    line.length = segment->length - 20 - (size_t)(tcp[12] >> 4) * 4;
    if (talk.timestamps && (tcp[12] >> 4) > 5) {
        const uint8_t *option = tcp + 20 + (line.flags & TCP_SYN && talk.scales ? 3 : 0);

        line.has_timestamp = option[0] == 8;
        line.timestamp = load_be32(option + 2);
    }
    return line;
}

static void talk_take_ack(unsigned side, const struct stream_line *line)
{
    struct talk_host *host = &talk.host[side];
    bool is_scaled = talk.scales && !(line->flags & TCP_SYN);
    uint32_t edge = line->ack + ((uint32_t)line->window << (is_scaled ? talk.host[!side].scale : 0));

    if (talk_before(host->next, line->ack))
        return;
    if (talk_before(host->una, line->ack))
        host->una = line->ack;
    if (talk_before(host->edge, edge) || line->flags & TCP_SYN)
        host->edge = edge;
    host->open = true;
}

static void talk_take_data(unsigned side, const struct stream_line *line)
{
    struct talk_host *host = &talk.host[side];
    uint32_t end = line->seq + (uint32_t)line->length;

    host->owes_ack |= line->length > 0 || line->flags & TCP_FIN || talk_before(line->seq, host->expected);
    if (talk_before(host->expected, line->seq) || talk_before(host->told_edge, end) || host->fin_got)
        return;
    if (talk_before(line->seq, host->expected + 1))
        host->recent = line->timestamp;
    if (talk_before(host->expected, end))
        host->expected = end;
    if (line->flags & TCP_FIN && end == host->expected) {
        host->expected++;
        host->fin_got = true;
    }
}

static void talk_take_syn(unsigned side, const struct stream_line *line)
{
    struct talk_host *host = &talk.host[side];

    host->owes_ack |= side == 0;
    if (host->synced)
        return;
    host->expected = line->seq + 1;
    if (side == 0)
        host->told_edge = host->expected + 20000; /* window of the SYN */
    host->recent = line->timestamp;
    host->synced = true;
}

static void talk_get(unsigned side)
{
    struct talk_host *host = &talk.host[side];
    const struct talk_segment *segment;
    struct stream_line line;

    while (host->at < talk.count && (talk.segments[host->at].from_server == (bool)side || talk.segments[host->at].lost))
        host->at++;
    if (host->at == talk.count)
        return;
    segment = &talk.segments[host->at];
    line = talk_read(segment);
    host->seen = (int)host->at++;
    if (line.flags & TCP_RST) {
        host->reset = true;
        return;
    }
    if (host->reset) { /* the host has no connection any more */
        talk_put(side, TCP_RST, line.ack, 0);
        return;
    }
    if (line.flags & TCP_SYN)
        talk_take_syn(side, &line);
    if (line.flags & TCP_ACK)
        talk_take_ack(side, &line);
    if (!(line.flags & TCP_SYN) && host->synced)
        talk_take_data(side, &line);
}

/* --- Conversation --------------------------------------------------------------------------------- */

static void talk_act(unsigned side)
{
    struct talk_host *host = &talk.host[side];
    uint32_t what = talk_random(100);

    if (what < 50 || host->reset) {
        talk_get(side);
    } else if (!host->open || !host->synced) {
        if (what < 60 || host->next == host->una)
            talk_handshake(side);
    } else if (what < 75) {
        talk_send_new(side);
    } else if (what < 90) {
        if (host->owes_ack || what < 78)
            talk_put(side, TCP_ACK, host->next, 0);
    } else if (what < 95) {
        talk_send_again(side);
    } else if (what < 98) {
        talk_probe(side);
    } else if (host->is_shut) {
        talk_reset(side);
    }
}

static void talk_begin_host(unsigned side)
{
    static const uint32_t numbers[] = { 1000, 0x7ffffff0u, 0xfffffff0u, 0xffffff00u, 0x12345678u };
    static const uint32_t clocks[] = { 1, 1000, 0x7fffff00u, 0xffffff80u, 0xfffff000u };
    struct talk_host *host = &talk.host[side];

    *host = (struct talk_host){ .seen = -1 };
    host->isn = numbers[talk_random(5)];
    host->una = host->next = host->isn;
    host->clock = clocks[talk_random(5)];
    host->scale = (uint8_t)(talk_random(4) * 3);
    host->left = talk_random(4) ? talk_random(3000) : talk_random(50);
    host->wants_fin = talk_random(8);
    host->is_shut = talk_random(6) == 0;
}

void talk_make(uint32_t seed)
{
    talk.state = seed * 2654435761u + 1;
    talk.count = 0;
    for (unsigned i = 0; i < 8; i++)
        talk_random(2);
    talk.timestamps = talk_random(4);
    talk.scales = talk_random(2);
    talk.probes_with_byte = talk_random(2);
    talk.loss = talk_random(3) * 10;
    talk_begin_host(0);
    talk_begin_host(1);
    for (unsigned i = 0; i < TALK_STEPS && talk.count < TALK_MAX; i++) {
        uint32_t ticks = talk_random(3) ? 0 : talk_random(20);

        stream_rig.time_ns += ticks * (SECOND / 1000);
        talk.host[0].clock += ticks;
        talk.host[1].clock += ticks;
        talk_act(talk_random(2));
    }
}
