/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conntrack_bytes.h"

void ct_attribute(struct conntrack_bytes *ct, uint16_t type, const void *value, size_t length)
{
    struct nlattr head = { (uint16_t)(NLA_HDRLEN + length), type };

    memcpy(ct->bytes + ct->length, &head, sizeof(head));
    memset(ct->bytes + ct->length + NLA_HDRLEN, 0, NLA_ALIGN(length));
    memcpy(ct->bytes + ct->length + NLA_HDRLEN, value, length);
    ct->length += NLA_HDRLEN + NLA_ALIGN(length);
}

static void ct_u8(struct conntrack_bytes *ct, uint16_t type, uint8_t value)
{
    ct_attribute(ct, type, &value, 1);
}

static void ct_u16(struct conntrack_bytes *ct, uint16_t type, uint16_t value)
{
    value = htons(value);
    ct_attribute(ct, type, &value, sizeof(value));
}

void ct_u32(struct conntrack_bytes *ct, uint16_t type, uint32_t value)
{
    value = htonl(value);
    ct_attribute(ct, type, &value, sizeof(value));
}

size_t ct_begin(struct conntrack_bytes *ct, uint16_t type)
{
    size_t at = ct->length;

    ct_attribute(ct, type | NLA_F_NESTED, "", 0);
    return at;
}

void ct_end(struct conntrack_bytes *ct, size_t at)
{
    uint16_t length = (uint16_t)(ct->length - at);

    memcpy(ct->bytes + at, &length, sizeof(length));
}

static void ct_address(struct conntrack_bytes *ct, uint16_t type_v4, const char *text)
{
    uint8_t bytes[16];

    if (strchr(text, ':') && inet_pton(AF_INET6, text, bytes) == 1)
        ct_attribute(ct, (uint16_t)(type_v4 + CTA_IP_V6_SRC - CTA_IP_V4_SRC), bytes, 16);
    else if (inet_pton(AF_INET, text, bytes) == 1)
        ct_attribute(ct, type_v4, bytes, 4);
}

static void ct_tuple(struct conntrack_bytes *ct, uint16_t type, const char *source, uint16_t source_port,
                     const char *destination, uint16_t destination_port, uint8_t protocol)
{
    size_t tuple = ct_begin(ct, type), part = ct_begin(ct, CTA_TUPLE_IP);

    ct_address(ct, CTA_IP_V4_SRC, source);
    ct_address(ct, CTA_IP_V4_DST, destination);
    ct_end(ct, part);
    part = ct_begin(ct, CTA_TUPLE_PROTO);
    ct_u8(ct, CTA_PROTO_NUM, protocol);
    ct_u16(ct, CTA_PROTO_SRC_PORT, source_port);
    ct_u16(ct, CTA_PROTO_DST_PORT, destination_port);
    ct_end(ct, part);
    ct_end(ct, tuple);
}

static void ct_tcp(struct conntrack_bytes *ct, const struct conntrack_text *text)
{
    size_t info = ct_begin(ct, CTA_PROTOINFO), tcp = ct_begin(ct, CTA_PROTOINFO_TCP);
    uint8_t original[2] = { text->flags[0], 0 }, reply[2] = { text->flags[1], 0 };

    ct_u8(ct, CTA_PROTOINFO_TCP_STATE, (uint8_t)text->tcp_state);
    ct_u8(ct, CTA_PROTOINFO_TCP_WSCALE_ORIGINAL, text->scale[0]);
    ct_u8(ct, CTA_PROTOINFO_TCP_WSCALE_REPLY, text->scale[1]);
    ct_attribute(ct, CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, original, sizeof(original));
    ct_attribute(ct, CTA_PROTOINFO_TCP_FLAGS_REPLY, reply, sizeof(reply));
    ct_end(ct, tcp);
    ct_end(ct, info);
}

static void ct_u64(struct conntrack_bytes *ct, uint16_t type, uint64_t value)
{
    const uint32_t words[2] = { htonl((uint32_t)(value >> 32)), htonl((uint32_t)value) };

    ct_attribute(ct, type, words, sizeof(words));
}

static void ct_counts(struct conntrack_bytes *ct, uint16_t type, uint64_t packets, uint64_t bytes)
{
    size_t counts = ct_begin(ct, type);

    ct_u64(ct, CTA_COUNTERS_PACKETS, packets);
    ct_u64(ct, CTA_COUNTERS_BYTES, bytes);
    ct_end(ct, counts);
}

void ct_build(struct conntrack_bytes *ct, const struct conntrack_text *text)
{
    const char *after_client = text->after_client ? text->after_client : text->client;
    const char *after_server = text->after_server ? text->after_server : text->server;

    ct->length = 0;
    ct_tuple(ct, CTA_TUPLE_ORIG, text->client, text->client_port, text->server, text->server_port, text->protocol);
    ct_tuple(ct, CTA_TUPLE_REPLY, after_server, text->after_server_port ? text->after_server_port : text->server_port,
             after_client, text->after_client_port ? text->after_client_port : text->client_port, text->protocol);
    ct_u32(ct, CTA_ID, 0xabcdef01);
    ct_u32(ct, CTA_STATUS, text->status);
    ct_u32(ct, CTA_TIMEOUT, 431999);
    if (text->tcp_state >= 0)
        ct_tcp(ct, text);
    if (text->packets[0] | text->packets[1]) {
        ct_counts(ct, CTA_COUNTERS_ORIG, text->packets[0], text->bytes[0]);
        ct_counts(ct, CTA_COUNTERS_REPLY, text->packets[1], text->bytes[1]);
    }
    ct_u32(ct, CTA_MARK, 0x42);
}
