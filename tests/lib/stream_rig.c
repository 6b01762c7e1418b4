/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See stream_rig.h. */
#include "default_options.h"
#include "stream_rig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream_rig stream_rig;

static void on_end(struct flow *flow, enum flow_end reason, void *user)
{
    (void)reason;
    stream_end(((struct stream_rig *)user)->stream, flow);
}

void stream_rig_open(void)
{
    ck_assert_int_eq(flow_table_new(&stream_rig.flows, &stream_rig.flow_options, on_end, &stream_rig), 0);
    ck_assert_int_eq(stream_new(&stream_rig.stream, &stream_rig.options), 0);
}

void stream_rig_close(void)
{
    if (stream_rig.flows)
        flow_table_end_all(stream_rig.flows, FLOW_END_SHUTDOWN);
    flow_table_free(stream_rig.flows);
    stream_free(stream_rig.stream);
    stream_rig.flows = NULL;
    stream_rig.stream = NULL;
}

void stream_rig_setup(void)
{
    struct decode_options decode;

    memset(&stream_rig, 0, sizeof(stream_rig));
    stream_options_default(&stream_rig.options);
    stream_rig.options.memcap = stream_rig.options.reassembly_memcap = 4u << 20;
    flow_options_default(&stream_rig.flow_options);
    stream_rig.flow_options.memcap = 4u << 20;
    for (unsigned i = 0; i < FLOW_STATE_COUNT; i++)
        stream_rig.flow_options.timeouts[FLOW_CLASS_TCP].seconds[i] = 10 * 1000 * 1000;
    stream_rig.isn[FLOW_TO_SERVER] = CLIENT_ISN;
    stream_rig.isn[FLOW_TO_CLIENT] = SERVER_ISN;
    stream_rig.time_ns = 1000 * SECOND;
    decode_options_default(&decode);
    ck_assert_int_eq(decoder_new(&stream_rig.decoder, &decode), 0);
}

void stream_rig_teardown(void)
{
    stream_rig_close();
    decoder_free(stream_rig.decoder);
}

/* --- Packets from lines of a script --------------------------------------------------------------- */

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

static void read_option(struct stream_line *line, const char *word)
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
        stream_rig.time_ns = a * SECOND;
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

static struct stream_line read_line(const char *text)
{
    struct stream_line line = { .window = 8192 };
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
    line.seq = seq + stream_rig.isn[line.from_server];
    line.ack = line.flags & TCP_ACK ? ack + stream_rig.isn[!line.from_server] : ack;
    return line;
}

void stream_rig_put_be16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_be32(uint8_t *at, uint32_t value)
{
    stream_rig_put_be16(at, value >> 16);
    stream_rig_put_be16(at + 2, value);
}

static size_t put_options(uint8_t *at, const struct stream_line *line)
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
        put_be32(at, line->sack_from + stream_rig.isn[!line->from_server]);
        put_be32(at + 4, line->sack_to + stream_rig.isn[!line->from_server]);
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

size_t stream_rig_put_packet(const struct stream_line *line)
{
    uint8_t *ip = stream_rig.bytes, *tcp = ip + 20;
    size_t options, length;

    memset(ip, 0, 40);
    options = put_options(tcp + 20, line);
    memcpy(tcp + 20 + options, line->data, line->length);
    length = 40 + options + line->length;
    ip[0] = 0x45;
    stream_rig_put_be16(ip + 2, (uint32_t)length);
    ip[8] = 64;
    ip[9] = 6;
    put_be32(ip + 12, line->from_server ? 0x0a000002 : 0x0b000000 + stream_rig.client);
    put_be32(ip + 16, line->from_server ? 0x0b000000 + stream_rig.client : 0x0a000002);
    stream_rig_put_be16(tcp, line->from_server ? 80 : 1234);
    stream_rig_put_be16(tcp + 2, line->from_server ? 1234 : 80);
    put_be32(tcp + 4, line->seq);
    put_be32(tcp + 8, line->ack);
    tcp[12] = (uint8_t)((20 + options) / 4 << 4);
    tcp[13] = line->flags;
    stream_rig_put_be16(tcp + 14, line->window);
    stream_rig_put_be16(tcp + 18, line->urgent);
    return length;
}

/* --- Decode, flow, stream ------------------------------------------------------------------------- */

void stream_rig_take_views(enum flow_direction direction, bool all)
{
    struct stream_chunk view;

    while (stream_next_chunk(stream_rig.stream, stream_rig.flow, direction, &stream_rig.packet, all, &view)) {
        const uint8_t *bytes;
        uint32_t length, at;
        size_t have = strlen(stream_rig.yielded[direction]);

        ck_assert_uint_lt(have + view.length, YIELDED);
        memcpy(stream_rig.yielded[direction] + have, view.data, view.length);
        stream_rig.gap |= view.gap;
        stream_rig.end |= view.end;
        stream_inspection_window(stream_rig.stream, stream_rig.flow, direction, &view, &bytes, &length, &at);
        ck_assert_uint_eq(length - at, view.length);
        ck_assert_mem_eq(bytes + at, view.data, view.length);
    }
}

static void send_packet(size_t length, bool bad_checksum)
{
    struct packet *pkt = &stream_rig.packet, *found[DECODE_MAX_PACKETS];
    enum exception_cause exception;

    *pkt = (struct packet){ .data = stream_rig.bytes, .length = (uint32_t)length, .wire_length = (uint32_t)length };
    pkt->link = LINK_RAW;
    pkt->time_ns = stream_rig.time_ns;
    pkt->number = ++stream_rig.number;
    pkt->conntrack = stream_rig.conntrack;
    ck_assert_uint_eq(decode_packet(stream_rig.decoder, pkt, found), 1);
    stream_rig_put_be16(stream_rig.bytes + 20 + 16, decode_transport_checksum(pkt) + (bad_checksum ? 1 : 0));
    stream_rig_put_be16(stream_rig.bytes + 10, 0);
    decode_check_checksums(pkt);
    pkt->flags &= ~(uint32_t)PACKET_BAD_L3_CHECKSUM;
    stream_rig.flow = flow_table_get(stream_rig.flows, pkt, &exception);
    ck_assert_ptr_nonnull(stream_rig.flow);
    if (!stream_rig.keeps_flows && stream_is_port_reuse(stream_rig.stream, stream_rig.flow, pkt)) {
        flow_table_end(stream_rig.flows, stream_rig.flow, FLOW_END_REUSED);
        stream_rig.flow = flow_table_get(stream_rig.flows, pkt, &exception);
    }
    flow_update(stream_rig.flows, stream_rig.flow, pkt);
    stream_packet(stream_rig.stream, stream_rig.flows, stream_rig.flow, pkt, &stream_rig.verdict);
}

void stream_rig_send_line(const char *text)
{
    struct stream_line line = read_line(text);

    memset(stream_rig.yielded, 0, sizeof(stream_rig.yielded));
    stream_rig.gap = stream_rig.end = false;
    send_packet(stream_rig_put_packet(&line), line.bad_checksum);
    stream_rig_take_views(FLOW_TO_SERVER, false);
    stream_rig_take_views(FLOW_TO_CLIENT, false);
}

/* --- Results -------------------------------------------------------------------------------------- */

const char *stream_rig_state_name(void)
{
    struct tcp_summary summary;

    stream_summary(stream_rig.flow, &summary);
    return tcp_state_name(summary.state);
}

void stream_rig_describe(char *out, size_t size)
{
    static const char *const exceptions[EXCEPTION_COUNT] = {
        [EXCEPTION_STREAM_MEMCAP] = " =memcap",
        [EXCEPTION_STREAM_REASSEMBLY] = " =reassembly",
        [EXCEPTION_STREAM_MIDSTREAM] = " =midstream",
        [EXCEPTION_STREAM_INVALID] = " =invalid",
    };
    size_t at = (size_t)snprintf(out, size, "%s", stream_rig_state_name());

    for (unsigned i = 0; i < stream_rig.packet.event_count; i++)
        if (stream_rig.packet.event_list[i] >= STREAM_EVENT_FIRST)
            at += (size_t)snprintf(out + at, size - at, " %s",
                                   stream_event_name((enum stream_event)stream_rig.packet.event_list[i]));
    if (stream_rig.verdict.exception != EXCEPTION_NONE)
        at += (size_t)snprintf(out + at, size - at, "%s", exceptions[stream_rig.verdict.exception]);
    if (stream_rig.verdict.drop)
        at += (size_t)snprintf(out + at, size - at, " =drop");
    if (stream_rig.gap)
        at += (size_t)snprintf(out + at, size - at, " gap");
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        if (stream_rig.yielded[i][0])
            at += (size_t)snprintf(out + at, size - at, " %c:%s", "cs"[i], stream_rig.yielded[i]);
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

void stream_rig_play(const char *name, const char *const *script)
{
    for (unsigned i = 0; script[i]; i++) {
        char line[512], got[512], *expected;

        snprintf(line, sizeof(line), "%s", script[i]);
        expected = strchr(line, '|');
        if (expected)
            *expected++ = '\0';
        stream_rig_send_line(line);
        stream_rig_describe(got, sizeof(got));
        if (!expected)
            continue;
        trim(expected);
        ck_assert_msg(strcmp(got, expected) == 0, "%s, line %u: %s\nexpected: %s\n     got: %s", name, i + 1, script[i],
                      expected, got);
    }
}

uint64_t stream_rig_counter(const char *name)
{
    for (size_t i = 0; i < stream_counter_count(); i++) {
        if (strcmp(stream_counter_name(i), name) == 0)
            return stream_counter_value(stream_rig.stream, i);
    }
    ck_abort_msg("no counter %s", name);
}
