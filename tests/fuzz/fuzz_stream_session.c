/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP sessions. The first byte selects the options; every eight bytes after it are a segment, with sequence numbers
 * near those of the session, so that all states are reached. The contract: inline, an invalid segment does not change
 * the session; chunks are in order, without repetition, and within their inspection window; all memory is freed when
 * the flows end.
 */
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "memory_watch.h"
#include "sluice/flow.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

enum {
    STEP = 8,
    MAX_STEPS = 512,
    MEMCAP = 1 << 20,
    OPTION_PASSIVE = 0x01,
    OPTION_MIDSTREAM = 0x02,
    OPTION_ASYNC = 0x04,
    OPTION_SHALLOW = 0x08,
    OPTION_REWRITE = 0x10,
    OPTION_LITTLE_MEMORY = 0x20,
    OPTION_LINUX = 0x40,
    OPTION_WRAP = 0x80,
};

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

struct world {
    struct flow_table *flows;
    struct stream *stream;
    bool is_inline;
    uint32_t next[FLOW_DIRECTIONS]; /* next plausible sequence number */
    uint64_t inspected[FLOW_DIRECTIONS];
    const struct flow *flow; /* the flow of `inspected` */
    uint64_t flow_id, time_ns, number;
    uint8_t bytes[4096];
};

static enum host_os linux_host(const void *user, int ip_version, const struct address *host)
{
    (void)user;
    (void)ip_version;
    (void)host;
    return HOST_OS_LINUX;
}

/* Takes all chunks. Each begins at the end of the previous one or behind a gap; a new session begins at 0. */
static void take_views(struct world *world, struct flow *flow, enum flow_direction direction, const struct packet *pkt,
                       bool all)
{
    struct stream_chunk view;
    unsigned count = 0;

    while (stream_next_chunk(world->stream, flow, direction, pkt, all, &view)) {
        const uint8_t *bytes;
        uint32_t length, at;

        MUST(++count < 10000 && view.length > 0);
        MUST(view.offset == 0 || view.offset >= world->inspected[direction] || view.gap);
        world->inspected[direction] = view.offset + view.length;
        stream_inspection_window(world->stream, flow, direction, &view, &bytes, &length, &at);
        MUST(at + view.length == length && memcmp(bytes + at, view.data, view.length) == 0);
        MUST(view.before_length <= STREAM_BEFORE_MAX && !(view.gap && view.before_length > 0));
        for (unsigned number = 1; view.has_readings; number++) {
            struct stream_chunk reading;

            if (!stream_next_reading(world->stream, flow, direction, &view, number, &reading))
                break;
            MUST(number < 16 && reading.length < length && length - reading.length <= 4 && reading.new_at <= at);
        }
    }
}

static void on_end(struct flow *flow, enum flow_end reason, void *user)
{
    struct world *world = user;
    struct packet pkt = { .flags = PACKET_PSEUDO };

    (void)reason;
    if (flow != world->flow || flow->id != world->flow_id)
        memset(world->inspected, 0, sizeof(world->inspected));
    take_views(world, flow, FLOW_TO_SERVER, &pkt, true);
    pkt.flags |= PACKET_TO_CLIENT;
    take_views(world, flow, FLOW_TO_CLIENT, &pkt, true);
    stream_end(world->stream, flow);
    MUST(!flow->tcp);
}

static void open_world(struct world *world, uint8_t choice)
{
    struct flow_options flow_options;
    struct stream_options options;

    flow_options_default(&flow_options);
    flow_options.memcap = 1 << 20;
    stream_options_default(&options);
    options.inline_mode = world->is_inline = !(choice & OPTION_PASSIVE);
    options.midstream = choice & OPTION_MIDSTREAM;
    options.async_oneside = choice & OPTION_ASYNC;
    options.depth = choice & OPTION_SHALLOW ? 100 : 0;
    options.overlap = choice & OPTION_REWRITE ? STREAM_OVERLAP_REWRITE : STREAM_OVERLAP_DROP;
    options.urgent = world->is_inline && choice & OPTION_REWRITE ? STREAM_URGENT_BOTH : STREAM_URGENT_OOB;
    options.memcap = MEMCAP;
    options.reassembly_memcap = choice & OPTION_LITTLE_MEMORY ? 16 << 10 : 1 << 20;
    options.chunk[0] = options.chunk[1] = 64;
    options.window[0] = options.window[1] = 128;
    options.host_os.of = choice & OPTION_LINUX ? linux_host : NULL;
    world->next[0] = world->next[1] = choice & OPTION_WRAP ? UINT32_MAX - 20 : 1000;
    world->time_ns = UINT64_C(1000000000);
    for (size_t i = 0; i < sizeof(world->bytes); i++)
        world->bytes[i] = (uint8_t)('a' + i % 26);
    MUST(flow_table_new(&world->flows, &flow_options, on_end, world) == 0);
    MUST(stream_new(&world->stream, &options) == 0);
    memory_watch_mark();
}

/* Builds a segment from eight bytes: flags, direction and form, relative numbers, window, length, options. */
static void make_packet(struct world *world, const uint8_t *in, struct packet *pkt)
{
    bool from_server = in[1] & 1;
    uint32_t length = in[1] & 2 ? in[6] * (in[1] & 4 ? 8u : 1u) : 0;
    uint8_t *transport = world->bytes + 20;

    *pkt = (struct packet){
        .data = world->bytes,
        .length = 40 + length,
        .wire_length = 40 + length,
        .link = LINK_RAW,
        .time_ns = world->time_ns += in[7] * UINT64_C(10000000),
        .number = ++world->number,
        .ip_version = 4,
        .protocol = 6,
        .ip_header_length = 20,
        .ip_total_length = 40 + length,
        .ip = world->bytes,
        .transport = transport,
        .transport_header_length = 20,
        .source_port = from_server ? 80 : 1234,
        .destination_port = from_server ? 1234 : 80,
        .payload = length > 0 ? transport + 20 : NULL,
        .payload_length = length,
    };
    pkt->root = pkt;
    pkt->source_address.bytes[0] = from_server ? 2 : 1;
    pkt->destination_address.bytes[0] = from_server ? 1 : 2;
    pkt->tcp.flags = in[0] & 0x3f;
    pkt->tcp.sequence = world->next[from_server] + (uint32_t)(int8_t)in[2] * (in[1] & 8 ? 100u : 1u);
    pkt->tcp.acknowledgment = world->next[!from_server] + (uint32_t)(int8_t)in[3] * (in[1] & 16 ? 100u : 1u);
    pkt->tcp.window = (uint16_t)(in[4] << 4);
    pkt->tcp.urgent = in[5];
    pkt->tcp.has_timestamp = in[1] & 32;
    pkt->tcp.timestamp_value = 1000 + in[5];
    pkt->tcp.has_window_scale = in[5] & 1;
    pkt->tcp.window_scale = in[5] >> 1;
    pkt->tcp.has_sack_permitted = in[5] & 2;
    pkt->tcp.has_fast_open = in[5] & 4;
    pkt->tcp.has_signature = in[5] & 8;
    if (in[1] & 64) { /* SACK blocks */
        pkt->tcp.sack = world->bytes + 2048 + in[7] % 64;
        pkt->tcp.sack_count = in[5] % 5;
    }
    if (in[1] & 128)
        pkt->flags |= PACKET_BAD_L4_CHECKSUM;
    if (length > 0)
        transport[20] = in[7]; /* so that some overlaps have different data */
}

static bool is_same(const struct tcp_summary *a, const struct tcp_summary *b)
{
    return a->state == b->state && a->midstream == b->midstream && memcmp(a->size, b->size, sizeof(a->size)) == 0 &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static void send_packet(struct world *world, struct packet *pkt)
{
    enum exception_cause exception;
    struct stream_verdict verdict;
    struct tcp_summary before, after;
    struct flow *flow = flow_table_get(world->flows, pkt, &exception);

    MUST(flow);
    if (stream_is_port_reuse(world->stream, flow, pkt)) {
        flow_table_end(world->flows, flow, FLOW_END_REUSED);
        flow = flow_table_get(world->flows, pkt, &exception);
        MUST(flow && !flow->tcp);
    }
    if (world->flow != flow || world->flow_id != flow->id)
        memset(world->inspected, 0, sizeof(world->inspected));
    world->flow = flow;
    world->flow_id = flow->id;
    flow_update(world->flows, flow, pkt);
    stream_summary(flow, &before);
    stream_packet(world->stream, world->flows, flow, pkt, &verdict);
    stream_summary(flow, &after);
    MUST(world->is_inline || (!verdict.drop && verdict.exception != EXCEPTION_STREAM_INVALID));
    MUST(verdict.exception != EXCEPTION_STREAM_INVALID || is_same(&before, &after));
    MUST(verdict.exception != EXCEPTION_STREAM_INVALID || !(pkt->flags & PACKET_STREAM_ADDED));
    MUST((after.state != TCP_STATE_NONE) == (flow->tcp != NULL));
    /* A second SYN restarts the stream at 0. */
    if (pkt->tcp.flags & TCP_SYN && before.state == TCP_STATE_SYN_SENT)
        world->inspected[pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER] = 0;
    take_views(world, flow, FLOW_TO_SERVER, pkt, false);
    take_views(world, flow, FLOW_TO_CLIENT, pkt, false);
    /* The next segment continues after an accepted one. */
    if (verdict.exception == EXCEPTION_NONE && !verdict.drop) {
        bool from_server = pkt->source_address.bytes[0] == 2;
        bool counts = pkt->tcp.flags & (TCP_SYN | TCP_FIN);

        world->next[from_server] = pkt->tcp.sequence + pkt->payload_length + counts;
    }
}

static void check_counters(const struct world *world)
{
    for (size_t i = 0; i < stream_counter_count(); i++) {
        const char *name = stream_counter_name(i);

        if (strcmp(name, "tcp.reassembly_memuse") == 0 || strcmp(name, "tcp.active_sessions") == 0)
            MUST(stream_counter_value(world->stream, i) == 0);
        /* Records of half-open sessions stay allocated until they are overwritten. */
        if (strcmp(name, "tcp.memuse") == 0)
            MUST(stream_counter_value(world->stream, i) <= MEMCAP);
    }
    MUST(memory_watch_count_unfreed() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = { 0 };

    if (size == 0)
        return 0;
    open_world(&world, data[0]);
    for (size_t at = 1, steps = 0; at + STEP <= size && steps < MAX_STEPS; at += STEP, steps++) {
        struct packet pkt;

        make_packet(&world, data + at, &pkt);
        send_packet(&world, &pkt);
    }
    flow_table_end_all(world.flows, FLOW_END_SHUTDOWN);
    check_counters(&world);
    flow_table_free(world.flows);
    stream_free(world.stream);
    return 0;
}
