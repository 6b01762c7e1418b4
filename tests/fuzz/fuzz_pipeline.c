/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole pipeline, from decoding to events, with rules for many protocols. Each input runs with large memcaps, and
 * with tiny memcaps of flows, sessions, stream data, fragments, protocols and rules.
 *
 * Input: if the first byte is odd, the mode is passive. Then follow commands: a byte of flags, two bytes of length in
 * network order, and the bytes. The flags are:
 *
 * - bits 0-1: 0 an IP packet; 1 TCP data, next in order; 2 a UDP payload; 3 TCP data at an offset, which the first two
 *   bytes give relative to the next byte in order
 * - bit 2: from the server
 * - bits 3-5: index of the server's port in ports[]; each port has one connection, which begins with a handshake
 * - bit 6: TCP: the sender closes after the data; UDP: in fragments
 * - bit 7: an hour passes before the packet
 *
 * Contract: no crash; each packet is accepted or dropped; all memory is freed at the end of the flows.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "memory_watch.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"
#include "sluice/keyword.h"

enum { PORTS = 8, IP_HEADER = 20, SEGMENT = 1400, COMMANDS_MAX = 400, CLIENT_PORT = 40000 };
enum { KIND_IP, KIND_TCP, KIND_UDP, KIND_TCP_AT };
#define HOUR_NS (UINT64_C(3600) * 1000000000)

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static const uint16_t ports[PORTS] = { 80, 443, 25, 21, 445, 53, 22, 69 };

static const char rules[] =
    "alert tcp any any -> any any (content:\"abc\"; content:\"xyz\"; distance:0; sid:1;)\n"
    "alert ip any any -> any any (ttl:<5; flowbits:set,low; hostbits:set,seen,src; sid:2; "
    "threshold:type limit, track by_src, count 1, seconds 60;)\n"
    "alert tcp any any -> any any (flowbits:isset,low; pcre:\"/([a-z]+)=(\\\\d+)/, flow:name, flow:value\"; "
    "tag:session,3,packets; sid:3;)\n"
    "alert http any any -> any any (http.uri; content:\"/two\"; http.request_body; content:\"last\"; sid:4;)\n"
    "alert http any any -> any any (http.header; to_lowercase; content:\"cookie\"; sid:5;)\n"
    "drop http any any -> any any (file.data; content:\"attack\"; sid:6;)\n"
    "alert tls any any -> any any (tls.certs; content:\"abc\"; sid:7;)\n"
    "alert tls any any -> any any (ja3.string; content:\"771,\"; ja4.hash; content:\"t13\"; sid:8;)\n"
    "alert smtp any any -> any any (file.data; content:\"exe\"; email.url; content:\"example\"; sid:9;)\n"
    "alert dns any any -> any any (dns.query; content:\"example\"; nocase; sid:10;)\n"
    "alert ssh any any -> any any (ssh.hassh; content:\"a\"; sid:11;)\n"
    "alert smb any any -> any any (smb.share; content:\"C$\"; sid:12;)\n"
    "alert ftp any any -> any any (ftp.command; content:\"RETR\"; sid:13;)\n"
    "alert ip any any -> any any (app-layer-event:applayer_detect_protocol_only_one_direction; sid:14;)\n"
    "alert tcp any any -> any any (stream-event:reassembly_overlap_different_data; sid:15;)\n";

/* A pipeline that all inputs use; there is one for each combination of memcaps (large, tiny) and mode. */
struct world {
    struct pipeline_options options;
    struct pipeline_shared shared;
    struct pipeline pipeline;
    bool is_open;
};
static struct {
    struct world worlds[2][2];
    struct ruleset *ruleset;
    struct output *output;
    uint64_t number, now_ns;
} fuzz;

/* The connections of one input. */
struct talk {
    struct world *world;
    bool has_begun[PORTS];
    uint32_t next[PORTS][2];
    uint64_t packets;
};

/* --- Setup ---------------------------------------------------------------------------------------- */

static void load_rules(void)
{
    static const char *words[256];
    const struct rule_list_options list_options = {
        .keywords = keyword_table_new(keyword_list, keyword_list_count),
        .variables = rule_variables_new(),
        .applications = words,
    };
    struct ruleset_options options;
    struct diag *diag = diag_new();
    struct rule_list *list;

    app_list_names(words, sizeof(words) / sizeof(words[0]));
    MUST(rule_list_new(&list, &list_options, diag) == 0);
    MUST(rule_list_parse(list, "fuzz", rules, sizeof(rules) - 1, diag) == 0);
    MUST(rule_list_finish(list, diag) == 0);
    diag_print(diag, stderr, false);
    MUST(diag_errors(diag) == 0);
    ruleset_options_default(&options);
    MUST(ruleset_new(&fuzz.ruleset, list, &options, diag) == 0);
    diag_free(diag);
}

/* Events are formatted by the output thread; events for which the ring has no room are lost. */
static void open_output(void)
{
    struct output_options options;
    char error[256];

    output_options_default(&options);
    options.eve_path = "/dev/null";
    options.console = NULL;
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        options.eve.enabled[kind] = true;
    memset(options.eve.app, 1, sizeof(options.eve.app));
    options.eve.alert.payload = options.eve.alert.packet = options.eve.alert.app_layer = true;
    options.eve.anomaly.decode = options.eve.anomaly.stream = options.eve.anomaly.application = true;
    MUST(output_open(&fuzz.output, &options, 1, error) == 0);
    MUST(output_start(fuzz.output) == 0);
}

static void configure_applications(struct app_options *out)
{
    struct config *config = NULL;
    struct diag *diag = diag_new();

    MUST(daemon_new_config(&config) == 0);
    MUST(app_options_configure(out, config, diag) == 0);
    config_free(config);
    diag_free(diag);
}

static void open_world(struct world *world, bool tiny, bool passive)
{
    struct pipeline_options *options = &world->options;

    decode_options_default(&options->decode);
    defrag_options_default(&options->defrag);
    detector_options_default(&options->detector);
    flow_options_default(&options->flow);
    stream_options_default(&options->stream);
    policy_options_default(&options->policy);
    configure_applications(&options->app);
    options->stream.inline_mode = options->policy.inline_mode = !passive;
    options->flow.memcap = tiny ? 4 << 10 : 1 << 20;
    options->stream.memcap = tiny ? 4 << 10 : 1 << 20;
    options->stream.reassembly_memcap = tiny ? 24 << 10 : 4 << 20;
    options->defrag.memcap = tiny ? 8 << 10 : 1 << 20;
    options->app.memcap = tiny ? 512 << 10 : 16 << 20; /* 8 slabs of the heap; each size class needs one */
    options->detector.flow_memcap = options->detector.transaction_memcap = tiny ? 1 << 10 : 1 << 20;
    options->host_memcap = tiny ? 1 << 10 : 1 << 20;
    options->policy.threshold_memcap = options->policy.tag_memcap = tiny ? 1 << 10 : 1 << 20;
    options->checksums = CHECKSUMS_IGNORE;
    MUST(pipeline_shared_init(&world->shared, options) == 0);
    MUST(pipeline_init(&world->pipeline, options, &world->shared, 0, output_port(fuzz.output, 0)) == 0);
    pipeline_set_ruleset(&world->pipeline, fuzz.ruleset);
    MUST(detector_prepare(world->pipeline.detector, fuzz.ruleset) == 0);
    memory_watch_mark();
    world->is_open = true;
}

/* --- Packets -------------------------------------------------------------------------------------- */

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value);
}

/* Inspects a copy of the packet, so that a sanitizer detects reads past its end. */
static void judge(struct talk *talk, const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);

    MUST(copy);
    memcpy(copy, bytes, length);
    struct packet packet = {
        .data = copy,
        .length = (uint32_t)length,
        .wire_length = (uint32_t)length,
        .link = LINK_RAW,
        .time_ns = fuzz.now_ns,
        .number = ++fuzz.number,
    };

    pipeline_packet(&talk->world->pipeline, fuzz.ruleset, &packet, NULL);
    MUST(packet.verdict == VERDICT_ACCEPT || packet.verdict == VERDICT_DROP);
    talk->packets++;
    free(copy);
}

static void put_ip(uint8_t *at, bool from_server, uint8_t protocol, size_t payload)
{
    memset(at, 0, IP_HEADER);
    at[0] = 0x45;
    put16(at + 2, (uint32_t)(IP_HEADER + payload));
    at[6] = 0x40;
    at[8] = 64;
    at[9] = protocol;
    at[12] = at[16] = 10;
    at[15] = from_server ? 2 : 1;
    at[19] = from_server ? 1 : 2;
}

static void send_segment(struct talk *talk, unsigned port, bool from_server, uint8_t flags, uint32_t offset,
                         const uint8_t *bytes, size_t length)
{
    uint8_t packet[IP_HEADER + 20 + SEGMENT], *tcp = packet + IP_HEADER;

    put_ip(packet, from_server, IPPROTO_TCP, 20 + length);
    memset(tcp, 0, 20);
    put16(tcp, from_server ? ports[port] : CLIENT_PORT + port);
    put16(tcp + 2, from_server ? CLIENT_PORT + port : ports[port]);
    put32(tcp + 4, (from_server ? 0x7ffffff0 : 1000) + offset);
    if (flags & TCP_ACK)
        put32(tcp + 8, (from_server ? 1000 : 0x7ffffff0) + 1 + talk->next[port][!from_server]);
    tcp[12] = 0x50;
    tcp[13] = flags;
    put16(tcp + 14, 65000);
    if (length > 0)
        memcpy(tcp + 20, bytes, length);
    judge(talk, packet, IP_HEADER + 20 + length);
}

static void send_tcp(struct talk *talk, unsigned port, bool from_server, const uint8_t *bytes, size_t length)
{
    uint32_t *next = &talk->next[port][from_server];

    while (length > 0) {
        size_t size = length < SEGMENT ? length : SEGMENT;

        send_segment(talk, port, from_server, TCP_ACK | TCP_PSH, 1 + *next, bytes, size);
        *next += (uint32_t)size;
        bytes += size;
        length -= size;
    }
    send_segment(talk, port, !from_server, TCP_ACK, 1 + talk->next[port][!from_server], NULL, 0);
}

static void send_fragments(struct talk *talk, uint8_t *packet, size_t length)
{
    size_t payload = length - IP_HEADER, step = (payload / 3 + 7) / 8 * 8;
    uint8_t out[IP_HEADER + SEGMENT + 64];

    for (size_t i = 3, at; i-- > 0;) { /* last fragment first */
        at = i * step;
        if (at >= payload)
            continue;
        size_t size = at + step < payload ? step : payload - at;

        memcpy(out, packet, IP_HEADER);
        put16(out + 2, (uint32_t)(IP_HEADER + size));
        put16(out + 4, (uint32_t)fuzz.number / 3);
        put16(out + 6, (uint32_t)((at + size < payload ? 0x2000 : 0) | at / 8));
        memcpy(out + IP_HEADER, packet + IP_HEADER + at, size);
        judge(talk, out, IP_HEADER + size);
    }
}

static void send_udp(struct talk *talk, unsigned port, bool from_server, bool in_fragments, const uint8_t *bytes,
                     size_t length)
{
    uint8_t packet[IP_HEADER + 8 + SEGMENT], *udp = packet + IP_HEADER;

    length = length < SEGMENT ? length : SEGMENT;
    put_ip(packet, from_server, IPPROTO_UDP, 8 + length);
    put16(udp, from_server ? ports[port] : CLIENT_PORT + port);
    put16(udp + 2, from_server ? CLIENT_PORT + port : ports[port]);
    put16(udp + 4, (uint32_t)(8 + length));
    put16(udp + 6, 0);
    memcpy(udp + 8, bytes, length);
    if (in_fragments)
        send_fragments(talk, packet, IP_HEADER + 8 + length);
    else
        judge(talk, packet, IP_HEADER + 8 + length);
}

static void begin_connection(struct talk *talk, unsigned port)
{
    if (talk->has_begun[port])
        return;
    talk->has_begun[port] = true;
    send_segment(talk, port, false, TCP_SYN, 0, NULL, 0);
    send_segment(talk, port, true, TCP_SYN | TCP_ACK, 0, NULL, 0);
    send_segment(talk, port, false, TCP_ACK, 1, NULL, 0);
}

static void act(struct talk *talk, uint8_t command, const uint8_t *bytes, size_t length)
{
    unsigned kind = command & 3, port = command >> 3 & 7;
    bool from_server = command & 4;

    if (command & 0x80)
        fuzz.now_ns += HOUR_NS;
    fuzz.now_ns += 1000000;
    if (kind == KIND_IP) {
        judge(talk, bytes, length);
        return;
    }
    if (kind == KIND_UDP) {
        send_udp(talk, port, from_server, command & 0x40, bytes, length);
        return;
    }
    begin_connection(talk, port);
    if (kind == KIND_TCP) {
        send_tcp(talk, port, from_server, bytes, length);
    } else if (length >= 2) {
        uint32_t offset = (uint32_t)bytes[0] << 8 | bytes[1];

        length = length - 2 < SEGMENT ? length - 2 : SEGMENT;
        send_segment(talk, port, from_server, TCP_ACK, 1 + talk->next[port][from_server] + offset, bytes + 2, length);
    }
    if (command & 0x40) {
        send_segment(talk, port, from_server, TCP_ACK | TCP_FIN, 1 + talk->next[port][from_server], NULL, 0);
        talk->next[port][from_server]++;
    }
}

/* --- Contract ------------------------------------------------------------------------------------- */

static void check_nothing_left(const struct world *world)
{
    struct app_memory_counts memory;

    app_byterange_clear(world->pipeline.app);
    app_get_memory_counts(world->pipeline.app, &memory);
    MUST(memory.used == 0);
    MUST(flow_table_count(world->pipeline.flows) == 0);
    defrag_expire(world->pipeline.defrag, UINT64_MAX, SIZE_MAX);
    MUST(memory_watch_count_unfreed() == 0);
}

static void run(struct world *world, const uint8_t *data, size_t size)
{
    struct talk talk = { .world = world };
    const struct pipeline_counters *counters = &world->pipeline.counters;
    uint64_t judged = counters->accepted + counters->blocked;
    unsigned commands = 0;

    fuzz.now_ns += 24 * HOUR_NS; /* state of previous inputs has expired */
    data++;
    size--;
    while (size >= 3 && commands++ < COMMANDS_MAX) {
        size_t length = (size_t)data[1] << 8 | data[2];

        length = length < size - 3 ? length : size - 3;
        act(&talk, data[0], data + 3, length);
        data += 3 + length;
        size -= 3 + length;
    }
    MUST(counters->accepted + counters->blocked == judged + talk.packets);
    pipeline_finish(&world->pipeline, fuzz.ruleset, fuzz.now_ns);
    check_nothing_left(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (!fuzz.output) {
        load_rules();
        open_output();
        fuzz.now_ns = UINT64_C(1700000000) * 1000000000;
    }
    for (int tiny = 0; tiny < 2; tiny++) {
        struct world *world = &fuzz.worlds[tiny][data[0] & 1];

        if (!world->is_open)
            open_world(world, tiny, data[0] & 1);
        run(world, data, size);
    }
    return 0;
}
