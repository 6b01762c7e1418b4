/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "default_options.h"
#include "fragments.h"

static void fragments_be16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static size_t fragments_ipv4(uint8_t *out, const struct piece *piece)
{
    size_t header = 20 + piece->chain_length, total = header + piece->length;

    memset(out, 0, 20);
    out[0] = (uint8_t)(0x40 | header / 4);
    fragments_be16(out + 2, total);
    fragments_be16(out + 4, piece->id);
    fragments_be16(out + 6, piece->offset / 8 | (piece->more ? 0x2000 : 0));
    out[8] = 64;
    out[9] = piece->protocol ? piece->protocol : 17;
    memcpy(out + 12, (const uint8_t[]){ 10, 0, 0, 1, 10, 0, 0, 2 }, 8);
    out[19] = piece->host ? piece->host : 2;
    if (piece->chain_length)
        memcpy(out + 20, piece->chain, piece->chain_length);
    if (piece->length)
        memcpy(out + header, piece->bytes, piece->length);
    return total;
}

static size_t fragments_ipv6(uint8_t *out, const struct piece *piece)
{
    size_t header = 40 + piece->chain_length;

    memset(out, 0, header + 8);
    out[0] = 0x60;
    fragments_be16(out + 4, piece->chain_length + 8 + piece->length);
    out[6] = piece->chain_length ? 0 : 44;
    out[7] = 64;
    out[8] = out[24] = 0xfd;
    out[23] = 1;
    out[39] = piece->host ? piece->host : 2;
    if (piece->chain_length)
        memcpy(out + 40, piece->chain, piece->chain_length);
    out[header] = piece->protocol ? piece->protocol : 17;
    fragments_be16(out + header + 2, piece->offset | (piece->more ? 1 : 0));
    fragments_be16(out + header + 4, piece->id >> 16);
    fragments_be16(out + header + 6, piece->id & 0xffff);
    if (piece->length)
        memcpy(out + header + 8, piece->bytes, piece->length);
    return header + 8 + piece->length;
}

void defragging_open(struct defragging *d, const struct defrag_options *options)
{
    struct decode_options decode;

    memset(d, 0, sizeof(*d));
    decode_options_default(&decode);
    if (decoder_new(&d->decoder, &decode) || defrag_new(&d->defrag, options))
        abort();
    d->now_ns = 1000 * NS_PER_SECOND;
}

void defragging_close(struct defragging *d)
{
    defrag_free(d->defrag);
    decoder_free(d->decoder);
}

void defragging_decode(struct defragging *d, const struct piece *piece)
{
    size_t link = d->vlan ? 18 : 0;
    size_t length =
        piece->version == 6 ? fragments_ipv6(d->bytes + link, piece) : fragments_ipv4(d->bytes + link, piece);

    if (link) {
        memset(d->bytes, 2, 12);
        fragments_be16(d->bytes + 12, 0x8100);
        fragments_be16(d->bytes + 14, d->vlan);
        fragments_be16(d->bytes + 16, piece->version == 6 ? 0x86dd : 0x0800);
    }
    d->packet = (struct packet){
        .data = d->bytes,
        .length = (uint32_t)(link + length),
        .wire_length = (uint32_t)(link + length),
        .time_ns = d->now_ns,
        .link = link ? LINK_ETHERNET : LINK_RAW,
    };
    decode_packet(d->decoder, &d->packet, d->found);
}

enum defrag_result defragging_send(struct defragging *d, const struct piece *piece)
{
    defragging_decode(d, piece);
    if (!(d->packet.flags & PACKET_FRAGMENT))
        abort();
    return defrag_packet(d->defrag, d->decoder, &d->packet, &d->whole, &d->exception);
}

uint64_t defragging_counter(const struct defragging *d, const char *name)
{
    for (size_t i = 0; i < defrag_counter_count(); i++) {
        if (strcmp(defrag_counter_name(i), name) == 0)
            return defrag_counter_value(d->defrag, i);
    }
    abort();
}
