/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the packet of a complete datagram in a scratch buffer of the defragmenter: the header of the first fragment,
 * modified as if the datagram had not been fragmented, and the reassembled bytes. The link header of the last fragment
 * is stored in front of it; defrag_prepend_link_header() makes it part of the packet, for output as captured.
 */
#include <netinet/in.h>
#include <string.h>

#include "defrag_priv.h"

#include "sluice/bytes.h"

enum { IPV4_CHECKSUM = 10, IPV6_NEXT_HEADER = 6 };

const uint8_t *header_bytes(const struct datagram *datagram)
{
    return datagram->header_length > SHORT_HEADER ? datagram->long_header->bytes : datagram->header;
}

void header_store(struct datagram *datagram, const struct fragment *fragment)
{
    datagram->has_header = true;
    datagram->header_length = (uint16_t)fragment->header_length;
    datagram->next_header = fragment->next_header;
    memcpy(fragment->header_length > SHORT_HEADER ? datagram->long_header->bytes : datagram->header, fragment->header,
           fragment->header_length);
}

bool header_is_same(const struct datagram *datagram, const struct fragment *fragment)
{
    const uint8_t *held = header_bytes(datagram);

    if (datagram->key.ip_version == 4)
        return true;
    return datagram->next_header == fragment->next_header && datagram->header_length == fragment->header_length &&
           held[IPV6_NEXT_HEADER] == fragment->header[IPV6_NEXT_HEADER] &&
           memcmp(held + IPV6_HEADER, fragment->header + IPV6_HEADER, datagram->header_length - IPV6_HEADER) == 0;
}

/* Sets the total length of an IPv4 header, clears its fragment fields, and updates its checksum. */
static void update_ipv4_header(uint8_t *ip, uint32_t header_length, uint32_t total_length)
{
    uint32_t sum = 0;

    store_be16(ip + 2, total_length);
    store_be16(ip + 6, 0);
    store_be16(ip + IPV4_CHECKSUM, 0);
    for (uint32_t i = 0; i < header_length; i += 2)
        sum += load_be16(ip + i);
    sum = (sum & 0xffff) + (sum >> 16);
    store_be16(ip + IPV4_CHECKSUM, ~(sum + (sum >> 16)) & 0xffff);
}

/* Returns the offset of the next-header field that referred to the fragment header. The decoder has checked that the
 * chain of headers ends within header_length. */
static uint32_t find_last_next_header(const uint8_t *ip, uint32_t header_length)
{
    uint32_t field = IPV6_NEXT_HEADER, at = IPV6_HEADER;

    while (at + 2 <= header_length) {
        uint32_t length = ip[field] == IPPROTO_AH ? (ip[at + 1] + 2u) * 4 : (ip[at + 1] + 1u) * 8;

        field = at;
        at += length;
    }
    return field;
}

bool whole_build(struct defrag *defrag, const struct datagram *datagram, const struct fragment *last, unsigned level,
                 struct packet *whole)
{
    uint32_t header_length = datagram->header_length, length = header_length + datagram->end;
    uint8_t *ip = defrag->scratch + (size_t)level * SCRATCH_SIZE + LINK_ROOM;
    size_t link_length = (size_t)(last->pkt->ip - last->pkt->data);

    if (length > DATAGRAM_MAX + (datagram->key.ip_version == 6 ? IPV6_HEADER : 0u))
        return false;
    if (link_length <= LINK_ROOM)
        memcpy(ip - link_length, last->pkt->data, link_length);
    memcpy(ip, header_bytes(datagram), header_length);
    pages_copy(datagram, ip + header_length);
    if (datagram->key.ip_version == 4) {
        update_ipv4_header(ip, header_length, length);
    } else {
        store_be16(ip + 4, length - IPV6_HEADER);
        ip[find_last_next_header(ip, header_length)] = datagram->next_header;
    }
    whole->data = ip;
    whole->length = whole->wire_length = length;
    return true;
}

void defrag_prepend_link_header(struct packet *whole, const struct packet *fragment)
{
    size_t link_length = (size_t)(fragment->ip - fragment->data);

    if (link_length > LINK_ROOM)
        return;
    whole->data -= link_length;
    whole->length += (uint32_t)link_length;
    whole->wire_length += (uint32_t)link_length;
    whole->link = fragment->link;
}
