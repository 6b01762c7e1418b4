/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP (RFC 768), and tunnels in UDP, which are recognized by their ports. */
#include "decode_priv.h"

enum { UDP_HEADER_LENGTH = 8 };

/* Teredo, GENEVE and GTP-U are recognized by either port; VXLAN by its destination port only (RFC 7348 §5). */
static void decode_tunnels(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const struct decode_options *options = &decoder->options;
    uint16_t source = pkt->source_port, destination = pkt->destination_port;

    if (!((decoder->tunnel_ports >> source % 64 | decoder->tunnel_ports >> destination % 64) & 1))
        return;
    if (options->teredo_enabled &&
        (decode_port_listed(&options->teredo, destination) || decode_port_listed(&options->teredo, source)) &&
        decode_teredo(decoder, pkt, cur))
        return;
    if (options->geneve_enabled &&
        (decode_port_listed(&options->geneve, destination) || decode_port_listed(&options->geneve, source)) &&
        decode_geneve(decoder, pkt, cur))
        return;
    if (options->gtp_enabled &&
        (decode_port_listed(&options->gtp, destination) || decode_port_listed(&options->gtp, source)) &&
        decode_gtp(decoder, pkt, cur))
        return;
    if (options->vxlan_enabled && decode_port_listed(&options->vxlan, destination))
        decode_vxlan(decoder, pkt, cur);
}

bool decode_udp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_UDP);
    const uint8_t *header = cursor_peek(&cur, UDP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_UDP_HLEN_TOO_SMALL);
    size_t length = load_be16(header + 4), available = cursor_remaining(&cur);

    /* Linux and the BSDs discard a datagram whose length field is below 8 or beyond the IP payload; with IPv6, Linux
     * interprets a length of 0 as the whole payload (RFC 2675); small stacks (lwIP) ignore the field. So the available
     * bytes of such a datagram are inspected, and it is marked as malformed. */
    if (length < UDP_HEADER_LENGTH || length > available) {
        decode_invalid(pkt, length < UDP_HEADER_LENGTH ? DECODE_EVENT_UDP_LEN_INVALID : DECODE_EVENT_UDP_PKT_TOO_SMALL);
        length = available;
    }
    pkt->source_port = load_be16(header);
    pkt->destination_port = load_be16(header + 2);
    pkt->udp.length = (uint16_t)length;
    pkt->udp.checksum = load_be16(header + 6);
    cursor_limit(&cur, length);
    decode_transport(pkt, cur, UDP_HEADER_LENGTH);
    cursor_skip(&cur, UDP_HEADER_LENGTH);
    decode_tunnels(decoder, pkt, cur);
    return true;
}
