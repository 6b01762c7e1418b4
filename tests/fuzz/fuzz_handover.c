/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transferred state of an engine hand-over: the file of a worker, and that of shared state. The input has neither
 * header nor digest; this target adds correct ones, because otherwise every file would be refused. The contract:
 *
 * - A file that is refused leaves no flow behind.
 * - Packets of restored flows, in both directions, can be inspected.
 * - The restored state can be written, and what was written can be read again.
 *
 * The input runs a second time with tiny memcaps, where flows without room are left out.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "default_options.h"
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
#include "sluice/handover.h"
#include "sluice/keyword.h"
#include "sluice/transfer.h"

enum { FILE_WORKER = 1, FILE_SHARED = 2, HEADERS = 40, PACKETS_MAX = 64, TINY_HEAP = 192 << 10, MEMCAP = 1 << 20 };

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static const char rules[] = "alert tcp any any -> any any (content:\"abc\"; content:\"xyz\"; sid:2;)\n"
                            "alert tcp any any -> any any (content:\"user\"; flowbits:set,logged.in; sid:1;)\n"
                            "alert tcp any any -> any any (flowint:gets,+,1; content:\"get\"; sid:4;)\n"
                            "alert http any any -> any any (http.uri; content:\"/two\"; http.request_body; "
                            "content:\"last\"; sid:6;)\n"
                            "alert http any any -> any any (file.data; content:\"tail\"; sid:8;)\n";

/* Two pipelines: with memory for all flows of a file, and with tiny memcaps. */
static struct state {
    struct pipeline_options options;
    struct pipeline_shared shared;
    struct pipeline pipeline;
    struct config *config;
    struct diag *diag;
    struct output *output;
    struct ruleset *ruleset;
    uint8_t bytes[256];
    uint64_t number;
    unsigned packets;
} states[2], *f;

static void make_ruleset(void)
{
    static const char *words[256];
    const struct rule_list_options list_options = {
        .keywords = keyword_table_new(keyword_list, keyword_list_count),
        .variables = rule_variables_new(),
        .datasets = datasets_new_default(NULL),
        .owns_datasets = true,
        .applications = words,
    };
    struct ruleset_options options;
    struct rule_list *list;

    app_list_names(words, sizeof(words) / sizeof(words[0]));
    MUST(rule_list_new(&list, &list_options, f->diag) == 0);
    MUST(rule_list_parse(list, "fuzz", rules, sizeof(rules) - 1, f->diag) == 0);
    MUST(rule_list_finish(list, f->diag) == 0 && diag_errors(f->diag) == 0);
    ruleset_options_default(&options);
    MUST(ruleset_new(&f->ruleset, list, &options, f->diag) == 0);
}

/* Makes the objects that all inputs share. */
static void prepare(void)
{
    struct output_options output;
    char error[256];

    f->diag = diag_new();
    MUST(daemon_new_config(&f->config) == 0);
    decode_options_default(&f->options.decode);
    defrag_options_default(&f->options.defrag);
    detector_options_default(&f->options.detector);
    flow_options_default(&f->options.flow);
    stream_options_default(&f->options.stream);
    policy_options_default(&f->options.policy);
    bool tiny = f == &states[1];

    f->options.flow.memcap = f->options.stream.memcap = f->options.stream.reassembly_memcap =
        tiny ? 8 << 10 : 256 << 10;
    f->options.defrag.memcap = f->options.host_memcap = tiny ? 4 << 10 : 128 << 10;
    f->options.detector.flow_memcap = f->options.detector.transaction_memcap = tiny ? 1 << 10 : 128 << 10;
    f->options.checksums = CHECKSUMS_IGNORE;
    output_options_default(&output);
    output.console = NULL;
    MUST(output_open(&f->output, &output, 1, error) == 0);
    make_ruleset();
}

static void open_pipeline(void)
{
    MUST(app_options_configure(&f->options.app, f->config, f->diag) == 0);
    f->options.app.memcap = f == &states[1] ? TINY_HEAP : 1 << 20;
    MUST(pipeline_shared_init(&f->shared, &f->options) == 0);
    MUST(pipeline_init(&f->pipeline, &f->options, &f->shared, 0, output_port(f->output, 0)) == 0);
    MUST(detector_prepare(f->pipeline.detector, f->ruleset) == 0);
    for (unsigned i = 0; i < PIPELINE_MEMCAPS; i++)
        f->shared.memcaps[i] = (struct memcap_state){ .configured = MEMCAP };
    f->pipeline.memcaps = f->shared.memcaps;
}

static bool has_changed_memcaps(void)
{
    unsigned changed = 0;

    for (unsigned i = 0; i < PIPELINE_MEMCAPS; i++)
        changed += f->shared.memcaps[i].changed > 0;
    return changed > 0;
}

static bool has_datagrams(void)
{
    for (size_t i = 0; i < defrag_counter_count(); i++) {
        if (strcmp(defrag_counter_name(i), "defrag.memuse") == 0)
            return defrag_counter_value(f->pipeline.defrag, i) > 0;
    }
    return true;
}

static void reopen_pipeline(void)
{
    pipeline_clear(&f->pipeline);
    pipeline_shared_clear(&f->shared);
    open_pipeline();
}

/* Discards the flows instead of making a new pipeline, which would take longer than everything else. */
static void empty_pipeline(void)
{
    pipeline_discard_flows(&f->pipeline);
    if (!has_datagrams() && !has_changed_memcaps())
        return;
    reopen_pipeline();
}

/* --- Files ---------------------------------------------------------------------------------------- */

static int memory_file(void)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    MUST(fd >= 0);
    return fd;
}

static int make_file(const uint8_t *data, size_t size, uint32_t kind)
{
    struct transfer_file file;
    int fd = memory_file();
    uint64_t written;

    MUST(transfer_file_start(&file, fd, kind) == 0);
    transfer_bytes(&file.out, (void *)data, size);
    MUST(transfer_file_finish(&file, &written) == 0);
    return fd;
}

static int read_file(int fd)
{
    struct handover_counts counts = { 0 };
    int err = handover_read(&f->pipeline, f->ruleset, (struct handover_place){ 0, 1 }, fd, &counts);

    MUST(!err || flow_table_count(f->pipeline.flows) == 0);
    close(fd);
    return err;
}

/* Reads shared state; if that succeeds, writes it and reads it again. */
static void read_shared(int fd)
{
    int again = memory_file();

    if (handover_read_shared(&f->shared, f->ruleset, fd) == 0) {
        MUST(handover_write_shared(&f->shared, f->ruleset, 0, again) == 0);
        MUST(handover_read_shared(&f->shared, f->ruleset, again) == 0);
    }
    close(fd);
    close(again);
}

/* --- Packets -------------------------------------------------------------------------------------- */

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

static size_t put_segment(const struct flow *flow, enum flow_direction direction, const char *text)
{
    bool to_server = direction == FLOW_TO_SERVER;
    struct tcp_session_facts session;
    size_t length = HEADERS + strlen(text);
    uint8_t *tcp = f->bytes + 20;

    stream_session_facts(flow, &session);
    memset(f->bytes, 0, HEADERS);
    f->bytes[0] = 0x45;
    put_be16(f->bytes + 2, (uint32_t)length);
    f->bytes[8] = 64;
    f->bytes[9] = IPPROTO_TCP;
    memcpy(f->bytes + 12, to_server ? flow->client.bytes : flow->server.bytes, 4);
    memcpy(f->bytes + 16, to_server ? flow->server.bytes : flow->client.bytes, 4);
    put_be16(tcp, to_server ? flow->client_port : flow->server_port);
    put_be16(tcp + 2, to_server ? flow->server_port : flow->client_port);
    put_be32(tcp + 4, session.side[direction].next_seq);
    put_be32(tcp + 8, session.side[!direction].next_seq);
    tcp[12] = 0x50;
    tcp[13] = TCP_ACK | TCP_PSH;
    put_be16(tcp + 14, 1000);
    memcpy(tcp + 20, text, length - HEADERS);
    return length;
}

static void send_segment(struct flow *flow, enum flow_direction direction, const char *text)
{
    size_t length;

    if (!flow->tcp || flow->ip_version != 4)
        return;
    length = put_segment(flow, direction, text);
    struct packet packet = {
        .data = f->bytes,
        .length = (uint32_t)length,
        .wire_length = (uint32_t)length,
        .link = LINK_RAW,
        .time_ns = flow->last_ns,
        .number = ++f->number,
    };

    pipeline_packet(&f->pipeline, f->ruleset, &packet, NULL);
}

static void go_on(struct flow *flow, void *user)
{
    static const char *const texts[] = { "last", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntail",
                                         "GET /two HTTP/1.1\r\n\r\n", "abcxyz\r\n.\r\n", "\x16\x03\x03\x01\x01" };

    (void)user;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && f->packets < PACKETS_MAX; i++, f->packets += 2) {
        send_segment(flow, FLOW_TO_SERVER, texts[i]);
        send_segment(flow, FLOW_TO_CLIENT, texts[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the file of a worker. Returns false if it is from a pipeline in the other mode (inline or passive). */
static bool try_worker(const uint8_t *data, size_t size)
{
    struct handover_counts counts = { 0 };
    int err = read_file(make_file(data, size, FILE_WORKER)), fd;

    if (err == 0) {
        flow_table_each(f->pipeline.flows, go_on, NULL);
        fd = memory_file();
        MUST(handover_write(&f->pipeline, f->ruleset, (struct handover_place){ 0, 1 }, fd, &counts) == 0);
        empty_pipeline();
        MUST(read_file(fd) == 0);
    }
    empty_pipeline();
    return err != -ENOTSUP;
}

static void use_inline(bool is_inline)
{
    f->options.stream.inline_mode = f->options.policy.inline_mode = is_inline;
    reopen_pipeline();
}

static void run(const uint8_t *data, size_t size)
{
    if (!f->diag) {
        prepare();
        open_pipeline();
    }
    f->packets = 0;
    if (!try_worker(data, size)) {
        use_inline(false);
        MUST(try_worker(data, size));
        use_inline(true);
    }
    read_shared(make_file(data, size, FILE_SHARED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (f = states; f < states + 2; f++)
        run(data, size);
    return 0;
}
