/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP sessions by script, for tests. A script is lines of segments:
 *
 *     > S 0            the client sends SYN with its first number; numbers are relative to each side's first one
 *     < SA 0,1         the server's SYN/ACK acknowledges 1
 *     > A 1,1 'abc'    data
 *
 * Flags are letters (S A F R P U). Behind the numbers, in any order: 'data', win=N, ws=N, ts=VALUE/ECHO, sackok,
 * sack=A-B, urg=N, tfo, md5, badsum, t=SECONDS (of this and the following segments). Behind a | stands what is
 * expected: the state, events, =invalid, =drop, =midstream, =memcap, =reassembly (what the verdict says), "c:abc" or
 * "s:abc" (the bytes that are yielded of the client's or the server's stream), gap (before them).
 */
#ifndef STREAM_SCRIPT_H
#define STREAM_SCRIPT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/decode.h"
#include "sluice/flow.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

#define SECOND UINT64_C(1000000000)

enum {
    CLIENT_ISN = 1000,
    SERVER_ISN = 0x80000000u - 7, /* crosses the middle of the numbers soon */
    HEADERS = 40 + 40,
    YIELDED = 4096,
};

struct rig {
    struct stream_options options;
    struct flow_options flow_options;
    struct flow_table *flows;
    struct stream *stream;
    struct decoder *decoder;
    uint32_t isn[FLOW_DIRECTIONS];
    uint64_t time_ns, number;
    unsigned client; /* added to the client's address */
    uint8_t bytes[70000];
    struct packet packet;
    struct packet_conntrack conntrack; /* of the packets that follow */
    struct flow *flow;
    struct stream_verdict verdict;
    char yielded[FLOW_DIRECTIONS][YIELDED];
    bool gap, end;
    bool keeps_flows; /* never asks for reuse */
};

static struct rig rig;

static void on_end(struct flow *flow, enum flow_end reason, void *user)
{
    (void)reason;
    stream_end(((struct rig *)user)->stream, flow);
}

static void open_rig(void)
{
    ck_assert_int_eq(flow_table_new(&rig.flows, &rig.flow_options, on_end, &rig), 0);
    ck_assert_int_eq(stream_new(&rig.stream, &rig.options), 0);
}

static void close_rig(void)
{
    if (rig.flows)
        flow_table_end_all(rig.flows, FLOW_END_SHUTDOWN);
    flow_table_free(rig.flows);
    stream_free(rig.stream);
    rig.flows = NULL;
    rig.stream = NULL;
}

static void setup(void)
{
    struct decode_options decode;

    memset(&rig, 0, sizeof(rig));
    stream_options_default(&rig.options);
    rig.options.memcap = rig.options.reassembly_memcap = 4u << 20;
    flow_options_default(&rig.flow_options);
    rig.flow_options.memcap = 4u << 20;
    for (unsigned i = 0; i < FLOW_STATE_COUNT; i++)
        rig.flow_options.timeouts[FLOW_CLASS_TCP].seconds[i] = 10 * 1000 * 1000;
    rig.isn[FLOW_TO_SERVER] = CLIENT_ISN;
    rig.isn[FLOW_TO_CLIENT] = SERVER_ISN;
    rig.time_ns = 1000 * SECOND;
    decode_options_default(&decode);
    ck_assert_int_eq(decoder_new(&rig.decoder, &decode), 0);
}

static void teardown(void)
{
    close_rig();
    decoder_free(rig.decoder);
}

/* --- From a line to a packet ---------------------------------------------------------------------- */

struct line {
    bool from_server, bad_checksum, has_window, has_scale, has_timestamp, sack_permitted, fast_open, md5;
    uint8_t flags, window_scale;
    uint32_t seq, ack, timestamp, echo, sack_from, sack_to;
    uint16_t window, urgent;
    char data[512];
    size_t length;
};

static uint8_t read_flags(const char *word)
{
    static const struct {
        char letter;
        uint8_t flag;
    } letters[] = { { 'S', TCP_SYN }, { 'A', TCP_ACK }, { 'F', TCP_FIN },
                    { 'R', TCP_RST }, { 'P', TCP_PSH }, { 'U', TCP_URG } };
    uint8_t flags = 0;

    for (; *word; word++) {
        for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
            flags |= letters[i].letter == *word ? letters[i].flag : 0;
    }
    return flags;
}

static void read_option(struct line *line, const char *word)
{
    unsigned a = 0, b = 0;

    if (word[0] == '\'') {
        line->length = strcspn(word + 1, "'");
        memcpy(line->data, word + 1, line->length);
    } else if (sscanf(word, "win=%u", &a) == 1) {
        line->window = (uint16_t)a;
        line->has_window = true;
    } else if (sscanf(word, "ws=%u", &a) == 1) {
        line->window_scale = (uint8_t)a;
        line->has_scale = true;
    } else if (sscanf(word, "ts=%u/%u", &a, &b) == 2) {
        line->timestamp = a;
        line->echo = b;
        line->has_timestamp = true;
    } else if (sscanf(word, "sack=%u-%u", &a, &b) == 2) {
        line->sack_from = a;
        line->sack_to = b;
    } else if (sscanf(word, "urg=%u", &a) == 1) {
        line->urgent = (uint16_t)a;
    } else if (sscanf(word, "t=%u", &a) == 1) {
        rig.time_ns = a * SECOND;
    } else if (strcmp(word, "sackok") == 0) {
        line->sack_permitted = true;
    } else if (strcmp(word, "tfo") == 0) {
        line->fast_open = true;
    } else if (strcmp(word, "md5") == 0) {
        line->md5 = true;
    } else if (strcmp(word, "badsum") == 0) {
        line->bad_checksum = true;
    } else {
        ck_abort_msg("not understood: %s", word);
    }
}

static struct line read_line(const char *text)
{
    struct line line = { .window = 8192 };
    char copy[1024], *at = copy, *word;
    unsigned seq = 0, ack = 0, index = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    while ((word = strtok_r(at, " \t", &at))) {
        if (index == 0)
            line.from_server = word[0] == '<';
        else if (index == 1)
            line.flags = read_flags(word);
        else if (index == 2)
            sscanf(word, "%u,%u", &seq, &ack);
        else
            read_option(&line, word);
        index++;
    }
    line.seq = seq + rig.isn[line.from_server];
    line.ack = line.flags & TCP_ACK ? ack + rig.isn[!line.from_server] : ack;
    return line;
}

static void put_be16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_be32(uint8_t *at, uint32_t value)
{
    put_be16(at, value >> 16);
    put_be16(at + 2, value);
}

static size_t put_options(uint8_t *at, const struct line *line)
{
    uint8_t *start = at;

    if (line->has_scale)
        *at++ = 3, *at++ = 3, *at++ = line->window_scale;
    if (line->sack_permitted)
        *at++ = 4, *at++ = 2;
    if (line->has_timestamp) {
        *at++ = 8, *at++ = 10;
        put_be32(at, line->timestamp);
        put_be32(at + 4, line->echo);
        at += 8;
    }
    if (line->sack_to) {
        *at++ = 5, *at++ = 10;
        put_be32(at, line->sack_from + rig.isn[!line->from_server]);
        put_be32(at + 4, line->sack_to + rig.isn[!line->from_server]);
        at += 8;
    }
    if (line->fast_open)
        *at++ = 34, *at++ = 6, *at++ = 1, *at++ = 2, *at++ = 3, *at++ = 4;
    if (line->md5) {
        *at++ = 19, *at++ = 18;
        memset(at, 0, 16);
        at += 16;
    }
    while ((at - start) % 4)
        *at++ = 1;
    return (size_t)(at - start);
}

static size_t put_packet(const struct line *line)
{
    uint8_t *ip = rig.bytes, *tcp = ip + 20;
    size_t options, length;

    memset(ip, 0, 40);
    options = put_options(tcp + 20, line);
    memcpy(tcp + 20 + options, line->data, line->length);
    length = 40 + options + line->length;
    ip[0] = 0x45;
    put_be16(ip + 2, (uint32_t)length);
    ip[8] = 64;
    ip[9] = 6;
    put_be32(ip + 12, line->from_server ? 0x0a000002 : 0x0b000000 + rig.client);
    put_be32(ip + 16, line->from_server ? 0x0b000000 + rig.client : 0x0a000002);
    put_be16(tcp, line->from_server ? 80 : 1234);
    put_be16(tcp + 2, line->from_server ? 1234 : 80);
    put_be32(tcp + 4, line->seq);
    put_be32(tcp + 8, line->ack);
    tcp[12] = (uint8_t)((20 + options) / 4 << 4);
    tcp[13] = line->flags;
    put_be16(tcp + 14, line->window);
    put_be16(tcp + 18, line->urgent);
    return length;
}

/* --- Through the stages --------------------------------------------------------------------------- */

static void take_views(enum flow_direction direction, bool all)
{
    struct stream_chunk view;

    while (stream_next_chunk(rig.stream, rig.flow, direction, &rig.packet, all, &view)) {
        const uint8_t *bytes;
        uint32_t length, at;
        size_t have = strlen(rig.yielded[direction]);

        ck_assert_uint_lt(have + view.length, YIELDED);
        memcpy(rig.yielded[direction] + have, view.data, view.length);
        rig.gap |= view.gap;
        rig.end |= view.end;
        stream_inspection_window(rig.stream, rig.flow, direction, &view, &bytes, &length, &at);
        ck_assert_uint_eq(length - at, view.length);
        ck_assert_mem_eq(bytes + at, view.data, view.length);
    }
}

static void send_packet(size_t length, bool bad_checksum)
{
    struct packet *pkt = &rig.packet, *found[DECODE_MAX_PACKETS];
    enum exception_cause exception;

    *pkt = (struct packet){ .data = rig.bytes, .length = (uint32_t)length, .wire_length = (uint32_t)length };
    pkt->link = LINK_RAW;
    pkt->time_ns = rig.time_ns;
    pkt->number = ++rig.number;
    pkt->conntrack = rig.conntrack;
    ck_assert_uint_eq(decode_packet(rig.decoder, pkt, found), 1);
    put_be16(rig.bytes + 20 + 16, decode_transport_checksum(pkt) + (bad_checksum ? 1 : 0));
    put_be16(rig.bytes + 10, 0);
    decode_check_checksums(pkt);
    pkt->flags &= ~(uint32_t)PACKET_BAD_L3_CHECKSUM;
    rig.flow = flow_table_get(rig.flows, pkt, &exception);
    ck_assert_ptr_nonnull(rig.flow);
    if (!rig.keeps_flows && stream_is_port_reuse(rig.stream, rig.flow, pkt)) {
        flow_table_end(rig.flows, rig.flow, FLOW_END_REUSED);
        rig.flow = flow_table_get(rig.flows, pkt, &exception);
    }
    flow_update(rig.flows, rig.flow, pkt);
    stream_packet(rig.stream, rig.flows, rig.flow, pkt, &rig.verdict);
}

static void send_line(const char *text)
{
    struct line line = read_line(text);

    memset(rig.yielded, 0, sizeof(rig.yielded));
    rig.gap = rig.end = false;
    send_packet(put_packet(&line), line.bad_checksum);
    take_views(FLOW_TO_SERVER, false);
    take_views(FLOW_TO_CLIENT, false);
}

/* --- What came of it ------------------------------------------------------------------------------ */

static const char *state_name(void)
{
    struct tcp_summary summary;

    stream_summary(rig.flow, &summary);
    return tcp_state_name(summary.state);
}

static void describe(char *out, size_t size)
{
    static const char *const exceptions[EXCEPTION_COUNT] = {
        [EXCEPTION_STREAM_MEMCAP] = " =memcap",
        [EXCEPTION_STREAM_REASSEMBLY] = " =reassembly",
        [EXCEPTION_STREAM_MIDSTREAM] = " =midstream",
        [EXCEPTION_STREAM_INVALID] = " =invalid",
    };
    size_t at = (size_t)snprintf(out, size, "%s", state_name());

    for (unsigned i = 0; i < rig.packet.event_count; i++)
        if (rig.packet.event_list[i] >= STREAM_EVENT_FIRST)
            at += (size_t)snprintf(out + at, size - at, " %s",
                                   stream_event_name((enum stream_event)rig.packet.event_list[i]));
    if (rig.verdict.exception != EXCEPTION_NONE)
        at += (size_t)snprintf(out + at, size - at, "%s", exceptions[rig.verdict.exception]);
    if (rig.verdict.drop)
        at += (size_t)snprintf(out + at, size - at, " =drop");
    if (rig.gap)
        at += (size_t)snprintf(out + at, size - at, " gap");
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        if (rig.yielded[i][0])
            at += (size_t)snprintf(out + at, size - at, " %c:%s", "cs"[i], rig.yielded[i]);
}

static void trim(char *text)
{
    char *from = text, *to = text;

    while (*from == ' ')
        from++;
    for (; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
}

static void play(const char *name, const char *const *script)
{
    for (unsigned i = 0; script[i]; i++) {
        char line[512], got[512], *expected;

        snprintf(line, sizeof(line), "%s", script[i]);
        expected = strchr(line, '|');
        if (expected)
            *expected++ = '\0';
        send_line(line);
        describe(got, sizeof(got));
        if (!expected)
            continue;
        trim(expected);
        ck_assert_msg(strcmp(got, expected) == 0, "%s, line %u: %s\nexpected: %s\n     got: %s", name, i + 1, script[i],
                      expected, got);
    }
}

#endif
